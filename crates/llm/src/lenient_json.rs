//! JSON as servers really write it: strings, borrowed if possible, numbers in any form, and text as a string
//! or as a list of blocks. Every field of these types is optional in the structs around them, and `null`
//! means absent.
//!
//! | expected | also accepted | read as |
//! | --- | --- | --- |
//! | [`Str`] | a number | its digits |
//! | [`Str`] | `true`, `false`, a list, an object | an empty text |
//! | [`LenientCount`] | a negative number, `"12"`, `1.9` | 0, 12, 1 |
//! | [`LenientCount`] | a text that is not a number, `true`, a list, an object | 0 |
//! | [`Content`] | a list of blocks, one block, a number | blocks, or the text of the number |
//!
//! A strict reader would lose a complete answer because of one field of this kind.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// A string that borrows from the input unless it has escapes. (serde borrows a `Cow` only directly in a
/// field, not inside an `Option`.) A number becomes its digits, any other value an empty text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Str<'a>(pub(crate) Cow<'a, str>);

impl Str<'_> {
    /// The text as an owned `String`; copies it only if it is borrowed.
    pub(crate) fn into_string(self) -> String {
        self.0.into_owned()
    }
}

impl Deref for Str<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Str<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct StrVisitor;
        impl<'de> Visitor<'de> for StrVisitor {
            type Value = Str<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Str<'de>, E> {
                Ok(Str(Cow::Borrowed(text)))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Str<'de>, E> {
                Ok(Str(Cow::Owned(text.to_owned())))
            }

            fn visit_string<E: Error>(self, text: String) -> Result<Str<'de>, E> {
                Ok(Str(Cow::Owned(text)))
            }

            fn visit_u64<E: Error>(self, n: u64) -> Result<Str<'de>, E> {
                Ok(Str(Cow::Owned(n.to_string())))
            }

            fn visit_i64<E: Error>(self, n: i64) -> Result<Str<'de>, E> {
                Ok(Str(Cow::Owned(n.to_string())))
            }

            fn visit_f64<E: Error>(self, n: f64) -> Result<Str<'de>, E> {
                Ok(Str(Cow::Owned(n.to_string())))
            }

            fn visit_bool<E: Error>(self, _: bool) -> Result<Str<'de>, E> {
                Ok(Str::default())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Str<'de>, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Str::default())
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Str<'de>, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Str::default())
            }
        }
        deserializer.deserialize_any(StrVisitor)
    }
}

/// Maximum plausible number of tokens of a call: the largest windows have ten million, and a call that a
/// vendor makes in several steps reads a window a few times.
const MOST_TOKENS: u64 = 100_000_000;

/// A count: whole, negative (then 0), with a fraction (cut), or not a count at all (then 0).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LenientCount {
    /// The count. It is meaningless if `is_wrong` is set.
    pub(crate) number: u64,
    /// Whether something else was written than a number from 0 up.
    is_wrong: bool,
}

impl LenientCount {
    /// A count that was written as a whole number from 0.
    fn of(number: u64) -> Self {
        Self {
            number,
            is_wrong: false,
        }
    }

    /// A count that was written with a fraction or a sign.
    fn of_float(number: f64) -> Self {
        // A cast from a float saturates and takes NaN to 0.
        Self {
            number: number as u64,
            is_wrong: number.is_nan() || number < 0.0,
        }
    }

    /// Returns whether the number of tokens is plausible: not negative, and no more than in the largest call.
    pub(crate) fn is_plausible(self) -> bool {
        !self.is_wrong && self.number <= MOST_TOKENS
    }
}

/// Returns whether all present counts are possible.
pub(crate) fn all_plausible(counts: &[Option<LenientCount>]) -> bool {
    counts.iter().flatten().all(|count| count.is_plausible())
}

impl<'de> Deserialize<'de> for LenientCount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CountVisitor;
        impl<'de> Visitor<'de> for CountVisitor {
            type Value = LenientCount;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a count")
            }

            fn visit_u64<E: Error>(self, n: u64) -> Result<LenientCount, E> {
                Ok(LenientCount::of(n))
            }

            fn visit_i64<E: Error>(self, n: i64) -> Result<LenientCount, E> {
                Ok(LenientCount::of_float(n as f64))
            }

            fn visit_f64<E: Error>(self, n: f64) -> Result<LenientCount, E> {
                Ok(LenientCount::of_float(n))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<LenientCount, E> {
                Ok(text
                    .trim()
                    .parse()
                    .map_or_else(|_| LenientCount::default(), LenientCount::of_float))
            }

            fn visit_bool<E: Error>(self, _: bool) -> Result<LenientCount, E> {
                Ok(LenientCount::default())
            }

            fn visit_unit<E: Error>(self) -> Result<LenientCount, E> {
                Ok(LenientCount::default())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<LenientCount, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(LenientCount::default())
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<LenientCount, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(LenientCount::default())
            }
        }
        deserializer.deserialize_any(CountVisitor)
    }
}

/// The content of a message or a delta: a string, or (Mistral) a list of blocks, or one block, or a number.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Content<'a> {
    /// A plain text, which nearly every server sends.
    Text(Str<'a>),
    /// Blocks with a type, as Mistral sends them for answers with reasoning.
    Blocks(Vec<ContentBlock<'a>>),
}

impl Content<'_> {
    /// Returns whether it is empty: an empty string, or a list without blocks.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Text(text) => text.is_empty(),
            Self::Blocks(blocks) => blocks.is_empty(),
        }
    }
}

/// A block of a content list.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct ContentBlock<'a> {
    /// The kind of the block: `text`, `thinking`, `refusal` or another word.
    #[serde(rename = "type", borrow)]
    pub(crate) kind: Option<Str<'a>>,
    /// The words of a block `text`.
    #[serde(borrow)]
    pub(crate) text: Option<Str<'a>>,
    /// The reasoning of a block `thinking`: a text, or again a list of blocks.
    #[serde(borrow)]
    pub(crate) thinking: Option<Content<'a>>,
    /// The words with which the model refuses.
    #[serde(borrow)]
    pub(crate) refusal: Option<Str<'a>>,
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ContentVisitor;
        impl<'de> Visitor<'de> for ContentVisitor {
            type Value = Content<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a list of content blocks")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Content<'de>, E> {
                Ok(Content::Text(Str(Cow::Borrowed(text))))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Content<'de>, E> {
                Ok(Content::Text(Str(Cow::Owned(text.to_owned()))))
            }

            fn visit_u64<E: Error>(self, n: u64) -> Result<Content<'de>, E> {
                Ok(Content::Text(Str(Cow::Owned(n.to_string()))))
            }

            fn visit_i64<E: Error>(self, n: i64) -> Result<Content<'de>, E> {
                Ok(Content::Text(Str(Cow::Owned(n.to_string()))))
            }

            fn visit_f64<E: Error>(self, n: f64) -> Result<Content<'de>, E> {
                Ok(Content::Text(Str(Cow::Owned(n.to_string()))))
            }

            fn visit_bool<E: Error>(self, _: bool) -> Result<Content<'de>, E> {
                Ok(Content::Blocks(Vec::new()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Content<'de>, A::Error> {
                ContentBlock::deserialize(MapAccessDeserializer::new(map))
                    .map(|block| Content::Blocks(vec![block]))
            }

            fn visit_unit<E: Error>(self) -> Result<Content<'de>, E> {
                Ok(Content::Blocks(Vec::new()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Content<'de>, A::Error> {
                let mut blocks = Vec::new();
                while let Some(block) = seq.next_element()? {
                    blocks.push(block);
                }
                Ok(Content::Blocks(blocks))
            }
        }
        deserializer.deserialize_any(ContentVisitor)
    }
}

/// The text of a value that should be a string and is sometimes the object itself: tool arguments.
pub(crate) fn raw_text(raw: &RawValue) -> Option<Cow<'_, str>> {
    match raw.get() {
        "null" => None,
        text if text.starts_with('"') => serde_json::from_str::<Str<'_>>(text).ok().map(|text| text.0),
        text => Some(Cow::Borrowed(text)),
    }
}

/// The same object without duplicate keys, which some servers write and derived readers refuse: the last one
/// counts. `None` if it is not a JSON object.
pub(crate) fn without_duplicates(data: &str) -> Option<String> {
    serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(data)
        .ok()
        .map(|object| serde_json::Value::Object(object).to_string())
}

/// The same JSON with U+FFFD in place of an escape that is half of a character, as servers write that cut
/// text inside one: `"\ud83d"`. Readers refuse those. `None` if every character is complete.
pub(crate) fn with_whole_characters(data: &str) -> Option<String> {
    let mut whole = String::new();
    let mut kept = 0;
    let mut at = 0;
    while let Some(escape) = data[at..].find('\\').map(|found| at + found) {
        at = escape + 2;
        let (end, is_half) = match (unit(data, escape), unit(data, escape + UNIT)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => (escape + 2 * UNIT, false),
            (Some(0xd800..=0xdfff), _) => (escape + UNIT, true),
            // An escape with a character that is longer than a byte is not JSON; it is not repaired here.
            _ if data.is_char_boundary(at) => (at, false),
            _ => return None,
        };
        if is_half {
            whole.push_str(&data[kept..escape]);
            whole.push('\u{fffd}');
            kept = end;
        }
        at = end;
    }
    (kept > 0).then(|| whole + &data[kept..])
}

/// The same JSON without the half character at the end of a string, and that half: a server that cuts text
/// anywhere sends the other half with the next event.
pub(crate) fn without_first_half(data: &str) -> Option<(String, String)> {
    let at = halves(data, 0xd800..=0xdbff).find(|at| data[at + UNIT..].starts_with('"'))?;
    let half = data[at..at + UNIT].to_owned();
    Some((format!("{}{}", &data[..at], &data[at + UNIT..]), half))
}

/// The same JSON with a half character inserted before the other half at the beginning of a string; `None` if
/// no string begins with one.
pub(crate) fn with_first_half(data: &str, half: &str) -> Option<String> {
    let at = halves(data, 0xdc00..=0xdfff).find(|at| data[..*at].ends_with('"'))?;
    Some(format!("{}{half}{}", &data[..at], &data[at..]))
}

/// Returns the positions of escapes in this range.
fn halves(data: &str, range: std::ops::RangeInclusive<u16>) -> impl Iterator<Item = usize> {
    let escapes = data.match_indices("\\u").map(|(at, _)| at);
    escapes.filter(move |at| {
        let slashes = data[..*at]
            .bytes()
            .rev()
            .take_while(|byte| *byte == b'\\')
            .count();
        slashes % 2 == 0 && unit(data, *at).is_some_and(|unit| range.contains(&unit))
    })
}

/// The length of an escape such as `\u00e9`.
const UNIT: usize = 6;

/// The number of such an escape that begins here, if one does.
fn unit(data: &str, at: usize) -> Option<u16> {
    let digits = data.get(at..at + UNIT)?.strip_prefix("\\u")?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_halves_of_a_character_find_each_other() {
        let (cut, half) = without_first_half(r#"{"a":"b \ud83d","c":1}"#).unwrap_or_default();
        assert_eq!((cut.as_str(), half.as_str()), (r#"{"a":"b ","c":1}"#, "\\ud83d"));
        let joined = with_first_half(r#"{"a":"\ude00!"}"#, &half);
        assert_eq!(joined.as_deref(), Some(r#"{"a":"\ud83d\ude00!"}"#));
        for data in [
            r#""\\ud83d""#,
            r#""\ud83d b""#,
            r#""\ud83d\ude00""#,
            r#""a""#,
            r#""\ud8""#,
        ] {
            assert_eq!(without_first_half(data), None, "{data}");
        }
        for data in [r#""\\ude00""#, r#""a \ude00""#, r#""a""#] {
            assert_eq!(with_first_half(data, &half), None, "{data}");
        }
    }

    #[test]
    fn halves_of_characters_are_replaced_and_nothing_else() {
        for (data, whole) in [
            (r#""a \ud83d b""#, Some("\"a \u{fffd} b\"")),
            (r#""\ude00""#, Some("\"\u{fffd}\"")),
            (r#""\ud83d\ud83d\ude00""#, Some("\"\u{fffd}\\ud83d\\ude00\"")),
            (r#""\ud83d\ude00 \u00e9 \n é""#, None),
            (r#""\\ud83d""#, None),
            ("\"\\ud83", None),
            ("\\é", None),
            ("\\", None),
        ] {
            assert_eq!(with_whole_characters(data).as_deref(), whole, "{data}");
        }
    }
}
