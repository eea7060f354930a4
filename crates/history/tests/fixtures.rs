//! Recorded sessions as tests: they replay, the first difference is reported, and they contain no secret.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, reason = "tests read files")]

use std::path::Path;

use agentx_history::fixture::{self, Fixture};
use agentx_history::portable;
use agentx_types::{ContentPart, EnvironmentEvent, ToolStatus};

/// Every recorded session of this version's rules, with its name.
fn recorded() -> Vec<(String, agentx_runtime::SessionExport)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded/v9");
    let files = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path());
    let documents = files.filter(|path| path.extension().is_some_and(|end| end == "json"));
    let mut all: Vec<_> = documents
        .map(|path| {
            let document = portable::from_json(&std::fs::read_to_string(&path).unwrap()).unwrap();
            (path.display().to_string(), document)
        })
        .collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    assert!(!all.is_empty());
    all
}

fn nothing(_: &str) -> Option<String> {
    None
}

fn one() -> Fixture {
    let (_, document) = recorded().remove(0);
    fixture::make(document.session_id, document.events, &nothing).unwrap()
}

#[test]
fn recorded_sessions_are_fixtures_that_replay_and_are_read_back() {
    for (name, document) in recorded() {
        let made = fixture::make(document.session_id, document.events, &nothing).unwrap();
        assert_eq!(fixture::replay(&made), Ok(()), "{name}");
        let text = fixture::to_text(&made).unwrap();
        let read = fixture::from_text(&text).unwrap();
        assert_eq!(read, made, "{name}");
        assert_eq!(fixture::replay(&read), Ok(()), "{name}");
    }
}

#[test]
fn the_first_difference_is_named_with_its_place_and_both_sides() {
    let mut other = one();
    let at = other.steps.iter().position(|step| step.then.len() > 1).unwrap();
    let was = std::mem::replace(&mut other.steps[at].then[1], "event {}".to_owned());
    let difference = fixture::replay(&other).unwrap_err();
    assert_eq!((difference.seq, difference.line), (other.steps[at].fact.seq, 2));
    assert_eq!(difference.recorded.as_deref(), Some("event {}"));
    assert_eq!(difference.now.as_deref(), Some(was.as_str()));
    let words = difference.to_string();
    let place = format!("at seq {} ({}), line 2", difference.seq, difference.tag);
    assert!(
        words.contains(&place) && words.contains(&format!("now:      {was}")),
        "{words}"
    );

    // Now one event is missing, and one is new.
    let mut other = one();
    other.steps[at].then.push("event {}".to_owned());
    assert_eq!(fixture::replay(&other).unwrap_err().now, None);
    other.steps[at].then.clear();
    assert_eq!(fixture::replay(&other).unwrap_err().recorded, None);
}

#[test]
fn another_fact_leads_to_another_decision() {
    let mut other = recorded().into_iter().find_map(|(_, document)| {
        let made = fixture::make(document.session_id, document.events, &nothing).unwrap();
        let has = |step: &fixture::FixtureStep| matches!(step.fact.event, EnvironmentEvent::ToolResult(_));
        made.steps.iter().any(has).then_some(made)
    });
    let fixture = other.as_mut().unwrap();
    let step = fixture
        .steps
        .iter_mut()
        .find_map(|step| match &mut step.fact.event {
            EnvironmentEvent::ToolResult(result) => Some((step.fact.seq, result)),
            _ => None,
        });
    let (seq, result) = step.unwrap();
    (result.status, result.is_error) = (ToolStatus::Failed, true);
    assert_eq!(fixture::replay(fixture).unwrap_err().seq, seq);
}

/// Made up: a word that looks like a secret, whole in one text and in two pieces of a stream.
#[test]
fn secrets_are_left_out_whole_and_in_pieces_and_what_remains_is_found() {
    const SECRET: &str = "made-up-secret";
    let clean = |text: &str| text.contains(SECRET).then(|| text.replace(SECRET, "(left out)"));
    let (_, mut document) = recorded().remove(0);
    let chunks: Vec<usize> = (0..document.events.len())
        .filter(|index| matches!(document.events[*index].event, EnvironmentEvent::TextChunk(_)))
        .collect();
    let mut pieces = ["it is made-up", "-secret, I think"].into_iter();
    for index in chunks.iter().take(2) {
        if let EnvironmentEvent::TextChunk(chunk) = &mut document.events[*index].event {
            chunk.text = pieces.next().unwrap().to_owned();
        }
    }
    assert_eq!(pieces.next(), None, "the session has two pieces of an answer");
    for fact in &mut document.events {
        if let EnvironmentEvent::UserMessage(said) = &mut fact.event {
            said.content = vec![ContentPart::text(format!("say {SECRET}"))];
        }
    }
    let dirty = fixture::make(document.session_id.clone(), document.events.clone(), &nothing).unwrap();
    let found = |text: &str| text.contains(SECRET).then(|| "a made-up secret".to_owned());
    let remains = fixture::find_remaining_secrets(&dirty, &found);
    assert_eq!(remains.len(), 1, "{remains:?}");
    assert!(matches!(
        dirty.steps[usize::try_from(remains[0].seq).unwrap() - 1]
            .fact
            .event,
        EnvironmentEvent::UserMessage(_)
    ));
    let made = fixture::make(document.session_id, document.events, &clean).unwrap();
    assert!(made.left_out >= 2 && fixture::find_remaining_secrets(&made, &found).is_empty());
    let text = fixture::to_text(&made).unwrap();
    assert!(!text.contains(SECRET) && text.contains("it is (left out), I think"));
    assert_eq!(fixture::replay(&made), Ok(()));
}

#[test]
fn what_is_no_fixture_is_refused_with_the_reason() {
    let text = fixture::to_text(&one()).unwrap();
    let without_one: String = text.lines().filter(|line| !line.contains("\"seq\":2,")).collect();
    for (wrong, words) in [
        ("", "not a fixture"),
        ("{\"format\":\"agentx-session\"}", "not a fixture"),
        (
            &text.replace("agentx-fixture", "other"),
            "its format is \"other\"",
        ),
        (
            &text.replacen("\"version\":1", "\"version\":2", 1),
            "made by a newer version",
        ),
        (&without_one, "event 2 is missing: 3 is in its place"),
    ] {
        let refused = fixture::from_text(wrong).unwrap_err();
        assert!(refused.contains(words), "{words}: {refused}");
    }
}
