//! `glob` and `grep`: finding files by name and by content, with the libraries that ripgrep is made of.

mod glob;
mod grep;
mod hits;
mod ignore_files;
mod turns;
mod walk;
mod withheld;

pub(crate) use glob::Glob;
pub(crate) use grep::Grep;
pub(crate) use turns::Turns;
