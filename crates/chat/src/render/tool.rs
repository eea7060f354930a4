//! A tool call on the screen: its arguments in full, the first lines of output as they arrive, the last lines
//! at the end, and the outcome. `call_summary` has the line that names the call.

use std::borrow::Cow;

use agentx_terminal::lookalikes::unmistakable;
use serde_json::Value;

use super::clean::{Cleaner, visible};
use super::line_fold::LineFold;
use super::table::cut;

/// The longest line that is kept.
const LONGEST_LINE: usize = 2_000;

/// Returns the lines of the arguments of a call for which `wanted` is true, in full.
pub(crate) fn arguments(input: &Value, wanted: impl Fn(&str) -> bool) -> String {
    let mut text = String::new();
    match input {
        Value::Object(arguments) => {
            for (name, value) in arguments.iter().filter(|(name, _)| wanted(name)) {
                argument(&mut text, name, value);
            }
        }
        other => argument(&mut text, "input", other),
    }
    text
}

fn argument(text: &mut String, name: &str, value: &Value) {
    let shown = match value {
        Value::String(words) => words.clone(),
        other => other.to_string(),
    };
    let mut lines = shown.split('\n');
    text.push_str(&format!(
        "  {}: {}\n",
        unmistakable(name),
        unmistakable(lines.next().unwrap_or_default())
    ));
    for line in lines {
        text.push_str(&format!("    {}\n", unmistakable(line)));
    }
}

/// The output of one call while it runs.
#[derive(Clone, Debug)]
pub(crate) struct ToolOutputView {
    cleaner: Cleaner,
    partial: String,
    fold: LineFold,
}

impl Default for ToolOutputView {
    fn default() -> Self {
        Self {
            cleaner: Cleaner::keeping_overwrites(),
            partial: String::new(),
            fold: LineFold::default(),
        }
    }
}

impl ToolOutputView {
    /// Takes a piece; returns the lines that are shown now.
    pub(crate) fn push(&mut self, text: &str) -> Vec<String> {
        let mut clean = std::mem::take(&mut self.partial);
        self.cleaner.push(text, &mut clean);
        let mut lines = Vec::new();
        let mut rest = clean.as_str();
        while let Some((line, after)) = rest.split_once('\n') {
            lines.extend(self.line(&overwritten(line)));
            rest = after;
        }
        rest = last_written(rest);
        let mut end = rest.len().min(LONGEST_LINE);
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        self.partial = rest[..end].to_owned();
        lines
    }

    /// Returns whether anything came.
    pub(crate) fn is_empty(&self) -> bool {
        self.fold.is_empty() && self.partial.is_empty()
    }

    /// Returns the remaining lines when the call has ended; `more` tells how to see omitted lines.
    pub(crate) fn finish(&mut self, more: &str) -> Vec<String> {
        let mut lines = Vec::new();
        if !self.partial.is_empty() {
            let last = std::mem::take(&mut self.partial);
            lines.extend(self.line(&overwritten(&last)));
        }
        lines.extend(self.fold.finish(more));
        lines
    }

    /// The latest lines that are not shown yet, including the unfinished one.
    pub(crate) fn last(&self) -> impl Iterator<Item = Cow<'_, str>> {
        let open = (!self.partial.is_empty()).then(|| overwritten(&self.partial));
        self.fold.tail().map(Cow::Borrowed).chain(open)
    }

    fn line(&mut self, line: &str) -> Option<String> {
        self.fold.push(cut(line, LONGEST_LINE))
    }
}

/// Returns the visible text of a line that was overwritten: the text after the last carriage return, such as
/// the state of a progress bar, with backspaces applied.
fn overwritten(line: &str) -> Cow<'_, str> {
    let line = last_written(line);
    if !line.contains('\u{8}') {
        return Cow::Borrowed(line);
    }
    let mut cells: Vec<char> = Vec::new();
    let mut cursor = 0;
    for c in line.chars() {
        match (c, cells.get_mut(cursor)) {
            ('\u{8}', _) => cursor = cursor.saturating_sub(1),
            (c, Some(cell)) => {
                *cell = c;
                cursor += 1;
            }
            (c, None) => {
                cells.push(c);
                cursor += 1;
            }
        }
    }
    Cow::Owned(cells.into_iter().collect())
}

/// Returns the text after the last carriage return that is followed by anything visible.
fn last_written(line: &str) -> &str {
    let mut written = line.rsplit('\r').filter(|text| !text.trim().is_empty());
    written.next().unwrap_or_default()
}

/// The streamed output of a call for a screen reader, line by line and complete.
#[derive(Clone, Debug, Default)]
pub(crate) struct EmittedView {
    cleaner: Cleaner,
    partial: String,
}

impl EmittedView {
    /// Takes a piece; returns the lines that have ended. An unfinished line is broken if it is too long to be
    /// kept.
    pub(crate) fn push(&mut self, text: &str) -> Vec<String> {
        self.cleaner.push(text, &mut self.partial);
        let Some(end) = self.partial.rfind('\n') else {
            return if self.partial.len() < LONGEST_LINE {
                Vec::new()
            } else {
                vec![std::mem::take(&mut self.partial)]
            };
        };
        let rest = self.partial.split_off(end + 1);
        let whole = std::mem::replace(&mut self.partial, rest);
        whole.lines().map(str::to_owned).collect()
    }

    /// The line that has not ended.
    pub(crate) fn finish(&mut self) -> Vec<String> {
        let last = std::mem::take(&mut self.partial);
        if last.is_empty() { Vec::new() } else { vec![last] }
    }
}

/// Returns the outcome of a finished call in a few words: `exit 1`, `+3 −1`.
pub(crate) fn outcome(details: Option<&Value>) -> String {
    let Some(Value::Object(details)) = details else {
        return String::new();
    };
    let mut words = Vec::new();
    let number = |name: &str| details.get(name).and_then(Value::as_u64);
    if let Some(code) = details.get("exit_code").and_then(Value::as_i64) {
        words.push(format!("exit {code}"));
    }
    if let Some(signal) = details.get("signal").and_then(Value::as_str) {
        words.push(format!("killed by {}", visible(signal)));
    }
    if let Some(job) = details.get("job").and_then(Value::as_str)
        && details.get("running").and_then(Value::as_bool) == Some(true)
    {
        words.push(format!("runs in the background as {}", visible(job)));
    }
    match (number("matches"), number("files"), number("matched")) {
        (Some(0), ..) | (.., Some(0)) => words.push("nothing found".to_owned()),
        (Some(matches), Some(files), _) => {
            words.push(format!(
                "{} in {}",
                many(matches, "match", "matches"),
                many(files, "file", "files")
            ));
        }
        (.., Some(matched)) => words.push(many(matched, "file", "files")),
        _ => {}
    }
    // The results of MCP servers have this field.
    if let Some(line) = details.get("first_line").and_then(Value::as_str)
        && !line.is_empty()
    {
        words.push(visible(line));
    }
    if let (Some(added), Some(removed)) = (details.get("added"), details.get("removed")) {
        words.push(format!("+{added} −{removed}"));
    }
    words.join(", ")
}

fn many(count: u64, one: &str, more: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { more })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn head_and_tail_are_shown_and_the_middle_is_counted() {
        let mut view = ToolOutputView::default();
        let mut lines = Vec::new();
        for i in 0..100 {
            lines.extend(view.push(&format!("line {i}\n")));
        }
        assert_eq!(lines.len(), crate::render::line_fold::HEAD_LINES);
        let end = view.finish("");
        assert_eq!(end, ["… 84 lines …", "line 96", "line 97", "line 98", "line 99"]);
    }

    #[test]
    fn of_what_is_written_over_the_last_is_shown_as_on_a_terminal() {
        let mut view = ToolOutputView::default();
        let mut lines = Vec::new();
        for piece in [
            "one\r\n",
            " 10%",
            "\r 50%",
            "\r100%\n",
            "half\rdone\r",
            "    ",
            "\r\n",
            "\rend",
        ] {
            lines.extend(view.push(piece));
        }
        assert_eq!(lines, ["one", "100%", "done"]);
        assert_eq!(view.last().collect::<Vec<_>>(), ["end"]);
        assert_eq!(view.finish(""), ["end"]);
    }

    #[test]
    fn backspaces_write_over_what_stands_before_them_as_in_a_terminal() {
        let mut view = ToolOutputView::default();
        let mut lines = Vec::new();
        for piece in ["abc\u{8}", "\u{8}X\n", "\u{8}\u{8}a\n", "12\r|\u{8}/\u{8}-"] {
            lines.extend(view.push(piece));
        }
        assert_eq!(lines, ["aXc", "a"]);
        assert_eq!(view.last().collect::<Vec<_>>(), ["-"]);
        assert_eq!(view.finish(""), ["-"]);
    }

    #[test]
    fn what_came_of_a_call_is_told_in_words() {
        for (details, told) in [
            (json!({"exit_code": 3, "signal": null}), "exit 3"),
            (
                json!({"exit_code": null, "signal": "SIGTERM"}),
                "killed by SIGTERM",
            ),
            (json!({"matches": 3, "files": 1}), "3 matches in 1 file"),
            (json!({"matches": 0, "files": 0}), "nothing found"),
            (json!({"matched": 1}), "1 file"),
            (json!({"added": 2, "removed": 0}), "+2 −0"),
            (json!({}), ""),
        ] {
            assert_eq!(outcome(Some(&details)), told);
        }
    }

    #[test]
    fn of_what_is_emitted_nothing_is_left_out() {
        let mut view = EmittedView::default();
        let long = "好".repeat(LONGEST_LINE);
        let mut lines = Vec::new();
        for piece in ["One ", "line\n\nTwo", " lines\n", "and", " the end", &long] {
            lines.extend(view.push(piece));
        }
        lines.extend(view.push("."));
        lines.extend(view.finish());
        assert_eq!(
            lines,
            ["One line", "", "Two lines", &format!("and the end{long}"), "."]
        );
    }

    #[test]
    fn a_flood_without_a_line_end_stays_bounded() {
        let mut view = ToolOutputView::default();
        for _ in 0..1000 {
            view.push(&"好".repeat(1000));
        }
        assert!(view.partial.len() <= LONGEST_LINE);
    }
}
