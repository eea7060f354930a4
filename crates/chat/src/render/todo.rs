//! The model's to-do list for people: whole when it is new, afterwards only its changes.

use serde_json::Value;

use super::clean::visible;
use super::style::AnsiStyle;

/// An entry of the to-do list of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TodoEntry {
    what: String,
    how_far: TodoProgress,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TodoProgress {
    Open,
    Begun,
    Done,
    Dropped,
}

/// Reads a list from the arguments or the result of a call; `None` if the value is not a list.
pub(crate) fn read(list: &Value) -> Option<Vec<TodoEntry>> {
    let item = |value: &Value| {
        let how_far = match value.get("status")?.as_str()? {
            "completed" => TodoProgress::Done,
            "in_progress" => TodoProgress::Begun,
            "cancelled" => TodoProgress::Dropped,
            _ => TodoProgress::Open,
        };
        let what = visible(value.get("content")?.as_str()?);
        Some(TodoEntry { what, how_far })
    };
    list.as_array()?.iter().map(item).collect()
}

/// Returns the progress of a list: `2 of 5 done`.
pub(crate) fn summary(items: &[TodoEntry]) -> String {
    let left = items
        .iter()
        .filter(|item| item.how_far != TodoProgress::Dropped)
        .count();
    let done = items
        .iter()
        .filter(|item| item.how_far == TodoProgress::Done)
        .count();
    match items.len() {
        0 => "nothing to do".to_owned(),
        _ => format!("{done} of {left} done"),
    }
}

impl TodoEntry {
    fn line(&self, style: AnsiStyle) -> String {
        let what = &self.what;
        match self.how_far {
            TodoProgress::Open => format!("{} {what}", style.sign("☐", "to do:")),
            TodoProgress::Begun => format!("{} {}", style.person(style.sign("▸", "now:")), style.bold(what)),
            TodoProgress::Done => format!("{} {}", style.good(style.sign("☑", "done:")), style.dim(what)),
            TodoProgress::Dropped => style.dim(&format!("{} {what}", style.sign("☒", "dropped:"))),
        }
    }
}

/// The current list.
#[derive(Clone, Debug, Default)]
pub(crate) struct TodoView {
    items: Vec<TodoEntry>,
}

impl TodoView {
    /// Takes the current list and returns the lines to print: all if entries were added or removed, else
    /// those that changed.
    pub(crate) fn take(&mut self, items: Vec<TodoEntry>, style: AnsiStyle) -> Vec<String> {
        let same = |(old, new): (&TodoEntry, &TodoEntry)| old.what == new.what;
        let is_same = self.items.len() == items.len() && self.items.iter().zip(&items).all(same);
        let lines = items
            .iter()
            .enumerate()
            .filter(|(at, item)| !is_same || self.items.get(*at) != Some(item))
            .map(|(_, item)| item.line(style))
            .collect();
        self.items = items;
        lines
    }

    /// The whole list; empty if there is none.
    pub(crate) fn all(&self, style: AnsiStyle) -> Vec<String> {
        self.items.iter().map(|item| item.line(style)).collect()
    }

    /// Returns the current item and the progress, or `None` if nothing is left to do.
    pub(crate) fn now(&self, style: AnsiStyle) -> Option<String> {
        let next = |how_far| self.items.iter().find(|item| item.how_far == how_far);
        let item = next(TodoProgress::Begun).or_else(|| next(TodoProgress::Open))?;
        Some(format!(
            "{} {}",
            item.line(style),
            style.dim(&format!("· {}", summary(&self.items)))
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn items(how_far: [&str; 3]) -> Vec<TodoEntry> {
        let names = ["read", "write", "test\u{1b}[2K"];
        let list = names.iter().zip(how_far);
        let list: Vec<Value> = list
            .map(|(name, far)| json!({"content": name, "status": far}))
            .collect();
        read(&Value::from(list)).unwrap_or_default()
    }

    #[test]
    fn a_list_is_told_whole_and_then_what_changed() {
        let (mut view, plain) = (TodoView::default(), AnsiStyle::default());
        let first = view.take(items(["completed", "in_progress", "pending"]), plain);
        assert_eq!(first, ["☑ read", "▸ write", "☐ test␛[2K"]);
        assert_eq!(view.now(plain).as_deref(), Some("▸ write · 1 of 3 done"));
        let second = view.take(items(["completed", "completed", "in_progress"]), plain);
        assert_eq!(second, ["☑ write", "▸ test␛[2K"]);
        assert_eq!(
            view.take(items(["completed", "completed", "in_progress"]), plain),
            [""; 0]
        );
        view.take(items(["completed", "completed", "cancelled"]), plain);
        assert_eq!(
            (view.now(plain), summary(&view.items)),
            (None, "2 of 2 done".to_owned())
        );
    }

    #[test]
    fn who_listens_gets_words() {
        let style = AnsiStyle {
            words: true,
            ..AnsiStyle::default()
        };
        let lines = TodoView::default().take(items(["completed", "in_progress", "pending"]), style);
        assert_eq!(lines[..2], ["done: read", "now: write"]);
    }
}
