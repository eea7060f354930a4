//! The answers of the scripted model that the examples run against: the same request gets the same answer.

use serde_json::{Value, json};

use super::asked::Asked;

/// An answer: words, or a call of a tool with its arguments.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Said {
    /// In pieces.
    Words(Vec<String>),
    /// Of a tool of this name.
    Call(&'static str, Value),
}

/// The number of lines of a chapter.
const LINES: usize = 3;
const CHAPTERS: [&str; 3] = ["Fog", "The rock", "明け方"];
const SPEAKERS: [&str; 3] = ["Ada", "Ben", "小月"];
const WORDS: &[&str] = &[
    "the ",
    "lamp ",
    "burns ",
    "and ",
    "nobody ",
    "sees ",
    "it, ",
    "灯塔",
    "在雾里",
    "，",
    "says ",
    "she, ",
    "“wait”, ",
    "then ",
    "gulls ",
    "– ",
    "ünder ",
    "the ",
    "rocks. ",
    "🌊 ",
];

/// Returns the answer to this request.
pub(super) fn answer(asked: &Asked) -> Said {
    let system = asked.system.as_str();
    if system.starts_with("You make stories.") {
        return if asked.results.is_empty() {
            Said::Call("story_generator", json!({"topic": asked.input()}))
        } else {
            words(&format!("That is the story: {}", asked.results.concat()))
        };
    }
    if system.starts_with("You are a writer of stories.") {
        let characters = SPEAKERS.map(|name| json!({"name": name, "role": "somebody at the sea"}));
        let chapters = CHAPTERS.map(|title| json!({ "title": title }));
        let title = format!("A story of {}", asked.input());
        return words(&json!({"title": title, "characters": characters, "chapters": chapters}).to_string());
    }
    if system.starts_with("You direct a story.") {
        return words(&directed(asked).to_string());
    }
    if system.contains("# play_music") {
        return words(sorted(asked.input()));
    }
    Said::Words(spoken(&format!("{system}|{}", asked.whole)))
}

/// Each chapter has its lines, and then it ends.
fn directed(asked: &Asked) -> Value {
    let place = asked.answers % (LINES + 1);
    if place == LINES {
        return json!({"action": "END"});
    }
    let speaker = SPEAKERS[asked.answers % SPEAKERS.len()];
    json!({"speaker": speaker, "instruction": format!("Say what you see ({}).", asked.answers)})
}

/// Returns a router's answer for an input that fits no pattern.
fn sorted(input: &str) -> &'static str {
    if input.contains("Satie") {
        "play_music: title=Gymnopédie No. 1, artist=Satie"
    } else {
        "-"
    }
}

/// A line that nobody would say who was asked anything else.
fn spoken(asked: &str) -> Vec<String> {
    let mut hash = asked.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let count = 12 + hash % 24;
    let mut next = || {
        hash = hash
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((hash >> 33) % WORDS.len() as u64).unwrap_or_default()
    };
    (0..count).map(|_| WORDS[next()].to_owned()).collect()
}

/// A few letters at a time.
fn words(text: &str) -> Said {
    let letters: Vec<char> = text.chars().collect();
    Said::Words(letters.chunks(7).map(|piece| piece.iter().collect()).collect())
}
