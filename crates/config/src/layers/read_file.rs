//! A file of settings that was read, with its bytes.

use crate::layers::read::SettingsLayer;

/// The settings of a file, and the bytes that say them.
pub(crate) struct ReadFile {
    pub(crate) layer: SettingsLayer,
    pub(crate) bytes: Vec<u8>,
}
