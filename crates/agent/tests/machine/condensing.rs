//! Condensing: its time, the parts that stay, and the effects of a summary, of a missing one, and of a
//! removed one.

use agentx_types::*;
use serde_json::json;

use crate::harness::*;

/// A window of 3,000 tokens, of which 2,400 may be used, and two exchanges that stay.
pub(crate) fn small(config: &mut AgentConfig) {
    config.model.context_window = 3_000;
    config.model.max_output_tokens = 500;
    config.condensing = Some(Box::new(Condensing {
        tail: 2,
        ..Condensing::default()
    }));
}

impl Session {
    /// The requested summary, which is at most one.
    pub(crate) fn condense(&self) -> Option<(Action, Condense)> {
        let mut asked = self.open.iter().filter_map(|action| match &action.body {
            ActionBody::Condense(condense) => Some((action.clone(), condense.clone())),
            _ => None,
        });
        let first = asked.next();
        assert!(asked.next().is_none(), "two summaries are asked for");
        first
    }

    /// The requested summary comes.
    pub(crate) fn summary(&mut self, text: &str) {
        let (action, condense) = self.condense().expect("a summary is asked for");
        self.open.retain(|open| open.action_id != action.action_id);
        let bill = EffectBill {
            model: "fixture-1".into(),
            usage: Usage {
                input_tokens: 100,
                output_tokens: 10,
                ..Usage::default()
            },
            cost: NanoUsd(150_000),
        };
        let condensed = ContextCondensed {
            from_seq: condense.from_seq,
            to_seq: condense.to_seq,
            summary: text.into(),
            kept: condense.kept,
            bill: Some(Box::new(bill)),
            masked: Vec::new(),
        };
        self.fact(Some(&action.action_id), action.run_id, condensed);
    }

    /// The requested summary fails.
    pub(crate) fn no_summary(&mut self, code: &str) {
        let (action, _) = self.condense().expect("a summary is asked for");
        self.open.retain(|open| open.action_id != action.action_id);
        let failed = CondensingFailed {
            code: code.into(),
            message: "no".into(),
            bill: None,
        };
        self.fact(Some(&action.action_id), action.run_id, failed);
    }

    /// A round of one call with a large result.
    pub(crate) fn round(&mut self, id: &str, words: usize) {
        self.looks(id);
        self.result(id, &"word ".repeat(words));
    }

    /// Rounds until a summary is requested.
    pub(crate) fn fill(&mut self, name: &str) {
        for round in 0..100 {
            if self.condense().is_some() {
                return;
            }
            self.round(&format!("{name}{round}"), 100);
        }
        panic!("it was never full");
    }

    pub(crate) fn wants(&mut self, instructions: Option<&str>) {
        self.happens(CondenseRequested {
            instructions: instructions.map(str::to_owned),
            by: None,
        });
    }

    pub(crate) fn undo(&mut self) -> bool {
        let Some(latest) = self.react().condensed().pop() else {
            return false;
        };
        self.happens(ContextRestored {
            from_seq: latest.range.from_seq,
            to_seq: latest.range.to_seq,
            by: None,
        });
        true
    }

    /// Returns the kinds of the reported context changes.
    pub(crate) fn changes(&self) -> Vec<&'static str> {
        let kind = |state: &StateOutput| match state {
            StateOutput::Context { change } => Some(match change {
                ContextChange::Condensing(_) => "condensing",
                ContextChange::Condensed(_) => "condensed",
                ContextChange::Failed { .. } => "failed",
                ContextChange::Restored(_) => "restored",
                ContextChange::Repaired(_) => "repaired",
                ContextChange::ToolsLeftOut { .. } => "tools",
                ContextChange::Shortened { .. } => "shortened",
                ContextChange::Cut { .. } => "cut",
                ContextChange::Built { .. } => "built",
                ContextChange::Proposed { .. } => "proposed",
                ContextChange::FellBack { .. } => "fell back",
                ContextChange::WindowGuessed { .. } => "guessed",
            }),
            _ => None,
        };
        self.states().filter_map(kind).collect()
    }
}

#[test]
fn a_window_that_fills_is_condensed_before_the_next_call() {
    let mut session = Session::started(small);
    session.fill("c");
    let (_, condense) = session.condense().unwrap();
    assert!(session.asked().is_none(), "the call waits for the summary");
    assert_eq!(session.status(), RunStatus::BuildingContext);
    assert_eq!(condense.kept, [MessageId::with_suffix("go")]);
    assert!(condense.request.tools.is_empty());
    let asked = condense.request.messages[0].text();
    assert!(
        asked.contains("agent: calls look") && !asked.contains("person: go"),
        "{asked}"
    );
    let before = session.conversation();
    session.summary("Looked at a.");
    let sent = session.sent();
    assert_eq!(sent[0], "user: go");
    assert!(sent[1].starts_with("user: [Events "), "{}", sent[1]);
    assert!(sent[1].ends_with("\n\nLooked at a."), "{}", sent[1]);
    assert_eq!(
        sent[2..],
        before[before.len() - 4..],
        "two exchanges stay as they were"
    );
    assert_eq!(session.changes(), ["condensing", "condensed"]);
    session.answer("done");
    assert_eq!(session.ends_of_runs(), [(RunStatus::Completed, None)]);
    session.check_replay();
}

#[test]
fn what_a_provider_counts_fills_the_window() {
    let mut session = Session::started(small);
    let calls = |n: u32| [usage(2_500, 10), call(&format!("c{n}"), "look", json!({}))];
    for n in 0..4 {
        session.model(stream(calls(n), StopReason::ToolUse));
        session.result(&format!("c{n}"), &"word ".repeat(40));
        if session.condense().is_some() {
            return;
        }
    }
    panic!("the provider says that the window is full");
}

#[test]
fn a_provider_that_counts_next_to_nothing_is_not_believed() {
    let mut session = Session::started(small);
    for n in 0..30 {
        let id = format!("c{n}");
        let events = [usage(7, 1), call(&id, "look", json!({}))];
        session.model(stream(events, StopReason::ToolUse));
        session.result(&id, &"word ".repeat(100));
        if session.condense().is_some() {
            return;
        }
    }
    panic!("by the estimate the window is full");
}

#[test]
fn without_settings_nothing_is_condensed_by_itself() {
    let off = |config: &mut AgentConfig| {
        small(config);
        config.condensing = Some(Box::new(Condensing {
            at_percent: 0,
            ..Condensing::default()
        }));
    };
    for change in [off, |config: &mut AgentConfig| {
        small(config);
        config.condensing = None;
    }] {
        let mut session = Session::started(change);
        session.copies = false;
        (0..40).for_each(|n| session.round(&format!("c{n}"), 100));
        assert!(session.changes().is_empty());
        assert!(session.sent()[0].contains("left out"));
    }
}

#[test]
fn goals_pins_and_decisions_stay_word_for_word() {
    let mut session = Session::started(|config| {
        small(config);
        config.approval = ApprovalMode::Ask;
    });
    session.calls(&[("w1", "change", json!({"path": "/etc/x"}))]);
    session.happens(Approval {
        tool_call_id: "w1".into(),
        decision: ApprovalDecision::Deny,
        note: Some("use the other file".into()),
        rule: None,
        by: None,
        limited: false,
    });
    session.answer("as you like");
    session.say("remember this");
    session.happens(InputPinned {
        message_id: MessageId::with_suffix("remember this"),
        pinned: true,
        by: None,
    });
    session.answer("I will");
    session.say("forget this");
    session.answer("I will");
    session.say("the task of now");
    session.fill("c");
    session.summary("In short.");
    let sent = session.sent();
    assert_eq!(
        sent[..3],
        ["user: go", "user: remember this", "user: the task of now"]
    );
    assert!(!sent.iter().any(|line| line.contains("forget this")));
    let decided = "- refused change {\"path\":\"/etc/x\"} — they said: use the other file";
    assert!(sent[3].contains(decided), "{}", sent[3]);
    session.check_replay();
}

#[test]
fn a_summary_that_fails_leaves_the_context_whole_and_is_told_once() {
    let mut session = Session::started(small);
    session.fill("c");
    let before = session.conversation();
    session.no_summary("overloaded");
    assert_eq!(session.conversation(), before);
    assert!(session.asked().is_some(), "the run goes on without");
    session.round("d0", 20);
    session.round("d1", 20);
    assert_eq!(session.changes(), ["condensing", "failed"]);
    session.fill("e");
    session.summary("In short.");
    assert_eq!(
        session.changes(),
        ["condensing", "failed", "condensing", "condensed"]
    );
    session.check_replay();
}

#[test]
fn one_that_frees_less_than_a_tenth_is_not_repeated_at_once() {
    let mut session = Session::started(small);
    session.fill("c");
    let long = "a long summary ".repeat(500);
    session.summary(&long);
    assert!(session.asked().is_some());
    session.round("d0", 20);
    session.round("d1", 20);
    assert_eq!(session.changes(), ["condensing", "condensed"]);
    session.check_replay();
}

#[test]
fn a_window_of_nothing_does_not_go_round_in_circles() {
    let mut session = Session::started(small);
    (0..4).for_each(|n| session.round(&format!("c{n}"), 20));
    let mut model = session.react().config().model.clone();
    model.context_window = 0;
    session.change(ConfigChange::Model(Box::new(model)));
    session.round("d0", 20);
    session.no_summary("overloaded");
    assert!(session.asked().is_some());
}

#[test]
fn where_nothing_can_become_free_nobody_is_asked() {
    let mut session = Session::with(small);
    session.say(&"a long task ".repeat(1_000));
    session.round("c0", 10);
    session.round("c1", 10);
    session.round("c2", 10);
    assert!(session.changes().is_empty());
}

#[test]
fn after_an_overflow_it_is_condensed_and_tried_once_more() {
    for by_error in [true, false] {
        let mut session = Session::started(|config| {
            small(config);
            config.model.context_window = 100_000;
        });
        (0..8).for_each(|n| session.round(&format!("c{n}"), 100));
        let overflows = |session: &mut Session| {
            session.model(if by_error {
                vec![error_event("context_window", "prompt is too long")]
            } else {
                stream([], StopReason::ContextWindow)
            });
        };
        overflows(&mut session);
        assert!(session.asked().is_none());
        session.summary("In short.");
        assert!(session.sent()[1].ends_with("In short."));
        overflows(&mut session);
        let ends = session.ends_of_runs();
        assert_eq!(ends[0].0, RunStatus::Failed, "{ends:?}");
        assert_eq!(session.changes(), ["condensing", "condensed"]);
        session.check_replay();
    }
}

#[test]
fn an_overflow_without_a_summary_ends_the_run_with_its_own_words() {
    let mut session = Session::started(small);
    (0..8).for_each(|n| session.round(&format!("c{n}"), 50));
    session.model(vec![error_event("context_window", "prompt is too long")]);
    session.no_summary("overloaded");
    let reason = Some("prompt is too long".to_owned());
    assert_eq!(session.ends_of_runs(), [(RunStatus::Failed, reason)]);
    session.check_replay();
}

#[test]
fn a_person_may_want_it_now_or_while_something_runs() {
    let mut session = Session::with(|config| config.condensing = None);
    session.wants(None);
    assert_eq!(session.changes(), ["failed"], "there is nothing yet");
    session.say("go");
    (0..4).for_each(|n| session.round(&format!("c{n}"), 50));
    session.looks("c9");
    session.wants(Some("keep the names"));
    assert!(session.condense().is_none(), "the call is not over");
    session.result("c9", "ok");
    let (_, condense) = session.condense().unwrap();
    assert!(condense.request.messages[0].text().contains("keep the names"));
    session.summary("In short.");
    session.answer("done");
    session.wants(None);
    assert!(session.condense().is_some(), "nothing runs: at once");
    session.say("next");
    assert!(session.asked().is_none(), "the next run waits for it");
    session.summary("Shorter.");
    assert!(session.sent().iter().any(|line| line == "user: next"));
    session.check_replay();
}

#[test]
fn no_model_is_asked_for_a_summary_of_too_little() {
    for (version, asks) in [(RULES_VERSION, false), (8, true)] {
        let mut session = Session::started_with_rules(version, |config| config.condensing = None);
        (0..4).for_each(|n| session.round(&format!("c{n}"), 4));
        session.answer("done");
        session.wants(None);
        assert_eq!(session.condense().is_some(), asks, "rules {version}");
        if !asks {
            assert_eq!(session.changes(), ["failed"], "a person is told");
            session.say("more");
            (4..8).for_each(|n| session.round(&format!("c{n}"), 100));
            session.answer("done");
            session.wants(None);
            assert!(session.condense().is_some(), "now there is enough");
        }
        session.check_replay();
    }
}

#[test]
fn it_stops_with_the_run_and_by_itself() {
    let mut session = Session::started(small);
    session.fill("c");
    let (action, _) = session.condense().unwrap();
    session.interrupt();
    assert_eq!(session.cancelled, [action.action_id]);
    assert_eq!(session.status(), RunStatus::Stopping);
    session.no_summary("interrupted");
    assert_eq!(session.ends_of_runs()[0].0, RunStatus::Interrupted);
    session.wants(None);
    session.interrupt();
    assert_eq!(session.cancelled.len(), 2);
    session.no_summary("interrupted");
    session.say("again");
    assert!(session.asked().is_some() || session.condense().is_some());
    session.check_replay();
}

#[test]
fn its_cost_is_the_runs() {
    let mut session = Session::started(|config| {
        small(config);
        config.limits.max_tokens = Some(90);
    });
    session.fill("c");
    session.summary("In short.");
    assert_eq!(session.ends_of_runs()[0].0, RunStatus::TimedOut);
    let totals = session.react().totals();
    assert_eq!(
        (totals.usage.context_tokens(), totals.cost),
        (110, NanoUsd(150_000))
    );
    session.check_replay();
}

#[test]
fn another_process_asks_again_and_a_fork_does_not() {
    let mut session = Session::started(small);
    session.fill("c");
    session.restart();
    session.summary("In short.");
    session.answer("done");
    session.wants(None);
    session.restart();
    assert!(session.condense().is_some(), "what was wanted is wanted still");
    session.fork();
    assert!(session.condense().is_none());
    session.check_replay();
}

#[test]
fn another_process_may_have_to_condense_before_it_asks_anew() {
    let mut session = Session::started(small);
    (0..4).for_each(|n| session.round(&format!("c{n}"), 50));
    session.wants(None);
    session.restart();
    session.summary("In short.");
    assert!(session.sent()[1].ends_with("In short."));
    session.answer("done");
    assert_eq!(session.ends_of_runs(), [(RunStatus::Completed, None)]);
    session.check_replay();
}

#[test]
fn what_is_taken_out_is_as_it_was_the_latest_first() {
    let mut session = Session::started(small);
    session.fill("c");
    let first = session.conversation();
    session.summary("One.");
    session.fill("d");
    let second = session.conversation();
    session.summary("Two.");
    assert_eq!(session.react().condensed().len(), 2);
    assert!(session.request().tools.iter().any(|tool| tool.name == "recall"));
    assert!(session.undo());
    assert_eq!(session.conversation(), second);
    assert!(session.undo());
    assert_eq!(session.conversation()[..first.len()], first);
    assert!(!session.undo());
    session.round("x", 1);
    assert!(!session.request().tools.iter().any(|tool| tool.name == "recall"));
    session.check_replay();
}

/// A session with two long inputs and a summary, whose window slides through what the summary kept, because
/// no other summary comes. Then the summary is undone.
fn undone_after_the_window_slid(rounds: usize) -> Session {
    let mut session = Session::with(|config| {
        small(config);
        config.model.context_window = 4_000;
        config.rules_version = RULES_VERSION;
    });
    session.say(&"first ".repeat(400));
    session.answer("Well.");
    session.say(&"second ".repeat(400));
    session.fill("c");
    session.summary("Looked at a.");
    for round in 0..rounds {
        if session.condense().is_some() {
            session.no_summary("overloaded");
        }
        session.round(&format!("d{round}"), 250);
    }
    if session.condense().is_some() {
        session.no_summary("overloaded");
    }
    assert!(session.undo());
    session.round("last", 10);
    if session.condense().is_some() {
        session.no_summary("overloaded");
    }
    session
}

#[test]
fn a_summary_that_is_undone_after_the_window_has_slid_leaves_no_result_without_its_call() {
    for rounds in 1..12 {
        let session = undone_after_the_window_slid(rounds);
        let mut called = std::collections::BTreeSet::new();
        for part in session
            .request()
            .messages
            .iter()
            .flat_map(|message| &message.content)
        {
            match part {
                ContentPart::ToolCall(call) => {
                    called.insert(call.tool_call_id.clone());
                }
                ContentPart::ToolResult(result) => {
                    let id = &result.tool_call_id;
                    assert!(called.contains(id), "after {rounds} rounds, {id} has no call");
                }
                _ => {}
            }
        }
        session.check_replay();
    }
}

#[test]
fn recall_finds_what_a_summary_stands_for() {
    let mut session = Session::started(small);
    session.looks("c0");
    session.result("c0", "the port is 8472");
    session.fill("c1");
    session.summary("Looked at ports.");
    session.calls(&[("r1", "recall", json!({"words": "PORT"}))]);
    let found = session.sent().pop().unwrap();
    assert!(found.contains("look answers: the port is 8472"), "{found}");
    session.calls(&[("r2", "recall", json!({}))]);
    assert!(session.sent().pop().unwrap().contains("Give `words`"));
    session.undo();
    session.calls(&[("r3", "recall", json!({"words": "port"}))]);
    assert!(session.sent().pop().unwrap().contains("There is no tool"));
    session.check_replay();
}

/// Returns the number of rounds until a summary is requested again after a failure.
fn rounds_after_a_failure(version: u32) -> usize {
    let mut session = Session::started(|config| {
        small(config);
        config.model.context_window = 60_000;
        config.rules_version = version;
    });
    for round in 0..100 {
        if session.condense().is_some() {
            break;
        }
        session.round(&format!("a{round}"), 1_000);
    }
    let (_, condense) = session.condense().expect("it is nearly full");
    assert_eq!(condense.brief, version >= 7);
    session.no_summary("overloaded");
    let rounds = (0..20).take_while(|round| {
        let waits = session.condense().is_none();
        if waits {
            session.round(&format!("b{round}"), 1_300);
        }
        waits
    });
    let rounds = rounds.count();
    session.summary("In short.");
    session.check_replay();
    rounds
}

#[test]
fn no_summary_is_asked_for_in_the_rounds_after_one_failed() {
    let (now, before) = (rounds_after_a_failure(RULES_VERSION), rounds_after_a_failure(6));
    assert!(now >= 6 && now > before, "{now} rounds, {before} before");
}

#[test]
fn a_model_for_summaries_is_waited_for_once_until_one_has_come() {
    let mut session = Session::started(|config| {
        small(config);
        config.rules_version = RULES_VERSION;
        // The longest answer takes half of the window: the condensed part never fits next to it.
        config.model.max_output_tokens = 1_500;
    });
    let mut brief = Vec::new();
    for round in 0..200 {
        if let Some((_, condense)) = session.condense() {
            brief.push(condense.brief);
            match brief.len() {
                3 => session.summary("In short."),
                5.. => break,
                _ => session.no_summary("overloaded"),
            }
        } else {
            session.round(&format!("c{round}"), 100);
        }
    }
    assert_eq!(brief[..4], [false, true, true, false], "{brief:?}");
    session.no_summary("overloaded");
    session.check_replay();
}
