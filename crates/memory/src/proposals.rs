//! The answer of a model that was asked what to remember, as a list of proposals within bounds.
//!
//! ```text
//! {"proposals": [{"kind": "fact", "text": "The user likes tea.", "from": 12, "only_here": false}]}
//! ```
//!
//! Words around the object are passed over, because models add some. A proposal that has another form is
//! counted and left out. Whatever it says, it only ever becomes a proposal.

use serde::Deserialize;
use serde_json::Value;

/// Maximum number of facts and of all proposals of one answer.
const MOST: usize = 8;
/// The same with a reflection.
const MOST_WITH_REFLECTION: usize = 13;
/// Maximum length of an answer, in bytes.
const LONGEST: usize = 64 * 1024;

/// The kind of a proposal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ProposalKind {
    /// A fact about the person or their work.
    #[default]
    Fact,
    /// Something that worked well, or not.
    Worked,
    /// Something that the agent may offer.
    Offer,
}

impl ProposalKind {
    /// The words before the text, by which people and models know the kind.
    fn prefix(self) -> &'static str {
        match self {
            Self::Fact => "",
            Self::Worked => "How it went: ",
            Self::Offer => "To offer another time: ",
        }
    }
}

/// A proposal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Proposal {
    /// The kind.
    pub(crate) kind: ProposalKind,
    /// The words.
    pub(crate) text: String,
    /// The event of the input that it follows from.
    pub(crate) from: u64,
    /// Whether it is about the current project alone.
    pub(crate) only_here: bool,
}

/// The proposals of an answer, and the number of entries that are none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Proposals {
    /// The proposals, in their order.
    pub(crate) list: Vec<Proposal>,
    /// The number of entries that were left out: of another form, or too many.
    pub(crate) left_out: usize,
}

/// The form of an answer.
#[derive(Deserialize)]
struct AnswerForm {
    proposals: Vec<Value>,
}

/// The form of an entry.
#[derive(Deserialize)]
struct EntryForm {
    #[serde(default)]
    kind: ProposalKind,
    text: String,
    #[serde(default)]
    from: Option<u64>,
    #[serde(default)]
    only_here: bool,
}

/// Reads an answer about `inputs`, the events of the person's inputs. An origin that is none of them becomes
/// the last one. Without `reflect`, only facts are taken.
///
/// # Errors
/// Returns the reason, in words for people, if the answer does not have the form of such a list.
pub(crate) fn read(answer: &str, inputs: &[u64], reflect: bool) -> Result<Proposals, String> {
    if answer.len() > LONGEST {
        return Err(format!("the answer of the model is longer than {LONGEST} bytes"));
    }
    let object = match (answer.find('{'), answer.rfind('}')) {
        (Some(begin), Some(end)) if begin < end => &answer[begin..=end],
        _ => return Err("the answer of the model has no list of proposals".to_owned()),
    };
    let form: AnswerForm = serde_json::from_str(object)
        .map_err(|error| format!("the answer of the model is no list of proposals: {error}"))?;
    let most = if reflect { MOST_WITH_REFLECTION } else { MOST };
    let mut read = Proposals::default();
    for entry in form.proposals {
        match proposal(entry, inputs).filter(|found| reflect || found.kind == ProposalKind::Fact) {
            Some(found) if read.list.len() < most => read.list.push(found),
            _ => read.left_out += 1,
        }
    }
    Ok(read)
}

/// An entry as a proposal; `None` if it has another form or no words.
fn proposal(entry: Value, inputs: &[u64]) -> Option<Proposal> {
    let form: EntryForm = serde_json::from_value(entry).ok()?;
    let text = form.text.trim();
    if text.is_empty() {
        return None;
    }
    let from = form.from.filter(|from| inputs.contains(from));
    Some(Proposal {
        kind: form.kind,
        text: format!("{}{text}", form.kind.prefix()),
        from: from.or(inputs.last().copied()).unwrap_or_default(),
        only_here: form.only_here,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(answer: &str, reflect: bool) -> Vec<(String, u64)> {
        let read = read(answer, &[3, 9], reflect).unwrap();
        read.list
            .into_iter()
            .map(|found| (found.text, found.from))
            .collect()
    }

    #[test]
    fn entries_become_proposals_with_an_input_as_their_origin() {
        let answer = "Sure:\n```json\n{\"proposals\": [{\"kind\": \"fact\", \"text\": \" likes tea \", \"from\": 3}, \
                      {\"text\": \"writes Rust\", \"from\": 77, \"only_here\": true}]}\n```";
        assert_eq!(
            texts(answer, false),
            [("likes tea".to_owned(), 3), ("writes Rust".to_owned(), 9)]
        );
        assert!(read(answer, &[3, 9], false).unwrap().list[1].only_here);
    }

    #[test]
    fn a_reflection_says_what_it_is_and_is_taken_only_if_one_was_asked_for() {
        let answer = r#"{"proposals": [{"kind": "worked", "text": "small steps"}, {"kind": "offer", "text": "a test"}]}"#;
        assert_eq!(
            texts(answer, true),
            [
                ("How it went: small steps".to_owned(), 9),
                ("To offer another time: a test".to_owned(), 9)
            ]
        );
        let read = read(answer, &[3], false).unwrap();
        assert_eq!((read.list, read.left_out), (Vec::new(), 2));
    }

    #[test]
    fn other_forms_are_counted_and_too_many_are_left_out() {
        let many = vec![r#"{"text": "x"}"#; 20].join(",");
        let answer = format!(
            r#"{{"proposals": [7, {{"text": 1}}, {{"text": " "}}, {{"kind": "order", "text": "x"}}, {many}]}}"#
        );
        let read = read(&answer, &[3], false).unwrap();
        assert_eq!((read.list.len(), read.left_out), (MOST, 4 + 20 - MOST));
    }

    #[test]
    fn what_is_no_list_is_refused_with_a_reason() {
        for answer in [
            "",
            "nothing",
            "}{",
            "{}",
            r#"{"proposals": 7}"#,
            &"{".repeat(LONGEST + 1),
        ] {
            assert!(read(answer, &[3], true).is_err(), "{answer:.20}");
        }
        assert_eq!(read(r#"{"proposals": []}"#, &[3], true), Ok(Proposals::default()));
    }
}
