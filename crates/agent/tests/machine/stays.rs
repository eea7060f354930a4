//! Messages that are sent although the window has moved past them: if no summary could be made, or one was
//! removed.

use agentx_types::*;

use crate::condensing::small;
use crate::harness::*;

const LEFT_OUT: &str = "left out because they no longer fit";

impl Session {
    fn pin(&mut self, line: &str) {
        self.happens(InputPinned {
            message_id: MessageId::with_suffix(line),
            pinned: true,
            by: None,
        });
    }

    /// Rounds until the window moves; no summary is available.
    fn fill_without_summaries(&mut self, name: &str) {
        for round in 0..100 {
            if self.condense().is_some() {
                self.no_summary("overloaded");
            }
            if self.sent()[0].contains(LEFT_OUT) {
                return;
            }
            self.round(&format!("{name}{round}"), 100);
        }
        panic!("the window never moved");
    }

    /// Returns the inputs in the request.
    fn inputs(&self) -> Vec<String> {
        let mut sent = self.sent();
        sent.retain(|line| line.starts_with("user: ") && !line.contains(LEFT_OUT));
        sent
    }
}

#[test]
fn where_no_summary_can_be_had_the_goal_and_what_is_pinned_are_sent_all_the_same() {
    let mut session = Session::started(small);
    session.answer("yes");
    for line in ["remember this", "forget this"] {
        session.say(line);
        session.answer("I will");
    }
    session.pin("remember this");
    session.say("the task of now");
    session.fill_without_summaries("c");
    let stays = ["user: go", "user: remember this", "user: the task of now"];
    assert_eq!(session.inputs(), stays);
    // All messages that are not sent are counted, without the note about them.
    let sent = session.sent().len() - 1;
    let fill = session.react().window_fill(9);
    assert_eq!(fill.left_out, (session.conversation().len() - sent) as u64);
    // An input that is pinned afterwards is sent again.
    session.pin("forget this");
    session.round("d", 1);
    assert!(session.inputs().contains(&"user: forget this".to_owned()));
    session.check_replay();
}

#[test]
fn after_a_summary_was_taken_out_they_are_sent_too() {
    let mut session = Session::with(small);
    session.say("go");
    session.answer("yes");
    session.say("the task of now");
    session.fill("c");
    session.summary("In short.");
    (0..6).for_each(|n| session.round(&format!("d{n}"), 100));
    assert!(session.undo());
    session.round("e", 100);
    assert!(session.sent()[0].contains(LEFT_OUT), "{:?}", session.sent());
    assert_eq!(session.inputs(), ["user: go", "user: the task of now"]);
    session.check_replay();
}

#[test]
fn what_would_fill_the_window_does_not_stay() {
    let mut session = Session::with(small);
    let long = "a long goal ".repeat(300);
    session.say(&long);
    session.answer("yes");
    session.say("a short one");
    session.pin("a short one");
    session.answer("yes");
    session.say("the task of now");
    session.fill_without_summaries("c");
    assert_eq!(session.inputs(), ["user: a short one", "user: the task of now"]);
    session.check_replay();
}

#[test]
fn a_session_of_before_keeps_what_is_to_be_done_alone() {
    let mut session = Session::with(|config| {
        small(config);
        config.condensing = None;
    });
    session.say("go");
    session.answer("yes");
    session.say("the task of now");
    session.fill_without_summaries("c");
    assert_eq!(session.inputs(), ["user: the task of now"]);
    session.check_replay();
}
