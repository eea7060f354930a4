//! The keys of the files as data, and the kinds of files. The reader, the messages and the schemas for
//! editors are made from them, so that they agree.

pub(crate) mod file_kind;
pub(crate) mod key_tables;
// A table is easier to read in columns.
#[rustfmt::skip]
pub(crate) mod tables;
