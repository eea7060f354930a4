//! `agentx sessions`: what there is, what was said, whether it is whole.

mod export;
mod found;
mod share;
mod stats;

use std::io::BufRead as _;

use agentx::config::Loaded;
use agentx::runtime::{Runtime, RuntimeError, SessionInfo, SessionQuery};
use agentx::types::{RunStatus, SessionId};
use serde_json::json;

use crate::args::SessionsCommand;
use crate::cmd::show;
use crate::compose::Place;
use crate::console::Console;
use crate::error::CliError;
use crate::exit::Exit;
use crate::render::clean::visible;
use crate::render::company::person;
use crate::render::{conversation, table::table, units};
use crate::seat;
use crate::start::is_demo;

/// Runs one of the commands.
pub(crate) async fn run(
    place: &Place,
    loaded: &Loaded,
    command: &SessionsCommand,
    json: bool,
    console: &mut Console,
) -> Result<Exit, CliError> {
    let runtime = place.runtime();
    match command {
        SessionsCommand::List { here, waiting, limit } => {
            let workspace = match here {
                true => Some(seat::workspace(place, &loaded.settings).await?),
                false => None,
            };
            let sessions = listed(place, (workspace, *waiting), *limit).await?;
            if json {
                console.out_pretty(&sessions)?
            } else if sessions.is_empty() && *waiting {
                console.out("no call waits for an answer\n")?
            } else {
                console.out(&render_list(&sessions, place, console.out_width()))?
            }
        }
        SessionsCommand::Show(args) => {
            return show::run(runtime, args, json, console).await;
        }
        SessionsCommand::Search { words, limit } => {
            search(runtime, words.join(" ").trim(), *limit, json, console).await?
        }
        SessionsCommand::Delete { id, yes } => delete(runtime, id, *yes, json, console).await?,
        SessionsCommand::Verify(args) => {
            verify(runtime, &runtime.resolve(&args.id).await?, json, console).await?
        }
        SessionsCommand::Rename(args) => {
            let id = runtime.resolve(&args.id).await?;
            rename(runtime, &id, &args.title.join(" "), json, console).await?
        }
        SessionsCommand::Export(args) => export::export(runtime, args, console).await?,
        SessionsCommand::Import(args) => export::import(place, args, json, console).await?,
        SessionsCommand::Stats(args) => stats::run(runtime, args, json, console).await?,
        SessionsCommand::Gc => {
            let freed = runtime.collect_garbage().await.map_err(for_operators)?;
            match json {
                true => console.out_pretty(&json!({ "freed_bytes": freed }))?,
                false => console.out(&format!("{} were given back\n", units::bytes(freed)))?,
            }
        }
        SessionsCommand::Share(args) => share::run(place, loaded, args, json, console).await?,
    }
    Ok(Exit::Ok)
}

/// The sessions of a list: on a server those of members too, for who decides about their calls.
async fn listed(
    place: &Place,
    (workspace, waiting): (Option<String>, bool),
    limit: usize,
) -> Result<Vec<SessionInfo>, CliError> {
    let query = SessionQuery {
        owner: place.runtime().owner().clone(),
        workspace,
        limit,
        before: None,
    };
    if let Some(server) = place.remote() {
        return Ok(server.sessions_with_members(query, waiting).await?);
    }
    if !waiting {
        return Ok(place.runtime().sessions(query).await?);
    }
    let all = SessionQuery { limit: ALL, ..query };
    let mut found = place.runtime().sessions(all).await?;
    found.retain(|info| info.status == Some(RunStatus::AwaitingApproval));
    found.truncate(limit);
    Ok(found)
}

/// What a server grants to nobody but whoever runs it is not for the owner of any session to grant.
fn for_operators(error: RuntimeError) -> RuntimeError {
    match error {
        RuntimeError::Denied(detail) => RuntimeError::Remote {
            code: "operators_only".into(),
            detail,
        },
        error => error,
    }
}

/// In how many sessions of this machine those are looked for in which a call waits.
const ALL: usize = 100_000;
/// In a terminal that is not so wide there is more use for the title than for a count.
const WIDE: usize = 120;
/// The column of the count.
const MESSAGES: usize = 3;

/// The list as people read it. That a session is open is worth a word where another process has it, not on a server, which
/// has them all; whose it is, where it is another one's.
pub(crate) fn render_list(sessions: &[SessionInfo], place: &Place, width: usize) -> String {
    let (me, on_server) = (place.runtime().owner(), place.remote().is_some());
    if sessions.is_empty() {
        return "no sessions yet: `agentx` begins one\n".into();
    }
    let now = units::now();
    let mut rows = vec![
        ["ID", "LAST EVENT", "STATUS", "MESSAGES", "COST", "MODEL", "TITLE"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for info in sessions {
        let title = if info.title.is_empty() {
            info.workspace.clone()
        } else {
            info.title.clone()
        };
        let fork = info
            .parent
            .as_ref()
            .map(|(parent, seq)| format!(" (fork of {parent} at {seq})"))
            .unwrap_or_default();
        let whose = match info.owner == *me {
            true => String::new(),
            false => {
                let name = place.names().and_then(|names| names.get(&info.owner));
                format!(
                    "(of {}) ",
                    name.map_or_else(|| person(&info.owner), |name| visible(name))
                )
            }
        };
        rows.push(vec![
            info.session_id.to_string(),
            units::ago(info.updated_at, now),
            status_of(info, on_server),
            info.messages.to_string(),
            units::cost_of(info.cost, &info.usage, !is_demo(&info.model)),
            visible(&info.model),
            format!("{whose}{}{fork}", visible(&title)),
        ]);
    }
    if width < WIDE {
        rows.iter_mut().for_each(|row| drop(row.remove(MESSAGES)));
    }
    table(&rows, width)
}

/// How a session stands, in a word or two.
pub(crate) fn status_of(info: &SessionInfo, on_server: bool) -> String {
    match (&info.writer, info.status) {
        (Some(_), Some(status)) if on_server => live_word(status).to_owned(),
        (Some(_), None) if on_server => "new".to_owned(),
        (Some(writer), _) => format!("open (pid {})", writer.process),
        (None, Some(status)) => status_word(status).to_owned(),
        (None, None) if info.parent.is_some() => "fork".to_owned(),
        (None, None) => "new".to_owned(),
    }
}

/// Where a run stands, in a word.
pub(crate) fn run_word(status: RunStatus) -> &'static str {
    live_word(status)
}

fn status_word(status: RunStatus) -> &'static str {
    use agentx::types::RunStatus as S;
    match status {
        S::Completed => "completed",
        S::Failed => "failed",
        S::TimedOut => "limit reached",
        S::Interrupted => "stopped",
        S::AwaitingApproval => "needs approval",
        S::Pending | S::BuildingContext | S::AwaitingLlm | S::AwaitingTool | S::Stopping => "broke off",
    }
}

/// Of a session that is open.
fn live_word(status: RunStatus) -> &'static str {
    use agentx::types::RunStatus as S;
    match status {
        S::Pending | S::BuildingContext | S::AwaitingLlm | S::AwaitingTool | S::Stopping => "works",
        status => status_word(status),
    }
}

async fn search(
    runtime: &dyn Runtime,
    words: &str,
    limit: usize,
    json: bool,
    console: &mut Console,
) -> Result<(), CliError> {
    if words.is_empty() {
        return Err(CliError::usage(
            "there is nothing to look for",
            "give words that were said: agentx sessions search parser",
        ));
    }
    if !words.contains(char::is_alphanumeric) {
        return Err(CliError::usage(
            format!("{words} has no letter and no digit: only words can be searched"),
            "give words that were said beside it: agentx sessions search parser",
        ));
    }
    let hits = runtime.search(words, limit).await?;
    if json {
        return console.out_pretty(&hits);
    }
    if hits.is_empty() {
        console.say("nothing was found\n");
    }
    console.out(&found::render(&hits, words, console.out_width()))?;
    if let (Some(hit), true) = (hits.first(), console.terminal.output) {
        let place = format!("agentx show {} --at {}", hit.session_id, hit.seq);
        let hint = console
            .err_style()
            .dim(&format!("hint: {place} shows the place\n"));
        console.say(&hint);
    }
    Ok(())
}

async fn rename(
    runtime: &dyn Runtime,
    id: &SessionId,
    title: &str,
    json: bool,
    console: &mut Console,
) -> Result<(), CliError> {
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    if title.is_empty() {
        return Err(CliError::usage("a title has at least one letter", ""));
    }
    runtime.rename(id, title.clone()).await?;
    if json {
        console.out_pretty(&json!({ "session_id": id, "title": title }))
    } else {
        console.out(&format!("{id} is called {}\n", visible(&title)))
    }
}

async fn delete(
    runtime: &dyn Runtime,
    id: &str,
    yes: bool,
    json: bool,
    console: &mut Console,
) -> Result<(), CliError> {
    let id = runtime.resolve(id).await?;
    let spent = goes_from_usage(&runtime.info(&id).await?);
    if !yes && !confirmed(&id, spent.as_deref(), console)? {
        console.say("nothing was deleted\n");
        return Ok(());
    }
    let left = runtime.left_running(&id).await?;
    runtime.delete(&id).await?;
    if json {
        console.out_pretty(&json!({ "deleted": id, "ended": left }))
    } else {
        if let Some(ended) = conversation::was_ended(&left) {
            console.say(&format!("{ended}\n"));
        }
        if let Some(spent) = spent.filter(|_| yes) {
            console.say(&format!("{spent}\n"));
        }
        console.out(&format!("{id} is deleted\n"))
    }
}

/// What a person should know of a session that has spent something before it is deleted: no sum has it any more.
fn goes_from_usage(info: &SessionInfo) -> Option<String> {
    let (tokens, cost) = (info.usage.context_tokens(), units::cost(info.cost, &info.usage));
    (tokens > 0).then(|| {
        let tokens = units::count(tokens);
        format!("what it spent ({tokens} tokens, {cost}) is deleted too: `agentx usage` counts it no more")
    })
}

fn confirmed(id: &SessionId, spent: Option<&str>, console: &mut Console) -> Result<bool, CliError> {
    if !console.terminal.input {
        return Err(CliError::usage(
            format!("{id} is not deleted without a confirmation"),
            "add --yes",
        ));
    }
    if let Some(spent) = spent {
        console.say(&format!("{spent}\n"));
    }
    console.say(&format!("delete {id} for good? y/n › "));
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    Ok(matches!(line.trim(), "y" | "yes"))
}

async fn verify(
    runtime: &dyn Runtime,
    id: &SessionId,
    json: bool,
    console: &mut Console,
) -> Result<(), CliError> {
    let report = runtime.verify(id).await?;
    if json {
        console.out_pretty(&report)?;
    } else if report.problems.is_empty() {
        let all = match report.last_seq {
            1 => "its 1 event is as it was".to_owned(),
            count => format!("all {count} events are as they were"),
        };
        console.out(&format!("{id}: {all} written\nhead {}\n", report.head))?;
    }
    if report.problems.is_empty() {
        return Ok(());
    }
    Err(CliError::Damaged {
        session: id.to_string(),
        problems: report.problems,
        good_events: report.good_events,
    })
}
