//! Planted loops, which have to be found, and work that looks like a loop, which must not be. All of it is
//! made up for this test.

use agentx_agent::stuck::{FoundLoop, LoopLevel, LoopPlace, StuckDetector};
use agentx_types::{ContentPart, LoopKind, StuckMode, StuckSettings};
use serde_json::{Value, json};

/// Something that an agent does.
#[derive(Clone, Debug)]
enum Deed {
    /// A call with its result.
    Call {
        name: String,
        input: Value,
        result: String,
        failed: bool,
    },
    /// An answer without calls.
    Answer(&'static str),
    /// A summary.
    Condensed,
}

fn works(name: &str, input: Value, result: impl Into<String>) -> Deed {
    Deed::Call {
        name: name.into(),
        input,
        result: result.into(),
        failed: false,
    }
}

fn fails(name: &str, input: Value, result: impl Into<String>) -> Deed {
    Deed::Call {
        name: name.into(),
        input,
        result: result.into(),
        failed: true,
    }
}

fn found_at_end(settings: &StuckSettings, deeds: &[Deed]) -> Option<FoundLoop> {
    let mut detector = StuckDetector::default();
    let mut last = None;
    for deed in deeds {
        match deed {
            Deed::Call {
                name,
                input,
                result,
                failed,
            } => detector.on_call(
                settings,
                name,
                input,
                &[ContentPart::text(result.as_str())],
                *failed,
            ),
            Deed::Answer(text) => detector.on_answer(settings, text),
            Deed::Condensed => detector.on_condensed(settings),
        }
        last = detector
            .found(settings, LoopPlace::Calls)
            .or_else(|| detector.found(settings, LoopPlace::BetweenCalls));
    }
    last
}

/// A call that loops are made of.
struct Subject {
    name: &'static str,
    input: Value,
    result: &'static str,
    error: &'static str,
}

fn subjects() -> Vec<Subject> {
    let subject = |name, input, result, error| Subject {
        name,
        input,
        result,
        error,
    };
    vec![
        subject(
            "bash",
            json!({"command": "cargo test"}),
            "ok\n",
            "error[E0425]: cannot find `x`\n",
        ),
        subject(
            "bash",
            json!({"command": "ls -la"}),
            "a\nb\n",
            "ls: cannot open directory '.'\n",
        ),
        subject(
            "read",
            json!({"path": "src/lib.rs", "offset": 1}),
            "fn main() {}",
            "no such file: src/lib.rs",
        ),
        subject(
            "edit",
            json!({"path": "a", "old": "x", "new": "y"}),
            "edited a",
            "`old` is not in the file",
        ),
        subject(
            "grep",
            json!({"pattern": "TODO", "path": "."}),
            "no matches",
            "invalid pattern",
        ),
        subject(
            "fetch",
            json!({"url": "http://localhost:8000/health"}),
            "{\"ok\":true}",
            "connection refused",
        ),
        subject(
            "write",
            json!({"content": "hello", "path": "out.txt"}),
            "wrote out.txt",
            "permission denied",
        ),
        subject(
            "query",
            json!({"sql": "select 1", "args": [1, null, true]}),
            "1 row",
            "table locked",
        ),
    ]
}

impl Subject {
    fn works(&self, number: usize) -> Deed {
        works(
            self.name,
            self.input.clone(),
            format!("{}\n[exit 0, 0.{number:02} s]", self.result),
        )
    }

    fn fails(&self, number: usize) -> Deed {
        fails(
            self.name,
            self.input.clone(),
            format!("{}\n[exit 1, 1.{number:02} s]", self.error),
        )
    }

    /// The call with a first argument that `change` has changed.
    fn changed(&self, change: impl Fn(&str) -> String) -> Value {
        let mut input = self.input.clone();
        let first = input
            .as_object_mut()
            .unwrap()
            .values_mut()
            .find(|value| value.is_string());
        let first = first.unwrap();
        *first = json!(change(first.as_str().unwrap()));
        input
    }
}

fn edit(number: usize) -> Deed {
    works(
        "edit",
        json!({"path": "b", "new": format!("line {number}")}),
        format!("edited b: {number}"),
    )
}

/// The planted loops of one subject, each with its kind.
fn planted(subject: &Subject, other: &Subject) -> Vec<(LoopKind, Vec<Deed>)> {
    let each = |count: usize, deed: &dyn Fn(usize) -> Deed| (0..count).map(deed).collect::<Vec<_>>();
    let pair = |deed: &dyn Fn(usize) -> [Deed; 2]| (0..3).flat_map(deed).collect::<Vec<_>>();
    let near = |number: usize| {
        let input = subject.changed(|text| format!("{}{text}", " ".repeat(number % 3)));
        works(subject.name, input, subject.result)
    };
    let numbered = |number: usize| {
        let input = subject.changed(|text| format!("{text} {number}"));
        fails(
            subject.name,
            input,
            format!("{} (attempt {number})", subject.error),
        )
    };
    let changing = |number: usize| {
        let words = ["no", "still not", "busy", "try later", "not found", "gone"][number % 6];
        fails(subject.name, subject.input.clone(), words)
    };
    let three = |number: usize| [subject.works(number), other.works(number), edit(0)];
    vec![
        (LoopKind::Error, each(3, &|number| subject.fails(number))),
        (LoopKind::Repetition, each(6, &|number| subject.works(number))),
        (
            LoopKind::Alternation,
            pair(&|number| [subject.works(number), other.works(number)]),
        ),
        (
            LoopKind::Alternation,
            pair(&|number| [edit(0), subject.fails(number)]),
        ),
        (LoopKind::Alternation, (0..3).flat_map(three).collect()),
        (LoopKind::NearRepetition, each(6, &near)),
        (LoopKind::NearRepetition, each(6, &numbered)),
        (LoopKind::ChangingError, each(6, &changing)),
        (
            LoopKind::RecurringError,
            (0..6)
                .flat_map(|number| [edit(number), subject.fails(number)])
                .collect(),
        ),
    ]
}

fn all_planted() -> Vec<(LoopKind, Vec<Deed>)> {
    let subjects = subjects();
    let after = subjects.iter().cycle().skip(2);
    let mut all: Vec<_> = subjects
        .iter()
        .zip(after)
        .flat_map(|(one, other)| planted(one, other))
        .collect();
    for text in ["I am done.", "Shall I go on?", "Let me think."] {
        all.push((LoopKind::Monologue, vec![Deed::Answer(text); 3]));
        all.push((
            LoopKind::ContextWindow,
            vec![edit(1), Deed::Condensed, Deed::Condensed, Deed::Condensed],
        ));
    }
    all
}

#[test]
fn planted_loops_are_found() {
    let settings = StuckSettings::default();
    let mut missed = Vec::new();
    let all = all_planted();
    for (kind, deeds) in &all {
        let mut whole: Vec<Deed> = (0..10).map(edit).collect();
        whole.extend(deeds.iter().cloned());
        match found_at_end(&settings, &whole) {
            Some(found) if found.kind == *kind => assert!(!found.sentence().is_empty()),
            found => missed.push((kind, found, deeds)),
        }
    }
    println!(
        "planted loops: {}, found with their kind: {}",
        all.len(),
        all.len() - missed.len()
    );
    assert!(
        all.len() >= 60 && missed.len() * 100 <= all.len() * 5,
        "{missed:#?}"
    );
}

/// A series of deeds with a name.
type Harmless = (&'static str, Vec<Deed>);

/// An input of `bash`.
fn bash(command: &str) -> Value {
    json!({ "command": command })
}

fn each(count: usize, deed: &dyn Fn(usize) -> Deed) -> Vec<Deed> {
    (0..count).map(deed).collect()
}

/// Calls whose results or arguments change.
fn changing_results() -> Vec<Harmless> {
    let poll = bash("gh run view 7");
    vec![
        (
            "a poll whose result changes",
            each(40, &|n| {
                works("bash", poll.clone(), format!("running, {n} %\n[exit 0, 0.20 s]"))
            }),
        ),
        (
            "a clock",
            each(40, &|n| {
                works("bash", bash("date"), format!("12:00:{n:02}\n[exit 0, 0.01 s]"))
            }),
        ),
        (
            "a paged read",
            each(40, &|n| {
                works(
                    "read",
                    json!({"path": "a", "offset": n * 100}),
                    format!("page {n}"),
                )
            }),
        ),
        (
            "pages of the same words",
            each(40, &|n| {
                works("read", json!({"path": "a", "offset": n * 100}), "...")
            }),
        ),
        (
            "a batch",
            each(40, &|n| {
                works("bash", bash(&format!("mkdir d{n}")), "[exit 0, 0.01 s]")
            }),
        ),
        (
            "files with the same result",
            each(40, &|n| {
                works(
                    "write",
                    json!({"path": format!("t{n}"), "content": "x"}),
                    "written",
                )
            }),
        ),
    ]
}

/// Equal calls, but few, or with work in between.
fn few_repetitions() -> Vec<Harmless> {
    let test = bash("cargo test");
    vec![
        (
            "equal calls, a few",
            each(5, &|n| {
                works("bash", bash("echo hi"), format!("hi\n[exit 0, 0.0{n} s]"))
            }),
        ),
        (
            "two equal errors",
            each(2, &|n| {
                fails("bash", test.clone(), format!("no\n[exit 1, 0.0{n} s]"))
            }),
        ),
        (
            "errors that become fewer",
            (0..12)
                .flat_map(|n| [edit(n), fails("bash", test.clone(), format!("{} failed", 12 - n))])
                .collect(),
        ),
        (
            "checks between edits",
            (0..20)
                .flat_map(|n| [edit(n), works("bash", bash("cargo check"), "[exit 0, 0.40 s]")])
                .collect(),
        ),
        (
            "status between edits",
            (0..20)
                .flat_map(|n| {
                    [
                        edit(n),
                        works("bash", bash("git status"), "clean"),
                        works("bash", bash("cargo fmt"), ""),
                    ]
                })
                .collect(),
        ),
    ]
}

/// Failures that differ.
fn attempts() -> Vec<Harmless> {
    let poll = bash("gh run view 7");
    vec![
        (
            "a poll that fails a few times",
            each(5, &|n| {
                fails(
                    "fetch",
                    json!({"url": "http://a"}),
                    format!("not ready: step {n}"),
                )
            }),
        ),
        (
            "other errors each time",
            each(12, &|n| {
                fails(
                    "bash",
                    bash(&format!("make part-{}", ["a", "b", "c"][n % 3])),
                    format!("error {n}"),
                )
            }),
        ),
        (
            "other places each time",
            each(12, &|n| {
                fails(
                    "read",
                    json!({"path": format!("dir/{}", (b'a' + n as u8) as char)}),
                    "no such file",
                )
            }),
        ),
        (
            "two in turn with other results",
            (0..12)
                .flat_map(|n| {
                    [
                        works("bash", bash("sleep 30"), ""),
                        works("bash", poll.clone(), format!("{n} of 12 jobs")),
                    ]
                })
                .collect(),
        ),
    ]
}

/// Answers and summaries.
fn answers_and_summaries() -> Vec<Harmless> {
    vec![
        (
            "a monologue of two",
            vec![Deed::Answer("Done."), Deed::Answer("Done.")],
        ),
        (
            "answers that differ",
            vec![
                Deed::Answer("a"),
                Deed::Answer("b"),
                Deed::Answer("a"),
                Deed::Answer("b"),
            ],
        ),
        (
            "summaries with work in between",
            (0..12).flat_map(|n| [edit(n), Deed::Condensed]).collect(),
        ),
    ]
}

/// Work that looks like a loop.
fn harmless() -> Vec<Harmless> {
    [
        changing_results(),
        few_repetitions(),
        attempts(),
        answers_and_summaries(),
    ]
    .concat()
}

#[test]
fn work_that_looks_like_a_loop_is_none() {
    let settings = StuckSettings::default();
    for (what, deeds) in harmless() {
        for end in 1..=deeds.len() {
            let found = found_at_end(&settings, &deeds[..end]);
            assert_eq!(found, None, "{what}, after {end}");
        }
    }
}

#[test]
fn the_thresholds_decide_and_off_finds_nothing() {
    let subject = &subjects()[0];
    let level = |settings: &StuckSettings, count: usize, failing: bool| {
        let deed = |number| {
            if failing {
                subject.fails(number)
            } else {
                subject.works(number)
            }
        };
        found_at_end(settings, &(0..count).map(deed).collect::<Vec<_>>()).map(|found| found.level)
    };
    let usual = StuckSettings::default();
    for (count, failing, expected) in [
        (2, true, None),
        (3, true, Some(LoopLevel::Nudge)),
        (7, true, Some(LoopLevel::Nudge)),
        (8, true, Some(LoopLevel::Stop)),
        (5, false, None),
        (6, false, Some(LoopLevel::Nudge)),
        (99, false, Some(LoopLevel::Nudge)),
        (100, false, Some(LoopLevel::Stop)),
    ] {
        assert_eq!(
            level(&usual, count, failing),
            expected,
            "{count} calls, failing: {failing}"
        );
    }
    let off = StuckSettings {
        mode: StuckMode::Off,
        ..usual
    };
    assert_eq!(level(&off, 200, true), None);
    let soon = StuckSettings {
        nudge_after: 0,
        stop_after: 0,
        ..usual
    };
    assert_eq!(level(&soon, 1, false), None, "one call is never a loop");
    assert_eq!(level(&soon, 2, false), Some(LoopLevel::Stop));
}

#[test]
fn a_long_session_keeps_a_bounded_window() {
    let settings = StuckSettings::default();
    let mut detector = StuckDetector::default();
    let mut after_window = 0;
    for number in 0..500 {
        let text = "x".repeat(10_000 + number);
        let input = json!({"path": number});
        detector.on_call(&settings, "read", &input, &[ContentPart::text(text)], false);
        let size = serde_json::to_string(&detector).unwrap().len();
        if number == 100 {
            after_window = size;
        }
        assert!(
            number <= 100 || size <= after_window + 200,
            "{size} bytes after {number} calls"
        );
    }
}
