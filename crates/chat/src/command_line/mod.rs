//! Command lines that failed or were refused, in words for people and as objects for programs.

pub mod failure;
pub mod other_programs;
pub mod refused_line;
