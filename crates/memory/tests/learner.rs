//! The service that has a model propose what to remember: the sessions that it reads, the proposals that it
//! stores, and its answers.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use agentx_memory::{AcceptMode, LearnerParts, MAX_WAITING, MemoryLearner, MemoryState, NewMemory};
use agentx_runtime::{
    BoxFuture, CallSlots, Effector, EventSink, Origin, Redactor, SecretSet, SessionScope, SystemClock,
};
use agentx_testing::{check_others, fixture};
use agentx_types::{
    Action, ActionBody, ActionId, ActionKind, EnvironmentEvent, ErrorOccurred, MemoriesProposed, OwnerId,
    ProposeMemories, StopReason, StreamEnd, StreamStart, TextChunk, Timestamp, Usage, UsageReport,
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::sessions::{Desk, ME, call, delivered, said_by};

/// A model that answers each request with this text, or fails if there is none.
struct Says {
    text: Option<String>,
    asked: AtomicUsize,
}

impl Effector for Says {
    fn perform(
        &self,
        action: Arc<Action>,
        events: EventSink,
        _: CancellationToken,
    ) -> BoxFuture<'static, ()> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let text = self.text.clone();
        Box::pin(async move {
            if !matches!(action.body, ActionBody::CallModel(_)) {
                return;
            }
            let Some(text) = text else {
                let failed = ErrorOccurred {
                    code: "overloaded".into(),
                    message: "the model is overloaded".into(),
                    recoverable: true,
                };
                events.emit(failed).await;
                return;
            };
            let usage = Usage {
                input_tokens: 100,
                output_tokens: 10,
                ..Usage::default()
            };
            let start = StreamStart {
                message_id: "msg_a".into(),
                model: "fixture".into(),
                attempt: 1,
            };
            events.emit(start).await;
            events.emit(TextChunk { text }).await;
            events.emit(UsageReport { usage }).await;
            let end = StreamEnd {
                stop_reason: StopReason::EndTurn,
                raw: None,
            };
            events.emit(end).await;
        })
    }
}

fn says(text: &str) -> Arc<Says> {
    Arc::new(Says {
        text: Some(text.to_owned()),
        asked: AtomicUsize::new(0),
    })
}

fn silent() -> Arc<Says> {
    Arc::new(Says {
        text: None,
        asked: AtomicUsize::new(0),
    })
}

const TWO: &str = r#"{"proposals": [{"text": "The user likes tea.", "from": 1},
    {"kind": "offer", "text": "a summary of the week", "from": 3, "only_here": true}]}"#;

fn learner(desk: &Desk, model: &Arc<Says>, accept: AcceptMode) -> MemoryLearner {
    MemoryLearner::new(parts(desk, model, accept))
}

fn parts(desk: &Desk, model: &Arc<Says>, accept: AcceptMode) -> LearnerParts {
    LearnerParts {
        models: model.clone(),
        store: desk.store.clone(),
        log: desk.log.clone(),
        person: OwnerId::new(ME),
        accept,
        clock: Arc::new(SystemClock),
        redactor: None,
    }
}

/// The answer of the service to a request that also reflects, by the action `number`.
async fn proposed(desk: &Desk, service: &MemoryLearner, number: usize) -> MemoriesProposed {
    let propose = ProposeMemories {
        inputs: vec![1, 3],
        reflect: true,
        workspace: "/work".into(),
        ..fixture::propose_memories()
    };
    let action = Arc::new(Action {
        action_id: ActionId::following(1, number),
        agent_state_id: "agt_1".into(),
        run_id: None,
        body: ActionBody::ProposeMemories(propose),
    });
    let (queue, mut said) = mpsc::channel(4);
    let scope = SessionScope::new(desk.session.clone(), CallSlots::default());
    let sink = EventSink::in_session(queue, &action, scope);
    service
        .perform(action.clone(), sink, CancellationToken::new())
        .await;
    let draft = said.recv().await.unwrap().drafts.remove(0);
    assert_eq!(draft.cause.as_ref(), Some(&action.action_id));
    match draft.event {
        EnvironmentEvent::MemoriesProposed(proposed) => proposed,
        other => panic!("another event: {other:?}"),
    }
}

#[tokio::test]
async fn what_a_model_proposes_waits_for_the_person_with_its_origin_and_costs_what_it_cost() {
    let desk = Desk::of(ME, vec![said_by(None)]).await;
    let answer = proposed(&desk, &learner(&desk, &says(TWO), AcceptMode::Ask), 0).await;
    let origins: Vec<_> = answer.items.iter().map(|item| item.origin.as_deref()).collect();
    assert_eq!(origins, [Some("ses_1:1"), Some("ses_1:3")]);
    let bill = answer.bill.unwrap();
    assert_eq!((bill.usage.input_tokens, bill.usage.output_tokens), (100, 10));
    let [fact, offer] = [1, 2].map(|id| desk.store.get(id).unwrap());
    assert_eq!((fact.text.as_str(), fact.folder), ("The user likes tea.", None));
    assert_eq!(offer.text, "To offer another time: a summary of the week");
    assert_eq!(offer.folder.as_deref(), Some("/work"));
    assert_eq!(desk.store.count(MemoryState::Proposed).unwrap(), 2);
}

#[tokio::test]
async fn a_setting_accepts_facts_without_text_from_outside_and_never_a_reflection() {
    use MemoryState::{Accepted, Proposed};
    for (events, state) in [
        (vec![said_by(None)], Accepted),
        (vec![said_by(None), call("web_search")], Proposed),
        (vec![said_by(None), delivered()], Proposed),
    ] {
        let desk = Desk::of(ME, events).await;
        proposed(&desk, &learner(&desk, &says(TWO), AcceptMode::Always), 0).await;
        assert_eq!(desk.store.get(1).unwrap().state, state);
        assert_eq!(desk.store.get(2).unwrap().state, Proposed);
    }
}

#[tokio::test]
async fn a_proposal_with_a_known_secret_is_not_stored() {
    let desk = Desk::of(ME, vec![said_by(None)]).await;
    let mut secrets = SecretSet::default();
    assert!(secrets.add("DEPLOY_TOKEN", Origin::Variable, "q8Zr-made-up-value"));
    // The redactor does not find the value in pieces, and the model puts them together.
    let answer = r#"{"proposals": [{"text": "The deploy token is q8Zr-made-up-value.", "from": 1},
        {"text": "The user likes tea.", "from": 1}]}"#;
    let service = MemoryLearner::new(LearnerParts {
        redactor: Some(Redactor::new(&secrets)),
        ..parts(&desk, &says(answer), AcceptMode::Always)
    });
    assert_eq!(proposed(&desk, &service, 0).await.items.len(), 1);
    assert_eq!(desk.store.get(1).unwrap().text, "The user likes tea.");
    assert!(desk.store.get(2).is_err());
}

#[tokio::test]
async fn what_is_known_or_refused_is_not_proposed_again() {
    let desk = Desk::of(ME, vec![said_by(None)]).await;
    let service = learner(&desk, &says(TWO), AcceptMode::Ask);
    assert_eq!(proposed(&desk, &service, 0).await.items.len(), 2);
    let again = proposed(&desk, &service, 1).await;
    assert_eq!((again.items, again.problem), (Vec::new(), None));
    assert_eq!(desk.store.count(MemoryState::Proposed).unwrap(), 2);
}

#[tokio::test]
async fn no_model_is_asked_about_sessions_of_others_nor_while_memory_is_off() {
    let model = says(TWO);
    let of_member = Desk::of("own_member", vec![said_by(None)]).await;
    let with_guest = Desk::of(ME, vec![said_by(None), said_by(Some("own_guest"))]).await;
    for desk in [&of_member, &with_guest] {
        let answer = proposed(desk, &learner(desk, &model, AcceptMode::Always), 0).await;
        assert_eq!(answer, MemoriesProposed::nothing());
        assert_eq!(desk.store.count(MemoryState::Proposed).unwrap(), 0);
    }
    let answer = proposed(&with_guest, &MemoryLearner::off(), 0).await;
    assert_eq!(answer, MemoriesProposed::nothing());
    assert_eq!(model.asked.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_failure_is_named_and_what_was_spent_is_reported() {
    let desk = Desk::of(ME, vec![said_by(None)]).await;
    let failed = proposed(&desk, &learner(&desk, &silent(), AcceptMode::Ask), 0).await;
    assert!(failed.problem.unwrap().contains("the model is overloaded"));
    let unread = proposed(
        &desk,
        &learner(&desk, &says("I remember everything."), AcceptMode::Ask),
        1,
    )
    .await;
    assert!(unread.problem.unwrap().contains("list of proposals"));
    assert!(unread.bill.is_some());
}

#[tokio::test]
async fn a_full_inbox_takes_no_more_and_says_so() {
    let desk = Desk::of(ME, vec![said_by(None)]).await;
    for number in 0..MAX_WAITING {
        let new = NewMemory {
            state: MemoryState::Proposed,
            ..NewMemory::of_person(format!("fact {number}"))
        };
        desk.store.add(&new, Timestamp(1)).unwrap();
    }
    let answer = proposed(&desk, &learner(&desk, &says(TWO), AcceptMode::Ask), 0).await;
    assert!(answer.items.is_empty());
    assert!(answer.problem.unwrap().contains("the inbox is full"));
}

#[tokio::test]
async fn it_is_silent_about_actions_of_other_kinds() {
    let desk = Desk::of(ME, vec![said_by(None)]).await;
    check_others(
        &learner(&desk, &says(TWO), AcceptMode::Ask),
        ActionKind::ProposeMemories,
    )
    .await;
}
