//! Finds the place in the body of a request that a refusal names, such as `messages.2.content.0` (Anthropic),
//! `messages[3].content` (OpenAI), `input[4].content[0]` (Responses) or `contents[2].parts[0]` (Gemini).
//!
//! `crate::refused_place` looks up the part of the conversation at that place.

/// The lists of messages in the bodies of all APIs.
const LISTS: [&str; 3] = ["messages", "input", "contents"];

/// The maximum depth of a place.
const MOST_STEPS: usize = 12;

/// A step into a JSON value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PlaceStep {
    /// A key of an object.
    Key(String),
    /// An index of a list.
    Index(usize),
}

/// Returns the first place in a message, in one form: `messages.3.content`.
pub(super) fn named(message: &str) -> Option<String> {
    let starts = LISTS
        .iter()
        .flat_map(|list| message.match_indices(list).map(move |(at, _)| (at, *list)));
    let mut starts: Vec<(usize, &str)> = starts.collect();
    starts.sort_unstable();
    starts.into_iter().find_map(|(at, list)| {
        let is_inside = message[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let path = if is_inside {
            None
        } else {
            path_after(&message[at + list.len()..])
        };
        path.map(|path| format!("{list}{path}"))
    })
}

/// Returns the steps of a place in the form of [`named`].
pub(crate) fn steps(place: &str) -> Vec<PlaceStep> {
    let step = |step: &str| match step.parse() {
        Ok(index) => PlaceStep::Index(index),
        Err(_) => PlaceStep::Key(step.to_owned()),
    };
    place.split('.').map(step).collect()
}

/// Reads steps from the beginning of a text; `None` if the first one is not an index.
fn path_after(mut rest: &str) -> Option<String> {
    let mut path = String::new();
    for _ in 0..MOST_STEPS {
        let Some((step, after)) = step_at(rest) else {
            break;
        };
        if path.is_empty() && !step.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        path.push('.');
        path.push_str(step);
        rest = after;
    }
    (!path.is_empty()).then_some(path)
}

/// The step at the beginning of a text, and the text after it: `.content`, `.2`, `[2]`.
fn step_at(text: &str) -> Option<(&str, &str)> {
    if let Some(inner) = text.strip_prefix('[') {
        let (step, after) = inner.split_once(']')?;
        let is_index = !step.is_empty() && step.chars().all(|c| c.is_ascii_digit());
        return is_index.then_some((step, after));
    }
    let inner = text.strip_prefix('.')?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let end = inner.find(|c| !is_name(c)).unwrap_or(inner.len());
    (end > 0).then(|| inner.split_at(end))
}
