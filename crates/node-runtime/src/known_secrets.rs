//! Gathers the secrets that this program can know: the keys of its settings, variables of the environment,
//! and `.env` files of the workspace.
//!
//! | source | which values |
//! | --- | --- |
//! | `models`, `providers` | their keys, however they are given |
//! | `mcp` | the variables and headers of each server |
//! | `agentx secrets`, `/secret` | what a person marked |
//! | variables of the environment | those whose name or value looks like a secret, and those of `secrets.names` |
//! | `.env`, `.env.local` | the same; in a folder without trust, as below |
//!
//! `secrets.ignore` takes variables out again, but no key of the settings and nothing that a person marked.
//!
//! The values are only searched for in recorded text; this module neither sends nor stores them. A folder's
//! `.env` is read even if nobody trusts the folder, but then only values with a letter and a digit and
//! without blanks count: otherwise `TOKEN=permission` would remove a word from instructions and messages.
//! Hosts, addresses without a password and paths do not count there, because a question has to show where a
//! call leads.

use std::path::Path;

use agentx_config::{ApiKeySource, FolderTrust, ProviderSettings, Settings};
use agentx_runtime::Redactor;
use agentx_secrets::{Origin, SecretSet};
use agentx_tools::ProgramEnvironment;

use crate::marked_secrets::marked_secrets;

/// Files with variables, in the workspace.
const ENV_FILES: &[&str] = &[
    ".env",
    ".env.local",
    ".env.development",
    ".env.development.local",
    ".env.production",
    ".env.production.local",
    ".env.staging",
    ".env.test",
    ".envrc",
    ".dev.vars",
];
/// The largest file with variables that is read, in bytes.
const MAX_ENV_FILE: u64 = 64 * 1024;

/// The longest part of a host between its dots.
const LONGEST_LABEL: usize = 63;

/// The redactor of the settings; `None` if they switch it off.
pub fn redactor(settings: &Settings) -> Option<Redactor> {
    settings
        .secrets
        .redact
        .then(|| Redactor::new(&known_secrets(settings)))
}

/// All secrets that can be known from the settings, the environment and the workspace, with their names.
pub fn known_secrets(settings: &Settings) -> SecretSet {
    let mut set = SecretSet::default();
    for provider in &settings.providers {
        add_provider(&mut set, provider);
    }
    if let Some(search) = &settings.search {
        add_key(&mut set, "web_search", &search.key);
    }
    if let Some(server) = &settings.exec_server {
        add_key(&mut set, "exec_server", &server.key);
    }
    for database in &settings.databases {
        add_key(&mut set, &database.name, &database.url);
        let address = database.url.value().map(|url| url.expose());
        if let Some(password) = address.and_then(password_in) {
            set.add(&database.name, Origin::Setting, password);
        }
    }
    for webhook in &settings.webhooks {
        add_key(&mut set, &webhook.name, &webhook.secret);
    }
    for key in &settings.keys {
        add_key(&mut set, "key", key);
    }
    add_servers(&mut set, settings);
    for marked in marked_secrets(&settings.data_dir) {
        set.add(&marked.name, Origin::Person, marked.value.expose());
    }
    let environment = ProgramEnvironment::default();
    let text = |text: std::ffi::OsString| text.into_string().ok();
    let variables =
        std::env::vars_os().filter_map(|(name, value)| Some((text(name)?, text(value)?, Origin::Variable)));
    let folders = [&settings.workspace, &settings.workspace_root];
    let files = folders
        .into_iter()
        .flat_map(|folder| ENV_FILES.iter().map(move |file| folder.join(file)));
    let is_trusted = settings.folder.trust == FolderTrust::Trusted;
    let lines = files
        .flat_map(|file| lines_of(&file))
        .filter(|(_, value)| is_trusted || is_no_word(value));
    let all = variables.chain(lines.map(|(name, value)| (name, value, Origin::EnvFile)));
    for (name, value, origin) in all {
        let is_named = settings.secrets.names.contains(&name);
        let is_ignored = settings.secrets.ignore.contains(&name);
        if is_named || (!is_ignored && environment.withholds(&name, &value)) {
            add_variable(&mut set, &name, &value, origin);
        }
    }
    set
}

/// Returns whether a value is neither a word of a language nor a sentence: it has a letter and a digit, and
/// no blanks.
///
/// Keys and tokens are such values. A password of letters alone is not hidden in a folder that nobody trusts.
fn is_no_word(value: &str) -> bool {
    let has = |is_it: fn(char) -> bool| value.contains(is_it);
    has(|c| c.is_ascii_digit()) && has(char::is_alphabetic) && !has(char::is_whitespace) && !is_place(value)
}

/// Returns whether a value names a place: an address without a password, a host with or without a port, or a
/// path.
fn is_place(value: &str) -> bool {
    let rest = value.split_once("://").map_or(value, |(_, rest)| rest);
    let host = rest.split(['/', ':', '?', '#']).next().unwrap_or_default();
    let labels: Vec<&str> = host.split('.').collect();
    let is_label = |label: &&str| {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
        !label.is_empty() && label.len() <= LONGEST_LABEL && label.chars().all(is_part)
    };
    let ends_as_host = |last: &&str| last.len() >= 2 && last.chars().all(|c| c.is_ascii_lowercase());
    let is_host = labels.len() > 1 && labels.iter().all(is_label) && labels.last().is_some_and(ends_as_host);
    let is_path = value.starts_with(['/', '~', '.']);
    !value.contains('@') && (is_host || is_path)
}

/// Adds a variable, and the password of an address in it. The path of a file is not a secret.
fn add_variable(set: &mut SecretSet, name: &str, value: &str, origin: Origin) {
    let is_path = value.starts_with(['/', '~', '.']) && Path::new(value).exists();
    if is_path {
        return;
    }
    set.add(name, origin, value);
    if let Some(password) = password_in(value) {
        set.add(name, origin, password);
    }
}

/// The password of an address such as `postgres://me:password@host/db`.
fn password_in(value: &str) -> Option<&str> {
    let (_, rest) = value.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let (who, _) = authority.rsplit_once('@')?;
    Some(who.split_once(':')?.1)
}

fn add_provider(set: &mut SecretSet, provider: &ProviderSettings) {
    add_key(set, &provider.name, &provider.key);
    for header in &provider.headers {
        add_key(set, &format!("{}:{}", provider.name, header.name), &header.value);
    }
    let credentials = provider
        .cloud
        .as_ref()
        .and_then(|cloud| cloud.credentials.as_ref().ok());
    for secret in credentials
        .into_iter()
        .flat_map(|credentials| credentials.secrets())
    {
        set.add(&provider.name, Origin::Setting, secret.expose());
    }
}

/// Adds a key under the name of its variable, or of its owner.
fn add_key(set: &mut SecretSet, owner: &str, key: &ApiKeySource) {
    let name = match key {
        ApiKeySource::Env { name, .. } => name,
        ApiKeySource::Literal(_) | ApiKeySource::None => owner,
    };
    if let Some(value) = key.value() {
        set.add(name, Origin::Setting, value.expose());
    }
}

/// Adds the credentials of MCP servers that the settings name.
fn add_servers(set: &mut SecretSet, settings: &Settings) {
    for server in &settings.mcp {
        let name = format!("mcp:{}", server.name);
        for value in server.hidden.iter().chain(&server.oauth.client_secret) {
            set.add(&name, Origin::Mcp, value.expose());
        }
    }
}

/// The variables of a file in the form of a shell or of Docker; none if it cannot be read.
fn lines_of(file: &Path) -> Vec<(String, String)> {
    let is_small = std::fs::metadata(file).is_ok_and(|file| file.is_file() && file.len() <= MAX_ENV_FILE);
    let text = is_small.then(|| std::fs::read_to_string(file).ok()).flatten();
    let lines = text.iter().flat_map(|text| text.lines());
    lines.filter_map(variable_of).collect()
}

/// The variable that a line sets.
fn variable_of(line: &str) -> Option<(String, String)> {
    let line = line.trim_start();
    let line = line.strip_prefix("export ").unwrap_or(line);
    let (name, value) = line.split_once('=')?;
    let name = name.trim();
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !name.is_empty();
    let value = value.trim();
    let quoted = ['"', '\''].into_iter().find_map(|quote| {
        let (inner, _) = value.strip_prefix(quote)?.split_once(quote)?;
        Some(inner)
    });
    let value = quoted.unwrap_or_else(|| value.split(" #").next().unwrap_or_default().trim());
    is_name.then(|| (name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_a_shell_would() {
        let read = |line| variable_of(line).map(|(name, value)| format!("{name}={value}"));
        for (line, expected) in [
            ("API_TOKEN=made-up", Some("API_TOKEN=made-up")),
            ("  export A = 'made up' # why", Some("A=made up")),
            ("B=\"x#y\"", Some("B=x#y")),
            ("C=x#y # why", Some("C=x#y")),
            ("# D=1", None),
            ("not a line", None),
            ("=5", None),
        ] {
            assert_eq!(read(line).as_deref(), expected, "{line}");
        }
    }

    #[test]
    fn words_of_a_strange_folder_are_no_secrets() {
        for value in ["permission", "do not delete", "2026-11-29", "Anweisungen"] {
            assert!(!is_no_word(value), "{value}");
        }
        for value in [
            "evil1.example",
            "https://evil.example/x1",
            "evil1.example:8443",
            "/srv/app1/data",
        ] {
            assert!(!is_no_word(value), "a question shows where a call leads: {value}");
        }
        for value in [
            "q8Zr-made-up",
            "hunter2hunter2",
            "postgres://me:made-up1@host/db",
            "eyJh1.bWFkZS11cA.c2ln_bmF0",
        ] {
            assert!(is_no_word(value), "{value}");
        }
    }

    #[test]
    fn the_password_of_an_address_is_found() {
        assert_eq!(password_in("postgres://me:made-up@host/db"), Some("made-up"));
        assert_eq!(password_in("https://host/path:with@signs"), None);
        assert_eq!(password_in("me:made-up@host"), None);
    }
}
