//! Folders, and the trust of a person in them: a folder's identity, the decisions about it, and the files
//! that its settings and command lines name.

pub(crate) mod command_files;
pub(crate) mod file_of_setting;
pub(crate) mod folder;
pub(crate) mod folder_id;
pub(crate) mod ignored_setting;
pub(crate) mod json_store;
pub(crate) mod named_file;
pub(crate) mod secret_guard;
pub(crate) mod seen_folders;
