//! Patterns of files in which programs keep secrets; calls may not read them by default.
//!
//! The list is wide on purpose: an unnecessary question costs a key press, and a rule of the person ends it.
//! It covers files that other programs hide from agents by default
//! (<https://block.github.io/goose/docs/guides/using-gooseignore>), and the places where vendors' tools are
//! documented to keep credentials.
//!
//! The patterns are data of the configuration (`Guard`), so a session keeps the list with which it began, and
//! a person can add to it. [`crate::files::closed_files`] compares paths with them.

use agentx_types::Guard;

/// The names of files with secrets, in any folder.
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

/// The guard of only the files with secrets, without the program's own files.
///
/// `homes` are the spellings of the person's home directory; `~` stands for any.
///
/// ```
/// use agentx_agent::closed_files::{Guarded, guarded};
/// let guard = agentx_agent::secret_files(&["~".to_owned()]);
/// assert_eq!(guarded(&guard, "sub/.env", "/ws"), Some(Guarded::Secret));
/// assert_eq!(guarded(&guard, "sub/.env.example", "/ws"), None);
/// ```
pub fn secret_files(homes: &[String]) -> Guard {
    let anywhere = |name: &&str| format!("/**/{name}");
    let mut secrets: Vec<String> = NAMES.iter().map(anywhere).collect();
    for place in homes {
        secrets.extend(AT_HOME.iter().map(|file| format!("{place}/{file}")));
    }
    secrets.extend(OF_SYSTEM.iter().map(|file| (*file).to_owned()));
    Guard {
        secrets,
        except: EXCEPT.iter().map(anywhere).collect(),
        ..Guard::default()
    }
}
