//! Keys in normal mode: counts, motions, and commands without a motion.

use super::super::{EditOutcome, Editor, motion};
use super::{MOST, Motion, MotionExtent, Sought, Vi, ViOperator, Wait};

impl Editor {
    /// A letter in normal mode.
    pub(super) fn command(&mut self, c: char) -> EditOutcome {
        let Some(vi) = &mut self.vi else {
            return EditOutcome::Nothing;
        };
        match std::mem::take(&mut vi.wait) {
            Wait::Nothing => {}
            Wait::Sign { back, till } => {
                let sought = Sought { sign: c, back, till };
                vi.sought = Some(sought);
                return self.seek(sought);
            }
            Wait::Replace => return self.put_over(c),
            Wait::G if c == 'g' => {
                return self.travel(Some(Motion {
                    to: 0,
                    reach: MotionExtent::Rows,
                }));
            }
            Wait::G => return self.no_command(),
            Wait::Object { around } => return self.object(c, around),
        }
        match c {
            '1'..='9' => return self.digit(c),
            '0' if vi.count.is_some() => return self.digit(c),
            'd' | 'c' | 'y' => return self.operator(c),
            'i' | 'a' if vi.operator.is_some() => vi.wait = Wait::Object { around: c == 'a' },
            'g' => vi.wait = Wait::G,
            'f' | 'F' | 't' | 'T' => {
                vi.wait = Wait::Sign {
                    back: c.is_ascii_uppercase(),
                    till: c.eq_ignore_ascii_case(&'t'),
                }
            }
            'r' if vi.operator.is_none() => vi.wait = Wait::Replace,
            ';' | ',' => {
                return match vi.sought {
                    Some(sought) => self.seek_on(Sought {
                        back: sought.back != (c == ','),
                        ..sought
                    }),
                    None => self.no_command(),
                };
            }
            _ => {
                return match self.motion(c) {
                    Some(motion) => self.travel(Some(motion)),
                    None if self.is_motion(c) => self.edge(c),
                    None if vi_operates(self.vi.as_ref()) => self.no_command(),
                    None => self.alone(c),
                };
            }
        }
        EditOutcome::Nothing
    }

    fn digit(&mut self, c: char) -> EditOutcome {
        if let (Some(vi), Some(digit)) = (&mut self.vi, c.to_digit(10)) {
            let count = vi.count.unwrap_or(0) * 10 + digit as usize;
            vi.count = Some(count.min(MOST));
        }
        EditOutcome::Nothing
    }

    /// `d`, `c`, `y`; twice it is about rows.
    fn operator(&mut self, c: char) -> EditOutcome {
        let operator = match c {
            'd' => ViOperator::Delete,
            'c' => ViOperator::Change,
            _ => ViOperator::Yank,
        };
        let Some(vi) = &mut self.vi else {
            return EditOutcome::Nothing;
        };
        match vi.operator {
            None => {
                vi.operator = Some((operator, vi.count.take().unwrap_or(1)));
                EditOutcome::Nothing
            }
            Some((before, _)) if before == operator => {
                let times = vi.times();
                let mut to = self.cursor;
                for _ in 1..times {
                    to = motion::row_below(&self.text, to).unwrap_or(to);
                }
                self.travel(Some(Motion {
                    to,
                    reach: MotionExtent::Rows,
                }))
            }
            Some(_) => self.no_command(),
        }
    }

    pub(super) fn no_command(&mut self) -> EditOutcome {
        self.settled();
        EditOutcome::Nothing
    }

    fn is_motion(&self, c: char) -> bool {
        "hljkwWbBeE0^$G% +-".contains(c)
    }

    /// The target of a motion; `None` if it cannot move, or the letter is not a motion.
    fn motion(&self, c: char) -> Option<Motion> {
        let times = self.vi.as_ref().map_or(1, Vi::times);
        let counts = self.vi.as_ref().is_some_and(|vi| vi.count.is_some());
        let operates = vi_operates(self.vi.as_ref());
        let (text, at) = (self.text.as_str(), self.cursor);
        let (start, end) = (motion::row_start(text, at), motion::row_end(text, at));
        let many = |step: &dyn Fn(usize) -> usize| (0..times).fold(at, |at, _| step(at));
        let before = |to: usize| {
            Some(Motion {
                to,
                reach: MotionExtent::Before,
            })
        };
        let with = |to: usize| {
            Some(Motion {
                to,
                reach: MotionExtent::With,
            })
        };
        let big = c.is_ascii_uppercase();
        match c {
            'h' => before(many(&|at| motion::previous_grapheme(text, at).max(start)))
                .filter(|motion| motion.to < at),
            'l' | ' ' => {
                before(many(&|at| motion::next_grapheme(text, at).min(end))).filter(|motion| motion.to > at)
            }
            // The word is changed, the blanks after it stay.
            'w' | 'W' if self.is_changing() && !is_blank(text, at) => {
                let last = (1..times).fold(at, |at, _| motion::next_word(text, at, big));
                before(end_of_word(text, last, big))
            }
            'w' | 'W' => {
                let to = many(&|at| motion::next_word(text, at, big));
                // Rows are not joined by it.
                let last_end = motion::row_end(text, motion::word_back(text, to, true).max(at));
                before(if operates { to.min(last_end.max(at)) } else { to })
            }
            'b' | 'B' => before(many(&|at| motion::word_back(text, at, big))),
            'e' | 'E' => with(many(&|at| motion::word_end(text, at, big))),
            '0' => before(start),
            '^' => before(motion::row_text(text, at)),
            '$' => {
                let row = (1..times).fold(at, |at, _| motion::row_below(text, at).unwrap_or(at));
                before(motion::row_end(text, row))
            }
            'j' | '+' => self.rows_off(times, &motion::row_below),
            'k' | '-' => self.rows_off(times, &motion::row_above),
            'G' => {
                let row = |n: usize| text.match_indices('\n').nth(n).map(|(i, _)| i + 1);
                let to = match times {
                    _ if !counts => motion::row_start(text, text.len()),
                    1 => 0,
                    n => row(n - 2).unwrap_or(motion::row_start(text, text.len())),
                };
                Some(Motion {
                    to,
                    reach: MotionExtent::Rows,
                })
            }
            '%' => with(partner(text, at)?),
            _ => None,
        }
    }

    fn rows_off(&self, times: usize, step: &dyn Fn(&str, usize) -> Option<usize>) -> Option<Motion> {
        let mut to = self.cursor;
        for _ in 0..times {
            to = step(&self.text, to)?;
        }
        Some(Motion {
            to,
            reach: MotionExtent::Rows,
        })
    }

    /// Handles a motion beyond the first or the last row: it goes to the previous or next entry of the
    /// history.
    fn edge(&mut self, c: char) -> EditOutcome {
        let operates = vi_operates(self.vi.as_ref());
        match c {
            'k' | '-' if !operates => self.counted(|editor| editor.recall(true)),
            'j' | '+' if !operates => self.counted(|editor| editor.recall(false)),
            _ => self.no_command(),
        }
    }

    fn seek(&mut self, sought: Sought) -> EditOutcome {
        let times = self.vi.as_ref().map_or(1, Vi::times);
        self.seek_nth(sought, times)
    }

    /// Repeats a search for a character. If the cursor is already before one, it moves to the next one.
    fn seek_on(&mut self, sought: Sought) -> EditOutcome {
        let times = self.vi.as_ref().map_or(1, Vi::times);
        let ways = (sought.back, sought.till);
        let stays = sought.till
            && motion::find(&self.text, self.cursor, sought.sign, ways, times) == Some(self.cursor);
        self.seek_nth(sought, times + usize::from(stays))
    }

    fn seek_nth(&mut self, sought: Sought, nth: usize) -> EditOutcome {
        let ways = (sought.back, sought.till);
        let found = motion::find(&self.text, self.cursor, sought.sign, ways, nth);
        let reach = if sought.back {
            MotionExtent::Before
        } else {
            MotionExtent::With
        };
        self.travel(found.map(|to| Motion { to, reach }))
    }

    fn is_changing(&self) -> bool {
        let operator = self.vi.as_ref().and_then(|vi| vi.operator);
        matches!(operator, Some((ViOperator::Change, _)))
    }

    /// Moves the cursor, or applies the operator to the text up to the target.
    fn travel(&mut self, motion: Option<Motion>) -> EditOutcome {
        let Some(motion) = motion else {
            return self.no_command();
        };
        let operator = self.vi.as_ref().and_then(|vi| vi.operator);
        let Some((operator, _)) = operator else {
            let edited = self.go(motion.to);
            self.settled();
            return edited;
        };
        let (from, to) = (self.cursor.min(motion.to), self.cursor.max(motion.to));
        match motion.reach {
            MotionExtent::Rows => self.operate_on_rows(operator, from, to),
            MotionExtent::Before => self.operate(operator, from, to),
            MotionExtent::With => self.operate(operator, from, motion::next_grapheme(&self.text, to)),
        }
    }

    /// Selects a text object for an operator: a word, a quotation, a bracket.
    fn object(&mut self, c: char, around: bool) -> EditOutcome {
        let (text, at) = (self.text.as_str(), self.cursor);
        let found = match c {
            'w' => Some(motion::word_at(text, at, false, around)),
            'W' => Some(motion::word_at(text, at, true, around)),
            '"' | '\'' | '`' => motion::quoted_at(text, at, c, around),
            '(' | ')' | 'b' => motion::between_brackets(text, at, '(', ')', around),
            '[' | ']' => motion::between_brackets(text, at, '[', ']', around),
            '{' | '}' | 'B' => motion::between_brackets(text, at, '{', '}', around),
            '<' | '>' => motion::between_brackets(text, at, '<', '>', around),
            _ => None,
        };
        let operator = self.vi.as_ref().and_then(|vi| vi.operator);
        match (found, operator) {
            (Some((from, to)), Some((operator, _))) => self.operate(operator, from, to),
            _ => self.no_command(),
        }
    }
}

fn vi_operates(vi: Option<&Vi>) -> bool {
    vi.is_some_and(|vi| vi.operator.is_some())
}

fn is_blank(text: &str, at: usize) -> bool {
    text[at..].chars().next().is_none_or(char::is_whitespace)
}

/// The position after the last grapheme of the word at the cursor.
fn end_of_word(text: &str, at: usize, big: bool) -> usize {
    let (_, end) = motion::word_at(text, at, big, false);
    end
}

/// The bracket that belongs to the next one in the row.
fn partner(text: &str, at: usize) -> Option<usize> {
    const PAIRS: [(char, char); 3] = [('(', ')'), ('[', ']'), ('{', '}')];
    let end = motion::row_end(text, at);
    let is_bracket = |c: char| PAIRS.iter().any(|(open, close)| c == *open || c == *close);
    let (i, c) = text[at..end].char_indices().find(|(_, c)| is_bracket(*c))?;
    let (open, close) = PAIRS
        .into_iter()
        .find(|(open, close)| c == *open || c == *close)?;
    let (start, end) = motion::between_brackets(text, at + i, open, close, true)?;
    Some(if c == open { end - 1 } else { start })
}
