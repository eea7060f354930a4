//! Another process takes over, or a fork continues, in each state.

use agentx_types::*;
use serde_json::json;

use crate::harness::*;

#[test]
fn with_nothing_under_way_nothing_is_done() {
    let mut session = Session::plain();
    session.restart();
    session.say("go");
    session.answer("done");
    session.restart();
    session.fork();
    assert!(session.open.is_empty());
    assert_eq!(session.ends_of_runs(), [(RunStatus::Completed, None)]);
}

#[test]
fn a_model_call_is_made_again() {
    let mut session = Session::started(|_| {});
    let (first, before) = (session.asked().unwrap().action_id, session.request());
    session.restart();
    assert_eq!(session.request(), before);
    session.fact(Some(&first), None, words("ghost"));
    session.answer("done");
    assert_eq!(session.conversation(), ["user: go", "assistant: done"]);
    assert_eq!(session.react().run().unwrap().bill.model_calls, 2);
    session.check_replay();
}

#[test]
fn a_stream_that_died_is_begun_anew_and_only_kept_where_nothing_better_comes() {
    let half = |session: &mut Session| {
        session.model(vec![begins("msg_a"), words("half"), usage(10, 1)]);
        session.restart();
    };
    let mut session = Session::started(|_| {});
    half(&mut session);
    assert_eq!(session.sent(), ["user: go"]);
    session.answer("whole");
    assert_eq!(session.conversation(), ["user: go", "assistant: whole"]);
    assert_eq!(
        session.react().totals().usage.input_tokens,
        10,
        "the dead stream was paid for"
    );

    let mut session = Session::started(|_| {});
    half(&mut session);
    session.model(vec![error_event("refused", "no network")]);
    assert_eq!(session.conversation(), ["user: go", "assistant: half"]);
    assert_eq!(session.status(), RunStatus::Failed);
}

#[test]
fn a_stream_that_died_before_its_provider_counted_is_booked_as_an_estimate() {
    let died = |version: u32, events: Vec<Event>| {
        let mut session = Session::with(|config| config.rules_version = version);
        session.say(&"go on ".repeat(400));
        session.model(events);
        session.restart();
        session.check_replay();
        session.react().totals().usage
    };
    let half = || vec![begins("msg_a"), words(&"half ".repeat(100))];
    let usage_of = died(RULES_VERSION, half());
    assert!(
        usage_of.input_tokens > 600 && usage_of.output_tokens > 125,
        "{usage_of:?}"
    );
    assert_eq!(usage_of.estimated_tokens, usage_of.context_tokens());
    let counted = died(RULES_VERSION, [half(), vec![usage(10, 1)]].concat());
    assert_eq!(counted.input_tokens, 10);
    assert_eq!(counted.estimated_tokens, counted.output_tokens - 1);
    assert_eq!(
        died(RULES_VERSION, Vec::new()),
        Usage::default(),
        "nothing had begun"
    );
    assert_eq!(
        died(8, half()),
        Usage::default(),
        "older logs derive what they did"
    );
}

#[test]
fn calls_are_run_again_or_answered_as_unknown() {
    let mut session = Session::started(|_| {});
    session.calls(&[
        ("c1", "look", json!({})),
        ("c2", "change", json!({})),
        ("c3", "look", json!({})),
    ]);
    session.result("c3", "seen");
    session.restart();
    assert_eq!(session.running_ids(), ["c1"], "it may be repeated");
    session.result("c1", "seen again");
    let sent = session.sent();
    assert_eq!(
        (sent[2].as_str(), sent[4].as_str()),
        ("tool: c1 = seen again", "tool: c3 = seen")
    );
    assert!(sent[3].contains("may or may not have had its effect"), "{sent:?}");
    let unknown = |s: &&StateOutput| {
        matches!(
            s,
            StateOutput::ToolEnded {
                status: ToolStatus::Unknown,
                ..
            }
        )
    };
    assert_eq!(session.states().filter(unknown).count(), 1);
    session.check_replay();
}

#[test]
fn a_call_that_never_began_is_run_again_whatever_it_is() {
    let mut session = Session::started(|_| {});
    session.by_hand = true;
    session.calls(&[("c1", "change", json!({"path": "a"}))]);
    session.by_hand = false;
    session.restart();
    assert_eq!(session.running_ids(), ["c1"]);
    session.result("c1", "done");
    session.answer("done");
    assert_eq!(session.status(), RunStatus::Completed);
}

#[test]
fn approvals_still_wait_and_what_was_allowed_keeps_its_reach() {
    let mut session = Session::started(|config| config.approval = ApprovalMode::Ask);
    session.calls(&[
        ("c1", "change", json!({})),
        ("c2", "look", json!({"path": "/etc/hosts"})),
    ]);
    session.decide("c2", ApprovalDecision::Once);
    session.restart();
    assert_eq!(
        (session.status(), session.running_ids()),
        (RunStatus::AwaitingApproval, vec!["c2".into()])
    );
    assert!(matches!(&session.running()[0].body, ActionBody::CallTool(call) if call.outside_workspace));
    session.decide("c1", ApprovalDecision::Once);
    assert_eq!(session.running().len(), 2);
}

#[test]
fn a_writer_whom_nobody_can_ask_settles_what_waits() {
    for (mode, running) in [
        (ApprovalMode::Deny, 0),
        (ApprovalMode::Auto, 1),
        (ApprovalMode::Ask, 0),
    ] {
        let mut session = Session::started(|config| config.approval = ApprovalMode::Ask);
        session.calls(&[("c1", "change", json!({}))]);
        session.open.clear();
        session.change(ConfigChange::Approval(mode));
        assert!(session.running().is_empty(), "not before the writer is there");
        session.restart();
        assert_eq!(session.running().len(), running, "{mode:?}");
        assert_eq!(
            session.react().ledger().awaits_approval(),
            mode == ApprovalMode::Ask
        );
        assert_eq!(session.asked().is_some(), mode == ApprovalMode::Deny);
    }
}

#[test]
fn answers_that_were_on_their_way_are_given_again() {
    let mut session = Session::started(|_| {});
    session.by_hand = true;
    session.calls(&[("c1", "nonsense", json!({})), ("c2", "look", json!(1))]);
    let lost = session.open.clone();
    session.by_hand = false;
    session.restart();
    assert_eq!(session.sent().len(), 4);
    for action in &lost {
        session.fact(
            Some(&action.action_id),
            None,
            result_event(call_id(action).as_str(), "late", ToolStatus::Success),
        );
    }
    assert_eq!(session.sent().len(), 4);
}

#[test]
fn a_stop_goes_on_to_its_end() {
    let ended = |session: &Session, lines: usize| {
        assert_eq!(
            session.ends_of_runs(),
            [(RunStatus::Interrupted, Some("stopped by the user".into()))]
        );
        assert_eq!(session.reports(), ["interrupted"]);
        assert_eq!(
            session.conversation().len(),
            lines,
            "{:?}",
            session.conversation()
        );
        assert!(session.open.is_empty());
        session.check_replay();
    };
    let mut session = Session::started(|_| {});
    session.model(vec![begins("msg_a"), words("half")]);
    session.interrupt();
    session.restart();
    ended(&session, 2);

    let mut session = Session::started(|_| {});
    session.model(stream([words("half")], StopReason::Broken));
    session.interrupt();
    session.restart();
    ended(&session, 2);

    let mut session = Session::started(|_| {});
    session.calls(&[("c1", "change", json!({})), ("c2", "look", json!({}))]);
    session.interrupt();
    session.restart();
    ended(&session, 4);
    assert!(
        session.conversation()[2].contains("may or may not"),
        "it had begun"
    );

    let mut session = Session::started(|_| {});
    session.by_hand = true;
    session.model(vec![begins("msg_a"), words("half")]);
    session.interrupt();
    session.model(vec![ends_with(StopReason::Interrupted)]);
    assert!(session.ends_of_runs().is_empty(), "the report was lost");
    session.by_hand = false;
    session.restart();
    ended(&session, 2);
}

#[test]
fn a_refused_round_is_refused_to_its_end() {
    let mut session = Session::started(|config| config.limits.max_iterations = Some(0));
    session.by_hand = true;
    session.looks("c1");
    session.by_hand = false;
    session.restart();
    assert_eq!(session.status(), RunStatus::TimedOut);
    assert_eq!(session.reports(), ["error"]);
}

#[test]
fn the_timer_is_set_again_for_what_is_left() {
    let mut session = Session::started(|config| config.limits.max_wall_ms = Some(10_000));
    session.time_passes(4_000);
    session.model(vec![begins("msg_a"), words("half")]);
    session.restart();
    let left = session.timers()[0].1;
    assert!((5_900..6_000).contains(&left), "{left}");
    session.timer_fires();
    assert_eq!(session.status(), RunStatus::Stopping);
    session.restart();
    assert_eq!(
        (session.status(), session.timers().len()),
        (RunStatus::TimedOut, 0)
    );
}

#[test]
fn inputs_that_wait_are_kept() {
    let mut session = Session::started(|_| {});
    session.say("later");
    session.say_as("now", InputMode::Steer);
    session.restart();
    assert_eq!(session.sent(), ["user: go", "user: now"]);
    session.answer("done");
    assert_eq!(session.sent().last().unwrap(), "user: later");
}

#[test]
fn a_writer_may_come_twice() {
    let mut session = Session::started(|_| {});
    session.looks("c1");
    session.restart();
    session.restart();
    session.result("c1", "ok");
    session.restart();
    session.restart();
    session.answer("done");
    assert_eq!(session.conversation().len(), 4);
    session.check_replay();
}

#[test]
fn a_fork_ends_the_run_as_interrupted_from_each_state() {
    let ask = |config: &mut AgentConfig| config.approval = ApprovalMode::Ask;
    type Enter = fn(&mut Session);
    let states: [(&str, Enter, usize); 8] = [
        ("asked", |_| {}, 1),
        ("streaming", |s| s.model(vec![begins("msg_a"), words("half")]), 2),
        (
            "broken",
            |s| s.model(stream([words("half")], StopReason::Broken)),
            2,
        ),
        ("tool", |s| s.looks("c1"), 3),
        ("approval", |s| s.calls(&[("c1", "change", json!({}))]), 3),
        ("stopping", |s| s.interrupt(), 1),
        (
            "answering",
            |s| {
                s.by_hand = true;
                s.calls(&[("c1", "nonsense", json!({}))]);
                s.by_hand = false;
            },
            3,
        ),
        (
            "reporting",
            |s| {
                s.by_hand = true;
                s.interrupt();
                s.model(vec![ends_with(StopReason::Interrupted)]);
                s.by_hand = false;
            },
            1,
        ),
    ];
    for (state, enter, lines) in states {
        let mut session = Session::started(ask);
        enter(&mut session);
        session.fork();
        let ends: Vec<RunStatus> = session.ends_of_runs().iter().map(|end| end.0).collect();
        assert_eq!(ends, [RunStatus::Interrupted], "{state}");
        assert_eq!(
            session.conversation().len(),
            lines,
            "{state} {:?}",
            session.conversation()
        );
        assert!(session.open.is_empty(), "{state}");
        session.say("another way");
        assert_eq!(session.sent().len(), lines + 1, "{state}");
        session.check_replay();
    }
}

#[test]
fn a_copy_says_that_a_call_runs_in_the_original_and_a_restart_that_the_program_stopped() {
    let told = |version: u32, copied: bool| {
        let mut session = Session::started(|config| config.rules_version = version);
        session.calls(&[("c1", "change", json!({}))]);
        if copied {
            session.fork()
        } else {
            session.restart()
        }
        session.check_replay();
        session.conversation()[2].clone()
    };
    for (version, copied, stopped) in [
        (RULES_VERSION, true, false),
        (7, true, true),
        (RULES_VERSION, false, true),
    ] {
        let told = told(version, copied);
        assert!(told.contains("may or may not have had its effect"), "{told}");
        assert_eq!(told.contains("program that ran it stopped"), stopped, "{told}");
        assert_eq!(told.contains("may still be running there"), !stopped, "{told}");
    }
}

/// A part of a run that may take a minute.
type Life = &'static [Part];

enum Part {
    /// This number of seconds passes before the next event.
    Works(i64),
    /// This number of seconds passes without a program.
    Gone(i64),
    /// The time limit is changed to this many seconds before the next program takes over.
    Told(u64),
    Restart,
}

#[test]
fn hours_without_a_program_count_against_no_limit() {
    use Part::*;
    const DAY: i64 = 86_400;
    let table: [(Life, u64); 8] = [
        (&[Works(10)], 50),
        (&[Works(10), Restart], 50),
        (&[Works(10), Gone(DAY), Restart], 50),
        (&[Works(10), Gone(DAY), Restart, Works(10)], 40),
        (&[Works(10), Gone(DAY), Restart, Gone(DAY), Restart], 50),
        (
            &[Works(10), Gone(5), Restart, Works(20), Gone(7), Restart, Works(5)],
            25,
        ),
        (&[Works(10), Gone(DAY), Told(60), Restart], 50),
        (&[Works(10), Gone(DAY), Told(90), Restart, Works(1)], 79),
    ];
    let wall = |seconds: u64| Limits {
        max_wall_ms: Some(seconds * 1_000),
        ..Limits::default()
    };
    for (index, (life, left)) in table.into_iter().enumerate() {
        let mut session = Session::started(|config| config.limits = wall(60));
        for part in life {
            match part {
                Works(seconds) => {
                    session.time_passes(seconds * 1_000);
                    session.model(vec![begins("msg_a"), words("a")]);
                }
                Gone(seconds) => session.time_passes(seconds * 1_000),
                Told(seconds) => session.change(ConfigChange::Limits(wall(*seconds))),
                Restart => session.restart(),
            }
        }
        // The remaining time is that of a newly started timer.
        session.restart();
        let timer = session.timers()[0].1;
        let expected = left * 1_000 - 100..=left * 1_000;
        assert!(
            expected.contains(&timer),
            "row {index}: {timer} ms are left, not {left} s"
        );
        session.check_replay();
    }
}

#[test]
fn a_run_says_how_long_it_was_worked_on() {
    let mut session = Session::started(|_| {});
    session.time_passes(5_000);
    session.model(vec![begins("msg_a"), words("a")]);
    session.time_passes(86_400_000);
    session.restart();
    session.answer("done");
    let duration = session.outputs().find_map(|output| match output {
        AgentOutput::Turn(TurnOutput::Response { duration_ms, .. }) => Some(*duration_ms),
        _ => None,
    });
    let duration = duration.unwrap();
    assert!((5_000..5_100).contains(&duration), "{duration}");
}

#[test]
fn what_was_left_running_and_is_ended_is_told_to_the_model() {
    for version in OLDEST_AND_NEWEST {
        let mut session = Session::started_with_rules(version, |_| {});
        session.calls(&[("c1", "change", json!({"path": "a"}))]);
        session.open.clear();
        let left = |tool_call_id: Option<ToolCallId>, program: &str, processes| LeftRunning {
            tool_call_id,
            program: program.into(),
            processes,
        };
        session.happens(WriterAttached {
            epoch: 2,
            program: "test".into(),
            process: 1,
            ended: vec![left(Some("c1".into()), "make", 3), left(None, "sleep", 1)],
            serves: false,
            cut_off: Vec::new(),
        });
        let told = session.sent().join("\n");
        assert!(
        told.contains("look before you repeat it. It was still running (make and 2 more processes), and has been ended now."),
        "{told}"
    );
        assert!(
            told.contains("user: [Commands in the background were still running"),
            "{told}"
        );
        assert!(told.contains("and have been ended: sleep.]"), "{told}");
        session.check_replay();
    }
}

#[test]
fn the_output_of_a_call_until_it_was_cut_off_is_told_once_and_with_its_result() {
    const TOLD: &str = "look before you repeat it.\nIts recorded output until then:\n\
        [the first 70 bytes are left out]\ncompiling c\n";
    for version in OLDEST_AND_NEWEST {
        let mut session = Session::started_with_rules(version, |_| {});
        session.calls(&[
            ("c1", "change", json!({"path": "a"})),
            ("c2", "change", json!({"path": "b"})),
        ]);
        let first = session.running()[0].action_id.clone();
        let output = CutOffOutput {
            action_id: first,
            text: "compiling c\n".into(),
            left_out: 70,
        };
        // The answers of the first process that takes over are lost too.
        session.by_hand = true;
        session.restart_with(vec![output]);
        session.by_hand = false;
        session.restart();
        let sent = session.sent();
        assert_eq!(sent.join("\n").matches(TOLD).count(), 1, "{sent:?}");
        assert!(sent[2].ends_with(TOLD), "{sent:?}");
        assert!(!sent[3].contains("output"), "it wrote nothing: {sent:?}");
        session.check_replay();
    }
}

#[test]
fn a_copy_is_told_the_output_of_a_call_that_runs_in_the_original() {
    let mut session = Session::started(|config| config.rules_version = RULES_VERSION);
    session.calls(&[("c1", "change", json!({"path": "a"}))]);
    let action_id = session.running()[0].action_id.clone();
    session.open.clear();
    session.happens(SessionForked {
        parent: "ses_0".into(),
        at_seq: session.log.len() as u64,
        hold: true,
    });
    session.restart_with(vec![CutOffOutput {
        action_id,
        text: "half\n".into(),
        left_out: 0,
    }]);
    session.say("and now?");
    let sent = session.sent().join("\n");
    let told =
        "it may still be running there: look before you repeat it.\nIts recorded output until then:\nhalf";
    assert!(sent.contains(told), "{sent}");
    session.check_replay();
}
