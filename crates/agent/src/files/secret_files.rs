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
    "kubeconfig*",
    "*.kubeconfig",
    "terraform.tfstate*",
    "*.tfstate",
    "*.tfvars",
    "*.tfvars.json",
    "credentials",
    ".credentials",
    "credentials.json",
    "credentials.toml",
    "credentials.yaml",
    "credentials.yml",
    "*-credentials.json",
    "*_credentials.json",
    "client_secret*.json",
    "service-account*.json",
    "service_account*.json",
    "*firebase-adminsdk*.json",
    "*-key.json",
    "*_key.json",
    ".secret",
    ".secrets/**",
    "secret.json",
    "secret.yaml",
    "secret.yml",
    "secrets.*",
    ".token",
    "token.json",
    "auth.json",
    "*.p8",
    "*.pk8",
    "*.pkcs8",
    "*.jceks",
    "*private*.der",
    "*deploy_key",
    "*deploy-key",
    ".azure/accessTokens.json",
    ".azure/msal_token_cache.*",
    ".azure/service_principal_entries.*",
    ".config/gh/hosts.yml",
    ".boto",
    ".databrickscfg",
    ".dockercfg",
    ".flaskenv",
    ".gem/credentials",
    ".mylogin.cnf",
    ".sentryclirc",
    ".terraformrc",
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
    ".ansible_vault_pass*",
    ".ansible-vault-pass*",
    "*.vault_pass",
    "*.vault-pass",
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
    // Texts of a translated program.
    "i18n/**/auth.json",
    "lang/**/auth.json",
    "locale/**/auth.json",
    "locales/**/auth.json",
    "messages/**/auth.json",
    "translations/**/auth.json",
];

/// Beginnings of names with any ending in [`NAMES`] that files of source and documentation have as well.
const STEMS_OF_SOURCE: &[&str] = &["kubeconfig", "secrets"];

/// Endings of files of source and documentation.
#[rustfmt::skip]
const SOURCE: &[&str] = &[
    "adoc", "c", "cc", "cjs", "cpp", "cs", "dart", "ex", "exs", "go", "h", "html", "java", "js", "jsx", "kt",
    "lua", "md", "mdx", "mjs", "nix", "php", "proto", "py", "pyi", "rb", "rs", "rst", "scala", "sh", "snap",
    "sql", "svelte", "swift", "tf", "ts", "tsx", "vue",
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
    let of_source = |stem: &&str| {
        let stem = (*stem).to_owned();
        SOURCE.iter().map(move |ending| format!("/**/{stem}*.{ending}"))
    };
    let mut except: Vec<String> = EXCEPT.iter().map(anywhere).collect();
    except.extend(STEMS_OF_SOURCE.iter().flat_map(of_source));
    Guard {
        secrets,
        except,
        ..Guard::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::closed_files::{Guarded, guarded};

    #[test]
    fn files_of_secrets_are_told_from_source_and_documentation() {
        let guard = secret_files(&["~".to_owned()]);
        for name in [
            ".azure/accessTokens.json",
            "gcp-key.json",
            "sub/deploy-key.json",
            "x-firebase-adminsdk-1a2b.json",
            ".config/gh/hosts.yml",
            "kubeconfig",
            "kubeconfig-prod",
            "kubeconfig.yaml",
            ".dockercfg",
            ".gem/credentials",
            "credentials",
            "aws/credentials",
            "credentials.json",
            "credentials.yml",
            "google-credentials.json",
            "token.json",
            ".token",
            "secret.yaml",
            "k8s/secret.yml",
            "secret.json",
            "secrets.json",
            "secrets.ini",
            "secrets.prod.yaml",
            ".secrets",
            ".secrets/token",
            "deploy_key",
            "private.der",
            "server-private-key.der",
            "AuthKey_1.p8",
            "auth.json",
            ".flaskenv",
            ".ansible_vault_pass",
            ".ansible_vault_password.txt",
            "prod.vault_pass",
        ] {
            let found = guarded(&guard, name, "/ws");
            assert_eq!(found, Some(Guarded::Secret), "{name}");
        }
        for name in [
            "src/credentials.rs",
            "src/credentials/mod.rs",
            "src/token.rs",
            "tokens.json",
            "docs/secret.md",
            "docs/secrets.md",
            "src/secret.rs",
            "src/secrets.rs",
            "src/secrets.service.test.ts",
            "src/auth.rs",
            "locales/en/auth.json",
            "key.rs",
            "keys.json",
            "pkg/kubeconfig.go",
            "pkg/kubeconfig_test.go",
            "pkg/kubeconfig/loader.go",
            "deploy_key.pub",
            "cert.der",
            "public.der",
            ".secrets.baseline",
            "hosts.yml",
            "flask.env.py",
        ] {
            assert_eq!(guarded(&guard, name, "/ws"), None, "{name}");
        }
    }
}
