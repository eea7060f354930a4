//! Programs that find links by themselves, below a folder that a command line names: `zip -r`, `grep -R`, `cp
//! -r`.
//!
//! The tool that runs a command learns from this which folders it has to search for links before it runs the
//! command (`linked`). The manuals say which programs follow links: GNU coreutils
//! (<https://www.gnu.org/software/coreutils/manual/html_node/cp-invocation.html>), tar
//! (<https://www.gnu.org/software/tar/manual/html_node/dereference.html>), grep, findutils and diffutils,
//! rsync, zip and scp.

/// The way in which a program walks through folders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FolderWalk {
    /// Whether it descends into subfolders.
    pub deep: bool,
    /// Whether it reads the targets of links. If not, it may only write through a link in its destination.
    pub follows: bool,
}

impl FolderWalk {
    /// A walk through all folders that reads the targets of links.
    const FOLLOWS: Self = Self {
        deep: true,
        follows: true,
    };

    /// A walk with the effects of both.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            deep: self.deep || other.deep,
            follows: self.follows || other.follows,
        }
    }
}

/// The walk of this command; `None` if it does not walk, or does not follow links.
///
/// ```
/// use agentx_agent::recursive_programs::walk_of;
/// assert!(walk_of("zip -qr out.zip src").is_some_and(|walk| walk.follows));
/// assert!(walk_of("zip -ry out.zip src").is_none());
/// assert!(walk_of("cp -r src other").is_some_and(|walk| walk.deep && !walk.follows));
/// assert!(walk_of("grep -r x src").is_none());
/// ```
pub fn walk_of(command: &str) -> Option<FolderWalk> {
    let mut words = command.split_whitespace();
    let program = words.next()?.rsplit('/').next()?;
    let words: Vec<&str> = words.collect();
    let long = |names: &[&str]| words.iter().any(|word| names.contains(word));
    let short = |letters: &str| {
        let clusters = words.iter().filter_map(|word| word.strip_prefix('-'));
        clusters
            .filter(|rest| !rest.starts_with('-'))
            .any(|rest| rest.contains(|c| letters.contains(c)))
    };
    // `tar chf x.tar src`
    let bundled = |letter: char| {
        words
            .first()
            .is_some_and(|word| !word.starts_with('-') && word.contains(letter))
    };
    let follows = match program {
        "cp" | "install" => {
            let deep = short("rRa") || long(&["--recursive", "--archive"]);
            let follows = deep && (short("L") || long(&["--dereference"]));
            return Some(FolderWalk { deep, follows });
        }
        "zip" => (short("r") || long(&["--recurse-paths"])) && !(short("y") || long(&["--symlinks"])),
        "7z" | "7za" | "7zr" => words.first() == Some(&"a") && !long(&["-snl"]),
        "scp" => short("r"),
        "tar" | "bsdtar" => short("hL") || bundled('h') || long(&["--dereference"]),
        "rsync" => short("Lk") || long(&["--copy-links", "--copy-dirlinks", "--copy-unsafe-links"]),
        "grep" | "egrep" | "fgrep" => short("R") || long(&["--dereference-recursive"]),
        "rg" | "fd" | "fdfind" => short("L") || long(&["--follow"]),
        "find" => long(&["-L", "-follow"]),
        "diff" => (short("r") || long(&["--recursive"])) && !long(&["--no-dereference"]),
        _ => false,
    };
    follows.then_some(FolderWalk::FOLLOWS)
}
