//! Finds files that programs run by themselves, among the files that a command writes: `cp x
//! .git/hooks/pre-commit`.
//!
//! A tool that takes a path needs a rule for exactly such a file ([`crate::files::auto_run_files`]); this
//! module requires the same of a command line: a rule with a star, or without an argument, allows no line
//! that names such a file to write it, also behind `>`.

use agentx_types::since;

use super::CallSubject;
use crate::commands::command_analysis::read_within;
use crate::files::auto_run_files::{hides_a_dot, is_guarded_word_as, is_instructions_as};

impl CallSubject<'_> {
    /// The first file that programs run by themselves and that the line writes.
    pub(super) fn written_file(&self) -> Option<&str> {
        if self.version < since::GUARDED_FILES_ARE_NAMED {
            return None;
        }
        let mut written = self.reading().files_written.iter().map(String::as_str);
        written.find(|path| self.is_run(path))
    }

    /// The first file that programs run by themselves, that the command writes and that the pattern does not
    /// name.
    pub(super) fn unnamed_written_file(&self, pattern: &str, command: &str) -> Option<String> {
        if self.version < since::WRITTEN_FILES_ARE_NAMED {
            return None;
        }
        let reading = read_within(self.reading(), command, self.version);
        let mut written = reading.files_written.into_iter();
        written.find(|path| self.is_run(path) && !pattern.contains(path.as_str()))
    }

    /// Returns whether programs run this file by themselves, or may do so, because its name is not known.
    fn is_run(&self, path: &str) -> bool {
        is_guarded_word_as(path, self.version) || is_instructions_as(path, self.version) || hides_a_dot(path)
    }
}
