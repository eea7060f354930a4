//! Files of the folder that a command in Git's settings names: `sh tools/clean.sh`. The command stays the
//! same when such a file changes, so the file is a part of what is accepted. Commands that the file itself
//! runs are not checked.

use std::path::Path;

use super::{MAX_BYTES, readable};
use crate::trust::digest;

/// The most words of a command that are looked at.
const MAX_WORDS: usize = 100;

/// The files below `top` that words of a command name, each with a hash of what is in it. Git runs commands
/// of its settings in the top folder of the working tree.
pub(super) fn named_in(top: &Path, command: &str) -> Vec<(String, String)> {
    let is_between = |c: char| c.is_whitespace() || "\"'`;|&()<>{}=,!".contains(c);
    let words = command.split(is_between);
    let named = words.filter(|word| !word.is_empty()).take(MAX_WORDS);
    named
        .filter_map(|word| {
            let path = top.join(word);
            // An absolute path leads to the person's own programs, unless it is one of this folder.
            let is_file = path.starts_with(top) && path.is_file();
            let hash = || match readable(&path, MAX_BYTES) {
                Ok(bytes) => digest(&bytes.unwrap_or_default()),
                Err(why) => why,
            };
            is_file.then(|| (word.to_owned(), hash()))
        })
        .collect()
}
