//! The kinds of values of settings: reading them from text (flags, variables, defaults) and showing them.

use std::fmt;
use std::time::Duration;

use agentx_llm::Secret;
use agentx_types::{NanoUsd, nearest, show_time};

use crate::layers::duration::parse_duration;
use crate::layers::template::{ValueError, template};
use crate::layers::written_rule::WrittenRule;

/// The highest temperature that a provider takes.
pub(crate) const MOST_TEMPERATURE: f64 = 2.0;

/// The kind of value of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// Any text.
    Text,
    /// A path; a leading `~/` is the home directory.
    Path,
    /// An http or https address without user or password.
    Url,
    /// The address of a server of AgentX: `http`, `https`, `ws`, `wss` or only host and port; `local` for
    /// none.
    Server,
    /// A whole number, from 0.
    Count,
    /// A number from 0 to 2.
    Temperature,
    /// US dollars.
    Money,
    /// US dollars for a million tokens.
    Price,
    /// A time with a unit: `90s`, `10m`, `1h30m`.
    Duration,
    /// A choice of these words.
    Choice(&'static [&'static str]),
    /// A template with these names as `{name}`.
    Template(&'static [&'static str]),
    /// A list of texts, with an example of its items.
    Names(&'static str),
    /// A list of approval rules.
    Rules,
    /// A key by reference: `${NAME}`.
    Key,
    /// The name of an environment variable that holds a key.
    KeyVariable,
    /// A value of this kind, or `none`.
    OrNone(&'static ValueKind),
}

impl ValueKind {
    /// Describes the expected value.
    pub fn expects(self) -> String {
        match self {
            Self::Text => "text".into(),
            Self::Path => "a path".into(),
            Self::Url => "an address such as `https://api.example.com`".into(),
            Self::Server => "the address of a server such as `http://127.0.0.1:5200`, or `local`".into(),
            Self::Count => "a whole number from 0".into(),
            Self::Temperature => "a number from 0 to 2".into(),
            Self::Money => "an amount of US dollars such as `0.50`".into(),
            Self::Price => "US dollars per million tokens such as `3.00`".into(),
            Self::Duration => "a time with a unit such as `90s`, `10m` or `1h30m`".into(),
            Self::Choice(words) => format!("one of {}", words.join(", ")),
            Self::Template(names) => format!("a text with {{{}}}", names.join("}, {")),
            Self::Names(example) => format!("a list such as `[{example}]`"),
            Self::Rules => {
                "a list of rules such as `- {effect: allow, tool: bash, argument: \"git status*\"}`".into()
            }
            Self::Key => "a reference such as `${ANTHROPIC_API_KEY}`".into(),
            Self::KeyVariable => "the name of an environment variable such as `ANTHROPIC_API_KEY`".into(),
            Self::OrNone(kind) => format!("`none` or {}", kind.expects()),
        }
    }
}

/// A value as it was read.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Text, paths, addresses, choices.
    Text(String),
    /// Whole numbers.
    Count(u64),
    /// Numbers.
    Number(f64),
    /// Money: an amount, or a price in nano-dollars a token.
    Money(NanoUsd),
    /// Milliseconds.
    Millis(u64),
    /// Names.
    Names(Vec<String>),
    /// Rules, each with its own place.
    Rules(Vec<WrittenRule>),
    /// A reference to a key.
    Key(KeyReference),
    /// The file that holds the value, as it was written.
    File(String),
    /// `none`: no limit. Replaces a limit of lower layers.
    Nothing,
}

/// The source of a provider's key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyReference {
    /// In this environment variable.
    Env(String),
    /// Written down in a file; accepted, warned about, never shown.
    Literal(Secret),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Count(count) => write!(f, "{count}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Money(money) => write!(f, "{}", money.as_usd()),
            Self::Millis(millis) => f.write_str(&show_time(Duration::from_millis(*millis))),
            Self::Names(names) => write!(f, "[{}]", names.join(", ")),
            Self::Rules(rules) if rules.len() == 1 => f.write_str("1 rule"),
            Self::Rules(rules) => write!(f, "{} rules", rules.len()),
            Self::Key(KeyReference::Env(name)) => write!(f, "${{{name}}}"),
            Self::Key(KeyReference::Literal(_)) => f.write_str("<hidden>"),
            Self::File(path) => write!(f, "(file {path})"),
            Self::Nothing => f.write_str("none"),
        }
    }
}

/// Reads a value of a kind from words, as flags and variables have it.
///
/// # Errors
/// Returns the problem, and the nearest valid word if there is one.
pub(crate) fn from_words(kind: ValueKind, words: &str) -> Result<Value, ValueError> {
    let wrong = || (format!("expected {}, found {words:?}", kind.expects()), None);
    let usd = || number(words.trim_start_matches('$'));
    match kind {
        ValueKind::Text => Ok(Value::Text(words.to_owned())),
        ValueKind::Path if !words.is_empty() => Ok(Value::Text(words.to_owned())),
        ValueKind::Url => url(words).map(Value::Text).map_err(|what| (what, None)),
        ValueKind::Server => server(words).map(Value::Text).map_err(|what| (what, None)),
        ValueKind::Count => words
            .replace('_', "")
            .parse()
            .map(Value::Count)
            .map_err(|_| wrong()),
        ValueKind::Temperature => number(words)
            .filter(|n| *n <= MOST_TEMPERATURE)
            .map(Value::Number)
            .ok_or_else(wrong),
        ValueKind::Money => usd().and_then(money).map(Value::Money).ok_or_else(wrong),
        ValueKind::Price => usd().and_then(price).map(Value::Money).ok_or_else(wrong),
        ValueKind::Duration => parse_duration(words).map(Value::Millis).ok_or_else(|| {
            let unit = words.parse::<u64>().ok().map(|seconds| format!("{seconds}s"));
            (wrong().0, unit)
        }),
        ValueKind::Choice(choices) => choice(choices, words).ok_or_else(|| {
            let near = nearest(words, choices.iter().copied(), 1);
            (wrong().0, near.first().map(|word| (*word).to_owned()))
        }),
        ValueKind::Template(names) => template(names, words).map(|()| Value::Text(words.to_owned())),
        ValueKind::Names(_) => Ok(Value::Names(names(words))),
        ValueKind::Key => Ok(Value::Key(key(words))),
        ValueKind::KeyVariable if is_variable(words) => Ok(Value::Key(KeyReference::Env(words.to_owned()))),
        // The text may be the key itself, so it is not repeated.
        ValueKind::KeyVariable => Err((format!("expected {}", kind.expects()), None)),
        ValueKind::OrNone(_) if words == "none" => Ok(Value::Nothing),
        ValueKind::OrNone(inner) => from_words(*inner, words).map_err(|(_, near)| (wrong().0, near)),
        ValueKind::Path | ValueKind::Rules => Err(wrong()),
    }
}

fn choice(choices: &[&str], word: &str) -> Option<Value> {
    choices.contains(&word).then(|| Value::Text(word.to_owned()))
}

fn names(words: &str) -> Vec<String> {
    words
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

fn number(words: &str) -> Option<f64> {
    words
        .parse::<f64>()
        .ok()
        .filter(|number| number.is_finite() && *number >= 0.0)
}

pub(crate) fn money(usd: f64) -> Option<NanoUsd> {
    (0.0..=1e9).contains(&usd).then(|| NanoUsd::from_usd(usd))
}

/// Dollars a million tokens to nano-dollars a token.
pub(crate) fn price(usd: f64) -> Option<NanoUsd> {
    (0.0..=1e6)
        .contains(&usd)
        .then(|| NanoUsd((usd * 1e3).round() as u64))
}

fn key(words: &str) -> KeyReference {
    let inner = words
        .strip_prefix("${")
        .and_then(|rest| rest.strip_suffix('}'))
        .or_else(|| words.strip_prefix('$'));
    match inner {
        Some(name) if is_variable(name) => KeyReference::Env(name.to_owned()),
        _ => KeyReference::Literal(Secret::new(words)),
    }
}

/// Returns whether a variable may be called so: letters, digits and `_`, and no digit at first.
pub fn is_variable(name: &str) -> bool {
    !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !name.starts_with(|c: char| c.is_ascii_digit())
}

/// Checks an address.
///
/// # Errors
/// Returns the mistake, without a password.
pub(crate) fn url(words: &str) -> Result<String, String> {
    let words = words.trim();
    // A value with a password is not repeated.
    if words.contains('@') {
        return Err(
            "an address must not contain a user or a password; set the key with `api_key_env`".into(),
        );
    }
    let wrong = || format!("expected {}, found {words:?}", ValueKind::Url.expects());
    let lacks_scheme = || {
        if words.contains("://") || words.contains(char::is_whitespace) || words.is_empty() {
            wrong()
        } else {
            format!("{}; did you mean `http://{words}`?", wrong())
        }
    };
    let rest = words
        .strip_prefix("https://")
        .or_else(|| words.strip_prefix("http://"))
        .ok_or_else(lacks_scheme)?;
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let is_odd = |c: char| c.is_control() || c.is_whitespace() || c == '#';
    if host.is_empty() || words.chars().any(is_odd) {
        return Err(wrong());
    }
    Ok(words.trim_end_matches('/').to_owned())
}

fn server(words: &str) -> Result<String, String> {
    // A value with a secret is not repeated.
    if words.contains(['@', '?', '#']) {
        return Err(
            "the address of a server must not contain a user, a password or a query; AgentX signs in with your key".into(),
        );
    }
    let wrong = || format!("expected {}, found {words:?}", ValueKind::Server.expects());
    let (scheme, rest) = words.split_once("://").unwrap_or(("http", words));
    let scheme = scheme.to_ascii_lowercase();
    let host = rest.split('/').next().unwrap_or_default();
    let is_scheme = matches!(scheme.as_str(), "http" | "https" | "ws" | "wss");
    if !is_scheme || host.is_empty() || words.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err(wrong());
    }
    Ok(words.trim_end_matches('/').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        for (words, millis) in [
            ("90s", 90_000),
            ("10m", 600_000),
            ("1h30m", 5_400_000),
            ("500ms", 500),
            ("1h 5m", 3_900_000),
            ("2d", 172_800_000),
            ("1w", 604_800_000),
        ] {
            assert_eq!(
                from_words(ValueKind::Duration, words),
                Ok(Value::Millis(millis)),
                "{words}"
            );
        }
        for words in ["", "10", "m", "10x", "-5s", "99999999999999999999s", "1.5h"] {
            assert!(from_words(ValueKind::Duration, words).is_err(), "{words}");
        }
        assert_eq!(
            from_words(ValueKind::Duration, "600").unwrap_err().1.as_deref(),
            Some("600s")
        );
        assert_eq!(show_time(Duration::from_millis(5_400_000)), "1h30m");
    }

    #[test]
    fn a_limit_may_be_none() {
        let kind = ValueKind::OrNone(&ValueKind::Duration);
        assert_eq!(from_words(kind, "none"), Ok(Value::Nothing));
        assert_eq!(from_words(kind, "90s"), Ok(Value::Millis(90_000)));
        let (what, near) = from_words(kind, "90").unwrap_err();
        assert!(
            what.contains("`none` or a time") && near.as_deref() == Some("90s"),
            "{what}"
        );
        assert_eq!(Value::Nothing.to_string(), "none");
    }

    #[test]
    fn keys_are_references_or_hidden() {
        assert_eq!(key("${A_KEY}"), KeyReference::Env("A_KEY".into()));
        assert_eq!(key("$A_KEY"), KeyReference::Env("A_KEY".into()));
        let literal = Value::Key(key("sk-very-secret"));
        assert!(!format!("{literal} {literal:?}").contains("secret"));
        let (error, _) = from_words(ValueKind::KeyVariable, "sk-very-secret").unwrap_err();
        assert!(!error.contains("secret"));
    }

    #[test]
    fn addresses_hold_no_password() {
        assert_eq!(
            from_words(ValueKind::Url, " http://localhost:11434/v1/\n"),
            Ok(Value::Text("http://localhost:11434/v1".into()))
        );
        for words in ["localhost", "ftp://x", "https://", "https://a b", "https://h/#x"] {
            assert!(from_words(ValueKind::Url, words).is_err(), "{words}");
        }
        let (error, _) = from_words(ValueKind::Url, "https://me:hunter2@host/").unwrap_err();
        assert!(!error.contains("hunter2"));
    }

    #[test]
    fn servers_are_named_in_every_form_and_hold_no_secret() {
        for words in [
            "http://h:5200",
            "wss://h/agents",
            "127.0.0.1:5200",
            "[::1]:5200",
            "local",
        ] {
            assert_eq!(
                from_words(ValueKind::Server, words),
                Ok(Value::Text(words.into()))
            );
        }
        for words in ["", "ftp://h", "http://", "http://h x"] {
            assert!(from_words(ValueKind::Server, words).is_err(), "{words}");
        }
        let (error, _) = from_words(ValueKind::Server, "http://me:hunter2@h?token=abc").unwrap_err();
        assert!(!error.contains("hunter2") && !error.contains("abc"), "{error}");
    }

    #[test]
    fn money_is_finite() {
        assert_eq!(
            from_words(ValueKind::Money, "$0.5"),
            Ok(Value::Money(NanoUsd(500_000_000)))
        );
        assert_eq!(
            from_words(ValueKind::Price, "3"),
            Ok(Value::Money(NanoUsd(3_000)))
        );
        for words in ["NaN", "inf", "-1", "much"] {
            assert!(from_words(ValueKind::Money, words).is_err(), "{words}");
        }
    }
}
