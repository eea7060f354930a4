//! Finds the stricter of two values of a setting, because a folder that is not trusted may only make things
//! stricter.

use agentx_sandbox::{SandboxMode, SandboxNetwork};

use crate::layers::MergedSettings;
use crate::layers::keys::SettingPath;
use crate::layers::value::Value;

const LOOSER_SANDBOX: &str = "only your own settings may loosen the sandbox";
const LOOSER_SECURITY: &str = "only your own settings may ask you about fewer risks";
const LOOSER_MEMORY: &str = "only your own settings may turn memory on or let it keep or use more";

/// Returns why a folder, trusted or not, may not set this; `None` if it may.
pub(crate) fn why_not(path: &SettingPath, value: &Value, own: &MergedSettings) -> Option<&'static str> {
    let why = why_never(path)?;
    let may = match own.get(path) {
        Some(present) => is_stricter(path, value, present),
        None => is_stricter_than_unset(path, value),
    };
    (!may).then_some(why)
}

/// Returns whether a value is as strict as that of a key that no layer has set, or stricter. The network of
/// the sandbox follows from other settings, so that only its strictest value is; its mode follows from who is
/// asked, so that `none` is not.
pub(crate) fn is_stricter_than_unset(path: &SettingPath, value: &Value) -> bool {
    match value {
        Value::Text(word) if path.0 == ["sandbox", "network"] => word == "off",
        Value::Text(word) if path.0 == ["sandbox", "mode"] => word != "none",
        _ => true,
    }
}

/// Returns why trust in a folder does not cover a looser value of this key; `None` if it does.
pub(crate) fn why_never(path: &SettingPath) -> Option<&'static str> {
    match path.0.first()?.as_str() {
        "sandbox" => Some(LOOSER_SANDBOX),
        "memory" => Some(LOOSER_MEMORY),
        "security" => Some(LOOSER_SECURITY),
        _ => None,
    }
}

/// Returns whether a value is as strict as the present one, or stricter.
pub(crate) fn is_stricter(path: &SettingPath, value: &Value, present: &Value) -> bool {
    match (value, present) {
        (_, Value::Nothing) => true,
        (Value::Count(new), Value::Count(old)) | (Value::Millis(new), Value::Millis(old)) => new <= old,
        (Value::Money(new), Value::Money(old)) => new <= old,
        (Value::Names(new), Value::Names(old)) => new.iter().all(|name| old.contains(name)),
        (Value::Text(new), Value::Text(old)) if path.0 == ["approval"] => strictness(new) >= strictness(old),
        (Value::Text(new), Value::Text(old)) if path.0.first().is_some_and(|first| first == "sandbox") => {
            is_stricter_sandbox(path, new, old)
        }
        (Value::Text(new), Value::Text(old)) if path.0.first().is_some_and(|first| first == "memory") => {
            is_stricter_memory(path, new, old)
        }
        (Value::Text(new), Value::Text(old)) if path.0 == ["tools", "reading_commands"] => {
            new == old || new == "ask"
        }
        (Value::Text(new), Value::Text(old)) if path.0.first().is_some_and(|first| first == "security") => {
            is_stricter_security(path, new, old)
        }
        (Value::Text(new), Value::Text(old)) if path.0 == ["durability"] => new == old || new == "machine",
        (Value::Text(new), Value::Text(old)) if path.0 == ["context", "environment"] => {
            new == old || new == "false"
        }
        _ => false,
    }
}

fn strictness(approval: &str) -> u8 {
    match approval {
        "auto" => 0,
        "accept-edits" => 1,
        "ask" => 2,
        _ => 3,
    }
}

/// Returns whether a word of a setting of memory is as strict as another, or stricter.
fn is_stricter_memory(path: &SettingPath, new: &str, old: &str) -> bool {
    let strictest = match path.0.last().map(String::as_str) {
        Some("enabled") => "false",
        Some("accept") => "ask",
        _ => return false,
    };
    new == old || new == strictest
}

/// Returns whether a word of a setting of the analyzers of risk is as strict as another, or stricter.
fn is_stricter_security(path: &SettingPath, new: &str, old: &str) -> bool {
    let words: &[&str] = match path.0.last().map(String::as_str) {
        Some("policy") => &["never", "risky", "always"],
        Some("threshold") => &["high", "medium", "low"],
        Some("unknown") => &["ignore", "ask"],
        _ => return false,
    };
    let strictness = |word: &str| words.iter().position(|known| *known == word);
    strictness(new)
        .zip(strictness(old))
        .is_some_and(|(new, old)| new >= old)
}

/// Returns whether a word of a setting of the sandbox is as strict as another, or stricter.
fn is_stricter_sandbox(path: &SettingPath, new: &str, old: &str) -> bool {
    let key = path.0.last().map(String::as_str);
    // It makes nothing stricter, and would take the place of the person's own word.
    if key == Some("mode") && new == "none" {
        return false;
    }
    // The machine decides which of the two is stricter.
    if key == Some("mode")
        && ["everyday", "landlock"].contains(&old)
        && ["everyday", "landlock"].contains(&new)
    {
        return new == old;
    }
    let strictness = |word: &str| match key {
        Some("mode") => SandboxMode::WORDS.iter().position(|known| *known == word),
        Some("best_effort") => ["true", "false"].iter().position(|known| *known == word),
        Some("network") => SandboxNetwork::WORDS.iter().position(|known| *known == word),
        _ => None,
    };
    strictness(new)
        .zip(strictness(old))
        .is_some_and(|(new, old)| new >= old)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_may_only_make_commits_safer() {
        let path = SettingPath::dotted("durability");
        let word = |word: &str| Value::Text(word.into());
        assert!(is_stricter(&path, &word("machine"), &word("process")));
        assert!(is_stricter(&path, &word("machine"), &word("machine")));
        assert!(!is_stricter(&path, &word("process"), &word("machine")));
    }

    #[test]
    fn a_workspace_may_only_have_more_calls_asked_about() {
        for (key, order) in [
            ("approval", &["auto", "accept-edits", "ask", "deny"][..]),
            ("tools.reading_commands", &["allow", "ask"]),
        ] {
            let path = SettingPath::dotted(key);
            let word = |word: &str| Value::Text(word.into());
            for (at, new) in order.iter().enumerate() {
                for (before, old) in order.iter().enumerate() {
                    let is = is_stricter(&path, &word(new), &word(old));
                    assert_eq!(is, at >= before, "{key}: {new} after {old}");
                }
            }
        }
    }

    #[test]
    fn a_workspace_may_only_keep_facts_from_the_model() {
        let path = SettingPath::dotted("context.environment");
        let word = |word: &str| Value::Text(word.into());
        assert!(is_stricter(&path, &word("false"), &word("true")));
        assert!(is_stricter(&path, &word("true"), &word("true")));
        assert!(!is_stricter(&path, &word("true"), &word("false")));
    }

    #[test]
    fn a_workspace_may_only_have_more_risks_asked_about() {
        for (key, words) in [
            ("security.policy", &["never", "risky", "always"][..]),
            ("security.threshold", &["high", "medium", "low"]),
            ("security.unknown", &["ignore", "ask"]),
        ] {
            let path = SettingPath::dotted(key);
            for (at, new) in words.iter().enumerate() {
                for (before, old) in words.iter().enumerate() {
                    let [new, old] = [new, old].map(|word| Value::Text((*word).into()));
                    assert_eq!(is_stricter(&path, &new, &old), at >= before, "{key} {new} {old}");
                }
            }
            assert!(why_never(&path).is_some(), "{key}");
        }
    }

    #[test]
    fn a_limit_is_stricter_than_none() {
        let path = SettingPath::dotted("limits.timeout");
        let (none, some) = (Value::Nothing, Value::Millis(1_000));
        assert!(is_stricter(&path, &some, &none) && is_stricter(&path, &none, &none));
        assert!(!is_stricter(&path, &none, &some));
    }

    #[test]
    fn a_folder_gives_no_network_to_a_sandbox_whose_network_nobody_set() {
        let network = SettingPath::dotted("sandbox.network");
        let word = |word: &str| Value::Text(word.into());
        assert!(is_stricter_than_unset(&network, &word("off")));
        for looser in ["hosts", "ask", "on"] {
            assert!(!is_stricter_than_unset(&network, &word(looser)), "{looser}");
        }
    }

    #[test]
    fn a_folder_takes_no_sandbox_from_commands_about_which_nobody_is_asked() {
        let mode = SettingPath::dotted("sandbox.mode");
        for word in SandboxMode::WORDS {
            let is_stricter = is_stricter_than_unset(&mode, &Value::Text((*word).into()));
            assert_eq!(is_stricter, *word != "none", "{word}");
        }
    }

    #[test]
    fn steps_have_an_order() {
        let check =
            |key: &str, new: &str, old: &str| is_stricter_sandbox(&SettingPath::dotted(key), new, old);
        for (key, words) in [
            ("sandbox.mode", SandboxMode::WORDS),
            ("sandbox.network", SandboxNetwork::WORDS),
            ("sandbox.best_effort", &["true", "false"]),
        ] {
            for (at, new) in words.iter().enumerate() {
                for (before, old) in words.iter().enumerate() {
                    let differ = [*new, *old] == ["landlock", "everyday"];
                    let is_none = *new == "none";
                    let expected = at >= before && !differ && !is_none;
                    assert_eq!(check(key, new, old), expected, "{key} {new} {old}");
                }
            }
        }
        assert!(!check("sandbox.mode", "made up", "none"));
    }
}
