//! Signed parts: Gemini's signatures are sent again until they are refused, and thinking that broke off does
//! not follow later messages.

use agentx_types::*;
use serde_json::json;

use crate::harness::*;
use crate::repair::keeping;

fn signature(api: &str) -> Event {
    ProviderPart {
        api: api.into(),
        attach: true,
        data: json!({"thoughtSignature": "s"}),
    }
    .into()
}

/// An answer of Gemini's in which everything is signed.
fn signed(id: &str) -> Vec<Event> {
    let signature = || signature("gemini");
    let thought = ThinkingChunk { text: "hm".into() }.into();
    let look = call(id, "look", json!({"path": "a"}));
    stream(
        vec![
            thought,
            signature(),
            words("I look"),
            signature(),
            look,
            signature(),
        ],
        StopReason::ToolUse,
    )
}

impl Session {
    /// The number of parts that are sent with Gemini's attached data.
    fn signatures(&self) -> usize {
        let request = self.request();
        let parts = request.messages.iter().flat_map(|message| &message.content);
        let provider = |part: &ContentPart| match part {
            ContentPart::Text(part) => part.provider.clone(),
            ContentPart::Thinking(part) => part.provider.clone(),
            ContentPart::ToolCall(part) => part.provider.clone(),
            _ => None,
        };
        let own = parts.filter_map(provider);
        own.filter(|data| data.api == "gemini" && data.data["thoughtSignature"] == "s")
            .count()
    }
}

#[test]
fn a_signature_that_is_refused_is_left_out_and_later_ones_are_not() {
    let mut session = Session::started_with_rules(RULES_VERSION, |config| config.model.api = Api::Gemini);
    session.model(signed("c1"));
    session.result("c1", "seen");
    assert_eq!(session.signatures(), 3);
    session.refused(RequestPart::Thinking);
    assert_eq!(session.repairs(), [RequestPart::Thinking]);
    assert_eq!(session.signatures(), 0);
    assert!(session.sent().join("\n").contains("I look"), "the words stay");
    session.model(signed("c2"));
    session.result("c2", "seen");
    assert_eq!(session.signatures(), 3, "what is new is sent as it came");
    session.refused(RequestPart::ThoughtSignature);
    assert!(session.request().is_without(RequestPart::ThoughtSignature));
    session.answer("done");
    session.check_replay();
}

/// Events between an attempt that broke off and the next one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Between {
    Nothing,
    SteeringInput,
    ChangedTools,
}

/// The kept thinking of an attempt that broke off, after something has happened and the run was stopped.
fn kept_thinking(version: u32, between: Between) -> usize {
    let mut session = Session::started_with_rules(version, keeping);
    let start = StreamStart {
        message_id: "msg_1".into(),
        model: "m".into(),
        attempt: 1,
    };
    let thought = ThinkingChunk { text: "hm".into() };
    let signed = ProviderPart {
        api: "anthropic".into(),
        attach: true,
        data: json!({"signature": "s"}),
    };
    session.model(vec![start.into(), thought.into(), signed.into(), words("Half")]);
    match between {
        Between::Nothing => {}
        Between::SteeringInput => session.say_as("and this", InputMode::Steer),
        Between::ChangedTools => session.change(ConfigChange::Tools(Vec::new().into())),
    }
    session.restart();
    session.interrupt();
    let stopped = StreamEnd {
        stop_reason: StopReason::Interrupted,
        raw: None,
    };
    session.model(vec![stopped.into()]);
    session.say("go on");
    let count = session.thoughts().len();
    assert!(session.sent().join("\n").contains("Half"), "its words stay");
    session.answer("done");
    session.check_replay();
    count
}

#[test]
fn thinking_that_broke_off_does_not_stand_behind_what_was_said_since() {
    assert_eq!(kept_thinking(RULES_VERSION, Between::SteeringInput), 0);
    assert_eq!(kept_thinking(RULES_VERSION, Between::ChangedTools), 0);
    assert_eq!(kept_thinking(RULES_VERSION, Between::Nothing), 1);
    assert_eq!(
        kept_thinking(8, Between::SteeringInput),
        1,
        "older sessions go on as they did"
    );
}
