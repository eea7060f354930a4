//! The files that no command may reach, wherever they are; and those of which it may read a part.

use std::fs;
use std::path::{Path, PathBuf};

use crate::tool_settings::{TOOL_SETTINGS, has_no_password, holds_credentials};

/// Never reached.
const SYSTEM_SECRETS: &[&str] = &[
    "/etc/NetworkManager/system-connections",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/krb5.keytab",
    "/etc/letsencrypt",
    "/etc/openvpn",
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/ssh/ssh_host_dsa_key",
    "/etc/ssh/ssh_host_ecdsa_key",
    "/etc/ssh/ssh_host_ed25519_key",
    "/etc/ssh/ssh_host_rsa_key",
    "/etc/ssl/private",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/wireguard",
];

/// Below the home directory: never reached.
const SECRETS: &[&str] = &[
    ".aws",
    ".azure",
    ".bash_history",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".config/BraveSoftware",
    ".config/chromium",
    ".config/gcloud",
    ".config/gh",
    ".config/git/credentials",
    ".config/google-chrome",
    ".config/op",
    ".docker",
    ".gem/credentials",
    ".git-credentials",
    ".gnupg",
    ".julia/logs",
    ".julia/servers",
    ".kube",
    ".local/share/keyrings",
    ".local/share/uv/credentials",
    ".mozilla",
    ".netrc",
    ".node_repl_history",
    ".password-store",
    ".pub-cache/credentials.json",
    ".pypirc",
    ".python_history",
    ".ssh",
    ".terraform.d",
    ".vault-token",
    ".zsh_history",
];

/// Directories below the home directory, and the beginning of names in them: never reached, because copies
/// beside a file (`settings.xml.bak`) hold the same passwords.
const SECRET_NAMES: &[(&str, &str)] = &[(".gradle", "gradle.properties"), (".m2", "settings")];

/// Files below the home directory that builds need, and that may hold credentials.
const MIXED: &[&str] = &[
    ".cabal/config",
    ".cargo/config",
    ".cargo/config.toml",
    ".config/git/config",
    ".gitconfig",
];

/// Directories below the home directory with programs of a build tool, and the beginning of names in them: a
/// program that looks as if it holds a password is never reached.
const MIXED_NAMES: &[(&str, &str)] = &[(".gradle", "init.gradle"), (".gradle/init.d", "")];

/// Returns what is never reached.
pub(crate) fn hidden(home: Option<&Path>, cargo_home: Option<&Path>) -> Vec<PathBuf> {
    let mut hidden: Vec<PathBuf> = SYSTEM_SECRETS.iter().map(PathBuf::from).collect();
    if let Some(home) = home {
        let files = |&(directory, beginning): &(&str, &str)| files_named(home, directory, beginning);
        hidden.extend(SECRETS.iter().map(|name| home.join(name)));
        hidden.extend(SECRET_NAMES.iter().flat_map(files));
        let settings = TOOL_SETTINGS.iter().map(|name| home.join(name));
        let settings = settings.chain(MIXED_NAMES.iter().flat_map(files));
        hidden.extend(settings.filter(|path| !has_no_password(path)));
    }
    if let Some(cargo) = cargo_home {
        hidden.extend(["credentials", "credentials.toml"].map(|name| cargo.join(name)));
    }
    hidden
}

/// Returns the files that hold credentials beside what builds need.
pub(crate) fn redacted(home: Option<&Path>, cargo_home: Option<&Path>) -> Vec<PathBuf> {
    let of_home = home
        .into_iter()
        .flat_map(|home| MIXED.iter().map(|name| home.join(name)));
    let of_cargo = cargo_home.into_iter();
    let of_cargo = of_cargo.flat_map(|cargo| ["config", "config.toml"].map(|name| cargo.join(name)));
    of_home
        .chain(of_cargo)
        .filter(|path| holds_credentials(path))
        .collect()
}

/// The files in a directory whose names begin so.
fn files_named(home: &Path, directory: &str, beginning: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(home.join(directory)).into_iter().flatten().flatten();
    let begins = |entry: &fs::DirEntry| {
        entry
            .file_name()
            .as_encoded_bytes()
            .starts_with(beginning.as_bytes())
    };
    let mut found: Vec<PathBuf> = entries.filter(begins).map(|entry| entry.path()).collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted_so_that_each_entry_is_found() {
        for list in [SYSTEM_SECRETS, SECRETS, MIXED] {
            assert!(list.is_sorted());
        }
    }

    #[test]
    fn copies_of_secrets_are_secrets() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        for directory in [".m2", ".gradle/init.d"] {
            fs::create_dir_all(home.join(directory)).unwrap();
        }
        let made_up = [
            (".m2/settings.xml.bak", ""),
            (".m2/toolchains.xml", ""),
            (".gradle/gradle.properties~", ""),
            (".gradle/init.d/mirror.gradle", "allprojects { }"),
            (".gradle/init.d/ours.gradle", "password 'made-up'"),
            (".cargo/config.toml", "[build]\njobs = 2\n"),
            (".gitconfig", "[url \"https://ada:made-up@localhost/\"]\n"),
        ];
        fs::create_dir(home.join(".cargo")).unwrap();
        for (name, text) in made_up {
            fs::write(home.join(name), text).unwrap();
        }
        let found = hidden(Some(home), None);
        for (name, is_hidden) in [
            (".m2/settings.xml.bak", true),
            (".m2/toolchains.xml", false),
            (".gradle/gradle.properties~", true),
            (".gradle/init.d/mirror.gradle", false),
            (".gradle/init.d/ours.gradle", true),
        ] {
            assert_eq!(found.contains(&home.join(name)), is_hidden, "{name}");
        }
        assert_eq!(redacted(Some(home), None), [home.join(".gitconfig")]);
    }
}
