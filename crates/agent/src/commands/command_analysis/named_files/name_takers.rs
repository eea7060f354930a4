//! Programs that open files whose names come on standard input, such as `xargs`: whatever another command of
//! the line lists, they open.

use crate::commands::command_analysis::lex::word::Word;
use crate::commands::command_analysis::programs::wrapper_commands::basename;

/// Programs that take names of files from standard input.
const TAKE_NAMES: &[&str] = &["xargs", "parallel", "cpio", "pax", "read", "mapfile", "readarray"];

/// Returns whether a command takes names of files from standard input.
pub(crate) fn takes_names(words: &[Word]) -> bool {
    name_taker(words).is_some()
}

/// The program among the first words of a command that takes names of files from standard input.
pub(crate) fn name_taker(words: &[Word]) -> Option<&str> {
    let mut first = words.iter().take(6).map(|word| basename(&word.text));
    first.find(|name| TAKE_NAMES.contains(name))
}
