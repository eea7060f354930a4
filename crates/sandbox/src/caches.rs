//! Caches that a toolchain makes when it is used for the first time. A command in a sandbox cannot make them,
//! because the home directory around them cannot be written: so they are made before it starts, for the
//! programs that are here.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// A program, and below the home directory the caches that it makes.
const FIRST_USE: &[(&str, &[&str])] = &[
    ("cargo", &[".cargo/git", ".cargo/registry"]),
    ("ccache", &[".cache/ccache"]),
    ("go", &[".cache/go-build", "go/pkg"]),
    ("gradle", &[".gradle/caches"]),
    ("mvn", &[".m2/repository"]),
    ("npm", &[".npm"]),
    ("python3", &[".cache/pip"]),
    ("sccache", &[".cache/sccache"]),
    ("uv", &[".cache/uv"]),
    ("yarn", &[".cache/yarn"]),
];

/// Files beside the registry that Cargo locks or writes; it makes them empty, too.
const OF_CARGO: &[&str] = &[".global-cache", ".package-cache", ".package-cache-mutate"];

/// The variables that say where a toolchain has its cache, and the part below it that a command may write.
const VARIABLES: &[(&str, &str)] = &[
    ("CCACHE_DIR", ""),
    ("GOCACHE", ""),
    ("GOMODCACHE", ""),
    ("GOPATH", "pkg"),
    ("GRADLE_USER_HOME", "caches"),
    ("PIP_CACHE_DIR", ""),
    ("SCCACHE_DIR", ""),
    ("UV_CACHE_DIR", ""),
    ("YARN_CACHE_FOLDER", ""),
    ("npm_config_cache", ""),
];

/// Returns the caches that variables of the environment name. `variable` looks one up.
pub fn caches_in_variables(variable: impl Fn(&str) -> Option<PathBuf>) -> Vec<PathBuf> {
    let named = VARIABLES.iter().filter_map(|(name, below)| {
        let directory = variable(name).filter(|directory| directory.is_absolute())?;
        Some(if below.is_empty() {
            directory
        } else {
            directory.join(below)
        })
    });
    named.collect()
}

/// The caches of the programs of a person, before each command.
#[derive(Debug, Default)]
pub(crate) struct FirstUse {
    /// What was there after the caches were made: as long as it does not change, none has to be made.
    seen: Mutex<Option<FirstUseState>>,
}

/// The missing caches, and when the directories of programs last changed: a program that is installed changes
/// one.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FirstUseState {
    missing: Vec<PathBuf>,
    changed: Vec<Option<SystemTime>>,
}

impl FirstUse {
    /// Makes the caches that are missing, of the programs that are found in one of the `programs`
    /// directories. One that cannot be made is left out: the program then works without a cache, or says
    /// what it misses.
    pub(crate) fn make_caches(&self, home: &Path, cargo_home: Option<&Path>, programs: &[PathBuf]) {
        let state = || FirstUseState {
            missing: missing(home, cargo_home).map(|(_, cache)| cache).collect(),
            changed: programs
                .iter()
                .map(|path| fs::metadata(path).ok()?.modified().ok())
                .collect(),
        };
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if *seen != Some(state()) {
            make_caches(home, cargo_home, programs);
            *seen = Some(state());
        }
    }
}

/// Returns the missing caches of all programs, each with its program.
fn missing<'a>(
    home: &'a Path,
    cargo_home: Option<&'a Path>,
) -> impl Iterator<Item = (&'static str, PathBuf)> + 'a {
    let of_home = move |cache: &str| match (cargo_home, cache.strip_prefix(".cargo/")) {
        (Some(cargo), Some(below)) => cargo.join(below),
        _ => home.join(cache),
    };
    let each = |(program, caches): &(&'static str, &'static [&'static str])| {
        let (program, caches) = (*program, *caches);
        caches.iter().map(move |cache| (program, *cache))
    };
    let all = FIRST_USE.iter().flat_map(each);
    all.map(move |(program, cache)| (program, of_home(cache)))
        .filter(|(_, cache)| is_missing(cache))
}

fn make_caches(home: &Path, cargo_home: Option<&Path>, programs: &[PathBuf]) {
    let is_here = |program: &str| programs.iter().any(|directory| directory.join(program).is_file());
    let mut found = BTreeMap::new();
    for (program, cache) in missing(home, cargo_home) {
        if *found.entry(program).or_insert_with(|| is_here(program)) {
            let _ = fs::create_dir_all(cache);
        }
    }
    let cargo = cargo_home.map_or_else(|| home.join(".cargo"), Path::to_owned);
    if cargo.join("registry").is_dir() {
        for file in OF_CARGO.iter().map(|name| cargo.join(name)).filter(is_missing) {
            let _ = fs::File::create_new(file);
        }
    }
}

/// Returns whether nothing is there, not even a link that leads nowhere.
fn is_missing(path: &PathBuf) -> bool {
    fs::symlink_metadata(path).is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_are_made_for_the_programs_that_are_here() {
        let root = tempfile::tempdir().unwrap();
        let (home, bin) = (root.path().join("home"), root.path().join("bin"));
        for directory in [&home, &bin] {
            fs::create_dir(directory).unwrap();
        }
        for program in ["cargo", "npm"] {
            fs::write(bin.join(program), "").unwrap();
        }
        make_caches(&home, None, std::slice::from_ref(&bin));
        for made in [".cargo/registry", ".cargo/git", ".cargo/.package-cache", ".npm"] {
            assert!(home.join(made).exists(), "{made}");
        }
        for program in [".m2", "go", ".cache"] {
            assert!(!home.join(program).exists(), "{program}");
        }
        let cargo = root.path().join("elsewhere");
        make_caches(&home, Some(&cargo), std::slice::from_ref(&bin));
        assert!(cargo.join("registry").is_dir() && cargo.join(".package-cache").is_file());
    }

    #[test]
    fn a_program_that_is_installed_later_gets_its_cache_then() {
        let root = tempfile::tempdir().unwrap();
        let (home, bin) = (root.path().join("home"), root.path().join("bin"));
        for directory in [&home, &bin] {
            fs::create_dir(directory).unwrap();
        }
        let first_use = FirstUse::default();
        let make = || first_use.make_caches(&home, None, std::slice::from_ref(&bin));
        make();
        assert_eq!(fs::read_dir(&home).unwrap().count(), 0);
        fs::write(bin.join("npm"), "").unwrap();
        let later = SystemTime::now() + std::time::Duration::from_secs(5);
        fs::File::open(&bin).unwrap().set_modified(later).unwrap();
        make();
        assert!(home.join(".npm").exists(), "a program is new");
        fs::remove_dir(home.join(".npm")).unwrap();
        make();
        assert!(home.join(".npm").exists(), "a cache was removed");
    }

    #[test]
    fn a_variable_names_the_cache_or_the_directory_around_it() {
        let found = caches_in_variables(|name| match name {
            "GOPATH" => Some("/srv/go".into()),
            "PIP_CACHE_DIR" => Some("/srv/pip".into()),
            "UV_CACHE_DIR" => Some("relative".into()),
            _ => None,
        });
        assert_eq!(found, [PathBuf::from("/srv/go/pkg"), "/srv/pip".into()]);
    }

    #[test]
    fn what_is_made_may_be_written() {
        let all = FIRST_USE.iter().flat_map(|(_, caches)| *caches);
        let of_cargo: Vec<String> = OF_CARGO.iter().map(|name| format!(".cargo/{name}")).collect();
        for cache in all.copied().chain(of_cargo.iter().map(String::as_str)) {
            assert!(crate::profile::CACHES.contains(&cache), "{cache}");
        }
    }
}
