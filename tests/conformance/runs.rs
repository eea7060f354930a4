//! Runs: inputs, answers, tools, decisions, stops.

use agentx::runtime::{ApprovalInput, RuntimeError, UserInput};
use agentx::types::{
    ApprovalDecision, ApprovalMode, ConfigChange, ContentPart, EnvironmentEvent, MediaPart, MediaSource,
    RunStatus, RuntimeEvent, ToolCallId, ToolStatus,
};
use agentx_testing::{Gate, ModelScript};
use serde_json::json;

use crate::place::{Place, input};

pub(crate) async fn an_input_is_answered(place: Place) {
    place
        .model
        .push(ModelScript::new().then_pieces(&["two ", "and ", "two"]));
    let mut talk = place.open(ApprovalMode::Auto).await;
    let seq = talk.say("2 + 2?").await;
    let started = talk
        .until(|event| matches!(event, RuntimeEvent::RunStarted(_)))
        .await;
    assert_eq!(started.seq, seq, "the run is that of the input");
    let mut words = String::new();
    while words != "two and two" {
        let delta = talk
            .until(|event| matches!(event, RuntimeEvent::TextDelta(_)))
            .await;
        if let RuntimeEvent::TextDelta(delta) = &delta.event {
            words.push_str(&delta.text);
        }
    }
    let finished = talk.ends().await;
    assert_eq!(finished.status, RunStatus::Completed);
    let state = talk.session.state().await.unwrap();
    let run = state.run.unwrap();
    assert_eq!((run.run_id, run.status), (finished.run_id, RunStatus::Completed));
    assert!(state.pending_approvals.is_empty() && state.queued.is_empty());
    assert_eq!(state.last_seq, place.facts(talk.session.id()).await.len() as u64);
    assert!(state.usage.output_tokens > 0 && state.cost.0 > 0);
    let tags = place.tags(talk.session.id()).await;
    assert_eq!(tags[..3], ["session_opened", "writer_attached", "user_message"]);
    assert!(tags.ends_with(&["usage".into(), "stream_end".into()]), "{tags:?}");
}

pub(crate) async fn a_tool_is_run(place: Place) {
    let call = ModelScript::call(
        "call_1",
        "bash",
        json!({ "command": "echo made > made; cat made" }),
    );
    place.model.push(call);
    place.model.push(ModelScript::text("it is made"));
    let mut talk = place.open(ApprovalMode::Auto).await;
    talk.say("make it").await;
    let done = talk
        .until(|event| matches!(event, RuntimeEvent::ToolCompleted(_)))
        .await;
    assert!(matches!(&done.event, RuntimeEvent::ToolCompleted(done) if done.name == "bash"));
    assert_eq!(talk.ends().await.status, RunStatus::Completed);
    assert_eq!(
        std::fs::read_to_string(place.workspace().join("made")).unwrap(),
        "made\n"
    );
}

fn decide(id: &str, decision: ApprovalDecision) -> ApprovalInput {
    ApprovalInput::new(ToolCallId::new(id), decision).note(Some("as you like".into()))
}

pub(crate) async fn a_call_is_decided_about_once(place: Place) {
    place.model.push(ModelScript::call(
        "call_1",
        "bash",
        json!({ "command": "echo x > made" }),
    ));
    place.model.push(ModelScript::text("done"));
    let mut talk = place.open(ApprovalMode::Ask).await;
    talk.say("do it").await;
    talk.until(|event| matches!(event, RuntimeEvent::ApprovalRequested(_)))
        .await;
    let state = talk.session.state().await.unwrap();
    assert_eq!(state.run.unwrap().status, RunStatus::AwaitingApproval);
    assert_eq!(state.pending_approvals[0].tool_call_id, ToolCallId::new("call_1"));
    let unknown = talk
        .session
        .approve(decide("call_9", ApprovalDecision::Once))
        .await;
    assert!(matches!(unknown, Err(RuntimeError::Refused(_))), "{unknown:?}");
    let seq = talk
        .session
        .approve(decide("call_1", ApprovalDecision::Once))
        .await
        .unwrap();
    assert_eq!(talk.ends().await.status, RunStatus::Completed);
    // A front end that did not hear the answer sends the same decision again, and gets the same answer.
    let same = decide("call_1", ApprovalDecision::Once).note(Some("as you like".into()));
    assert_eq!(talk.session.approve(same).await.unwrap(), seq);
    let other = talk
        .session
        .approve(decide("call_1", ApprovalDecision::Deny))
        .await;
    let Err(RuntimeError::Refused(why)) = other else {
        panic!("{other:?}")
    };
    assert_eq!(why, "the call call_1 is not waiting for a decision");
    let facts = place.facts(talk.session.id()).await;
    let fact = &facts[usize::try_from(seq).unwrap() - 1].event;
    let EnvironmentEvent::Approval(approval) = fact else {
        panic!("{fact:?}")
    };
    assert_eq!(approval.note.as_deref(), Some("as you like"));
    assert!(place.workspace().join("made").exists());
}

pub(crate) async fn a_call_that_is_refused_is_not_made(place: Place) {
    place.model.push(ModelScript::call(
        "call_1",
        "bash",
        json!({ "command": "echo x > made" }),
    ));
    place.model.push(ModelScript::text("then not"));
    let mut talk = place.open(ApprovalMode::Ask).await;
    talk.say("do it").await;
    talk.until(|event| matches!(event, RuntimeEvent::ApprovalRequested(_)))
        .await;
    talk.session
        .approve(decide("call_1", ApprovalDecision::Deny))
        .await
        .unwrap();
    let failed = talk
        .until(|event| matches!(event, RuntimeEvent::ToolFailed(_)))
        .await;
    assert!(matches!(&failed.event, RuntimeEvent::ToolFailed(failed) if failed.status == ToolStatus::Denied));
    assert_eq!(talk.ends().await.status, RunStatus::Completed);
    assert!(!place.workspace().join("made").exists());
}

pub(crate) async fn what_runs_is_stopped(place: Place) {
    let gate = Gate::closed();
    place
        .model
        .push(ModelScript::new().then_pieces(&["half "]).then_stall(&gate));
    let mut talk = place.open(ApprovalMode::Auto).await;
    talk.say("hello").await;
    gate.reached().await;
    let seq = talk.session.interrupt(Some("enough".into())).await.unwrap();
    assert_eq!(talk.ends().await.status, RunStatus::Interrupted);
    let facts = place.facts(talk.session.id()).await;
    let fact = &facts[usize::try_from(seq).unwrap() - 1].event;
    assert!(
        matches!(fact, EnvironmentEvent::InterruptRequested(asked) if asked.reason.as_deref() == Some("enough"))
    );
    place.model.push(ModelScript::text("well"));
    talk.say("and now?").await;
    assert_eq!(talk.ends().await.status, RunStatus::Completed);
}

pub(crate) async fn with_nothing_to_stop_nothing_is_put_on_record(place: Place) {
    let talk = place.open(ApprovalMode::Auto).await;
    let seq = talk.session.interrupt(None).await.unwrap();
    let last = talk.session.state().await.unwrap().last_seq;
    let mut tags = vec!["session_opened", "writer_attached"];
    if place.remote.is_some() {
        // The key of the request, so that it stops nothing that begins later if it is sent again.
        tags.push("request_recorded");
    }
    assert!(seq <= last);
    assert_eq!(place.tags(talk.session.id()).await, tags);
}

pub(crate) async fn inputs_wait_for_their_turn(place: Place) {
    let gate = Gate::closed();
    place.model.push(ModelScript::new().then_stall(&gate));
    place.model.push(ModelScript::text("the second"));
    let mut talk = place.open(ApprovalMode::Auto).await;
    talk.say("first").await;
    gate.reached().await;
    talk.say("second").await;
    let state = talk.session.state().await.unwrap();
    let waiting: Vec<&str> = state.queued.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(waiting, ["second"]);
    gate.open();
    assert_eq!(talk.ends().await.status, RunStatus::Completed);
    assert_eq!(talk.ends().await.status, RunStatus::Completed);
}

pub(crate) async fn what_is_said_twice_with_one_key_is_said_once(place: Place) {
    place.model.push(ModelScript::text("once"));
    let mut talk = place.open(ApprovalMode::Auto).await;
    let said = input("hello").key(Some("key".into()));
    let seq = talk.session.send(said.clone()).await.unwrap();
    assert_eq!(talk.session.send(said.clone()).await.unwrap(), seq);
    talk.ends().await;
    assert_eq!(talk.session.send(said).await.unwrap(), seq);
    let tags = place.tags(talk.session.id()).await;
    assert_eq!(tags.iter().filter(|tag| *tag == "user_message").count(), 1);
}

pub(crate) async fn a_picture_becomes_a_blob(place: Place) {
    place.model.push(ModelScript::text("a dot"));
    let mut talk = place.open(ApprovalMode::Auto).await;
    let picture = MediaPart {
        media_type: "image/png".into(),
        source: MediaSource::Base64("iVBORw0KGgo=".into()),
        name: None,
    };
    let said = UserInput::new(vec![
        ContentPart::text("what is it?"),
        ContentPart::Image(picture.clone()),
    ]);
    let seq = talk.session.send(said).await.unwrap();
    talk.ends().await;
    let facts = place.facts(talk.session.id()).await;
    let fact = &facts[usize::try_from(seq).unwrap() - 1].event;
    let EnvironmentEvent::UserMessage(message) = fact else {
        panic!("{fact:?}")
    };
    assert!(
        matches!(&message.content[1], ContentPart::Image(media) if matches!(media.source, MediaSource::Blob(_)))
    );
    let source = MediaSource::Base64("no base64!".into());
    let broken = UserInput::new(vec![ContentPart::Image(MediaPart { source, ..picture })]);
    let refused = talk.session.send(broken).await;
    assert!(
        matches!(&refused, Err(RuntimeError::Remote { code, .. }) if code == "bad_request"),
        "{refused:?}"
    );
}

pub(crate) async fn a_picture_for_a_model_that_takes_none_is_refused(place: Place) {
    let talk = place.open(ApprovalMode::Auto).await;
    let models = place.runtime.models();
    let blind = models.iter().find(|info| info.spec.id == "blind").unwrap();
    let change = ConfigChange::Model(Box::new(blind.spec.clone()));
    talk.session.change(change).await.unwrap();
    let before = place.facts(talk.session.id()).await.len();
    let picture = ContentPart::Image(MediaPart {
        media_type: "image/png".into(),
        source: MediaSource::Base64("iVBORw==".into()),
        name: None,
    });
    let said = UserInput::new(vec![picture]);
    let refused = talk.session.send(said).await;
    let Err(RuntimeError::Refused(why)) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(why, "blind does not accept images; nothing was sent");
    assert_eq!(place.facts(talk.session.id()).await.len(), before);
}
