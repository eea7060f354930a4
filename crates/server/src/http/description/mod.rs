//! How routes describe themselves: a row of the table, and what its handler takes and returns.

pub(crate) mod describe;
pub(crate) mod route;
