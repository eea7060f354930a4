//! Subcommands of package managers and build tools that no star matches, because they fetch and run code, run any
//! program, or change what is published or who may do so. The ones of which `npm` knows other spellings are listed with
//! these.
//!
//! From version 9 of the rules on.

use super::build_tools::tool;

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
    ("explore", &[]),
    ("edit", &[]),
    ("set", &[]),
];

/// Subcommands of `npm` that change something unless one of these words follows.
const OF_NPM_UNLESS: &[(&str, &[&str], &str)] = &[("config", &["c"], "get list ls"), ("pkg", &[], "get")];

/// Subcommands of `cargo`, besides those that a question names.
const OF_CARGO: &[&str] = &["login", "logout", "owner", "yank"];

/// Subcommands of other programs, parted by blanks.
#[rustfmt::skip]
const OF_OTHERS: &[(&str, &str)] = &[
    ("bun", "add c create exec i install publish x"),
    ("cabal", "exec install new-exec new-install new-upload repl upload v2-exec v2-install v2-upload"),
    ("deno", "add eval i install publish repl"),
    ("dotnet", "exec fsi nuget tool"),
    ("go", "get install tool"),
    ("mix", "archive.install cmd do escript.install eval hex.publish hex.user"),
    ("pnpm", "add c config create deploy dlx i install publish set"),
    ("stack", "eval exec ghc ghci repl runghc runhaskell script upload"),
    ("tox", "e exec"),
    ("yarn", "add config create dlx global npm plugin publish set"),
];

/// Subcommands of `composer`, which takes a beginning for the whole.
const OF_COMPOSER: &[&str] = &["config", "create-project", "exec", "global", "require"];

/// Returns the subcommands of a command that no star matches, as they would be written in a pattern.
pub(super) fn subcommands(in_words: &str) -> Vec<String> {
    let mut words = in_words.split(' ').filter(|word| !word.is_empty());
    let Some(program) = words.next().and_then(tool) else {
        return Vec::new();
    };
    let words: Vec<&str> = words.collect();
    let is_goal = matches!(program, "gradle" | "gradlew" | "mvn" | "mvnw");
    let places: Vec<usize> = if is_goal {
        (0..words.len()).collect()
    } else {
        places_of_subcommand(&words)
    };
    let found = places.into_iter().filter_map(|at| {
        let (word, next) = (words[at], words.get(at + 1).copied());
        let name = match program {
            "npm" => of_npm(word, next)?,
            "cargo" => OF_CARGO.contains(&word).then_some(word)?,
            "composer" => OF_COMPOSER
                .iter()
                .copied()
                .find(|name| word.len() > 1 && name.starts_with(word))?,
            "gradle" | "gradlew" => of_gradle(word).then_some(word)?,
            "mvn" | "mvnw" => of_maven(word).then_some(word)?,
            _ => {
                let mut rows = OF_OTHERS.iter();
                let (_, names) = rows.find(|(name, _)| *name == program)?;
                names.split(' ').find(|name| *name == word)?
            }
        };
        Some(format!("{program} {name}"))
    });
    found.collect()
}

/// The places at which the subcommand may stand: a word behind an option may be its value, or the subcommand.
fn places_of_subcommand(words: &[&str]) -> Vec<usize> {
    let mut found = Vec::new();
    let mut may_be_value = false;
    for (at, word) in words.iter().enumerate() {
        if word.starts_with(['-', '+']) {
            may_be_value = word.starts_with('-') && !word.contains('=');
            continue;
        }
        found.push(at);
        if !may_be_value {
            break;
        }
        may_be_value = false;
    }
    found
}

/// Returns whether a task sends what was built: `publish`, `:a:publishToMavenLocal`, or a beginning of these.
fn of_gradle(word: &str) -> bool {
    let task = word.rsplit(':').next().unwrap_or(word);
    let is_begun = task.len() > 2 && ("publish".starts_with(task) || "uploadArchives".starts_with(task));
    is_begun || task.starts_with("publish") || task.starts_with("upload")
}

/// Returns whether a goal sends what was built, or runs any program.
fn of_maven(word: &str) -> bool {
    let plugin = word.split(':').next().unwrap_or(word);
    word == "deploy" || (word.contains(':') && matches!(plugin, "deploy" | "exec" | "release"))
}

/// The listed subcommand that `npm` takes a word for: it takes a beginning of three letters or more for the whole.
/// `next` is the word behind it.
fn of_npm(word: &str, next: Option<&str>) -> Option<&'static str> {
    let unless = OF_NPM_UNLESS.iter().find(|(name, spellings, _)| {
        *name == word || spellings.contains(&word) || (word.len() > 2 && name.starts_with(word))
    });
    if let Some((name, _, harmless)) = unless {
        let is_harmless = next.is_some_and(|next| harmless.split(' ').any(|known| known == next));
        return (!is_harmless).then_some(*name);
    }
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
            ("npm config get registry", None),
            ("npm conf set x y", Some("npm config")),
            ("npm pkg set x=y", Some("npm pkg")),
            ("npm --loglevel error publish", Some("npm publish")),
            ("pnpm --filter a dlx x", Some("pnpm dlx")),
            ("pnpm --filter a run add", None),
            ("yarnpkg npm publish", Some("yarn npm")),
            ("composer exe x", Some("composer exec")),
            (
                "gradle :a:publishToMavenLocal",
                Some("gradle :a:publishToMavenLocal"),
            ),
            ("mvn clean deploy", Some("mvn deploy")),
            ("mvn clean install", None),
            ("cargo yank x", Some("cargo yank")),
            ("cargo +nightly yank x", Some("cargo yank")),
            ("cargo test", None),
        ] {
            let all = subcommands(command);
            assert_eq!(all.first().map(String::as_str), found, "{command}");
        }
    }
}
