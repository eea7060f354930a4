//! Tools whose description a provider refuses: they are no longer offered, and the run continues.

use agentx_types::*;
use serde_json::json;

use crate::harness::*;

fn tools(config: &mut AgentConfig, names: &[&str]) {
    let mut tools = config.tools.to_vec();
    let first = tools[0].clone();
    tools.clear();
    tools.extend(names.iter().map(|name| {
        let mut spec = first.clone();
        spec.name = (*name).into();
        spec
    }));
    config.tools = tools.into();
}

impl Session {
    /// The open request is refused with this text.
    fn tool_refused(&mut self, message: &str) {
        let failed = AttemptFailed {
            attempt: 1,
            code: "bad_request".into(),
            message: message.into(),
            status: Some(400),
            retry_in_ms: None,
            gives_up_in_ms: None,
            overflow: None,
            refused: Some(RequestPart::Tools),
            longest_answer: None,
            most_media: None,
            no_thinking: false,
            refused_place: None,
        };
        self.model(vec![failed.into(), error_event("bad_request", message)]);
    }

    fn offered(&self) -> Vec<String> {
        let request = self.request();
        request.tools.iter().map(|tool| tool.name.clone()).collect()
    }

    fn left_out(&self) -> Vec<Vec<String>> {
        let change = |state: &StateOutput| match state {
            StateOutput::Context {
                change: ContextChange::ToolsLeftOut { tools },
            } => Some(tools.clone()),
            _ => None,
        };
        self.states().filter_map(change).collect()
    }
}

#[test]
fn a_tool_that_a_refusal_names_is_left_out_and_the_run_goes_on() {
    for version in OLDEST_AND_NEWEST {
        let mut session =
            Session::started_with_rules(version, |config| tools(config, &["look", "now", "a.b", "c"]));
        assert_eq!(session.offered(), ["look", "now", "a.b", "c"]);
        session.tool_refused(
            "Invalid schema for function 'now': In context=(), object schema missing properties.",
        );
        assert_eq!(session.offered(), ["look", "a.b", "c"]);
        session.tool_refused("tools.1.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'");
        assert_eq!(
            session.offered(),
            ["look", "c"],
            "places are those of the last request"
        );
        session.model(stream(
            vec![call("c1", "look", json!({"path": "a"}))],
            StopReason::ToolUse,
        ));
        session.result("c1", "there");
        assert_eq!(session.offered(), ["look", "c"]);
        assert_eq!(session.left_out(), [vec!["now"], vec!["a.b"]]);
    }
}

#[test]
fn a_tool_that_a_refusal_of_a_schema_names_without_quotes_is_left_out_since_version_9() {
    for message in [
        "Invalid schema for function todo: made up, read on",
        "Invalid request: tool todo has unsupported JSON schema keyword: anyOf",
        "The JSON Schema of todo is too deep",
    ] {
        for (version, expected) in [(8, 0), (9, 1)] {
            let mut session =
                Session::started_with_rules(version, |config| tools(config, &["read", "todo", "to"]));
            session.tool_refused(message);
            assert_eq!(session.left_out().len(), expected, "{message}, version {version}");
            if expected == 1 {
                assert_eq!(session.offered(), ["read", "to"], "{message}");
            }
        }
    }
}

#[test]
fn tools_beyond_the_most_that_a_provider_takes_are_left_out() {
    for version in OLDEST_AND_NEWEST {
        let names: Vec<String> = (0..140).map(|at| format!("t{at}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut session = Session::started_with_rules(version, |config| tools(config, &names));
        session.tool_refused(
        "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 140 instead.",
    );
        assert_eq!(session.offered(), names[..128]);
    }
}

#[test]
fn declarations_beyond_the_most_that_gemini_takes_are_left_out() {
    let names: Vec<String> = (0..530).map(|at| format!("t{at}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut session = Session::started_with_rules(OLDEST_AND_NEWEST[1], |config| tools(config, &names));
    session.tool_refused(
        "The GenerateContentRequest proto is invalid:\n  * tools[0].function_declarations: [FIELD_INVALID] At \
         most 512 function declarations can be specified.",
    );
    assert_eq!(session.offered(), names[..512]);
}

#[test]
fn refusals_that_name_no_tool_or_too_many_end_the_run() {
    for version in OLDEST_AND_NEWEST {
        let mut session = Session::started_with_rules(version, |config| tools(config, &["look"]));
        session.tool_refused("tools.7.custom: no");
        assert!(session.left_out().is_empty());
        let names: Vec<String> = (0..100).map(|at| format!("t{at}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut session = Session::started_with_rules(version, |config| tools(config, &names));
        for name in &names[..16] {
            session.tool_refused(&format!("Invalid schema for function '{name}'"));
        }
        assert_eq!(session.left_out().len(), 16);
        session.tool_refused("Invalid schema for function 't17'");
        assert_eq!(session.left_out().len(), 16);
    }
}
