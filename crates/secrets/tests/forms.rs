//! The forms in which a secret is found, and texts that only look like one. All values are made up.

use agentx_secrets::{Origin, Redactor, SecretSet};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

const VALUE: &str = "made+up/Value=42\"quoted\"x";

fn redactor() -> Redactor {
    let mut set = SecretSet::default();
    assert!(set.add("TOKEN", Origin::Variable, VALUE));
    Redactor::new(&set)
}

#[track_caller]
fn hides(redactor: &Redactor, text: &str, secret: &str) {
    let redacted = redactor.redact(text);
    assert!(!redacted.contains(secret), "{text} became {redacted}");
    assert!(redacted.contains("[secret "), "{text} became {redacted}");
}

#[test]
fn a_value_is_found_in_every_encoding() {
    let hex: String = VALUE.bytes().map(|byte| format!("{byte:02x}")).collect();
    let percent: String = VALUE.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let json = serde_json::to_string(VALUE).unwrap();
    let twice = serde_json::to_string(&json).unwrap();
    let encoded = [
        VALUE.to_owned(),
        hex.to_uppercase(),
        hex,
        percent.to_lowercase(),
        percent,
        "made%2Bup%2FValue%3D42%22quoted%22x".to_owned(),
        json.trim_matches('"').to_owned(),
        twice
            .trim_matches('"')
            .trim_matches('\\')
            .trim_matches('"')
            .to_owned(),
        STANDARD.encode(VALUE),
        URL_SAFE_NO_PAD.encode(VALUE),
    ];
    for form in encoded {
        let text = format!("before {form} after");
        let redacted = redactor().redact(&text).into_owned();
        assert!(redacted.starts_with("before [secret TOKEN]"), "{redacted}");
        assert!(redacted.ends_with(" after"), "{redacted}");
        assert!(redacted.len() < 50, "{redacted}");
    }
}

#[test]
fn base64_of_a_line_with_the_value_keeps_no_more_than_the_borders() {
    for before in ["", "a", "ab", "abc", "user:"] {
        let encoded = STANDARD.encode(format!("{before}{VALUE}:rest"));
        let redacted = redactor().redact(&encoded).into_owned();
        let left = encoded.len() - STANDARD.encode(VALUE).len() + 8;
        assert!(redacted.contains("[secret TOKEN]"), "{redacted}");
        assert!(redacted.len() <= left + "[secret TOKEN]".len(), "{redacted}");
    }
}

#[test]
fn base64_in_lines_is_found() {
    let encoded = STANDARD.encode(format!("A=1\nTOKEN={VALUE}\nB=2\n"));
    for width in [1, 4, 7, 20] {
        for end in ["\n", "\r\n"] {
            let lines: Vec<&str> = (0..encoded.len())
                .step_by(width)
                .map(|at| &encoded[at..(at + width).min(encoded.len())])
                .collect();
            let text = lines.join(end);
            let redacted = redactor().redact(&text).into_owned();
            assert!(redacted.contains("[secret TOKEN]"), "{redacted}");
            let left = redacted.replace(end, "").len() - "[secret TOKEN]".len();
            assert!(left <= encoded.len() - VALUE.len(), "{redacted}");
            assert!(redactor().may_find_in(&serde_json::to_string(&text).unwrap()));
        }
    }
}

/// Tokens of the published forms, with made-up characters.
fn published() -> Vec<(&'static str, String)> {
    let chars = |count: usize| {
        "aB3dE5gH7jK9mN1pQ2sT4vW6"
            .chars()
            .cycle()
            .take(count)
            .collect::<String>()
    };
    let capitals = |count: usize| "A2B3C4D5E6F7".chars().cycle().take(count).collect::<String>();
    let hex = |count: usize| "0a1b2c3d4e5f".chars().cycle().take(count).collect::<String>();
    let claims = URL_SAFE_NO_PAD.encode(r#"{"sub":"made-up","admin":true}"#);
    let head = URL_SAFE_NO_PAD.encode(r#"{"alg":"HS256","typ":"JWT"}"#);
    let block = "MIIEvAIBADANBgkqhkiG9w0BAQEFAASCBKYwggSiAgEAAoIBAQC7\n".repeat(4);
    vec![
        ("anthropic-key", format!("sk-ant-api03-{}AA", chars(93))),
        (
            "openai-key",
            format!("sk-proj-{}T3BlbkFJ{}", chars(74), chars(74)),
        ),
        ("api-key", format!("sk-{}T3BlbkFJ{}", chars(20), chars(20))),
        ("openrouter-key", format!("sk-or-v1-{}", hex(64))),
        ("google-key", format!("AIza{}", chars(35))),
        ("github-token", format!("ghp_{}", chars(36))),
        ("github-token", format!("github_pat_{}", chars(82))),
        ("gitlab-token", format!("glpat-{}", chars(20))),
        (
            "slack-token",
            "xoxb-1234567890-1234567890-madeUpMadeUp".to_owned(),
        ),
        ("aws-key-id", format!("AKIA{}", capitals(16))),
        ("stripe-key", format!("sk_live_{}", chars(24))),
        ("jwt", format!("{head}.{claims}.{}", chars(43))),
        (
            "private-key",
            format!("-----BEGIN RSA PRIVATE KEY-----\n{block}-----END RSA PRIVATE KEY-----"),
        ),
    ]
}

#[test]
fn a_key_of_a_published_form_is_found_without_being_known() {
    let redactor = Redactor::new(&SecretSet::default());
    for (name, token) in published() {
        for before in ["", "key=", "\"", "\\n", "%3D", "\u{1b}[32m", "Bearer ", "é"] {
            let text = format!("{before}{token}\nnext line");
            let expected = format!("{before}[secret {name}]\nnext line");
            assert_eq!(redactor.redact(&text), expected);
        }
    }
}

#[test]
fn ordinary_text_stays() {
    let redactor = redactor();
    for text in [
        "the task-force and the sk-learn package",
        "git checkout -b risk-analysis-of-the-whole-year-2026-and-more",
        "desk-abcdefghijklmnopqrstuvwxyzabcdefghijkl",
        "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQGEwJJ\n",
        "if line.starts_with(\"-----BEGIN RSA PRIVATE KEY-----\") {",
        "eyJhbGciOiJub25lIn0",
        "ghp_short AKIA AIzaX xoxb-1",
        "3f786850e387550fdab836ed7e6dc881de23001b",
        "made+up",
    ] {
        assert_eq!(redactor.redact(text), text);
        assert!(redactor.find(text).is_empty());
    }
}

#[test]
fn what_follows_a_private_key_stays() {
    let redactor = Redactor::new(&SecretSet::default());
    let key = published().pop().unwrap().1;
    let text = format!("{key}\nand so on, with words");
    assert_eq!(
        redactor.redact(&text),
        "[secret private-key]\nand so on, with words"
    );
    let escaped = format!("{{\"key\":\"{}\",\"id\":1}}", key.replace('\n', "\\n"));
    assert_eq!(
        redactor.redact(&escaped),
        "{\"key\":\"[secret private-key]\",\"id\":1}"
    );
    let numbered: Vec<String> = (1..)
        .zip(key.lines())
        .map(|(number, line)| format!("{number}\t{line}"))
        .collect();
    hides(&redactor, &numbered.join("\n"), "MIIEvAIBADANBg");
}

#[test]
fn secrets_that_overlap_become_one() {
    let mut set = SecretSet::default();
    set.add("ONE", Origin::Variable, "abcdefgh-1");
    set.add("TWO", Origin::Variable, "fgh-1-made-up");
    set.add("INSIDE", Origin::Variable, "bcdefgh-");
    let redactor = Redactor::new(&set);
    assert_eq!(redactor.redact("<abcdefgh-1-made-up>"), "<[secret ONE]>");
    assert_eq!(
        redactor.redact("<abcdefgh-1abcdefgh-1>"),
        "<[secret ONE][secret ONE]>"
    );
    let found = redactor.find("<abcdefgh-1-made-up>");
    assert_eq!((found[0].start, found[0].end), (1, 19));
}

#[test]
fn lines_of_a_value_are_secrets_too_and_ordinary_values_are_not() {
    let mut set = SecretSet::default();
    assert!(set.add(
        "PEM",
        Origin::EnvFile,
        "-----BEGIN X-----\nfirstMadeUpLine\nsecondMadeUpLine\n"
    ));
    for ordinary in ["short", "changeme", "aaaaaaaaaaaa", "  Password  "] {
        assert!(!set.add("ORDINARY", Origin::EnvFile, ordinary), "{ordinary}");
    }
    let redactor = Redactor::new(&set);
    assert_eq!(redactor.redact("12: secondMadeUpLine"), "12: [secret PEM]");
    assert_eq!(redactor.redact("changeme"), "changeme");
    assert!(!format!("{set:?} {redactor:?}").contains("MadeUp"));
}
