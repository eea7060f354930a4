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
const LONGEST: u64 = 64 << 10;

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
