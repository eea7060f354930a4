//! A delivery of a webhook: the run that it wants. If a process died in the middle of it, a new session is
//! found by its title, which it has before its prompt, and a message in a continued one by the key in it, so
//! that the prompt is sent once.

use std::path::PathBuf;

use agentx::history::export;
use agentx::runtime::{Runtime, RuntimeError, SessionInfo, SessionQuery};
use agentx::types::{ContentPart, EnvironmentEvent, SessionId};
use agentx_schedule::{DeliveryTurn, WebhookDelivery};

use super::WantedRun;
use super::due_schedules::TurnWork;

/// The number of sessions of the directory among which that of a process that died is looked for.
const LOOKED_AT: usize = 200;

/// Returns what is left to do for a delivery.
pub(super) async fn work_of_delivery(
    turn: &DeliveryTurn,
    runtime: &dyn Runtime,
) -> Result<TurnWork, RuntimeError> {
    let delivery = turn.delivery();
    if let Some(session) = &delivery.session {
        let id = runtime.resolve(session).await?;
        if turn.is_again() && was_sent(runtime, &id, &delivery.key).await? {
            return Ok(onward(runtime.info(&id).await?));
        }
        return Ok(TurnWork::Run(with_prompt(&id, delivery)));
    }
    let found = if turn.is_again() {
        begun_session(delivery, runtime).await?
    } else {
        None
    };
    Ok(match found {
        None => TurnWork::Run(new_run(delivery)),
        Some(info) if info.status.is_some() => onward(info),
        // Its process died before it sent the prompt.
        Some(info) => TurnWork::Run(with_prompt(&info.session_id, delivery)),
    })
}

/// The rest of a run in this session.
fn onward(info: SessionInfo) -> TurnWork {
    match info.status {
        Some(status) if !status.is_final() => TurnWork::Run(WantedRun::of_session(info.session_id.as_str())),
        _ => TurnWork::Done(info.session_id),
    }
}

/// Returns whether a message of the session has this key.
async fn was_sent(runtime: &dyn Runtime, session: &SessionId, key: &str) -> Result<bool, RuntimeError> {
    let document = export(runtime, session).await?;
    Ok(document.events.iter().any(|fact| match &fact.event {
        EnvironmentEvent::UserMessage(message) => {
            let mut texts = message.content.iter().filter_map(ContentPart::as_text);
            texts.any(|text| text.contains(key))
        }
        _ => false,
    }))
}

/// The session that a process that died has opened for this delivery.
async fn begun_session(
    delivery: &WebhookDelivery,
    runtime: &dyn Runtime,
) -> Result<Option<SessionInfo>, RuntimeError> {
    let query = SessionQuery {
        owner: runtime.owner().clone(),
        workspace: Some(delivery.workspace.clone()),
        limit: LOOKED_AT,
        before: None,
    };
    let title = delivery.title();
    let mut found = runtime.sessions(query).await?;
    found.retain(|info| info.title == title);
    Ok(found.into_iter().max_by_key(|info| info.created_at))
}

/// The prompt of the delivery in an existing session.
fn with_prompt(session: &SessionId, delivery: &WebhookDelivery) -> WantedRun {
    let mut run = WantedRun::of_session(session.as_str());
    run.words.extend(["--".to_owned(), delivery.prompt.clone()]);
    run
}

/// A run in a new session.
fn new_run(delivery: &WebhookDelivery) -> WantedRun {
    let mut words = vec!["--quiet".to_owned(), "--title".to_owned(), delivery.title()];
    for (flag, value) in [("--agent", &delivery.agent), ("--model", &delivery.model)] {
        if let Some(value) = value {
            words.extend([flag.to_owned(), value.clone()]);
        }
    }
    words.extend(["--".to_owned(), delivery.prompt.clone()]);
    WantedRun {
        words,
        workspace: Some(PathBuf::from(&delivery.workspace)),
        record: None,
    }
}

#[cfg(test)]
mod tests {
    use agentx::types::Timestamp;

    use super::*;

    #[test]
    fn a_delivery_is_run_in_a_session_of_its_own_or_in_the_one_that_is_named() {
        let delivery = WebhookDelivery {
            key: "0123456789abcdef".into(),
            webhook: "ci".into(),
            prompt: "--look".into(),
            agent: Some("reviewer".into()),
            model: None,
            workspace: "/w".into(),
            session: None,
            received_at: Timestamp(1),
            begun_at: None,
        };
        let run = new_run(&delivery);
        let words = [
            "--quiet",
            "--title",
            "ci 0123456789ab",
            "--agent",
            "reviewer",
            "--",
            "--look",
        ];
        assert_eq!(run.words, words);
        assert_eq!(run.workspace, Some(PathBuf::from("/w")));
        let run = with_prompt(&"ses_1".into(), &delivery);
        assert_eq!(run.words, ["--quiet", "--session", "ses_1", "--", "--look"]);
    }
}
