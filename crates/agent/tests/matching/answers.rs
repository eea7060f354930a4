//! Answers of a model, in all their spellings and splits.

use agentx_agent::matching::{AnswerParser, Finding, Intent, MatchNote};
use agentx_types::VarKind;
use proptest::prelude::*;
use proptest::test_runner::Config;
use serde_json::json;

use crate::rules::some;

fn read<'a>(pieces: impl IntoIterator<Item = &'a str>) -> Vec<Finding> {
    let rules = some();
    let (mut parser, mut found) = (AnswerParser::default(), Vec::new());
    for piece in pieces {
        // Serialized and read back between any two pieces.
        parser = serde_json::from_value(serde_json::to_value(&parser).unwrap()).unwrap();
        parser.feed(&rules, piece, &mut found);
    }
    parser.finish(&rules, &mut found);
    assert_eq!(parser, AnswerParser::default());
    found
}

fn is(intent: Intent) -> Vec<Finding> {
    vec![Finding::Intent(intent)]
}

fn noted(mut intent: Intent, notes: &[MatchNote]) -> Intent {
    intent.notes = notes.to_vec();
    intent
}

#[test]
fn values_are_read_however_they_are_quoted() {
    let cases = [
        ("play_music: title=卡农", "卡农"),
        ("play_music: title = 卡农 ", "卡农"),
        ("play_music：title＝卡农，", "卡农"),
        ("PLAY_MUSIC: Title=卡农", "卡农"),
        ("ｐｌａｙ_music: 曲名=卡农", "卡农"),
        (r#"play_music: title="a, b""#, "a, b"),
        (r#"play_music: title="a, artist=b""#, "a, artist=b"),
        (r#"play_music: title="say \"hi\", now""#, "say \"hi\", now"),
        (r#"play_music: title="say "hi" now""#, "say \"hi\" now"),
        (r#"play_music: title="a\\b\n\d""#, "a\\b\n\\d"),
        ("play_music: title='a, b'", "a, b"),
        ("play_music: title=“a，b”", "a，b"),
        ("play_music: title=「a, b」", "a, b"),
        ("play_music: title=Don't stop, it's me", "Don't stop, it's me"),
        (
            r#"play_music: title="open, and never closed"#,
            "\"open, and never closed",
        ),
        ("play_music: title=Hello, Goodbye", "Hello, Goodbye"),
        ("play_music: title=汪汪队，立大功", "汪汪队，立大功"),
        ("play_music: title=a, my b = c", "a, my b = c"),
        ("play_music: title=E=mc2", "E=mc2"),
        ("play_music: title=a: b", "a: b"),
        ("- play_music: title=卡农", "卡农"),
        ("1. play_music: title=卡农", "卡农"),
        ("2、play_music: title=卡农", "卡农"),
        ("* **play_music**: title=卡农", "卡农"),
        ("`play_music: title=卡农`", "卡农"),
        ("\"play_music\": \"title\"=\"卡农\"", "卡农"),
    ];
    for (line, title) in cases {
        assert_eq!(
            read([line]),
            is(Intent::new("play_music").with("title", title)),
            "{line}"
        );
    }
}

#[test]
fn values_are_of_their_kind_or_said_not_to_be() {
    let fine = read(["volume: pct=５０, gain=-1.5, mute=是"]);
    let expected = Intent::new("volume")
        .with("pct", 50)
        .with("gain", -1.5)
        .with("mute", true);
    assert_eq!(fine, is(expected));
    let wrong = read(["volume: pct=half, mute=\"a bit\""]);
    let not = |key: &str, kind| MatchNote::NotOfKind {
        key: key.into(),
        kind,
    };
    let expected = Intent::new("volume").with("pct", "half").with("mute", "a bit");
    assert_eq!(
        wrong,
        is(noted(
            expected,
            &[not("pct", VarKind::Int), not("mute", VarKind::Bool)]
        ))
    );
    let shown = not("pct", VarKind::Int).to_string();
    assert_eq!(shown, "\"pct\" is not of type int; it is kept as words");
}

#[test]
fn what_a_rule_has_no_place_for_is_kept_apart() {
    let key = |text: &str| text.to_owned();
    let unknown = |k: &str, v: &str| MatchNote::UnknownKey {
        key: key(k),
        value: key(v),
    };
    let cases = [
        (
            "play_music: title=a, tempo=fast",
            noted(
                Intent::new("play_music").with("title", "a"),
                &[unknown("tempo", "fast")],
            ),
        ),
        (
            "play_music: title=a, title=b",
            noted(
                Intent::new("play_music").with("title", "a"),
                &[MatchNote::Again {
                    key: key("title"),
                    value: key("b"),
                }],
            ),
        ),
        (
            "play_music: 卡农, artist=b",
            noted(
                Intent::new("play_music").with("artist", "b"),
                &[MatchNote::Stray { text: key("卡农") }],
            ),
        ),
        ("play_music: title=[曲名], artist=", Intent::new("play_music")),
        ("play_music: title=[title]", Intent::new("play_music")),
        ("play_music:", Intent::new("play_music")),
        ("play_music: , ,", Intent::new("play_music")),
    ];
    for (line, intent) in cases {
        assert_eq!(read([line]), is(intent), "{line}");
    }
    for note in [
        unknown("a", "b"),
        MatchNote::Again {
            key: key("a"),
            value: key("b"),
        },
        MatchNote::Stray { text: key("a") },
        MatchNote::Cut,
    ] {
        assert!(!note.to_string().is_empty());
    }
}

#[test]
fn several_lines_are_several_findings() {
    let answer = "```text\r\nplay_music\r\n\r\n- \nI think so: yes\rvolume: pct=1\n```\nnothing";
    let words = Finding::Words("I think so: yes".into());
    let intent = |intent| Finding::Intent(intent);
    let expected = [
        intent(Intent::new("play_music")),
        words,
        intent(Intent::new("volume").with("pct", 1)),
        intent(Intent::new("nothing")),
    ];
    assert_eq!(read([answer]), expected);
    assert_eq!(read(["-"]), []);
    assert_eq!(read([""]), []);
}

#[test]
fn what_is_too_much_is_cut_and_said() {
    let long = format!("play_music: title={}\nvolume", "长".repeat(10_000));
    let found = read([long.as_str()]);
    let Some(Finding::Intent(first)) = found.first() else {
        panic!("{found:?}")
    };
    assert_eq!(first.notes, [MatchNote::Cut]);
    let title = first.args.get("title").unwrap().as_str().unwrap();
    assert!(title.len() > 4_000 && title.len() < 4_096, "{}", title.len());
    assert_eq!(found.get(1), Some(&Finding::Intent(Intent::new("volume"))));

    let many = "play_music\n".repeat(1_000);
    let found = read([many.as_str()]);
    assert_eq!(found.len(), 33);
    assert_eq!(found.last(), Some(&Finding::TooMany));
}

#[test]
fn a_found_intent_is_written_as_it_is_read() {
    let intent = noted(Intent::new("a").with("b", 1), &[MatchNote::Cut]);
    let written = json!({"rule": "a", "args": {"b": 1}, "notes": ["cut"]});
    assert_eq!(serde_json::to_value(&intent).unwrap(), written);
    assert_eq!(serde_json::from_value::<Intent>(written).unwrap(), intent);
}

/// Lines that are nearly right, and garbage.
fn answer() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "play_music",
        "volume",
        ":",
        "：",
        "title",
        "pct",
        "=",
        "＝",
        ",",
        "，",
        "\"",
        "'",
        "“",
        "”",
        "\\",
        "卡农",
        "5",
        " ",
        "\n",
        "\r",
        "\r\n",
        "- ",
        "```",
        "[曲名]",
        "é",
        "\u{0}",
        "😀",
    ]);
    let words = prop::collection::vec(word, 0..60).prop_map(|words| words.concat());
    prop_oneof![4 => words, 1 => any::<String>()]
}

proptest! {
    #![proptest_config(Config { cases: 2_048, failure_persistence: None, ..Config::default() })]

    #[test]
    fn any_split_gives_the_same(text in answer(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12)) {
        let chars: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let mut at: Vec<usize> = cuts.iter().map(|cut| *cut.get(&chars)).collect();
        at.extend([0, text.len()]);
        at.sort_unstable();
        let pieces: Vec<&str> = at.windows(2).map(|w| &text[w[0]..w[1]]).collect();
        prop_assert_eq!(read(pieces), read([text.as_str()]));
    }

    #[test]
    fn an_argument_that_is_quoted_comes_back(title in "[^\\p{C}\r\n]{1,40}", artist in "[a-z,=\"'\\\\ ]{0,20}") {
        let quote = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
        let line = format!("play_music: title={}, artist={}", quote(&title), quote(&artist));
        let found = read([line.as_str()]);
        let mut intent = Intent::new("play_music");
        for (name, words) in [("title", &title), ("artist", &artist)] {
            if !words.is_empty() {
                intent = intent.with(name, words.as_str());
            }
        }
        prop_assume!(title != "[曲名]" && title != "[title]" && artist != "[artist]");
        prop_assert_eq!(found, is(intent));
    }
}
