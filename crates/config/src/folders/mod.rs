//! Folders, and the trust of a person in them: a folder's identity, the decisions about it, its instructions and
//! settings, and the files that these name.

pub(crate) mod command_files;
pub(crate) mod directory_listing;
pub(crate) mod environment_context;
pub(crate) mod file_of_setting;
pub(crate) mod folder;
pub(crate) mod folder_id;
pub(crate) mod folder_instructions;
pub(crate) mod guarded_files;
pub(crate) mod ignored_setting;
pub(crate) mod json_store;
pub(crate) mod named_file;
pub(crate) mod personal_settings;
pub(crate) mod secret_guard;
pub(crate) mod seen_folders;
pub(crate) mod strictness;
pub(crate) mod symlinks;
pub(crate) mod trust;
pub(crate) mod trust_variable;
pub(crate) mod workspace;
pub(crate) mod workspace_effects;
pub(crate) mod workspace_models;
