//! Opens the session of a run, and sets how calls are decided while the run lasts.

use std::sync::Arc;

use agentx::config::Settings;
use agentx::runtime::{Session, UserInput};
use agentx::types::{ApprovalMode, ConfigChange, SessionId};

use crate::args::{AgentArgs, Global, RunArgs};
use crate::attach::note_of_pictures;
use crate::compose::CommandTarget;
use crate::console::Console;
use crate::error::ChatError;
use crate::{headless, other_server, session_opening, start};

/// Ends `--yes` with the run: a person who continues the session, and on a server any driver of it, is asked
/// again. If this cannot be recorded now, the next opening of the session on this machine records it.
pub(super) async fn asks_again(
    global: &Global,
    place: &CommandTarget,
    settings: &Settings,
    session: &dyn Session,
) {
    let usual = match place.default_agent().await {
        Ok(Some(agent)) => agent.approval,
        _ => {
            let there = Global {
                cwd: Some(settings.workspace.clone()),
                ..global.clone()
            };
            start::settings(&there, &AgentArgs::default())
                .map_or(ApprovalMode::Ask, |usual| usual.settings.approval)
        }
    };
    let asks_less = session.state().await.is_ok_and(|state| {
        let now = state.config.approval;
        now.strictness() < usual.strictness() && now != ApprovalMode::Ask
    });
    if asks_less {
        let _ = session.change(ConfigChange::Approval(usual)).await;
    }
}

/// Prints notes about a session before the run continues it: who answers, and that calls are asked about.
pub(super) async fn say_notes(
    place: &CommandTarget,
    settings: &Settings,
    session: &dyn Session,
    there: u64,
    console: &mut Console,
) {
    headless::say_of_this_machine(place, settings, session, console).await;
    let of_server = other_server::record(place, settings, session).await;
    let changed = session_opening::changed_by_opening(place, session.id(), there).await;
    let of_decisions = session_opening::note_of_decisions(settings, &changed);
    let notes = [of_server, of_decisions];
    notes.into_iter().flatten().for_each(|note| console.say(&note));
}

/// Prints a note if older pictures give way to those of the prompt.
pub(super) async fn say_of_pictures(
    place: &CommandTarget,
    session: &dyn Session,
    prompt: Option<&UserInput>,
    console: &mut Console,
) {
    if let Some(note) = note_of_pictures(place.runtime(), session, prompt).await {
        console.say(&console.err_style().dim(&format!("note: {note}\n")));
    }
}

/// Opens the session. Without an approver, changes a session that would ask to one that refuses. Returns
/// whether it would have asked, and the last event before.
pub(super) async fn open(
    place: &CommandTarget,
    settings: &mut Settings,
    args: &RunArgs,
    found: Option<SessionId>,
    has_person: bool,
) -> Result<(Arc<dyn Session>, bool, u64), ChatError> {
    let was_said = args.agent.approve.is_some() || args.agent.yes || place.remote().is_none();
    let is_said = settings.approval == ApprovalMode::Ask;
    if is_said && !has_person {
        settings.approval = ApprovalMode::Deny;
    }
    if let Some(id) = found {
        let there = place.runtime().info(&id).await?.last_seq;
        let session =
            session_opening::resume(place, settings, &args.agent.wanted(), id, args.session.fork).await?;
        if let Err(error) = other_server::check(place, settings, session.as_ref()).await {
            session_opening::leave(place, session.as_ref()).await;
            return Err(error);
        }
        let asks = if was_said {
            is_said
        } else {
            session.state().await?.config.approval == ApprovalMode::Ask
        };
        return Ok((session, asks, there));
    }
    let mut agent = session_opening::new_agent(place, settings, &args.agent.wanted()).await?;
    // A file may want to be asked if the command line does not.
    let asks = (was_said && is_said) || agent.config.approval == ApprovalMode::Ask;
    if asks && !has_person {
        agent.refuse();
    }
    let session = agent.open(place.runtime()).await?;
    if let Some(title) = &args.title {
        session.rename(title.clone()).await?;
    }
    Ok((session, asks, u64::MAX))
}
