//! Files that AgentX keeps for itself: configuration, keys, logins, lists. Every crate that keeps such a file
//! writes it through this one, so all of them are replaced, locked and closed to other users in the same way.
//!
//! | to | call |
//! | --- | --- |
//! | replace a file, so that a reader sees the old content or the new one | [`replace`] |
//! | read, change and replace a file while no other process does | [`FileLock`], then [`replace_locked`] |
//! | delete a file for good, also what a killed writer left of it | [`FileLock`], then [`remove_leftovers`] |
//! | find what killed writers left of a file, or in a directory | [`leftovers`], [`leftovers_in`] |
//! | create a file or a directory for its owner alone | [`private_options`], [`create_private`], [`make_private_directory`] |
//! | make the data directory, or take the access to an existing one from other users | [`make_own_directory`] |
//! | read a file with a key or a token, unless others have access to it or own it | [`open_secret`] |
//! | find whether a file or a directory belongs to another user | [`other_owner`], [`foreign_owner`] |
//! | know which server serves a data directory | [`ServingNote`] |
//! | take the access to an existing file from other users | [`close_to_others`], [`close_database_to_others`] |
//!
//! Files of a *person's project* are changed by `agentx-tools` (`temporary`): they keep their owner and
//! group, may be reached only through an open directory, and every tool ignores the names of their temporary
//! files.

mod lock;
mod own_directory;
mod owner;
mod private;
mod replace;
mod secret_file;
mod serving;

pub use lock::FileLock;
pub use own_directory::make_own_directory;
pub use owner::{foreign_owner, other_owner};
pub use private::{
    close_database_to_others, close_to_others, create_private, make_private_directory, private_options,
};
pub use replace::{
    Leftover, ReplaceOptions, leftovers, leftovers_in, remove_leftovers, replace, replace_locked,
};
pub use secret_file::{SecretFileError, open_secret};
pub use serving::ServingNote;
