//! A setting of a workspace that does not count, with the reason.

use crate::origin::SettingOrigin;

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
