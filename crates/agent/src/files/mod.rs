//! Files that rules name, and those that are guarded without a rule: secrets, folders of the system, and
//! files that programs run by themselves.

pub mod auto_run_files;
mod auto_run_since_9;
pub mod closed_files;
pub(crate) mod home_paths;
pub(crate) mod kept_guard;
pub(crate) mod own_names;
pub(crate) mod path_pattern;
pub(crate) mod prepared_guard;
pub(crate) mod secret_files;
mod sorted_patterns;
pub(crate) mod special_files;
pub(crate) mod system_folders;
