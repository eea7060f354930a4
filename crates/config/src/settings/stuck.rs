//! Reads the settings of the stuck detector.

use agentx_types::{StuckMode, StuckSettings};

use crate::layers::getter::SettingsGetter;

pub(crate) fn settings(get: &SettingsGetter<'_>) -> StuckSettings {
    let usual = StuckSettings::default();
    let count = |key: &str, usual: u32| {
        let given = get.count(key);
        given.map_or(usual, |count| u32::try_from(count).unwrap_or(u32::MAX))
    };
    StuckSettings {
        mode: match get.text("stuck.mode").as_deref() {
            Some("off") => StuckMode::Off,
            Some("v0") => StuckMode::V0,
            _ => StuckMode::Calls,
        },
        nudge_after: count("stuck.nudge_after", usual.nudge_after),
        stop_after: count("stuck.stop_after", usual.stop_after),
        nudge_after_errors: count("stuck.nudge_after_errors", usual.nudge_after_errors),
        stop_after_errors: count("stuck.stop_after_errors", usual.stop_after_errors),
    }
}
