//! Compares names and commands that are only partly known with the patterns of rules.

pub(super) mod path_overlap;
pub(super) mod pattern_overlap;
