//! Tests the status of a session: questions, printed lines and held lines.

use agentx::types::{
    ApprovalSettled, EventDraft, Message, Role, RunStarted, SessionId, Source, Timestamp, UserMessageAdded,
};

use super::*;

fn new_status() -> SessionStatus {
    SessionStatus::new(&agentx::agent::fixtures::config(), Instant::now())
}

#[test]
fn a_question_of_a_script_is_gone_when_it_is_settled_elsewhere() {
    let asked: ApprovalRequested = serde_json::from_value(serde_json::json!({
        "tool_call_id": "call_1/1", "name": "bash", "input": {"command": "ls"}, "reason": "",
        "suggested": {"effect": "allow", "tool": "bash"},
    }))
    .unwrap();
    let settled = ApprovalSettled {
        tool_call_id: asked.tool_call_id.clone(),
        allowed: true,
    };
    let mut status = new_status();
    let mut hear = |event: RuntimeEvent, seq| {
        let draft = EventDraft::new(Source::Agent, None, event);
        status.event(
            &draft.into_envelope(SessionId::new("ses_1"), seq, Timestamp(0)),
            false,
            Instant::now(),
        );
        status.question().is_some()
    };
    assert!(hear(asked.into(), 1));
    assert!(!hear(settled.into(), 2));
}

#[test]
fn what_was_queued_is_printed_although_a_note_about_jobs_comes_before_it() {
    let (id, run_id) = (MessageId::with_suffix(7), RunId::of_input(7));
    let mut status = SessionStatus {
        inherited: 1,
        ..new_status()
    };
    let message = |id: MessageId, text: &str| UserMessageAdded {
        message: Message {
            message_id: id,
            role: Role::User,
            content: vec![ContentPart::text(text)],
            by: None,
        },
    };
    let began = RunStarted {
        run_id: run_id.clone(),
        message_id: id.clone(),
    };
    let events: [RuntimeEvent; 3] = [
        began.into(),
        message("msg_ended_5".into(), "job_1 has ended").into(),
        message(id, "then the docs").into(),
    ];
    let printed: Vec<String> = (8..)
        .zip(events)
        .filter_map(|(seq, event)| {
            let mut draft = EventDraft::new(Source::Agent, None, event);
            draft.run_id = Some(run_id.clone());
            status
                .event(
                    &draft.into_envelope(SessionId::new("ses_1"), seq, Timestamp(0)),
                    false,
                    Instant::now(),
                )
                .said
        })
        .map(|said| said.text)
        .collect();
    assert_eq!(printed, ["then the docs"]);
}

#[test]
fn what_was_held_back_by_a_server_is_printed_once_when_it_is_sent_after_all() {
    let (id, run_id) = (MessageId::with_suffix(7), RunId::of_input(7));
    let mut status = SessionStatus {
        running: Some(RunId::of_input(1)),
        ..new_status()
    };
    assert!(status.begin_sending("then the docs", Vec::new()));
    status.confirm_sent(7);
    // The server was closed and started again.
    (status.running, status.held) = (None, true);
    status.revise(&id, Some(InputMode::Steer));
    let began = RunStarted {
        run_id: run_id.clone(),
        message_id: id.clone(),
    };
    let message = Message {
        message_id: id,
        role: Role::User,
        content: vec![ContentPart::text("then the docs")],
        by: None,
    };
    let events: [RuntimeEvent; 2] = [began.into(), UserMessageAdded { message }.into()];
    let printed: Vec<String> = (8..)
        .zip(events)
        .filter_map(|(seq, event)| {
            let mut draft = EventDraft::new(Source::Agent, None, event);
            draft.run_id = Some(run_id.clone());
            status
                .event(
                    &draft.into_envelope(SessionId::new("ses_1"), seq, Timestamp(0)),
                    false,
                    Instant::now(),
                )
                .said
        })
        .map(|said| said.text)
        .collect();
    assert_eq!(printed, ["then the docs"]);
}

#[test]
fn a_session_that_was_closed_asks_and_runs_nothing_but_keeps_its_time() {
    let begin = Instant::now();
    let mut status = SessionStatus::new(&agentx::agent::fixtures::config(), begin);
    let began = RunStarted {
        run_id: RunId::of_input(1),
        message_id: MessageId::with_suffix(1),
    };
    let draft = EventDraft::new(Source::Agent, None, RuntimeEvent::from(began));
    let envelope = draft.into_envelope(SessionId::new("ses_1"), 1, Timestamp(0));
    assert_eq!(status.event(&envelope, false, begin), StatusNews::default());
    assert!(status.is_busy() && status.activity.moves());
    let seconds = tokio::time::Duration::from_secs(5);
    status.close(begin + seconds);
    assert!(!status.is_busy() && !status.activity.moves());
    assert_eq!(status.activity.summary("ses_1").spending.worked, seconds);
}
