//! Refuses links in a folder that may be a stranger's: a link could redirect a write to a file of the user,
//! or a read to a private file.

use std::path::Path;

use crate::mistake::ConfigError;

/// Refuses to write `file`, which is below `root`, if it or a folder on the way to it below `root` is a link.
/// Other files belong to the person and may be reached through links.
///
/// # Errors
/// Returns a [`ConfigError`] that names the link.
pub fn refuse_links(root: &Path, file: &Path) -> Result<(), ConfigError> {
    let Ok(below) = file.strip_prefix(root) else {
        return Ok(());
    };
    let mut place = root.to_owned();
    for part in below.components() {
        place.push(part);
        if place.is_symlink() {
            let what = "it is a symbolic link, and AgentX never writes through a folder's links; replace it with a file";
            return Err(ConfigError::file(&place, std::io::Error::other(what)));
        }
    }
    Ok(())
}

/// Returns whether a file or directory of the folder `root` is really outside it, because a link leads there.
pub fn leads_out(root: &Path, file: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path);
    match (real(root), real(file)) {
        (Ok(root), Ok(file)) => !file.starts_with(root),
        // A link to nowhere leads to what somebody puts there.
        _ => file.is_symlink(),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_link_anywhere_below_the_folder_is_refused() {
        let home = tempfile::tempdir().expect("a folder");
        let root = home.path().join("ws");
        std::fs::create_dir_all(root.join("real")).expect("it is made");
        std::os::unix::fs::symlink("/nowhere/file", root.join("real/file")).expect("a link");
        std::os::unix::fs::symlink("real", root.join("linked")).expect("a link");
        std::os::unix::fs::symlink("ws", home.path().join("alias")).expect("a link");
        for (root, file, is_refused) in [
            (&root, "real/new", false),
            (&root, "new/deep", false),
            (&root, "real/file", true),
            (&root, "linked/new", true),
            (&home.path().join("alias"), "real/new", false),
        ] {
            assert_eq!(
                refuse_links(root, &root.join(file)).is_err(),
                is_refused,
                "{file}"
            );
        }
        assert!(refuse_links(&root, Path::new("/elsewhere")).is_ok());
    }
}
