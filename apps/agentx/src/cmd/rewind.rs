//! `agentx rewind`: goes back to before an input outside of a chat: the conversation, the files, or both.

use std::io::BufRead as _;

use agentx::config::Settings;
use agentx::history::{Restoring, SessionHistory, history_of, latest_restoring, plan_undo};
use agentx::runtime::{RestorePlan, RestoreReport, RestoreRequest, Runtime};
use agentx::types::SessionId;
use serde_json::{Value, json};

use crate::args::RewindArgs;
use crate::compose::CommandTarget;
use crate::console::Console;
use crate::error::ChatError;
use crate::exit::Exit;
use crate::render::rewind_list::{self, ListLook};
use crate::render::style::AnsiStyle;
use crate::render::{conversation, rewind, units};

/// The parts that are rewound.
#[derive(Clone, Copy, PartialEq, Eq)]
struct RewindScope {
    conversation: bool,
    files: bool,
}

/// Runs the command.
pub(crate) async fn run(
    place: &CommandTarget,
    settings: &Settings,
    args: &RewindArgs,
    as_json: bool,
    console: &mut Console,
) -> Result<Exit, ChatError> {
    let runtime = place.runtime();
    let id = args.session.find(place, settings).await?;
    if args.undo {
        return undo(runtime, &id, args, as_json, console).await;
    }
    let history = history_of(runtime, &id).await?;
    let Some(number) = args.to else {
        list(&id, &history, as_json, console)?;
        return Ok(Exit::Ok);
    };
    let Some(input) = history.input(number) else {
        return Err(no_input(number, history.inputs().len(), &id));
    };
    let what = RewindScope {
        conversation: !args.files,
        files: !args.conversation,
    };
    let to_seq = input.seq;
    if what.conversation && to_seq < 2 {
        return Err(ChatError::usage(
            "there is nothing before that input",
            "start a new session: `agentx`",
        ));
    }
    let plan = if what.files {
        Some(runtime.plan_restore(&id, to_seq).await?)
    } else {
        None
    };
    let going = RewindPlan {
        id: &id,
        history: &history,
        to_seq,
        what,
        plan,
    };
    going.go(place, args, as_json, console).await
}

fn list(
    id: &SessionId,
    history: &SessionHistory,
    as_json: bool,
    console: &mut Console,
) -> Result<(), ChatError> {
    if as_json {
        let inputs: Vec<Value> = history
            .inputs()
            .iter()
            .rev()
            .map(|input| {
                let words = rewind::own_text(&input.texts);
                json!({
                    "number": input.number, "seq": input.seq, "at": input.at, "text": words,
                    "undone": history.undone(input.seq),
                })
            })
            .collect();
        return console.out_pretty(&json!({ "inputs": inputs, "restorings": history.restorings() }));
    }
    if history.inputs().is_empty() {
        return console.out("there are no messages yet\n");
    }
    let look = ListLook {
        most: usize::MAX,
        width: console.terminal.width,
        style: console.out_style(),
        now: units::now(),
    };
    console.say(&rewind::cut_off(history.unfinished(), None));
    console.out(&rewind_list::list(history, look))?;
    console.say(&format!(
        "hint: `agentx rewind {id} --to N` rewinds to before N; add --dry-run to see what that would undo\n"
    ));
    Ok(())
}

fn no_input(number: usize, inputs: usize, id: &SessionId) -> ChatError {
    let message = match inputs {
        0 => "it has no messages yet".to_owned(),
        1 => format!("there is no input {number}, only input 1"),
        n => format!("there is no input {number}; the inputs are 1 to {n}"),
    };
    ChatError::usage(message, format!("`agentx rewind {id}` lists them"))
}

struct RewindPlan<'a> {
    id: &'a SessionId,
    history: &'a SessionHistory,
    to_seq: u64,
    what: RewindScope,
    plan: Option<RestorePlan>,
}

impl RewindPlan<'_> {
    async fn go(
        self,
        place: &CommandTarget,
        args: &RewindArgs,
        as_json: bool,
        console: &mut Console,
    ) -> Result<Exit, ChatError> {
        let runtime = place.runtime();
        if args.dry_run {
            if as_json {
                console.out_pretty(&self.report_json(None, None))?
            } else {
                let text = self.shown(console.out_style(), console.terminal.width);
                console.out(&text)?;
            }
            return Ok(Exit::Ok);
        }
        if !as_json || !args.yes {
            let text = self.shown(console.err_style(), console.terminal.width);
            console.say(&text);
        }
        if !args.yes && !confirmed(console)? {
            console.say("nothing was changed\n");
            return Ok(Exit::Ok);
        }
        let report = match &self.plan {
            Some(plan) => Some(put_back(runtime, self.id, plan, args.all).await?),
            None => None,
        };
        let fork = if self.what.conversation {
            Some(runtime.fork(self.id, Some(self.to_seq - 1)).await?)
        } else {
            None
        };
        if as_json {
            console.out_pretty(&self.report_json(report.as_ref(), fork.as_ref()))?;
        } else {
            if let (Some(report), Some(plan)) = (&report, &self.plan) {
                console.say(&rewind::report(report, plan));
            }
            if let Some(fork) = &fork {
                console.out(&format!("{fork}\n"))?;
                let command = place.command(&format!("resume {fork}"));
                console.say(&conversation::continue_hint(&command, console.terminal.width));
            }
            let left = runtime.left_running(self.id).await?;
            let opens = place.command(&format!("resume {}", self.id));
            if let Some(note) = conversation::still_runs(&left, &opens) {
                console.say(&note);
            }
        }
        Ok(exit_of(report.as_ref()))
    }

    fn shown(&self, style: AnsiStyle, width: usize) -> String {
        let files = self.plan.as_ref().ok_or("only the conversation is rewound");
        let render = if self.what.conversation {
            rewind::plan
        } else {
            rewind::plan_of_files
        };
        let mut text = render(self.history, self.to_seq, files, style, width);
        if let Some(plan) = &self.plan {
            text.insert_str(0, &rewind::cut_off(self.history.unfinished(), Some(self.to_seq)));
            text.push_str(&rewind::diffs(plan, false, style, width));
        }
        text
    }

    fn report_json(&self, report: Option<&RestoreReport>, fork: Option<&SessionId>) -> Value {
        json!({
            "session_id": self.id, "to_seq": self.to_seq, "fork": fork,
            "undone": self.history.undone(self.to_seq),
            "stays": self.history.irreversible_since(self.to_seq).collect::<Vec<_>>(),
            "plan": self.plan, "report": report,
        })
    }
}

async fn put_back(
    runtime: &dyn Runtime,
    id: &SessionId,
    plan: &RestorePlan,
    all: bool,
) -> Result<RestoreReport, ChatError> {
    let mut report = runtime
        .restore(id, None, RestoreRequest::of(plan, |_| all))
        .await?;
    for file in &plan.files {
        let what = match (&file.blocked, &file.doubt) {
            (Some(why), _) => why.clone(),
            (None, Some(doubt)) if !all => {
                format!("kept: {}; --all restores it too", rewind::in_words(doubt))
            }
            _ => continue,
        };
        report.failed.push(agentx::types::FileFailed {
            path: file.path.clone(),
            what,
        });
    }
    Ok(report)
}

fn exit_of(report: Option<&RestoreReport>) -> Exit {
    match report {
        Some(report) if !report.failed.is_empty() => Exit::Failed,
        _ => Exit::Ok,
    }
}

async fn undo(
    runtime: &dyn Runtime,
    id: &SessionId,
    args: &RewindArgs,
    as_json: bool,
    console: &mut Console,
) -> Result<Exit, ChatError> {
    let Some((session, restoring)) = latest_restoring(runtime, id).await? else {
        return Err(ChatError::usage(
            format!("no files were ever restored in {id}"),
            format!("`agentx rewind {id}` lists the inputs"),
        ));
    };
    let plan = plan_undo(runtime, &session, &restoring).await?;
    let to_seq = plan.to_seq;
    let asks = args.dry_run || console.terminal.input;
    if (args.yes || !asks) && restoring.is_finished_undo() && to_seq != restoring.to_seq {
        return undone_already(&session, &restoring, as_json, console);
    }
    let width = console.terminal.width;
    let shown = |style| {
        let history = SessionHistory::default();
        let note = rewind::before_planned_undo(&restoring, &plan);
        let text = rewind::plan_of_files(&history, to_seq, Ok(&plan), style, width);
        format!("{note}{text}{}", rewind::diffs(&plan, false, style, width))
    };
    match (args.dry_run, as_json) {
        (true, false) => {
            let text = shown(console.out_style());
            console.out(&text)?;
        }
        (true, true) => {}
        (false, _) if as_json && args.yes => {}
        (false, _) => {
            let text = shown(console.err_style());
            console.say(&text);
        }
    }
    let mut report = None;
    if !args.dry_run {
        if !args.yes && !confirmed(console)? {
            console.say("nothing was changed\n");
            return Ok(Exit::Ok);
        }
        let done = put_back(runtime, &session, &plan, args.all).await?;
        if !as_json {
            console.say(&rewind::report(&done, &plan));
        }
        report = Some(done);
    }
    if as_json {
        let told = json!({"session_id": session, "to_seq": to_seq, "plan": plan, "report": report});
        console.out_pretty(&told)?;
    }
    Ok(exit_of(report.as_ref()))
}

/// Says that the last restore is undone. A script that repeats its undo, because it was killed before it knew
/// the end, would otherwise take the undo back.
fn undone_already(
    session: &SessionId,
    restoring: &Restoring,
    as_json: bool,
    console: &mut Console,
) -> Result<Exit, ChatError> {
    if as_json {
        let told = json!({
            "session_id": session, "to_seq": restoring.to_seq, "plan": null, "report": null, "undone_already": true,
        });
        console.out_pretty(&told)?;
    } else {
        console.say(&rewind::undone_already(
            session,
            restoring,
            console.terminal.input,
        ));
    }
    Ok(Exit::Ok)
}

fn confirmed(console: &mut Console) -> Result<bool, ChatError> {
    if !console.terminal.input {
        return Err(ChatError::usage(
            "rewinding needs a confirmation",
            "add --yes, or --dry-run to see what it would do",
        ));
    }
    console.say("go back? y/n › ");
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    Ok(matches!(line.trim(), "y" | "yes"))
}
