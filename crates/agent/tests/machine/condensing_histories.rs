//! Random long sessions that are condensed: exchanges stay complete (the harness checks each request), goals
//! and pins stay, nothing is retried endlessly, and a removed summary leaves exactly the context without it,
//! to the byte.

use agentx_types::*;
use proptest::prelude::*;
use proptest::test_runner::Config;
use serde_json::json;

use crate::harness::*;

/// An event of a history: its kind, and two choices about it.
type Op = (u8, u8, u8);

/// A session in which the same happens whether it is condensed or not.
struct Long {
    session: Session,
    condenses: bool,
    said: u32,
    pins: Vec<String>,
    /// The requested summaries.
    asked: u32,
}

impl Long {
    fn new(condenses: bool, window: u64, at_percent: u8, tail: u32) -> Self {
        let mut session = Session::with(|config| {
            config.model.context_window = window;
            config.model.max_output_tokens = window / 8;
            let condensing = Condensing {
                at_percent,
                tail,
                model: None,
                keeps_beginning: false,
                ..Condensing::default()
            };
            config.condensing = condenses.then(|| Box::new(condensing));
        });
        session.copies = false;
        session.say("the goal");
        Self {
            session,
            condenses,
            said: 0,
            pins: vec!["user: the goal".into()],
            asked: 0,
        }
    }

    fn happens(&mut self, (what, a, b): Op) {
        self.said += 1;
        let n = self.said;
        let size = usize::from(a) * 2;
        match what % 12 {
            0..=5 => {
                let calls: Vec<_> = (0..=b % 3).map(|k| format!("c{n}_{k}")).collect();
                let wanted: Vec<_> = calls
                    .iter()
                    .map(|id| (id.as_str(), "look", json!({"path": "a"})))
                    .collect();
                self.session.calls(&wanted);
                let share = size / calls.len();
                calls
                    .iter()
                    .rev()
                    .for_each(|id| self.session.result(id, &"word ".repeat(share)));
            }
            6 | 7 => {
                self.session.answer(&"said ".repeat(size));
                self.session.say(&format!("next {n}"));
            }
            8 => {
                self.session.say_as(&format!("by the way {n}"), InputMode::Steer);
                self.session.round(&format!("s{n}"), size);
            }
            9 => {
                let line = format!("pinned {n}");
                self.session.answer("yes");
                self.session.say(&line);
                self.session.happens(InputPinned {
                    message_id: MessageId::with_suffix(&line),
                    pinned: true,
                    by: None,
                });
                self.pins.push(format!("user: {line}"));
            }
            10 if self.condenses => self.session.wants((b % 2 == 0).then_some("mind the names")),
            11 if self.condenses => {
                self.session.undo();
            }
            _ => {}
        }
        self.settle(b);
        self.check();
    }

    /// Answers requested summaries; the next one must not be requested at once.
    fn settle(&mut self, b: u8) {
        if self.session.condense().is_none() {
            return;
        }
        self.asked += 1;
        match b % 8 {
            0 => self.session.no_summary("overloaded"),
            1 => self.session.summary(&"a long summary ".repeat(400)),
            2 => {
                self.session.restart();
                if self.session.condense().is_some() {
                    self.session.summary("after a restart");
                }
            }
            _ => self.session.summary(&format!("summary {}", self.asked)),
        }
        assert!(
            self.session.condense().is_none(),
            "a summary is asked for right after another"
        );
        assert!(self.session.asked().is_some(), "the run goes on");
    }

    fn check(&self) {
        let sent = self.session.sent();
        let input = &self.session.react().run().unwrap().input_id;
        let has_input = self
            .session
            .request()
            .messages
            .iter()
            .any(|message| message.message_id == *input);
        assert!(has_input, "what is to be done is not in {sent:?}");
        for pin in &self.pins {
            assert!(sent.contains(pin), "{pin} is not in {sent:?}");
        }
    }
}

/// Returns the next request without any settings about condensing.
fn context(long: &mut Long) -> String {
    long.session.change(ConfigChange::Condensing(None));
    long.session.round("last", 1);
    serde_json::to_string(&*long.session.request()).unwrap()
}

fn check_undo(ops: &[Op]) {
    let (window, tail) = (60_000, 3);
    let mut condensed = Long::new(true, window, 5, tail);
    let mut plain = Long::new(false, window, 0, tail);
    // The last request is fulfilled before the next call.
    for op in ops.iter().chain(&[(0, 1, 1)]) {
        condensed.happens(*op);
        plain.happens(*op);
    }
    while condensed.session.undo() {}
    assert_eq!(condensed.session.conversation(), plain.session.conversation());
    assert_eq!(context(&mut condensed), context(&mut plain));
    condensed.session.check_replay();
}

fn check_long(window: u64, at_percent: u8, tail: u32, ops: &[Op]) -> u32 {
    let mut long = Long::new(true, window, at_percent, tail);
    ops.iter().for_each(|op| long.happens(*op));
    long.session.check_replay();
    long.asked
}

proptest! {
    #![proptest_config(Config { cases: 32, failure_persistence: None, ..Config::default() })]

    #[test]
    fn undone_it_is_as_if_it_had_never_been_to_the_byte(ops in prop::collection::vec(any::<Op>(), 1..60)) {
        check_undo(&ops);
    }

    #[test]
    fn long_sessions_are_condensed_and_lose_no_goal(
        window in 1_000u64..40_000,
        at_percent in 10u8..100,
        tail in 0u32..12,
        ops in prop::collection::vec(any::<Op>(), 20..140),
    ) {
        check_long(window, at_percent, tail, &ops);
    }
}

#[test]
fn a_long_session_is_condensed_now_and_then() {
    let ops: Vec<Op> = (0..600u32)
        .map(|n| ((n % 6) as u8, (n * 37 % 251) as u8, 3))
        .collect();
    let asked = check_long(20_000, 80, 6, &ops);
    assert!(
        (3..=60).contains(&asked),
        "it was condensed {asked} times in 600 exchanges"
    );
}
