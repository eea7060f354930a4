//! The names of the commands of a chat. They stand below the chat, because checks of files with commands need
//! them, too.

/// The names of all commands, those that are used most first.
pub use agentx::services::COMMAND_NAMES as NAMES;
