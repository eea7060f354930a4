//! The traces of the TypeScript AgentX: its driver events, translated to facts, go through our fold, and what
//! comes out is held against what its own machine made of them: the same messages in the same order, the same
//! agent states.
//!
//! If the two differ, the difference is in [`DIFFERENCES`] with its reason, and is checked on both sides:
//! that upstream still shows it, and that we do not. `upstream` repairs exactly these before it compares.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "agentx_traces/condensing.rs"]
mod condensing;
#[path = "agentx_traces/ours.rs"]
mod ours;
#[path = "agentx_traces/upstream.rs"]
mod upstream;

use agentx_tests::test_data;
use agentx_types::{NanoUsd, RuntimeEvent, Usage, Vocabulary as _};
use serde_json::Value;

use ours::Ours;
use upstream::Theirs;

/// A message, as far as both sides have it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Seen {
    /// The model's answer: text and calls in order.
    Answer(Vec<Part>),
    /// The answer to a call.
    Result {
        id: String,
        name: String,
        text: String,
        is_error: bool,
    },
}

/// A part of an answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Part {
    Text(String),
    Call { id: String, name: String, input: Value },
}

/// The differences, each with the reason why ours is right.
struct Difference {
    /// The defect and its reason.
    why: &'static str,
    /// Whether a trace can show it.
    applies: fn(&Theirs) -> bool,
    /// Whether upstream's output has it.
    theirs: fn(&Theirs) -> bool,
    /// Whether ours is right.
    ours: fn(&Theirs, &Ours) -> bool,
}

const DIFFERENCES: &[Difference] = &[
    Difference {
        why: "turn_response.usage is always zero upstream: it is hard-coded. Ours is the sum of what the provider reported",
        applies: |theirs| theirs.usage() != Usage::default(),
        theirs: |theirs| theirs.turn_usages().iter().all(|tokens| *tokens == (0, 0)),
        ours: |theirs, ours| ours.turn_usage() == theirs.usage() && ours.turn_cost() > NanoUsd(0),
    },
    Difference {
        why: "tool_executing comes upstream with the first byte of a call, its input empty. Ours comes when the tool runs, with its arguments",
        applies: |theirs| theirs.outputs("tool_executing").count() > 0,
        theirs: |theirs| {
            theirs
                .outputs("tool_executing")
                .all(|data| data["input"] == serde_json::json!({}))
        },
        ours: |theirs, ours| {
            let inputs = |event: &RuntimeEvent| match event {
                RuntimeEvent::ToolExecuting(executing) => Some(executing.input.clone()),
                _ => None,
            };
            ours.events.iter().filter_map(inputs).eq(theirs.arguments())
        },
    },
    Difference {
        why: "tool_completed and tool_failed are never emitted upstream: a UI shows every tool as running. Ours end every call once",
        applies: |theirs| theirs.results() > 0,
        theirs: |theirs| {
            theirs.outputs("tool_completed").count() + theirs.outputs("tool_failed").count() == 0
        },
        ours: |theirs, ours| ours.count("tool_completed") + ours.count("tool_failed") == theirs.results(),
    },
    Difference {
        why: "conversation_responding comes upstream with every delta, though nothing changes. Ours comes once per answer",
        applies: |theirs| theirs.inputs("text_delta") > 0,
        theirs: |theirs| theirs.outputs("conversation_responding").count() == theirs.inputs("text_delta"),
        ours: |_, ours| ours.count("conversation_responding") == ours.answers_with_text(),
    },
    Difference {
        why: "the model call after tool results is not told apart where the driver runs tools inside of one message: its answer is one \
              message with what came before, and follows its own results. Ours are messages that a model can be sent again",
        applies: |theirs| theirs.runs_tools_inside_a_message(),
        theirs: |theirs| theirs.results_come_before_their_calls(),
        ours: |_, ours| ours.every_result_follows_its_call(),
    },
    Difference {
        why: "conversation_start comes upstream with every message of the model. Ours comes once per input",
        applies: |theirs| theirs.outputs("conversation_start").count() > 0,
        theirs: |theirs| theirs.outputs("conversation_start").count() == theirs.inputs("message_start"),
        ours: |_, ours| ours.count("conversation_start") == ours.inputs,
    },
    Difference {
        why: "conversation_thinking is mapped upstream and never emitted. Ours comes with every model call",
        applies: |_| true,
        theirs: |theirs| theirs.outputs("conversation_thinking").count() == 0,
        ours: |_, ours| ours.count("conversation_thinking") == ours.count("message_start"),
    },
    Difference {
        why: "the content-block names of the older recordings are in upstream's types and unknown to its machine: ids, calls and answers \
              of these traces are lost. Ours have them",
        applies: Theirs::speaks_in_content_blocks,
        theirs: |theirs| {
            theirs.outputs("assistant_message").count() == 0 && theirs.outputs("tool_planned").count() == 0
        },
        ours: |theirs, ours| {
            ours.count("assistant_message") == theirs.inputs("message_stop")
                && ours.count("tool_planned") == theirs.inputs("tool_use_content_block_start")
        },
    },
];

/// The number of traces of the whole set; a smaller one need not show every difference.
const ALL_TRACES: usize = 28;

fn load() -> Vec<(String, Theirs)> {
    let Some(folder) = test_data("agentx-recordings", "the traces of the TypeScript AgentX") else {
        return vec![];
    };
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter_map(|name| name.strip_suffix(".expected.json").map(str::to_owned))
        .collect();
    names.sort();
    let read = |name: &str, end: &str| -> Value {
        serde_json::from_slice(&std::fs::read(folder.join(format!("{name}{end}"))).unwrap()).unwrap()
    };
    let traces = names.iter().map(|name| {
        (
            name.clone(),
            Theirs::new(&read(name, ".json"), &read(name, ".expected.json")),
        )
    });
    traces.collect()
}

#[test]
fn recorded_sessions_are_condensed_anywhere_and_taken_back() {
    let traces = load();
    let summaries: usize = traces
        .iter()
        .map(|(name, theirs)| condensing::condense_everywhere(name, &Ours::fold(&theirs.events).fold))
        .sum();
    assert!(
        traces.is_empty() || summaries > traces.len(),
        "{summaries} summaries"
    );
}

#[test]
fn messages_are_the_same_in_the_same_order() {
    for (name, theirs) in load() {
        let ours = Ours::fold(&theirs.events);
        if theirs.speaks_in_content_blocks() {
            assert_eq!(ours.result_texts(), theirs.result_texts(), "{name}");
        } else {
            assert_eq!(ours.messages(), theirs.messages(), "{name}");
        }
    }
}

#[test]
fn agent_states_are_the_same() {
    for (name, theirs) in load() {
        assert_eq!(Ours::fold(&theirs.events).states, theirs.states(), "{name}");
    }
}

#[test]
fn turns_are_the_same() {
    for (name, theirs) in load() {
        let ours = Ours::fold(&theirs.events);
        assert_eq!(
            ours.count("turn_response"),
            theirs.outputs("turn_response").count(),
            "{name}"
        );
        assert_eq!(
            ours.count("turn_request"),
            theirs.outputs("turn_request").count(),
            "{name}"
        );
    }
}

#[test]
fn every_difference_is_a_defect_upstream() {
    let traces = load();
    for difference in DIFFERENCES {
        let mut shown = 0;
        for (name, theirs) in traces.iter().filter(|(_, theirs)| (difference.applies)(theirs)) {
            shown += 1;
            assert!(
                (difference.theirs)(theirs),
                "{name}: upstream no longer shows this: {}",
                difference.why
            );
            let ours = Ours::fold(&theirs.events);
            assert!(
                (difference.ours)(theirs, &ours),
                "{name}: ours is not right about this: {}",
                difference.why
            );
        }
        let few = traces.len() < ALL_TRACES;
        assert!(shown > 0 || few, "no trace shows this: {}", difference.why);
    }
}

#[test]
fn each_event_is_said_once() {
    for (name, theirs) in load() {
        let ours = Ours::fold(&theirs.events);
        assert_eq!(ours.count("text_delta"), theirs.inputs("text_delta"), "{name}");
        assert_eq!(ours.count("message_start"), ours.count("message_stop"), "{name}");
        assert_eq!(ours.count("tool_result"), theirs.results(), "{name}");
        assert!(ours.events.iter().all(|event| event.tag() != "error"), "{name}");
    }
}
