//! The files of one workspace at the last look, and what a new look finds changed.
//!
//! Commands may run at the same time. Each change is found by one look, so it is counted once: what the look
//! at the start of a command finds while another one runs belongs to the first of them that ends.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::entry_stamp::EntryStamp;
use super::found_change::{FileState, FoundChange, FoundChanges};
use super::options::CommandRewind;
use super::read_file::{StampedContent, read};
use super::scan::{WorkspaceScan, scan};
use super::store::{ContentStore, KeptFile, KeptFiles};

/// A file system may say of a file that it is this much older than it is.
const TICK: Duration = Duration::from_millis(50);

/// The files of one workspace.
#[derive(Debug)]
pub(super) struct WorkspaceShadow {
    workspace: PathBuf,
    options: CommandRewind,
    store: ContentStore,
    kept: KeptFiles,
    is_open: bool,
    left_out: u64,
    /// When the first of the commands that run began.
    started: SystemTime,
    /// Changes of commands that still run, found by the look of another one.
    pending: FoundChanges,
}

impl WorkspaceShadow {
    pub(super) fn new(workspace: &Path, options: CommandRewind) -> Self {
        Self {
            store: ContentStore::new(&options.directory, workspace),
            workspace: workspace.to_owned(),
            options,
            kept: KeptFiles::default(),
            is_open: false,
            left_out: 0,
            started: UNIX_EPOCH,
            pending: FoundChanges::default(),
        }
    }

    /// Looks at the files before a command. `others` says whether other commands run.
    pub(super) fn begin(&mut self, others: bool) -> io::Result<()> {
        if !self.is_open {
            self.kept = self.store.open()?;
            self.is_open = true;
        }
        if !others {
            self.started = SystemTime::now();
        }
        let found = self.look(others)?;
        if others {
            self.pending.append(found);
        } else {
            self.pending = FoundChanges::default();
        }
        Ok(())
    }

    /// Looks at the files after a command. Returns what has changed.
    pub(super) fn end(&mut self) -> io::Result<FoundChanges> {
        let found = self.look(true)?;
        let mut all = std::mem::take(&mut self.pending);
        all.append(found);
        Ok(all)
    }

    /// The number of files of the workspace that are not kept because of a limit.
    pub(super) fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Compares the files with the last look. `counts` says whether the changes are wanted.
    fn look(&mut self, counts: bool) -> io::Result<FoundChanges> {
        let now = SystemTime::now();
        let scanned = scan(&self.workspace, &self.options)?;
        self.left_out = scanned.left_out;
        let mut found = FoundChanges::default();
        let mut is_changed = false;
        let mut inodes: HashSet<u64> = self.kept.files.values().map(|file| file.inode).collect();
        for (path, stamp) in &scanned.files {
            let before = self.kept.files.get(path);
            if before.is_some_and(|before| before.stamp == Some(*stamp)) {
                continue;
            }
            // It is gone, or cannot be read: the next look tells.
            let Some(StampedContent { bytes, stamp, born }) = read(path, self.options.max_file_bytes) else {
                continue;
            };
            let hash = self.store.put(&bytes)?;
            let is_same = before.is_some_and(|before| before.hash == hash);
            if counts && !is_same {
                let after = FileState {
                    bytes: Some(bytes),
                    mode: stamp.mode,
                };
                let before = match before {
                    Some(before) => Some(self.state(before)),
                    None => self.state_of_unknown(&stamp, born, &inodes),
                };
                found.add(self.change(path, before, Some(after), &scanned));
            }
            let file = KeptFile {
                stamp: stamp.is_settled(now).then_some(stamp),
                mode: stamp.mode,
                inode: stamp.inode,
                hash,
            };
            inodes.insert(file.inode);
            is_changed |= self.kept.files.insert(path.clone(), file.clone()) != Some(file);
        }
        is_changed |= self.take_gone(&scanned, counts, &mut found);
        if self.kept.directories != scanned.directories {
            self.kept.directories = scanned.directories;
            is_changed = true;
        }
        if is_changed {
            self.store.save(&self.kept)?;
        }
        Ok(found)
    }

    /// Takes files from the list that the look has not seen. Those that are still there are ignored by Git
    /// since then, or beyond a limit, and have not been removed.
    fn take_gone(&mut self, scanned: &WorkspaceScan, counts: bool, found: &mut FoundChanges) -> bool {
        let missing = self
            .kept
            .files
            .keys()
            .filter(|path| !scanned.files.contains_key(*path));
        let missing: Vec<String> = missing.cloned().collect();
        for path in &missing {
            let before = self.kept.files.remove(path).map(|before| self.state(&before));
            let is_gone =
                fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
            if counts && is_gone {
                found.add(self.change(path, before, None, scanned));
            }
        }
        !missing.is_empty()
    }

    fn state(&self, file: &KeptFile) -> FileState {
        FileState {
            bytes: self.store.get(&file.hash),
            mode: file.mode,
        }
    }

    /// Returns what was at the place of a file that the list does not have: nothing, if the command made the
    /// file or moved it there. Otherwise it was there before, ignored by Git or beyond a limit, and a rewind
    /// must not remove it: its content is not known. `inodes` are those of the files that the list has, or
    /// had at the last look.
    fn state_of_unknown(
        &self,
        stamp: &EntryStamp,
        born: Option<SystemTime>,
        inodes: &HashSet<u64>,
    ) -> Option<FileState> {
        let is_made = born.is_some_and(|born| born + TICK >= self.started);
        let is_moved = || inodes.contains(&stamp.inode);
        (!is_made && !is_moved()).then_some(FileState {
            bytes: None,
            mode: stamp.mode,
        })
    }

    fn change(
        &self,
        path: &str,
        before: Option<FileState>,
        after: Option<FileState>,
        scanned: &WorkspaceScan,
    ) -> FoundChange {
        let is_new = |directory: &&str| {
            scanned.directories.contains(*directory) && !self.kept.directories.contains(*directory)
        };
        let above = Path::new(path).ancestors().skip(1).filter_map(Path::to_str);
        let mut directories: Vec<String> = match &before {
            Some(_) => Vec::new(),
            None => above.filter(is_new).map(str::to_owned).collect(),
        };
        directories.reverse();
        FoundChange {
            path: path.to_owned(),
            before,
            after,
            directories,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Desk {
        root: tempfile::TempDir,
        shadow: WorkspaceShadow,
    }

    impl Desk {
        fn with(change: impl FnOnce(&mut CommandRewind)) -> Self {
            let root = tempfile::tempdir().unwrap();
            let workspace = fs::canonicalize(root.path()).unwrap().join("ws");
            fs::create_dir(&workspace).unwrap();
            let mut options = CommandRewind::new(root.path().join("shadow"));
            change(&mut options);
            Self {
                shadow: WorkspaceShadow::new(&workspace, options),
                root,
            }
        }

        fn write(&self, name: &str, text: &str) {
            let path = self.shadow.workspace.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        /// Returns the changes of a command as `name: before -> after`.
        fn changes(&mut self, command: impl FnOnce(&Self)) -> Vec<String> {
            self.shadow.begin(false).unwrap();
            command(&*self);
            let found = self.shadow.end().unwrap();
            let text = |state: &Option<FileState>| match state {
                Some(state) => String::from_utf8(state.bytes.clone().unwrap()).unwrap(),
                None => "none".to_owned(),
            };
            let told = |change: &FoundChange| {
                let name = change
                    .path
                    .strip_prefix(self.shadow.workspace.to_str().unwrap())
                    .unwrap();
                format!(
                    "{}: {} -> {}",
                    &name[1..],
                    text(&change.before),
                    text(&change.after)
                )
            };
            found.changes.iter().map(told).collect()
        }
    }

    #[test]
    fn what_a_command_made_changed_and_removed_is_found_with_its_contents() {
        let mut desk = Desk::with(|_| {});
        for (name, text) in [("a", "1"), ("b", "2"), ("c", "3")] {
            desk.write(name, text);
        }
        let found = desk.changes(|desk| {
            desk.write("a", "one");
            desk.write("d/e/f", "4");
            fs::remove_file(desk.shadow.workspace.join("b")).unwrap();
        });
        assert_eq!(found, ["a: 1 -> one", "d/e/f: none -> 4", "b: 2 -> none"]);
        assert!(desk.changes(|_| {}).is_empty());
        // What somebody else does between two commands is none of theirs.
        desk.write("c", "three");
        assert_eq!(desk.changes(|desk| desk.write("c", "drei")), ["c: three -> drei"]);
    }

    #[test]
    fn a_change_of_equal_length_is_found_although_it_comes_at_once() {
        let mut desk = Desk::with(|_| {});
        desk.write("a", "0");
        for number in 1..20 {
            let found = desk.changes(|desk| desk.write("a", &(number % 10).to_string()));
            assert_eq!(found.len(), 1, "{number}");
        }
    }

    /// A rewind would remove what it takes for a file that the command made.
    #[test]
    fn a_file_that_was_there_is_not_taken_for_a_new_one() {
        let mut desk = Desk::with(|options| options.max_file_bytes = 4);
        desk.write(".gitignore", "x");
        desk.write("x", "1");
        desk.write("large", "12345");
        desk.write("old", "2");
        desk.write("saved", "3");
        // So long ago that the command cannot have made them.
        let wait = TICK * 2;
        let made = fs::metadata(desk.shadow.workspace.join("saved"))
            .unwrap()
            .created()
            .unwrap();
        while SystemTime::now() < made + wait {
            std::thread::yield_now();
        }
        desk.shadow.begin(false).unwrap();
        desk.write(".gitignore", "y");
        fs::write(desk.shadow.workspace.join("large"), "1").unwrap();
        let place = |name: &str| desk.shadow.workspace.join(name);
        fs::rename(place("old"), place("new")).unwrap();
        // As editors save: the file before is moved aside, and another one takes its name.
        fs::rename(place("saved"), place("saved~")).unwrap();
        desk.write("saved", "4");
        let found = desk.shadow.end().unwrap();
        let of = |name: &str| {
            found
                .changes
                .iter()
                .find(|change| change.path.ends_with(name))
                .unwrap()
        };
        for name in ["/x", "/large"] {
            let before = of(name).before.as_ref();
            assert!(
                before.is_some_and(|before| before.bytes.is_none()),
                "{name}: {before:?}"
            );
        }
        for name in ["/new", "/saved~"] {
            assert_eq!(of(name).before, None, "{name} was moved there");
        }
    }

    #[test]
    fn directories_that_a_command_made_are_named() {
        let mut desk = Desk::with(|_| {});
        fs::create_dir(desk.shadow.workspace.join("old")).unwrap();
        desk.shadow.begin(false).unwrap();
        desk.write("old/new/deep/file", "x");
        let found = desk.shadow.end().unwrap();
        let root = desk.shadow.workspace.display().to_string();
        let expected = ["/old/new", "/old/new/deep"].map(|name| format!("{root}{name}"));
        assert_eq!(found.changes[0].directories, expected);
    }

    #[test]
    fn limits_and_ignored_files_are_left_out() {
        let mut desk = Desk::with(|options| options.max_file_bytes = 4);
        desk.write(".gitignore", "x");
        desk.write("x", "1");
        desk.write(".git/config", "1");
        let found = desk.changes(|desk| {
            desk.write("x", "2");
            desk.write(".git/config", "2");
            desk.write("large", "12345");
        });
        assert!(found.is_empty(), "{found:?}");
        assert_eq!(desk.shadow.left_out(), 1);
        let mut desk = Desk::with(|options| options.ignored_files = true);
        desk.write(".gitignore", "x");
        desk.write("x", "1");
        assert_eq!(desk.changes(|desk| desk.write("x", "2")), ["x: 1 -> 2"]);
        let mut desk = Desk::with(|options| options.max_files = 2);
        for name in ["a", "b", "c", "d", "e"] {
            desk.write(name, "1");
        }
        assert!(desk.shadow.begin(false).is_err());
    }

    #[test]
    fn commands_that_run_at_once_count_each_change_once() {
        let mut desk = Desk::with(|_| {});
        desk.write("a", "1");
        desk.shadow.begin(false).unwrap();
        desk.write("a", "2");
        desk.shadow.begin(true).unwrap();
        desk.write("b", "3");
        let first = desk.shadow.end().unwrap();
        let second = desk.shadow.end().unwrap();
        assert_eq!((first.changes.len(), second.changes.len()), (2, 0));
    }

    /// Another process knows the files from the list, and reads none whose signs are the same.
    #[test]
    fn an_unchanged_file_is_not_read_again() {
        let mut desk = Desk::with(|_| {});
        desk.write("a", "1");
        let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        let path = desk.shadow.workspace.join("a");
        fs::File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_modified(old)
            .unwrap();
        desk.shadow.begin(false).unwrap();
        // Its change is too fresh to be trusted at the first look, so the stamp is put in by hand.
        let name = path.to_str().unwrap().to_owned();
        let stamp = EntryStamp::of(&fs::symlink_metadata(&path).unwrap());
        let file = KeptFile {
            stamp: Some(stamp),
            mode: stamp.mode,
            inode: stamp.inode,
            hash: "made-up".to_owned(),
        };
        desk.shadow.kept.files.insert(name.clone(), file.clone());
        desk.shadow.store.save(&desk.shadow.kept).unwrap();
        let mut next = WorkspaceShadow::new(&desk.shadow.workspace, desk.shadow.options.clone());
        next.begin(false).unwrap();
        assert_eq!(next.kept.files[&name], file, "it was not read");
        drop(desk.root);
    }
}
