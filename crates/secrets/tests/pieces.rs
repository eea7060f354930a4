//! Text in pieces gives the same result as the whole, with little held back.

use agentx_secrets::{Origin, Redactor, SecretSet};
use proptest::prelude::*;

/// Made-up values: some overlap each other and themselves, and have characters that encodings change.
const VALUES: &[&str] = &[
    "abcabcabd-1",
    "abcabd-1-tail",
    "aXaXaXaXb-aXaX",
    "grün/und+blau=7",
    "quote\"back\\slash",
];

fn redactor() -> Redactor {
    let mut set = SecretSet::default();
    for (number, value) in VALUES.iter().enumerate() {
        assert!(set.add(&format!("S{number}"), Origin::Variable, value));
    }
    Redactor::new(&set)
}

/// Pieces of text that join each other in the middle of secrets.
fn part() -> impl Strategy<Value = String> {
    let value = prop::sample::select(VALUES);
    let cut = (value.clone(), 0..16usize, any::<bool>()).prop_map(|(value, at, is_end)| {
        let at = value
            .char_indices()
            .map(|(at, _)| at)
            .nth(at)
            .unwrap_or(value.len());
        let (start, end) = value.split_at(at);
        if is_end { end.to_owned() } else { start.to_owned() }
    });
    let key = prop::sample::select(
        &[
            "sk-ant-api03-aaaabbbbccccddddeeeeffff",
            "ghp_aaaabbbbccccddddeeeeffffgggghhhhiiii",
            "AKIA2222333344445555",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJtYWRlIn0.c2lnbmF0dXJl",
            "-----BEGIN PRIVATE KEY-----\nAAAABBBBCCCCDDDDEEEEFFFFGGGGHHHHIIIIJJJJKKKKLLLLMMMMNNNNOOOOPPPP\n-----END PRIVATE KEY-----",
            "sk-",
            "AKIA",
            "eyJ",
            "-----BEGIN ",
            "-----",
        ][..],
    );
    prop_oneof![
        value.prop_map(str::to_owned),
        cut,
        key.prop_map(str::to_owned),
        "[aXb é\n=\"\\\\.-]{0,6}",
    ]
}

proptest! {
    #[test]
    fn a_text_in_pieces_is_redacted_as_the_whole(
        parts in prop::collection::vec(part(), 0..12),
        cuts in prop::collection::vec(0..400usize, 0..40),
    ) {
        let text = parts.concat();
        let redactor = redactor();
        let whole = redactor.redact(&text).into_owned();
        let mut cuts: Vec<usize> = cuts.into_iter().filter(|at| text.is_char_boundary(*at)).collect();
        cuts.push(text.len());
        cuts.sort_unstable();
        let mut stream = redactor.stream();
        let mut shown = String::new();
        let mut from = 0;
        for cut in cuts {
            shown.push_str(&stream.push(&text[from..cut]));
            from = cut;
        }
        shown.push_str(&stream.finish());
        prop_assert!(!stream.holds_back());
        prop_assert_eq!(&shown, &whole);
        for value in VALUES {
            prop_assert!(!whole.contains(value), "{} is in {}", value, whole);
        }
    }

    #[test]
    fn findings_are_the_places_that_are_replaced(parts in prop::collection::vec(part(), 0..12)) {
        let text = parts.concat();
        let redactor = redactor();
        let mut rebuilt = String::new();
        let mut from = 0;
        for found in redactor.find(&text) {
            rebuilt.push_str(&text[from..found.start]);
            rebuilt.push_str(&format!("[secret {}]", found.name));
            from = found.end;
        }
        rebuilt.push_str(&text[from..]);
        prop_assert_eq!(redactor.redact(&text), rebuilt);
    }
}

#[test]
fn ordinary_text_is_not_held_back() {
    let mut stream = Redactor::new(&SecretSet::default()).stream();
    for word in ["The ", "agents", " read", " along", "side", " `main.rs`"] {
        assert_eq!(stream.push(word), word);
        assert!(!stream.holds_back());
    }
    let mut stream = redactor().stream();
    assert_eq!(stream.push("The last word"), "The last ");
    assert!(stream.holds_back());
    assert_eq!(stream.push(" is"), "word ");
    assert_eq!(stream.finish(), "is");
}

/// A redactor of a value with blanks, which is in no text of the test.
fn with_blanks(value: &str) -> Redactor {
    let mut set = SecretSet::default();
    assert!(set.add("BLANKS", Origin::Variable, value));
    Redactor::new(&set)
}

/// Values that are in no text of the test, of the same kinds as [`VALUES`].
const OTHERS: &[&str] = &["zzz9zzz9zzz9-77"];

proptest! {
    /// The author of a text does not learn from its cuts how the secrets begin.
    #[test]
    fn what_is_held_back_does_not_depend_on_the_values(
        parts in prop::collection::vec(part(), 0..12),
        cuts in prop::collection::vec(0..400usize, 0..40),
        has_blanks in any::<bool>(),
    ) {
        let text = VALUES.iter().fold(parts.concat(), |text, value| text.replace(value, ""));
        let known = redactor();
        if known.redact(&text) != text {
            return Ok(());
        }
        let mut set = SecretSet::default();
        for value in OTHERS {
            set.add("OTHER", Origin::Variable, value);
        }
        let other = Redactor::new(&set);
        let (mut one, mut two) = if has_blanks {
            (with_blanks("made up 12").stream(), with_blanks("other words 34").stream())
        } else {
            (known.stream(), other.stream())
        };
        let mut cuts: Vec<usize> = cuts.into_iter().filter(|at| text.is_char_boundary(*at)).collect();
        cuts.sort_unstable();
        let mut from = 0;
        for cut in cuts {
            prop_assert_eq!(one.push(&text[from..cut]), two.push(&text[from..cut]));
            from = cut;
        }
        prop_assert_eq!(one.finish(), two.finish());
    }
}

#[test]
fn long_values_are_found_by_their_lines_and_words() {
    let mut set = SecretSet::default();
    let words = "one two three four five six seven eight nine ten eleven twelve";
    assert!(set.add("WORDS", Origin::Variable, words));
    assert!(set.add("LINES", Origin::Variable, "first-made-up\nsecond-made-up\n"));
    assert!(set.add("SHORT", Origin::Variable, "ab1\ncd2\nef3"));
    let redactor = Redactor::new(&set);
    assert_eq!(redactor.redact(words), "[secret WORDS] [secret WORDS]");
    let mut nine = SecretSet::default();
    assert!(nine.add(
        "NINE",
        Origin::Variable,
        "alpha beta gamma delta epsilon zeta eta theta io"
    ));
    let shown = Redactor::new(&nine)
        .redact("alpha beta gamma delta epsilon zeta eta theta io")
        .into_owned();
    assert_eq!(shown, "[secret NINE] [secret NINE]", "no word at the end stays");
    assert_eq!(
        redactor.redact("1: first-made-up\n2: second-made-up"),
        "1: [secret LINES]\n2: [secret LINES]"
    );
    assert_eq!(redactor.redact("ab1\ncd2\nef3"), "[secret SHORT]");
}

#[test]
fn text_made_of_beginnings_takes_linear_time_and_little_memory() {
    let mut stream = redactor().stream();
    let mut shown = 0;
    for _ in 0..100_000 {
        shown += stream.push("aXaXaXaXb").len();
    }
    shown += stream.finish().len();
    assert!(shown >= 900_000, "{shown}");
    let mut lines = redactor().stream();
    let shown: usize = (0..10_000).map(|_| lines.push("YWJj\n\n\n").len()).sum();
    assert!(shown > 69_000, "{shown}");
    let mut base64 = redactor().stream();
    let shown: usize = (0..10_000)
        .map(|_| base64.push("QUJDREVGR0hJSktMTU5PUFFS\n").len())
        .sum();
    assert!(shown > 240_000, "{shown}");
    let long = format!(
        "-----BEGIN PRIVATE KEY-----{}",
        "sk-ant-eyJ-----BEGIN ".repeat(50_000)
    );
    assert!(redactor().redact(&long).contains("[secret private-key]"));
}
