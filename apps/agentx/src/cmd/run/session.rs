//! Turns a command line into a run: the settings, the place, the session, and its changes meanwhile.

use std::sync::Arc;

use agentx::runtime::{Session, UserInput};
use agentx::types::{ApprovalMode, ConfigChange, SessionId};

use super::opening::{asks_again, open, say_notes, say_of_pictures};
use super::prompt;
use crate::args::{Global, RunArgs};
use crate::compose::CommandTarget;
use crate::connection_watch::{ConnectionWatch, OutageTimer};
use crate::console::Console;
use crate::default_model;
use crate::error::ChatError;
use crate::headless::{self, Approver, RemoteApprovals, deny_instead_of_asking};
use crate::logging;
use crate::other_directory::place_of;
use crate::run_result::RunResult;
use crate::server_patience::ServerPatience;
use crate::session_opening::{self, Target};
use crate::signals::Signals;
use crate::{start, waits};

/// Runs the prompt to its end.
pub(crate) async fn run(
    global: &Global,
    args: &RunArgs,
    console: &mut Console,
) -> Result<RunResult, ChatError> {
    let mut loaded = start::settings_of_run(global, &args.agent, console)?;
    let settings = &loaded.settings;
    let read = |file| headless::read_schema(file, &settings.workspace, |path| settings.is_guarded(path));
    let schema = args.schema.as_deref().map(read).transpose()?;
    logging::start(&loaded.settings, false)?;
    let target = args.session.target()?;
    // An existing session may have a run in progress; without a prompt, that run is continued.
    let prompt = prompt::read(args, target != Target::New, &loaded.settings, console).await?;
    let prompt = headless::held_to(prompt.map(UserInput::new), schema)?;
    let patience = ServerPatience::unattended(args.tells_nothing());
    let patience = patience.bounded_by(loaded.settings.limits.max_wall_ms);
    let place = place_of(global, &args.agent, &mut loaded, &target, patience, console).await?;
    if target == Target::New && args.agent.agent.is_none() {
        default_model::check_connected(&loaded.settings)?;
    }
    let signals = Signals::listen()?;
    let decides_elsewhere = place.is_of_another();
    let has_person = decides_elsewhere || console.terminal.input && console.terminal.error;
    place.say_ended_trials(console).await;
    let found = session_opening::find_exactly(&place, &loaded.settings, &target).await?;
    let opened = open(&place, &mut loaded.settings, args, found.clone(), has_person).await;
    let (session, would_ask, there) = match (opened, found.filter(|_| !args.session.fork)) {
        (Err(error), Some(id)) => return RunResult::failed_in(&id, error),
        (opened, _) => opened.map_err(ChatError::unsaved)?,
    };
    waits::note_session(args.record.as_ref(), session.id())?;
    console.say(
        session_opening::note_of_mode(&place, &loaded.settings, &args.agent.wanted()).unwrap_or_default(),
    );
    say_notes(&place, &loaded.settings, session.as_ref(), there, console).await;
    say_of_pictures(&place, session.as_ref(), prompt.as_ref(), console).await;
    // A session that someone set to refuse stays so, unlike one that refuses for lack of a terminal.
    let told_now = target == Target::New || args.agent.approve.is_some();
    let asked_before = !has_person && deny_instead_of_asking(&session, would_ask && told_now).await?;
    // In the modes `auto` and `accept-edits` rules may still ask, but nobody can answer.
    let may_ask = session.state().await?.config.approval != ApprovalMode::Deny;
    let no_terminal = asked_before || (!has_person && may_ask);
    let approver = approver(args, &place, session.id(), no_terminal, console);
    let mut away = OutageTimer::new(&place, patience.within);
    let ends = (ConnectionWatch::new(&place), &mut away, signals);
    let result =
        headless::with_session(&session, prompt, args.manner(), approver, ends, (there, console)).await;
    let is_lost = away.is_away() || result.as_ref().is_err_and(|error| error.kind() == "unreachable");
    let is_new = target == Target::New && !is_lost;
    let is_empty = is_new && result.is_err() && session_opening::is_empty(&session).await;
    let result = result.or_else(|error| failed_in(&session, is_empty, error));
    headless::leave(&place, session.as_ref(), &result, console).await;
    if is_lost {
        return result;
    }
    if args.agent.yes || args.agent.approve.is_some() {
        asks_again(global, &place, &loaded.settings, session.as_ref()).await;
    }
    session_opening::limits_again(&place, &args.agent.wanted(), session.as_ref()).await;
    if asked_before {
        // A person who continues it at a terminal is asked again. If the change fails, calls stay refused.
        let _ = session.change(ConfigChange::Approval(ApprovalMode::Ask)).await;
    }
    session_opening::leave(&place, session.as_ref()).await;
    if is_empty {
        session_opening::remove_empty(&place, session.id()).await;
    }
    place.end_servers().await;
    result
}

/// Returns the failure of a run in its session, or without one if that is empty and so removed.
fn failed_in(session: &Arc<dyn Session>, is_empty: bool, error: ChatError) -> Result<RunResult, ChatError> {
    if is_empty {
        Err(error)
    } else {
        RunResult::failed_in(session.id(), error)
    }
}

/// Returns who decides about calls: this process, or whoever answers at a server of somebody else.
fn approver(
    args: &RunArgs,
    place: &CommandTarget,
    session: &SessionId,
    no_terminal: bool,
    console: &Console,
) -> Approver {
    if place.is_of_another() {
        return Approver::Elsewhere(RemoteApprovals::new(place, session, args.approval_timeout));
    }
    Approver::new(args.agent.yes, no_terminal, place.shared(), console)
}
