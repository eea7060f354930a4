//! Converts the words of a variable to a value of its kind.
//!
//! | kind | words | value |
//! | --- | --- | --- |
//! | `string` | any | the words as they are |
//! | `int` | digits, in any width | a number of 64 bits |
//! | `float` | digits, a point, an exponent | a finite number |
//! | `bool` | `true` `yes` `on` `1` `是` `真`, and their opposites | true or false |
//!
//! If the words are not a value of their kind, the fast path leaves the input to a model; in the answer of a
//! model they stay text.

use agentx_types::VarKind;
use serde_json::{Number, Value};

use super::text::folded;

/// The value of `words`; `None` if they are not of that kind.
pub(crate) fn typed(kind: VarKind, words: &str) -> Option<Value> {
    if kind == VarKind::String {
        return Some(Value::String(words.to_owned()));
    }
    let folded = folded(words);
    let words = folded.trim();
    match kind {
        VarKind::String => None,
        VarKind::Int => words.parse::<i64>().ok().map(Value::from),
        VarKind::Float => float(words),
        VarKind::Bool => match words {
            "true" | "yes" | "on" | "1" | "是" | "真" => Some(Value::Bool(true)),
            "false" | "no" | "off" | "0" | "否" | "假" => Some(Value::Bool(false)),
            _ => None,
        },
    }
}

/// A number in digits. `nan` and `inf` are words, and so is a number that is not finite.
fn float(words: &str) -> Option<Value> {
    let in_digits = words
        .chars()
        .all(|c| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | 'e'));
    let number = words.parse::<f64>().ok().filter(|_| in_digits)?;
    Number::from_f64(number).map(Value::Number)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_are_of_their_kind_or_not() {
        let cases = [
            (VarKind::Int, "５０", Some(json!(50))),
            (VarKind::Int, "-10", Some(json!(-10))),
            (VarKind::Int, "+7", Some(json!(7))),
            (VarKind::Int, "50%", None),
            (VarKind::Int, "1.5", None),
            (VarKind::Int, "99999999999999999999", None),
            (VarKind::Int, "", None),
            (VarKind::Float, "1.5", Some(json!(1.5))),
            (VarKind::Float, "3", Some(json!(3.0))),
            (VarKind::Float, "1e3", Some(json!(1000.0))),
            (VarKind::Float, "nan", None),
            (VarKind::Float, "inf", None),
            (VarKind::Float, "1e999", None),
            (VarKind::Bool, "TRUE", Some(json!(true))),
            (VarKind::Bool, "否", Some(json!(false))),
            (VarKind::Bool, "maybe", None),
            (VarKind::String, " as it is ", Some(json!(" as it is "))),
        ];
        for (kind, words, value) in cases {
            assert_eq!(typed(kind, words), value, "{kind:?} {words:?}");
        }
    }
}
