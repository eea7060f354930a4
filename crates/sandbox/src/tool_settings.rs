//! Settings of package managers in the home directory. They name registries, proxies and caches, without
//! which an install takes packages from elsewhere than the person wants; and they may hold passwords. So a
//! command may read one that holds none.

use std::fs;
use std::path::Path;

/// Below the home directory.
pub(crate) const TOOL_SETTINGS: &[&str] = &[
    ".condarc",
    ".config/ccache/ccache.conf",
    ".config/go/env",
    ".config/pip/pip.conf",
    ".config/uv/uv.toml",
    ".npmrc",
    ".pip/pip.conf",
    ".yarnrc",
    ".yarnrc.yml",
];

/// The longest file that is looked at.
pub(crate) const LONGEST: u64 = 64 << 10;

/// Words in a file that may hold a password. They are compared without regard to case.
const WORDS: &[&str] = &["_auth", "key", "pass", "secret", "token"];

/// Returns whether a command may read the file: it is text, and nothing in it looks like a password.
pub(crate) fn has_no_password(path: &Path) -> bool {
    let is_short = fs::metadata(path).is_ok_and(|about| about.is_file() && about.len() <= LONGEST);
    is_short && fs::read_to_string(path).is_ok_and(|text| is_harmless(&text))
}

fn is_harmless(text: &str) -> bool {
    let text = text.to_lowercase();
    // `https://name:word@host`
    let has_login = text.lines().any(|line| {
        let behind = line.split("://").skip(1);
        behind
            .filter_map(|rest| rest.split(['/', ' ', '"', '\'']).next())
            .any(|host| host.contains('@'))
    });
    // A variable is not the word itself, but what reads the file would put it in.
    !has_login && !text.contains("${") && !WORDS.iter().any(|word| text.contains(word))
}

/// The ends or parts of the names of settings that hold a credential, in lower case.
const CREDENTIALS: &[&str] = &[
    "_auth",
    "api-key",
    "api_key",
    "apikey",
    "extraheader",
    "oauth",
    "passwd",
    "password",
    "private-key",
    "private_key",
    "secret",
    "smtppass",
    "token",
];

/// Returns whether a file that builds need holds credentials as well. One that is too long to be looked
/// through counts as such a file.
pub(crate) fn holds_credentials(path: &Path) -> bool {
    let Ok(about) = fs::metadata(path) else {
        return false;
    };
    if !about.is_file() || about.len() > LONGEST {
        return about.is_file();
    }
    fs::read(path).is_ok_and(|bytes| {
        let text = String::from_utf8_lossy(&bytes);
        without_credentials(&text) != text
    })
}

/// Returns the text without the lines that set a credential, and without the logins in addresses.
pub(crate) fn without_credentials(text: &str) -> String {
    let mut kept = String::new();
    // What ends a value that goes on behind its line.
    let mut ends: Option<fn(&str) -> bool> = None;
    for line in text.split_inclusive('\n') {
        if let Some(is_end) = ends {
            ends = ends.filter(|_| !is_end(line));
        } else if !sets_credential(line) {
            kept.push_str(&without_logins(line));
        } else if opens_text(line) {
            ends = Some(opens_text);
        } else if !ends_here(line) {
            ends = Some(ends_here);
        }
    }
    kept
}

/// Returns whether one of the quotes of long texts stands there without its partner.
fn opens_text(line: &str) -> bool {
    ["\"\"\"", "'''"]
        .iter()
        .any(|quotes| line.matches(quotes).count() % 2 == 1)
}

fn ends_here(line: &str) -> bool {
    !line.trim_end().ends_with('\\')
}

/// Returns whether a line gives a value to a setting whose name is that of a credential.
fn sets_credential(line: &str) -> bool {
    let line = line.to_lowercase();
    let is_quote = |letter: char| letter.is_whitespace() || letter == '"' || letter == '\'';
    line.match_indices(['=', ':']).any(|(at, _)| {
        let before = line[..at].trim_end_matches(is_quote);
        let is_other = |letter: char| !letter.is_alphanumeric() && !"_-.".contains(letter);
        let name = before.rsplit(is_other).next().unwrap_or_default();
        let has_value = !line[at + 1..].trim_matches(is_quote).is_empty() || opens_text(&line);
        has_value && CREDENTIALS.iter().any(|word| name.contains(word))
    })
}

/// Removes `name:word@` from the addresses in a line. A name alone stays in addresses of SSH, because it is
/// not a secret there.
fn without_logins(line: &str) -> String {
    let mut parts = line.split("://");
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_ssh = kept.to_lowercase().ends_with("ssh");
        kept.push_str("://");
        let end = part.find(|letter: char| letter.is_whitespace() || "/\"'<>)]".contains(letter));
        let host = &part[..end.unwrap_or(part.len())];
        let login = host.rfind('@').filter(|at| !is_ssh || host[..*at].contains(':'));
        kept.push_str(&part[login.map_or(0, |at| at + 1)..]);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_with_a_password_are_not_harmless() {
        for (text, expected) in [
            ("registry=https://npm.example.com/\nfund=false\n", true),
            ("@ours:registry=https://npm.example.com/\n", true),
            ("//npm.example.com/:_authToken=made-up\n", false),
            ("//npm.example.com/:_password=bWFkZS11cA==\n", false),
            ("[global]\nindex-url = https://pypi.example.com/simple\n", true),
            (
                "[global]\nindex-url = https://ada:made-up@pypi.example.com/simple\n",
                false,
            ),
            ("npmAuthToken: made-up\n", false),
            ("proxy=http://${NAME}/\n", false),
            ("", true),
        ] {
            assert_eq!(is_harmless(text), expected, "{text}");
        }
    }

    #[test]
    fn a_copy_has_no_credentials() {
        let url = "[url \"https://ada:made-up@localhost/\"]\n\tinsteadOf = https://localhost/\n";
        let without = "[url \"https://localhost/\"]\n\tinsteadOf = https://localhost/\n";
        for (text, expected) in [
            (url, without),
            (
                "[url \"ssh://git@localhost/\"]\n",
                "[url \"ssh://git@localhost/\"]\n",
            ),
            ("a = https://made-up@localhost", "a = https://localhost"),
            (
                "[registry]\ntoken = \"made-up\"\njobs = 2\n",
                "[registry]\njobs = 2\n",
            ),
            ("ours = { index = \"x\", token = \"made-up\" }\n", ""),
            ("secret-key = \"\"\"\nmade-up\n\"\"\"\njobs = 2\n", "jobs = 2\n"),
            (
                "extraHeader = Authorization: \\\n made-up\nname = Ada\n",
                "name = Ada\n",
            ),
            (
                "credential-provider = \"cargo:token\"\n",
                "credential-provider = \"cargo:token\"\n",
            ),
            (
                "-- password:\nremote-repo: hackage\n",
                "-- password:\nremote-repo: hackage\n",
            ),
            ("  password: made-up\n", ""),
            ("[user]\n\tsigningkey = ABC\n", "[user]\n\tsigningkey = ABC\n"),
        ] {
            assert_eq!(without_credentials(text), expected, "{text}");
        }
    }

    #[test]
    fn a_file_that_is_no_text_is_not_read() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("npmrc");
        assert!(!has_no_password(&path), "it is not there");
        fs::write(&path, [0xff, 0xfe]).unwrap();
        assert!(!has_no_password(&path));
        fs::write(&path, "fund=false\n").unwrap();
        assert!(has_no_password(&path) && !has_no_password(root.path()));
    }
}
