//! A server whose window is smaller than assumed: the session learns from its refusals, and no later run
//! fails for it.

use agentx_types::*;
use serde_json::json;

use crate::harness::*;

/// A server that was started with a small window. It is made up: its counts differ from our estimates.
#[derive(Clone, Copy, Debug)]
struct Server {
    /// Tokens that really fit.
    window: u64,
    /// Whether its refusals name its window and the size of the request.
    says: bool,
    /// The number of bytes per token.
    bytes: usize,
}

impl Server {
    fn count(&self, request: &ModelRequest) -> u64 {
        let text: String = request
            .messages
            .iter()
            .map(|message| written_out(message))
            .collect();
        let fixed: usize = request.system.iter().map(|part| part.len()).sum();
        u64::try_from((text.len() + fixed) / self.bytes).unwrap()
    }

    fn refusal(&self, request: &ModelRequest) -> Vec<Event> {
        let (window, asked) = if self.says {
            (Some(self.window), Some(self.count(request)))
        } else {
            (None, None)
        };
        let failed = AttemptFailed {
            attempt: 1,
            code: "context_window".into(),
            message: "too long".into(),
            status: Some(400),
            retry_in_ms: None,
            gives_up_in_ms: None,
            overflow: Some(Box::new(Overflow { window, asked })),
            refused: None,
            longest_answer: None,
            most_media: None,
            no_thinking: false,
            refused_place: None,
        };
        vec![failed.into(), error_event("context_window", "too long")]
    }

    /// Runs one input with three tool rounds; returns the number of refusals.
    fn run(&self, session: &mut Session, n: usize, words: usize) -> u32 {
        session.say(&format!("task {n}"));
        let (mut rounds, mut refused) = (0, 0);
        for _ in 0..40 {
            if let Some((_, condense)) = session.condense() {
                assert!(
                    self.count(&condense.request) < self.window,
                    "{self:?}: even the summary is too long"
                );
                session.summary("In short.");
                continue;
            }
            if session.asked().is_none() {
                return refused;
            }
            let request = session.request();
            if self.count(&request) > self.window {
                refused += 1;
                session.model(self.refusal(&request));
            } else if rounds < 3 {
                rounds += 1;
                let id = format!("c{n}_{rounds}");
                let counted = usage(self.count(&request), 20);
                session.model(stream(
                    [call(&id, "look", json!({})), counted],
                    StopReason::ToolUse,
                ));
                session.result(&id, &"word ".repeat(words));
            } else {
                session.answer("done");
            }
        }
        panic!("{self:?}: it never comes to an end");
    }
}

fn written_out(message: &Message) -> String {
    serde_json::to_string(message).unwrap()
}

fn assumed(config: &mut AgentConfig) {
    config.model.context_window = 128_000;
    config.model.max_output_tokens = 8_192;
    config.condensing = Some(Box::default());
}

#[test]
fn a_smaller_window_is_learned_once_and_no_run_fails() {
    for version in OLDEST_AND_NEWEST {
        for says in [true, false] {
            for (window, bytes) in [(8_192, 3), (32_768, 5)] {
                for words in [200, 3_000, 20_000] {
                    let server = Server { window, says, bytes };
                    let mut session = Session::with_rules(version, assumed);
                    session.copies = false;
                    let refused: Vec<u32> = (0..8).map(|n| server.run(&mut session, n, words)).collect();
                    let ends = session.ends_of_runs();
                    assert!(
                        ends.len() == 8 && ends.iter().all(|(status, _)| *status == RunStatus::Completed),
                        "{server:?}, {words} words: {refused:?} {ends:?}"
                    );
                    let all: u32 = refused.iter().sum();
                    assert!(
                        all <= if says { 2 } else { 4 },
                        "{server:?}, {words} words: {refused:?}"
                    );
                    let known = session.react().config().model.context_window;
                    assert!(all == 0 || known < 128_000);
                    assert!(!says || all == 0 || known == window, "{known}");
                    session.check_replay();
                }
            }
        }
    }
}

#[test]
fn what_is_as_large_as_it_might_be_says_nothing_about_the_window() {
    for version in OLDEST_AND_NEWEST {
        let mut session = Session::with_rules(version, |config| {
            config.model.context_window = 20_000;
            config.model.max_output_tokens = 4_000;
            config.condensing = Some(Box::default());
        });
        session.say("go");
        for n in 0..11 {
            session.looks(&format!("c{n}"));
            session.result(&format!("c{n}"), &"word ".repeat(1_000));
        }
        let window = |session: &Session| session.react().config().model.context_window;
        let refusal = |says: Option<u64>| {
            let server = Server {
                window: says.unwrap_or_default(),
                says: says.is_some(),
                bytes: 4,
            };
            server.refusal(&session.request())
        };
        let (silent, right) = (refusal(None), refusal(Some(20_000)));
        session.model(silent);
        assert_eq!(
            window(&session),
            20_000,
            "the estimate was too low, not the window too small"
        );
        session.summary("In short.");
        session.model(right);
        assert_eq!(window(&session), 20_000, "it says what was assumed");
    }
}

#[test]
fn another_model_is_not_bound_by_what_was_learned() {
    for version in OLDEST_AND_NEWEST {
        let server = Server {
            window: 8_192,
            says: true,
            bytes: 4,
        };
        let mut session = Session::with_rules(version, assumed);
        session.copies = false;
        for n in 0..3 {
            server.run(&mut session, n, 3_000);
        }
        let config = session.react().config().clone();
        assert_eq!(config.model.context_window, 8_192);
        assert_eq!(config.model.max_output_tokens, 4_096);
        let larger = ModelSpec {
            id: "larger".into(),
            context_window: 500_000,
            ..config.model.clone()
        };
        session.change(ConfigChange::Model(Box::new(larger)));
        assert_eq!(session.react().config().model.context_window, 500_000);
        session.say("again");
        session.looks("long");
        session.result("long", &"word ".repeat(50_000));
        assert!(
            session.sent().iter().any(|said| said.len() > 200_000),
            "results are whole again"
        );
        session.check_replay();
    }
}

#[test]
fn what_old_logs_say_of_an_overflow_teaches_nothing_new() {
    let mut session = Session::with(assumed);
    session.say("go");
    for n in 0..4 {
        session.looks(&format!("c{n}"));
        session.result(&format!("c{n}"), &"word ".repeat(2_000));
    }
    let failed = AttemptFailed {
        attempt: 1,
        code: "context_window".into(),
        message: "too long".into(),
        status: Some(400),
        retry_in_ms: None,
        gives_up_in_ms: None,
        overflow: None,
        refused: None,
        longest_answer: None,
        most_media: None,
        no_thinking: false,
        refused_place: None,
    };
    session.model(vec![failed.into(), error_event("context_window", "too long")]);
    assert_eq!(session.react().config().model.context_window, 128_000);
    session.check_replay();
}

#[test]
fn naming_the_model_again_does_not_forget_what_was_learned_of_it() {
    for version in OLDEST_AND_NEWEST {
        let server = Server {
            window: 8_192,
            says: true,
            bytes: 4,
        };
        let mut session = Session::with_rules(version, assumed);
        session.copies = false;
        let named = session.react().config().model.clone();
        assert_eq!(
            session.react().as_learned(named.clone()),
            named,
            "nothing is known yet"
        );
        for n in 0..3 {
            server.run(&mut session, n, 3_000);
        }
        let learned = session.react().config().model.clone();
        assert_eq!(learned.context_window, 8_192);
        assert_eq!(session.react().as_learned(named.clone()), learned);
        let configured = ModelSpec {
            context_window: 16_384,
            ..named.clone()
        };
        let other = ModelSpec {
            id: "other".into(),
            ..named
        };
        for model in [configured, other] {
            assert_eq!(session.react().as_learned(model.clone()), model);
        }
    }
}

/// The server refuses a request of `asked` tokens and names its window.
pub(crate) fn too_long(window: u64, asked: u64) -> Vec<EnvironmentEvent> {
    let failed = AttemptFailed {
        attempt: 1,
        code: "context_window".into(),
        message: "too long".into(),
        status: Some(400),
        retry_in_ms: None,
        gives_up_in_ms: None,
        overflow: Some(Box::new(Overflow {
            window: Some(window),
            asked: Some(asked),
        })),
        refused: None,
        longest_answer: None,
        most_media: None,
        no_thinking: false,
        refused_place: None,
    };
    vec![failed.into(), error_event("context_window", "too long")]
}

/// Seed 139 of the histories: half of an assumed window of 6,000 tokens is kept for the answer, and the
/// server has 3,000 in all.
#[test]
fn a_window_as_large_as_the_room_that_was_assumed_is_smaller_all_the_same() {
    for (version, status) in [(RULES_VERSION, RunStatus::Completed), (3, RunStatus::Failed)] {
        let mut session = Session::with(|config| {
            config.model.context_window = 6_000;
            config.model.max_output_tokens = 3_000;
            config.rules_version = version;
        });
        session.say(&"made up ".repeat(500));
        session.looks("c1");
        session.result("c1", &"word ".repeat(1_500));
        session.model(too_long(3_000, 3_044));
        if version == RULES_VERSION {
            assert_eq!(session.react().config().model.context_window, 3_000);
            session.answer("done");
        }
        let ends = session.ends_of_runs();
        assert_eq!(ends.iter().map(|end| end.0).collect::<Vec<_>>(), [status]);
        session.check_replay();
    }
}

/// The window is as large as assumed, and one result of a tool is larger: it is shortened, and the run
/// continues.
#[test]
fn a_result_that_is_larger_than_a_known_window_is_shortened() {
    for (version, status) in [(RULES_VERSION, RunStatus::Completed), (3, RunStatus::Failed)] {
        let mut session = Session::with(|config| {
            config.model.context_window = 16_384;
            config.model.max_output_tokens = 4_096;
            config.rules_version = version;
        });
        session.say("read it");
        session.looks("c1");
        session.result("c1", &"word ".repeat(16_000));
        session.model(too_long(16_384, 19_227));
        if version == RULES_VERSION {
            assert_eq!(session.react().config().model.context_window, 16_384);
            session.answer("done");
        }
        let ends = session.ends_of_runs();
        assert_eq!(ends.iter().map(|end| end.0).collect::<Vec<_>>(), [status]);
        session.check_replay();
    }
}

/// Returns the tokens of results of `words` words each in the first request that has them, and the available
/// tokens.
fn results_at_once(version: u32, results: usize, words: usize) -> (u64, u64, Session) {
    let mut session = Session::with(|config| {
        config.model.context_window = 16_384;
        config.model.max_output_tokens = 4_096;
        config.rules_version = version;
        config.condensing = Some(Box::default());
    });
    session.say("read them");
    let ids: Vec<String> = (0..results).map(|n| format!("c{n}")).collect();
    let calls: Vec<(&str, &str, serde_json::Value)> =
        ids.iter().map(|id| (id.as_str(), "look", json!({}))).collect();
    session.calls(&calls);
    for id in &ids {
        session.result(id, &"word ".repeat(words));
    }
    let asked = agentx_agent::estimate_request(&session.request());
    session.check_replay();
    (asked, 16_384 - 4_096, session)
}

/// A server that cuts silently would lose the beginning of the request; another one refuses it, and is called
/// twice.
#[test]
fn results_that_do_not_fit_together_are_shortened_before_they_are_sent() {
    for (results, words) in [(1, 16_000), (3, 5_000), (8, 4_000)] {
        let (asked, room, session) = results_at_once(RULES_VERSION, results, words);
        assert!(
            asked <= room && asked > room / 3,
            "{results} of {words}: {asked} of {room}"
        );
        let sent = session.sent();
        assert!(sent[0].contains("read them"), "what a person said stays whole");
        let cut = sent
            .iter()
            .filter(|line| line.contains("characters left out"))
            .count();
        assert_eq!(cut, results, "the model reads that something is missing");
        let (asked, room, _) = results_at_once(4, results, words);
        assert!(asked > room, "older logs replay as they were");
    }
}

#[test]
fn short_results_beside_a_long_one_and_all_that_fit_stay_whole() {
    let (_, _, session) = results_at_once(RULES_VERSION, 3, 2_000);
    assert!(!session.sent().iter().any(|line| line.contains("left out")));
    let mut session = Session::with(|config| {
        config.model.context_window = 16_384;
        config.rules_version = RULES_VERSION;
    });
    session.say("read them");
    session.calls(&[("c1", "look", json!({})), ("c2", "look", json!({}))]);
    session.result("c1", "short and made up");
    session.result("c2", &"word ".repeat(16_000));
    let sent = session.sent();
    assert!(
        sent.iter().any(|line| line.ends_with("= short and made up")),
        "{sent:?}"
    );
    assert!(sent.iter().any(|line| line.contains("left out")));
}

#[test]
fn an_answer_that_does_not_fit_beside_the_conversation_is_asked_for_shorter() {
    let window = 8_192;
    for (version, ends) in [(RULES_VERSION, RunStatus::Completed), (6, RunStatus::Failed)] {
        let mut session = Session::with(|config| {
            config.model.api = Api::OpenaiChat;
            config.model.context_window = window;
            config.model.max_output_tokens = 4_096;
            config.params.max_output_tokens = Some(4_000);
            config.rules_version = version;
        });
        // It is always sent, and leaves no room for the longest answer.
        session.say(&"word ".repeat(3_600));
        for _ in 0..6 {
            let Some(_) = session.asked() else { break };
            let asked = 4_600 + session.request().params.max_output_tokens.unwrap_or_default();
            if asked <= window {
                session.answer("done");
                break;
            }
            let failed = AttemptFailed {
                attempt: 1,
                code: "context_window".into(),
                message: "made up: input and longest answer are too long together".into(),
                status: Some(400),
                retry_in_ms: None,
                gives_up_in_ms: None,
                overflow: Some(Box::new(Overflow {
                    window: Some(window),
                    asked: Some(4_600),
                })),
                refused: None,
                longest_answer: None,
                most_media: None,
                no_thinking: false,
                refused_place: None,
            };
            session.model(vec![failed.into(), error_event("context_window", "too long")]);
        }
        let status = session.ends_of_runs().last().map(|(status, _)| *status);
        assert_eq!(status, Some(ends), "rules {version}");
        session.check_replay();
    }
}

/// OpenAI's Responses API names no numbers: "Your input exceeds the context window of this model. Please
/// adjust your input and try again."
#[test]
fn a_refusal_without_numbers_is_followed_by_shorter_requests_until_one_fits() {
    for rounds in [4, 8, 20, 80] {
        for words in [400, 1_500, 4_000] {
            for percent in [40, 60, 80] {
                let refused = shorter_until(RULES_VERSION, rounds, words, percent);
                assert!(
                    refused.is_some_and(|refused| refused <= 8),
                    "{rounds} rounds of {words} words, {percent} % fit: {refused:?}"
                );
            }
        }
    }
    // Older sessions ended the run after the second refusal.
    assert_eq!(shorter_until(since::GUESSES_CONTINUE - 1, 4, 4_000, 40), None);
}

/// Returns the number of refused requests until one fits that is at most `percent` of the first; `None` if
/// the run ends before.
fn shorter_until(version: u32, rounds: u32, words: usize, percent: u64) -> Option<u32> {
    let mut session = Session::with_rules(version, |config| config.model.context_window = 24_000);
    session.copies = false;
    session.say("look around");
    for round in 0..rounds {
        let id = format!("c{round}");
        session.calls(&[(&id, "look", json!({}))]);
        session.result(&id, &"word ".repeat(words));
    }
    let server = Server {
        says: false,
        bytes: 4,
        window: 0,
    };
    let fits = server.count(&session.request()) * percent / 100;
    let mut refused = 0;
    while session.asked().is_some() {
        let request = session.request();
        if server.count(&request) <= fits {
            return Some(refused);
        }
        refused += 1;
        session.model(server.refusal(&request));
    }
    None
}

/// Condensing cannot help if the message itself is larger than the window.
#[test]
fn a_message_that_does_not_fit_by_itself_is_named_as_the_reason() {
    let end = |version: u32, words: usize| {
        let mut session = Session::with(|config| {
            config.model.context_window = 8_192;
            config.model.max_output_tokens = 1_024;
            config.rules_version = version;
        });
        session.say(&"made up ".repeat(words));
        for _ in 0..20 {
            if session.asked().is_none() {
                break;
            }
            session.model(too_long(8_192, 17_000));
        }
        let ends = session.ends_of_runs();
        session.check_replay();
        let (status, reason) = ends.last().cloned().unwrap();
        assert_eq!(status, RunStatus::Failed);
        reason.unwrap_or_default()
    };
    let reason = end(RULES_VERSION, 8_000);
    assert!(reason.ends_with(INPUT_TOO_LARGE), "{reason}");
    assert!(reason.starts_with("too long"), "{reason}");
    // Not of a short message, and not by the rules of earlier sessions.
    assert!(!end(RULES_VERSION, 2).contains(INPUT_TOO_LARGE));
    assert!(!end(since::LARGE_INPUTS_ARE_NAMED - 1, 8_000).contains(INPUT_TOO_LARGE));
}
