//! A server that drops the beginning of requests and refuses nothing, as Ollama does: its counts show it. The
//! servers are made up.

use agentx_types::*;
use serde_json::json;

use crate::harness::*;

/// The number of sent tokens that a server reads.
type Reads = fn(u64) -> u64;

const WINDOW: u64 = 4_096;

/// The last tokens that fit.
fn the_last(sent: u64) -> u64 {
    sent.min(WINDOW)
}

/// <https://github.com/ollama/ollama/issues/17427>
fn half(sent: u64) -> u64 {
    if sent > WINDOW { WINDOW / 2 + 2 } else { sent }
}

/// Drops whole messages, so that the rest differs from request to request.
fn whole_messages(sent: u64) -> u64 {
    if sent > WINDOW {
        WINDOW - sent % 1_500
    } else {
        sent
    }
}

fn sent(request: &ModelRequest) -> u64 {
    let text: usize = request
        .messages
        .iter()
        .map(|message| serde_json::to_string(&message.content).unwrap().len())
        .sum();
    u64::try_from(text / 4).unwrap()
}

fn local(config: &mut AgentConfig) {
    config.model.api = Api::OpenaiChat;
    config.model.context_window = 32_768;
    config.model.max_output_tokens = 8_192;
    config.condensing = Some(Box::default());
    config.model.prices = Prices::default();
    config.rules_version = RULES_VERSION;
}

/// Runs this number of tool rounds; returns the number of cut requests.
fn work(session: &mut Session, rounds: usize, reads: Reads) -> usize {
    let (mut round, mut cut) = (0, 0);
    session.say("go");
    while round < rounds {
        if session.condense().is_some() {
            session.summary("In short.");
            continue;
        }
        let size = sent(&session.request());
        cut += usize::from(reads(size) < size);
        let id = format!("c{}_{round}", session.log.len());
        let counted = usage(reads(size), 20);
        session.model(stream(
            [call(&id, "look", json!({})), counted],
            StopReason::ToolUse,
        ));
        session.result(&id, &"made up ".repeat(200));
        round += 1;
    }
    cut
}

fn cuts(session: &Session) -> Vec<(u64, u64)> {
    let cut = |state: &StateOutput| match state {
        StateOutput::Context {
            change: ContextChange::Cut { window, assumed },
        } => Some((*window, *assumed)),
        _ => None,
    };
    session.states().filter_map(cut).collect()
}

#[test]
fn a_server_that_cuts_is_noticed_once_and_the_conversation_is_condensed_instead() {
    let servers: [(&str, Reads); 3] = [
        ("the last", the_last),
        ("half", half),
        ("whole messages", whole_messages),
    ];
    for (name, reads) in servers {
        let mut session = Session::with(local);
        let cut = work(&mut session, 60, reads);
        let noticed = cuts(&session);
        let window = session.react().config().model.context_window;
        assert_eq!(noticed, [(window, 32_768)], "{name}");
        assert!((WINDOW / 2..=WINDOW).contains(&window), "{name}: {window}");
        assert!(cut <= 6, "{name}: {cut} requests were cut");
        let condensed = |event: &&Envelope<Event>| event.event.tag() == "context_condensed";
        assert!(session.log.iter().filter(condensed).count() > 1, "{name}");
        session.check_replay();
    }
}

#[test]
fn a_server_that_cuts_is_noticed_by_programs_that_ask_it_once_each() {
    let mut session = Session::with(local);
    for start in 0..20 {
        // Each start records again who decides about calls.
        let approval = [ApprovalMode::Ask, ApprovalMode::Deny][start % 2];
        session.happens(ConfigChanged {
            change: ConfigChange::Approval(approval),
            by: None,
        });
        work(&mut session, 1, the_last);
        while session.condense().is_some() {
            session.summary("In short.");
        }
        session.answer("done");
    }
    assert_eq!(cuts(&session), [(WINDOW, 32_768)]);
    session.check_replay();
}

#[test]
fn a_server_that_reads_everything_is_believed() {
    let honest: [(&str, Reads); 3] = [
        ("as estimated", |sent| sent),
        ("a third more", |sent| sent * 4 / 3),
        ("a third less", |sent| sent * 2 / 3),
    ];
    for (name, reads) in honest {
        let mut session = Session::with(local);
        work(&mut session, 40, reads);
        assert_eq!(cuts(&session), [], "{name}");
    }
}

#[test]
fn a_server_that_counts_only_what_it_had_not_cached_does_not_cut() {
    let mut session = Session::with(local);
    let cached: Reads = |sent| if sent < 2_000 { sent } else { 400 - sent % 7 };
    work(&mut session, 40, cached);
    assert_eq!(cuts(&session), []);
}

/// Counts only the part that is new since the last request, as Ollama did
/// (<https://github.com/ollama/ollama/issues/5370>): each round is as long as the one before, so the counts
/// are alike.
#[test]
fn a_server_that_counts_what_is_new_does_not_cut() {
    for (version, noticed) in [(RULES_VERSION, 0), (5, 1)] {
        let mut session = Session::with(|config| {
            local(config);
            config.rules_version = version;
        });
        let mut before = 0;
        session.say("go");
        for round in 0..12 {
            let size = sent(&session.request());
            let id = format!("c{round}");
            let counted = usage(
                size.checked_sub(before).filter(|new| *new > 0).unwrap_or(size),
                20,
            );
            before = size;
            session.model(stream(
                [call(&id, "look", json!({})), counted],
                StopReason::ToolUse,
            ));
            session.result(&id, &"made up ".repeat(1_000));
            while session.condense().is_some() {
                session.summary("In short.");
            }
        }
        assert_eq!(cuts(&session).len(), noticed, "{version}");
    }
}

/// Sends steps of these sizes in bytes to a server; returns the number of its answers until a cut is noticed.
fn steps_until_noticed(version: u32, sizes: &[usize], count: &mut dyn FnMut(u64) -> u64) -> Option<usize> {
    let mut session = Session::with(|config| {
        local(config);
        config.model.context_window = 131_072;
        config.rules_version = version;
    });
    session.say(&"made up ".repeat(1_200));
    for (round, size) in sizes.iter().enumerate() {
        let counted = usage(count(sent(&session.request())), 20);
        let id = format!("c{round}");
        session.model(stream(
            [call(&id, "look", json!({})), counted],
            StopReason::ToolUse,
        ));
        if !cuts(&session).is_empty() {
            session.check_replay();
            return Some(round);
        }
        session.result(&id, &"made up ".repeat(size / 8));
    }
    None
}

/// With steps of half a window and more, the count of a cut request might be that of the new tokens alone.
#[test]
fn a_server_that_cuts_is_noticed_by_three_equal_counts_if_each_step_is_large() {
    let uneven = [9_000, 30_000, 12_000, 20_000, 9_000, 40_000, 15_000];
    for (window, sizes) in [
        (4_096, &[9_000; 10][..]),
        (8_192, &[16_000; 10]),
        (4_096, &[40_000; 8]),
        (4_096, &uneven),
    ] {
        let mut cuts = |sent: u64| sent.min(window);
        let noticed = steps_until_noticed(RULES_VERSION, sizes, &mut cuts);
        assert!(noticed.is_some_and(|round| round <= 6), "{window}: {noticed:?}");
    }
    let mut cuts = |sent: u64| sent.min(4_096);
    let is = "sessions of before are decided about as they were";
    let older = since::EQUAL_COUNTS_ARE_SIGNS - 1;
    assert_eq!(steps_until_noticed(older, &[9_000; 10], &mut cuts), None, "{is}");
}

#[test]
fn a_server_that_counts_what_is_new_does_not_cut_whatever_the_sizes_of_the_steps_are() {
    for sizes in [
        &[9_000; 12][..],
        &[9_000, 30_000, 9_000, 9_000, 9_000, 30_000, 30_000],
    ] {
        for percent in [70, 100, 150] {
            let mut before = 0;
            let mut new = |sent: u64| {
                let new = sent.saturating_sub(before) * percent / 100;
                before = sent;
                new
            };
            assert_eq!(
                steps_until_noticed(RULES_VERSION, sizes, &mut new),
                None,
                "{percent}"
            );
        }
    }
}

/// Sends prompts of about 6,700 tokens with the built-in window of 32,768 to a server; returns the number of
/// its answers until a cut is noticed, and the number of summaries until then. `count` gets the tokens of a
/// request and whether its first messages were condensed since the last one.
fn prompts_until_noticed(version: u32, count: &mut dyn FnMut(u64, bool) -> u64) -> (Option<usize>, usize) {
    let mut session = Session::with(|config| {
        local(config);
        config.system_prompt = "made up ".repeat(1_500).into();
        config.rules_version = version;
    });
    let mut summaries = 0;
    for prompt in 1..=12 {
        session.say(&format!("{prompt} {}", "made up ".repeat(3_350)));
        let before = summaries;
        while session.condense().is_some() {
            session.summary(&format!("{prompt} {}", "in short ".repeat(50)));
            summaries += 1;
        }
        let counted = usage(count(sent(&session.request()), summaries > before), 20);
        session.model(stream([words("done"), counted], StopReason::EndTurn));
        if !cuts(&session).is_empty() {
            session.check_replay();
            return (Some(prompt), summaries);
        }
    }
    session.check_replay();
    (None, summaries)
}

/// With such prompts, a summary comes before three counts are alike.
#[test]
fn a_server_that_cuts_is_noticed_over_summaries() {
    let mut cuts = |sent: u64, _: bool| sent.min(WINDOW);
    let (noticed, summaries) = prompts_until_noticed(RULES_VERSION, &mut cuts);
    assert!(noticed.is_some_and(|prompt| prompt <= 6), "{noticed:?}");
    assert!(summaries > 0);
    let older = since::COUNTS_OUTLIVE_CONDENSING - 1;
    let (noticed, _) = prompts_until_noticed(older, &mut cuts);
    assert_eq!(noticed, None, "sessions of before are decided about as they were");
}

#[test]
fn a_server_that_reads_everything_or_counts_what_is_new_does_not_cut_over_summaries() {
    for percent in [70, 100, 150] {
        let mut all = |sent: u64, _: bool| (sent + 3_000) * percent / 100;
        let (noticed, summaries) = prompts_until_noticed(RULES_VERSION, &mut all);
        assert_eq!(noticed, None, "{percent}");
        assert!(summaries > 0, "{percent}");
        let mut before = 0;
        let mut new = |sent: u64, condensed: bool| {
            let size = sent + 3_000;
            let known = if condensed { 3_000 } else { before };
            before = size;
            size.saturating_sub(known) * percent / 100
        };
        let (noticed, _) = prompts_until_noticed(RULES_VERSION, &mut new);
        assert_eq!(noticed, None, "{percent}");
    }
}

#[test]
fn a_model_that_costs_something_cuts_nothing() {
    let mut session = Session::with(|config| {
        local(config);
        config.model.prices.input = 1;
    });
    work(&mut session, 40, the_last);
    assert_eq!(cuts(&session), []);
}

#[test]
fn old_sessions_and_vendors_that_refuse_are_as_they_were() {
    let old = |config: &mut AgentConfig| {
        local(config);
        config.rules_version = 3;
    };
    let vendor = |config: &mut AgentConfig| {
        local(config);
        config.model.api = Api::Anthropic;
    };
    for mut session in [Session::with(old), Session::with(vendor)] {
        work(&mut session, 40, the_last);
        assert_eq!(cuts(&session), []);
        assert_eq!(session.react().config().model.context_window, 32_768);
    }
}

#[test]
fn a_chosen_model_begins_without_what_was_noticed_of_the_other() {
    let mut session = Session::with(local);
    work(&mut session, 20, the_last);
    let noticed = session.react().config().model.clone();
    assert_eq!(noticed.context_window, WINDOW);
    let other = ModelSpec {
        id: "other".into(),
        context_window: 32_768,
        ..noticed
    };
    session.change(ConfigChange::Model(Box::new(other)));
    assert_eq!(session.react().config().model.context_window, 32_768);
    session.check_replay();
}
