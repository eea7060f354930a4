//! The files that everyday work needs: the system, toolchains and their caches.

use std::fs;
use std::path::{Path, PathBuf};

use crate::caches::{CACHES, FirstUse, NamedCaches, PRIVATE_CACHES};
use crate::found_paths::{FoundPaths, lies_in};
use crate::repository::repository;
use crate::repository_around::repository_around;
use crate::secrets::{hidden, redacted};
use crate::tool_settings::{TOOL_SETTINGS, has_no_password};
use crate::{
    HostPattern, SandboxError, SandboxLimits, SandboxNetwork, SandboxPaths, SandboxPolicy, SandboxStep,
};

/// Read and executed.
const SYSTEM: &[&str] = &[
    "/bin",
    "/etc",
    "/home/linuxbrew/.linuxbrew",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix",
    "/opt",
    "/proc",
    "/run/systemd/resolve",
    "/sbin",
    "/snap",
    "/sys/devices",
    "/sys/fs/cgroup",
    "/sys/kernel/mm/transparent_hugepage",
    "/usr",
    "/var/lib/apt/lists",
    "/var/lib/dpkg",
    "/var/lib/pacman",
    "/var/lib/rpm",
];

/// Below the home directory: read and executed.
const TOOLCHAINS: &[&str] = &[
    ".asdf",
    ".bun",
    ".cabal",
    ".cargo",
    ".conda",
    ".config/fd",
    ".config/git",
    ".deno",
    ".gem",
    ".ghcup",
    ".gitconfig",
    ".gitignore",
    ".gitignore_global",
    ".gradle",
    ".julia",
    ".local/bin",
    ".local/lib",
    ".local/share/mise",
    ".local/share/pipx",
    ".local/share/pnpm",
    ".local/share/uv",
    ".m2",
    ".npm-global",
    ".nvm",
    ".opam",
    ".pyenv",
    ".rbenv",
    ".ripgreprc",
    ".rustup",
    ".sdkman",
    ".volta",
    "anaconda3",
    "go",
    "miniconda3",
];

/// Variables through which a command would reach a daemon that acts for the person.
const DAEMONS: &[&str] = &[
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "DOCKER_HOST",
    "GNOME_KEYRING_CONTROL",
    "GPG_AGENT_INFO",
    "SSH_AGENT_PID",
    "SSH_AUTH_SOCK",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "XDG_RUNTIME_DIR",
];

/// Returns the variables that neither a command in a sandbox gets nor its helper: in the step `namespace`, a
/// helper is the first process that the command sees.
pub fn hidden_variables() -> &'static [&'static str] {
    DAEMONS
}

/// The access that a person's settings grant to all commands.
#[derive(Clone, Debug, Default)]
pub struct SandboxProfile {
    /// The home directory of the person; without one, no toolchain below it is let in.
    pub home: Option<PathBuf>,
    /// The home directory of Cargo, if it is not `.cargo` of `home`.
    pub cargo_home: Option<PathBuf>,
    /// The home directory of rustup, if it is not `.rustup` of `home`.
    pub rustup_home: Option<PathBuf>,
    /// The directories in which programs are looked up: they can be read, and `../lib` beside each.
    pub program_directories: Vec<PathBuf>,
    /// Caches at unusual places: see [`caches_in_variables`](crate::caches_in_variables).
    pub caches: NamedCaches,
    /// More files and directories that can be read.
    pub read: Vec<PathBuf>,
    /// More files and directories that can be written.
    pub write: Vec<PathBuf>,
    /// More that is never reached: the program's own data and configuration.
    pub hidden: Vec<PathBuf>,
    /// Files that run outside of a sandbox by the hash that a person accepted, such as the script of a
    /// server. In the step `namespace`, commands do not change those in their workspace: between a look at
    /// such a file and its start, they could put another one in its place. The first 64 count.
    pub programs: Vec<PathBuf>,
    /// The network of commands.
    pub network: SandboxNetwork,
    /// The hosts that commands reach through the proxy, if the network is one by proxy.
    pub hosts: Vec<HostPattern>,
    /// The memory of a command and all that it starts, in bytes.
    pub memory_bytes: Option<u64>,
    /// The processes and threads of a command and all that it starts.
    pub tasks: Option<u64>,
    /// The file of a folder that asks for these limits; `None` if it is the person who does.
    pub limits_from: Option<PathBuf>,
    /// Whether commands run although parts of a step do not work.
    pub best_effort: bool,
}

impl SandboxProfile {
    /// Returns the policy of a command in this directory. Looks at which of the files are there, in less than
    /// a millisecond.
    ///
    /// # Errors
    /// Returns an error if the directory is not there, or holds what the step cannot keep from a command that
    /// may write it (see [`SandboxPolicy::check`]).
    pub fn policy(
        &self,
        step: SandboxStep,
        workspace: &Path,
        temporary: PathBuf,
    ) -> Result<SandboxPolicy, SandboxError> {
        let workspace = fs::canonicalize(workspace).map_err(|error| SandboxError::path(workspace, error))?;
        let home = self.home.as_ref().and_then(|home| fs::canonicalize(home).ok());
        let repository = repository(&workspace, home.as_deref());
        if let Some(planted) = &repository.planted {
            let why = "it makes Git take its settings from elsewhere, and no Git puts it there; look at it \
                       and remove it";
            return Err(SandboxError::path(planted, why));
        }
        let mut found = FoundPaths::default();
        let (readable, secret) = tool_settings(home.as_deref());
        let (home_path, cargo) = (home.as_deref(), self.cargo_home.as_deref());
        let secrets = [hidden(home_path, cargo), secret, self.hidden.clone()].concat();
        let mut hidden = found.all(secrets, &[], &[]);
        let mut redacted = found.all(redacted(home_path, cargo), &[], &[]);
        let protected = [repository.protected, vec![workspace.join(".agentx")]].concat();
        let mut protected = [self.programs_in(&workspace, &protected), protected].concat();
        let mut places = vec![workspace.clone()];
        places.extend(repository.write);
        places.extend(ways(&protected, &places));
        let mut write = found.all_writable(self.write(home.as_deref()), &places);
        write.extend(places);
        let mut private = found.all(self.private(home.as_deref()), &write, &write);
        private.retain(|path| !write.contains(path));
        let chosen = found.all(self.read.clone(), &write, &write);
        // Files of the work, and those that the person lets in, are shown whole.
        redacted.retain(|path| !lies_in(path, &write) && !chosen.contains(path));
        if step == SandboxStep::Landlock {
            hidden.append(&mut redacted);
        }
        let read = [readable, self.read(home.as_deref())].concat();
        let mut read = found.all(read, &write, &write);
        let holds_home = |path: &Path| home.as_ref().is_some_and(|home| home.starts_with(path));
        read.retain(|path| path != Path::new("/") && !holds_home(path));
        read.extend(chosen);
        if step == SandboxStep::Namespace {
            read.extend(repository_around(&workspace, home.as_deref()));
        }
        let programs = self.program_directories_in(&write, &workspace);
        write.extend(ways(&programs, &write));
        protected.extend(programs);
        let may = |path: &PathBuf| !hidden.contains(path);
        let paths = SandboxPaths {
            read: outermost(read.into_iter().filter(may).collect()),
            write,
            protected,
            hooks: repository.hooks,
            private,
            redacted,
            hidden,
            links: found.links,
            temporary,
            home,
        };
        let policy = SandboxPolicy {
            step,
            best_effort: self.best_effort,
            network: self.network == SandboxNetwork::On,
            proxy: self.network.is_by_proxy(),
            paths,
            limits: self.limits(),
        };
        policy.check().map(|()| policy)
    }

    /// Returns the files of `programs` in a workspace. A link is none of them, and what is in one of the
    /// `protected` places needs nothing.
    fn programs_in(&self, workspace: &Path, protected: &[PathBuf]) -> Vec<PathBuf> {
        const MOST: usize = 64;
        let is_real = |path: &&PathBuf| {
            let real = fs::canonicalize(path);
            let is_protected = protected.iter().any(|above| path.starts_with(above));
            let is_here = path.starts_with(workspace) && !is_protected;
            is_here && path.is_file() && real.is_ok_and(|real| real == **path)
        };
        self.programs.iter().filter(is_real).take(MOST).cloned().collect()
    }

    /// The limits of a command.
    pub(crate) fn limits(&self) -> SandboxLimits {
        let usual = SandboxLimits::default();
        let processes = match self.tasks {
            // Perhaps without a control group: this holds at least a person who is not root.
            Some(_) if self.best_effort => self.tasks,
            _ => usual.processes.max(self.tasks),
        };
        SandboxLimits {
            processes,
            memory_bytes: self.memory_bytes,
            tasks: self.tasks,
            from: self.limits_from.clone(),
            ..usual
        }
    }

    /// Returns whether a directory is the home directory or above it.
    pub(crate) fn is_around_home(&self, directory: &Path) -> bool {
        let real = |path: &Path| fs::canonicalize(path).ok();
        let home = self.home.as_deref().and_then(real);
        real(directory).is_some_and(|directory| {
            directory == Path::new("/") || home.is_some_and(|home| home.starts_with(directory))
        })
    }

    /// Makes the caches that the programs of this person make at their first use, so that commands can write
    /// them; and the directories of `PATH` that commands could make otherwise.
    pub(crate) fn make_missing(&self, first_use: &FirstUse) {
        if let Some(home) = &self.home {
            first_use.make_caches(home, self.cargo_home.as_deref(), &self.program_directories);
        }
        let writable = self.write(self.home.as_deref());
        let is_missing = |path: &&PathBuf| path.is_absolute() && fs::symlink_metadata(path).is_err();
        for directory in self.program_directories.iter().filter(is_missing) {
            let above = writable.iter().find(|above| directory.starts_with(above));
            let real = directory.ancestors().find_map(|path| fs::canonicalize(path).ok());
            let real_above = above.and_then(|above| fs::canonicalize(above).ok());
            // A command may have put a link on the way.
            if let (Some(real), Some(above)) = (real, real_above)
                && real.starts_with(above)
            {
                // Where nothing can be made, no command can either.
                let _ = fs::create_dir_all(directory);
            }
        }
    }

    /// The directories of programs in places outside of the workspace that commands write.
    fn program_directories_in(&self, write: &[PathBuf], workspace: &Path) -> Vec<PathBuf> {
        let is_outside = |path: &&PathBuf| !path.starts_with(workspace);
        let outside: Vec<PathBuf> = write.iter().filter(is_outside).cloned().collect();
        let real = self
            .program_directories
            .iter()
            .filter_map(|path| fs::canonicalize(path).ok());
        real.filter(|path| lies_in(path, &outside)).collect()
    }

    fn read(&self, home: Option<&Path>) -> Vec<PathBuf> {
        let mut read: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
        if let Some(home) = home {
            read.extend(TOOLCHAINS.iter().map(|name| home.join(name)));
        }
        read.extend(self.cargo_home.iter().chain(&self.rustup_home).cloned());
        for directory in &self.program_directories {
            read.push(directory.clone());
            read.extend(directory.parent().map(|parent| parent.join("lib")));
        }
        read
    }

    fn write(&self, home: Option<&Path>) -> Vec<PathBuf> {
        let mut write: Vec<PathBuf> = home
            .into_iter()
            .flat_map(|home| CACHES.iter().map(|name| home.join(name)))
            .collect();
        let of_cargo = CACHES.iter().filter_map(|name| name.strip_prefix(".cargo/"));
        if let Some(cargo) = &self.cargo_home {
            write.extend(of_cargo.clone().map(|name| cargo.join(name)));
        }
        write.extend(self.caches.shared.iter().chain(&self.write).cloned());
        write
    }

    fn private(&self, home: Option<&Path>) -> Vec<PathBuf> {
        let of_home = home
            .into_iter()
            .flat_map(|home| PRIVATE_CACHES.iter().map(|name| home.join(name)));
        of_home.chain(self.caches.private.iter().cloned()).collect()
    }
}

/// Returns the directories between each of the paths and the next one of the places around it: one that is
/// bound cannot be renamed to make room for another one.
fn ways(paths: &[PathBuf], places: &[PathBuf]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in paths.iter().filter(|path| lies_in(path, places)) {
        let above = path.ancestors().skip(1);
        let between = above.take_while(|above| !places.iter().any(|place| place == above));
        found.extend(between.filter(|way| !way.is_symlink()).map(Path::to_owned));
    }
    found.sort();
    found.dedup();
    found
}

/// The settings of package managers in this home directory: those that may be read, and all others.
fn tool_settings(home: Option<&Path>) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let all = home
        .into_iter()
        .flat_map(|home| TOOL_SETTINGS.iter().map(|name| home.join(name)));
    all.partition(|path| has_no_password(path))
}

/// Removes paths that are below another path of the list.
fn outermost(mut paths: Vec<PathBuf>) -> Vec<PathBuf> {
    paths.sort();
    paths.dedup_by(|path, before| path.starts_with(before));
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(home: &Path) -> SandboxProfile {
        for name in [
            ".cargo/registry",
            ".ssh",
            ".npm/_cacache",
            "work/.git/hooks",
            "own-data",
        ] {
            fs::create_dir_all(home.join(name)).unwrap();
        }
        fs::write(home.join(".npmrc"), "fund=false\n").unwrap();
        fs::write(home.join(".yarnrc"), "_authToken made-up\n").unwrap();
        SandboxProfile {
            home: Some(home.to_owned()),
            hidden: vec![home.join("own-data")],
            program_directories: vec![home.to_owned(), home.join(".npm"), "bin".into()],
            ..SandboxProfile::default()
        }
    }

    #[test]
    fn work_is_let_in_and_secrets_are_not() {
        let home = tempfile::tempdir().unwrap();
        let home = fs::canonicalize(home.path()).unwrap();
        let profile = made(&home);
        let policy = profile
            .policy(SandboxStep::Namespace, &home.join("work"), "/tmp/a/b".into())
            .unwrap();
        let SandboxPaths {
            read,
            write,
            hidden,
            protected,
            ..
        } = &policy.paths;
        for name in ["work", ".npm/_cacache", ".cargo/registry", "work/.git"] {
            assert!(write.contains(&home.join(name)), "{name}");
        }
        assert!(read.contains(&home.join(".cargo")) && read.contains(&"/usr".into()));
        assert!(
            !read.contains(&home),
            "a directory of programs that is the home directory"
        );
        assert!(read.contains(&home.join(".npmrc")) && !read.contains(&home.join(".yarnrc")));
        for name in [".ssh", ".yarnrc", "own-data"] {
            assert!(hidden.contains(&home.join(name)), "{name}");
        }
        assert!(protected.contains(&home.join("work/.git/hooks")));
        assert!(
            profile
                .policy(SandboxStep::Landlock, &home, "/tmp/a/b".into())
                .is_err()
        );
        assert!(
            profile
                .policy(SandboxStep::Landlock, &home.join("gone"), "/tmp/a/b".into())
                .is_err()
        );
    }

    #[test]
    fn settings_in_the_workspace_or_let_in_are_shown_whole() {
        let home = tempfile::tempdir().unwrap();
        let home = fs::canonicalize(home.path()).unwrap();
        let profile = made(&home);
        let settings = "[url \"https://ada:made-up@localhost/\"]\n";
        let redacted = |profile: &SandboxProfile| {
            let policy = profile.policy(SandboxStep::Namespace, &home.join("work"), "/tmp/a/b".into());
            policy.unwrap().paths.redacted
        };
        let own = home.join(".gitconfig");
        fs::write(&own, settings).unwrap();
        assert_eq!(redacted(&profile), std::slice::from_ref(&own));
        let let_in = SandboxProfile {
            read: vec![own.clone()],
            ..profile.clone()
        };
        assert!(redacted(&let_in).is_empty());
        fs::rename(&own, home.join("work/gitconfig")).unwrap();
        std::os::unix::fs::symlink("work/gitconfig", &own).unwrap();
        assert!(redacted(&profile).is_empty(), "it is a file of the work");
    }

    #[test]
    fn a_program_of_the_folder_is_protected_and_opens_nothing_that_was() {
        let home = tempfile::tempdir().unwrap();
        let home = fs::canonicalize(home.path()).unwrap();
        let mut profile = made(&home);
        for name in ["work/srv/deep", "work/.agentx/tools", "elsewhere"] {
            fs::create_dir_all(home.join(name)).unwrap();
        }
        let names = [
            "work/srv/deep/a.py",
            "work/.agentx/tools/b.sh",
            "work/.git/hooks/c",
            "elsewhere/d",
        ];
        profile.programs = names.map(|name| home.join(name)).to_vec();
        for program in &profile.programs {
            fs::write(program, "made up").unwrap();
        }
        std::os::unix::fs::symlink(home.join(names[0]), home.join("work/link")).unwrap();
        profile.programs.push(home.join("work/link"));
        let policy = profile.policy(SandboxStep::Namespace, &home.join("work"), "/tmp/a/b".into());
        let paths = policy.unwrap().paths;
        let is_protected: Vec<bool> = profile
            .programs
            .iter()
            .map(|path| paths.protected.contains(path))
            .collect();
        assert_eq!(is_protected, [true, false, false, false, false]);
        for (name, is_written) in [
            ("work/srv", true),
            ("work/srv/deep", true),
            ("work/.agentx/tools", false),
        ] {
            assert_eq!(paths.write.contains(&home.join(name)), is_written, "{name}");
        }
    }

    #[test]
    fn the_usual_limit_of_processes_is_in_no_ones_way() {
        for (tasks, best_effort, expected) in [
            (None, false, 4096),
            (None, true, 4096),
            (Some(16), false, 4096),
            (Some(16), true, 16),
            (Some(9000), false, 9000),
        ] {
            let profile = SandboxProfile {
                tasks,
                best_effort,
                ..SandboxProfile::default()
            };
            let limits = profile.limits();
            assert_eq!(
                (limits.processes, limits.tasks),
                (Some(expected), tasks),
                "{tasks:?}"
            );
            assert_eq!(limits.has_group(), tasks.is_some());
        }
    }

    #[test]
    fn lists_are_sorted_so_that_each_entry_is_found() {
        for list in [SYSTEM, TOOLCHAINS, DAEMONS] {
            assert!(list.is_sorted());
        }
    }
}
