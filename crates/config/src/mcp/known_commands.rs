//! The command lines of a folder that are known to run only what they name.
//!
//! A person trusts a command line with the files that it runs. For most programs, the line does not show
//! which files they open: `make`, `npm start`, `awk`, `sh -c`, a script for a shell. So only the forms here
//! count as known; every other line counts as one that may run the whole folder, and any change of the folder
//! asks again.

use agentx_llm::Secret;

use crate::mcp::McpValue;

/// The files of the folder that a command line opens, besides those that its words name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OpenedFiles<'a> {
    /// Only a known part.
    Known {
        /// Settings of the program, in its directory and those above.
        settings: &'static [&'static str],
        /// Texts with the files that it may run: each may load all files around it. Empty if it runs no file
        /// of the folder.
        scripts: Vec<&'a str>,
    },
    /// Any file of the folder.
    Any,
}

/// Settings of npm that decide which program `npx` runs, and how.
const OF_NPM: &[&str] = &[
    ".npmrc",
    "package.json",
    "bunfig.toml",
    "pnpm-workspace.yaml",
    ".pnpmfile.cjs",
];
/// Settings of uv.
const OF_UV: &[&str] = &["uv.toml", "pyproject.toml", ".python-version"];
/// Programs that load code from the directory of their script. A shell starts programs by any path.
const INTERPRETERS: [&str; 5] = ["python", "node", "ruby", "perl", "lua"];
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

/// The view of the file system that [`opened`] needs.
pub(crate) trait Disk {
    /// Returns whether a word is a file of the folder, or a directory of it, that an interpreter can run.
    fn is_script(&self, word: &str) -> bool;
    /// The program that the first line of a script of the folder names, if it is the whole path of one
    /// outside of the folder, by itself or after `env`, without an option.
    fn interpreter(&self, word: &str) -> Option<String>;
    /// Returns whether a script of the folder has a first line that [`interpreter`](Self::interpreter) does
    /// not understand: interpreters also obey some of its options.
    fn has_odd_first_line(&self, word: &str) -> bool;
    /// Returns whether a path leads into the folder, or is written as if it did.
    fn is_of_folder(&self, path: &str) -> bool;
    /// Returns whether the folder itself holds a package of this name.
    fn has_package(&self, name: &str) -> bool;
}

/// Returns which files a command line with these variables opens.
pub(crate) fn opened<'a>(
    command: &'a str,
    arguments: &'a [String],
    variables: &'a [McpValue],
    disk: &dyn Disk,
) -> OpenedFiles<'a> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let values = variables.iter().filter_map(|variable| variable.value.as_ref());
    let mut texts = words
        .iter()
        .copied()
        .chain(values.map(Secret::expose))
        .chain([command]);
    // `/proc` contains the directories of other processes, and of this one.
    if texts.any(|text| text.contains("/proc/")) {
        return OpenedFiles::Any;
    }
    let loaders: Vec<&McpValue> = variables.iter().filter(|variable| is_loader(variable)).collect();
    let known =
        known(command, &words, disk).filter(|_| loaders.iter().all(|loader| shows_what_it_loads(loader)));
    let Some((settings, mut scripts)) = known else {
        return OpenedFiles::Any;
    };
    let values = loaders.into_iter().filter_map(|loader| loader.value.as_ref());
    scripts.extend(values.map(Secret::expose));
    OpenedFiles::Known { settings, scripts }
}

/// The settings and scripts of a line of one of the known forms.
fn known<'a>(
    command: &'a str,
    words: &[&'a str],
    disk: &dyn Disk,
) -> Option<(&'static [&'static str], Vec<&'a str>)> {
    if command.contains('/') && disk.is_script(command) {
        let program = disk.interpreter(command)?;
        return is_interpreter(&program).then(|| (&[] as &[_], vec![command]));
    }
    if command.contains('/') && (!command.starts_with('/') || disk.is_of_folder(command)) {
        return None;
    }
    let program = command.rsplit('/').next().unwrap_or(command);
    let settings = match program {
        _ if is_interpreter(program) => {
            let flags = if program.starts_with("python") {
                OF_PYTHON
            } else {
                &[]
            };
            let script = words.iter().find(|word| !flags.contains(word))?;
            let is_plain = disk.is_script(script) && !disk.has_odd_first_line(script);
            return is_plain.then(|| (&[] as &[_], vec![*script]));
        }
        "npx" | "bunx" | "pnpx" => {
            let name = package(words, &["-y", "--yes", "-q", "--quiet", "--bun"], &[])?;
            (!disk.has_package(name)).then_some(OF_NPM)?
        }
        "uvx" => {
            let options = ["--from", "--with", "--python", "-p"];
            package(words, &["-q", "--quiet"], &options).map(|_| OF_UV)?
        }
        "docker" | "podman" if words.first() == Some(&"run") => &[],
        _ => return None,
    };
    // The line does not show which of the words are programs: `npx tsx server.ts`.
    Some((settings, words.to_vec()))
}

/// Returns whether a program is one of the interpreters, with or without a version: `python3.12`.
fn is_interpreter(program: &str) -> bool {
    let is_version = |rest: &str| rest.chars().all(is_of_number);
    INTERPRETERS
        .iter()
        .any(|name| program.strip_prefix(name).is_some_and(is_version))
}

fn is_of_number(c: char) -> bool {
    c.is_ascii_digit() || c == '.'
}

/// The package that a runner is to fetch: the first word that is neither one of these flags nor the value of
/// one of these options; `None` if another option precedes it, or it is a path.
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

/// Returns whether a program may load code by this variable.
fn is_loader(variable: &McpValue) -> bool {
    let name = variable.name.to_ascii_uppercase();
    LOADERS.iter().any(|loader| name.starts_with(loader))
}

/// Returns whether the value of such a variable names the code that it loads.
fn shows_what_it_loads(variable: &McpValue) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=,@ ".contains(c);
    let value = variable.value.as_ref().map(Secret::expose).unwrap_or_default();
    let name = variable.name.to_ascii_uppercase();
    let is_search_path = name == "PATH" || name == "IFS";
    // An empty part of a list of directories is the working directory.
    let has_empty_part = value.contains(':') && value.split(':').any(str::is_empty);
    !is_search_path && !has_empty_part && value.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with `srv.py`, `run.sh` and the package `own`.
    struct Folder;

    impl Disk for Folder {
        fn is_script(&self, word: &str) -> bool {
            ["srv.py", "./srv.py", "./run.sh", "run.sh", "/ws/srv", "odd.py"].contains(&word)
        }

        fn interpreter(&self, word: &str) -> Option<String> {
            let programs = [("./srv.py", "python3.12"), ("./run.sh", "sh")];
            let found = programs.iter().find(|(script, _)| *script == word);
            found.map(|(_, program)| (*program).to_owned())
        }

        fn has_odd_first_line(&self, word: &str) -> bool {
            word == "odd.py"
        }

        fn is_of_folder(&self, path: &str) -> bool {
            path.starts_with("/ws/")
        }

        fn has_package(&self, name: &str) -> bool {
            name == "own"
        }
    }

    /// The settings and scripts of a line, as one text; `None` if it may open any file.
    fn of(line: &str, variables: &[(&str, &str)]) -> Option<String> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let value = |(name, value): &(&str, &str)| McpValue {
            name: (*name).to_owned(),
            from: Vec::new(),
            value: Some(Secret::new(*value)),
        };
        let variables: Vec<McpValue> = variables.iter().map(value).collect();
        match opened(&words[0], &words[1..], &variables, &Folder) {
            OpenedFiles::Any => None,
            OpenedFiles::Known { settings, scripts } => Some([settings, &scripts].concat().join(" ")),
        }
    }

    #[test]
    fn few_forms_are_known_to_run_only_what_they_name() {
        let (npm, uv) = (OF_NPM.join(" "), OF_UV.join(" "));
        for (line, expected) in [
            ("python3 srv.py", "srv.py".to_owned()),
            ("python3.12 -u -I srv.py --port 1", "srv.py".to_owned()),
            ("/usr/bin/python3 srv.py", "srv.py".to_owned()),
            ("node srv.py", "srv.py".to_owned()),
            ("./srv.py --port 1", "./srv.py".to_owned()),
            ("docker run -i mcp/git", "run -i mcp/git".to_owned()),
            (
                "npx -y @scope/server@1.2 .",
                format!("{npm} -y @scope/server@1.2 ."),
            ),
            ("uvx --from git mcp-git", format!("{uv} --from git mcp-git")),
        ] {
            assert_eq!(of(line, &[]), Some(expected), "{line}");
        }
    }

    #[test]
    fn every_other_line_may_open_any_file() {
        for line in [
            "sh run.sh",
            "./run.sh",
            "/ws/srv",
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
            "perl odd.py",
            "/ws/.venv/bin/python srv.py",
            "python3 srv.py /proc/self/cwd/x",
        ] {
            assert_eq!(of(line, &[]), None, "{line}");
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
            ("PYTHONPATH", "src", true),
            ("PYTHONPATH", ":src", false),
            ("PYTHONPATH", "src:", false),
            ("HOME", "/proc/self/cwd", false),
        ] {
            let opened = of("node srv.py", &[(name, value)]);
            assert_eq!(opened.is_some(), is_known, "{name}={value}");
            let is_loader = opened.is_some_and(|texts| texts.ends_with(value));
            assert_eq!(is_loader, is_known && name != "DATABASE_URL", "{name}={value}");
        }
    }
}
