//! Compares two request bodies in the order in which vendors cache them, byte by byte.
//!
//! Caches are keyed by the beginning of a request: the model, the tools, the instructions, then the messages.
//! Other members of a body (the maximum answer length, the temperature) are not part of it, and neither are
//! the marks for writing to the cache (`cache_control`, `cachePoint`), because they move with every request.

use std::ops::Range;

use serde::Serialize;

/// Members of a body that are part of the cached beginning, in order, with the name of that part.
const ORDER: [(&str, CachedPart); 12] = [
    ("model", CachedPart::Model),
    ("tools", CachedPart::Tools),
    ("system", CachedPart::Instructions),
    ("instructions", CachedPart::Instructions),
    ("systemInstruction", CachedPart::Instructions),
    ("system_instruction", CachedPart::Instructions),
    ("thinking", CachedPart::Settings),
    ("tool_choice", CachedPart::Settings),
    ("toolConfig", CachedPart::Settings),
    ("messages", CachedPart::Messages),
    ("input", CachedPart::Messages),
    ("contents", CachedPart::Messages),
];

/// Bytes of each side that are kept from the first difference on.
const SHOWN: usize = 60;

/// A part of the cached beginning of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CachedPart {
    /// The model.
    Model,
    /// The descriptions of the tools.
    Tools,
    /// The system prompt and other standing instructions.
    Instructions,
    /// Settings that the beginning depends on.
    Settings,
    /// The messages.
    Messages,
}

/// The first byte in which a request differs from its predecessor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FirstDifference {
    /// The part that differs.
    pub part: CachedPart,
    /// The index of the first tool or message that differs, from 0; `None` if the part is not a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<usize>,
    /// The offset of the byte in the body of the request, from 0.
    pub byte: usize,
    /// The predecessor's text from this position on, shortened; empty at its end.
    pub before: String,
    /// The request's text from this position on, shortened; empty at its end.
    pub after: String,
}

/// Returns the first difference; `None` if everything that the predecessor had is the beginning of the
/// request.
pub(super) fn first_difference(before: &str, after: &str) -> Option<FirstDifference> {
    let (was, is) = (members(before), members(after));
    let empty = (0..0, 0..0);
    for (key, part) in ORDER {
        let find = |members: &[(Range<usize>, Range<usize>)], body: &str| {
            let found = members
                .iter()
                .find(|(name, _)| body.get(name.clone()) == Some(key));
            found.cloned().unwrap_or_else(|| empty.clone()).1
        };
        let (old, new) = (find(&was, before), find(&is, after));
        if old.is_empty() && new.is_empty() {
            continue;
        }
        let difference = if part == CachedPart::Tools || part == CachedPart::Messages {
            in_lists((before, &old), (after, &new), part)
        } else {
            in_bytes((before, &old), (after, &new)).map(|at| (None, at))
        };
        if let Some((index, (old_at, new_at))) = difference {
            return Some(FirstDifference {
                part,
                index,
                byte: new_at,
                before: shown(before, old_at, old.end),
                after: shown(after, new_at, new.end),
            });
        }
    }
    None
}

type Side<'a> = (&'a str, &'a Range<usize>);

/// The first element that differs. Messages that are only added differ in nothing; added tools do, because
/// messages follow them.
fn in_lists(old: Side<'_>, new: Side<'_>, part: CachedPart) -> Option<(Option<usize>, (usize, usize))> {
    let (was, is) = (elements(old.0, old.1), elements(new.0, new.1));
    for (index, element) in was.iter().enumerate() {
        let Some(now) = is.get(index) else {
            return Some((Some(index), (element.start, new.1.end.saturating_sub(1))));
        };
        if let Some(at) = in_bytes((old.0, element), (new.0, now)) {
            return Some((Some(index), at));
        }
    }
    let more = is.get(was.len()).filter(|_| part == CachedPart::Tools)?;
    Some((Some(was.len()), (old.1.end.saturating_sub(1), more.start)))
}

/// The offsets in both bodies of the first byte that differs, without marks of the cache.
fn in_bytes(old: Side<'_>, new: Side<'_>) -> Option<(usize, usize)> {
    let (was, is) = (unmarked(old.0, old.1), unmarked(new.0, new.1));
    let byte = |body: &str, at: usize| body.as_bytes().get(at).copied();
    let same = was
        .iter()
        .zip(&is)
        .take_while(|(one, other)| byte(old.0, **one) == byte(new.0, **other))
        .count();
    if same == was.len() && same == is.len() {
        return None;
    }
    Some((
        was.get(same).copied().unwrap_or(old.1.end),
        is.get(same).copied().unwrap_or(new.1.end),
    ))
}

/// The offsets of the bytes of a range, without `cache_control` members and blocks that are a `cachePoint`.
fn unmarked(body: &str, range: &Range<usize>) -> Vec<usize> {
    const MARKS: [(&str, &str); 2] = [(",\"cache_control\":{", "}"), (",{\"cachePoint\":{", "}}")];
    let mut kept = Vec::with_capacity(range.len());
    let mut at = range.start;
    while at < range.end {
        let rest = body.get(at..range.end).unwrap_or_default();
        let mark = MARKS.iter().find(|(begin, _)| rest.starts_with(begin));
        if let Some((_, close)) = mark {
            let end = rest.find(close);
            at = end.map_or(range.end, |end| at + end + close.len());
        } else {
            kept.push(at);
            at += 1;
        }
    }
    kept
}

/// The ranges of the names (without quotes) and values of an object's members.
fn members(body: &str) -> Vec<(Range<usize>, Range<usize>)> {
    let whole = 0..body.trim_end().len();
    let parts = elements(body, &whole).into_iter();
    let split = parts.filter_map(|member| {
        let text = body.get(member.clone())?;
        let colon = text.find(':')?;
        let name = text.get(..colon)?;
        let quotes = name.len() - name.trim_start_matches('"').len();
        let name = member.start + quotes..member.start + name.trim_end_matches('"').len();
        Some((name, member.start + colon + 1..member.end))
    });
    split.collect()
}

/// The ranges of the elements between the commas of a list or an object. Commas in strings are ignored.
fn elements(body: &str, range: &Range<usize>) -> Vec<Range<usize>> {
    let bytes = body.as_bytes();
    let (mut found, mut depth, mut in_string, mut escaped) = (Vec::new(), 0_u32, false, false);
    let mut start = range.start + 1;
    for at in range.clone() {
        let byte = bytes.get(at).copied().unwrap_or_default();
        if in_string {
            in_string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'[' | b'{' => depth += 1,
            b']' | b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 && start < at {
                    found.push(start..at);
                }
            }
            b',' if depth == 1 => {
                found.push(start..at);
                start = at + 1;
            }
            _ => {}
        }
    }
    found
}

fn shown(body: &str, at: usize, end: usize) -> String {
    let begin = (0..=at).rev().find(|at| body.is_char_boundary(*at)).unwrap_or(0);
    let text = body.get(begin..end.max(begin)).unwrap_or_default();
    text.chars().take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bodies are made up; their forms are those of the request builders.
    fn check(before: &str, after: &str) -> Option<(CachedPart, Option<usize>, String, String)> {
        first_difference(before, after).map(|found| {
            assert!(after.len() >= found.byte);
            (found.part, found.index, found.before, found.after)
        })
    }

    #[test]
    fn added_messages_other_limits_and_moved_marks_are_no_difference() {
        let before = r#"{"model":"m","max_tokens":9,"system":"s","messages":[{"content":[{"text":"a, \"]","cache_control":{"type":"ephemeral"}}]}]}"#;
        let after = r#"{"model":"m","max_tokens":7,"system":"s","messages":[{"content":[{"text":"a, \"]"}]},{"content":"b"}]}"#;
        assert_eq!(check(before, after), None);
        assert_eq!(check(before, before), None);
        let before = r#"{"messages":[{"content":[{"text":"a"},{"cachePoint":{"type":"default"}}]}]}"#;
        let after = r#"{"messages":[{"content":[{"text":"a"}]},{"content":[{"text":"b"}]}]}"#;
        assert_eq!(check(before, after), None);
    }

    #[test]
    fn the_first_part_in_the_order_of_caches_counts() {
        let before = r#"{"messages":[{"t":"a"}],"system":"one","tools":[{"name":"x"}],"model":"m"}"#;
        let cases = [
            (
                r#""a""#,
                r#""ab""#,
                CachedPart::Messages,
                Some(0),
                "\"}]",
                "b\"}]",
            ),
            ("one", "two", CachedPart::Instructions, None, "one\"", "two\""),
            (r#""x""#, r#""y""#, CachedPart::Tools, Some(0), "x\"}]", "y\"}]"),
            (r#""m""#, r#""n""#, CachedPart::Model, None, "m\"", "n\""),
        ];
        let mut after = before.to_owned();
        for (from, to, part, index, was, is) in cases {
            after = after.replace(from, to);
            let expected = (part, index, was.to_owned(), is.to_owned());
            assert_eq!(check(before, &after), Some(expected));
        }
    }

    #[test]
    fn what_is_gone_and_tools_that_are_new_are_differences() {
        let one = r#"{"tools":[{"n":1}],"input":[1,2]}"#;
        let shorter = r#"{"tools":[{"n":1}],"input":[1]}"#;
        let more = r#"{"tools":[{"n":1},{"n":2}],"input":[1,2]}"#;
        let found = check(one, shorter).map(|found| (found.0, found.1));
        assert_eq!(found, Some((CachedPart::Messages, Some(1))));
        let found = check(one, more).map(|found| (found.0, found.1));
        assert_eq!(found, Some((CachedPart::Tools, Some(1))));
        assert_eq!(check("no json", "nor this"), None);
    }
}
