//! Descriptions of routes: a row of the table, with the inputs and outputs of its handler.

pub(crate) mod describe;
pub(crate) mod route;
