//! The request form that the name of a Gemini model implies. Google's names are open-ended: a newer one
//! counts as the newest form.
//!
//! | name | reasoning | signatures | media within results |
//! | --- | --- | --- | --- |
//! | `gemini-3…`, `gemini-4…` and later | a level | required | yes |
//! | `gemini-2.5…` | a budget | sent back | after them |
//! | older ones, Gemma, aliases without a version | not requested | sent back | after them |

use crate::wire_options::gemini::GeminiThinking;

/// The major version in a name: 3 for `gemini-3.1-pro-preview`, 2 for `gemini-2.5-flash`; `None` for names
/// without one.
fn version(id: &str) -> Option<(u32, u32)> {
    let id = id.to_ascii_lowercase();
    let (_, rest) = id.split_once("gemini-")?;
    let digits = |text: &str| {
        let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        text[..end].parse::<u32>().ok()
    };
    let major = digits(rest)?;
    let minor = rest.split_once('.').and_then(|(before, after)| {
        let is_version = before.bytes().all(|byte| byte.is_ascii_digit());
        digits(after).filter(|_| is_version)
    });
    Some((major, minor.unwrap_or(0)))
}

/// Returns whether a model is of Gemini 3 or later: it requires signatures, and supports media within results
/// of tools.
pub(super) fn is_gemini_3(id: &str) -> bool {
    version(id).is_some_and(|(major, _)| major >= 3)
}

/// Returns the reasoning options of a model of this name. Aliases without a version (`gemini-flash-latest`)
/// move from model to model, and every reasoning model accepts a level or decides on its own, so requests to
/// them only ask for the thoughts.
pub(super) fn thinking(id: &str) -> GeminiThinking {
    match version(id) {
        Some((3.., _)) => GeminiThinking::Level,
        Some((2, 5..)) => GeminiThinking::Budget,
        _ => GeminiThinking::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_how_its_model_reasons() {
        use GeminiThinking as T;
        for (id, expected, is_3) in [
            ("gemini-4-argon", T::Level, true),
            ("gemini-3.8-flash", T::Level, true),
            ("gemini-3-flash-preview", T::Level, true),
            ("google/gemini-3.1-pro-preview-customtools", T::Level, true),
            ("gemini-2.5-pro", T::Budget, false),
            ("gemini-2.5-flash-preview-09-2025", T::Budget, false),
            ("gemini-2.0-flash", T::None, false),
            ("gemini-flash-latest", T::None, false),
            ("gemma-4-31b-it", T::None, false),
        ] {
            assert_eq!((thinking(id), is_gemini_3(id)), (expected, is_3), "{id}");
        }
    }
}
