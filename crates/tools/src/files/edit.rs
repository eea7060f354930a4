//! `edit`: replaces an exact text in a file. It works on bytes, so that line endings, a byte order mark and
//! bytes that are not UTF-8 stay unchanged.

use agentx_runtime::{ToolContext, ToolOutcome};
use agentx_types::Access;
use memchr::memmem;
use schemars::JsonSchema;
use serde::Deserialize;

use super::change::{EditLock, OriginalFile, PlannedChange};
use super::near_misses;
use crate::blocking_work::blocking;
use crate::failure::ToolFailure;
use crate::options::FileOptions;
use crate::text;
use crate::typed::{ToolAbout, TypedTool};
use crate::workspace::Scope;

/// The arguments of `edit`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EditInput {
    /// File to change: absolute, or relative to the working directory.
    path: String,
    /// The text to replace, exactly as in the file, without line numbers.
    old_string: String,
    /// The replacement.
    new_string: String,
    /// Replace every occurrence; else old_string must occur once.
    replace_all: Option<bool>,
}

pub(crate) struct EditTool {
    options: FileOptions,
    edit_lock: EditLock,
}

impl EditTool {
    pub(crate) fn new(options: FileOptions, edit_lock: EditLock) -> Self {
        Self { options, edit_lock }
    }
}

impl TypedTool for EditTool {
    type Input = EditInput;

    fn about(&self) -> ToolAbout {
        let description = "Replaces an exact text in a file. old_string must occur exactly once (add lines around it until it \
                           does) unless replace_all is set.";
        ToolAbout::new("edit", description, Access::Change).path("path")
    }

    async fn run(&self, input: EditInput, context: ToolContext) -> Result<ToolOutcome, ToolFailure> {
        if input.old_string.is_empty() {
            return Err(ToolFailure::invalid(
                "old_string is empty; to make a file use write.",
            ));
        }
        if input.old_string == input.new_string {
            return Err(ToolFailure::invalid(
                "old_string and new_string are the same; nothing would change.",
            ));
        }
        let turn = self.edit_lock.lock(&context).await?;
        let (scope, options) = (Scope::of("edit", &context), self.options.clone());
        let path = input.path.clone();
        let (before, edited) = blocking(&context.cancel, move || {
            let before = OriginalFile::read(&scope, &input.path, &options)?;
            let Some(bytes) = &before.bytes else {
                // The error names similar paths; the file was missing a moment ago.
                scope.resolve_existing(&input.path)?;
                return Err(ToolFailure::failed(format!("{}: no such file", input.path)));
            };
            let edited = apply(bytes, &input)
                .map_err(|what| ToolFailure::failed(format!("{}: {what}", input.path)))?;
            Ok((before, edited))
        })
        .await?;
        let said = edited.describe(&path);
        let change = PlannedChange::of(before, edited.bytes, &context).await?;
        let details = change.make(turn, self.options.diff_bytes).await?;
        Ok(ToolOutcome::success(said).with_details(details))
    }
}

/// The new contents of the file.
#[derive(Debug)]
struct EditedFile {
    bytes: Vec<u8>,
    /// The lines with a replacement, from 1, numbered before the change.
    lines: Vec<usize>,
}

impl EditedFile {
    fn describe(&self, path: &str) -> String {
        let occurrences = text::count(self.lines.len(), "occurrence");
        format!(
            "Edited {path}: replaced {occurrences}, {}.",
            line_list(&self.lines)
        )
    }
}

fn apply(bytes: &[u8], input: &EditInput) -> Result<EditedFile, String> {
    let (old, new) = with_endings_of(bytes, &input.old_string, &input.new_string);
    let places: Vec<usize> = memmem::find_iter(bytes, old.as_bytes()).collect();
    if places.is_empty() {
        return Err(near_misses::explain(
            &String::from_utf8_lossy(bytes),
            &input.old_string,
        ));
    }
    let lines = line_numbers(bytes, &places);
    if places.len() > 1 && input.replace_all != Some(true) {
        return Err(format!(
            "old_string occurs {} times, {}. Add lines around it until it is unique, or set replace_all. Nothing was changed.",
            places.len(),
            line_list(&lines)
        ));
    }
    let mut after = Vec::with_capacity(bytes.len() + new.len());
    let mut from = 0;
    for place in &places {
        after.extend_from_slice(&bytes[from..*place]);
        after.extend_from_slice(new.as_bytes());
        from = place + old.len();
    }
    after.extend_from_slice(&bytes[from..]);
    if after == bytes {
        return Err("the file would not change.".into());
    }
    Ok(EditedFile { bytes: after, lines })
}

/// Models write `\n`. In a file whose lines end in `\r\n`, they mean that, and the other way round.
fn with_endings_of(bytes: &[u8], old: &str, new: &str) -> (String, String) {
    let crlf = memmem::find_iter(bytes, b"\r\n").count();
    let all = memchr::memchr_iter(b'\n', bytes).count();
    let plain = |text: &str| text.replace("\r\n", "\n");
    let windows = |text: &str| plain(text).replace('\n', "\r\n");
    let exact = memmem::find(bytes, old.as_bytes()).is_some();
    if crlf * 2 > all {
        let old = if exact { old.to_owned() } else { windows(old) };
        return (old, windows(new));
    }
    if !exact && memmem::find(bytes, plain(old).as_bytes()).is_some() {
        return (plain(old), plain(new));
    }
    (old.to_owned(), new.to_owned())
}

fn line_numbers(bytes: &[u8], places: &[usize]) -> Vec<usize> {
    let (mut line, mut from) = (1, 0);
    places
        .iter()
        .map(|place| {
            line += memchr::memchr_iter(b'\n', &bytes[from..*place]).count();
            from = *place;
            line
        })
        .collect()
}

fn line_list(lines: &[usize]) -> String {
    const MOST: usize = 10;
    let shown: Vec<String> = lines.iter().take(MOST).map(usize::to_string).collect();
    let more = if lines.len() > MOST { ", …" } else { "" };
    let noun = if lines.len() == 1 { "at line" } else { "at lines" };
    format!("{noun} {}{more}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Edits `file`; what comes out is the new file or the error.
    #[track_caller]
    fn check(file: &[u8], old: &str, new: &str, all: bool, expected: Result<&[u8], &str>) {
        let input = EditInput {
            path: "f".into(),
            old_string: old.into(),
            new_string: new.into(),
            replace_all: Some(all),
        };
        match (apply(file, &input), expected) {
            (Ok(edited), Ok(expected)) => {
                assert_eq!(
                    String::from_utf8_lossy(&edited.bytes),
                    String::from_utf8_lossy(expected)
                );
            }
            (Err(said), Err(words)) => assert!(said.contains(words), "{words:?} is not in:\n{said}"),
            (got, expected) => panic!("{got:?} instead of {expected:?}"),
        }
    }

    #[test]
    fn replaces_what_is_there_once() {
        check(b"one two three", "two", "2", false, Ok(b"one 2 three"));
        check(b"a\na\n", "a", "b", true, Ok(b"b\nb\n"));
        check(
            b"a\nb\na\n",
            "a",
            "b",
            false,
            Err("occurs 2 times, at lines 1, 3"),
        );
    }

    #[test]
    fn keeps_line_endings_and_marks() {
        check(b"one\r\ntwo\r\n", "one\ntwo", "1\n2", false, Ok(b"1\r\n2\r\n"));
        check(b"one\r\ntwo\r\n", "one", "0\n1", false, Ok(b"0\r\n1\r\ntwo\r\n"));
        check(b"one\ntwo\n", "one\r\ntwo", "1\r\n2", false, Ok(b"1\n2\n"));
        check(b"\xEF\xBB\xBFone", "one", "1", false, Ok(b"\xEF\xBB\xBF1"));
        check(b"\xFF one", "one", "1", false, Ok(b"\xFF 1"));
    }

    #[test]
    fn what_would_not_change_is_refused() {
        check(b"one\r\n", "one\n", "one\r\n", false, Err("would not change"));
    }

    #[test]
    fn shows_near_misses() {
        let file = b"fn main() {\n    let answer = 42;\n    print(answer);\n}\n";
        check(
            file,
            "let answer  = 42;\nprint(answer);",
            "x",
            false,
            Err("lines 2-3"),
        );
        check(
            file,
            "let anwser = 42;",
            "x",
            false,
            Err("     2\t    let answer = 42;"),
        );
        check(
            file,
            "     2\t    let answer = 42;",
            "x",
            false,
            Err("line numbers"),
        );
        check(
            file,
            "completely different words",
            "x",
            false,
            Err("Nothing like it"),
        );
        check(b"", "x", "y", false, Err("empty"));
    }
}
