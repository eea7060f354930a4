//! Long pastes: the line shows their size, and their text is sent. Shorter ones of several lines are also
//! recorded, to distinguish them from typed text.

use std::cmp::Reverse;
use std::collections::VecDeque;

/// Maximum number of lines and bytes of a paste that is shown unchanged.
const SHOWN_LINES: usize = 8;
const SHOWN_BYTES: usize = 800;
/// Maximum number of lines and bytes to show of a text that was not pasted or was sent before.
const WRITTEN_LINES: usize = 100;
const WRITTEN_BYTES: usize = 8_000;
/// Maximum number of sent pastes to keep: a sent text may return to be edited.
const MOST: usize = 16;

/// The long pastes, and the sign that represents each.
#[derive(Debug, Default)]
pub(crate) struct Pastes {
    kept: Vec<Paste>,
    count: usize,
    /// The latest pastes of several lines that are shown unchanged.
    short: VecDeque<String>,
}

#[derive(Debug)]
struct Paste {
    sign: String,
    text: String,
    sent: bool,
    /// Whether it was pasted. Long texts from elsewhere are also shown as their size.
    is_pasted: bool,
}

impl Pastes {
    /// Returns the sign for a long paste, or the paste itself.
    pub(crate) fn paste(&mut self, text: String) -> String {
        let before = self.count;
        let shown = self.fold(text);
        if self.count > before {
            if let Some(paste) = self.kept.last_mut() {
                paste.is_pasted = true;
            }
        } else if shown.trim().contains('\n') {
            if self.short.len() >= MOST {
                self.short.pop_front();
            }
            self.short.push_back(shown.trim().to_owned());
        }
        shown
    }

    /// Returns a text with a line end in place of each paste that is long or has several lines.
    pub(crate) fn typed(&self, text: &str) -> String {
        let long = self.kept.iter().filter(|paste| paste.is_pasted);
        let long = long.map(|paste| paste.text.trim());
        let mut pastes: Vec<&str> = long.chain(self.short.iter().map(String::as_str)).collect();
        pastes.retain(|paste| !paste.is_empty());
        pastes.sort_by_key(|paste| Reverse(paste.len()));
        let cut = |text: String, paste: &str| text.replace(paste, "\n");
        pastes.into_iter().fold(text.to_owned(), cut)
    }

    /// Returns the sign for a long text, or the text itself.
    pub(crate) fn fold(&mut self, text: String) -> String {
        let lines = text.lines().count();
        if lines <= SHOWN_LINES && text.len() <= SHOWN_BYTES {
            return text;
        }
        self.count += 1;
        let size = match text.len() {
            bytes @ 0..=999 => format!("{bytes} B"),
            bytes => format!("{:.1} kB", bytes as f64 / 1e3),
        };
        let what = if lines == 1 { "line" } else { "lines" };
        let sign = format!("[pasted {}: {lines} {what}, {size}]", self.count);
        if self.kept.iter().filter(|paste| paste.sent).count() >= MOST
            && let Some(oldest) = self.kept.iter().position(|paste| paste.sent)
        {
            self.kept.remove(oldest);
        }
        self.kept.push(Paste {
            sign: sign.clone(),
            text,
            sent: false,
            is_pasted: false,
        });
        sign
    }

    /// The line with the texts in it.
    pub(crate) fn unfold(&self, line: &str) -> String {
        let mut whole = String::with_capacity(line.len());
        let mut rest = line;
        let next = |rest: &str| {
            let found = self
                .kept
                .iter()
                .filter_map(|paste| Some((rest.find(&paste.sign)?, paste)));
            found.min_by_key(|(at, _)| *at)
        };
        // Signs inside a pasted text are not expanded.
        while let Some((at, paste)) = next(rest) {
            whole.push_str(&rest[..at]);
            whole.push_str(&paste.text);
            rest = &rest[at + paste.sign.len()..];
        }
        whole.push_str(rest);
        whole
    }

    /// Returns the range of the sign that contains this place of a text.
    fn sign_around(&self, text: &str, at: usize) -> Option<(usize, usize)> {
        let signs = self.kept.iter().flat_map(|paste| text.match_indices(&paste.sign));
        let mut signs = signs.map(|(from, sign)| (from, from + sign.len()));
        signs.find(|(from, to)| *from < at && at < *to)
    }

    /// Returns the end of a step from one place to another: the sign of a paste counts as one letter.
    pub(crate) fn landed(&self, text: &str, from: usize, to: usize) -> usize {
        match self.sign_around(text, to) {
            Some((begin, _)) if to < from => begin,
            Some((_, end)) => end,
            None => to,
        }
    }

    /// Returns the range that is deleted with this range: the sign of a paste goes as a whole.
    pub(crate) fn widened(&self, text: &str, from: usize, to: usize) -> (usize, usize) {
        (self.landed(text, to, from), self.landed(text, from, to))
    }

    /// Notes that the line was sent: its texts need not be kept much longer.
    pub(crate) fn sent(&mut self, line: &str) {
        for paste in &mut self.kept {
            paste.sent |= line.contains(&paste.sign);
        }
    }

    /// Returns a text that shows its pastes by their size.
    pub(crate) fn folded(&self, text: &str) -> String {
        let pastes = self.kept.iter();
        pastes.fold(text.to_owned(), |text, paste| {
            text.replace(&paste.text, &paste.sign)
        })
    }

    /// Replaces known pastes in a text from elsewhere or from the history by their signs.
    pub(crate) fn refold(&mut self, mut text: String) -> String {
        for paste in &mut self.kept {
            if text.contains(&paste.text) {
                text = text.replace(&paste.text, &paste.sign);
                paste.sent = false;
            }
        }
        if text.len() > WRITTEN_BYTES || text.lines().count() > WRITTEN_LINES {
            text = self.fold(text);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long(word: &str) -> String {
        format!("{word}\n").repeat(20)
    }

    #[test]
    fn what_is_shown_by_its_size_is_sent_whole_and_can_come_back() {
        let mut pastes = Pastes::default();
        assert_eq!(pastes.fold("short\ntext".into()), "short\ntext");
        let one = pastes.fold(long("one"));
        assert_eq!(one, "[pasted 1: 20 lines, 80 B]");
        // A text that looks like a sign stays text.
        let two = pastes.fold(format!("{one}\n{}", long("two")));
        let line = format!("see {one} and {two}!");
        let whole = pastes.unfold(&line);
        assert_eq!(whole, format!("see {} and {one}\n{}!", long("one"), long("two")));
        pastes.sent(&line);
        assert_eq!(
            pastes.refold(format!("again {}", long("one"))),
            format!("again {one}")
        );
    }

    #[test]
    fn what_was_typed_is_told_from_pastes_that_are_long_or_have_several_lines() {
        let mut pastes = Pastes::default();
        let (one, two) = (long("one"), "├── a\n└── b\n");
        let line = pastes.paste(one) + &pastes.paste(two.into());
        assert_eq!(
            pastes.typed(&pastes.unfold(&format!("see {line}please"))),
            "see \n\n\n\nplease"
        );
        // A path that a terminal pastes stays, and so does a long text that came back.
        assert_eq!(pastes.paste("@a.rs ".into()), "@a.rs ");
        assert_eq!(pastes.typed("see @a.rs "), "see @a.rs ");
        let old = "old\n".repeat(200);
        assert!(pastes.refold(old.clone()).starts_with("[pasted"));
        assert_eq!(pastes.typed(&old), old);
    }

    #[test]
    fn what_is_not_sent_yet_is_never_forgotten() {
        let mut pastes = Pastes::default();
        let line: String = (0..50).map(|n| pastes.fold(long(&n.to_string()))).collect();
        let whole: String = (0..50).map(|n| long(&n.to_string())).collect();
        assert_eq!(pastes.unfold(&line), whole);
        pastes.sent(&line);
        for n in 50..90 {
            pastes.fold(long(&n.to_string()));
        }
        assert!(pastes.kept.len() < 60, "what was sent is let go");
    }
}
