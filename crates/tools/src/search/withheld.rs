//! Files that a search leaves out, because a rule asks about them or denies them.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use agentx_runtime::PlaceRules;

use crate::workspace::Scope;

/// The matches that one search withholds. Threads share it.
pub(crate) struct WithheldMatches {
    rules: Option<PlaceRules>,
    /// The real path of the workspace, and its name in rules.
    root: PathBuf,
    named: PathBuf,
    count: AtomicUsize,
}

impl WithheldMatches {
    /// Returns the withheld files of a search that begins at the real path `begins`.
    pub(crate) fn of(scope: &Scope, begins: &Path) -> Self {
        let (root, named) = (scope.real_root(), scope.named_root().to_owned());
        Self {
            rules: scope.place_rules(&as_named(begins, &root, &named)),
            root,
            named,
            count: AtomicUsize::new(0),
        }
    }

    /// Returns whether this file is left out. It counts then.
    pub(crate) fn takes(&self, real: &Path) -> bool {
        let Some(rules) = &self.rules else { return false };
        let taken = rules.cover(&as_named(real, &self.root, &self.named).to_string_lossy());
        if taken {
            self.count.fetch_add(1, Ordering::Relaxed);
        }
        taken
    }

    /// Returns the note for the model; empty if nothing was left out.
    pub(crate) fn note(&self) -> String {
        match self.count.load(Ordering::Relaxed) {
            0 => String::new(),
            1 => "[1 file left out: it may hold secrets, or a rule asks about it or denies it; name it to ask for it]\n"
                .to_owned(),
            count => format!(
                "[{count} files left out: they may hold secrets, or rules ask about them or deny them; name one to ask for it]\n"
            ),
        }
    }
}

/// Returns a real path as rules name it: the workspace itself may be reached through a link.
fn as_named(real: &Path, root: &Path, named: &Path) -> PathBuf {
    match real.strip_prefix(root) {
        Ok(inside) if inside.as_os_str().is_empty() => named.to_owned(),
        Ok(inside) => named.join(inside),
        Err(_) => real.to_owned(),
    }
}
