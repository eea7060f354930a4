//! The tests of this crate as one binary, because each one links the whole of what it uses.

mod data;
mod foreign;
mod garbage;
mod library;
mod mistakes;
mod schema;
mod scripts;
mod together;

mod support;
