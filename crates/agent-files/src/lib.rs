//! Agents and tools described in files.

mod check;
pub mod definition;
mod files;
pub mod jq;
mod json;
mod luau;
mod mistake;
mod params;
mod read;
mod rules;
mod scalar;
mod shape;
mod source;
mod tables;

pub use files::{Disk, FileFault, Files, Memory};
pub use mistake::Mistake;
pub use read::{parse_agent, parse_generator, parse_layer, parse_message, parse_rule, parse_state, parse_tool};
pub use shape::RefKind;
