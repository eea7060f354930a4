//! Trust in the settings of a workspace: a cloned folder must not be able to extend its own rights. The
//! access of people to a server, which `agentx identity trust` grants, is a different thing and part of the
//! keyring.
//!
//! Without trust, a workspace's file can only make settings stricter. Trust applies to the bytes that the
//! person saw ([`crate::trust_folder`]): a person has to trust a changed file again.

use agentx_types::RuleEffect;

use crate::layers::MergedSettings;
use crate::layers::keys::{SettingPath, WorkspaceMay};
use crate::layers::read::SettingsLayer;
use crate::layers::value::Value;
use crate::settings::memory;
use crate::settings::sandbox;
use crate::{SettingOrigin, Sourced};

/// A setting of a workspace that does not count.
#[derive(Clone, Debug, PartialEq)]
pub struct IgnoredSetting {
    /// The key of the setting, with dots.
    pub key: String,
    /// The place where the value was set.
    pub origin: SettingOrigin,
    /// The reason why the setting does not count.
    pub why: &'static str,
    /// Whether it counts once the person trusts the workspace as it is now.
    pub waits_for_trust: bool,
}

pub(crate) fn digest(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// Keeps only the settings that an untrusted workspace may make; `below` has the layers below it.
pub(crate) fn restrict(layer: SettingsLayer, below: &MergedSettings) -> (SettingsLayer, Vec<IgnoredSetting>) {
    let mut kept = SettingsLayer::default();
    let mut ignored = Vec::new();
    for (path, sourced) in layer.entries {
        let trust = path
            .spec()
            .map_or(WorkspaceMay::SetIfTrusted, |spec| spec.workspace_may);
        match trust {
            WorkspaceMay::Set => kept.entries.push((path, sourced)),
            WorkspaceMay::SetIfTrusted => {
                ignored.push(note(&path, &sourced, "only a trusted workspace may set it", true))
            }
            WorkspaceMay::Never => {
                ignored.push(note(&path, &sourced, "only your own settings may set it", false))
            }
            WorkspaceMay::Tighten => tighten(path, sourced, below, &mut kept, &mut ignored),
        }
    }
    (kept, ignored)
}

pub(crate) fn note(
    path: &SettingPath,
    sourced: &Sourced<Value>,
    why: &'static str,
    waits_for_trust: bool,
) -> IgnoredSetting {
    IgnoredSetting {
        key: path.to_string(),
        origin: sourced.origin.clone(),
        why,
        waits_for_trust,
    }
}

fn tighten(
    path: SettingPath,
    sourced: Sourced<Value>,
    below: &MergedSettings,
    kept: &mut SettingsLayer,
    ignored: &mut Vec<IgnoredSetting>,
) {
    let Sourced { value, origin } = sourced;
    if let Value::Rules(rules) = value {
        let (wide, strict): (Vec<_>, Vec<_>) = rules
            .into_iter()
            .partition(|rule| rule.value.effect == RuleEffect::Allow);
        let why = "`allow` rules apply only in a trusted workspace";
        ignored.extend(wide.into_iter().map(|rule| IgnoredSetting {
            key: path.to_string(),
            origin: rule.origin,
            why,
            waits_for_trust: true,
        }));
        kept.entries
            .push((path, Sourced::new(Value::Rules(strict), origin)));
        return;
    }
    let sourced = Sourced::new(value, origin);
    if below
        .get(&path)
        .is_none_or(|present| is_stricter(&path, &sourced.value, present))
    {
        kept.entries.push((path, sourced));
    } else {
        let why_never = sandbox::why_never(&path).or_else(|| memory::why_never(&path));
        let (why, waits_for_trust) = match why_never {
            Some(why) => (why, false),
            None => ("only a trusted workspace may relax it", true),
        };
        ignored.push(note(&path, &sourced, why, waits_for_trust));
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
            sandbox::is_stricter(path, new, old)
        }
        (Value::Text(new), Value::Text(old)) if path.0.first().is_some_and(|first| first == "memory") => {
            memory::is_stricter(path, new, old)
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
        "ask" => 1,
        _ => 2,
    }
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
    fn a_workspace_may_only_keep_facts_from_the_model() {
        let path = SettingPath::dotted("context.environment");
        let word = |word: &str| Value::Text(word.into());
        assert!(is_stricter(&path, &word("false"), &word("true")));
        assert!(is_stricter(&path, &word("true"), &word("true")));
        assert!(!is_stricter(&path, &word("true"), &word("false")));
    }

    #[test]
    fn a_limit_is_stricter_than_none() {
        let path = SettingPath::dotted("limits.timeout");
        let (none, some) = (Value::Nothing, Value::Millis(1_000));
        assert!(is_stricter(&path, &some, &none) && is_stricter(&path, &none, &none));
        assert!(!is_stricter(&path, &none, &some));
    }
}
