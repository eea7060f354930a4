//! The files and folders that a command may act on: by the names in its words, and without a name.

pub(super) mod directory_readers;
pub(super) mod found_names;
pub(super) mod given_values;
pub(super) mod joined_names;
pub(super) mod name_takers;
pub(super) mod names;
pub(super) mod pathspecs;
pub(super) mod whole_folders;
pub(super) mod working_directory;
