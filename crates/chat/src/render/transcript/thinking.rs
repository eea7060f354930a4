//! Renders a model's reasoning: as it comes, or folded into a line with its length.

use agentx::config::ThinkingDisplay;
use agentx::types::{RuntimeEvent, Timestamp};
use unicode_width::UnicodeWidthChar as _;

use super::super::units;
use super::{OpenLine, TranscriptRenderer};

/// The longest reasoning that can be shown in the middle of it; more is only counted.
const LONGEST: usize = 64 * 1024;

/// The current reasoning.
#[derive(Debug)]
pub(super) struct OpenThought {
    since: Timestamp,
    until: Timestamp,
    count: WordCount,
    /// The text that was not shown, in case the person wants to see it later.
    text: String,
    shown: bool,
}

/// Counts words as they come. A wide character is a word.
#[derive(Clone, Copy, Debug, Default)]
struct WordCount {
    words: u64,
    within: bool,
}

impl WordCount {
    /// Takes a piece.
    fn push(&mut self, text: &str) {
        for c in text.chars() {
            let wide = c.width().unwrap_or(0) > 1;
            let begins = !c.is_whitespace() && !wide;
            self.words += u64::from(wide || (begins && !self.within));
            self.within = begins;
        }
    }
}

/// Returns a length such as `thought for 12s, 340 words`.
pub(crate) fn length(millis: u64, text: &str) -> String {
    let mut count = WordCount::default();
    count.push(text);
    length_text(millis, count)
}

fn length_text(millis: u64, count: WordCount) -> String {
    let words = if count.words == 1 { "word" } else { "words" };
    format!(
        "thought for {}, {} {words}",
        units::duration(millis),
        units::count(count.words)
    )
}

/// Returns whether reasoning is over when this comes.
pub(super) fn is_after(event: &RuntimeEvent) -> bool {
    matches!(
        event,
        RuntimeEvent::TextDelta(_)
            | RuntimeEvent::MessageStart(_)
            | RuntimeEvent::MessageStop(_)
            | RuntimeEvent::ToolPlanned(_)
            | RuntimeEvent::ToolCallRequested(_)
            | RuntimeEvent::ToolExecuting(_)
            | RuntimeEvent::ErrorRaised(_)
            | RuntimeEvent::RunFinished(_)
    )
}

impl TranscriptRenderer {
    /// Renders for a reader who only looks on, and has no commands.
    pub(crate) fn looking_on(mut self) -> Self {
        self.options.looks_on = true;
        self
    }

    /// Shows reasoning so from now on.
    pub(crate) fn set_thinking(&mut self, thinking: ThinkingDisplay) {
        let before = self.options.thinking.replace(thinking);
        if thinking == ThinkingDisplay::Full
            && before != Some(ThinkingDisplay::Full)
            && let Some(thought) = &mut self.thought
        {
            thought.shown = true;
            let text = std::mem::take(&mut thought.text);
            self.show_thought(&text, true);
        }
    }

    /// Returns the way in which reasoning is shown.
    pub(crate) fn thinking(&self) -> ThinkingDisplay {
        self.options.thinking.unwrap_or_default()
    }

    /// Returns the length of the hidden reasoning that is streaming now, in words.
    pub(crate) fn thought_words(&self) -> Option<String> {
        let thought = self.thought.as_ref().filter(|thought| !thought.shown)?;
        Some(format!("{} words", units::count(thought.count.words)))
    }

    pub(super) fn think(&mut self, text: &str) {
        let Some(thinking) = self.options.thinking else {
            // Without colours nothing tells it from the answer.
            if self.style.color {
                self.stream(OpenLine::Thinking, text);
            }
            return;
        };
        let at = self.at;
        let begins = self.thought.is_none();
        let shown = thinking == ThinkingDisplay::Full;
        let thought = self.thought.get_or_insert_with(|| OpenThought {
            since: at,
            until: at,
            count: WordCount::default(),
            text: String::new(),
            shown,
        });
        thought.until = at;
        thought.count.push(text);
        if shown {
            return self.show_thought(text, begins);
        }
        if thought.text.len() + text.len() <= LONGEST {
            thought.text.push_str(text);
        }
    }

    fn show_thought(&mut self, text: &str, begins: bool) {
        if begins && !self.style.color && !text.is_empty() {
            self.aside("thinking:");
        }
        self.stream(OpenLine::Thinking, text);
    }

    /// The reasoning is over: if it was folded, its length is shown.
    pub(super) fn end_thought(&mut self) {
        let Some(thought) = self.thought.take() else {
            return;
        };
        if thought.shown {
            return self.end_line();
        }
        if self.thinking() == ThinkingDisplay::Folded {
            let sign = self.style.sign("✻ ", "");
            let length = length_text(thought.until.millis_since(thought.since), thought.count);
            let how = if self.options.looks_on {
                ""
            } else {
                " (/thinking shows it)"
            };
            let line = self.style.dim(&format!("{sign}{length}{how}"));
            self.aside(&line);
        }
    }
}
