//! The tests of this crate as one binary, because each binary links all dependencies.

mod attacks;
mod costs;
mod ctx;
mod edges;
mod failing;
mod handed;
mod library;
mod memory;
mod neighbours;
mod offered;
mod older;
mod replay;
mod values;

mod support;
#[path = "attacks/table.rs"]
mod table;
