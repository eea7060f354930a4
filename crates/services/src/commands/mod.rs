//! The one list of commands: a chat shows it as `/help`, a server gives it to pages as data.

pub(crate) mod definition;
pub(crate) mod handling;
pub(crate) mod table;
