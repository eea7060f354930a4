//! Random histories: plausible and absurd facts in any order. The harness compares each step with that of a
//! copy that was serialized and read back, and checks each request; this file drives the world, and checks
//! the invariants at the end.

use std::collections::BTreeSet;

use agentx_types::*;
use proptest::prelude::*;
use proptest::test_runner::Config;
use serde_json::{Value, json};

use crate::harness::*;

/// An event of a history: its kind, and three choices about it.
type Op = (u8, u8, u8, u8);

fn pick<T: Clone>(from: &[T], choice: u8) -> T {
    from[usize::from(choice) % from.len()].clone()
}

fn input(choice: u8) -> Value {
    pick(
        &[
            json!({"path": "a"}),
            json!({"path": "/etc/hosts"}),
            json!({"path": "../x", "f": 0.1, "g": 1e-9, "h": 123456.789e20, "i": u64::MAX, "j": -1}),
            json!({"z": 1, "a": [null, {"b": "中文\u{0}\"\\"}]}),
            json!(null),
            json!([1, 2.5]),
            json!("text"),
        ],
        choice,
    )
}

fn a_call(id: u8, name: u8, arguments: u8) -> Event {
    let id = pick(&["call_0", "call_0", "call_1", "", "call_0_1_0", "x y"], id);
    let name = pick(&["look", "change", "finish", "look", "nonsense", ""], name);
    let invalid = (arguments % 16 == 15).then(|| {
        Box::new(InvalidInput {
            raw: "{".into(),
            error: "EOF".into(),
        })
    });
    ToolCall {
        tool_call_id: id.into(),
        name: name.into(),
        input: input(arguments),
        invalid,
    }
    .into()
}

fn stop_reason(choice: u8) -> StopReason {
    use StopReason::*;
    pick(
        &[
            EndTurn,
            ToolUse,
            Broken,
            EndTurn,
            MaxTokens,
            PauseTurn,
            Refusal,
            ContextWindow,
            Interrupted,
            Other,
        ],
        choice,
    )
}

fn piece(a: u8, b: u8, c: u8) -> Event {
    let number = [0, 1, 1_000, u64::MAX][usize::from(b) % 4];
    match a % 9 {
        0 | 1 => words(pick(&["word ", "", " ", "中", "two\nlines"], b)),
        2 => ThinkingChunk { text: "hm".into() }.into(),
        3 => PartEnd {}.into(),
        4 => ProviderPart {
            api: pick(&["anthropic", "other"], c).into(),
            attach: b.is_multiple_of(2),
            data: input(c),
        }
        .into(),
        5 => usage(number, u64::from(c)),
        6 => begins(pick(&["msg_a", "msg_b"], b)),
        7 => ToolCallStart {
            tool_call_id: "call_0".into(),
            name: "look".into(),
        }
        .into(),
        _ => a_call(a, b, c),
    }
}

fn change(a: u8, b: u8, session: &Session) -> ConfigChange {
    let config = session.react().config();
    let rule = Rule {
        workspace: None,
        effect: pick(&[RuleEffect::Allow, RuleEffect::Ask, RuleEffect::Deny], b),
        tool: pick(&["*", "look", "change"], a).into(),
        argument: None,
        path: pick(&[None, Some("**".to_owned())], b),
        origin: None,
    };
    match a % 9 {
        0 => ConfigChange::Approval(pick(
            &[ApprovalMode::Ask, ApprovalMode::Auto, ApprovalMode::Deny],
            b,
        )),
        1 => ConfigChange::RuleAdded(rule),
        2 => ConfigChange::Rules(Vec::new()),
        3 => ConfigChange::Limits(Limits {
            max_iterations: pick(&[None, Some(0), Some(3), Some(9)], b),
            max_tokens: pick(&[None, None, Some(1_500)], b),
            max_cost: pick(&[None, None, None, Some(NanoUsd(1_000_000))], b),
            max_wall_ms: pick(&[None, Some(0), Some(50), Some(9_000)], b),
        }),
        4 => ConfigChange::Model(Box::new(ModelSpec {
            context_window: pick(&[0, 700, 100_000], b),
            ..config.model.clone()
        })),
        5 => ConfigChange::Params(ModelParams {
            temperature: Some(0.1),
            ..ModelParams::default()
        }),
        6 => ConfigChange::Tools(config.tools.iter().take(usize::from(b) % 4).cloned().collect()),
        7 => {
            let checked = !b.is_multiple_of(2);
            let tools = agentx_agent::fixtures::config().tools;
            ConfigChange::Tools(
                tools
                    .iter()
                    .cloned()
                    .map(|tool| tool.with_checked(checked))
                    .collect(),
            )
        }
        _ => ConfigChange::Instructions(Vec::new()),
    }
}

/// A fact that no action awaits, or that claims to answer another one.
fn stray(session: &mut Session, a: u8, b: u8, c: u8) {
    let asked = session.asked().map(|action| action.action_id);
    let ids: Vec<ActionId> = session.log.iter().filter_map(|fact| fact.cause.clone()).collect();
    let cause = match c % 4 {
        0 => None,
        1 => Some(ActionId::new("act_999_0")),
        _ if ids.is_empty() => None,
        _ => Some(pick(&ids, b)).filter(|id| Some(id) != asked.as_ref()),
    };
    let run = pick(
        &[
            None,
            Some(RunId::of_input(1)),
            Some(RunId::of_input(u64::from(b))),
        ],
        a,
    );
    let event: Event = match a % 8 {
        0 => result_event(pick(&["call_0", "call_1", "c9"], b), "stray", ToolStatus::Success),
        1 => ends_with(stop_reason(b)),
        2 => error_event("stray", "stray"),
        3 => Interrupted {
            reason: "stray".into(),
        }
        .into(),
        4 => TimerFired {
            timer: Timer::RunLimit,
        }
        .into(),
        5 => ActionStarted {
            kind: ActionKind::CallTool,
            tool_call_id: Some("call_0".into()),
            due_at: None,
        }
        .into(),
        6 => serde_json::from_value(json!({"event": "from_the_future", "payload": input(c)})).unwrap(),
        _ => piece(b, c, a),
    };
    session.fact(cause.as_ref(), run, event);
}

fn person(session: &mut Session, a: u8, b: u8) {
    let awaiting: Vec<ToolCallId> = session
        .react()
        .ledger()
        .entries()
        .iter()
        .map(|e| e.call.tool_call_id.clone())
        .collect();
    if !awaiting.is_empty() {
        use ApprovalDecision::*;
        let decision = pick(&[Once, Session, Always, Deny], b);
        session.decide(pick(&awaiting, a).as_str(), decision);
    }
}

fn model(session: &mut Session, op: Op) {
    let (kind, a, b, c) = op;
    if session.asked().is_none() {
        return;
    }
    let events = match kind {
        0 => vec![begins("msg_a")],
        1 => vec![piece(a, b, c)],
        2 => vec![ends_with(stop_reason(a))],
        3 => vec![error_event(pick(&["overloaded", "context_window"], a), "failed")],
        4 => stream([words("said"), usage(u64::from(b) * 50, 1)], stop_reason(a)),
        _ => {
            let calls =
                (0..a % 4 + 1).map(|n| a_call(b.wrapping_add(n), c.wrapping_add(n), a.wrapping_mul(n + 1)));
            stream(
                std::iter::once(words("calling")).chain(calls),
                pick(&[StopReason::ToolUse, StopReason::EndTurn], b),
            )
        }
    };
    session.model(events);
}

/// Ends an open action.
fn world(session: &mut Session, a: u8, b: u8) {
    let is_settleable =
        |action: &&Action| !matches!(action.body, ActionBody::CallModel(_) | ActionBody::StartTimer(_));
    let open: Vec<Action> = session.open.iter().filter(is_settleable).cloned().collect();
    if open.is_empty() {
        return;
    }
    let action = pick(&open, a);
    session.open.retain(|open| open.action_id != action.action_id);
    if let ActionBody::Condense(condense) = &action.body {
        let event: Event = match b % 3 {
            0 => CondensingFailed {
                code: "overloaded".into(),
                message: "no".into(),
                bill: None,
            }
            .into(),
            _ => ContextCondensed {
                from_seq: condense.from_seq,
                to_seq: condense.to_seq,
                summary: "in short".into(),
                kept: condense.kept.clone(),
                bill: None,
                masked: condense.masked.clone(),
            }
            .into(),
        };
        session.fact(Some(&action.action_id), action.run_id.clone(), event);
    } else if let ActionBody::CallTool(call) = &action.body {
        let status = pick(
            &[
                ToolStatus::Success,
                ToolStatus::Success,
                ToolStatus::Failed,
                ToolStatus::Interrupted,
            ],
            b,
        );
        let text = "words ".repeat(pick(&[1, 0, 100], b));
        session.fact(
            Some(&action.action_id),
            action.run_id.clone(),
            result_event(call.tool_call_id.as_str(), &text, status),
        );
    } else {
        session.perform(&action);
    }
}

fn happen(session: &mut Session, op: Op) {
    let (kind, a, b, c) = op;
    match kind % 32 {
        0..=2 => {
            let mode = pick(&[InputMode::Queue, InputMode::Steer, InputMode::Interrupt], a);
            session.say_as(&format!("said {}", session.log.len()), mode);
        }
        3 if a.is_multiple_of(4) => session.halt(),
        3 => session.interrupt(),
        4..=9 => model(session, (kind - 4, a, b, c)),
        10..=12 => model(session, (5, a, b, c)),
        13..=17 => world(session, a, b),
        18 | 19 => person(session, a, b),
        20 | 21 => stray(session, a, b, c),
        22 if a.is_multiple_of(3) => session.fork_as(a.is_multiple_of(2)),
        22 | 23 => session.restart(),
        24 | 25 => {
            let change = change(a, b, session);
            session.change(change);
        }
        26 if !session.timers().is_empty() => session.timer_fires(),
        27 => session.time_passes(i64::from(a) - 40),
        28 if a.is_multiple_of(4) => session.happens(CondenseRequested {
            instructions: None,
            by: None,
        }),
        28 if a % 4 == 1 => {
            session.undo();
        }
        28 => session.happens(ContextCondensed {
            from_seq: u64::from(a) % 8,
            to_seq: u64::from(b),
            summary: "in short".into(),
            kept: Vec::new(),
            bill: None,
            masked: Vec::new(),
        }),
        29 => session.by_hand = a.is_multiple_of(2),
        30 if a.is_multiple_of(16) => session.happens(AgentClosed {
            agent_state_id: "agt_1".into(),
            reason: "over".into(),
        }),
        31 if a.is_multiple_of(2) => revise(session, a, b),
        _ => model(session, (1, a, b, c)),
    }
}

/// Changes an input that waits, or one that no longer waits.
fn revise(session: &mut Session, a: u8, b: u8) {
    let waiting: Vec<MessageId> = session
        .react()
        .waiting()
        .map(|input| input.message.message_id.clone())
        .collect();
    let message_id = waiting
        .get(usize::from(b))
        .or(waiting.first())
        .cloned()
        .unwrap_or_else(|| "msg_1".into());
    let modes = [
        None,
        Some(InputMode::Queue),
        Some(InputMode::Steer),
        Some(InputMode::Interrupt),
    ];
    let mode = pick(&modes, a / 2);
    session.happens(InputRevised {
        message_id,
        mode,
        by: None,
    });
}

/// Lets everything that is open end. A run that nothing can end any more is a run that hangs.
fn run_out(session: &mut Session) {
    session.by_hand = false;
    for _ in 0..2_000 {
        if session.asked().is_some() {
            let reason = pick(
                &[StopReason::EndTurn, StopReason::Interrupted],
                u8::from(session.status() == RunStatus::Stopping),
            );
            session.model(stream([words("last")], reason));
        } else if session.react().ledger().awaits_approval() {
            let ids: Vec<ToolCallId> = session
                .react()
                .ledger()
                .entries()
                .iter()
                .map(|e| e.call.tool_call_id.clone())
                .collect();
            ids.iter()
                .for_each(|id| session.decide(id.as_str(), ApprovalDecision::Deny));
        } else if session
            .open
            .iter()
            .any(|action| !matches!(action.body, ActionBody::StartTimer(_)))
        {
            world(session, 0, 0);
        } else {
            break;
        }
    }
    let run = session.react().run();
    assert!(
        run.is_none_or(|run| run.status.is_final()),
        "it hangs: {run:?} {:?}",
        session.react().ledger()
    );
}

/// A run that has ended emits nothing more, and each started run has ended.
fn check_runs(session: &Session) {
    let (mut begun, mut ended) = (BTreeSet::new(), BTreeSet::new());
    for state in session.states() {
        match state {
            StateOutput::RunStarted { run_id, .. } => {
                assert!(begun.insert(run_id.clone()), "{run_id} began twice")
            }
            StateOutput::RunStatus { run_id, status, .. } => {
                assert!(
                    begun.contains(run_id) && !ended.contains(run_id),
                    "{run_id} is {status:?} after its end"
                );
            }
            StateOutput::RunFinished { run_id, .. } => {
                assert!(ended.insert(run_id.clone()), "{run_id} ended twice")
            }
            _ => {}
        }
    }
    assert_eq!(begun, ended);
}

/// Checks that each message is in the conversation once, or still waits in an agent that is closed.
fn check_inputs(session: &Session) {
    let said = session.log.iter().filter_map(|fact| match &fact.event {
        Event::UserMessage(message) => Some(message.message_id.clone()),
        _ => None,
    });
    let joined = session.outputs().filter_map(|output| match output {
        AgentOutput::Message(MessageOutput::User { message }) => Some(message.message_id.clone()),
        _ => None,
    });
    let waits = session
        .react()
        .waiting()
        .map(|input| input.message.message_id.clone());
    let mut heard: Vec<MessageId> = joined.chain(waits).collect();
    let mut said: Vec<MessageId> = said.collect();
    let taken_back = |id: &MessageId| {
        let is_it = |event: &Event| matches!(event, Event::InputRevised(revised) if revised.message_id == *id && revised.mode.is_none());
        session.log.iter().any(|fact| is_it(&fact.event))
    };
    said.retain(|id| heard.contains(id) || !taken_back(id));
    heard.sort();
    said.sort();
    assert_eq!(heard, said);
    let closed = session.log.iter().any(|fact| fact.event.tag() == "agent_closed");
    assert!(closed || session.agent.is_held() || session.react().waiting().next().is_none());
}

fn check_history(rules_version: u32, ops: &[Op]) {
    let mut session = Session::with(|config| {
        config.rules_version = rules_version;
        config.approval = ApprovalMode::Ask;
        // Every other history also masks results and leaves messages out.
        let counts = ops.len().is_multiple_of(2);
        config.condensing = Some(Box::new(Condensing {
            masks: counts.then_some(2),
            recent: counts.then_some(20),
            ..Condensing::default()
        }));
    });
    session.say("go");
    for op in ops {
        happen(&mut session, *op);
        session.asked();
    }
    run_out(&mut session);
    session.check_replay();
    check_runs(&session);
    check_inputs(&session);
    let messages: Vec<_> = session.react().messages().cloned().collect();
    if messages.is_empty() {
        // The only turn was declined. The next request begins with the next input.
        return;
    }
    let config = session.react().config();
    check_request(&ModelRequest {
        model: config.model.clone(),
        params: config.params.clone(),
        system: Vec::new(),
        messages,
        tools: config.tools.clone(),
        plain: false,
        turns: false,
        without: Vec::new(),
        answer_schema: None,
    });
}

/// The number of random cases: `PROPTEST_CASES` if it is set.
fn cases(usual: u32) -> u32 {
    const OF_PROPTEST: u32 = 256;
    match Config::default().cases {
        OF_PROPTEST => usual,
        asked => asked,
    }
}

proptest! {
    // `PROPTEST_CASES` asks for more or, in `tests/run.sh quick`, for less.
    #![proptest_config(Config { cases: cases(1_024), failure_persistence: None, ..Config::default() })]

    #[test]
    fn any_history_is_survived_and_replayed(
        version in prop::sample::select(vec![0, RULES_VERSION]),
        ops in prop::collection::vec(any::<Op>(), 1..40),
    ) {
        check_history(version, &ops);
    }

    #[test]
    fn numbers_of_the_model_survive_the_log_to_the_bit(x in any::<f64>().prop_filter("JSON has no others", |x| x.is_finite())) {
        let mut session = Session::with(|config| config.params.temperature = Some(x));
        session.say("go");
        session.calls(&[("c1", "look", json!({"x": x}))]);
        session.result("c1", "ok");
        session.check_replay();
    }
}
