//! Small parts that the requests of all APIs share: texts that are joined, names of tools, the bound of an
//! answer, the word for an effort.

use agentx_types::ModelRequest;

/// Returns the maximum number of tokens of the answer: see
/// [`longest_answer`](agentx_types::ModelSpec::longest_answer).
pub(crate) fn longest_answer(request: &ModelRequest) -> u64 {
    request.model.longest_answer(request.params.max_output_tokens)
}

/// Returns the effort that is nearest to a budget of reasoning tokens.
pub(crate) fn effort(tokens: u64) -> &'static str {
    match tokens {
        0..=4_096 => "low",
        4_097..=16_384 => "medium",
        _ => "high",
    }
}

/// Joins texts. A single one, the usual case, is not copied.
pub(crate) fn joined<'a>(
    texts: impl Iterator<Item = &'a str>,
    between: &'static str,
) -> std::borrow::Cow<'a, str> {
    texts.fold(std::borrow::Cow::Borrowed(""), |mut all, text| {
        if !all.is_empty() {
            all += between;
        }
        all + text
    })
}

/// The name of a tool in a form that every API accepts: `^[a-zA-Z0-9_-]{1,64}$` for OpenAI, up to 128
/// characters for Anthropic. Models invent names (`functions.bash`, an empty one), get the result that no
/// such tool exists, and read their own call again.
pub(crate) fn tool_name(name: &str, longest: usize) -> std::borrow::Cow<'_, str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if (1..=longest).contains(&name.len()) && name.chars().all(fits) {
        return name.into();
    }
    let name: String = name
        .chars()
        .take(longest)
        .map(|c| if fits(c) { c } else { '_' })
        .collect();
    if name.is_empty() {
        "unnamed".into()
    } else {
        name.into()
    }
}
