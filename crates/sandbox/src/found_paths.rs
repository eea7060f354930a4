//! The existing paths of a policy, resolved without links that a command could have made.
//!
//! A command can create a link in any directory that it may write. If such a link were part of a path of the
//! policy, the command could choose what the next command reaches, for example by replacing `.venv/bin` in
//! `PATH` with a link to the home directory. So a path is left out if a link in a writable directory leads
//! out of all writable directories.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::SymbolicLink;

/// The most links on the way to one path, as in the kernel.
const MOST_LINKS: usize = 40;

/// Paths that are there, without symbolic links, each once.
#[derive(Default)]
pub(crate) struct FoundPaths {
    pub(crate) links: Vec<SymbolicLink>,
    places: Places,
}

/// The places on the ways to paths. Each is looked at once, because most paths of a policy begin with the
/// same names, and a policy is made for each command.
#[derive(Default)]
struct Places(HashMap<PathBuf, FoundPlace>);

/// The kind of file at a place.
#[derive(Clone)]
enum FoundPlace {
    Nothing,
    Link(PathBuf),
    Other,
}

impl Places {
    /// Returns the longest beginning of a path that was looked at and has no link in it.
    fn known_part_of<'p>(&self, path: &'p Path) -> &'p Path {
        let is_plain = |part: &&Path| matches!(self.0.get(*part), Some(FoundPlace::Other));
        path.ancestors().skip(1).find(is_plain).unwrap_or(Path::new("/"))
    }

    fn at(&mut self, path: &Path) -> FoundPlace {
        if let Some(place) = self.0.get(path) {
            return place.clone();
        }
        let place = match fs::symlink_metadata(path) {
            Err(_) => FoundPlace::Nothing,
            Ok(about) if about.is_symlink() => {
                fs::read_link(path).map_or(FoundPlace::Nothing, FoundPlace::Link)
            }
            Ok(_) => FoundPlace::Other,
        };
        self.0.insert(path.to_owned(), place.clone());
        place
    }
}

impl FoundPaths {
    /// Returns where these paths lead, except for those that a link in one of the `writable` directories
    /// leads out of `inside`.
    pub(crate) fn all(
        &mut self,
        paths: Vec<PathBuf>,
        writable: &[PathBuf],
        inside: &[PathBuf],
    ) -> Vec<PathBuf> {
        let mut seen = BTreeSet::new();
        let mut found = Vec::new();
        for path in paths {
            let Some(way) = Way::to(&path, &mut self.places) else {
                continue;
            };
            let real = way.end.clone();
            if way.is_led_by(writable) && !lies_in(&real, inside) {
                continue;
            }
            if real != path {
                self.links.push(SymbolicLink {
                    at: path,
                    to: real.clone(),
                });
            }
            if seen.insert(real.clone()) {
                found.push(real);
            }
        }
        found
    }

    /// Returns where the paths lead that may be written: no link in one of them, or in one of the `places`,
    /// leads to another.
    pub(crate) fn all_writable(&mut self, paths: Vec<PathBuf>, places: &[PathBuf]) -> Vec<PathBuf> {
        let places_on_ways = &mut self.places;
        let ways = paths.iter().filter_map(|path| Way::to(path, places_on_ways));
        let ends = ways.map(|way| way.end);
        let writable: Vec<PathBuf> = ends.chain(places.iter().cloned()).collect();
        self.all(paths, &writable, places)
    }
}

/// Returns whether the path is one of the directories or below one.
pub(crate) fn lies_in(path: &Path, directories: &[PathBuf]) -> bool {
    directories.iter().any(|directory| path.starts_with(directory))
}

/// The way to a path: the links on it, each at its real place, and its end.
struct Way {
    links: Vec<PathBuf>,
    end: PathBuf,
}

impl Way {
    /// Follows a path. `None` if it is not absolute, not there, or does not end.
    fn to(path: &Path, places: &mut Places) -> Option<Self> {
        if !path.is_absolute() {
            return None;
        }
        let known = places.known_part_of(path);
        let mut way = Self {
            links: Vec::new(),
            end: known.to_owned(),
        };
        let mut rest = names(path.strip_prefix(known).ok()?);
        while let Some(name) = rest.pop_front() {
            if name == ".." {
                way.end.pop();
                continue;
            }
            let next = way.end.join(&name);
            let target = match places.at(&next) {
                FoundPlace::Nothing => return None,
                FoundPlace::Other => {
                    way.end = next;
                    continue;
                }
                FoundPlace::Link(target) => target,
            };
            way.links.push(next);
            if way.links.len() > MOST_LINKS {
                return None;
            }
            if target.is_absolute() {
                way.end = PathBuf::from("/");
            }
            let mut behind = names(&target);
            behind.append(&mut rest);
            rest = behind;
        }
        Some(way)
    }

    fn is_led_by(&self, writable: &[PathBuf]) -> bool {
        self.links.iter().any(|link| lies_in(link, writable))
    }
}

/// The names in a path; `..` stays.
fn names(path: &Path) -> VecDeque<OsString> {
    let name = |part: Component<'_>| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    };
    path.components().filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_that_a_command_could_make_leads_nowhere_else() {
        let root = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(root.path()).unwrap();
        for name in ["work/real", "home/bin", "trusted"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        let work = [root.join("work")];
        for (link, to) in [
            ("work/planted", root.join("home")),
            ("work/climbs", "../home".into()),
            ("work/within", "real".into()),
            ("trusted/there", root.join("home/bin")),
            ("trusted/chain", root.join("work/planted")),
            ("work/round", "round".into()),
        ] {
            symlink(to, root.join(link)).unwrap();
        }
        for (path, leads_to) in [
            ("work/real", Some("work/real")),
            ("work/within", Some("work/real")),
            ("trusted/there", Some("home/bin")),
            ("home/bin/../bin", Some("home/bin")),
            ("work/planted", None),
            ("work/planted/bin", None),
            ("work/climbs", None),
            ("trusted/chain", None),
            ("work/round", None),
            ("work/gone", None),
        ] {
            let found = FoundPaths::default().all(vec![root.join(path)], &work, &work);
            let expected: Vec<PathBuf> = leads_to.iter().map(|name| root.join(name)).collect();
            assert_eq!(found, expected, "{path}");
        }
    }

    #[test]
    fn what_may_be_written_does_not_choose_what_may_be_written() {
        let root = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(root.path()).unwrap();
        for name in ["work", "cache", "bin"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        symlink(root.join("bin"), root.join("work/registry")).unwrap();
        symlink(root.join("bin"), root.join("cache/git")).unwrap();
        let wanted = ["cache", "cache/git", "work/registry"].map(|name| root.join(name));
        let found = FoundPaths::default().all_writable(wanted.into(), &[root.join("work")]);
        assert_eq!(found, [root.join("cache")]);
    }
}
