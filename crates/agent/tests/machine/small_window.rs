//! A server with a small window that includes the requested answer, as at vLLM: no run fails for it, whatever
//! maximum length of an answer a person has set.

use agentx_types::*;
use serde_json::json;

use crate::harness::*;
use crate::overflow::too_long;

/// A made-up server. It counts a fifth more than the estimate does.
#[derive(Clone, Copy, Debug)]
struct Server {
    window: u64,
    /// vLLM counts only to the first token that does not fit: "at least 4193 input tokens".
    says_at_least: bool,
}

impl Server {
    fn count(request: &ModelRequest) -> u64 {
        agentx_agent::estimate_request(request) * 6 / 5
    }

    /// Returns the maximum length of the answer in the request.
    fn answer(request: &ModelRequest) -> u64 {
        let model = &request.model;
        let most = model.max_output_tokens.min(model.context_window / 2);
        request
            .params
            .max_output_tokens
            .map_or(0, |wished| wished.min(most))
    }

    /// Runs one input with three tool rounds; returns the number of refusals.
    fn run(self, session: &mut Session, n: usize) -> u32 {
        session.say(&format!("task {n}"));
        let (mut rounds, mut refused) = (0, 0);
        for _ in 0..60 {
            if session.condense().is_some() {
                session.summary("In short.");
                continue;
            }
            if session.asked().is_none() {
                return refused;
            }
            let request = session.request();
            let (read, answer) = (Self::count(&request), Self::answer(&request));
            if read + answer > self.window {
                refused += 1;
                let at_least = self.window.saturating_sub(answer) + 1;
                let says = if self.says_at_least { at_least } else { read };
                session.model(too_long(self.window, says));
            } else if rounds < 3 {
                rounds += 1;
                let id = format!("c{n}_{rounds}");
                let said = [call(&id, "look", json!({})), usage(read, 20)];
                session.model(stream(said, StopReason::ToolUse));
                session.result(&id, &"made up\n".repeat(300));
            } else {
                session.model(stream([words("done"), usage(read, 20)], StopReason::EndTurn));
            }
        }
        panic!("{self:?}: it never comes to an end");
    }
}

/// A session whose instructions and tools take about 2,800 tokens, with a model whose window is known or
/// assumed to be 128,000.
fn session(assumed: u64, longest_answer: u64) -> Session {
    session_of(RULES_VERSION, assumed, longest_answer)
}

fn session_of(version: u32, assumed: u64, longest_answer: u64) -> Session {
    let mut session = Session::with(|config| {
        config.model.context_window = assumed;
        config.model.max_output_tokens = 8_192;
        config.params.max_output_tokens = Some(longest_answer);
        config.system_prompt = "made up words ".repeat(800).into();
        config.rules_version = version;
        config.condensing = Some(Box::default());
    });
    session.copies = false;
    session
}

#[test]
fn no_session_is_dead_whatever_answer_is_asked_for_in_a_small_window() {
    for (window, longest_answer) in [
        (8_192, 2_000),
        (8_192, 4_000),
        (8_192, 5_000),
        (8_192, 16_000),
        (16_384, 8_000),
        (6_000, 4_000),
    ] {
        for (assumed, says_at_least) in [(window, false), (window, true), (128_000, false), (128_000, true)] {
            let server = Server {
                window,
                says_at_least,
            };
            let mut session = session(assumed, longest_answer);
            let refused: Vec<u32> = (0..6).map(|n| server.run(&mut session, n)).collect();
            let what = format!("{server:?}, assumed {assumed}, longest answer {longest_answer}: {refused:?}");
            let ends = session.ends_of_runs();
            let completed = ends.iter().filter(|(status, _)| *status == RunStatus::Completed);
            assert_eq!(completed.count(), 6, "{what} {ends:?}");
            let most = if window < 8_192 { 4 } else { 1 };
            assert!(refused.iter().sum::<u32>() <= most, "{what}");
            session.check_replay();
        }
    }
}

#[test]
fn a_known_window_is_never_asked_for_more_than_it_holds() {
    for (version, refusals) in [(RULES_VERSION, 0), (7, 1)] {
        let server = Server {
            window: 8_192,
            says_at_least: false,
        };
        let mut session = session_of(version, 8_192, 4_000);
        let refused: u32 = (0..6).map(|n| server.run(&mut session, n)).sum();
        assert_eq!(refused, refusals, "rules {version}");
        session.check_replay();
    }
}

#[test]
fn most_of_the_answer_is_asked_for_at_once_where_that_fits() {
    let mut session = session(8_192, 4_000);
    session.say("go");
    let read = agentx_agent::estimate_request(&session.request());
    assert_eq!(Server::answer(&session.request()), 4_000);
    // It counts more than the estimate.
    session.model(too_long(8_192, 4_457));
    let request = session.request();
    assert_eq!(
        agentx_agent::estimate_request(&request),
        read,
        "nothing is left out"
    );
    let answer = Server::answer(&request);
    assert!((3_000..=8_192 - 4_457).contains(&answer), "{answer}");
    session.answer("done");
    assert_eq!(session.ends_of_runs().last().unwrap().0, RunStatus::Completed);
    session.check_replay();
}

#[test]
fn a_server_that_refuses_whatever_is_asked_is_not_asked_for_ever() {
    let mut session = session(8_192, 4_000);
    session.say("go");
    let mut asked = 0;
    while session.asked().is_some() {
        asked += 1;
        session.model(too_long(8_192, 4_193));
        assert!(asked < 30);
    }
    assert_eq!(session.ends_of_runs().last().unwrap().0, RunStatus::Failed);
    session.check_replay();
}

/// Instructions and tools fill much of a window of 12,000: there is still room for some exchanges.
#[test]
fn a_small_window_is_not_condensed_every_few_exchanges() {
    let summaries = |version: u32| {
        let mut session = session_of(version, 12_000, 8_000);
        session.say("go");
        let mut summaries = 0;
        for n in 0..40 {
            while session.condense().is_some() {
                session.summary("In short.");
                summaries += 1;
            }
            let read = Server::count(&session.request());
            let id = format!("c{n}");
            session.model(stream(
                [call(&id, "look", json!({})), usage(read, 20)],
                StopReason::ToolUse,
            ));
            session.result(&id, &"made up\n".repeat(200));
        }
        session.check_replay();
        summaries
    };
    let (newest, before) = (summaries(RULES_VERSION), summaries(8));
    assert!(
        newest <= 8 && before >= 2 * newest,
        "{newest} summaries in 40 rounds, {before} before"
    );
}
