//! A guess from a refusal holds only if it helped: a conversation is not forgotten because one request was
//! refused.

use agentx_types::*;
use serde_json::json;

use crate::harness::*;

fn large(config: &mut AgentConfig) {
    config.rules_version = RULES_VERSION;
    config.model.context_window = 128_000;
    config.model.max_output_tokens = 8_192;
    config.condensing = Some(Box::default());
}

impl Session {
    /// The open model call is refused, and the error does not report how much fits.
    fn is_refused(&mut self, code: &str, status: u16) {
        let failed = AttemptFailed {
            attempt: 1,
            code: code.into(),
            message: "no".into(),
            status: Some(status),
            retry_in_ms: None,
            gives_up_in_ms: None,
            overflow: (code == "context_window").then(Box::default),
            refused: (code == "too_large").then_some(RequestPart::Media),
            longest_answer: None,
            most_media: None,
            no_thinking: false,
            refused_place: None,
        };
        self.model(vec![failed.into(), error_event(code, "no")]);
    }

    /// Refuses each attempt until the run ends. Returns their number.
    fn is_refused_to_the_end(&mut self, code: &str, status: u16) -> u32 {
        for times in 0..20 {
            if self.condense().is_some() {
                self.no_summary("too_large");
            } else if self.asked().is_some() {
                self.is_refused(code, status);
            } else {
                return times;
            }
        }
        panic!("it never comes to an end");
    }

    fn window(&self) -> u64 {
        self.react().config().model.context_window
    }

    fn sent_text(&self) -> String {
        let request = self.request();
        let texts = request
            .messages
            .iter()
            .map(|message| serde_json::to_string(message).unwrap());
        texts.collect()
    }
}

#[test]
fn a_small_request_that_is_refused_for_its_bytes_forgets_nothing() {
    let mut session = Session::with(large);
    session.say("my name is Ada");
    session.answer("Hello Ada.");
    session.say("what is my name?");
    assert_eq!(
        session.is_refused_to_the_end("too_large", 413),
        1,
        "less would be refused too"
    );
    assert_eq!(session.window(), 128_000);
    session.say("what is my name?");
    assert!(session.sent_text().contains("my name is Ada"));
    session.answer("Ada.");
    session.check_replay();
}

#[test]
fn a_guess_that_did_not_help_is_taken_back_when_the_run_ends() {
    for (code, status) in [("too_large", 413), ("context_window", 400)] {
        let mut session = Session::with(large);
        session.say("my name is Ada");
        for round in 0..4 {
            let id = format!("c{round}");
            session.model(stream([call(&id, "look", json!({}))], StopReason::ToolUse));
            session.result(&id, &"made up\n".repeat(5_000));
        }
        session.answer("Hello Ada.");
        session.say("what is my name?");
        let before = session.sent_text();
        assert!(
            session.is_refused_to_the_end(code, status) > 1,
            "{code}: less was tried"
        );
        assert_eq!(session.window(), 128_000, "{code}");
        session.say("once more");
        let after = session.sent_text();
        assert!(
            after.contains("my name is Ada") && after.len() >= before.len(),
            "{code}"
        );
        session.answer("Ada.");
        session.check_replay();
    }
}

#[test]
fn each_call_of_a_round_has_its_own_result_again_when_a_guess_is_taken_back() {
    let mut session = Session::with(large);
    session.say("look twice");
    for round in 0..3 {
        let ids = [format!("a{round}"), format!("b{round}")];
        let calls = ids.clone().map(|id| call(&id, "look", json!({})));
        session.model(stream(calls, StopReason::ToolUse));
        for id in ids {
            session.result(&id, &format!("{id} made up\n").repeat(5_000));
        }
    }
    session.answer("Seen.");
    session.say("and now?");
    let before = session.sent_text();
    assert!(
        session.is_refused_to_the_end("too_large", 413) > 1,
        "less was tried"
    );
    session.say("once more");
    let after = session.sent_text();
    for id in ["a0", "b0", "a1", "b1", "a2", "b2"] {
        let count = |text: &str| text.matches(&format!("{id} made up")).count();
        assert_eq!(count(&after), count(&before), "{id}");
    }
    session.answer("Done.");
    session.check_replay();
}

#[test]
fn a_guess_that_helped_holds() {
    let mut session = Session::with(large);
    session.say("look");
    for round in 0..4 {
        let id = format!("c{round}");
        session.model(stream([call(&id, "look", json!({}))], StopReason::ToolUse));
        session.result(&id, &"made up\n".repeat(5_000));
    }
    session.is_refused("context_window", 400);
    if session.condense().is_some() {
        session.summary("In short.");
    }
    let guessed = session.window();
    assert!(guessed < 128_000);
    session.answer("done");
    assert_eq!(session.window(), guessed);
    session.say("and now?");
    session.model(vec![error_event("server_error", "no")]);
    assert_eq!(session.window(), guessed, "an answer has confirmed it");
    session.check_replay();
}

impl Session {
    /// Rounds of about 5,000 tokens, condensed where that is due, while `goes_on` returns true; 60 at most.
    fn rounds_while(&mut self, name: &str, goes_on: impl Fn(&Self) -> bool) {
        for round in 0..60 {
            if self.condense().is_some() {
                self.summary("In short.");
            } else if goes_on(self) {
                let id = format!("{name}{round}");
                self.model(stream([call(&id, "look", json!({}))], StopReason::ToolUse));
                self.result(&id, &"made up\n".repeat(2_500));
            } else {
                return;
            }
        }
    }

    /// A session whose window was guessed from a refusal without a size, in a run that goes on.
    fn that_guessed(version: u32) -> Self {
        let mut session = Self::with(|config| {
            large(config);
            config.rules_version = version;
        });
        session.copies = false;
        session.say("look");
        for round in 0..4 {
            let id = format!("c{round}");
            session.model(stream([call(&id, "look", json!({}))], StopReason::ToolUse));
            session.result(&id, &"made up\n".repeat(5_000));
        }
        session.is_refused("context_window", 400);
        if session.condense().is_some() {
            session.summary("In short.");
        }
        session.answer("done");
        session.say("look on");
        session
    }

    fn guesses(&self) -> usize {
        self.changes()
            .iter()
            .filter(|change| **change == "guessed")
            .count()
    }

    /// Returns whether the window in the latest event does not grow any more.
    fn is_told_as_fixed(&self) -> bool {
        let fixed = self.states().filter_map(|state| match state {
            StateOutput::Context {
                change: ContextChange::WindowGuessed { fixed, .. },
            } => Some(*fixed),
            _ => None,
        });
        fixed.last().unwrap_or(false)
    }
}

#[test]
fn a_guessed_window_grows_until_a_larger_one_is_refused() {
    let mut session = Session::that_guessed(RULES_VERSION);
    let guessed = session.window();
    assert!(guessed < 128_000);
    assert_eq!(session.guesses(), 1, "a person is told");
    session.rounds_while("d", |session| session.window() == guessed);
    let grown = guessed + guessed / 4;
    assert_eq!(session.window(), grown);
    assert_eq!(session.guesses(), 2);
    assert!(!session.is_told_as_fixed());
    // More than would have fitted before, but less than is condensed now.
    session.rounds_while("e", |session| session.sent_text().len() < 152_000);
    assert_eq!(session.window(), grown);
    session.is_refused("context_window", 400);
    assert_eq!(session.window(), guessed, "it is again what was answered");
    session.rounds_while("f", |_| true);
    assert_eq!(session.window(), guessed, "and grows no more");
    assert_eq!(session.guesses(), 3);
    assert!(session.is_told_as_fixed(), "and a person is told");
    session.check_replay();
}

#[test]
fn a_guessed_window_grows_no_further_than_it_was_and_not_in_older_sessions() {
    let mut session = Session::that_guessed(RULES_VERSION);
    for part in 0..40 {
        if session.window() == 128_000 {
            break;
        }
        session.rounds_while(&format!("p{part}_"), |session| session.window() < 128_000);
    }
    assert_eq!(session.window(), 128_000);
    assert_eq!(session.react().config().model.max_output_tokens, 8_192);
    session.check_replay();
    let mut older = Session::that_guessed(8);
    let guessed = older.window();
    older.rounds_while("d", |_| true);
    assert_eq!((older.window(), older.guesses()), (guessed, 0));
    older.check_replay();
}

impl Session {
    /// A server answers a message of `size` bytes, and refuses any request with more than `most` bytes of
    /// text without naming a size. Returns the number of refusals.
    fn exchange(&mut self, number: usize, size: usize, most: usize) -> u32 {
        self.say(&format!("{number:0size$}"));
        for times in 0..20 {
            let request = self.request();
            let parts = request.messages.iter().flat_map(|message| &message.content);
            let sent: usize = parts.filter_map(ContentPart::as_text).map(str::len).sum();
            if sent <= most {
                let counted = usage(u64::try_from(sent / 4).unwrap(), 2);
                self.model(stream([words("done"), counted], StopReason::EndTurn));
                return times;
            }
            self.is_refused("context_window", 500);
        }
        panic!("it never comes to an end");
    }
}

/// The space that is kept free for the answer is constant, so a larger window has more than proportionally
/// more room.
#[test]
fn a_guess_that_grew_too_far_goes_back_and_nothing_is_refused_from_then_on() {
    // 100,000 tokens, 4,000 of them for the answer.
    let mut session = Session::with_rules(RULES_VERSION, |_| {});
    session.copies = false;
    let refused: Vec<u32> = (0..60).map(|n| session.exchange(n, 6_000, 60_000)).collect();
    assert_eq!(refused.iter().sum::<u32>(), 2, "{refused:?}");
    assert!(
        (18_000..20_000).contains(&session.window()),
        "{}",
        session.window()
    );
    session.check_replay();
}

#[test]
fn a_guess_that_is_refused_after_it_went_back_becomes_smaller() {
    // The window before the last growth has room for more than this server takes, too.
    let mut session = Session::with_rules(RULES_VERSION, |_| {});
    session.copies = false;
    let refused: Vec<u32> = (0..200).map(|n| session.exchange(n, 2_000, 44_000)).collect();
    assert_eq!(refused[100..].iter().sum::<u32>(), 0, "{refused:?}");
    session.check_replay();
}

#[test]
fn older_sessions_keep_what_was_guessed() {
    let mut session = Session::with(|config| {
        large(config);
        config.rules_version = 5;
    });
    session.say("look");
    for round in 0..4 {
        let id = format!("c{round}");
        session.model(stream([call(&id, "look", json!({}))], StopReason::ToolUse));
        session.result(&id, &"made up\n".repeat(5_000));
    }
    session.is_refused_to_the_end("too_large", 413);
    assert!(session.window() < 128_000);
    session.check_replay();
}

#[test]
fn an_input_without_content_asks_again_what_was_not_answered() {
    let mut session = Session::with(large);
    session.say("fix it");
    session.model(vec![error_event("unauthorized", "no")]);
    session.says_nothing();
    let request = session.request();
    assert_eq!(request.messages.len(), 1, "{:?}", request.messages);
    session.answer("done");
    session.check_replay();
}

impl Session {
    fn says_nothing(&mut self) {
        self.happens(UserMessage {
            message_id: MessageId::new(format!("msg_nothing_{}", self.ends_of_runs().len())),
            content: Vec::new(),
            mode: InputMode::Queue,
            idempotency_key: None,
            by: None,
            answer_schema: None,
        });
    }
}
