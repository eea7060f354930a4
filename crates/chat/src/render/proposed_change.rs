//! The change of a file that a call of `edit` or `write` asks for, before it is made.

use serde_json::Value;

use super::diff::{DiffForm, changed_lines};
use super::style::AnsiStyle;

/// Returns why an edit of a file, whose content is `before`, will fail: its text is not in the file, or is
/// there several times.
pub(super) fn reason_to_fail(input: &Value, before: Option<&str>) -> Option<&'static str> {
    let (from, file) = text(input, "old_string").zip(before)?;
    if from.is_empty() {
        return None;
    }
    let places = plain_ends(file).matches(&plain_ends(from)).count();
    match places {
        0 => Some("the file does not contain the text to replace"),
        1 => None,
        _ if replaces_all(input) => None,
        _ => Some("the file contains the text to replace several times"),
    }
}

/// Returns a change as a diff: of the file if its content is known, otherwise of the replaced text, without
/// the numbers of the lines. `None` if the change will fail.
pub(super) fn diff(input: &Value, before: Option<&str>, style: AnsiStyle) -> Option<Vec<String>> {
    if reason_to_fail(input, before).is_some() {
        return None;
    }
    let mut form = DiffForm::WHOLE;
    let lines = match (text(input, "old_string"), text(input, "new_string"), before) {
        (Some(from), Some(to), Some(file)) if !from.is_empty() => edit(input, [file, from, to], style),
        (Some(from), Some(to), _) => {
            form.is_numbered = false;
            changed_lines(from, to, form, style)
        }
        _ => changed_lines(before.unwrap_or_default(), text(input, "content")?, form, style),
    };
    Some(if lines.is_empty() {
        vec![style.dim("the file would not change")]
    } else {
        lines
    })
}

/// Returns the diff of a file in which a text is replaced.
fn edit(input: &Value, [file, from, to]: [&str; 3], style: AnsiStyle) -> Vec<String> {
    if !file.contains(from) {
        // Only the line ends of the text differ, so it is in the file then.
        let [file, from, to] = [file, from, to].map(plain_ends);
        return changed_lines(
            &file,
            &replaced(input, [&file, &from, &to]),
            DiffForm::WHOLE,
            style,
        );
    }
    changed_lines(file, &replaced(input, [file, from, to]), DiffForm::WHOLE, style)
}

/// Replaces the first place of a text in a file, or all of them if the call asks for it.
fn replaced(input: &Value, [file, from, to]: [&str; 3]) -> String {
    if replaces_all(input) {
        file.replace(from, to)
    } else {
        file.replacen(from, to, 1)
    }
}

fn replaces_all(input: &Value) -> bool {
    input.get("replace_all").and_then(Value::as_bool) == Some(true)
}

fn text<'a>(input: &'a Value, name: &str) -> Option<&'a str> {
    input.get(name)?.as_str()
}

/// Returns a text with plain line ends: those of an edit follow the file, not the text of the model.
fn plain_ends(text: &str) -> String {
    text.replace("\r\n", "\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lines_have_numbers_only_if_their_place_is_known() {
        let edit = json!({"old_string": "two", "new_string": "2"});
        let shown = |input: &Value, before: Option<&str>| -> Vec<String> {
            diff(input, before, AnsiStyle::default()).unwrap_or_default()
        };
        let in_file = ["1  one", "2 -two", "2 +2", "3  three"];
        assert_eq!(shown(&edit, Some("one\ntwo\nthree\n")), in_file);
        assert_eq!(shown(&edit, Some("one\r\ntwo\r\nthree\r\n")), in_file);
        let lines = json!({"old_string": "one\ntwo\n", "new_string": "one\n2\n"});
        assert_eq!(
            shown(&lines, Some("zero\r\none\r\ntwo\r\n")),
            ["1  zero", "2  one", "3 -two", "3 +2"]
        );
        assert_eq!(shown(&lines, None), [" one", "-two", "+2"]);
        let write = json!({"content": "a\nb\n"});
        assert_eq!(shown(&write, None), ["1 +a", "2 +b"]);
        assert_eq!(shown(&write, Some("a\nb\n")), ["the file would not change"]);
    }
}
