//! Cleans the text of models and tools so that it cannot drive the terminal: no cursor moves, titles,
//! clipboard access or hidden text.

use std::borrow::Cow;
use std::ops::Range;

/// Longest escape sequence that is waited for; a longer one ends there, so that an open one cannot swallow
/// what follows.
const LONGEST: usize = 4096;

/// Takes control sequences out of a stream of text, even if they are split between pieces. Line feeds stay,
/// tabs become spaces, a lone carriage return becomes a line feed, everything else that is not printable
/// goes.
#[derive(Clone, Debug, Default)]
pub struct Cleaner {
    state: CleanerState,
    length: usize,
    after_return: bool,
    keeps_overwrites: bool,
    keeps_tabs: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum CleanerState {
    #[default]
    Text,
    /// The last character was ESC.
    Escape,
    /// The text is within ESC [ … final.
    Control,
    /// The text is within ESC ] … BEL or ESC \, or a string like it.
    Words,
    /// The last character was ESC, within such a string.
    WordsEscape,
}

impl Cleaner {
    /// Creates a cleaner that keeps lone carriage returns and backspaces, for callers that handle overwritten
    /// lines.
    pub fn keeping_overwrites() -> Self {
        Self {
            keeps_overwrites: true,
            ..Self::default()
        }
    }

    /// Appends the printable part of `text` to `out`.
    pub fn push(&mut self, text: &str, out: &mut String) {
        for c in text.chars() {
            self.char(c, out);
        }
    }

    fn char(&mut self, c: char, out: &mut String) {
        if self.state != CleanerState::Text {
            self.length += 1;
            if self.length > LONGEST || (c == '\n' && self.state != CleanerState::Escape) {
                self.state = CleanerState::Text;
            }
        }
        match self.state {
            CleanerState::Text => self.text(c, out),
            CleanerState::Escape => self.state = after_escape(c),
            CleanerState::Control if ('\u{40}'..='\u{7e}').contains(&c) => self.state = CleanerState::Text,
            CleanerState::Words if c == '\u{7}' || c == '\u{9c}' => self.state = CleanerState::Text,
            CleanerState::Words if c == '\u{1b}' => self.state = CleanerState::WordsEscape,
            CleanerState::WordsEscape if c == '\\' => self.state = CleanerState::Text,
            CleanerState::WordsEscape => self.state = CleanerState::Words,
            CleanerState::Control | CleanerState::Words => {}
        }
    }

    fn text(&mut self, c: char, out: &mut String) {
        let after_return = std::mem::replace(&mut self.after_return, c == '\r');
        if after_return && c != '\n' {
            out.push(if self.keeps_overwrites { '\r' } else { '\n' });
        }
        match c {
            '\u{1b}' => self.enter(CleanerState::Escape),
            '\u{9b}' => self.enter(CleanerState::Control),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => self.enter(CleanerState::Words),
            '\n' => out.push('\n'),
            '\t' if !self.keeps_tabs => out.push_str("    "),
            '\t' => out.push(c),
            '\u{8}' if self.keeps_overwrites => out.push(c),
            c if c.is_control() || is_invisible(c) => {}
            c => out.push(c),
        }
    }

    fn enter(&mut self, state: CleanerState) {
        self.state = state;
        self.length = 0;
    }
}

fn after_escape(c: char) -> CleanerState {
    match c {
        '[' => CleanerState::Control,
        ']' | 'P' | 'X' | '^' | '_' => CleanerState::Words,
        '\u{1b}' => CleanerState::Escape,
        // Intermediate bytes of two- and three-byte sequences such as ESC ( B.
        '\u{20}'..='\u{2f}' => CleanerState::Escape,
        _ => CleanerState::Text,
    }
}

/// Returns whether a character reverses the direction of text, so that the text looks different from its
/// content.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// Characters that terminals show as nothing or as a blank, so that many of them push the rest of a line out
/// of sight: those that Unicode lets a display ignore
/// (<https://www.unicode.org/Public/UCD/latest/ucd/DerivedCoreProperties.txt>,
/// `Default_Ignorable_Code_Point`) and the blank of braille. Those that choose how an emoji looks stay.
fn shows_nothing(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// The printable part of a whole text.
pub fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    Cleaner::default().push(text, &mut out);
    out
}

/// Cleans a text but keeps its tabs, for text that the agent gets: a Makefile or a table needs them.
pub fn clean_with_tabs(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut cleaner = Cleaner {
        keeps_tabs: true,
        ..Cleaner::default()
    };
    cleaner.push(text, &mut out);
    out
}

/// Text of many lines of which nothing drives a terminal but colours: other control characters, and marks
/// that turn text around, are shown as signs. Painted text takes another way; this is the last check of
/// names, descriptions and errors that somebody else wrote.
pub fn printable(text: &str) -> Cow<'_, str> {
    let drives = |c: char| drives(c) && !matches!(c, '\n' | '\t');
    if !text.contains(drives) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(drives) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = match colours(rest) {
            Some(length) => length,
            None if rest.starts_with("\r\n") => 2,
            None => 0,
        };
        out.push_str(&rest[..length]);
        rest = &rest[length..];
        if length == 0 {
            let mut chars = rest.chars();
            let sign: String = chars.next().into_iter().collect();
            out.push_str(&visible(&sign));
            rest = chars.as_str();
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Returns the length of the sequence at the beginning of `text`, if it only sets colours.
pub fn colours(text: &str) -> Option<usize> {
    let inner = text.strip_prefix("\u{1b}[")?;
    let end = inner.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    inner[end..].starts_with('m').then_some(end + 3)
}

/// Returns one line that hides nothing and shows unprintable characters as signs, for titles, names, paths
/// and contents. Joiners and non-joiners stay where a language or an emoji needs them: between letters of a
/// script that joins its letters, and within a composed emoji. Anywhere else they are signs.
///
/// ```
/// use agentx_terminal::clean::visible;
///
/// assert_eq!(visible("می\u{200c}خواهم 👩\u{200d}💻"), "می\u{200c}خواهم 👩\u{200d}💻");
/// assert_eq!(visible("pay\u{200d}pal"), "pay<U+200D>pal");
/// ```
pub fn visible(text: &str) -> String {
    visible_part(text, 0..text.len())
}

/// Returns a part of a line as in [`visible`]; what stands around the part decides about its ends, too.
/// `part` has to begin and end between characters.
pub fn visible_part(text: &str, part: Range<usize>) -> String {
    let mut out = String::with_capacity(part.len());
    for (at, c) in text[part.clone()].char_indices() {
        if is_part_of_writing(text, part.start + at, c) {
            out.push(c);
        } else {
            push_sign(c, &mut out);
        }
    }
    out
}

/// Adds a character, or its sign if it is not printable or takes no room.
fn push_sign(c: char, out: &mut String) {
    match c {
        '\n' => out.push('↵'),
        '\t' => out.push('⇥'),
        '\u{7f}' => out.push('␡'),
        c if (c as u32) < 0x20 => out.push(char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}')),
        c if drives(c) || shows_nothing(c) => out.push_str(&format!("<U+{:04X}>", c as u32)),
        c => out.push(c),
    }
}

/// Returns whether the character `c` at byte `at` takes no room but belongs to how the text around it is
/// written.
fn is_part_of_writing(text: &str, at: usize, c: char) -> bool {
    if is_tag(c) {
        return is_in_flag(text, at);
    }
    if !matches!(c, '\u{200c}' | '\u{200d}') {
        return false;
    }
    // The signs that choose the look of an emoji stand between it and the joiner.
    let before = text[..at].chars().next_back();
    let before = match before {
        Some('\u{fe0e}' | '\u{fe0f}') => text[..at].chars().rev().nth(1),
        other => other,
    };
    let after = text[at + c.len_utf8()..].chars().next();
    let (Some(before), Some(after)) = (before, after) else {
        return false;
    };
    let joins_letters = is_of_joined_script(before) && is_of_joined_script(after);
    joins_letters || (c == '\u{200d}' && is_pictograph(before) && is_pictograph(after))
}

/// Returns whether a character is a letter, or a mark of one, of a script in which joiners change how letters
/// look: Arabic, Syriac, N'Ko, the scripts of India, of Myanmar, Khmer and Mongolian.
fn is_of_joined_script(c: char) -> bool {
    let is_in_script = matches!(c,
        '\u{620}'..='\u{7ff}' | '\u{840}'..='\u{dff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{18af}'
        | '\u{1b00}'..='\u{1bff}' | '\u{a840}'..='\u{a87f}' | '\u{a8e0}'..='\u{a9ff}' | '\u{fb50}'..='\u{fdff}'
        | '\u{fe70}'..='\u{fefc}' | '\u{11000}'..='\u{1173f}' | '\u{1e900}'..='\u{1e95f}');
    // Marks that join or soften a letter are no letters themselves.
    let is_mark = matches!(
        c,
        '\u{93c}'
            | '\u{94d}'
            | '\u{9bc}'
            | '\u{9cd}'
            | '\u{a3c}'
            | '\u{a4d}'
            | '\u{abc}'
            | '\u{acd}'
            | '\u{b3c}'
            | '\u{b4d}'
            | '\u{bcd}'
            | '\u{c4d}'
            | '\u{cbc}'
            | '\u{ccd}'
            | '\u{d4d}'
            | '\u{dca}'
            | '\u{1039}'
            | '\u{103a}'
            | '\u{17d2}'
            | '\u{1b44}'
            | '\u{a9c0}'
    );
    is_in_script && (is_mark || (c.is_alphabetic() && !shows_nothing(c)))
}

/// Returns whether a character may be a part of a composed emoji.
fn is_pictograph(c: char) -> bool {
    matches!(c,
        '\u{2190}'..='\u{21ff}' | '\u{2300}'..='\u{23ff}' | '\u{25a0}'..='\u{27bf}' | '\u{2b00}'..='\u{2bff}'
        | '\u{1f000}'..='\u{1faff}')
}

/// Returns whether a character is one of the tags that spell the flag of a part of a country.
fn is_tag(c: char) -> bool {
    matches!(c, '\u{e0030}'..='\u{e0039}' | '\u{e0061}'..='\u{e007a}' | '\u{e007f}')
}

/// The maximum number of tags behind a flag: six letters and the end.
const MOST_TAGS: usize = 7;

/// Returns whether the tag at byte `at` belongs to a flag: a black flag, a few tags, and the tag that ends
/// them.
fn is_in_flag(text: &str, at: usize) -> bool {
    let before = text[..at].chars().rev().take(MOST_TAGS);
    let tags_before = before.take_while(|c| is_tag(*c) && *c != '\u{e007f}').count();
    let is_behind_flag = text[..at].chars().rev().nth(tags_before) == Some('\u{1f3f4}');
    let mut tags = text[at..].chars().take(MOST_TAGS).take_while(|c| is_tag(*c));
    let end = tags.position(|c| c == '\u{e007f}');
    is_behind_flag && end.is_some_and(|end| tags_before + end < MOST_TAGS)
}

/// Returns one line without characters that drive a terminal, reverse text, end the line or take no room:
/// they are shown as in [`visible`]. Composed emoji stay complete.
pub fn one_line(text: &str) -> Cow<'_, str> {
    let hides = |c: char| drives(c) || (shows_nothing(c) && !joins(c));
    if !text.contains(hides) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if hides(c) {
            out.push_str(&visible(c.encode_utf8(&mut [0; 4])))
        } else {
            out.push(c)
        }
    }
    Cow::Owned(out)
}

/// Text of many lines in each of which nothing is hidden, as in [`one_line`]. Its tabs become blanks.
pub fn lines_shown(text: &str) -> String {
    let lines = text
        .split('\n')
        .map(|line| line.strip_suffix('\r').unwrap_or(line));
    let shown: Vec<String> = lines
        .map(|line| one_line(&line.replace('\t', "    ")).into_owned())
        .collect();
    shown.join("\n")
}

/// Signs that belong to how words and emoji are written: they join or part letters, allow a hyphen, or make
/// the flag of a region.
fn joins(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{200c}' | '\u{200d}' | '\u{e0020}'..='\u{e007f}'
    )
}

/// Returns whether a character does something to a terminal or to the text around it.
fn drives(c: char) -> bool {
    c.is_control() || is_invisible(c) || matches!(c, '\u{2028}' | '\u{2029}' | '\u{fff9}'..='\u{fffb}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_but_colours_drives_a_terminal() {
        for (text, want) in [
            ("plain 你好\n\tx\r\n", "plain 你好\n\tx\r\n"),
            ("\u{1b}[1;31mred\u{1b}[0m", "\u{1b}[1;31mred\u{1b}[0m"),
            ("x\u{1b}]2;title\u{7}y", "x␛]2;title␇y"),
            ("\u{1b}[2J\u{1b}[", "␛[2J␛["),
            ("a\rb\u{9b}31m\u{7f}", "a␍b<U+009B>31m␡"),
            ("a\u{202e}b\u{2066}\n", "a<U+202E>b<U+2066>\n"),
        ] {
            assert_eq!(printable(text), want, "{text:?}");
        }
    }

    #[test]
    fn sequences_go_and_text_stays() {
        for (text, want) in [
            ("plain 你好 🙂\n", "plain 你好 🙂\n"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}]0;title\u{7}a", "a"),
            ("\u{1b}]52;c;AAAA\u{1b}\\b", "b"),
            ("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("\u{9b}2Jc", "c"),
            ("\u{1b}(Bd", "d"),
            ("a\r\nb\rc\n", "a\nb\nc\n"),
            ("x\u{8}\u{7}\u{0}y", "xy"),
            ("a\tb", "a    b"),
            ("rm \u{202e}txt", "rm txt"),
            ("\u{1b}]open\nnext", "\nnext"),
        ] {
            assert_eq!(clean(text), want, "{text:?}");
        }
        assert_eq!(clean_with_tabs("all:\n\t\u{1b}[1mcc\r\n"), "all:\n\tcc\n");
    }

    #[test]
    fn split_anywhere_is_the_same() {
        let text = "a\u{1b}[31mred\u{1b}[0m \u{1b}]0;t\u{7}b\r\nc\rd";
        let whole = clean(text);
        for at in text.char_indices().map(|(at, _)| at) {
            let (mut cleaner, mut out) = (Cleaner::default(), String::new());
            cleaner.push(&text[..at], &mut out);
            cleaner.push(&text[at..], &mut out);
            assert_eq!(out, whole, "at {at}");
        }
    }

    #[test]
    fn an_open_sequence_does_not_swallow_everything() {
        let text = format!("\u{1b}]{}end", "x".repeat(5000));
        assert!(clean(&text).ends_with("end"));
    }

    #[test]
    fn joiners_stay_where_a_script_or_an_emoji_needs_them() {
        for text in [
            "می\u{200c}خواهم",
            "क्\u{200d}ष",
            "শ্\u{200c}ক",
            "ශ්\u{200d}රී",
            "👨\u{200d}👩\u{200d}👧\u{200d}👦",
            "👩🏾\u{200d}🚒",
            "🏳\u{fe0f}\u{200d}🌈 ❤\u{fe0f}\u{200d}🔥",
            "🧑\u{200d}✈\u{fe0f}",
            "🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}!",
        ] {
            assert_eq!(visible(text), text);
            for (at, _) in text.char_indices() {
                let parts = visible_part(text, 0..at) + &visible_part(text, at..text.len());
                assert_eq!(parts, text, "at {at}");
            }
        }
    }

    #[test]
    fn joiners_that_hide_anything_are_signs() {
        for (text, want) in [
            ("pay\u{200d}pal\u{200c}", "pay<U+200D>pal<U+200C>"),
            ("\u{200d}می", "<U+200D>می"),
            ("م\u{200c}\u{200c}ی", "م<U+200C><U+200C>ی"),
            ("م\u{200c}a", "م<U+200C>a"),
            ("م ،\u{200c}ی", "م ،<U+200C>ی"),
            ("👩\u{200c}💻", "👩<U+200C>💻"),
            ("👩\u{200d}a", "👩<U+200D>a"),
            ("م\u{200b}ی", "م<U+200B>ی"),
            ("\u{e0067}\u{e007f}", "<U+E0067><U+E007F>"),
            ("🏴\u{e0067}", "🏴<U+E0067>"),
        ] {
            assert_eq!(visible(text), want, "{text:?}");
        }
        let hidden = format!("🏴{}\u{e007f}", "\u{e0061}".repeat(20));
        assert!(visible(&hidden).starts_with("🏴<U+E0061>"), "a text is no flag");
        assert!(visible(&hidden).ends_with("<U+E007F>"));
    }

    #[test]
    fn what_a_person_decides_about_is_shown_whole() {
        assert_eq!(visible("a\u{1b}[2Kb\nc\u{202e}"), "a␛[2Kb↵c<U+202E>");
        assert_eq!(
            visible("\u{3164}\u{2060}\u{e0041}한 e\u{301} ❤\u{fe0f}"),
            "<U+3164><U+2060><U+E0041>한 e\u{301} ❤\u{fe0f}"
        );
        assert_eq!(
            visible("a\u{2028}b\u{2029}c\u{85}\u{fff9}"),
            "a<U+2028>b<U+2029>c<U+0085><U+FFF9>"
        );
        assert_eq!(
            one_line("👩\u{200d}💻 a\u{1b}[8mb\n\u{2028}\u{202e}"),
            "👩\u{200d}💻 a␛[8mb↵<U+2028><U+202E>"
        );
        assert_eq!(
            one_line("a\u{200b}b\u{2060}❤\u{fe0f}"),
            "a<U+200B>b<U+2060>❤\u{fe0f}"
        );
        assert_eq!(
            lines_shown("a\u{200b}\tb\r\n\u{1b}[2J\u{2066}\n"),
            "a<U+200B>    b\n␛[2J<U+2066>\n"
        );
    }
}
