//! `glob` and `grep`: finding files by name and by content, with the libraries that ripgrep is made of.

mod glob;
mod grep;
mod hits;
mod ignore_files;
mod search_permits;
mod walk;
mod withheld;

pub(crate) use glob::GlobTool;
pub(crate) use grep::GrepTool;
pub(crate) use search_permits::SearchPermits;
