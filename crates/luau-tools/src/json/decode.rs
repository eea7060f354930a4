//! Reads the JSON of a long text one piece at a time, so that others have their turn between two pieces. The
//! result is a flat value, without a tree in between.
//!
//! The reader accepts exactly the texts that `serde_json` accepts: a test compares the two on random texts. A
//! text is at most [`ScriptLimits::json`](crate::ScriptLimits::json) bytes and is charged to the run that
//! reads it. Between two pieces the run may be stopped; then everything that was read is dropped.

use crate::json::flat_part::FlatPart;
use crate::json::flat_value::FlatValue;

/// Maximum number of bytes of a text to read at a time: well below a millisecond.
const PIECE: usize = 32 << 10;

/// A text that is being read.
pub(crate) struct Decoding {
    /// The input.
    text: Vec<u8>,
    at: usize,
    /// The output until now.
    flat: FlatValue,
    /// Arrays and objects that are not closed, the outermost first.
    open: Vec<OpenContainer>,
    /// The tokens that are allowed next.
    next: DecodeStep,
    depth: usize,
    /// The rest of the size limit, as [`FlatValue::of`] counts it.
    left: usize,
}

/// An array or an object that is not complete: the place of its count, and the number of its values.
struct OpenContainer {
    at: usize,
    count: usize,
    is_object: bool,
}

/// The tokens that are allowed next in a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DecodeStep {
    /// A value, as at the beginning or after a name.
    Value,
    /// The first item of an array, or its end.
    ValueOrEnd,
    /// A name, after a comma in an object.
    Key,
    /// The first name of an object, or its end.
    KeyOrEnd,
    /// The comma or the end after a value in an array or an object.
    CommaOrEnd,
    /// Only blanks up to the end.
    Nothing,
}

/// The reason why it is not read to its end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum DecodeFailure {
    /// The text is not JSON.
    NoJson,
    /// The value is too large or nested too deeply.
    TooLarge,
}

impl Decoding {
    /// Begins to read `text`, with bounds on its nesting and its bytes.
    pub(crate) fn of(text: Vec<u8>, depth: usize, bytes: usize) -> Self {
        Self {
            text,
            at: 0,
            flat: FlatValue::default(),
            open: Vec::new(),
            next: DecodeStep::Value,
            depth,
            left: bytes,
        }
    }

    /// Reads a piece more; `true` when all is read.
    pub(crate) fn more(&mut self) -> Result<bool, DecodeFailure> {
        let until = self.at.saturating_add(PIECE);
        while self.at < until {
            self.blanks();
            let Some(byte) = self.text.get(self.at).copied() else {
                return if self.next == DecodeStep::Nothing {
                    Ok(true)
                } else {
                    Err(DecodeFailure::NoJson)
                };
            };
            self.token(byte)?;
        }
        Ok(false)
    }

    /// Returns the decoded value.
    pub(crate) fn take(&mut self) -> FlatValue {
        std::mem::take(&mut self.flat)
    }

    /// Passes over blanks between two tokens.
    fn blanks(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Reads one token that begins with this byte, if it is allowed here.
    fn token(&mut self, byte: u8) -> Result<(), DecodeFailure> {
        match (self.next, byte) {
            (DecodeStep::ValueOrEnd | DecodeStep::CommaOrEnd, b']') => self.close(false),
            (DecodeStep::KeyOrEnd | DecodeStep::CommaOrEnd, b'}') => self.close(true),
            (DecodeStep::CommaOrEnd, b',') => {
                self.at += 1;
                let is_object = self.open.last().is_some_and(|open| open.is_object);
                self.next = if is_object {
                    DecodeStep::Key
                } else {
                    DecodeStep::Value
                };
                Ok(())
            }
            (DecodeStep::Key | DecodeStep::KeyOrEnd, b'"') => self.key(),
            (DecodeStep::Value | DecodeStep::ValueOrEnd, byte) => self.value(byte),
            _ => Err(DecodeFailure::NoJson),
        }
    }

    /// Reads a value, or opens one.
    fn value(&mut self, byte: u8) -> Result<(), DecodeFailure> {
        self.charge(2)?;
        match byte {
            b'[' => return self.open(false),
            b'{' => return self.open(true),
            b'"' => {
                let text = self.string()?;
                self.charge(text.len())?;
                self.flat.text(&text);
            }
            b't' => self.word("true", FlatPart::Bool(true))?,
            b'f' => self.word("false", FlatPart::Bool(false))?,
            b'n' => self.word("null", FlatPart::Null)?,
            _ => {
                let number = self.number()?;
                self.flat.push(FlatPart::Number(number));
            }
        }
        self.valued();
        Ok(())
    }

    /// Records that a value is complete.
    fn valued(&mut self) {
        self.next = match self.open.last_mut() {
            Some(open) => {
                open.count += 1;
                DecodeStep::CommaOrEnd
            }
            None => DecodeStep::Nothing,
        };
    }

    /// Opens an array or an object, unless it would be too deep.
    fn open(&mut self, is_object: bool) -> Result<(), DecodeFailure> {
        if self.open.len() >= self.depth {
            return Err(DecodeFailure::TooLarge);
        }
        self.at += 1;
        self.open.push(OpenContainer {
            at: self.flat.later(),
            count: 0,
            is_object,
        });
        self.next = if is_object {
            DecodeStep::KeyOrEnd
        } else {
            DecodeStep::ValueOrEnd
        };
        Ok(())
    }

    /// Closes the innermost array or object, and writes how many values it has.
    fn close(&mut self, is_object: bool) -> Result<(), DecodeFailure> {
        let open = self.open.pop().filter(|open| open.is_object == is_object);
        let OpenContainer { at, count, .. } = open.ok_or(DecodeFailure::NoJson)?;
        self.at += 1;
        self.flat.fill(
            at,
            if is_object {
                FlatPart::Named(count)
            } else {
                FlatPart::List(count)
            },
        );
        self.valued();
        Ok(())
    }

    /// Reads the name of a field and the colon behind it.
    fn key(&mut self) -> Result<(), DecodeFailure> {
        let name = self.string()?;
        self.left = self.left.saturating_sub(name.len() + 2);
        self.flat.text(&name);
        self.blanks();
        if self.text.get(self.at) != Some(&b':') {
            return Err(DecodeFailure::NoJson);
        }
        self.at += 1;
        self.next = DecodeStep::Value;
        Ok(())
    }

    /// Charges bytes to the budget of the value.
    fn charge(&mut self, bytes: usize) -> Result<(), DecodeFailure> {
        self.left = self.left.checked_sub(bytes).ok_or(DecodeFailure::TooLarge)?;
        Ok(())
    }

    /// Reads `true`, `false` or `null`.
    fn word(&mut self, word: &str, part: FlatPart) -> Result<(), DecodeFailure> {
        let is_it = self
            .text
            .get(self.at..)
            .is_some_and(|rest| rest.starts_with(word.as_bytes()));
        self.at += word.len();
        self.flat.push(part);
        is_it.then_some(()).ok_or(DecodeFailure::NoJson)
    }

    /// Reads a text in quotes, from the first quote on.
    fn string(&mut self) -> Result<String, DecodeFailure> {
        let from = self.at;
        let mut at = from + 1;
        loop {
            match self.text.get(at) {
                Some(b'"') => break,
                Some(b'\\') => at += 2,
                Some(_) => at += 1,
                None => return Err(DecodeFailure::NoJson),
            }
        }
        self.at = at + 1;
        let quoted = self.text.get(from..self.at).ok_or(DecodeFailure::NoJson)?;
        serde_json::from_slice(quoted).map_err(|_| DecodeFailure::NoJson)
    }

    /// Reads a number as JSON writes it. All numbers of scripts are doubles.
    fn number(&mut self) -> Result<f64, DecodeFailure> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
        let length = rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len());
        let digits = rest.get(..length).unwrap_or_default();
        self.at += length;
        serde_json::from_slice(digits).map_err(|_| DecodeFailure::NoJson)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn read(text: &str, depth: usize, bytes: usize) -> Result<FlatValue, DecodeFailure> {
        let mut decoding = Decoding::of(text.as_bytes().to_vec(), depth, bytes);
        while !decoding.more()? {}
        Ok(decoding.take())
    }

    /// Decodes a text at once.
    fn whole(text: &str, depth: usize, bytes: usize) -> Option<FlatValue> {
        let value: Value = serde_json::from_str(text).ok()?;
        FlatValue::of(&value, depth, bytes).ok()
    }

    #[test]
    fn what_is_no_json_is_none() {
        for text in [
            "",
            " ",
            "[",
            "]",
            "[1",
            "[1,",
            "[1,]",
            "[,1]",
            "{",
            "}",
            "{]",
            "[}",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{1:2}",
            "1 2",
            "01",
            "1.",
            ".5",
            "1e",
            "--1",
            "+1",
            "1e999",
            "nul",
            "truefalse",
            "\"",
            "\"\\",
            "\"\\x\"",
            "\"\\ud800\"",
            "\"\n\"",
            "[1]]",
            "nan",
            "'a'",
            "[1 2]",
            "{\"a\":1 \"b\":2}",
        ] {
            assert_eq!(read(text, 9, 99), Err(DecodeFailure::NoJson), "{text}");
        }
        let bytes = Decoding::of(b"\"\xff\"".to_vec(), 9, 99).more();
        assert_eq!(bytes, Err(DecodeFailure::NoJson));
    }

    #[test]
    fn a_long_text_is_read_in_pieces() {
        let text = format!("[{}0.5]", "0, [{\"a\": \"\\u0041\"}], ".repeat(1 << 14));
        let mut decoding = Decoding::of(text.clone().into_bytes(), 9, 1 << 22);
        let pieces = std::iter::from_fn(|| (!decoding.more().unwrap_or(true)).then_some(())).count();
        assert!(pieces + 1 >= text.len() / PIECE, "{pieces}");
        assert_eq!(Some(decoding.take()), whole(&text, 9, 1 << 22));
    }

    fn any_text() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            Just("null".to_owned()),
            any::<bool>().prop_map(|flag| flag.to_string()),
            any::<f64>()
                .prop_filter("finite", |number| number.is_finite())
                .prop_map(|number| Value::from(number).to_string()),
            any::<i64>().prop_map(|number| number.to_string()),
            ".{0,9}".prop_map(|text| Value::from(text).to_string()),
        ];
        leaf.prop_recursive(5, 40, 5, |inner| {
            let list = prop::collection::vec(inner.clone(), 0..5)
                .prop_map(|items| format!("[{}]", items.join(" ,")));
            let fields = prop::collection::btree_map(".{0,5}", inner, 0..5);
            let object = fields.prop_map(|fields| {
                let fields = fields
                    .into_iter()
                    .map(|(name, item)| format!("{}:\n{item}", Value::from(name)));
                format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
            });
            prop_oneof![list, object]
        })
    }

    proptest! {
        #[test]
        fn it_reads_what_is_read_at_once(text in any_text(), depth in 0_usize..7, bytes in 0_usize..200) {
            prop_assert_eq!(read(&text, depth, bytes).ok(), whole(&text, depth, bytes));
        }

        #[test]
        fn whatever_the_text_is_it_ends(text in "[\\[\\]{}:, \"\\\\0-9eE.+ntrufalse-]{0,40}") {
            let value = serde_json::from_str::<Value>(&text).ok();
            let read = read(&text, 99, 9999).ok();
            prop_assert_eq!(read.is_some(), value.is_some());
        }
    }
}
