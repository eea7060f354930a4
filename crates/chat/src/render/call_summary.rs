//! One line about a tool call: its most telling argument, and in words the options that differ from the
//! default. Transcripts, questions and lists of calls begin with it.

use serde_json::{Map, Value};

use super::clean::visible;
use super::table::cut;
use super::{todo, units};

/// The longest option in a line.
const LONGEST_OPTION: usize = 40;
/// The arguments that describe a call best, the first one of a call counts.
const TELLING: [&str; 7] = ["command", "pattern", "path", "file_path", "query", "words", "url"];
/// The fields with the contents of a change, which are shown as a diff or with the question.
const CHANGES: [&str; 3] = ["old_string", "new_string", "content"];
/// The time after which `bash` ends a command if the call names no other.
const COMMAND_TIMEOUT_MS: u64 = 120_000;

type Arguments = Map<String, Value>;

/// Describes a call in one line.
pub fn call_summary(tool: &str, input: &Value) -> String {
    let Value::Object(arguments) = input else {
        return visible(&input.to_string());
    };
    if let Some(items) = arguments.get("todos").and_then(todo::read) {
        return todo::summary(&items);
    }
    let special = question_in_one_line(arguments)
        .or_else(|| delegated_in_one_line(arguments))
        .or_else(|| named_in_one_line(arguments));
    if let Some(told) = special {
        return told;
    }
    let (subject, words) = match BuiltInCall::read(tool, arguments) {
        Some(call) => (call.subject, call.options),
        None => other_call(arguments),
    };
    format!("{subject}  {}", words.join(", ")).trim().to_owned()
}

/// A call of a built-in tool: its subject, and the options that are not the default.
struct BuiltInCall {
    subject: String,
    options: Vec<String>,
}

impl BuiltInCall {
    /// Reads the arguments; `None` if it is another tool, or they have something that no words describe.
    fn read(tool: &str, arguments: &Arguments) -> Option<Self> {
        let (subject, known): (&str, &[&str]) = match tool {
            "read" if arguments.contains_key("blob") => ("blob", &["offset", "limit"]),
            "read" => ("path", &["offset", "limit"]),
            "grep" => (
                "pattern",
                &[
                    "path",
                    "mode",
                    "glob",
                    "type",
                    "case_insensitive",
                    "context",
                    "ignored",
                    "limit",
                ],
            ),
            "glob" => ("pattern", &["path", "sort", "ignored", "limit"]),
            "bash" => ("command", &["timeout_ms", "description", "run_in_background"]),
            "edit" | "write" => ("path", &["old_string", "new_string", "content", "replace_all"]),
            "job" => ("id", &["kill", "wait_ms"]),
            "web_search" => ("query", &["max_results", "include_answer"]),
            "remember" => ("text", &["only_here"]),
            _ => return None,
        };
        if arguments
            .keys()
            .any(|key| key != subject && !known.contains(&key.as_str()))
        {
            return None;
        }
        let options = if tool == "read" {
            line_range(arguments).into_iter().collect()
        } else {
            let in_words = |key: &&str| option_in_words(key, arguments.get(*key)?);
            known.iter().filter_map(in_words).collect()
        };
        Some(Self {
            subject: visible(arguments.get(subject)?.as_str()?),
            options,
        })
    }
}

/// Returns the lines that `read` shows; `None` if they are all.
fn line_range(arguments: &Arguments) -> Option<String> {
    let number = |name: &str| arguments.get(name).and_then(Value::as_u64);
    let first = number("offset").unwrap_or(1).max(1);
    match number("limit") {
        Some(1) => Some(format!("line {first}")),
        Some(limit) => {
            let last = first.saturating_add(limit).saturating_sub(1);
            Some(format!("lines {first}–{last}"))
        }
        None if first > 1 => Some(format!("from line {first}")),
        None => None,
    }
}

/// Returns an option of a built-in tool in words; `None` if it has its default, or is shown elsewhere.
fn option_in_words(key: &str, value: &Value) -> Option<String> {
    let text = |words: &str| Some(format!("{words} {}", short(value)));
    let when_true = |words: &str| (value.as_bool() == Some(true)).then(|| words.to_owned());
    let default = match key {
        "path" => value.as_str() == Some("."),
        "context" => value.as_u64() == Some(0),
        "timeout_ms" => value.as_u64() == Some(COMMAND_TIMEOUT_MS),
        _ => false,
    };
    if value.is_null() || default {
        return None;
    }
    match key {
        "path" => Some(format!("in {}", visible(value.as_str()?))),
        "mode" if value.as_str() == Some("files") => Some("names of files".to_owned()),
        "mode" if value.as_str() == Some("count") => Some("counts".to_owned()),
        "sort" if value.as_str() == Some("modified") => Some("newest first".to_owned()),
        "glob" => text("files"),
        "type" => text("type"),
        "case_insensitive" => when_true("ignoring case"),
        "context" => Some(format!("{} around", units::counted(value.as_u64()?, "line"))),
        "ignored" => when_true("with ignored files"),
        "limit" | "max_results" => value.as_u64().and_then(|_| text("at most")),
        "timeout_ms" => Some(format!("for at most {}", units::short_limit(value.as_u64()?))),
        "run_in_background" => when_true("in the background"),
        "replace_all" => when_true("every occurrence"),
        "kill" => when_true("end it"),
        "wait_ms" => Some(format!("wait for {}", units::short_limit(value.as_u64()?))),
        "include_answer" => when_true("with an answer"),
        "only_here" => when_true("only here"),
        _ => None,
    }
}

/// Returns the subject and the options of a call of any other tool.
fn other_call(arguments: &Arguments) -> (String, Vec<String>) {
    let found = TELLING
        .iter()
        .find_map(|name| arguments.get(*name)?.as_str().map(|value| (*name, value)));
    if let (None, Some(value)) = (found, only_value(arguments)) {
        return (value, Vec::new());
    }
    let subject = found.map(|(name, _)| name);
    let shown = |key: &str| {
        let of_a_change = subject == Some("path") && CHANGES.contains(&key);
        Some(key) != subject && !of_a_change
    };
    let options = arguments
        .iter()
        .filter(|(key, value)| shown(key) && !value.is_null())
        .map(|(key, value)| match (subject, key.as_str(), value.as_str()) {
            (Some("pattern"), "path", Some(path)) => format!("in {}", visible(path)),
            (None, "from" | "until" | "to", _) => format!("{key} {}", short(value)),
            _ => format!("{}: {}", visible(key), short(value)),
        });
    let subject = found.map_or_else(String::new, |(_, value)| visible(value));
    (subject, options.collect())
}

/// Returns the only argument of a call if it is a text, or a list of texts.
fn only_value(arguments: &Arguments) -> Option<String> {
    let value = arguments.values().next().filter(|_| arguments.len() == 1)?;
    match value {
        Value::String(text) => Some(visible(text)),
        Value::Array(items) => {
            let texts: Option<Vec<String>> = items.iter().map(|item| item.as_str().map(visible)).collect();
            texts.map(|texts| texts.join(" "))
        }
        _ => None,
    }
}

/// Work for another agent: its name and the task.
fn delegated_in_one_line(arguments: &Arguments) -> Option<String> {
    let (agent, task) = (
        arguments.get("agent")?.as_str()?,
        arguments.get("input")?.as_str()?,
    );
    let background = arguments.get("background");
    if arguments.len() != 2 + usize::from(background.is_some()) {
        return None;
    }
    let place = match background.and_then(Value::as_bool) {
        Some(true) => " (in the background)",
        _ => "",
    };
    Some(format!("{}{place}: {}", visible(agent), visible(task.trim())))
}

/// The heading of a plan, or a name, if the call has no other argument.
fn named_in_one_line(arguments: &Arguments) -> Option<String> {
    if arguments.len() != 1 {
        return None;
    }
    if let Some(plan) = arguments.get("plan").and_then(Value::as_str) {
        let mut lines = plan.lines().map(str::trim).filter(|line| !line.is_empty());
        let first = lines.clone().next()?;
        let heading = lines.find(|line| line.starts_with('#')).unwrap_or(first);
        return Some(visible(heading.trim_start_matches('#').trim()));
    }
    arguments.get("name")?.as_str().map(visible)
}

/// A question of the model, with its choices.
fn question_in_one_line(arguments: &Arguments) -> Option<String> {
    let question = visible(arguments.get("question")?.as_str()?.trim());
    let choices = arguments.get("choices").and_then(Value::as_array);
    if arguments.len() != 1 + usize::from(choices.is_some()) {
        return None;
    }
    let choices: Vec<String> = choices.into_iter().flatten().map(short).collect();
    Some(if choices.is_empty() {
        question
    } else {
        format!("{question}  ({})", choices.join(" / "))
    })
}

/// Returns a value in few characters: a text or a number as it is, several of them with commas between them.
fn short(value: &Value) -> String {
    let told = match value {
        Value::String(text) => visible(text),
        Value::Array(items) if items.iter().all(|item| !item.is_object() && !item.is_array()) => {
            items.iter().map(short).collect::<Vec<_>>().join(", ")
        }
        other => visible(&other.to_string()),
    };
    cut(&told, LONGEST_OPTION)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(tool: &str, input: Value, told: &str) {
        assert_eq!(call_summary(tool, &input), told, "{tool} {input}");
    }

    #[test]
    fn the_telling_argument_comes_first() {
        check("bash", json!({"command": "ls -la"}), "ls -la");
        check("own", json!({"path": "a.rs", "old": "x\ny"}), "a.rs  old: x↵y");
        check(
            "own",
            json!({"path": "src", "pattern": "fn main"}),
            "fn main  in src",
        );
        check("recall", json!({"words": "the tide"}), "the tide");
        check("recall", json!({"from": 17}), "from 17");
        check("recall", json!({"from": 17, "to": 19}), "from 17, to 19");
        check("own", json!({}), "");
        check("own", json!({"n": 1}), "n: 1");
        check(
            "own",
            json!({"deep": {"a": []}, "n": 1}),
            "deep: {\"a\":[]}, n: 1",
        );
        check("harbour__echo", json!({"text": "hello"}), "hello");
        check("web_extract", json!({"urls": ["http://a.b/c"]}), "http://a.b/c");
        check("skill", json!({"name": "deploy"}), "deploy");
        let plan = json!({"plan": "I read it.\n\n# Clean *up*\n\n1. Read\n"});
        check("present_plan", plan, "Clean *up*");
        check("present_plan", json!({"plan": "\n1. Read\n2. Write"}), "1. Read");
        let order = json!({"agent": "scout", "input": "look\naround"});
        check("delegate", order, "scout: look↵around");
        let order = json!({"agent": "scout", "input": "look", "background": true});
        check("delegate", order, "scout (in the background): look");
        let hidden = call_summary("bash", &json!({"command": "ls\u{1b}[2K; rm -rf /"}));
        assert!(hidden.contains("rm -rf /"));
    }

    #[test]
    fn a_read_names_its_lines() {
        let read = |offset: Value, limit: Value| json!({"path": "a.rs", "offset": offset, "limit": limit});
        check("read", json!({"path": "a.rs"}), "a.rs");
        check("read", read(json!(0), json!(200)), "a.rs  lines 1–200");
        check("read", read(json!(41), json!(20)), "a.rs  lines 41–60");
        check("read", read(json!(41), json!(null)), "a.rs  from line 41");
        check("read", read(json!(7), json!(1)), "a.rs  line 7");
        check("read", read(json!(1), json!(null)), "a.rs");
        check(
            "read",
            read(json!(9), json!(u64::MAX)),
            "a.rs  lines 9–18446744073709551614",
        );
        check("read", json!({"blob": "blb_1", "limit": 5}), "blb_1  lines 1–5");
    }

    #[test]
    fn only_options_that_are_not_the_default_are_told() {
        let plain = json!({
            "pattern": "fn main", "path": ".", "mode": "content", "case_insensitive": false,
            "context": 0, "ignored": false, "limit": null,
        });
        check("grep", plain, "fn main");
        let narrow = json!({
            "pattern": "fn main", "path": "src", "mode": "files", "glob": "*.rs", "type": "rust",
            "case_insensitive": true, "context": 2, "ignored": true, "limit": 5,
        });
        let words = "fn main  in src, names of files, files *.rs, type rust, ignoring case, 2 lines around, \
                     with ignored files, at most 5";
        check("grep", narrow, words);
        check(
            "glob",
            json!({"pattern": "*.rs", "sort": "modified"}),
            "*.rs  newest first",
        );
        let build = json!({"command": "make", "description": "Builds it", "timeout_ms": 120_000});
        check("bash", build, "make");
        let long = json!({"command": "make", "timeout_ms": 600_000, "run_in_background": true});
        check("bash", long, "make  for at most 10m, in the background");
        let edit = json!({"path": "a", "old_string": "b", "new_string": "c", "replace_all": true});
        check("edit", edit, "a  every occurrence");
        check("job", json!({"id": "job_1", "kill": true}), "job_1  end it");
        check(
            "web_search",
            json!({"query": "tides", "include_answer": false}),
            "tides",
        );
    }

    #[test]
    fn an_unknown_option_of_a_known_tool_is_told_as_it_is() {
        check("read", json!({"path": "a.rs", "line": 3}), "a.rs  line: 3");
        check("grep", json!({"path": "src", "patern": "x"}), "src  patern: x");
    }
}
