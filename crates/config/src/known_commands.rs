//! The command lines of a folder that are known to open only what they name.
//!
//! A person trusts a command line with the files that it runs. Of most programs nobody can tell from the line which
//! files they open: `make`, `npm start`, `awk`, `sh -c`. So only the forms here count as known; every other line counts
//! as one that reads the whole folder, and any change of the folder asks again.

use crate::Secret;
use crate::mcp::McpValue;

/// The files that a command line opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenedFiles {
    /// Those that its words name, and these settings of the program, if they are there.
    Named(&'static [&'static str]),
    /// Those that its words name, and the modules of Python beside this argument.
    Modules(usize),
    /// Any file of the folder.
    Any,
}

const NO_MORE: OpenedFiles = OpenedFiles::Named(&[]);
/// Settings of npm that decide which program `npx` runs, and how.
const OF_NPM: &[&str] = &[".npmrc", "package.json", "bunfig.toml", "pnpm-workspace.yaml"];
/// Settings of uv.
const OF_UV: &[&str] = &["uv.toml", "pyproject.toml", ".python-version"];
/// Options of Python without a value that load no code.
const OF_PYTHON: &[&str] = &["-u", "-I", "-B", "-E", "-s", "-S", "-O", "-q", "-P"];
/// Variables by which programs load code or find other programs; each ends any name that begins like it.
const LOADERS: &[&str] = &[
    "PATH",
    "NODE_",
    "BASH_ENV",
    "ENV",
    "PYTHON",
    "RUBY",
    "PERL",
    "LD_",
    "DYLD_",
    "GIT_",
    "NPM_",
    "UV_",
    "PIP_",
    "LUA_",
    "JAVA_",
    "DENO_",
    "BUN_",
    "SHELLOPTS",
    "BASHOPTS",
    "IFS",
];

/// What leads where, for [`opened`].
pub(crate) trait Disk {
    /// Whether a word is a file of the folder, or a directory of it, that an interpreter can run.
    fn is_script(&self, word: &str) -> bool;
    /// Whether the folder itself holds a package of this name.
    fn has_package(&self, name: &str) -> bool;
}

/// Returns which files a command line with these variables opens.
pub(crate) fn opened(
    command: &str,
    arguments: &[String],
    variables: &[McpValue],
    disk: &dyn Disk,
) -> OpenedFiles {
    if variables.iter().any(loads_unseen) {
        return OpenedFiles::Any;
    }
    if command.contains('/') && disk.is_script(command) {
        return NO_MORE;
    }
    if command.contains('/') && !command.starts_with('/') {
        return OpenedFiles::Any;
    }
    let program = command.rsplit('/').next().unwrap_or(command);
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let is_version = |name: &str| {
        program
            .strip_prefix(name)
            .is_some_and(|rest| rest.chars().all(is_of_number))
    };
    match program {
        _ if is_version("python") => {
            let flags = words.iter().take_while(|word| OF_PYTHON.contains(word)).count();
            match words.get(flags) {
                Some(script) if disk.is_script(script) => OpenedFiles::Modules(flags),
                _ => OpenedFiles::Any,
            }
        }
        "node" | "bash" | "sh" | "dash" | "zsh" | "ruby" | "perl" | "lua" => match words.first() {
            Some(script) if disk.is_script(script) => NO_MORE,
            _ => OpenedFiles::Any,
        },
        "npx" | "bunx" | "pnpx" => match package(&words, &["-y", "--yes", "-q", "--quiet", "--bun"], &[]) {
            Some(name) if !disk.has_package(name) => OpenedFiles::Named(OF_NPM),
            _ => OpenedFiles::Any,
        },
        "uvx" => match package(
            &words,
            &["-q", "--quiet"],
            &["--from", "--with", "--python", "-p"],
        ) {
            Some(_) => OpenedFiles::Named(OF_UV),
            None => OpenedFiles::Any,
        },
        "docker" | "podman" if words.first() == Some(&"run") => NO_MORE,
        _ => OpenedFiles::Any,
    }
}

fn is_of_number(c: char) -> bool {
    c.is_ascii_digit() || c == '.'
}

/// The package that a runner is to fetch: the first word that is neither one of these flags nor the value of one of
/// these options; `None` if another option stands before it, or it is a path.
fn package<'a>(words: &[&'a str], flags: &[&str], options: &[&str]) -> Option<&'a str> {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if options.contains(word) {
            words.next();
        } else if !flags.contains(word) {
            let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.@/".contains(c);
            let is_package = word.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '@')
                && word.chars().all(is_name);
            return is_package.then_some(*word);
        }
    }
    None
}

/// Returns whether a variable with this value may make a program load code that the value does not name.
fn loads_unseen(variable: &McpValue) -> bool {
    let name = variable.name.to_ascii_uppercase();
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=,@ ".contains(c);
    let value = variable.value.as_ref().map(Secret::expose).unwrap_or_default();
    let is_search_path = name == "PATH" || name == "IFS";
    LOADERS.iter().any(|loader| name.starts_with(loader)) && (is_search_path || !value.chars().all(is_plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with `srv.py`, `run.sh` and the package `own`.
    struct Folder;

    impl Disk for Folder {
        fn is_script(&self, word: &str) -> bool {
            ["srv.py", "./srv.py", "./run.sh", "run.sh", "/ws/srv"].contains(&word)
        }

        fn has_package(&self, name: &str) -> bool {
            name == "own"
        }
    }

    fn of(line: &str, variables: &[(&str, &str)]) -> OpenedFiles {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let value = |(name, value): &(&str, &str)| McpValue {
            name: (*name).to_owned(),
            from: Vec::new(),
            value: Some(Secret::new(*value)),
        };
        let variables: Vec<McpValue> = variables.iter().map(value).collect();
        opened(&words[0], &words[1..], &variables, &Folder)
    }

    #[test]
    fn few_forms_are_known_to_open_only_what_they_name() {
        for line in [
            "python3 srv.py",
            "python3.12 -u -I srv.py --port 1",
            "/usr/bin/python3 srv.py",
        ] {
            assert!(matches!(of(line, &[]), OpenedFiles::Modules(_)), "{line}");
        }
        for line in ["./srv.py", "sh run.sh", "docker run -i mcp/git", "/ws/srv"] {
            assert_eq!(of(line, &[]), NO_MORE, "{line}");
        }
        for (line, files) in [
            ("npx -y @scope/server@1.2 .", OF_NPM),
            ("uvx --from git mcp-git", OF_UV),
        ] {
            assert_eq!(of(line, &[]), OpenedFiles::Named(files), "{line}");
        }
    }

    #[test]
    fn every_other_line_may_open_any_file() {
        for line in [
            "sh -c ./s*v.py",
            "python3 -c x",
            "python3 -m srv",
            "python3 -",
            "python3",
            "node -e x",
            "node --eval=x",
            "node -r ./srv.py run.sh",
            "perl -E x",
            "awk x",
            "find . -exec x",
            "env -S x",
            "xargs -a x sh",
            "git -c alias.x=!y x",
            "timeout 9 sh run.sh",
            "npm start",
            "make",
            "cargo run",
            "docker compose up",
            "npx own",
            "npx -y ./srv.py",
            "npx --package=x -c y",
            "uvx --with-editable . x",
            "unknown",
            "./missing",
            "/usr/bin/make",
            "node /usr/bin/npm start",
        ] {
            assert_eq!(of(line, &[]), OpenedFiles::Any, "{line}");
        }
    }

    #[test]
    fn a_variable_that_loads_code_has_to_name_it() {
        for (name, value, is_known) in [
            ("DATABASE_URL", "postgres://h/d?a=%20'", true),
            ("NODE_OPTIONS", "--require=./srv.py", true),
            ("NODE_OPTIONS", "--import=file:///proc/self/cwd/s%72v.mjs", false),
            ("BASH_ENV", "s*v.sh", false),
            ("GIT_CONFIG_VALUE_0", "!./s*", false),
            ("PATH", ":/usr/bin", false),
        ] {
            let opened = of("sh run.sh", &[(name, value)]);
            assert_eq!(opened != OpenedFiles::Any, is_known, "{name}={value}");
        }
    }
}
