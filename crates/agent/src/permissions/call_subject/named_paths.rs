//! Compares the paths that a call names with the path of a rule. The person's home directory counts in every
//! form in which it may be written.

use agentx_types::since;

use super::CallSubject;
use crate::commands::command_analysis::PathOverlap;
use crate::files::home_paths::{known_homes, path_forms, pattern_forms};
use crate::files::path_pattern::{glob_meets, is_named_by};
use crate::pattern::{fits_path, normalize};

impl CallSubject<'_> {
    /// The home directories of the person, as far as the configuration names them.
    pub(super) fn homes(&self) -> &[String] {
        known_homes(self.guard, self.version)
    }

    /// Returns whether a path that the call names, or that is in its command line, fits.
    pub(super) fn may_name(&self, pattern: &str, base: &str) -> bool {
        let (homes, reading) = (self.homes(), self.reading());
        pattern_forms(pattern, homes).any(|pattern| {
            let named = self.path.iter().chain(&reading.paths).chain(self.typed_text());
            let mut named = named.flat_map(|path| path_forms(path, homes));
            let mut globs = reading.globs.iter().flat_map(|name| path_forms(name, homes));
            named.any(|path| is_named_by(&pattern, &path, self.workspace, base))
                || globs.any(|name| glob_meets(&pattern, &name, self.workspace, base) == PathOverlap::Named)
        })
    }

    /// Returns whether the pattern of a rule that allows fits the path that the call names. `~` means only
    /// the person's own home here, and itself.
    pub(super) fn has_path(&self, pattern: &str, base: &str) -> bool {
        let homes = self.homes();
        let fits = |pattern: &str, path: &str| {
            let is_of_home =
                self.version >= since::HOMES_ARE_KNOWN && pattern.starts_with("~/") && path.starts_with("~/");
            fits_path(pattern, path, base)
                || (is_of_home && fits_path(&format!("/{pattern}"), &normalize("/", path), base))
        };
        let paths = || self.path.iter().flat_map(|path| path_forms(path, homes));
        pattern_forms(pattern, homes).any(|pattern| paths().any(|path| fits(&pattern, &path)))
    }
}
