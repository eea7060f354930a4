//! Thinking in the text of an answer, as `<think>…</think>` at its beginning: DeepSeek-R1, Qwen 3 and similar
//! models write it so, and a server that was started without a parser for it passes it on (vLLM without
//! `--reasoning-parser`, llama.cpp with `--reasoning-format none`). litellm and goose read the same tags. A
//! later tag in an answer is ordinary text.
//!
//! If the template of the model writes the opening tag, the answer has only the closing one
//! (<https://github.com/ggml-org/llama.cpp/issues/11861>, <https://github.com/ml-explore/mlx-lm/issues/877>).
//! vLLM and SGLang also treat the text before it as thinking; they know which model they serve, while this
//! decoder knows only when the tag comes. Until then the text was emitted as an ordinary text, so it can only
//! be marked as thinking afterwards.

use crate::emitter::PartKind;

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";
/// Quotes around a tag that is only mentioned.
const QUOTES: [char; 5] = ['`', '"', '\'', '“', '”'];

/// A piece of an answer, classified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ThinkPiece {
    /// A piece of the words or of the thinking.
    Piece(PartKind, String),
    /// The message that all words until here were thinking.
    WasThinking,
}

/// Separates thinking from text, piece by piece.
#[derive(Clone, Debug, Default)]
pub(super) struct ThinkTags {
    place: TagPosition,
    /// The text that may be the beginning of a tag, or blanks around one.
    held: String,
    /// The last emitted character, and the number of backticks before the held text.
    last: Option<char>,
    ticks: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum TagPosition {
    /// Before the first words.
    #[default]
    Beginning,
    /// Immediately behind the tag that opens.
    Opened,
    /// Within the thinking.
    Inside,
    /// Immediately behind the tag that closes.
    Closed,
    /// Within words that no tag opened: a tag that closes may come.
    Words,
    /// Immediately behind that tag.
    ClosedWords,
    /// Within the answer, in which tags no longer count.
    Answer,
}

impl ThinkTags {
    /// Reads a piece of the answer, and returns the parts that are certain.
    pub(super) fn take(&mut self, piece: &str) -> Vec<ThinkPiece> {
        if self.place == TagPosition::Answer {
            return vec![ThinkPiece::Piece(PartKind::Text, piece.to_owned())];
        }
        self.held.push_str(piece);
        let mut out = Vec::new();
        while self.step(&mut out) {}
        out
    }

    /// Returns the held text, because the answer ends here or something other than text follows.
    pub(super) fn flush(&mut self) -> Vec<ThinkPiece> {
        let held = std::mem::take(&mut self.held);
        let piece = |kind| {
            if held.is_empty() {
                Vec::new()
            } else {
                vec![ThinkPiece::Piece(kind, held.clone())]
            }
        };
        match self.place {
            TagPosition::Inside => piece(PartKind::Thinking),
            TagPosition::Opened | TagPosition::Closed => Vec::new(),
            TagPosition::Words if held.ends_with(CLOSE) && self.closes(&held, held.len() - CLOSE.len()) => {
                self.place = TagPosition::Answer;
                let thought = held[..held.len() - CLOSE.len()].to_owned();
                vec![
                    ThinkPiece::Piece(PartKind::Text, thought),
                    ThinkPiece::WasThinking,
                ]
            }
            TagPosition::ClosedWords => {
                self.place = TagPosition::Answer;
                vec![ThinkPiece::WasThinking]
            }
            TagPosition::Beginning | TagPosition::Words | TagPosition::Answer => piece(PartKind::Text),
        }
    }

    /// Ignores tags from now on, because the server itself separates thinking from text.
    pub(super) fn ignore_tags(&mut self) {
        if matches!(self.place, TagPosition::Beginning | TagPosition::Words) {
            self.place = TagPosition::Answer;
        }
    }

    /// Continues by one place. `false` if more has to come first.
    fn step(&mut self, out: &mut Vec<ThinkPiece>) -> bool {
        let begins = self.held.trim_start();
        match self.place {
            TagPosition::Beginning if is_part_of_tag(begins) => return false,
            TagPosition::Beginning => match (begins.strip_prefix(OPEN), begins.strip_prefix(CLOSE)) {
                (Some(rest), _) => self.go_to(TagPosition::Opened, rest.to_owned()),
                (_, Some(rest)) => self.go_to(TagPosition::Closed, rest.to_owned()),
                _ => self.place = TagPosition::Words,
            },
            TagPosition::Opened | TagPosition::Closed | TagPosition::ClosedWords if begins.is_empty() => {
                return false;
            }
            TagPosition::Opened => self.go_to(TagPosition::Inside, begins.to_owned()),
            TagPosition::Closed => self.go_to(TagPosition::Answer, begins.to_owned()),
            TagPosition::ClosedWords => {
                out.push(ThinkPiece::WasThinking);
                self.go_to(TagPosition::Answer, begins.to_owned());
            }
            TagPosition::Inside => return self.think(out),
            TagPosition::Words => return self.release_text(out),
            TagPosition::Answer => {
                out.extend(self.flush());
                return false;
            }
        }
        true
    }

    fn think(&mut self, out: &mut Vec<ThinkPiece>) -> bool {
        let (thought, rest) = match self.held.split_once(CLOSE) {
            Some((thought, rest)) => (thought, Some(rest)),
            None => (&self.held[..self.held.len() - may_close(&self.held)], None),
        };
        if !thought.is_empty() {
            out.push(ThinkPiece::Piece(PartKind::Thinking, thought.to_owned()));
        }
        match rest.map(str::to_owned) {
            Some(rest) => {
                self.go_to(TagPosition::Closed, rest);
                true
            }
            None => {
                self.held.drain(..thought.len());
                false
            }
        }
    }

    /// Returns text up to a closing tag without an opening one. The text after it decides whether it is one.
    fn release_text(&mut self, out: &mut Vec<ThinkPiece>) -> bool {
        let held = std::mem::take(&mut self.held);
        if held.contains(OPEN) {
            self.go_to(TagPosition::Answer, held);
            return true;
        }
        let Some(at) = held.find(CLOSE) else {
            let certain = held.len() - may_begin(&held);
            self.push_text(&held[..certain], out);
            self.held = held[certain..].to_owned();
            return false;
        };
        let rest = &held[at + CLOSE.len()..];
        if rest.is_empty() {
            self.push_text(&held[..at], out);
            self.held = CLOSE.to_owned();
            return false;
        }
        if !self.closes(&held, at) {
            self.go_to(TagPosition::Answer, held);
            return true;
        }
        self.push_text(&held[..at], out);
        self.go_to(TagPosition::ClosedWords, rest.to_owned());
        true
    }

    /// Returns whether the tag there is written by the model, and not one that its words are about.
    fn closes(&self, held: &str, at: usize) -> bool {
        let before = held[..at].chars().next_back().or(self.last);
        let after = held[at + CLOSE.len()..].chars().next();
        let is_spoken_of = |beside: Option<char>| beside.is_some_and(|c| QUOTES.contains(&c) || c == ' ');
        let ticks = self.ticks + held[..at].matches('`').count();
        !is_spoken_of(before) && after.is_none_or(|c| !QUOTES.contains(&c)) && ticks.is_multiple_of(2)
    }

    fn push_text(&mut self, words: &str, out: &mut Vec<ThinkPiece>) {
        self.ticks += words.matches('`').count();
        self.last = words.chars().next_back().or(self.last);
        if !words.is_empty() {
            out.push(ThinkPiece::Piece(PartKind::Text, words.to_owned()));
        }
    }

    fn go_to(&mut self, place: TagPosition, held: String) {
        (self.place, self.held) = (place, held);
    }
}

/// Returns whether it may become a tag with the next piece.
fn is_part_of_tag(text: &str) -> bool {
    [OPEN, CLOSE]
        .iter()
        .any(|tag| tag.starts_with(text) && *tag != text)
}

/// Returns the number of bytes at the end that may be the beginning of a tag.
fn may_begin(text: &str) -> usize {
    let is_tag = |at: &usize| is_part_of_tag(&text[*at..]);
    text.rfind('<').filter(is_tag).map_or(0, |at| text.len() - at)
}

/// Returns the number of bytes at the end that may be the beginning of the closing tag.
fn may_close(text: &str) -> usize {
    let lengths = (1..CLOSE.len()).rev();
    lengths
        .into_iter()
        .find(|length| text.ends_with(&CLOSE[..*length]))
        .unwrap_or(0)
}
