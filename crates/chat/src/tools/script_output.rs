//! The output of a tool's script that runs outside of any session.

use agentx::types::EnvironmentEvent;
use serde_json::Value;

use crate::render::clean::{Cleaner, clean};
use crate::terminal::console::Console;

/// Prints the output of a running script to standard error: emitted text unchanged, log messages on separate
/// lines.
pub struct ScriptOutput<'a> {
    console: &'a mut Console,
    cleaner: Cleaner,
    /// Whether a line is open.
    open: bool,
}

impl<'a> ScriptOutput<'a> {
    /// Returns an output on this console.
    pub fn new(console: &'a mut Console) -> Self {
        Self {
            console,
            cleaner: Cleaner::default(),
            open: false,
        }
    }

    /// Handles an event of the call.
    pub fn hear(&mut self, event: &EnvironmentEvent) {
        let EnvironmentEvent::EffectEnded(ended) = event else {
            return;
        };
        if let Some(emitted) = ended.emitted() {
            let mut shown = String::new();
            self.cleaner.push(&emitted.text, &mut shown);
            if !shown.is_empty() {
                self.open = !shown.ends_with('\n');
                self.console.say_exact(&shown);
            }
        } else if let Some(logged) = ended.input.as_deref().filter(|_| ended.kind == "log") {
            self.end();
            let word = |key: &str| logged.get(key).and_then(Value::as_str).unwrap_or_default();
            let line = format!("{}: {}\n", word("level"), clean(word("message")));
            self.console.say(&line);
        }
    }

    /// Ends the line that is open.
    pub fn end(&mut self) {
        if std::mem::take(&mut self.open) {
            self.console.say("\n");
        }
    }
}
