//! Notebooks of Jupyter (`.ipynb`) as Markdown: their cells, and the outputs that are text. Pictures are
//! named only.

use serde_json::Value;

/// The largest notebook in bytes: its pictures are in it.
pub const LARGEST_NOTEBOOK: u64 = 32 << 20;
/// The longest output of a cell, in bytes.
const LONGEST_OUTPUT: usize = 16 << 10;
/// The longest name of a picture's or an output's kind, in characters.
const LONGEST_KIND: usize = 60;

/// Returns whether a file has the name of a notebook.
pub fn is_named_as_notebook(path: &str) -> bool {
    path.len() > 6 && path.to_ascii_lowercase().ends_with(".ipynb")
}

/// Returns a notebook as Markdown.
///
/// ```
/// let notebook = r#"{"cells": [{"cell_type": "code", "source": ["1 + 1"], "outputs": [
///     {"output_type": "execute_result", "data": {"text/plain": "2"}}]}], "metadata": {}}"#;
/// let text = agentx_tools::notebook_markdown(notebook.as_bytes()).unwrap();
/// assert_eq!(text, "[cell 1: code]\n```\n1 + 1\n```\n[output]\n```\n2\n```\n");
/// ```
///
/// # Errors
/// Returns the reason if the text is not a notebook.
pub fn notebook_markdown(bytes: &[u8]) -> Result<String, String> {
    let notebook: Value =
        serde_json::from_slice(bytes).map_err(|error| format!("it is not a notebook: {error}"))?;
    // Until version 4 of the format, cells were in worksheets.
    let cells = notebook
        .get("cells")
        .or_else(|| notebook.pointer("/worksheets/0/cells"));
    let cells = cells
        .and_then(Value::as_array)
        .ok_or("it is not a notebook: it has no `cells`")?;
    let language = notebook
        .pointer("/metadata/language_info/name")
        .and_then(Value::as_str);
    let language: String = language
        .unwrap_or_default()
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .take(LONGEST_KIND)
        .collect();
    let mut text = String::new();
    for (index, cell) in cells.iter().enumerate() {
        if index > 0 {
            text.push('\n');
        }
        add_cell(&mut text, index + 1, cell, &language);
    }
    Ok(text)
}

fn add_cell(text: &mut String, number: usize, cell: &Value, language: &str) {
    let kind = cell.get("cell_type").and_then(Value::as_str).unwrap_or("unknown");
    text.push_str(&format!("[cell {number}: {}]\n", short(kind)));
    // Until version 4 of the format, the source of code was its input.
    let source = joined(cell.get("source").or_else(|| cell.get("input")));
    if kind != "code" {
        add_line(text, &source);
        return;
    }
    add_fenced(text, &source, language);
    let outputs = cell.get("outputs").and_then(Value::as_array);
    for output in outputs.into_iter().flatten() {
        add_output(text, output);
    }
}

fn add_output(text: &mut String, output: &Value) {
    let kind = output
        .get("output_type")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if kind == "error" || kind == "pyerr" {
        let field = |key: &str| output.get(key).and_then(Value::as_str).unwrap_or_default();
        add_output_text(text, "error", &format!("{}: {}", field("ename"), field("evalue")));
        return;
    }
    if let Some(written) = output.get("text").filter(|_| kind == "stream") {
        add_output_text(text, "output", &joined(Some(written)));
        return;
    }
    let Some(data) = output.get("data").and_then(Value::as_object) else {
        return;
    };
    let shown = ["text/markdown", "text/plain"]
        .iter()
        .find_map(|kind| data.get(*kind));
    if let Some(shown) = shown {
        add_output_text(text, "output", &joined(Some(shown)));
    }
    for kind in data.keys().filter(|kind| !kind.starts_with("text/")) {
        text.push_str(&format!("[output of the kind {}, not shown]\n", short(kind)));
    }
}

/// A text that a notebook keeps as one or as a list of lines.
fn joined(text: Option<&Value>) -> String {
    match text {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(lines)) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}

fn short(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_control())
        .take(LONGEST_KIND)
        .collect()
}

/// Adds the text of an output, cut if it is long.
fn add_output_text(text: &mut String, heading: &str, output: &str) {
    let shown = crate::text::head(output, LONGEST_OUTPUT);
    text.push_str(&format!("[{heading}]\n"));
    add_fenced(text, shown, "");
    if shown.len() < output.len() {
        let more = output.len() - shown.len();
        text.push_str(&format!("[{more} more bytes of this output]\n"));
    }
}

/// Adds a text between fences that are longer than those in it.
fn add_fenced(text: &mut String, inside: &str, language: &str) {
    let fences = inside
        .lines()
        .map(|line| line.trim_start().chars().take_while(|c| *c == '`').count());
    let fence = "`".repeat(fences.max().unwrap_or(0).max(2) + 1);
    text.push_str(&format!("{fence}{language}\n"));
    add_line(text, inside);
    text.push_str(&format!("{fence}\n"));
}

/// Adds a text that ends with a line end.
fn add_line(text: &mut String, line: &str) {
    text.push_str(line);
    if !line.is_empty() && !line.ends_with('\n') {
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn markdown(notebook: &Value) -> String {
        notebook_markdown(notebook.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn cells_and_outputs_are_text_and_pictures_are_named() {
        let picture = "QUJD".repeat(10_000);
        let notebook = json!({
            "metadata": {"language_info": {"name": "python"}},
            "cells": [
                {"cell_type": "markdown", "source": ["# Title\n", "words"]},
                {"cell_type": "code", "source": "print('```')", "outputs": [
                    {"output_type": "stream", "name": "stdout", "text": ["```\n"]},
                    {"output_type": "display_data", "data": {"image/png": picture, "text/plain": "<Figure>"}},
                    {"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": ["\u{1b}[31m"]},
                ]},
                {"cell_type": "code", "source": "", "outputs": [
                    {"output_type": "stream", "text": "long\n".repeat(10_000)},
                ]},
            ],
        });
        let text = markdown(&notebook);
        assert!(
            text.starts_with(
                "[cell 1: markdown]\n# Title\nwords\n\n[cell 2: code]\n```python\nprint('```')\n```\n[output]\n````\n```\n````\n"
            ),
            "{text}"
        );
        for part in [
            "<Figure>",
            "[output of the kind image/png, not shown]",
            "ValueError: no",
            "more bytes of this output]",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(text.len() < 20_000 && !text.contains("QUJD"), "{}", text.len());
    }

    #[test]
    fn what_is_no_notebook_is_refused_and_older_ones_are_read() {
        let older = json!({"worksheets": [{"cells": [{"cell_type": "code", "input": ["1"]}]}]});
        assert_eq!(markdown(&older), "[cell 1: code]\n```\n1\n```\n");
        for wrong in ["", "[]", "{}", "{\"cells\": 1}", "{\"cells\": ["] {
            assert!(notebook_markdown(wrong.as_bytes()).is_err(), "{wrong}");
        }
        assert_eq!(markdown(&json!({"cells": [7]})), "[cell 1: unknown]\n");
    }
}
