//! Condensing through the driver: the model is called as for any answer, its text is not an answer, and one
//! fact has the result. Whatever happens to the model, the run continues.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;

use agentx_bus::{KeyPattern, Serve};
use agentx_runtime::{
    BoxFuture, BusModels, CapturedEffect, Condenser, ContextRequest, Delivery, Effector, EventSink,
    RequestKey, RuntimeError, Session, UserInput, View,
};
use agentx_testing::{Gate, MemoryWorld, ModelScript, ScriptedModel, fixture};
use agentx_types::{
    Action, ActionBody, ActionId, ActionKind, AgentConfig, AttemptFailed, Condense, ContextChange,
    ContextCondensed, EnvironmentEvent, ModelRequest, RuntimeEvent, StopReason,
};

struct World {
    memory: MemoryWorld,
    session: Arc<dyn Session>,
}

impl World {
    async fn new(answers: impl IntoIterator<Item = ModelScript>) -> Self {
        let over_bus = BusModels::default();
        let condenser = Condenser::new(Arc::new(over_bus.clone()));
        let memory = MemoryWorld::new(answers).with_effector(ActionKind::Condense, Arc::new(condenser));
        over_bus.connect(&memory.parts.actions);
        let mut config = AgentConfig {
            condensing: Some(Box::default()),
            ..fixture::config()
        };
        config.model.max_output_tokens = 32_000;
        let session = memory.open_new(config).await;
        Self { memory, session }
    }

    async fn say(&self, text: &str) {
        let input = UserInput::text(text);
        let seq = self.session.send(input).await.unwrap();
        self.until(seq, |event| matches!(event, RuntimeEvent::RunFinished(_)))
            .await;
    }

    /// Returns the first matching event after `seq`.
    async fn until(&self, seq: u64, wanted: impl Fn(&RuntimeEvent) -> bool) -> RuntimeEvent {
        let mut events = self.session.subscribe(seq - 1, View::Runtime).await.unwrap();
        while let Some(delivery) = events.next().await {
            if let Delivery::Runtime(event) = delivery
                && wanted(&event.event)
            {
                return event.event.clone();
            }
        }
        panic!("the session ended first");
    }

    async fn wish(&self, wish: ContextRequest) -> Result<ContextChange, RuntimeError> {
        let seq = self.session.context(wish).await?;
        let over = |event: &RuntimeEvent| match event {
            RuntimeEvent::ContextChanged(changed) => !matches!(changed.change, ContextChange::Condensing(_)),
            _ => false,
        };
        match self.until(seq, over).await {
            RuntimeEvent::ContextChanged(changed) => Ok(changed.change),
            other => panic!("{other:?}"),
        }
    }

    async fn said_much(answers: impl IntoIterator<Item = ModelScript>) -> Self {
        let long = "much is said about the harbour ".repeat(60);
        let first = (0..4).map(|_| ModelScript::text(&long));
        let world = Self::new(first.chain(answers)).await;
        for n in 0..4 {
            world.say(&format!("question {n}")).await;
        }
        world
    }
}

fn condense() -> ContextRequest {
    ContextRequest::Condense { instructions: None }
}

#[tokio::test]
async fn a_summary_is_one_fact_and_no_answer() {
    let world = World::said_much([
        ModelScript::text("The harbour was spoken of."),
        ModelScript::text("yes"),
    ])
    .await;
    let before = world.memory.tags().len();
    let change = world.wish(condense()).await.unwrap();
    assert!(
        matches!(change, ContextChange::Condensed(range) if range.messages > 2),
        "{change:?}"
    );
    assert_eq!(
        world.memory.tags()[before..],
        ["condense_requested", "action_started", "context_condensed"]
    );
    let facts = world.memory.log.facts(world.session.id());
    let bill = facts.iter().find_map(|fact| match &fact.event {
        EnvironmentEvent::ContextCondensed(condensed) => condensed.bill.clone(),
        _ => None,
    });
    assert_eq!(bill.unwrap().usage.context_tokens(), 15);
    world.say("go on").await;
    let asked = world.memory.model.requests();
    let texts: Vec<String> = asked
        .last()
        .unwrap()
        .messages
        .iter()
        .map(|message| message.text())
        .collect();
    assert_eq!(texts[0], "question 0");
    assert!(texts[1].ends_with("The harbour was spoken of."), "{texts:?}");
    assert_eq!(texts.last().unwrap(), "go on");
}

#[tokio::test]
async fn whoever_serves_the_calls_of_the_model_writes_the_summary() {
    let world = World::said_much([]).await;
    let actions = &world.memory.parts.actions;
    let before = world.memory.model.requests().len();
    let own = ScriptedModel::new([ModelScript::text("The harbour was spoken of.")]);
    let serve = Serve::new("own").on("llm.requests", KeyPattern::prefix("test/"));
    actions.serve_as(serve.capacity(1), Arc::new(own.clone()));
    let change = world.wish(condense()).await.unwrap();
    assert!(matches!(change, ContextChange::Condensed(_)), "{change:?}");
    assert_eq!(own.requests().len(), 1);
    assert_eq!(world.memory.model.requests().len(), before);
    let responders = actions.responders();
    let own = responders.iter().find(|responder| responder.name == "own");
    assert_eq!(
        own.unwrap().settled,
        1,
        "it is in the list of requests like any call"
    );
}

#[tokio::test]
async fn what_is_taken_out_is_asked_as_before() {
    let world = World::said_much([ModelScript::text("In short."), ModelScript::text("yes")]).await;
    let refused = world.session.context(ContextRequest::Restore {}).await;
    assert!(matches!(refused, Err(RuntimeError::Refused(_))), "{refused:?}");
    let before = world.memory.model.requests().last().unwrap().messages.clone();
    world.wish(condense()).await.unwrap();
    let change = world.wish(ContextRequest::Restore {}).await.unwrap();
    assert!(matches!(change, ContextChange::Restored(_)), "{change:?}");
    world.say("go on").await;
    let after = world.memory.model.requests().last().unwrap().messages.clone();
    assert_eq!(after[..before.len()], before[..]);
}

#[tokio::test]
async fn a_summary_is_taken_out_once_by_a_request_that_comes_twice() {
    let summaries = [
        ModelScript::text("In short."),
        ModelScript::text("Again in short."),
    ];
    let world = World::said_much(summaries).await;
    let taken_out = |key: &str| {
        let session = world.session.once(&key_of(key)).unwrap();
        async move { session.context(ContextRequest::Restore {}).await }
    };
    world.wish(condense()).await.unwrap();
    let first = taken_out("key_1").await.unwrap();
    assert_eq!(
        taken_out("key_1").await.unwrap(),
        first,
        "there is none to take out"
    );
    world.wish(condense()).await.unwrap();
    assert_eq!(taken_out("key_1").await.unwrap(), first, "it comes late");
    assert_eq!(
        world.session.done_before(&key_of("key_1")).await.unwrap(),
        Some(first)
    );
    assert_eq!(world.session.done_before(&key_of("key_2")).await.unwrap(), None);
    let restored = |tags: &[String]| tags.iter().filter(|tag| *tag == "context_restored").count();
    assert_eq!(restored(&world.memory.tags()), 1);
    taken_out("key_2").await.unwrap();
    assert_eq!(restored(&world.memory.tags()), 2, "another request");
    let other = RequestKey::new("key_2", &"something else");
    let reused = world.session.done_before(&other).await.unwrap_err();
    assert!(
        reused.to_string().contains("has the same idempotency key"),
        "{reused}"
    );
    let other = world.session.once(&other).unwrap();
    let refused = other.rename("a title".to_owned()).await.unwrap_err();
    assert!(
        refused.to_string().contains("has the same idempotency key"),
        "{refused}"
    );
}

fn key_of(key: &str) -> RequestKey {
    RequestKey::new(key, &"restore")
}

#[tokio::test]
async fn a_model_that_fails_is_told_once_and_harms_nothing() {
    let long = "a summary that is longer than what was said ".repeat(400);
    for (answer, code) in [
        (ModelScript::error("overloaded", "try later"), "overloaded"),
        (ModelScript::text(" "), "no_summary"),
        (ModelScript::text(&long), "frees_nothing"),
    ] {
        let world = World::said_much([answer, ModelScript::text("yes")]).await;
        let change = world.wish(condense()).await.unwrap();
        assert!(
            matches!(&change, ContextChange::Failed { code: c, .. } if c == code),
            "{change:?}"
        );
        assert!(!world.memory.tags().contains(&"error".to_owned()));
        world.say("go on").await;
    }
}

#[tokio::test]
async fn half_a_summary_stands_for_nothing_and_is_asked_for_once_more_with_all_the_room() {
    let half = || ModelScript::text("The harbour was spo").stopping(StopReason::MaxTokens);
    let world = World::said_much([half(), ModelScript::text("The harbour was spoken of.")]).await;
    let change = world.wish(condense()).await.unwrap();
    assert!(matches!(change, ContextChange::Condensed(_)), "{change:?}");
    let facts = world.memory.log.facts(world.session.id());
    let condensed = facts.iter().find_map(|fact| match &fact.event {
        EnvironmentEvent::ContextCondensed(condensed) => Some(condensed.clone()),
        _ => None,
    });
    let condensed = condensed.unwrap();
    assert_eq!(condensed.summary, "The harbour was spoken of.");
    assert_eq!(
        condensed.bill.unwrap().usage.context_tokens(),
        30,
        "both are paid for"
    );
    let asked = world.memory.model.requests();
    let room: Vec<Option<u64>> = asked[4..]
        .iter()
        .map(|request| request.params.max_output_tokens)
        .collect();
    assert!(room[0] < room[1], "{room:?}");

    let world = World::said_much([half(), half(), ModelScript::text("yes")]).await;
    let change = world.wish(condense()).await.unwrap();
    assert!(
        matches!(&change, ContextChange::Failed { code, .. } if code == "cut_off"),
        "{change:?}"
    );
    world.say("go on").await;
}

#[tokio::test]
async fn a_summary_whose_end_is_not_known_stands_for_nothing() {
    for (reason, code) in [
        (StopReason::PauseTurn, "cut_off"),
        (StopReason::Other, "cut_off"),
        (StopReason::ToolUse, "no_summary"),
    ] {
        let half = || ModelScript::text("The harbour was spo").stopping(reason);
        let world = World::said_much([half(), half(), ModelScript::text("yes")]).await;
        let change = world.wish(condense()).await.unwrap();
        assert!(
            matches!(&change, ContextChange::Failed { code: said, .. } if said == code),
            "{reason:?}: {change:?}"
        );
        let facts = world.memory.log.facts(world.session.id());
        let is_condensed = |event: &EnvironmentEvent| matches!(event, EnvironmentEvent::ContextCondensed(_));
        assert!(!facts.iter().any(|fact| is_condensed(&fact.event)), "{reason:?}");
    }
    let half = ModelScript::text("The harbour was spo").stopping(StopReason::PauseTurn);
    let world = World::said_much([half, ModelScript::text("The harbour was spoken of.")]).await;
    let change = world.wish(condense()).await.unwrap();
    assert!(
        matches!(change, ContextChange::Condensed(_)),
        "it is asked for once more: {change:?}"
    );
}

#[tokio::test]
async fn it_can_be_stopped() {
    let gate = Gate::closed();
    let world = World::said_much([ModelScript::new().then_stall(&gate), ModelScript::text("yes")]).await;
    let seq = world.session.context(condense()).await.unwrap();
    gate.reached().await;
    world.session.interrupt(None).await.unwrap();
    let failed = |event: &RuntimeEvent| matches!(event, RuntimeEvent::ContextChanged(changed) if matches!(&changed.change, ContextChange::Failed { code, .. } if code == "interrupted"));
    world.until(seq, failed).await;
    world.say("go on").await;
}

/// A model that is unavailable, and would be called again without end.
struct Away(u64);

impl Effector for Away {
    fn perform(
        &self,
        _: Arc<Action>,
        events: EventSink,
        _: tokio_util::sync::CancellationToken,
    ) -> BoxFuture<'static, ()> {
        let pause = self.0;
        Box::pin(async move {
            for attempt in 1.. {
                let failed = AttemptFailed {
                    attempt,
                    code: "overloaded".into(),
                    message: "made up: try later".into(),
                    status: Some(503),
                    retry_in_ms: Some(pause),
                    gives_up_in_ms: None,
                    overflow: None,
                    refused: None,
                    longest_answer: None,
                    most_media: None,
                    no_thinking: false,
                    refused_place: None,
                };
                if attempt > 10 {
                    return;
                }
                events.emit(failed).await;
            }
        })
    }
}

/// A request for a summary of two events.
fn to_condense(brief: bool) -> Condense {
    let request = ModelRequest {
        model: fixture::config().model,
        params: Default::default(),
        system: Vec::new(),
        messages: Vec::new(),
        tools: Arc::from([]),
        plain: false,
        turns: false,
        without: Vec::new(),
        answer_schema: None,
    };
    Condense {
        from_seq: 1,
        to_seq: 2,
        kept: Vec::new(),
        tokens: 100,
        request: Arc::new(request),
        brief,
        written: None,
        masked: Vec::new(),
    }
}

fn action(condense: Condense) -> Arc<Action> {
    Arc::new(Action {
        action_id: ActionId::with_suffix("1"),
        agent_state_id: fixture::agent_state_id(),
        run_id: None,
        body: ActionBody::Condense(condense),
    })
}

/// The tags of the events about a summary whose model is unavailable.
async fn away(brief: bool, pause: u64) -> Vec<&'static str> {
    let action = action(to_condense(brief));
    let condenser = Condenser::new(Arc::new(Away(pause)));
    let mut heard = CapturedEffect::of(&condenser, action, None, Default::default());
    let mut tags = Vec::new();
    while let Some(event) = heard.next().await {
        tags.push(match event {
            EnvironmentEvent::AttemptFailed(_) => "again",
            EnvironmentEvent::CondensingFailed(failed) if failed.code == "overloaded" => "failed",
            other => panic!("{other:?}"),
        });
        if tags.len() > 5 {
            break;
        }
    }
    tags
}

#[tokio::test]
async fn a_summary_that_is_not_needed_yet_is_not_waited_for() {
    assert_eq!(away(true, 500).await, ["again", "failed"]);
    assert_eq!(
        away(true, 30_000).await,
        ["failed"],
        "a long pause is not worth it"
    );
    assert_eq!(away(false, 500).await, ["again"; 6], "without it nothing goes on");
}

#[tokio::test]
async fn a_text_that_no_model_writes_is_recorded_without_asking_one() {
    let masks = Condense {
        written: Some("This output is left out.".into()),
        masked: vec!["look".into()],
        ..to_condense(true)
    };
    // The model is away, and would be waited for.
    let condenser = Condenser::new(Arc::new(Away(30_000)));
    let mut heard = CapturedEffect::of(&condenser, action(masks), None, Default::default());
    let condensed = ContextCondensed {
        from_seq: 1,
        to_seq: 2,
        summary: "This output is left out.".into(),
        kept: Vec::new(),
        bill: None,
        masked: vec!["look".into()],
    };
    assert_eq!(heard.next().await, Some(EnvironmentEvent::from(condensed)));
    assert_eq!(heard.next().await, None);
}
