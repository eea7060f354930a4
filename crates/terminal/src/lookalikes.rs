//! Marks letters and signs that look like those of ASCII, for commands and paths that a person decides about:
//! `pуthon3` with a Cyrillic у is another program, and `ｃonf` another file.
//!
//! | text | shown |
//! | --- | --- |
//! | a word of Latin letters with one of Cyrillic, Greek or another alphabet | that letter as its number |
//! | a word of another alphabet, all of whose letters look like Latin ones | its letters as numbers |
//! | full-width and mathematical letters and digits | as numbers |
//! | signs and blanks beside ASCII that look like a sign of it | as numbers |
//! | words of other alphabets, Chinese beside Latin letters | unchanged |
//!
//! The tables are a selection of <https://www.unicode.org/Public/security/latest/confusables.txt>.

use crate::clean::visible;

/// Letters that look like Latin ones in most fonts: Cyrillic, Greek, Armenian.
const LIKE_LATIN: &str = "асеорхуіјѕһԁԛԝԍАВЕКМНОРСТХУІЈЅԚԜαονρικΑΒΕΖΗΙΚΜΝΟΡΤΥΧօսհոց";

/// Signs and blanks that look like those of ASCII.
const LIKE_SIGNS: &str = "\u{a0}\u{2000}\u{2001}\u{2002}\u{2003}\u{2004}\u{2005}\u{2006}\u{2007}\u{2008}\
                          \u{2009}\u{200a}\u{202f}\u{205f}\u{3000}⁄∕⧸／․．‐‑−﹣－＞＜｜；＆＄～∗＊꞉：∶＝＂＇｀＼＃＠";

/// Returns one line as [`visible`] does, in which letters and signs that look like those of ASCII are shown
/// as their numbers.
///
/// ```
/// use agentx_terminal::lookalikes::unmistakable;
/// assert_eq!(unmistakable("p\u{443}thon3 \u{ff43}onf"), "p<U+0443>thon3 <U+FF43>onf");
/// assert_eq!(unmistakable("cat привет.txt 你好abc"), "cat привет.txt 你好abc");
/// ```
pub fn unmistakable(text: &str) -> String {
    let signs: Vec<char> = text.chars().collect();
    let mut shown = String::with_capacity(text.len());
    let mut at = 0;
    while at < signs.len() {
        let length = signs[at..].iter().take_while(|c| c.is_alphanumeric()).count();
        if length == 0 {
            let before = at.checked_sub(1).map(|before| signs[before]);
            push(
                &mut shown,
                signs[at],
                is_like_sign(before, signs[at], signs.get(at + 1)),
            );
            at += 1;
            continue;
        }
        let word = &signs[at..at + length];
        let has_latin = word.iter().any(char::is_ascii_alphabetic);
        let is_disguised = length > 1 && word.iter().all(|c| is_like_latin(*c));
        for c in word {
            push(
                &mut shown,
                *c,
                is_styled(*c) || is_disguised || (has_latin && is_foreign(*c)),
            );
        }
        at += length;
    }
    shown
}

fn push(shown: &mut String, c: char, is_marked: bool) {
    if is_marked {
        shown.push_str(&format!("<U+{:04X}>", c as u32));
    } else {
        shown.push_str(&visible(c.encode_utf8(&mut [0; 4])));
    }
}

/// Returns whether a letter of a word without ASCII letters looks like a Latin one.
fn is_like_latin(c: char) -> bool {
    LIKE_LATIN.contains(c)
}

/// Returns whether it is an ASCII letter or digit in another form: full width, mathematical.
fn is_styled(c: char) -> bool {
    let is_wide = matches!(c, '\u{ff10}'..='\u{ff19}' | '\u{ff21}'..='\u{ff3a}' | '\u{ff41}'..='\u{ff5a}');
    is_wide || ('\u{1d400}'..='\u{1d7ff}').contains(&c)
}

/// Returns whether a letter belongs to an alphabet with letters that look like Latin ones: Greek, Cyrillic,
/// Armenian, Cherokee, Coptic, Lisu, and the phonetic letters.
fn is_foreign(c: char) -> bool {
    matches!(c,
        '\u{131}' | '\u{250}'..='\u{2af}' | '\u{370}'..='\u{58f}' | '\u{13a0}'..='\u{13ff}'
        | '\u{1c80}'..='\u{1c8f}' | '\u{1d00}'..='\u{1d7f}' | '\u{1f00}'..='\u{1fff}'
        | '\u{2c80}'..='\u{2cff}' | '\u{2de0}'..='\u{2dff}' | '\u{a4d0}'..='\u{a4ff}'
        | '\u{a640}'..='\u{a69f}' | '\u{ab70}'..='\u{abbf}')
}

/// Returns whether a sign looks like one of ASCII, or chooses the look of one, beside ASCII.
fn is_like_sign(before: Option<char>, c: char, after: Option<&char>) -> bool {
    let is_after = before.is_some_and(|before| before.is_ascii_graphic());
    let is_before = after.is_some_and(char::is_ascii_graphic);
    let chooses_look = ('\u{fe00}'..='\u{fe0f}').contains(&c);
    (chooses_look && is_after) || (LIKE_SIGNS.contains(c) && (is_after || is_before))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_that_pass_for_others_are_shown_as_numbers() {
        for (text, shown) in [
            ("p\u{443}thon3 x", "p<U+0443>thon3 x"),
            ("\u{ff43}onf.txt", "<U+FF43>onf.txt"),
            ("\u{441}\u{440} a b", "<U+0441><U+0440> a b"),
            ("r\u{3bf}ot", "r<U+03BF>ot"),
            ("\u{1d41a}pt", "<U+1D41A>pt"),
            ("a\u{2044}b", "a<U+2044>b"),
            ("rm\u{a0}x", "rm<U+00A0>x"),
            ("a\u{fe0f}.sh", "a<U+FE0F>.sh"),
            ("x\u{200b}\u{202e}y\n", "x<U+200B><U+202E>y↵"),
        ] {
            assert_eq!(unmistakable(text), shown, "{text:?}");
        }
    }

    #[test]
    fn other_alphabets_stay_readable() {
        for text in [
            "cat заметки.txt",
            "с ним и у неё",
            "git commit -m 'größer, naïve'",
            "你好：世界 app设置",
            "echo ❤\u{fe0f} λ",
            "Ελλάδα",
        ] {
            assert_eq!(unmistakable(text), text);
        }
    }
}
