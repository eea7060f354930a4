//! The caches of toolchains: those that commands write, those over which they have a layer of their own, and
//! those that are made before the first use. A command in a sandbox cannot make them, because the home
//! directory around them cannot be written: so they are made before it starts, for the programs that are
//! here.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// Below the home directory: caches that commands write. Other projects compile or install from them.
pub(crate) const CACHES: &[&str] = &[
    ".cache/bazel",
    ".cache/ccache",
    ".cache/composer",
    ".cache/coursier",
    ".cache/fontconfig",
    ".cache/go-build",
    ".cache/node-gyp",
    ".cache/pip",
    ".cache/sccache",
    ".cache/typescript",
    ".cache/yarn",
    ".cargo/.global-cache",
    ".cargo/.package-cache",
    ".cargo/.package-cache-mutate",
    ".cargo/git",
    ".cargo/registry",
    ".ccache",
    ".gradle/caches",
    ".ivy2/cache",
    ".m2/repository",
    ".npm/_cacache",
    ".npm/_logs",
    ".nuget/packages",
    ".yarn/berry/cache",
    "go/pkg",
];

/// Below the home directory: caches whose files run elsewhere as they are (`npx`, `uvx`, hooks), or are the
/// same files as those of other projects (hard links of uv, pnpm and bun). What a command writes there goes
/// into a layer that its session alone has, except for parts that [`CACHES`] lists.
pub(crate) const PRIVATE_CACHES: &[&str] = &[
    ".bun/install/cache",
    ".cache/deno",
    ".cache/pnpm",
    ".cache/pre-commit",
    ".cache/uv",
    ".local/share/pnpm/store",
    ".npm",
    ".pnpm-store",
    ".pub-cache",
    ".yarn/berry",
];

/// The directory for such caches in that for temporary files, for commands that cannot have a layer.
pub const OWN_CACHES: &str = ".agentx-caches";

/// Variables that give a toolchain another cache, and the end of the path of its usual one.
#[cfg(target_os = "linux")]
const CACHE_VARIABLES: &[(&str, &str)] = &[
    ("BUN_INSTALL_CACHE_DIR", ".bun/install/cache"),
    ("DENO_DIR", ".cache/deno"),
    ("PRE_COMMIT_HOME", ".cache/pre-commit"),
    ("PUB_CACHE", ".pub-cache"),
    ("UV_CACHE_DIR", ".cache/uv"),
    ("npm_config_store_dir", ".pnpm-store"),
    ("npm_config_store_dir", "pnpm/store"),
];

/// Returns the variables, and their values, by which commands without layers find caches of their own in this
/// directory instead of the `private` ones. `variable` looks a variable up.
#[cfg(target_os = "linux")]
pub(crate) fn own_caches(
    private: &[PathBuf],
    temporary: &Path,
    variable: impl Fn(&str) -> Option<PathBuf>,
) -> Vec<(&'static str, PathBuf)> {
    let replaced = CACHE_VARIABLES.iter().filter(|(name, usual)| {
        let named = variable(name);
        private
            .iter()
            .any(|cache| cache.ends_with(usual) || named.as_ref() == Some(cache))
    });
    let own =
        |(name, _): &(&'static str, &str)| (*name, temporary.join(OWN_CACHES).join(name.to_lowercase()));
    replaced.map(own).collect()
}

/// A program, and below the home directory the caches that it makes.
const FIRST_USE: &[(&str, &[&str])] = &[
    ("cargo", &[".cargo/git", ".cargo/registry"]),
    ("ccache", &[".cache/ccache"]),
    ("go", &[".cache/go-build", "go/pkg"]),
    ("gradle", &[".gradle/caches"]),
    ("mvn", &[".m2/repository"]),
    ("npm", &[".npm/_cacache", ".npm/_logs"]),
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
    ("YARN_CACHE_FOLDER", ""),
    ("npm_config_cache", "_cacache"),
    ("npm_config_cache", "_logs"),
];

/// The variables that name a cache over which a command has a layer of its own.
const PRIVATE_VARIABLES: &[&str] = &[
    "BUN_INSTALL_CACHE_DIR",
    "DENO_DIR",
    "PRE_COMMIT_HOME",
    "PUB_CACHE",
    "UV_CACHE_DIR",
    "npm_config_cache",
    "npm_config_store_dir",
];

/// Caches at unusual places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedCaches {
    /// Those that commands write.
    pub shared: Vec<PathBuf>,
    /// Those over which commands have a layer of their own.
    pub private: Vec<PathBuf>,
}

/// Returns the caches that variables of the environment name. `variable` looks one up.
pub fn caches_in_variables(variable: impl Fn(&str) -> Option<PathBuf>) -> NamedCaches {
    let named = |name: &str| variable(name).filter(|directory| directory.is_absolute());
    let shared = VARIABLES.iter().filter_map(|(name, below)| {
        let directory = named(name)?;
        Some(if below.is_empty() {
            directory
        } else {
            directory.join(below)
        })
    });
    NamedCaches {
        shared: shared.collect(),
        private: PRIVATE_VARIABLES.iter().filter_map(|name| named(name)).collect(),
    }
}

/// The caches of the programs of a person, before each command.
#[derive(Debug, Default)]
pub(crate) struct FirstUse {
    /// The state after the caches were made: as long as it does not change, none has to be made.
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
        for made in [
            ".cargo/registry",
            ".cargo/git",
            ".cargo/.package-cache",
            ".npm/_cacache",
        ] {
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
        assert!(home.join(".npm/_cacache").exists(), "a program is new");
        fs::remove_dir(home.join(".npm/_cacache")).unwrap();
        make();
        assert!(home.join(".npm/_cacache").exists(), "a cache was removed");
    }

    #[test]
    fn a_variable_names_the_cache_or_the_directory_around_it() {
        let found = caches_in_variables(|name| match name {
            "GOPATH" => Some("/srv/go".into()),
            "PIP_CACHE_DIR" => Some("/srv/pip".into()),
            "UV_CACHE_DIR" => Some("relative".into()),
            "npm_config_cache" => Some("/srv/npm".into()),
            _ => None,
        });
        let shared = ["/srv/go/pkg", "/srv/pip", "/srv/npm/_cacache", "/srv/npm/_logs"];
        assert_eq!(found.shared, shared.map(PathBuf::from));
        assert_eq!(found.private, [PathBuf::from("/srv/npm")]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_toolchain_whose_cache_cannot_be_written_gets_another_one() {
        let private = ["/home/ada/.cache/uv", "/srv/deno", "/home/ada/.npm"].map(PathBuf::from);
        let variable = |name: &str| (name == "DENO_DIR").then(|| PathBuf::from("/srv/deno"));
        let own = own_caches(&private, Path::new("/tmp/a"), variable);
        let expected = [
            ("DENO_DIR", PathBuf::from("/tmp/a/.agentx-caches/deno_dir")),
            (
                "UV_CACHE_DIR",
                PathBuf::from("/tmp/a/.agentx-caches/uv_cache_dir"),
            ),
        ];
        assert_eq!(own, expected);
    }

    #[test]
    fn lists_are_sorted_and_share_no_entry() {
        for list in [CACHES, PRIVATE_CACHES] {
            assert!(list.is_sorted());
        }
        assert!(PRIVATE_CACHES.iter().all(|cache| !CACHES.contains(cache)));
    }

    #[test]
    fn the_page_names_each_cache_with_its_access() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/SANDBOX.md");
        let page = fs::read_to_string(page).unwrap();
        for (caches, access) in [(CACHES, "| written |"), (PRIVATE_CACHES, "| layer |")] {
            for cache in caches {
                let name = format!("`~/{cache}`");
                let is_row = |line: &&str| line.starts_with("| `~/") && line.contains(&name);
                let row = page.lines().find(is_row).unwrap_or_default();
                assert!(row.contains(access), "{cache}: {row}");
            }
        }
    }

    #[test]
    fn what_is_made_may_be_written() {
        let all = FIRST_USE.iter().flat_map(|(_, caches)| *caches);
        let of_cargo: Vec<String> = OF_CARGO.iter().map(|name| format!(".cargo/{name}")).collect();
        for cache in all.copied().chain(of_cargo.iter().map(String::as_str)) {
            assert!(
                CACHES.contains(&cache) || PRIVATE_CACHES.contains(&cache),
                "{cache}"
            );
        }
    }
}
