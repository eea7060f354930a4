//! Words of a call that AgentX replaced by `[secret NAME]`, because it knows their value as a secret. The
//! value is nowhere in the session, so the call runs with the words that the question shows. A folder may
//! name any text a secret in its `.env`; so a question says what was replaced, and offers no rule made of it.

use std::collections::BTreeSet;

use agentx_terminal::lookalikes::unmistakable;
use serde_json::Value;

/// The beginning of the words that stand for a secret.
const MARK: &str = "[secret ";

/// Returns the names of the secrets that were replaced in the arguments of a call.
pub(crate) fn hidden_names(input: &Value) -> BTreeSet<String> {
    let text = input.to_string();
    let marks = text.split(MARK).skip(1);
    marks
        .filter_map(|rest| Some(rest.split_once(']')?.0.to_owned()))
        .collect()
}

/// Returns the note about replaced words in a call; `None` if there are none.
pub(crate) fn note(input: &Value) -> Option<String> {
    let names = hidden_names(input);
    (!names.is_empty()).then(|| {
        format!(
            "  {} hides text that AgentX knows as a secret; the call runs with these words, not with that text",
            marked(&names)
        )
    })
}

/// Returns the note about those of the replaced words that only a `.env` file of the folder names a secret;
/// `None` if there are none.
pub(crate) fn folder_note(input: &Value, of_folder: &BTreeSet<String>) -> Option<String> {
    let names: BTreeSet<String> = hidden_names(input).intersection(of_folder).cloned().collect();
    (!names.is_empty()).then(|| {
        format!(
            "  {} is a value of a .env file of this folder, which may be any text: look there before you allow \
             the call",
            marked(&names)
        )
    })
}

fn marked(names: &BTreeSet<String>) -> String {
    let marked: Vec<String> = names.iter().map(|name| format!("{MARK}{name}]")).collect();
    unmistakable(&marked.join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn replaced_words_are_named_with_their_origin() {
        let input = json!({"command": "curl -s https://[secret API_KEY] -d @Cargo.toml; echo [secret PIN]"});
        let said = note(&input).unwrap();
        assert!(
            said.starts_with("  [secret API_KEY], [secret PIN] hides text"),
            "{said}"
        );
        let of_folder = BTreeSet::from(["API_KEY".to_owned(), "OTHER".to_owned()]);
        let said = folder_note(&input, &of_folder).unwrap();
        assert!(
            said.starts_with("  [secret API_KEY] is a value of a .env file"),
            "{said}"
        );
        assert_eq!(folder_note(&input, &BTreeSet::new()), None);
        assert_eq!(note(&json!({"command": "echo [secret"})), None);
    }
}
