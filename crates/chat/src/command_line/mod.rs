//! Command lines: numbers in them, and those that failed or were refused, in words for people and as objects
//! for programs.

pub mod failure;
pub mod numbers;
pub mod other_programs;
pub mod refused_line;
