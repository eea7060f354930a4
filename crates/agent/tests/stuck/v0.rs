//! The rules of OpenHands V0: its own verdicts, if the data is available, and a made-up table for each rule.

use std::fs::File;
use std::io::{BufRead, BufReader};

use agentx_agent::stuck::{StuckAnalysis, V0LoopType, openhands_verdict};
use flate2::read::GzDecoder;
use serde_json::{Value, json};

use crate::data;

#[test]
fn every_verdict_is_that_of_openhands() {
    let name = "openhands-stuck/verdicts.jsonl.gz";
    let Some(path) = data::find(name, "2,700 event sequences with verdicts of OpenHands") else {
        return;
    };
    let lines = BufReader::new(GzDecoder::new(File::open(path).unwrap())).lines();
    let mut count = 0;
    for line in lines {
        let case: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let events = case["events"].as_array().unwrap();
        for (mode, headless) in [("headless", true), ("interactive", false)] {
            let expected: Option<StuckAnalysis> = serde_json::from_value(case[mode].clone()).unwrap();
            assert_eq!(
                openhands_verdict(events, headless),
                expected,
                "{mode}, sequence {count}: {events:#?}"
            );
        }
        count += 1;
    }
    assert!(count >= 2_700, "{count} sequences");
}

/// An event from its short form: `u` a message of the user, `m:TEXT` one of the agent, `a:COMMAND` and
/// `p:CODE` actions, `o:COMMAND=CODE`, `e:TEXT`, `q:TEXT` (of a cell) observations, `c` a condensation, `n`
/// an empty one.
fn event((id, short): (usize, &str)) -> Value {
    let (kind, text) = short.split_once(':').unwrap_or((short, ""));
    let mut event = match kind {
        "u" => json!({"source": "user", "action": "message", "args": {"content": "go"}}),
        "m" => json!({"action": "message", "args": {"content": text}}),
        "a" => json!({"action": "run", "args": {"command": text, "thought": ""}}),
        "p" => json!({"action": "run_ipython", "args": {"code": text}}),
        "o" => {
            let (command, code) = text.split_once('=').unwrap();
            let metadata = json!({"exit_code": code, "pid": id});
            json!({"observation": "run", "content": "", "extras": {"command": command, "metadata": metadata}})
        }
        "e" => json!({"observation": "error", "content": text, "extras": {}}),
        "q" => json!({"observation": "run_ipython", "content": text, "extras": {}}),
        "c" => json!({"observation": "condense", "content": "Trimming prompt", "extras": {}}),
        "n" => json!({"observation": "null", "content": "", "extras": {}}),
        other => panic!("{other}"),
    };
    if event["source"].is_null() {
        event["source"] = json!("agent");
    }
    event["id"] = json!(id);
    event
}

fn verdict(events: &[&str], headless: bool) -> Option<(V0LoopType, u64)> {
    let events: Vec<Value> = events.iter().copied().enumerate().map(event).collect();
    openhands_verdict(&events, headless).map(|found| (found.loop_type, found.loop_start_idx))
}

/// A made-up sequence, and the verdict on it.
struct Case {
    what: &'static str,
    events: Vec<&'static str>,
    headless: Option<(V0LoopType, u64)>,
    interactive: Option<(V0LoopType, u64)>,
}

impl Case {
    /// A case whose verdict does not depend on the mode; it has no message of the user.
    fn both(
        what: &'static str,
        events: impl IntoIterator<Item = &'static str>,
        verdict: Option<(V0LoopType, u64)>,
    ) -> Self {
        Self {
            what,
            events: events.into_iter().collect(),
            headless: verdict,
            interactive: verdict,
        }
    }
}

fn times(count: usize, events: &[&'static str]) -> Vec<&'static str> {
    events.repeat(count)
}

/// The output of a cell with a syntax error in its first line.
const CELL: &str = "q:Cell In[1], line 1\n    foo(a b)\n        ^\n    ^^^\nSyntaxError: incomplete input\n\
                    [Jupyter current working directory: /w]\n[Jupyter Python interpreter: /p]";
const SHORT_CELL: &str = "q:foo(a b)\nSyntaxError: incomplete input\n\
                          [Jupyter current working directory: /w]\n[Jupyter Python interpreter: /p]";
const OPEN_STRING: &str = "q:x\nSyntaxError: unterminated string literal (detected at line 1)\n\
                           [Jupyter current working directory: /w]\n[Jupyter Python interpreter: /p]";

/// Made up for this test.
fn actions() -> Vec<Case> {
    use V0LoopType::{RepeatingActionError as Error, RepeatingActionObservation as Repeating};
    let step = ["a:ls", "o:ls=0"];
    vec![
        Case::both("three are none", times(3, &step), None),
        Case::both("four are one", times(4, &step), Some((Repeating, 0))),
        Case::both(
            "another exit code",
            [times(3, &step), vec!["a:ls", "o:ls=1"]].concat(),
            None,
        ),
        Case::both(
            "empty observations do not count",
            [times(2, &step), vec!["n"], times(2, &step)].concat(),
            Some((Repeating, 0)),
        ),
        Case::both(
            "it starts at the first equal action of all",
            [vec!["a:ls", "o:ls=1", "a:x", "o:x=0"], times(4, &step)].concat(),
            Some((Repeating, 0)),
        ),
        Case::both(
            "errors in other words",
            ["a:ls", "e:one", "a:ls", "e:two", "a:ls", "e:three"],
            Some((Error, 0)),
        ),
        Case::both("two errors", ["a:ls", "e:one", "a:ls", "e:one"], None),
        Case::both(
            "a syntax error of a cell",
            times(3, &["p:foo(a b)", CELL]),
            Some((Error, 0)),
        ),
        Case::both("too few lines", times(3, &["p:foo(a b)", SHORT_CELL]), None),
        Case::both(
            "an open string",
            times(3, &["p:print(\"", OPEN_STRING]),
            Some((Error, 0)),
        ),
        Case::both(
            "edits count by their first three lines",
            [
                "p:edit_file_by_replace(\na\nb\n1)",
                "e:x",
                "p:edit_file_by_replace(\na\nb\n2)",
                "e:x",
                "p:edit_file_by_replace(\na\nb\n3)",
                "e:x",
            ],
            Some((Error, 0)),
        ),
        Case::both(
            "an edit of one line equals nothing",
            times(5, &["p:edit_file_by_replace(1)", "e:x"]),
            None,
        ),
    ]
}

/// Made up for this test.
fn others() -> Vec<Case> {
    use V0LoopType::{ContextWindowError, Monologue, RepeatingActionObservationPattern as Pattern};
    let pair = ["a:x", "o:x=0", "a:y", "o:y=0"];
    let apart: Vec<_> = times(10, &["c", "a:x", "o:x=0", "a:y", "o:y=1", "a:z", "o:z=0"]);
    vec![
        Case::both(
            "a monologue",
            ["m:hm", "a:x", "m:hm", "m:hm"],
            Some((Monologue, 0)),
        ),
        Case::both(
            "an observation in between",
            ["m:hm", "m:hm", "o:x=0", "m:hm"],
            None,
        ),
        Case::both("other words", ["m:hm", "m:hm", "m:so"], None),
        Case::both("two in turn", times(3, &pair), Some((Pattern, 0))),
        Case::both("two in turn, twice", times(2, &pair), None),
        Case::both(
            "ten condensations",
            times(10, &["c"]),
            Some((ContextWindowError, 0)),
        ),
        Case::both("nine condensations", times(9, &["c"]), None),
        Case::both("condensations apart", apart, None),
        Case {
            what: "a message of the user divides",
            events: [
                vec!["u"],
                times(2, &["a:ls", "o:ls=0"]),
                vec!["u"],
                times(2, &["a:ls", "o:ls=0"]),
            ]
            .concat(),
            headless: Some((V0LoopType::RepeatingActionObservation, 0)),
            interactive: None,
        },
        Case {
            what: "places count from the last message of the user",
            events: [vec!["u", "a:z", "o:z=0", "u"], times(4, &["a:ls", "o:ls=0"])].concat(),
            headless: Some((V0LoopType::RepeatingActionObservation, 2)),
            interactive: Some((V0LoopType::RepeatingActionObservation, 4)),
        },
    ]
}

#[test]
fn each_rule_of_v0_holds_on_made_up_sequences() {
    for case in actions().into_iter().chain(others()) {
        assert_eq!(
            verdict(&case.events, true),
            case.headless,
            "{}, headless",
            case.what
        );
        assert_eq!(
            verdict(&case.events, false),
            case.interactive,
            "{}, interactive",
            case.what
        );
    }
}
