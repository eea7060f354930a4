//! What the tests of this program share.

pub(crate) mod terminal;
