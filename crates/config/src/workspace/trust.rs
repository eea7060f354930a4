//! Trust in the settings of a workspace: a cloned folder must not be able to extend its own rights. The
//! access of people to a server, which `agentx identity trust` grants, is a different thing and part of the
//! keyring.
//!
//! Without trust, a workspace's file can only make settings stricter. Trust applies to the bytes that the
//! person saw ([`crate::trust_folder`]): a person has to trust a changed file again.

use agentx_types::RuleEffect;

use crate::folders::ignored_setting::IgnoredSetting;
use crate::layers::MergedSettings;
use crate::layers::keys::{SettingPath, WorkspaceMay};
use crate::layers::read::SettingsLayer;
use crate::layers::value::Value;
use crate::origin::Sourced;
use crate::workspace::strictness::{is_stricter, is_stricter_than_unset, why_never};

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
    let may = match below.get(&path) {
        Some(present) => is_stricter(&path, &sourced.value, present),
        None => is_stricter_than_unset(&path, &sourced.value),
    };
    if may {
        kept.entries.push((path, sourced));
    } else {
        let (why, waits_for_trust) = match why_never(&path) {
            Some(why) => (why, false),
            None => ("only a trusted workspace may relax it", true),
        };
        ignored.push(note(&path, &sourced, why, waits_for_trust));
    }
}
