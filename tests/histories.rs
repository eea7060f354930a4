//! Random histories through the whole fold: people, a model, tools, crashes and forks in any order. What must
//! hold of a session is checked after each batch, and at the end when nothing is open any more.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "histories/branches.rs"]
mod branches;
#[path = "histories/garbage.rs"]
mod garbage;
#[path = "histories/session.rs"]
mod session;

use std::collections::BTreeMap;

use agentx_runtime::SessionFold;
use agentx_types::*;
use proptest::prelude::*;
use proptest::test_runner::Config;

use session::{Op, Session};

/// At least 1,000 histories; `PROPTEST_CASES` asks for more.
fn config() -> Config {
    let default = Config::default();
    Config {
        cases: default.cases.max(1_000),
        failure_persistence: None,
        ..default
    }
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    prop::collection::vec(any::<Op>(), 1..50)
}

/// Plays a history to its end, with a look at the session after each batch.
fn play(ops: &[Op], mut look: impl FnMut(&Session)) -> Session {
    let mut session = Session::open();
    for op in ops {
        session.step(*op);
        look(&session);
    }
    session.settle();
    look(&session);
    session
}

/// The conversation follows the run: it is about the same input, and over when the run is. It may be over
/// before, while what runs is still being stopped.
#[derive(Default)]
struct Conversation {
    seen: usize,
    answered: Option<MessageId>,
}

impl Conversation {
    fn check(&mut self, session: &Session) {
        for event in &session.events[self.seen..] {
            self.take(event, session);
        }
        self.seen = session.events.len();
        let run = session.fold.root_agent().and_then(|agent| agent.run());
        let running = run.filter(|run| !run.status.is_final());
        match (&self.answered, running) {
            (Some(input), Some(run)) => assert_eq!(*input, run.input_id, "{:?}", session.tail()),
            (None, Some(run)) => assert_eq!(run.status, RunStatus::Stopping, "{:?}", session.tail()),
            (Some(input), None) => panic!("{input} is answered for ever: {:?}", session.tail()),
            (None, None) => {}
        }
    }

    fn take(&mut self, event: &RuntimeEvent, session: &Session) {
        match event {
            RuntimeEvent::ConversationStart(start) => {
                let before = self.answered.replace(start.message_id.clone());
                assert_eq!(before, None, "{:?}", session.tail());
            }
            RuntimeEvent::ConversationEnd(_) | RuntimeEvent::ConversationInterrupted(_) => {
                assert_ne!(self.answered.take(), None, "{:?}", session.tail());
            }
            RuntimeEvent::ConversationThinking(_) | RuntimeEvent::ConversationResponding(_) => {
                assert_ne!(self.answered, None, "{:?}", session.tail());
            }
            _ => {}
        }
    }
}

/// The answered messages, and whether each was interrupted, according to the conversation and to the runs.
type Lives = Vec<(MessageId, Option<bool>)>;

fn lives(session: &Session) -> (Lives, Lives) {
    let (mut talks, mut runs) = (Lives::new(), Lives::new());
    let end = |lives: &mut Lives, interrupted: bool| {
        let open = lives.last_mut().filter(|life| life.1.is_none());
        open.unwrap_or_else(|| panic!("nothing to end: {:?}", session.tail()))
            .1 = Some(interrupted);
    };
    for event in &session.events {
        match event {
            RuntimeEvent::ConversationStart(start) => talks.push((start.message_id.clone(), None)),
            RuntimeEvent::ConversationEnd(_) => end(&mut talks, false),
            RuntimeEvent::ConversationInterrupted(_) => end(&mut talks, true),
            RuntimeEvent::RunStarted(start) => runs.push((start.message_id.clone(), None)),
            RuntimeEvent::RunFinished(finished) => end(&mut runs, finished.status == RunStatus::Interrupted),
            _ => {}
        }
    }
    (talks, runs)
}

/// Facts as a log may lend them: pieces of text in one context as one.
fn joined(facts: &[Envelope<EnvironmentEvent>]) -> Vec<Envelope<EnvironmentEvent>> {
    let mut joined: Vec<Envelope<EnvironmentEvent>> = Vec::new();
    for fact in facts {
        let context = |fact: &Envelope<EnvironmentEvent>| {
            (
                fact.source,
                fact.agent_state_id.clone(),
                fact.run_id.clone(),
                fact.cause.clone(),
            )
        };
        let last = joined.last_mut().filter(|last| context(last) == context(fact));
        let goes_on = last.is_some_and(|last| {
            use EnvironmentEvent::{TextChunk, ThinkingChunk};
            let (text, more) = match (&mut last.event, &fact.event) {
                (TextChunk(chunk), TextChunk(more)) => (&mut chunk.text, &more.text),
                (ThinkingChunk(chunk), ThinkingChunk(more)) => (&mut chunk.text, &more.text),
                _ => return false,
            };
            text.push_str(more);
            (last.seq, last.at) = (fact.seq, fact.at);
            true
        });
        if !goes_on {
            joined.push(fact.clone());
        }
    }
    joined
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn conversations_follow_their_runs(ops in ops()) {
        let mut conversation = Conversation::default();
        let session = play(&ops, |session| conversation.check(session));
        let (talks, runs) = lives(&session);
        prop_assert_eq!(talks, runs, "{:?}", session.tail());
    }

    /// The conversation and the agent decide by themselves which input waits, and behind how many. They come
    /// to the same, fact by fact.
    #[test]
    fn an_input_waits_at_one_place_for_its_agent_and_in_the_conversation(ops in ops()) {
        let session = play(&ops, |_| ());
        let mut fold = SessionFold::new("ses_1".into());
        for fact in &session.log {
            let derived = fold.apply(fact);
            let by_agent = derived.outputs.iter().filter_map(|(_, output)| match output {
                AgentOutput::State(StateOutput::InputQueued { message_id, position }) => Some((message_id, *position)),
                _ => None,
            });
            let in_conversation = derived.events.iter().filter_map(|frame| match &frame.event {
                RuntimeEvent::ConversationQueued(queued) => Some((&queued.message_id, queued.position)),
                _ => None,
            });
            prop_assert!(by_agent.eq(in_conversation), "{:?}", session.tail());
        }
    }

    #[test]
    fn every_call_gets_one_result_whatever_dies(ops in ops()) {
        let session = play(&ops, |_| ());
        let mut results: BTreeMap<ToolCallId, usize> = BTreeMap::new();
        let mut calls: Vec<ToolCallId> = Vec::new();
        for event in &session.events {
            match event {
                RuntimeEvent::AssistantMessageAdded(added) => {
                    calls.extend(added.message.content.iter().filter_map(|part| match part {
                        ContentPart::ToolCall(call) => Some(call.tool_call_id.clone()),
                        _ => None,
                    }));
                }
                RuntimeEvent::ToolResultMessageAdded(added) => {
                    for part in &added.message.content {
                        let ContentPart::ToolResult(result) = part else { continue };
                        *results.entry(result.tool_call_id.clone()).or_default() += 1;
                    }
                }
                _ => {}
            }
        }
        prop_assert!(results.values().all(|times| *times == 1), "{results:?}");
        prop_assert_eq!(results.into_keys().collect::<Vec<_>>(), { calls.sort(); calls });
        prop_assert!(session.performed.values().all(|times| *times <= 1), "{:?}", session.performed);
    }

    #[test]
    fn tools_and_messages_begin_and_end_once(ops in ops()) {
        let session = play(&ops, |_| ());
        let mut open: Option<MessageId> = None;
        let mut steps: BTreeMap<ToolCallId, Vec<&str>> = BTreeMap::new();
        for event in &session.events {
            let step = match event {
                RuntimeEvent::MessageStart(start) => {
                    prop_assert_eq!(open.replace(start.message_id.clone()), None);
                    continue;
                }
                RuntimeEvent::MessageStop(stop) => {
                    prop_assert_eq!(open.take(), Some(stop.message_id.clone()));
                    continue;
                }
                RuntimeEvent::ToolPlanned(tool) => (&tool.tool_call_id, "planned"),
                RuntimeEvent::ToolExecuting(tool) => (&tool.tool_call_id, "executing"),
                RuntimeEvent::ToolCompleted(tool) => (&tool.tool_call_id, "ended"),
                RuntimeEvent::ToolFailed(tool) => (&tool.tool_call_id, "ended"),
                _ => continue,
            };
            steps.entry(step.0.clone()).or_default().push(step.1);
        }
        for (id, steps) in steps {
            let lives: [&[&str]; 3] = [&["planned"], &["planned", "ended"], &["planned", "executing", "ended"]];
            prop_assert!(lives.contains(&steps.as_slice()), "{id}: {steps:?}");
        }
    }

    #[test]
    fn replay_equals_what_was_live_to_the_byte(ops in ops()) {
        let session = play(&ops, |_| ());
        let mut fold = SessionFold::new("ses_1".into());
        let mut replayed = Vec::new();
        for fact in &session.log {
            let written = serde_json::to_string(fact).unwrap();
            let read: Envelope<EnvironmentEvent> = serde_json::from_str(&written).unwrap();
            let left = fold.apply(&read);
            replayed.extend(left.events.into_iter().map(|envelope| serde_json::to_string(&envelope).unwrap()));
        }
        let live: Vec<String> = session.frames.iter().map(|frame| serde_json::to_string(frame).unwrap()).collect();
        prop_assert_eq!(replayed, live);
    }

    /// A session is opened so: for its state alone, with pieces of text that follow one another joined.
    #[test]
    fn what_is_folded_for_its_state_alone_is_the_same_state(ops in ops(), cut in any::<prop::sample::Index>()) {
        let session = play(&ops, |_| ());
        let cut = cut.index(session.log.len());
        let (mut whole, mut state) = (SessionFold::new("ses_1".into()), SessionFold::new("ses_1".into()));
        for part in [&session.log[..cut], &session.log[cut..]] {
            for fact in part {
                whole.apply(fact);
            }
            joined(part).iter().for_each(|fact| state.advance(fact));
            prop_assert_eq!(&state, &whole);
        }
    }

    /// The two ways to fold lead to the same state after each fact, and from there to the same meaning of the
    /// next one.
    #[test]
    fn both_ways_to_fold_agree_after_each_fact(ops in ops()) {
        let session = play(&ops, |_| ());
        let (mut whole, mut state) = (SessionFold::new("ses_1".into()), SessionFold::new("ses_1".into()));
        for fact in &session.log {
            prop_assert_eq!(state.clone().apply(fact), whole.apply(fact), "event {}", fact.seq);
            state.advance(fact);
            prop_assert_eq!(&state, &whole, "after event {}", fact.seq);
        }
    }

    #[test]
    fn a_branch_from_any_event_comes_to_rest_answers_every_call_and_replays_to_the_byte(ops in ops()) {
        branches::branch_everywhere(&play(&ops, |_| ()))?;
    }

    #[test]
    fn derived_events_name_their_fact_and_their_place(ops in ops()) {
        let session = play(&ops, |_| ());
        let mut next = (0, 0);
        for frame in &session.frames {
            let place = (frame.seq, frame.index.unwrap());
            prop_assert!(place == next || place.0 > next.0 && place.1 == 0, "{place:?} after {next:?}");
            next = (place.0, place.1 + 1);
        }
        for (at, fact) in session.log.iter().enumerate() {
            prop_assert_eq!(fact.seq, at as u64 + 1);
        }
    }

    #[test]
    fn any_facts_fold_without_a_panic(dice in prop::collection::vec(any::<garbage::Dice>(), 1..60)) {
        let opened = SessionOpened { owner: "own_1".into(), config: Box::new(agentx_agent::fixtures::config()), program: "test".into() };
        let opened = EventDraft::new(Source::System, Some("agt_1".into()), opened);
        let mut facts = vec![opened.into_envelope("ses_1".into(), 1, Timestamp(0))];
        facts.extend((2..).zip(dice).map(|(seq, dice)| garbage::fact(seq, dice)));
        let mut fold = SessionFold::new("ses_1".into());
        for fact in &facts {
            let frame = serde_json::to_string(fact).unwrap();
            prop_assert_eq!(&serde_json::from_str::<Envelope<EnvironmentEvent>>(&frame).unwrap(), fact);
            fold.apply(fact);
            let _ = fold.state();
        }
    }
}
