//! Answers that were listed in advance: the first one that fits the request is used. Pure.
//!
//! An answer names up to four conditions: `system` and `input` as patterns with `*`, `result` as a pattern
//! over all results since the input, and `nth`, the number of the answer in the conversation, counting from
//! one. An answer without `result` fits only if no tool was called since the input, so that a script that
//! calls a tool does not call it forever. If none fits, the demo answers as usual.

use std::sync::Arc;

use agentx_types::{ContentPart, Message, ModelRequest, Role, ScriptedAnswer};

use super::answer::DemoAnswer;

/// The answer that fits, if one does.
pub(super) fn answer(answers: &[ScriptedAnswer], request: &ModelRequest) -> Option<DemoAnswer> {
    if answers.is_empty() {
        return None;
    }
    let cue = ConditionInputs::of(request);
    let fits = answers.iter().find(|answer| cue.fits(answer))?;
    Some(DemoAnswer {
        thinking: String::new(),
        text: fits.say.trim_end().to_owned(),
        calls: fits.calls.clone(),
    })
}

/// The data by which requests are distinguished: the text of the system prompt, the last input of a person,
/// the results of tools since then, and the number of answers so far.
struct ConditionInputs {
    system: String,
    input: String,
    /// The results since the input; `None` if no tool was called.
    results: Option<String>,
    nth: u64,
}

impl ConditionInputs {
    /// Reads the texts for the patterns from a request. Several results are joined by line breaks.
    fn of(request: &ModelRequest) -> Self {
        let system: Vec<&str> = request.system.iter().map(AsRef::as_ref).collect();
        let asked = super::input_of(request);
        let input = asked
            .and_then(|at| request.messages.get(at))
            .map(|message| super::text_of(message));
        let since = asked.map_or(0, |at| at + 1);
        let results: Vec<String> = request
            .messages
            .iter()
            .skip(since)
            .filter(|message| message.role == Role::Tool)
            .map(result_text)
            .collect();
        let answers = request
            .messages
            .iter()
            .filter(|message| message.role == Role::Assistant)
            .count();
        Self {
            system: system.join("\n"),
            input: input.unwrap_or_default(),
            results: (!results.is_empty()).then(|| results.join("\n")),
            nth: u64::try_from(answers).unwrap_or(u64::MAX).saturating_add(1),
        }
    }

    /// Returns whether all conditions of the answer fit. A missing condition always fits, except `result`.
    fn fits(&self, answer: &ScriptedAnswer) -> bool {
        let pattern = |pattern: &Option<String>, text: &str| {
            pattern.as_ref().is_none_or(|pattern| wildcard(pattern, text))
        };
        let result = match (&answer.result, &self.results) {
            (None, None) => true,
            (Some(wanted), Some(results)) => wildcard(wanted, results),
            (None, Some(_)) | (Some(_), None) => false,
        };
        result
            && pattern(&answer.system, &self.system)
            && pattern(&answer.input, &self.input)
            && answer.nth.is_none_or(|nth| nth == self.nth)
    }
}

fn result_text(message: &Arc<Message>) -> String {
    let results = message.content.iter().filter_map(|part| match part {
        ContentPart::ToolResult(result) => Some(&result.content),
        _ => None,
    });
    let texts = results.flatten().filter_map(ContentPart::as_text);
    texts.collect::<Vec<_>>().join("\n")
}

/// Returns whether `text` fits `pattern`, in which `*` stands for any run of characters.
fn wildcard(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let Some(last) = pieces.next_back() else {
        return rest.is_empty();
    };
    for piece in pieces {
        match rest.split_once(piece) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use agentx_testing::fixture;
    use agentx_types::Api;

    use super::*;

    #[test]
    fn stars_stand_for_anything() {
        for (pattern, text, fits) in [
            ("*", "", true),
            ("a*", "abc", true),
            ("*c", "abc", true),
            ("*b*", "abc", true),
            ("a*b*c", "a-b-c", true),
            ("abc", "abc", true),
            ("abc", "abcd", false),
            ("a*a", "a", false),
            ("*天气*", "北京天气怎么样", true),
        ] {
            assert_eq!(wildcard(pattern, text), fits, "{pattern} {text}");
        }
    }

    #[test]
    fn the_first_that_fits_is_given() {
        let answers = [
            ScriptedAnswer {
                input: Some("*weather*".into()),
                say: "cold".into(),
                ..ScriptedAnswer::default()
            },
            ScriptedAnswer {
                result: Some("*ok*".into()),
                say: "done".into(),
                ..ScriptedAnswer::default()
            },
            ScriptedAnswer {
                nth: Some(2),
                say: "again".into(),
                ..ScriptedAnswer::default()
            },
        ];
        let ask =
            |messages| answer(&answers, &fixture::request(Api::Scripted, messages)).map(|answer| answer.text);
        assert_eq!(ask(vec![fixture::user("the weather?")]), Some("cold".into()));
        assert_eq!(ask(vec![fixture::user("hello")]), None);
        let second = vec![fixture::user("x"), fixture::assistant("y"), fixture::user("z")];
        assert_eq!(ask(second), Some("again".into()));
        let after = vec![
            fixture::user("x"),
            fixture::tool_call("call_1", "t", serde_json::json!({})),
            fixture::tool_result("call_1", "t", "all ok"),
        ];
        assert_eq!(ask(after), Some("done".into()));
    }
}
