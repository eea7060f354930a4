//! The run itself: opens the session, sends the prompt, follows the events to the end of the run.

use std::sync::Arc;

use agentx::config::Settings;
use agentx::runtime::{Delivery, OpenRequest, Session, UserInput, View};
use agentx::types::{ApprovalMode, ConfigChange, ContentPart, RunId, RuntimeEvent};

use super::approver::Approver;
use super::ending::Ending;
use super::prompt;
use crate::args::{Global, OutputFormat, RunArgs, ViewArg};
use crate::compose::Place;
use crate::console::Console;
use crate::error::CliError;
use crate::exit::Exit;
use crate::follow::Follower;
use crate::link::Link;
use crate::logging;
use crate::render::cast::Cast;
use crate::render::result::RunResult;
use crate::render::transcript::{Lane, Transcript};
use crate::seat::{self, Target};
use crate::signals::Signals;
use crate::start;

/// Runs the prompt to its end.
pub(crate) async fn run(
    global: &Global,
    args: &RunArgs,
    console: &mut Console,
) -> Result<RunResult, CliError> {
    let mut loaded = start::settings_aloud(global, &args.agent, console)?;
    logging::start(&loaded.settings, false)?;
    let target = Target::of(&args.session)?;
    let prompt = prompt::read(&args.prompt, console).await?;
    let place = Place::of(&loaded.settings, global.cwd.as_deref()).await?;
    let signals = Signals::listen()?;
    let has_person = console.terminal.input && console.terminal.error;
    let (session, would_ask) = open(&place, &mut loaded.settings, args, &target, has_person).await?;
    // A session that was told to refuse stays so; one that was told so above, for want of a person, does not.
    let told_now = target == Target::New || args.agent.approve.is_some();
    let asked_before = !has_person && deny_where_it_would_ask(&session, would_ask && told_now).await?;
    let approver = Approver::new(args.agent.yes, would_ask, asked_before, console);
    let ends = (Link::of(&place), signals);
    let result = with_session(&session, prompt, args, approver, ends, console).await;
    if asked_before {
        // Whoever goes on with the session at a terminal is asked again. Where that cannot be said, calls stay refused.
        let _ = session.change(ConfigChange::Approval(ApprovalMode::Ask)).await;
    }
    seat::leave(&place, session.as_ref()).await;
    result
}

/// Where nobody can be asked, the log says so from the start: no question is put, and no decision of a person is
/// recorded. Returns whether the session asks otherwise.
async fn deny_where_it_would_ask(session: &Arc<dyn Session>, told_now: bool) -> Result<bool, CliError> {
    match session.state().await?.config.approval {
        ApprovalMode::Ask => {
            session.change(ConfigChange::Approval(ApprovalMode::Deny)).await?;
            Ok(true)
        }
        ApprovalMode::Deny => Ok(told_now),
        ApprovalMode::Auto => Ok(false),
    }
}

/// Opens the session; without a person, one that would ask is told to refuse. Returns whether it would ask.
async fn open(
    place: &Place,
    settings: &mut Settings,
    args: &RunArgs,
    target: &Target,
    has_person: bool,
) -> Result<(Arc<dyn Session>, bool), CliError> {
    let was_said = args.agent.approve.is_some() || args.agent.yes || place.remote().is_none();
    let is_said = settings.approval == ApprovalMode::Ask;
    if is_said && !has_person {
        settings.approval = ApprovalMode::Deny;
    }
    if let Some(id) = seat::find(place, settings, target).await? {
        let session = seat::resume(place, settings, &args.agent, id, args.session.fork).await?;
        let asks = match was_said {
            true => is_said,
            false => session.state().await?.config.approval == ApprovalMode::Ask,
        };
        return Ok((session, asks));
    }
    let mut config = seat::new_agent(place, settings, &args.agent).await?;
    let asks = if was_said {
        is_said
    } else {
        config.approval == ApprovalMode::Ask
    };
    if asks && !has_person {
        config.approval = ApprovalMode::Deny;
    }
    Ok((place.runtime().open(OpenRequest::New(config)).await?, asks))
}

/// Sends the prompt in an open session and follows the run.
pub(crate) async fn with_session(
    session: &Arc<dyn Session>,
    prompt: String,
    args: &RunArgs,
    approver: Approver,
    ends: (Link, Signals),
    console: &mut Console,
) -> Result<RunResult, CliError> {
    let before = session.state().await?;
    // A new session has begun with events that belong to this run's output too.
    let after = if before.run.is_none() && before.context_tokens == 0 {
        0
    } else {
        before.last_seq
    };
    let events = Follower::new(session.clone(), after, View::Runtime).await?;
    let facts = match (args.output_format, args.view) {
        (OutputFormat::StreamJson, ViewArg::Environment) => {
            Some(Follower::new(session.clone(), after, View::Environment).await?)
        }
        _ => None,
    };
    let input = UserInput {
        content: vec![ContentPart::text(prompt)],
        ..UserInput::default()
    };
    let run_id = RunId::of_input(session.send(input).await?);
    let headless = Headless::new(session.clone(), run_id, args, approver, console);
    let mut result = headless.follow(events, facts, ends, console).await?;
    result.session_id = Some(session.id().clone());
    if let Ok(state) = session.state().await {
        result.fill_cost(&before, &state);
    }
    let is_told = args.streams || console.terminal.output;
    if args.output_format == OutputFormat::Text && !is_told && !result.text.is_empty() {
        let end = if result.text.ends_with('\n') { "" } else { "\n" };
        console.out(&format!("{}{end}", result.text))?;
    }
    Ok(result)
}

struct Headless {
    session: Arc<dyn Session>,
    transcript: Transcript,
    cast: Cast,
    ending: Ending,
    run_id: RunId,
    format: OutputFormat,
    frames: bool,
    live: bool,
    quiet: bool,
    approver: Approver,
    signal: Option<Exit>,
}

impl Headless {
    fn new(
        session: Arc<dyn Session>,
        run_id: RunId,
        args: &RunArgs,
        approver: Approver,
        console: &Console,
    ) -> Self {
        Self {
            session,
            transcript: Transcript::new(console.err_style(), console.terminal.width).with_silent_end(),
            cast: Cast::new(console.err_style(), console.terminal.width).apart(args.streams),
            ending: Ending::new(run_id.clone()),
            run_id,
            format: args.output_format,
            frames: args.view == ViewArg::Runtime && args.output_format == OutputFormat::StreamJson,
            // Words go to a terminal as they come; anything else gets the last answer, once.
            live: args.output_format == OutputFormat::Text && (console.terminal.output || args.streams),
            quiet: args.quiet,
            approver,
            signal: None,
        }
    }

    async fn follow(
        mut self,
        mut events: Follower,
        mut facts: Option<Follower>,
        (mut link, mut signals): (Link, Signals),
        console: &mut Console,
    ) -> Result<RunResult, CliError> {
        let mut over = false;
        while !over {
            tokio::select! {
                delivery = events.next() => {
                    let Some(delivery) = delivery? else { break };
                    over = self.delivery(&delivery, console).await?;
                    while let Some(delivery) = events.ready() {
                        over |= self.delivery(&delivery, console).await?;
                    }
                }
                fact = next_fact(&mut facts) => self.fact(fact?, &mut facts, console)?,
                answer = self.approver.answered(console) => {
                    // The call may have been settled meanwhile; then there is nothing to decide.
                    let _ = self.session.approve(answer).await;
                }
                news = link.news(), if !self.quiet => {
                    self.transcript.aside(&console.err_style().warn(&format!("· {news}")));
                }
                exit = signals.next() => {
                    if self.signal.replace(exit).is_some() {
                        break;
                    }
                    self.stop().await?;
                }
            }
            self.print(console)?;
        }
        if let Some(facts) = &mut facts {
            drain(facts, events.seq(), console).await?;
        }
        self.cast.end_lines(&mut self.transcript);
        self.transcript.end_line();
        self.print(console)?;
        Ok(self.ending.into_result(self.signal))
    }

    async fn stop(&self) -> Result<(), CliError> {
        self.session
            .interrupt(Some("the person stopped it".into()))
            .await?;
        Ok(())
    }

    /// Takes a delivery; returns whether the run is over.
    async fn delivery(&mut self, delivery: &Delivery, console: &mut Console) -> Result<bool, CliError> {
        let Delivery::Runtime(envelope) = delivery else {
            return Ok(false);
        };
        if self.frames {
            console.out_json(&**envelope)?;
        }
        let event = &envelope.event;
        self.cast.event(&mut self.transcript, envelope);
        match event {
            RuntimeEvent::ApprovalRequested(request) => {
                self.print(console)?;
                if let Some(answer) = self.approver.asked(request, console) {
                    self.session.approve(answer).await?;
                }
            }
            RuntimeEvent::ToolFailed(failed) if self.approver.is_alone() => self.ending.tool_failed(failed),
            RuntimeEvent::ToolCallAnswered(answered) => self.approver.settled(&answered.tool_call_id),
            // What was stopped was the run before this one; this one is not wanted either.
            RuntimeEvent::RunStarted(started) if started.run_id == self.run_id && self.signal.is_some() => {
                self.stop().await?;
            }
            _ => {}
        }
        let of_this_run = envelope
            .run_id
            .as_ref()
            .is_none_or(|run_id| *run_id == self.run_id);
        Ok(of_this_run && self.ending.event(event))
    }

    fn fact(
        &mut self,
        fact: Option<Delivery>,
        facts: &mut Option<Follower>,
        console: &mut Console,
    ) -> Result<(), CliError> {
        match fact {
            Some(Delivery::Environment(envelope)) => console.out_json(&*envelope)?,
            Some(_) => {}
            None => *facts = None,
        }
        while let Some(Delivery::Environment(envelope)) = facts.as_mut().and_then(Follower::ready) {
            console.out_json(&*envelope)?;
        }
        Ok(())
    }

    /// Writes what was said since the last time.
    fn print(&mut self, console: &mut Console) -> Result<(), CliError> {
        for piece in self.transcript.take() {
            match piece.lane {
                Lane::Answer if self.live => console.out(&piece.text)?,
                Lane::Answer => {}
                Lane::Aside if self.quiet => {}
                Lane::Aside => console.say(&piece.text),
            }
        }
        if self.format == OutputFormat::StreamJson {
            console.flush()?;
        }
        Ok(())
    }
}

async fn next_fact(facts: &mut Option<Follower>) -> Result<Option<Delivery>, CliError> {
    match facts {
        Some(facts) => facts.next().await,
        None => std::future::pending().await,
    }
}

/// Prints the facts up to the one that ended the run.
async fn drain(facts: &mut Follower, until: u64, console: &mut Console) -> Result<(), CliError> {
    while facts.seq() < until {
        match facts.next().await? {
            Some(Delivery::Environment(envelope)) => console.out_json(&*envelope)?,
            Some(_) => {}
            None => break,
        }
    }
    Ok(())
}
