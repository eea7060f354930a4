//! Command lines: which commands one may run, and how severe each is. Rules about calls are decided by it.

pub mod build_patterns;
pub mod command_analysis;
pub mod command_split;
pub(crate) mod long_options;
pub(crate) mod own_program;
pub mod question_grade;
pub mod reading_commands;
pub mod recursive_programs;
pub(crate) mod severity;
