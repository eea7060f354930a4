//! Which files calls are kept from by default: those in which programs keep secrets, and this program's own.
//!
//! The list is wide on purpose: being asked about a file too many costs a key press, and a rule of the person ends it. It covers what
//! others keep from agents by default (<https://block.github.io/goose/docs/guides/using-gooseignore>), and where the tools of the
//! vendors document that they keep credentials.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentx_agent::secrets::{guarded, opens_secrets};
use agentx_types::{Guard, RuleEffect};

use crate::read::Layer;
use crate::value::Value;
use crate::{FolderTrust, Ignored, Settings};

/// Files with secrets, wherever they lie: their names.
const NAMES: &[&str] = &[
    ".env",
    ".env.*",
    ".env-*",
    ".env_*",
    ".env~",
    "..env.sw*",
    "*.env",
    "*.env~",
    "*.env.bak",
    "*.env.local",
    ".envrc",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.ppk",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".htpasswd",
    "kubeconfig",
    "*.kubeconfig",
    "terraform.tfstate*",
    "*.tfstate",
    "*.tfvars",
    "*.tfvars.json",
    "credentials.json",
    "client_secret*.json",
    "service-account*.json",
    "service_account*.json",
    "secrets.json",
    "secrets.toml",
    "secrets.yml",
    "secrets.yaml",
    ".pgpass",
    ".my.cnf",
    ".git-credentials",
    ".vault-token",
    ".*_history",
    ".ssh/**",
    ".gnupg/**",
    ".aws/credentials",
    ".kube/config",
    ".docker/config.json",
    ".dev.vars",
    ".dev.vars.*",
    ".s3cfg",
    ".vault_pass*",
    ".vault-pass*",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".gemini/oauth_creds.json",
    "wp-config.php",
];

/// Files and folders with secrets, below a home directory.
const AT_HOME: &[&str] = &[
    ".aws/**",
    ".azure/**",
    ".kube/**",
    ".config/gcloud/**",
    ".config/gh/**",
    ".config/op/**",
    ".config/rclone/**",
    ".s3cfg",
    ".boto",
    ".gem/credentials",
    ".cargo/credentials*",
    ".terraform.d/credentials*",
    ".password-store/**",
    ".local/share/keyrings/**",
    ".local/share/fish/fish_history",
    ".mozilla/**",
    ".config/google-chrome/**",
    ".config/chromium/**",
    "Library/Keychains/**",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".gemini/oauth_creds.json",
];

/// Files with secrets of the system.
const OF_SYSTEM: &[&str] = &[
    "/etc/shadow*",
    "/etc/gshadow*",
    "/etc/sudoers",
    "/etc/sudoers.d/**",
    "/etc/ssl/private/**",
    "/etc/ssh/ssh_host_*",
    "/proc/*/environ",
    "/proc/*/mem",
];

/// Names that only look like those of secrets.
const EXCEPT: &[&str] = &[
    ".env.example",
    ".env.sample",
    ".env.template",
    ".env.dist",
    ".env-example",
    ".env-sample",
    "example.env",
    "sample.env",
    "template.env",
    "id_*.pub",
    ".ssh/*.pub",
    ".ssh/known_hosts",
];

/// The program's files in a data directory that is the workspace or has it in it: the rest there is not ours.
const OF_DATA: &[&str] = &["*.db*", "*.json", "*.log", "identity*", "told*", "accepted/**"];

impl Settings {
    /// The files that calls are kept from by default.
    pub fn guard(&self) -> Arc<Guard> {
        let home = etcetera::home_dir().ok();
        let mut own = Vec::new();
        for folder in [&self.data_dir, &self.trust_dir] {
            let inside: &[&str] = match self.workspace.starts_with(folder) {
                true => OF_DATA,
                false => &["**"],
            };
            for place in ways_to_write(folder, home.as_deref()) {
                own.extend(inside.iter().map(|part| format!("{place}/{part}")));
            }
        }
        own.extend(ways_to_write(&self.user_file, home.as_deref()));
        own.sort();
        own.dedup();
        let is_accepted = self
            .folder
            .admits(self.git.accepted_as(), self.git.text().as_bytes());
        let git = match is_accepted {
            true => Vec::new(),
            false => self.git.names(),
        };
        let mut guard = Guard {
            own,
            git,
            read_only: self.folder.trust == FolderTrust::ReadOnly,
            ..secrets()
        };
        let with_passwords = self.git.with_passwords().iter();
        guard
            .secrets
            .extend(with_passwords.flat_map(|file| ways_to_write(file, home.as_deref())));
        Arc::new(guard)
    }
}

impl Settings {
    /// Whether calls are kept from this file by default: it may hold secrets, or it belongs to the program. The path is absolute,
    /// without links.
    pub fn is_guarded(&self, path: &Path) -> bool {
        let (path, workspace) = (path.to_string_lossy(), self.workspace.to_string_lossy());
        guarded(&self.guard(), &path, &workspace).is_some()
    }
}

/// The files with secrets alone.
pub(crate) fn secrets() -> Guard {
    let anywhere = |name: &&str| format!("/**/{name}");
    let mut secrets: Vec<String> = NAMES.iter().map(anywhere).collect();
    let home = etcetera::home_dir().ok();
    let ways = home.as_deref().map(|home| ways_to_write(home, Some(home)));
    for place in ways.unwrap_or_else(|| vec!["~".to_owned()]) {
        secrets.extend(AT_HOME.iter().map(|file| format!("{place}/{file}")));
    }
    secrets.extend(OF_SYSTEM.iter().map(|file| (*file).to_owned()));
    Guard {
        secrets,
        except: EXCEPT.iter().map(anywhere).collect(),
        ..Guard::default()
    }
}

/// The ways in which a call may write a path: as it is, with links resolved, and from the home directory.
fn ways_to_write(path: &Path, home: Option<&Path>) -> Vec<String> {
    let mut ways = vec![path.to_owned()];
    ways.extend(std::fs::canonicalize(path));
    if let Some(below) = home.and_then(|home| path.strip_prefix(home).ok()) {
        ways.push(Path::new("~").join(below));
    }
    // Escapes `*`, which may be part of a file's name.
    let text = |way: &PathBuf| Some(way.to_str()?.trim_end_matches('/').replace('*', "\\*"));
    let mut ways: Vec<String> = ways.iter().filter_map(text).collect();
    ways.sort();
    ways.dedup();
    ways
}

/// Takes the rules out of a folder's layer that open secrets: that is the person's word, also in a folder that is trusted.
pub(crate) fn without_opening_rules(mut layer: Layer, guard: &Guard, root: &Path) -> (Layer, Vec<Ignored>) {
    let root = root.to_string_lossy();
    let mut ignored = Vec::new();
    for (path, sourced) in &mut layer.entries {
        let Value::Rules(rules) = &mut sourced.value else {
            continue;
        };
        rules.retain(|rule| {
            let opens = rule.value.effect == RuleEffect::Allow && opens_secrets(guard, &rule.value, &root);
            if opens {
                ignored.push(Ignored {
                    key: path.to_string(),
                    origin: rule.origin.clone(),
                    why: "only a rule of your own opens files that may hold secrets",
                    waits_for_trust: false,
                });
            }
            !opens
        });
    }
    (layer, ignored)
}
