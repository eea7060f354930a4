//! Subcommands of `npm` and `cargo` that no star matches, because they fetch and run code, or change what is published
//! or who may do so. The ones of which `npm` knows other spellings are listed with these.
//!
//! From version 9 of the rules on.

/// Subcommands of a program under the name that a rule has to give, each with its other spellings.
#[rustfmt::skip]
const OF_NPM: &[(&str, &[&str])] = &[
    ("install", &["i", "in", "add", "isnt", "isnta", "isntal", "isntall", "install-test", "it"]),
    ("ci", &["ic", "clean-install", "install-clean", "isntall-clean", "install-ci-test", "cit", "clean-install-test", "sit"]),
    ("exec", &["x"]),
    ("init", &["create", "innit"]),
    ("update", &["up", "upgrade", "udpate"]),
    ("publish", &[]),
    ("unpublish", &[]),
    ("deprecate", &["undeprecate"]),
    ("dist-tag", &["dist-tags"]),
    ("owner", &["author"]),
    ("access", &[]),
    ("adduser", &["add-user", "login"]),
    ("logout", &[]),
    ("token", &[]),
];

/// Subcommands of `cargo`, besides those that a question names.
const OF_CARGO: &[&str] = &["login", "logout", "owner", "yank"];

/// Returns the subcommand of a command that no star matches, as it would be written in a pattern.
pub(super) fn subcommand(in_words: &str) -> Option<String> {
    let mut words = in_words.split(' ').filter(|word| !word.is_empty());
    let (program, word) = (words.next()?, words.next()?);
    match program {
        "npm" => of_npm(word).map(|name| format!("npm {name}")),
        "cargo" => OF_CARGO.contains(&word).then(|| format!("cargo {word}")),
        _ => None,
    }
}

/// The listed subcommand that `npm` takes a word for: it takes a beginning of three letters or more for the whole.
fn of_npm(word: &str) -> Option<&'static str> {
    let is_listed = |(name, spellings): &&(&'static str, &[&str])| {
        let mut all = std::iter::once(name).chain(spellings.iter());
        all.any(|known| *known == word || (word.len() > 2 && known.starts_with(word)))
    };
    OF_NPM.iter().find(is_listed).map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_spellings_of_a_subcommand_are_found() {
        for (command, found) in [
            ("npm i x", Some("npm install")),
            ("npm inst x", Some("npm install")),
            ("npm isntall x", Some("npm install")),
            ("npm add x", Some("npm install")),
            ("npm x y", Some("npm exec")),
            ("npm exe y", Some("npm exec")),
            ("npm unpub x", Some("npm unpublish")),
            ("npm clean-install", Some("npm ci")),
            ("npm run build", None),
            ("npm test", None),
            ("npm ls", None),
            ("npm uninstall x", None),
            ("cargo yank x", Some("cargo yank")),
            ("cargo test", None),
        ] {
            assert_eq!(subcommand(command).as_deref(), found, "{command}");
        }
    }
}
