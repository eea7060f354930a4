//! Arguments of a call that its client repeats in headers (`Mcp-Param-NAME`), so that proxies need not read
//! the body: each must equal the argument in the body. The schema of the tool marks them with `x-mcp-header`.

use std::collections::BTreeMap;

use agentx_types::{ArgumentHeader, argument_headers};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

/// The beginning of the names of these headers, in small letters.
const PREFIX: &str = "mcp-param-";
/// The beginning and the end of a header's value in Base64.
const BASE64: (&str, &str) = ("=?base64?", "?=");

/// The headers of a request that repeat arguments, by the last part of their names; `None` for one that
/// cannot be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SentArguments(BTreeMap<String, Option<String>>);

impl SentArguments {
    /// Adds a header of the request, with its name in small letters, if it is one of these; `value` is `None`
    /// if it is not in ASCII. A proxy may read another one of two headers than the server, so a header that
    /// comes twice cannot be read.
    ///
    /// ```
    /// use agentx_mcp::SentArguments;
    ///
    /// let mut sent = SentArguments::default();
    /// sent.add("accept", Some("text/html"));
    /// assert_eq!(sent, SentArguments::default());
    /// ```
    pub fn add(&mut self, header: &str, value: Option<&str>) {
        let Some(name) = header.strip_prefix(PREFIX) else {
            return;
        };
        let value = value.map(|value| value.trim().to_owned());
        let known = self.0.entry(name.to_owned());
        known.and_modify(|first| *first = None).or_insert(value);
    }

    /// Returns the first difference between a header and the arguments. `must` means that none may be
    /// missing.
    pub(super) fn mismatch(
        &self,
        schema: &Value,
        arguments: Option<&Map<String, Value>>,
        must: bool,
    ) -> Option<String> {
        // Clients leave out a tool with an invalid mark, so they do not repeat its arguments.
        let marked = argument_headers(schema).ok()?;
        marked
            .iter()
            .find_map(|marked| self.mismatch_of(marked, arguments, must))
    }

    fn mismatch_of(
        &self,
        marked: &ArgumentHeader,
        arguments: Option<&Map<String, Value>>,
        must: bool,
    ) -> Option<String> {
        let (header, argument) = (&marked.name, marked.path.join("."));
        let said = arguments.and_then(|arguments| value_at(arguments, &marked.path));
        let sent = match (self.0.get(&header.to_ascii_lowercase()), said) {
            (None, None) => return None,
            (None, Some(_)) => {
                return must
                    .then(|| format!("the header Mcp-Param-{header} is missing: it repeats `{argument}`"));
            }
            (Some(None), _) => {
                return Some(format!(
                    "the header Mcp-Param-{header} came more than once, or not in ASCII"
                ));
            }
            (Some(Some(_)), None) => {
                return Some(format!(
                    "the header Mcp-Param-{header} repeats `{argument}`, which the body does not have"
                ));
            }
            (Some(Some(sent)), Some(_)) => sent,
        };
        let Some(sent) = decoded(sent) else {
            return Some(format!("the header Mcp-Param-{header} is not valid Base64"));
        };
        let is_same = said.is_some_and(|said| header_matches(said, &sent));
        // The value may be a secret, so the answer does not repeat it.
        (!is_same).then(|| {
            format!("the header Mcp-Param-{header} says something else than `{argument}` in the body")
        })
    }
}

/// Returns the value at a path, if it is one that a header can repeat.
fn value_at<'a>(arguments: &'a Map<String, Value>, path: &[String]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    let value = rest
        .iter()
        .try_fold(arguments.get(first)?, |value, name| value.get(name))?;
    (value.is_string() || value.is_number() || value.is_boolean()).then_some(value)
}

/// Returns whether a header says this value. Numbers may be written with zeros behind the point.
fn header_matches(value: &Value, sent: &str) -> bool {
    match value {
        Value::String(text) => text == sent,
        Value::Bool(is) => sent == is.to_string(),
        Value::Number(number) => whole(&number.to_string()) == whole(sent),
        _ => false,
    }
}

/// The number without zeros behind the point.
fn whole(number: &str) -> &str {
    match number.split_once('.') {
        Some((whole, zeros)) if !zeros.is_empty() && zeros.bytes().all(|byte| byte == b'0') => whole,
        _ => number,
    }
}

/// Returns the value of a header, which may be in Base64.
pub(super) fn decoded(value: &str) -> Option<String> {
    match value
        .strip_prefix(BASE64.0)
        .and_then(|rest| rest.strip_suffix(BASE64.1))
    {
        Some(packed) => String::from_utf8(STANDARD.decode(packed).ok()?).ok(),
        None => Some(value.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn mismatch(sent: &[(&str, Option<&str>)], arguments: Value, must: bool) -> Option<String> {
        let schema = json!({"properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "count": {"type": "integer", "x-mcp-header": "Count"},
            "dry": {"type": "boolean", "x-mcp-header": "Dry-Run"},
            "place": {"properties": {"city": {"type": "string", "x-mcp-header": "City"}}},
            "other": {"type": "string"},
        }});
        let mut headers = SentArguments::default();
        for (name, value) in sent {
            headers.add(name, *value);
        }
        headers.mismatch(&schema, arguments.as_object(), must)
    }

    #[test]
    fn headers_that_repeat_the_arguments_are_accepted() {
        let base64 = Some("=?base64?SGVsbG8=?=");
        for (header, value, arguments) in [
            (
                "mcp-param-region",
                Some("eu"),
                json!({"region": "eu", "other": "x"}),
            ),
            ("mcp-param-region", Some(" eu\t"), json!({"region": "eu"})),
            ("mcp-param-region", Some(""), json!({"region": ""})),
            ("mcp-param-region", base64, json!({"region": "Hello"})),
            // Half of the marks of Base64 do not count as marks.
            (
                "mcp-param-region",
                Some("=?base64?SGVsbG8="),
                json!({"region": "=?base64?SGVsbG8="}),
            ),
            (
                "mcp-param-region",
                Some("SGVsbG8="),
                json!({"region": "SGVsbG8="}),
            ),
            ("mcp-param-count", Some("42"), json!({"count": 42})),
            ("mcp-param-count", Some("42.0"), json!({"count": 42})),
            ("mcp-param-count", Some("-7"), json!({"count": -7.0})),
            ("mcp-param-dry-run", Some("false"), json!({"dry": false})),
            (
                "mcp-param-city",
                Some("Paris"),
                json!({"place": {"city": "Paris"}}),
            ),
            ("mcp-param-unknown", None, json!({"region": null})),
            ("accept", Some("text/html"), json!({})),
        ] {
            let found = mismatch(&[(header, value)], arguments.clone(), true);
            assert_eq!(found, None, "{header}: {value:?} {arguments}");
        }
    }

    #[test]
    fn headers_that_say_something_else_or_are_missing_are_mismatches() {
        for (header, value, arguments) in [
            ("mcp-param-region", Some("us"), json!({"region": "eu"})),
            ("mcp-param-region", Some("EU"), json!({"region": "eu"})),
            (
                "mcp-param-region",
                Some("=?base64?SGVsbG8?="),
                json!({"region": "Hello"}),
            ),
            (
                "mcp-param-region",
                Some("=?base64?SGVs!!!bG8=?="),
                json!({"region": "Hello"}),
            ),
            ("mcp-param-region", None, json!({"region": "eu"})),
            ("mcp-param-region", Some("eu"), json!({})),
            ("mcp-param-region", Some("null"), json!({"region": null})),
            ("mcp-param-region", Some("[]"), json!({"region": []})),
            ("mcp-param-city", Some("Paris"), json!({"city": "Paris"})),
            ("mcp-param-count", Some("42.5"), json!({"count": 42})),
            (
                "mcp-param-count",
                Some("9007199254740992"),
                json!({"count": 9_007_199_254_740_993_u64}),
            ),
            ("mcp-param-dry-run", Some("True"), json!({"dry": true})),
        ] {
            for must in [true, false] {
                let found = mismatch(&[(header, value)], arguments.clone(), must);
                assert!(found.is_some(), "{header}: {value:?} {arguments}");
            }
        }
        let twice = [("mcp-param-region", Some("eu")), ("mcp-param-region", Some("eu"))];
        assert!(mismatch(&twice, json!({"region": "eu"}), false).is_some());
        assert!(
            mismatch(&[], json!({"region": "secret-value"}), true)
                .is_some_and(|why| !why.contains("secret-value"))
        );
        // Versions with a handshake know no such headers.
        assert_eq!(mismatch(&[], json!({"region": "eu"}), false), None);
    }
}
