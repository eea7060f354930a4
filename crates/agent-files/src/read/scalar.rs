//! Values that are one text, number or word, and the two with a special form: schemas and patterns.

use agentx_config::yaml::{Yaml, YamlNode};
use agentx_config::{Value as Setting, ValueKind, is_variable};
use serde_json::{Value, json};

use crate::jq::JqFilter;
use crate::keys::key_tables::{RefKind, Shape, article};
use crate::keys::tables::MAX_SCRIPT_BYTES;
use crate::read::checker::{Checker, wrong};
use crate::read::findings::{ReferenceSite, SCHEMA_FILE};
use crate::read::json_schema;
use crate::read::params;
use crate::read::rules;
use crate::variables::variables;

/// The longest name.
const MAX_NAME: usize = 64;

/// The largest number of filters in a file: each takes a while to compile.
const MAX_FILTERS: usize = 200;

/// Headers with secrets: their values are given by reference.
pub(crate) fn of_header(name: &str, shape: Shape) -> Shape {
    let name = name.to_ascii_lowercase();
    let secret = [
        "authorization",
        "cookie",
        "token",
        "secret",
        "api-key",
        "apikey",
        "password",
    ];
    match shape {
        Shape::Template if secret.iter().any(|part| name.contains(part)) => Shape::Secret,
        shape => shape,
    }
}

/// Returns whether a header may be called so.
pub(crate) fn is_header(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    !name.is_empty() && name.chars().all(fits)
}

/// Reads a value of a shape that holds no other.
pub(crate) fn read(checker: &mut Checker<'_>, key: &str, shape: Shape, node: &YamlNode) -> Option<Value> {
    match shape {
        Shape::Bool => match node.value {
            Yaml::Bool(bool) => Some(bool.into()),
            _ => wrong(checker, key, node, "true or false"),
        },
        Shape::Count(min, max) => count(checker, key, node, min, max),
        Shape::Temperature => setting(checker, key, ValueKind::Temperature, node),
        Shape::Money => setting(checker, key, ValueKind::Money, node),
        Shape::Duration => setting(checker, key, ValueKind::Duration, node),
        Shape::Choice(words) => setting(checker, key, ValueKind::Choice(words), node),
        Shape::Bytes => bytes(checker, key, node),
        Shape::Schema => schema(checker, key, node, json_schema::read),
        Shape::SchemaOrFile => match &node.value {
            Yaml::Text(path) if !path.trim().is_empty() => Some(schema_file(checker, node, path)),
            _ => schema(checker, key, node, json_schema::read),
        },
        Shape::Params => schema(checker, key, node, params::read),
        Shape::Pattern => rules::pattern(checker, node),
        Shape::Example => rules::example(checker, node),
        _ => text(checker, key, shape, node),
    }
}

/// Checks the keywords of a schema; the compiler checks it as a whole later.
fn schema(
    checker: &mut Checker<'_>,
    key: &str,
    node: &YamlNode,
    read: fn(&mut Checker<'_>, &str, &YamlNode) -> Option<Value>,
) -> Option<Value> {
    let value = read(checker, key, node)?;
    let placed = (node.at, key.to_owned(), value.clone());
    checker.findings.schemas.push(placed);
    Some(value)
}

/// Notes the path of a schema. Returns the placeholder for the schema until its file is read.
fn schema_file(checker: &mut Checker<'_>, node: &YamlNode, path: &str) -> Value {
    let placed = checker.placed(node.at, path);
    checker.findings.schema_files.push(placed);
    json!({ SCHEMA_FILE: path })
}

fn setting(checker: &mut Checker<'_>, key: &str, kind: ValueKind, node: &YamlNode) -> Option<Value> {
    match agentx_config::scalar(kind, &node.value) {
        Ok(Setting::Money(money)) => Some(json!(money.as_usd())),
        Ok(Setting::Number(number)) => Some(json!(number)),
        Ok(value) => Some(value.to_string().into()),
        Err((what, near)) => {
            let hint = near.map(|near| format!("did you mean `{near}`?"));
            checker.wrong(node.at, format!("`{key}`: {what}"), hint);
            None
        }
    }
}

fn count(checker: &mut Checker<'_>, key: &str, node: &YamlNode, min: u64, max: u64) -> Option<Value> {
    let most = if max >= u64::from(u32::MAX) {
        String::new()
    } else {
        format!(" to {max}")
    };
    match node.value {
        Yaml::Int(int) if u64::try_from(int).is_ok_and(|int| (min..=max).contains(&int)) => Some(int.into()),
        Yaml::Int(int) => {
            checker.wrong(
                node.at,
                format!("`{key}`: expected a whole number from {min}{most}, found {int}"),
                None,
            );
            None
        }
        _ => wrong(checker, key, node, &format!("a whole number from {min}{most}")),
    }
}

/// Returns a number of bytes, or text such as `64 MiB`.
fn bytes(checker: &mut Checker<'_>, key: &str, node: &YamlNode) -> Option<Value> {
    let found = match &node.value {
        Yaml::Int(int) => u64::try_from(*int).ok(),
        Yaml::Text(text) => size(text),
        _ => None,
    };
    if found.is_none() {
        checker.expected(key, node, "a number of bytes such as `65536` or `64 MiB`");
    }
    found.map(Value::from)
}

fn size(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (count, unit) = text.split_at(digits);
    let unit = match unit.trim() {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "KB" | "kB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        _ => return None,
    };
    count.parse::<u64>().ok()?.checked_mul(unit)
}

fn text(checker: &mut Checker<'_>, key: &str, shape: Shape, node: &YamlNode) -> Option<Value> {
    let Yaml::Text(text) = &node.value else {
        // A value that YAML read as another type is valid in quotes. A secret is not repeated.
        if let Shape::Secret = shape {
            let what = "expected a reference such as `${API_TOKEN}`";
            checker.wrong(
                node.at,
                format!("`{key}`: {what}, found {}", node.value.kind()),
                None,
            );
            return None;
        }
        let hint = match &node.value {
            Yaml::Int(int) => Some(format!("quote it: \"{int}\"")),
            Yaml::Bool(bool) => Some(format!("quote it: \"{bool}\"")),
            _ => None,
        };
        let what = format!("`{key}`: expected text, found {}", node.value.found());
        checker.wrong(node.at, what, hint);
        return None;
    };
    match of_text(checker, shape, text, node) {
        Ok(()) => Some(bare(shape, text).into()),
        Err(what) => {
            checker.wrong(node.at, format!("`{key}`: {what}"), None);
            None
        }
    }
}

/// Returns a reference without the kind that its place implies.
fn bare(shape: Shape, text: &str) -> &str {
    let Shape::Ref(kind) = shape else { return text };
    text.strip_prefix(kind.word())
        .and_then(|rest| rest.strip_prefix(':'))
        .unwrap_or(text)
}

fn of_text(checker: &mut Checker<'_>, shape: Shape, text: &str, node: &YamlNode) -> Result<(), String> {
    match shape {
        Shape::Words | Shape::Granted if text.trim().is_empty() => Err("it is empty".into()),
        Shape::Name => name(text),
        Shape::ToolName => tool_name(text),
        Shape::Granted => {
            let placed = checker.placed(node.at, text);
            checker.findings.granted.push(placed);
            Ok(())
        }
        Shape::This => this(text),
        Shape::Variable if !is_variable(text) => Err(format!(
            "expected the name of an environment variable such as `API_TOKEN`, found {text:?}"
        )),
        Shape::Host => host(text),
        Shape::Url => url(text),
        Shape::Template => template(text),
        Shape::Secret => secret(text),
        Shape::Ref(kind) => reference(checker, kind, text, node),
        Shape::Jq => {
            jq(checker, text, node);
            Ok(())
        }
        Shape::Script => script(checker, text, node),
        Shape::ScriptFile => {
            let placed = checker.placed(node.at, text);
            checker.findings.script_files.push(placed);
            Ok(())
        }
        _ => Ok(()),
    }
}

fn script(checker: &mut Checker<'_>, text: &str, node: &YamlNode) -> Result<(), String> {
    if text.len() > MAX_SCRIPT_BYTES {
        return Err(format!(
            "the script has {} bytes; at most {MAX_SCRIPT_BYTES} are read",
            text.len()
        ));
    }
    let placed = checker.placed(node.at, text);
    checker.findings.scripts.push(placed);
    Ok(())
}

fn jq(checker: &mut Checker<'_>, text: &str, node: &YamlNode) {
    checker.filters += 1;
    if checker.filters > MAX_FILTERS {
        if checker.filters == MAX_FILTERS + 1 {
            checker.wrong(
                node.at,
                format!("jq: a file holds at most {MAX_FILTERS} filters"),
                None,
            );
        }
        return;
    }
    if let Err(error) = JqFilter::compile(text) {
        let at = checker
            .source
            .position_in(node.at, text, error.offset.unwrap_or(0));
        checker.wrong(at, format!("jq: {}", error.message), None);
    }
}

fn reference(checker: &mut Checker<'_>, kind: RefKind, text: &str, node: &YamlNode) -> Result<(), String> {
    let prefix = text.split_once(':').map(|(prefix, _)| prefix);
    let right = kind == RefKind::Context || prefix.is_none_or(|prefix| prefix == kind.word());
    if !right {
        return Err(format!(
            "`{text}` is not {}; write `{}:NAME`",
            article(kind),
            kind.word()
        ));
    }
    let name = bare(Shape::Ref(kind), text);
    if name.trim().is_empty() {
        return Err("the reference is empty".into());
    }
    checker.findings.links.push(ReferenceSite {
        at: node.at,
        kind,
        name: name.to_owned(),
        depth: checker.agents.saturating_sub(1),
    });
    Ok(())
}

fn name(text: &str) -> Result<(), String> {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    if text.is_empty() || text.chars().count() > MAX_NAME || !text.chars().all(fits) || text.starts_with('.')
    {
        return Err(format!(
            "expected a name of letters, digits, `_`, `-` and `.`, at most {MAX_NAME} characters, found {text:?}"
        ));
    }
    Ok(())
}

fn tool_name(text: &str) -> Result<(), String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if text.is_empty() || text.len() > MAX_NAME || !text.chars().all(fits) {
        return Err(format!(
            "models accept names of ASCII letters, digits, `_` and `-`, at most {MAX_NAME} characters, found {text:?}"
        ));
    }
    Ok(())
}

fn this(text: &str) -> Result<(), String> {
    const KNOWN: &[&str] = &[".prompt", ".name", ".description"];
    if KNOWN.contains(&text) {
        return Ok(());
    }
    Err(format!("expected one of {}, found {text:?}", KNOWN.join(", ")))
}

fn template(text: &str) -> Result<(), String> {
    if text.contains(['\r', '\n']) {
        return Err("it must not contain a line break".into());
    }
    variables(text).map(drop)
}

/// Checks a secret by reference. The message does not repeat a literal value.
fn secret(text: &str) -> Result<(), String> {
    template(text).map_err(|_| "expected a reference such as `${API_TOKEN}`".to_owned())?;
    let words = text.split_once(' ').map_or(text, |(_, rest)| rest);
    let value = words
        .split_once(':')
        .filter(|(user, _)| !user.starts_with('$'))
        .map_or(words, |(_, rest)| rest);
    let is_reference = value.starts_with("${")
        && value.ends_with('}')
        && variables(value).is_ok_and(|names| names.len() == 1)
        && value.matches(['{', '}']).count() == 2;
    if is_reference {
        return Ok(());
    }
    Err("a secret is written here in plain text; put it into an environment variable and refer to it as `${NAME}`".into())
}

fn host(text: &str) -> Result<(), String> {
    let bare = text.strip_prefix("*.").unwrap_or(text);
    let (name, port) = match bare.rsplit_once(':') {
        Some((name, port)) if !name.contains(':') || name.ends_with(']') => (name, Some(port)),
        _ => (bare, None),
    };
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '[' | ']');
    let port_fits = port.is_none_or(|port| port.parse::<u16>().is_ok());
    if name.is_empty() || !name.chars().all(fits) || !port_fits {
        return Err(format!(
            "expected a host such as `api.weather.com` or `*.weather.com`, found {text:?}"
        ));
    }
    Ok(())
}

fn url(text: &str) -> Result<(), String> {
    template(text)?;
    let rest = text
        .strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"));
    let host = rest.map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
    match host {
        // A text with a password is not repeated.
        Some(host) if host.contains('@') => {
            Err("an address must not contain a user or a password; use `auth`".into())
        }
        Some(host) if !host.is_empty() && !text.contains(char::is_whitespace) => Ok(()),
        _ => Err(format!(
            "expected an address such as `https://api.example.com/v1`, found {text:?}"
        )),
    }
}
