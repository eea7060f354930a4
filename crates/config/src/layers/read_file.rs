//! A file of settings, with the bytes that were read.

use crate::layers::read::SettingsLayer;

/// The settings of a file, and the bytes that say them.
pub(crate) struct ReadFile {
    pub(crate) layer: SettingsLayer,
    pub(crate) bytes: Vec<u8>,
}
