//! A journey of several commands and chats as text: what each of them printed, one below the other, 80
//! columns wide.

use crate::common::Ran;
use crate::stable::row_of;
use crate::stage::{Stage, World};

/// The width of the chats.
pub(crate) const COLUMNS: u16 = 80;

/// The steps of a journey until now.
pub(crate) struct Steps {
    root: String,
    /// Whether the costs of runs are shown.
    has_costs: bool,
    text: String,
}

impl Steps {
    pub(crate) fn of(world: &World) -> Self {
        Self {
            root: world.root(),
            has_costs: false,
            text: String::new(),
        }
    }

    /// Keeps the costs of runs, because the model counts the same tokens every time.
    pub(crate) fn with_costs(mut self) -> Self {
        self.has_costs = true;
        self
    }

    /// Adds a command that ran without a terminal, and its output.
    pub(crate) fn ran(&mut self, ran: &Ran) {
        for row in ran.to_string().lines() {
            self.row(&row_of(row, &self.root));
        }
        self.row("");
    }

    /// Adds a whole chat.
    pub(crate) fn chat(&mut self, what: &str, chat: &mut Stage<'_>) {
        self.chat_with(what, chat, |_| true);
    }

    /// Adds a chat without its indented rows: the output of tools, and the reasons of their failures.
    pub(crate) fn chat_without_output(&mut self, what: &str, chat: &mut Stage<'_>) {
        self.chat_with(what, chat, |row| !row.starts_with("  "));
    }

    /// Adds a text that neither a command nor a chat printed.
    pub(crate) fn text(&mut self, what: &str, text: &str) {
        self.row(&format!("━━ {what} ━━"));
        for row in text.lines() {
            self.row(&row_of(row, &self.root));
        }
        self.row("");
    }

    fn chat_with(&mut self, what: &str, chat: &mut Stage<'_>, is_shown: impl Fn(&str) -> bool) {
        self.row(&format!("━━ {what} ━━"));
        for row in chat.text().iter().filter(|row| is_shown(row)) {
            self.row(row);
        }
        self.row("");
    }

    /// Adds the events of one kind in a session, as `agentx show --step` describes them, and returns them.
    pub(crate) fn events(&mut self, world: &World, id: &str, kind: &str) -> String {
        let shown = world.run(&["show", id, "--step"]);
        assert_eq!(shown.code, Some(0), "{shown}");
        let rows = shown.stdout.lines();
        let rows = rows.filter_map(|row| row.find(kind).map(|at| format!("{}\n", &row[at..])));
        let text: String = rows.collect();
        self.text(&format!("{kind} in agentx show --step"), &text);
        text
    }

    /// Adds a row, without counts of tokens: a strict server and the demo count the instructions, too.
    fn row(&mut self, row: &str) {
        let is_left_out = !self.has_costs && row.contains(" out · $");
        self.text.push_str(if is_left_out { "[usage]" } else { row });
        self.text.push('\n');
    }

    /// Compares all steps with the snapshot of this name.
    pub(crate) fn check(self, name: &str) {
        insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(name, self.text);
        });
    }
}

/// Says this, and waits until these words have come and nothing is under way.
pub(crate) fn say(chat: &mut Stage<'_>, words: &str, answer: &str) {
    chat.say(words);
    chat.wait_for_words(answer);
    chat.wait_for_prompt();
}

/// Waits until the question number `count` of a chat, from 1, about a call of this tool waits for an answer.
pub(crate) fn wait_for_call(chat: &mut Stage<'_>, tool: &str, count: usize) {
    let head = format!("{tool} wants to ");
    chat.wait(&format!("question {count} about {tool}"), |terminal| {
        let asked = terminal.all().iter().filter(|row| row.contains(&head)).count();
        asked >= count && terminal.screen().concat().contains("allow? y")
    });
}
