//! Reads the answer of a model as it arrives: each line is an intent, or a text that names no rule.
//!
//! `matching/machine/ask.rs` feeds it the pieces of a stream. The split of the text into pieces makes no
//! difference. The length of a line (4,096 bytes) and the number of findings (32) are bounded, because a
//! model may write anything.
//!
//! | line | finding |
//! | --- | --- |
//! | `play: title=Gymnopédie` | `Intent`, with notes about parts for which its rule has no place |
//! | `I would say play` | `Words` |
//! | blank, a dash, a code fence | none |
//! | the 33rd | `TooMany`, and none after it |

use agentx_types::IntentRule;
use serde::{Deserialize, Serialize};

use super::answer_line;
use super::intent::{Intent, MatchNote};

/// Bytes of a line that are read; the rest of the line is dropped, and the intent gets the note
/// [`MatchNote::Cut`].
const MAX_LINE: usize = 4_096;
/// Maximum number of findings in one answer; a last one says that there are more.
const MAX_FINDINGS: usize = 32;

/// The meaning of a line of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// An intent of a person.
    Intent(Intent),
    /// Words that name no rule, as they came.
    Words(String),
    /// There are more lines than are read: the last finding of an answer.
    TooMany,
}

/// Reads one answer.
///
/// ```
/// use agentx_agent::matching::{AnswerParser, Finding, Intent};
/// use agentx_types::IntentRule;
///
/// let rules = [IntentRule { name: "play".into(), ..IntentRule::default() }];
/// let (mut parser, mut found) = (AnswerParser::default(), Vec::new());
/// parser.feed(&rules, "pl", &mut found);
/// parser.feed(&rules, "ay\nHere", &mut found);
/// parser.finish(&rules, &mut found);
/// assert_eq!(found, [Finding::Intent(Intent::new("play")), Finding::Words("Here".into())]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerParser {
    /// The line that has not ended, cut at the bound.
    line: String,
    /// Whether it is longer than the bound.
    cut: bool,
    /// The number of findings in the answer until now.
    found: usize,
}

impl AnswerParser {
    /// Reads the next piece of the answer, and adds the findings of the lines that end in it to `found`.
    pub fn feed(&mut self, rules: &[IntentRule], piece: &str, found: &mut Vec<Finding>) {
        let mut rest = piece;
        while let Some(end) = rest.find(['\n', '\r']) {
            let (line, after) = rest.split_at(end);
            self.take(line);
            self.end_line(rules, found);
            rest = after.get(1..).unwrap_or_default();
        }
        self.take(rest);
    }

    /// Ends the answer, and with it its last line. The parser is as new afterwards.
    pub fn finish(&mut self, rules: &[IntentRule], found: &mut Vec<Finding>) {
        self.end_line(rules, found);
        self.found = 0;
    }

    /// Adds to the open line as far as there is room; a character is never cut in two.
    fn take(&mut self, text: &str) {
        if self.cut {
            return;
        }
        let room = MAX_LINE.saturating_sub(self.line.len());
        if text.len() <= room {
            self.line.push_str(text);
            return;
        }
        let fits = text.char_indices().map(|(at, c)| at + c.len_utf8());
        let end = fits.take_while(|end| *end <= room).last().unwrap_or(0);
        self.line.push_str(text.get(..end).unwrap_or_default());
        self.cut = true;
    }

    /// Ends the open line, and adds its finding to `found`. Blank lines and code fences are not findings.
    fn end_line(&mut self, rules: &[IntentRule], found: &mut Vec<Finding>) {
        let line = std::mem::take(&mut self.line);
        let cut = std::mem::take(&mut self.cut);
        let bare = line.trim();
        if is_fence(bare) || answer_line::unmarked(bare).is_empty() || self.found > MAX_FINDINGS {
            return;
        }
        self.found += 1;
        if self.found > MAX_FINDINGS {
            found.push(Finding::TooMany);
            return;
        }
        found.push(match answer_line::intent(rules, bare) {
            Some(mut intent) => {
                intent.notes.extend(cut.then_some(MatchNote::Cut));
                Finding::Intent(intent)
            }
            None => Finding::Words(bare.to_owned()),
        });
    }
}

/// Returns whether a line is a code fence.
fn is_fence(line: &str) -> bool {
    line.starts_with("```") && !line.trim_start_matches('`').contains('`') || line.starts_with("~~~")
}
