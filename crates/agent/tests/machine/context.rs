//! The context of the model: the same beginning each time, whole exchanges, always the question.

use std::sync::Arc;

use agentx_types::*;
use serde_json::json;

use crate::harness::*;

fn small_window(config: &mut AgentConfig) {
    config.model.context_window = 3_000;
    config.model.max_output_tokens = 500;
}

/// Requests of a long session: rounds with two calls each, and now and then another run.
fn requests(rounds: usize, change: impl FnOnce(&mut AgentConfig)) -> Vec<Arc<ModelRequest>> {
    let mut session = Session::started(change);
    session.copies = false;
    let mut requests = vec![sent(&session)];
    for round in 0..rounds {
        let ids = [format!("a{round}"), format!("b{round}")];
        let call = |id| call(id, "look", json!({"path": "x"}));
        session.model(stream(
            [words("looking"), call(&ids[0]), call(&ids[1])],
            StopReason::ToolUse,
        ));
        session.result(&ids[1], &"word ".repeat(20 + round % 7 * 20));
        session.result(&ids[0], "short");
        requests.push(sent(&session));
        if round % 30 == 29 {
            session.answer("so it is");
            session.say(&format!("next {round}"));
            requests.push(sent(&session));
        }
    }
    requests
}

/// The open request, which equals the one that is shown to people.
fn sent(session: &Session) -> Arc<ModelRequest> {
    let request = session.request();
    assert_eq!(session.react().current_request(), *request);
    request
}

fn lines(request: &ModelRequest) -> Vec<String> {
    request.messages.iter().map(|message| line(message)).collect()
}

#[test]
fn each_request_begins_with_the_one_before_unless_the_window_moved() {
    let requests = requests(80, small_window);
    let moved = requests
        .windows(2)
        .filter(|pair| !lines(&pair[1]).starts_with(&lines(&pair[0])))
        .count();
    assert!(
        (2..=20).contains(&moved),
        "the window moved {moved} times in {} requests",
        requests.len()
    );
    for pair in requests.windows(2) {
        assert_eq!(
            (&pair[0].system, &pair[0].tools),
            (&pair[1].system, &pair[1].tools)
        );
    }
}

#[test]
fn the_question_stays_when_the_window_moves_past_it() {
    let requests = requests(80, small_window);
    let mut pinned = 0;
    for (index, request) in requests.iter().enumerate() {
        let question = match index / 31 {
            0 => "user: go".to_owned(),
            run => format!("user: next {}", run * 30 - 1),
        };
        let lines = lines(request);
        assert!(lines.contains(&question), "{question} is not in {lines:?}");
        pinned += usize::from(lines[0].contains("left out") && lines[1].starts_with("user: "));
    }
    assert!(pinned > 0);
}

#[test]
fn a_window_that_is_too_small_for_anything_still_sends_something_valid() {
    for window in [0, 1, 200] {
        for request in requests(8, |config| config.model.context_window = window) {
            assert!(request.messages.len() >= 2 || lines(&request) == ["user: go"]);
        }
    }
}

#[test]
fn instructions_are_sent_in_each_request() {
    let mut session = Session::started(|config| {
        config.instructions = vec![Instructions {
            path: "/ws/AGENTS.md".into(),
            text: "be brief".into(),
        }];
    });
    let before = session.request().system.clone();
    session.looks("c1");
    session.result("c1", "ok");
    assert_eq!(session.request().system, before);
    assert!(before[1].contains("/ws/AGENTS.md") && before[1].contains("be brief"));
    session.change(ConfigChange::Instructions(Vec::new()));
    session.answer("done");
    session.say("again");
    assert_eq!(session.request().system.len(), 1);
}

#[test]
fn facts_about_the_environment_are_told_as_they_are_and_not_to_the_demo() {
    let told = |api: Api, version: u32| {
        let session = Session::started(|config| {
            config.instructions = vec![Instructions::environment_context("- Date: 2026-11-26")];
            config.model.api = api;
            config.rules_version = version;
        });
        session.request().system[1..].to_vec()
    };
    let version = since::ENVIRONMENT_IS_TOLD;
    assert_eq!(told(Api::Anthropic, version), [Arc::from("- Date: 2026-11-26")]);
    assert_eq!(told(Api::Scripted, version), []);
    let before = told(Api::Scripted, version - 1);
    assert!(
        before[0].starts_with("Instructions of the workspace, from :"),
        "{before:?}"
    );
}

#[test]
fn changes_hold_from_the_next_request_on() {
    let mut session = Session::started(|_| {});
    let params = ModelParams {
        temperature: Some(0.1),
        ..ModelParams::default()
    };
    let mut model = session.react().config().model.clone();
    model.id = "other".into();
    session.change(ConfigChange::Params(params.clone()));
    session.change(ConfigChange::Model(Box::new(model)));
    session.change(ConfigChange::Rules(Vec::new()));
    session.looks("c1");
    session.result("c1", "ok");
    let request = session.request();
    assert_eq!(
        (request.params.clone(), request.model.id.as_str()),
        (params, "other")
    );
    session.check_replay();
}

#[test]
fn rules_that_change_hold_for_the_next_call() {
    let deny = Rule {
        workspace: None,
        effect: RuleEffect::Deny,
        tool: "look".into(),
        argument: None,
        path: None,
        origin: None,
    };
    let mut session = Session::started(|_| {});
    session.change(ConfigChange::RuleAdded(deny));
    session.looks("c1");
    assert!(session.sent()[2].contains("Not allowed"));
    session.change(ConfigChange::Rules(Vec::new()));
    session.change(ConfigChange::Approval(ApprovalMode::Ask));
    session.calls(&[("c2", "look", json!({})), ("c3", "change", json!({}))]);
    assert_eq!(session.running_ids(), ["c2"]);
}

#[test]
fn a_provider_that_counts_more_than_the_estimate_gets_less() {
    let sizes = |counted: u64| {
        let mut session = Session::started(|config| config.model.context_window = 40_000);
        session.copies = false;
        for round in 0..30 {
            let id = format!("c{round}");
            let events = [usage(counted * (round + 1), 0), call(&id, "look", json!({}))];
            session.model(stream(events, StopReason::ToolUse));
            session.result(&id, &"word ".repeat(500));
        }
        session.request().messages.len()
    };
    assert!(sizes(1_400) < sizes(0), "{} < {}", sizes(1_400), sizes(0));
}

#[test]
fn after_an_overflow_less_is_sent() {
    for by_error in [false, true] {
        let mut session = Session::started(|config| config.model.context_window = 24_000);
        session.copies = false;
        for round in 0..30 {
            let id = format!("c{round}");
            session.calls(&[(&id, "look", json!({}))]);
            session.result(&id, &"word ".repeat(400));
        }
        let before = session.request().messages.len();
        if by_error {
            session.model(vec![error_event("context_window", "prompt is too long")]);
        } else {
            session.model(stream([], StopReason::ContextWindow));
        }
        session.say("again");
        assert!(session.request().messages.len() < before - 10, "{before}");
    }
}

fn condense(session: &mut Session, from_seq: u64, to_seq: u64) {
    session.happens(ContextCondensed {
        from_seq,
        to_seq,
        summary: "in short".into(),
        kept: Vec::new(),
        bill: None,
        masked: Vec::new(),
    });
}

#[test]
fn a_summary_stands_for_the_range() {
    let mut session = Session::started(|_| {});
    session.looks("c1");
    session.result("c1", "ok");
    session.answer("done");
    let end = session.log.len() as u64;
    session.say("second");
    condense(&mut session, 1, end);
    let short = |end: u64, messages: u32| {
        format!(
            "user: [Events 1 to {end} of this session are condensed: this summary stands for {messages} messages. `recall` finds what was said there, word for word.]\n\nin short"
        )
    };
    assert_eq!(session.conversation(), [&*short(end, 4), "user: second"]);
    session.looks("c2");
    session.result("c2", "ok");
    assert_eq!(session.sent()[..2], [&*short(end, 4), "user: second"]);
    condense(&mut session, 1, 1_000_000);
    assert_eq!(session.conversation(), [short(1_000_000, 7)]);
    session.check_replay();
}

#[test]
fn what_fills_the_window_is_told_apart_and_is_what_is_sent() {
    let mut session = Session::started(|config| {
        config.instructions = vec![Instructions {
            path: "AGENTS.md".into(),
            text: "be brief".into(),
        }];
    });
    session.looks("c1");
    session.result("c1", "a result");
    session.answer("done");
    let end = session.log.len() as u64;
    session.say("second");
    let of = |session: &Session, kind: WindowKind| {
        let fill = session.react().window_fill(session.log.len() as u64);
        let share = fill.shares.iter().find(|share| share.kind == kind);
        share.map_or((0, 0), |share| (share.count, share.bytes))
    };
    assert_eq!(of(&session, WindowKind::SystemPrompt).0, 1);
    assert_eq!(of(&session, WindowKind::Instructions).0, 1);
    assert_eq!(of(&session, WindowKind::ToolCalls).0, 1);
    assert_eq!(
        of(&session, WindowKind::ToolResults),
        (1, "a result".len() as u64)
    );
    assert_eq!(of(&session, WindowKind::Summaries), (0, 0));
    let given = session.react().current_request();
    assert_eq!(of(&session, WindowKind::Tools).0, given.tools.len() as u64);
    let texts = |session: &Session, role| {
        let given = session.react().current_request();
        let said = given.messages.iter().filter(|message| message.role == role);
        let parts = said.flat_map(|message| &message.content);
        parts
            .filter_map(ContentPart::as_text)
            .map(str::len)
            .sum::<usize>() as u64
    };
    assert_eq!(of(&session, WindowKind::Inputs), (2, texts(&session, Role::User)));
    assert_eq!(
        of(&session, WindowKind::Answers).1,
        texts(&session, Role::Assistant)
    );
    condense(&mut session, 1, end);
    assert_eq!(of(&session, WindowKind::Summaries).0, 1);
    assert_eq!(of(&session, WindowKind::Inputs), (1, "second".len() as u64));
    assert_eq!(of(&session, WindowKind::ToolResults), (0, 0));
    let fill = session.react().window_fill(9);
    assert_eq!(
        (fill.seq, fill.window),
        (9, session.react().config().model.context_window)
    );
    assert!(
        fill.in_use > 0 && fill.answer > 0 && fill.in_use < fill.window,
        "{fill:?}"
    );
}

#[test]
fn a_range_that_covers_nothing_whole_changes_nothing() {
    let mut session = Session::started(|_| {});
    session.looks("c1");
    let before = session.conversation();
    condense(&mut session, 2, 1_000);
    condense(&mut session, 9, 3);
    condense(&mut session, 0, 0);
    assert_eq!(session.conversation(), before, "the exchange is open");
    session.result("c1", "ok");
    assert_eq!(session.sent().len(), 3);
}

#[test]
fn what_joined_late_is_condensed_with_its_neighbours() {
    let mut session = Session::started(|_| {});
    session.say("queued");
    session.say_as("steered", InputMode::Steer);
    session.looks("c1");
    session.result("c1", "ok");
    let mark = session.log.len() as u64;
    session.answer("first");
    condense(&mut session, 1, mark);
    let conversation = session.conversation();
    assert!(conversation[0].ends_with("in short"), "{conversation:?}");
    assert_eq!(conversation[1..], ["assistant: first", "user: queued"]);
}

#[test]
fn a_summary_of_what_the_window_left_behind_is_sent() {
    let mut session = Session::started(small_window);
    let mut end = 0;
    for round in 0..40 {
        let id = format!("c{round}");
        session.calls(&[(&id, "look", json!({}))]);
        session.result(&id, &"word ".repeat(60));
        if !session.sent()[0].contains("left out") {
            end = session.log.len() as u64;
        }
    }
    assert!(session.sent()[0].contains("left out"));
    condense(&mut session, 1, end);
    session.looks("last");
    session.result("last", "ok");
    assert!(session.sent()[0].ends_with("in short"));
}
