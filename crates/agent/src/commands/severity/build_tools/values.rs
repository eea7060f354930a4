//! Options of build and test tools that are harmless with some values alone: names of packages and profiles,
//! folders of the project, built-in reporters.

use super::has;

/// Returns whether an option that is not listed is harmless with this value.
pub(super) fn is_known_value(program: &str, option: &str, value: &str) -> bool {
    is_known_choice(program, option, value)
        || is_known_name(program, option, value)
        || is_known_place(program, option, value)
}

/// Returns whether the value is one of those that the program has built in, so that it loads no module of
/// that name.
fn is_known_choice(program: &str, option: &str, value: &str) -> bool {
    const OF_JEST: &str = "default github-actions summary";
    const OF_MOCHA: &str = "dot json landing list min progress spec tap";
    const OF_VITEST: &str = "basic default dot github-actions json tap tap-flat tree verbose";
    let values = match (program, option) {
        ("eslint", "-f" | "--format") => "compact json stylish",
        ("jest", "--reporters") => OF_JEST,
        ("mocha", "--reporter") => OF_MOCHA,
        ("vitest", "--reporter") => OF_VITEST,
        ("npm" | "pnpm" | "yarn" | "bun", "--reporter") => "default dot spec tap verbose",
        ("npm" | "pnpm" | "yarn" | "bun", "--reporters") => "default",
        ("npm" | "pnpm" | "yarn" | "bun", "--mode") => "development production test",
        ("pytest", "--cov-report") => "html json lcov term term-missing xml",
        _ => return false,
    };
    has(values, value)
}

/// Returns whether the value is the name of something in the project, or of a kind of warning.
fn is_known_name(program: &str, option: &str, value: &str) -> bool {
    match (program, option) {
        // It never loads a plugin then.
        ("pytest", "-p") => value.strip_prefix("no:").is_some_and(is_name),
        // A category with a dot would be imported.
        ("pytest", "-W") => {
            let (action, category) = value.split_once("::").unwrap_or((value, "Warning"));
            has("always default error ignore module once", action) && is_name(category)
        }
        ("mypy", "-p" | "--package" | "-m" | "--module") => value.split('.').all(is_name),
        ("mvn" | "mvnw", "-P") => value.split(',').all(is_name),
        ("cmake", "-DCMAKE_BUILD_TYPE")
        | ("gradle" | "gradlew", "-Pprofile" | "-Penv")
        | ("uv", "--extra" | "--group") => is_name(value),
        _ => false,
    }
}

/// Returns whether the value is a place of the project, or a file for results with a usual name.
fn is_known_place(program: &str, option: &str, value: &str) -> bool {
    match (program, option) {
        ("tsc", "-p" | "--project") => is_typescript_project(value),
        ("pytest", "--junitxml" | "--junit-xml") => {
            value.strip_suffix(".xml").is_some_and(|name| has(REPORTS, name))
        }
        // A name with another ending may be that of a source.
        ("go", "-coverprofile") => value
            .strip_suffix(".out")
            .or_else(|| value.strip_suffix(".cov"))
            .is_some_and(is_name),
        ("go", "-o") | ("cmake", "-B") => is_output(value),
        ("cargo", "--manifest-path") => {
            value == "Cargo.toml" || value.strip_suffix("/Cargo.toml").is_some_and(is_folder)
        }
        ("make" | "gmake", "-C" | "--directory")
        | ("bmake" | "ninja", "-C")
        | ("cmake", "-S")
        | ("ctest", "--test-dir")
        | ("npm", "--prefix") => is_folder(value),
        _ => false,
    }
}

/// Returns whether a name without a folder is one of the usual names of projects of TypeScript.
pub(super) fn is_typescript_project(name: &str) -> bool {
    name == "." || (name.starts_with("tsconfig") && name.ends_with(".json") && !name.contains('/'))
}

/// Usual names of files with the results of tests, without their ending.
const REPORTS: &str =
    "junit junit-report pytest report results test-report test-results test_report test_results";

/// Returns whether a text has only letters, digits, `_` and `-`, and begins with none of these signs.
fn is_name(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    text.chars().all(is_part) && text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
}

/// Returns whether a path from here leads to a folder of the project: not out of the workspace, and to no
/// hidden folder and none of packages, whose files are of others.
fn is_folder(path: &str) -> bool {
    is_place_of_project(path, "")
}

/// Returns whether a path leads to a place of the project.
pub(super) fn is_place_of_project(path: &str, workspace: &str) -> bool {
    const OF_OTHERS: &str = "node_modules site-packages third_party vendor venv";
    let below = path
        .strip_prefix(workspace)
        .and_then(|rest| rest.strip_prefix('/'));
    let path = below.filter(|_| !workspace.is_empty()).unwrap_or(path);
    let is_plain = |c: char| c.is_alphanumeric() || "-_./+".contains(c);
    let path = path.strip_suffix("/...").unwrap_or(path);
    let mut parts = path.split('/').skip_while(|part| *part == ".");
    path.starts_with(|c: char| c.is_alphanumeric() || c == '.' || c == '_')
        && path.chars().all(is_plain)
        && parts.all(|part| !part.starts_with('.') && !has(OF_OTHERS, part))
}

/// Returns whether a path from here leads into a folder for what was built.
fn is_output(path: &str) -> bool {
    const FOLDERS: &str = "bin build dist out target";
    let first = path
        .strip_prefix("./")
        .unwrap_or(path)
        .split(['/', '-', '_'])
        .next();
    is_folder(path) && first.is_some_and(|first| has(FOLDERS, first))
}
