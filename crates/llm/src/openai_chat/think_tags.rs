//! Thinking that stands in the words of an answer, as `<think>…</think>` at its beginning: DeepSeek-R1, Qwen 3 and their like write it so, and
//! a server that was started without a parser for it passes it on (vLLM without `--reasoning-parser`, llama.cpp with
//! `--reasoning-format none`). litellm and goose read the same tags. A tag further on in an answer is a word like any other.

use crate::emit::Kind;

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// Tells thinking from words, piece by piece.
#[derive(Clone, Debug, Default)]
pub(super) struct ThinkTags {
    place: Place,
    /// What may be the beginning of a tag, or blanks around one.
    held: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// Nothing was said yet.
    #[default]
    Beginning,
    /// Right behind the tag that opens.
    Opened,
    /// In the thinking.
    Inside,
    /// Right behind the tag that closes.
    Closed,
    /// In the answer, where no tag counts any more.
    Answer,
}

impl ThinkTags {
    /// Takes a piece of the answer, and hands out what is certain.
    pub(super) fn take(&mut self, piece: &str) -> Vec<(Kind, String)> {
        if self.place == Place::Answer {
            return vec![(Kind::Text, piece.to_owned())];
        }
        self.held.push_str(piece);
        let mut out = Vec::new();
        while self.step(&mut out) {}
        out
    }

    /// Hands out what is held back, because the answer ends here or something other than words comes.
    pub(super) fn flush(&mut self) -> Option<(Kind, String)> {
        let held = std::mem::take(&mut self.held);
        let kind = match self.place {
            Place::Inside => Kind::Thinking,
            Place::Opened | Place::Closed => return None,
            Place::Beginning | Place::Answer => Kind::Text,
        };
        (!held.is_empty()).then_some((kind, held))
    }

    /// Whether something is held back.
    pub(super) fn is_holding(&self) -> bool {
        !self.held.is_empty()
    }

    /// Goes on by one place. `false` where more has to come first.
    fn step(&mut self, out: &mut Vec<(Kind, String)>) -> bool {
        let begins = self.held.trim_start();
        match self.place {
            Place::Beginning if OPEN.starts_with(begins) && begins != OPEN => return false,
            Place::Beginning => match begins.strip_prefix(OPEN) {
                Some(rest) => self.go_to(Place::Opened, rest.to_owned()),
                None => self.place = Place::Answer,
            },
            Place::Opened | Place::Closed if begins.is_empty() => return false,
            Place::Opened => self.go_to(Place::Inside, begins.to_owned()),
            Place::Closed => self.go_to(Place::Answer, begins.to_owned()),
            Place::Inside => return self.think(out),
            Place::Answer => {
                out.extend(self.flush());
                return false;
            }
        }
        true
    }

    fn think(&mut self, out: &mut Vec<(Kind, String)>) -> bool {
        let (thought, rest) = match self.held.split_once(CLOSE) {
            Some((thought, rest)) => (thought, Some(rest)),
            None => (&self.held[..self.held.len() - may_close(&self.held)], None),
        };
        if !thought.is_empty() {
            out.push((Kind::Thinking, thought.to_owned()));
        }
        match rest.map(str::to_owned) {
            Some(rest) => {
                self.go_to(Place::Closed, rest);
                true
            }
            None => {
                self.held.drain(..thought.len());
                false
            }
        }
    }

    fn go_to(&mut self, place: Place, held: String) {
        (self.place, self.held) = (place, held);
    }
}

/// How many bytes at the end may be the beginning of the tag that closes.
fn may_close(text: &str) -> usize {
    let lengths = (1..CLOSE.len()).rev();
    lengths
        .into_iter()
        .find(|length| text.ends_with(&CLOSE[..*length]))
        .unwrap_or(0)
}
