//! The routing of inputs.

use agentx_types::*;

use crate::family::*;

fn completed(text: &str) -> (RunStatus, String) {
    (RunStatus::Completed, text.to_owned())
}

#[test]
fn what_a_pattern_says_needs_no_model() {
    let mut family = Family::usual();
    family.say("Play Let It Go!");
    assert_eq!(family.asks(ActionKind::CallModel), ["music"]);
    let sent = "music: Play Let It Go! [The message was matched to play: {\"title\":\"Let It Go\"}.]";
    assert_eq!(family.inputs(), [sent]);
    family.answer("music", "here it is");
    assert_eq!(family.ends(), [completed("here it is")]);
    family.check_replay();
}

#[test]
fn what_no_pattern_says_is_asked_of_a_model_and_shown_as_thought() {
    let mut family = Family::usual();
    family.say("the loud one");
    let ActionBody::CallModel(call) = family.call_of("router").body else {
        panic!("a model call")
    };
    assert_eq!(call.request.messages.len(), 1);
    assert_eq!(call.request.system.len(), 2);
    assert!(call.request.system[1].contains("# play") && call.request.tools.is_empty());
    family.answer("router", "- play: title=Loud, tempo=fast\nSure!");
    assert_eq!(
        family.inputs(),
        ["music: the loud one [The message was matched to play: {\"title\":\"Loud\"}.]"]
    );
    let thought = |part: &ContentPart| match part {
        ContentPart::Thinking(part) => part.text.clone(),
        other => panic!("no thought: {other:?}"),
    };
    let said: Vec<String> = family.router_said().iter().map(thought).collect();
    assert_eq!(said.len(), 2);
    assert!(
        said[1].contains("no variable \"tempo\"") && said[1].contains("\"Sure!\""),
        "{said:?}"
    );
    family.answer("music", "la");
    assert_eq!(family.ends(), [completed("la")]);
    family.check_replay();
}

#[test]
fn several_things_are_done_in_order() {
    let mut family = Family::usual();
    family.say("rain music, loud");
    family.answer(
        "router",
        "weather\nplay: title=rain\nplay: title=rain\nvolume: pct=90",
    );
    assert_eq!(family.asks(ActionKind::CallModel), ["sky"]);
    family.answer("sky", "it rains");
    assert_eq!(family.asks(ActionKind::CallModel), ["music"]);
    family.answer("music", "drip");
    family.answer("music", "DROP");
    let rest = " Others see to the rest of the message.]";
    assert_eq!(
        family.inputs(),
        [
            format!("sky: rain music, loud [The message was matched to weather: {{}}.{rest}"),
            format!(
                "music: rain music, loud [The message was matched to play: {{\"title\":\"rain\"}}.{rest}"
            ),
            format!("music: rain music, loud [The message was matched to volume: {{\"pct\":90}}.{rest}"),
        ]
    );
    assert_eq!(family.ends(), [completed("it rains\n\ndrip\n\nDROP")]);
    // One agent for each route, as long as the router exists.
    assert_eq!(family.tree.agents.len(), 3);
    family.check_replay();
}

#[test]
fn what_nothing_fits_goes_to_whom_the_person_speaks_with_or_to_the_default() {
    let mut family = Family::usual();
    family.say("hello");
    family.answer("router", "-");
    family.answer("chat", "hi");
    family.say("chess");
    assert_eq!(family.asks(ActionKind::CallModel), ["chat"]);
    family.answer("chat", "I cannot");
    family.say("play");
    family.answer("music", "la");
    family.say("again");
    family.answer("router", "no rule fits");
    family.answer("music", "lala");
    let inputs = [
        "chat: hello",
        "chat: chess",
        "music: play [The message was matched to play: {}.]",
        "music: again",
    ];
    assert_eq!(family.inputs(), inputs);
    assert_eq!(family.ends().len(), 4);
    family.check_replay();
}

#[test]
fn a_person_for_whom_nobody_is_there_is_told() {
    for config in [
        router(routing(None)),
        AgentConfig {
            routing: None,
            ..router(routing(None))
        },
    ] {
        let mut family = Family::new(config);
        family.say("chess");
        let [(status, text)] = family.ends().try_into().unwrap();
        assert_eq!(status, RunStatus::Completed);
        assert!(text.contains("No rule fits"), "{text}");
        assert!(matches!(family.router_said().as_slice(), [ContentPart::Text(_)]));
        assert!(family.open.is_empty());
        family.check_replay();
    }
}

#[test]
fn an_intent_without_a_route_is_for_the_default_beside_others() {
    let mut family = Family::usual();
    family.say("chess and weather");
    family.answer("router", "chess\nweather");
    family.answer("chat", "no");
    family.answer("sky", "sun");
    assert_eq!(family.ends(), [completed("no\n\nsun")]);

    let mut family = Family::new(router(routing(None)));
    family.say("chess and weather");
    family.answer("router", "chess\nweather");
    family.answer("sky", "sun");
    assert_eq!(family.ends(), [completed("sun")]);
}

#[test]
fn more_of_the_same_is_forwarded() {
    let mut family = Family::usual();
    family.say("play");
    family.steer("play louder");
    family.steer("something else");
    family.answer("router", "-");
    assert_eq!(family.asks(ActionKind::CallModel), ["music"]);
    family.answer("music", "la");
    // Inputs that came meanwhile join before the next call of its model.
    family.answer("music", "LA");
    let inputs = [
        "music: play [The message was matched to play: {}.]",
        "music: play louder [The message was matched to play: {\"title\":\"louder\"}.]",
        "music: something else",
    ];
    assert_eq!(family.inputs(), inputs);
    assert_eq!(family.ends(), [completed("LA")]);
    family.check_replay();
}

#[test]
fn another_rule_switches() {
    let mut family = Family::usual();
    family.say("play");
    family.steer("weather");
    let call = family.call_of("music");
    assert!(family.cancelled.contains(&call.action_id));
    family.answers(
        &call,
        StreamEnd {
            stop_reason: StopReason::Interrupted,
            raw: None,
        }
        .into(),
    );
    assert_eq!(family.asks(ActionKind::CallModel), ["sky"]);
    family.answer("sky", "sun");
    assert_eq!(family.ends(), [completed("sun")]);
    family.check_replay();

    // Also another rule of the same agent.
    let mut family = Family::usual();
    family.say("play");
    family.steer("volume 5");
    family.answer_as("music", "l", StopReason::Interrupted);
    family.answer("music", "quiet");
    assert_eq!(family.ends(), [completed("l\n\nquiet")]);
}

#[test]
fn while_it_switches_more_can_be_said() {
    let mut family = Family::usual();
    family.say("play");
    family.steer("weather");
    family.steer("of tomorrow");
    family.answer("router", "-");
    family.answer_as("music", "", StopReason::Interrupted);
    family.answer("sky", "sun");
    family.answer("sky", "rain");
    assert_eq!(
        family.inputs()[1..],
        [
            "sky: weather [The message was matched to weather: {}.]",
            "sky: of tomorrow"
        ]
    );
    assert_eq!(family.ends(), [completed("sun\n\nrain")]);
    family.check_replay();
}

#[test]
fn inputs_wait_for_their_turn() {
    let mut family = Family::usual();
    family.say("play");
    family.say("weather");
    assert_eq!(family.asks(ActionKind::CallModel), ["music"]);
    family.answer("music", "la");
    family.answer("sky", "sun");
    assert_eq!(family.ends(), [completed("la"), completed("sun")]);
}

#[test]
fn many_inputs_that_end_at_once_are_no_burden() {
    let mut family = Family::new(router(routing(None)));
    family.say("hm");
    for _ in 0..300 {
        family.say("chess");
    }
    family.answer("router", "-");
    assert!(family.open.is_empty());
    assert_eq!(family.ends().len(), 301);
}

#[test]
fn routers_nest() {
    let inner = router(routing(Some(agent("chat"))));
    let outer = Routing {
        rules: vec![IntentRule {
            name: "home".into(),
            patterns: vec![IntentPattern {
                input: "weather".into(),
                output: None,
            }],
            ..IntentRule::default()
        }],
        routes: vec![Route {
            rules: vec!["home".into()],
            agent: AgentConfig {
                name: "inner".into(),
                ..inner
            },
        }],
        default: None,
    };
    let mut family = Family::new(router(outer));
    family.say("weather");
    assert_eq!(family.asks(ActionKind::CallModel), ["sky"]);
    family.steer("and now?");
    family.answer("router", "-");
    family.answer("inner", "play");
    family.answer_as("sky", "", StopReason::Interrupted);
    family.answer("music", "la");
    assert_eq!(family.ends(), [completed("la")]);
    assert_eq!(family.root_agent().totals().usage.context_tokens(), 4 * 11);
    family.check_replay();
}

#[test]
fn all_parts_of_an_input_are_passed_on() {
    let mut family = Family::usual();
    let picture = ContentPart::Image(MediaPart {
        media_type: "image/png".into(),
        source: MediaSource::Url("https://a/b.png".into()),
        name: None,
    });
    let content = vec![
        ContentPart::text("play"),
        picture.clone(),
        ContentPart::text("this"),
    ];
    family.fact(
        Some(Family::root()),
        None,
        UserMessage {
            message_id: "msg_x".into(),
            content,
            mode: InputMode::Queue,
            idempotency_key: None,
            by: None,
            answer_schema: None,
        },
    );
    // A picture needs a model.
    family.answer("router", "play");
    let ActionBody::CallModel(call) = family.call_of("music").body else {
        panic!("a model call")
    };
    assert_eq!(call.request.messages[0].content.len(), 4);
    assert_eq!(call.request.messages[0].content[1], picture);
}
