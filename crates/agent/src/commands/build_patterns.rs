//! Patterns with a star for commands of build and test tools. A star stands only for their usual targets and
//! harmless options (`severity`), so such a pattern may be offered to a person. "Always" itself keeps the
//! line word for word.

use crate::commands::command_split::take_apart;

/// Tools each of whose words is a target, a test or a file.
const WITH_TARGETS: &[&str] = &[
    "bmake",
    "ctest",
    "gmake",
    "gradle",
    "./gradlew",
    "jest",
    "just",
    "make",
    "mocha",
    "mvn",
    "./mvnw",
    "mypy",
    "ninja",
    "nox",
    "phpunit",
    "pytest",
    "rake",
    "rspec",
    "tox",
    "tsc",
    "vitest",
];

/// Tools with subcommands, and those that build, check or test.
const WITH_SUBCOMMANDS: &[(&str, &str)] = &[
    ("bun", "run test"),
    ("cabal", "build test"),
    ("cargo", "bench build check clippy doc fmt nextest test"),
    ("cmake", "--build"),
    ("composer", "test"),
    ("dotnet", "build test"),
    ("go", "build test vet"),
    ("mix", "compile test"),
    ("npm", "run test"),
    ("pnpm", "run test"),
    ("ruff", "check format"),
    ("stack", "build test"),
    ("yarn", "run test"),
];

/// The pattern for commands like this one of a build or test tool; `None` for any other line.
///
/// The pattern may still not cover the command itself, if that has a word for which no star stands.
///
/// ```
/// use agentx_agent::build_patterns::pattern_of_tool;
/// assert_eq!(pattern_of_tool("make all").as_deref(), Some("make *"));
/// assert_eq!(pattern_of_tool("cargo test -p a").as_deref(), Some("cargo test *"));
/// assert_eq!(pattern_of_tool("cargo publish"), None);
/// assert_eq!(pattern_of_tool("make all; make test"), None);
/// ```
pub fn pattern_of_tool(line: &str) -> Option<String> {
    let apart = take_apart(line);
    let [command] = apart.commands.as_slice() else {
        return None;
    };
    if !apart.certain {
        return None;
    }
    let mut words = command.split(' ');
    let program = words.next()?;
    if WITH_TARGETS.contains(&program) {
        return Some(format!("{program} *"));
    }
    let (_, subcommands) = WITH_SUBCOMMANDS.iter().find(|(name, _)| *name == program)?;
    let subcommand = words.next()?;
    let is_listed = subcommands.split(' ').any(|listed| listed == subcommand);
    is_listed.then(|| format!("{program} {subcommand} *"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::severity::is_of_build_tool;

    #[test]
    fn the_words_behind_each_tool_are_known() {
        let others = WITH_SUBCOMMANDS.iter().map(|(program, _)| program);
        for program in WITH_TARGETS.iter().chain(others) {
            assert!(is_of_build_tool(program), "{program}");
        }
    }
}
