//! The requests that OpenAI's models take, as far as their names tell.

/// Returns whether a model takes tools only at the Responses API, by its name: gpt-6-astra, and all from
/// gpt-6.1 on. Chat Completions refuses their tools with any `reasoning_effort`, `none` too
/// (<https://github.com/jhd3197/Prompture/releases/tag/v1.15.1>). Gateways may translate.
pub(crate) fn needs_responses_for_tools(id: &str) -> bool {
    let is_astra = id
        .strip_prefix("gpt-6-astra")
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
    is_astra || reasoning_version(id).is_some_and(|version| version >= 61)
}

/// Returns the version of a reasoning model as a number: 54 for `gpt-5.4-…`, 60 for `gpt-6-…`, 0 for `o3`;
/// `None` for models that do not reason, such as `gpt-5-chat-latest`
/// (<https://github.com/pydantic/pydantic-ai/issues/3326>).
pub(crate) fn reasoning_version(id: &str) -> Option<u32> {
    if id.contains("-chat") {
        return None;
    }
    let digits = |text: &str| {
        let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        text[..end].parse::<u32>().ok().filter(|number| *number < 100)
    };
    if let Some(rest) = id.strip_prefix("gpt-") {
        let major = digits(rest).filter(|major| *major >= 5)?;
        let minor = rest.split_once('.').and_then(|(before, after)| {
            let is_version = before.bytes().all(|byte| byte.is_ascii_digit());
            digits(after).filter(|_| is_version)
        });
        return Some(major * 10 + minor.unwrap_or(0).min(9));
    }
    id.strip_prefix('o').and_then(digits).map(|_| 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_where_a_model_takes_tools() {
        for id in [
            "gpt-6-astra",
            "gpt-6-astra-2026-09-01",
            "gpt-6.1-terra",
            "gpt-6.2",
            "gpt-6.2-sol",
            "gpt-7",
        ] {
            assert!(needs_responses_for_tools(id), "{id}");
        }
        for id in [
            "gpt-6-astral",
            "gpt-6-sol",
            "gpt-5.6-terra",
            "gpt-4.1",
            "o3",
            "gpt-6.2-chat-latest",
            "openai/gpt-6.2-sol",
            "gpt-oss-120b",
            "llama",
        ] {
            assert!(!needs_responses_for_tools(id), "{id}");
        }
    }
}
