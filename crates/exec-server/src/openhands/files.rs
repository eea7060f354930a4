//! The actions `read`, `write` and `edit` of OpenHands. Their paths may be anywhere: whoever has the key can
//! run commands, which reach the same files.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::{V0Action, error, required};
use crate::exec_state::ExecState;
use crate::refusal::ExecRefusal;

/// The largest file that is read, in bytes.
const LARGEST: u64 = 16 << 20;

/// A file that an action names.
struct EditedFile {
    /// As the action names it.
    name: String,
    path: PathBuf,
}

impl EditedFile {
    fn of(state: &ExecState, action: &V0Action<'_>) -> Result<Self, ExecRefusal> {
        let name = required(action, "path")?.to_owned();
        if name.contains('\0') {
            return Err(ExecRefusal::bad_request("the path has a NUL in it"));
        }
        let path = state.options.directory.join(&name);
        Ok(Self { name, path })
    }

    /// Returns the text of the file, or the observation that says why it cannot be read.
    async fn text(&self) -> Result<String, Value> {
        let failed = |why: String| error(&format!("{} cannot be read: {why}.", self.name));
        let about = tokio::fs::metadata(&self.path).await;
        let about = about.map_err(|error| failed(error.to_string()))?;
        if about.is_dir() {
            return Err(failed("it is a directory".to_owned()));
        }
        if about.len() > LARGEST {
            return Err(failed("it has more than 16 MiB".to_owned()));
        }
        let bytes = tokio::fs::read(&self.path).await;
        let bytes = bytes.map_err(|error| failed(error.to_string()))?;
        String::from_utf8(bytes).map_err(|_| failed("it is not text in UTF-8".to_owned()))
    }

    /// Replaces the file.
    async fn put(&self, text: &str) -> Result<(), Value> {
        let failed = |why: std::io::Error| error(&format!("{} cannot be written: {why}.", self.name));
        if let Some(folder) = self.path.parent() {
            tokio::fs::create_dir_all(folder).await.map_err(failed)?;
        }
        tokio::fs::write(&self.path, text).await.map_err(failed)
    }
}

/// Reads lines of a file: those from `start` to before `end`, from 0; or those of `view_range`, from 1, with
/// their numbers.
pub(super) async fn read(state: &ExecState, action: &V0Action<'_>) -> Result<Value, ExecRefusal> {
    let file = EditedFile::of(state, action)?;
    let text = match file.text().await {
        Ok(text) => text,
        Err(observation) => return Ok(observation),
    };
    let is_numbered = action.text("impl_source") == Some("oh_aci");
    let content = if is_numbered {
        numbered(&text, view_range(action))
    } else {
        let shown = range(action, line_count(&text));
        let lines = text.split_inclusive('\n').skip(shown.start);
        lines.take(shown.end.saturating_sub(shown.start)).collect()
    };
    let source = if is_numbered { "oh_aci" } else { "default" };
    Ok(json!({
        "observation": "read",
        "content": content,
        "extras": { "path": file.name, "impl_source": source },
    }))
}

/// Writes a file, or replaces the lines from `start` to before `end`, from 0.
pub(super) async fn write(state: &ExecState, action: &V0Action<'_>) -> Result<Value, ExecRefusal> {
    let file = EditedFile::of(state, action)?;
    let content = required(action, "content")?;
    let is_whole = action.number("start").unwrap_or(0) <= 0 && action.number("end").unwrap_or(-1) < 0;
    let is_there = tokio::fs::try_exists(&file.path).await.unwrap_or(false);
    let text = if is_whole || !is_there {
        content.to_owned()
    } else {
        match file.text().await {
            Ok(before) => with_lines(&before, range(action, line_count(&before)), content),
            Err(observation) => return Ok(observation),
        }
    };
    Ok(match file.put(&text).await {
        Ok(()) => json!({ "observation": "write", "content": "", "extras": { "path": file.name } }),
        Err(observation) => observation,
    })
}

/// Performs a command of OpenHands' editor.
pub(super) async fn edit(state: &ExecState, action: &V0Action<'_>) -> Result<Value, ExecRefusal> {
    let file = EditedFile::of(state, action)?;
    let command = action.text("command").unwrap_or_default();
    if command == "view" {
        return Ok(match file.text().await {
            Ok(text) => edited(&file, &numbered(&text, view_range(action)), Some(&text), &text),
            Err(observation) => observation,
        });
    }
    if command == "create" {
        return create(&file, action).await;
    }
    let before = match file.text().await {
        Ok(text) => text,
        Err(observation) => return Ok(observation),
    };
    let after = match command {
        "str_replace" => replaced(&file.name, &before, action),
        "insert" => inserted(&file.name, &before, action),
        other => Err(format!("The editor has no command {other:?} here.")),
    };
    let after = match after {
        Ok(after) => after,
        Err(why) => return Ok(error(&why)),
    };
    Ok(match file.put(&after).await {
        Ok(()) => edited(
            &file,
            &format!("{} has been edited.", file.name),
            Some(&before),
            &after,
        ),
        Err(observation) => observation,
    })
}

async fn create(file: &EditedFile, action: &V0Action<'_>) -> Result<Value, ExecRefusal> {
    let text = required(action, "file_text")?;
    if tokio::fs::try_exists(&file.path).await.unwrap_or(false) {
        let why = format!("{} is there already; create does not replace it.", file.name);
        return Ok(error(&why));
    }
    Ok(match file.put(text).await {
        Ok(()) => edited(file, &format!("{} has been created.", file.name), None, text),
        Err(observation) => observation,
    })
}

fn edited(file: &EditedFile, content: &str, before: Option<&str>, after: &str) -> Value {
    json!({
        "observation": "edit",
        "content": content,
        "extras": {
            "path": file.name,
            "prev_exist": before.is_some(),
            "old_content": before,
            "new_content": after,
            "impl_source": "oh_aci",
            "diff": null,
        },
    })
}

fn replaced(name: &str, before: &str, action: &V0Action<'_>) -> Result<String, String> {
    let old = action.text("old_str").unwrap_or_default();
    let new = action.text("new_str").unwrap_or_default();
    if old.is_empty() {
        return Err("`old_str` is empty.".to_owned());
    }
    match before.matches(old).count() {
        1 => Ok(before.replacen(old, new, 1)),
        0 => Err(format!(
            "`old_str` does not occur in {name}; nothing was changed."
        )),
        many => Err(format!(
            "`old_str` occurs {many} times in {name}; nothing was changed."
        )),
    }
}

fn inserted(name: &str, before: &str, action: &V0Action<'_>) -> Result<String, String> {
    let lines = line_count(before);
    let line = action
        .number("insert_line")
        .and_then(|line| usize::try_from(line).ok());
    let Some(line) = line.filter(|line| *line <= lines) else {
        return Err(format!(
            "`insert_line` has to be 0 to {lines}, the lines of {name}."
        ));
    };
    let new = action.text("new_str").unwrap_or_default();
    let place = LineRange {
        start: line,
        end: line,
    };
    Ok(with_lines(before, place, new))
}

fn line_count(text: &str) -> usize {
    text.split_inclusive('\n').count()
}

/// Lines of a file, from 0; the last one is not among them.
#[derive(Clone, Copy, Debug)]
struct LineRange {
    start: usize,
    end: usize,
}

/// Returns the lines that `start` and `end` name, from 0; a negative end is the end of the file.
fn range(action: &V0Action<'_>, lines: usize) -> LineRange {
    let place = |name: &str, default: usize| {
        let given = action.number(name).filter(|number| *number >= 0);
        given.map_or(default, |number| {
            usize::try_from(number).unwrap_or(lines).min(lines)
        })
    };
    LineRange {
        start: place("start", 0),
        end: place("end", lines),
    }
}

/// Returns the text with these lines replaced.
fn with_lines(text: &str, replaced: LineRange, content: &str) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let start = replaced.start.min(lines.len());
    let mut all: String = lines[..start].concat();
    if !all.is_empty() && !all.ends_with('\n') {
        all.push('\n');
    }
    all.push_str(content);
    let rest = &lines[replaced.end.clamp(start, lines.len())..];
    if !rest.is_empty() && !content.is_empty() && !content.ends_with('\n') {
        all.push('\n');
    }
    all.push_str(&rest.concat());
    all
}

/// Lines to show, from 1; without a last one, to the end of the file.
#[derive(Clone, Copy, Debug)]
struct ViewedLines {
    first: usize,
    last: Option<usize>,
}

/// Returns the lines that `view_range` names.
fn view_range(action: &V0Action<'_>) -> Option<ViewedLines> {
    let bounds = action.args.get("view_range")?.as_array()?;
    let first = usize::try_from(bounds.first()?.as_i64()?).ok()?;
    let last = bounds.get(1).and_then(Value::as_i64);
    Some(ViewedLines {
        first: first.max(1),
        last: last.and_then(|last| usize::try_from(last).ok()),
    })
}

/// Returns lines with their numbers.
fn numbered(text: &str, viewed: Option<ViewedLines>) -> String {
    let ViewedLines { first, last } = viewed.unwrap_or(ViewedLines { first: 1, last: None });
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line));
    let shown = lines.filter(|(number, _)| *number >= first && last.is_none_or(|last| *number <= last));
    shown
        .map(|(number, line)| format!("{number:6}\t{line}\n"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_replaced_and_inserted() {
        for (text, (start, end), content, expected) in [
            ("a\nb\nc\n", (1, 2), "x", "a\nx\nc\n"),
            ("a\nb\nc\n", (1, 2), "x\ny\n", "a\nx\ny\nc\n"),
            ("a\nb", (2, 2), "x", "a\nb\nx"),
            ("", (0, 0), "x", "x"),
            ("a\nb\n", (0, 0), "x", "x\na\nb\n"),
            ("a\nb\n", (1, 9), "", "a\n"),
            ("a\nb\n", (9, 1), "x", "a\nb\nx"),
        ] {
            let lines = LineRange { start, end };
            assert_eq!(with_lines(text, lines, content), expected, "{text:?} {lines:?}");
        }
    }

    #[test]
    fn lines_are_shown_with_their_numbers() {
        let viewed = |first, last| Some(ViewedLines { first, last });
        assert_eq!(numbered("a\nb\nc", viewed(2, None)), "     2\tb\n     3\tc\n");
        assert_eq!(numbered("a\nb\nc", viewed(1, Some(1))), "     1\ta\n");
        assert_eq!(numbered("", None), "");
    }
}
