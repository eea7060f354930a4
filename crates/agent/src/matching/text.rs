//! Normalizes words for comparison: one width and one case, no punctuation around them, and no white space in
//! scripts without word borders.
//!
//! | original | compared |
//! | --- | --- |
//! | `Play　ＡＢＣ！` | `play abc` |
//! | `播放 小夜曲` | `播放小夜曲` |
//! | `ﾌﾟﾚｲ` | `プレイ` |
//!
//! The fast path compares texts in this form, and cuts the values of variables out of the original: [`Plain`]
//! knows the origin of each character. Punctuation within a text stays; only that around it is removed.

use agentx_types::since;

/// A normalized text, with the origin of each of its characters.
pub(crate) struct Plain {
    pub(crate) text: String,
    /// The origin of each character: its position in `text`, and its bytes in the original.
    marks: Vec<CharOrigin>,
}

/// The origin of one character of the compared text, in bytes.
#[derive(Clone, Copy)]
struct CharOrigin {
    /// The start in the compared text.
    at: usize,
    /// The start of its original.
    start: usize,
    /// The end of its original.
    end: usize,
}

impl Plain {
    /// `original` in the form for comparisons.
    pub(crate) fn new(original: &str, kana: Kana) -> Self {
        let folded = fold(original, kana);
        let is_edge = |(c, ..): &&(char, usize, usize)| *c == ' ' || is_punctuation(*c);
        let from = folded.iter().take_while(is_edge).count();
        let tail = folded.iter().rev().take_while(is_edge).count();
        let inner = folded
            .get(from..folded.len().saturating_sub(tail))
            .unwrap_or_default();
        let mut plain = Self {
            text: String::with_capacity(original.len()),
            marks: Vec::with_capacity(inner.len()),
        };
        for (index, (c, start, end)) in inner.iter().enumerate() {
            let joins =
                |other: Option<&(char, usize, usize)>| other.is_some_and(|(c, ..)| needs_no_blank(*c));
            let before = index.checked_sub(1).and_then(|index| inner.get(index));
            if *c == ' ' && (joins(before) || joins(inner.get(index + 1))) {
                continue;
            }
            plain.marks.push(CharOrigin {
                at: plain.text.len(),
                start: *start,
                end: *end,
            });
            plain.text.push(*c);
        }
        plain
    }

    /// The part of the original from which the bytes `from..to` of the compared text come; empty if there is
    /// no character.
    pub(crate) fn original<'a>(&self, original: &'a str, from: usize, to: usize) -> &'a str {
        let first = self.marks.partition_point(|mark| mark.at < from);
        let last = self.marks.partition_point(|mark| mark.at < to);
        let marks = self.marks.get(first..last).unwrap_or_default();
        match (marks.first(), marks.last()) {
            (Some(first), Some(last)) => original.get(first.start..last.end).unwrap_or_default(),
            _ => "",
        }
    }
}

/// Each character in one width and one case, with its bytes in the original. A run of white space becomes one
/// blank.
fn fold(original: &str, kana: Kana) -> Vec<(char, usize, usize)> {
    let mut folded: Vec<(char, usize, usize)> = Vec::with_capacity(original.len());
    for (start, c) in original.char_indices() {
        let end = start + c.len_utf8();
        if is_invisible(c) {
            continue;
        }
        let c = one_width(c);
        if c.is_whitespace() {
            match folded.last_mut() {
                Some((' ', _, last)) => *last = end,
                _ => folded.push((' ', start, end)),
            }
        } else if let Some((voiced, last)) = folded
            .last_mut()
            .and_then(|last| Some((kana.voiced(last.0, c)?, last)))
        {
            *last = (voiced, last.1, end);
        } else {
            folded.extend(c.to_lowercase().map(|c| (c, start, end)));
        }
    }
    folded
}

/// A text of one width and one case, and with single blanks; punctuation around it stays. For names of rules
/// and words for values, which are compared as in all versions of the rules.
pub(crate) fn folded(original: &str) -> String {
    fold(original, Kana::BeforeNine)
        .into_iter()
        .map(|(c, ..)| c)
        .collect()
}

/// Half-width katakana from U+FF66 on, as the usual ones.
const KATAKANA: &str = "ヲァィゥェォャュョッーアイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワン";
/// The marks that make a kana voiced: in half width, and the one that follows a kana in decomposed texts
/// (NFD).
const VOICED: [char; 2] = ['\u{FF9E}', '\u{3099}'];
/// The marks that make a kana half voiced.
const HALF_VOICED: [char; 2] = ['\u{FF9F}', '\u{309A}'];
/// Each kana that a mark makes voiced, followed by its voiced form, as in NFKC.
const VOICED_KANA: &str = "カガキギクグケゲコゴサザシジスズセゼソゾタダチヂツヅテデトドハバヒビフブヘベホボウヴワヷヰヸヱヹヲヺヽヾ\
                           かがきぎくぐけげこごさざしじすずせぜそぞただちぢつづてでとどはばひびふぶへべほぼうゔゝゞ";
/// The same for the mark that makes it half voiced.
const HALF_VOICED_KANA: &str = "ハパヒピフプヘペホポはぱひぴふぷへぺほぽ";

/// The change of a kana by a following mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Kana {
    /// The compositions of Unicode.
    #[default]
    All,
    /// Katakana from カ to ト and from ハ to ホ, by the next one or the one after it: rules before version 9. ヴ
    /// and hiragana stay in two, and a small ッ becomes a large one.
    BeforeNine,
}

impl Kana {
    /// The kana that rules of this version know.
    pub(crate) fn of_version(version: u32) -> Self {
        match version {
            since::KANA_ARE_COMPOSED.. => Self::All,
            _ => Self::BeforeNine,
        }
    }

    /// A kana with a mark behind it, as one character.
    fn voiced(self, kana: char, mark: char) -> Option<char> {
        match self {
            Self::All => {
                let pairs = match mark {
                    _ if VOICED.contains(&mark) => VOICED_KANA,
                    _ if HALF_VOICED.contains(&mark) => HALF_VOICED_KANA,
                    _ => return None,
                };
                let mut bases = pairs.chars().step_by(2).zip(pairs.chars().skip(1).step_by(2));
                bases.find(|(base, _)| *base == kana).map(|(_, voiced)| voiced)
            }
            Self::BeforeNine => {
                let by = match (mark, kana) {
                    ('\u{FF9E}', 'カ'..='ト' | 'ハ'..='ホ') => 1,
                    ('\u{FF9F}', 'ハ'..='ホ') => 2,
                    _ => return None,
                };
                char::from_u32(u32::from(kana) + by)
            }
        }
    }
}

/// The usual form of a character that exists in two widths.
fn one_width(c: char) -> char {
    let moved = |by: u32| char::from_u32(u32::from(c).wrapping_sub(by)).unwrap_or(c);
    match c {
        '\u{FF01}'..='\u{FF5E}' => moved(0xFEE0),
        '\u{FF66}'..='\u{FF9D}' => {
            let index = usize::try_from(u32::from(c) - 0xFF66).unwrap_or(0);
            KATAKANA.chars().nth(index).unwrap_or(c)
        }
        '。' | '｡' => '.',
        '、' | '､' => ',',
        '｢' => '「',
        '｣' => '」',
        '’' | '‘' => '\'',
        _ => c,
    }
}

/// Returns whether the character is invisible and has no meaning: joiners, marks of direction, variation
/// selectors, a byte order mark.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{200B}'..='\u{200F}' | '\u{2060}' | '\u{FE0E}' | '\u{FE0F}' | '\u{FEFF}'
    )
}

/// Returns whether the character may surround words without meaning.
pub(crate) fn is_punctuation(c: char) -> bool {
    ".,;:!?\"'`()[]{}~“”„‘’«»‹›《》〈〉「」『』【】〔〕·・…‥—～¿¡؟،؛।".contains(c)
}

/// Returns whether white space beside the character has no meaning.
pub(super) fn needs_no_blank(c: char) -> bool {
    is_punctuation(c)
        || matches!(c,
            '\u{0E00}'..='\u{0EFF}' // Thai, Lao
            | '\u{1000}'..='\u{109F}' // Myanmar
            | '\u{1780}'..='\u{17FF}' // Khmer
            | '\u{3005}' | '\u{3007}'
            | '\u{3040}'..='\u{312F}' // Kana, Bopomofo
            | '\u{31F0}'..='\u{31FF}'
            | '\u{3400}'..='\u{4DBF}'
            | '\u{4E00}'..='\u{9FFF}'
            | '\u{F900}'..='\u{FAFF}'
            | '\u{20000}'..='\u{3FFFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_means_the_same_is_the_same() {
        let cases = [
            ("  ＨＥＬＬＯ　World!! ", "hello world"),
            ("hello,  world", "hello,world"),
            ("你好 ， 小明。", "你好,小明"),
            ("我想听 Canon 的 曲子", "我想听canon的曲子"),
            ("《静夜思》", "静夜思"),
            ("ｶﾞｷﾞﾊﾟ ｱ", "ガギパア"),
            ("음악 틀어줘", "음악 틀어줘"),
            ("«Ça va»", "ça va"),
            ("-5", "-5"),
            ("\u{FEFF}a\u{200B}b", "ab"),
            ("。。。", ""),
            ("", ""),
        ];
        for (original, plain) in cases {
            assert_eq!(Plain::new(original, Kana::All).text, plain, "{original:?}");
        }
    }

    #[test]
    fn a_mark_behind_a_kana_is_part_of_it() {
        for (original, now, before) in [
            ("ｶﾞﾊﾟ", "ガパ", "ガパ"),
            ("ｳﾞｧｲｵﾘﾝ", "ヴァイオリン", "ウ\u{FF9E}ァイオリン"),
            ("ﾜﾞ", "ヷ", "ワ\u{FF9E}"),
            ("かﾞはﾟ", "がぱ", "か\u{FF9E}は\u{FF9F}"),
            ("ハ\u{309A}か\u{3099}", "パが", "ハ\u{309A}か\u{3099}"),
            ("ｯﾞ", "ッ\u{FF9E}", "ツ"),
            ("ガﾞ", "ガ\u{FF9E}", "キ"),
            ("aﾞ", "a\u{FF9E}", "a\u{FF9E}"),
        ] {
            assert_eq!(Plain::new(original, Kana::of_version(9)).text, now, "{original}");
            assert_eq!(
                Plain::new(original, Kana::of_version(8)).text,
                before,
                "{original}"
            );
        }
        let original = "ｳﾞｨﾗを押す";
        let plain = Plain::new(original, Kana::All);
        assert_eq!(plain.original(original, 0, "ヴ".len()), "ｳﾞ");
    }

    #[test]
    fn what_is_taken_out_is_as_it_was() {
        let original = "　Play  Let It　Go！";
        let plain = Plain::new(original, Kana::All);
        assert_eq!(plain.text, "play let it go");
        assert_eq!(plain.original(original, 5, 14), "Let It　Go");
        assert_eq!(plain.original(original, 5, 5), "");
        assert_eq!(plain.original(original, 99, 200), "");
    }
}
