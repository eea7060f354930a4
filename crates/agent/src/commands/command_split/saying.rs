//! Parts of a line that need no rule, because they only print words or change nothing: `echo "exit $?"`, `||
//! true`, `[ -d build ]`, `set -o pipefail`, `sleep 2`, and `cd` to the workspace, where each line begins.
//! This applies from version 9 of the rules.

/// Returns whether a command only prints its own words.
pub(crate) fn only_says(command: &str) -> bool {
    let (program, words) = command.split_once(' ').unwrap_or((command, ""));
    // Only `%s` of `printf`: with `%n` bash sets a variable.
    let known = ["$?", "\\n", "%s"].iter();
    let rest = known.fold(words.to_owned(), |rest, part| rest.replace(part, " "));
    let is_plain = |c: char| c.is_alphanumeric() || " '\"_.,:;=+-/!@()".contains(c);
    match program {
        "true" | ":" => words.is_empty(),
        "echo" => rest.chars().all(is_plain),
        // `-v` sets a variable.
        "printf" => rest.chars().all(is_plain) && !words.trim_start_matches(['\'', '"']).starts_with('-'),
        _ => false,
    }
}

/// Returns whether a command only waits, asks whether a file is there, or has the shell stop where a command
/// fails.
pub(crate) fn only_waits_or_asks(command: &str) -> bool {
    let words: Vec<&str> = command.split(' ').collect();
    let is_path = |word: &str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
        !word.is_empty() && !word.starts_with('-') && word.chars().all(is_plain)
    };
    let is_question = |option: &str| matches!(option, "-d" | "-e" | "-f" | "-L" | "-r" | "-s" | "-w" | "-x");
    match words.as_slice() {
        ["sleep", time] => (1..=3).contains(&time.len()) && time.bytes().all(|byte| byte.is_ascii_digit()),
        ["set", "-e" | "-u" | "-eu"] | ["set", "-o", "pipefail"] | ["set", "-eo" | "-euo", "pipefail"] => {
            true
        }
        ["test", option, path] | ["[", option, path, "]"] => is_question(option) && is_path(path),
        _ => false,
    }
}

/// Returns whether a command is `cd` to this directory, in which the line begins.
pub(crate) fn goes_to(command: &str, directory: &str) -> bool {
    let Some(word) = command.strip_prefix("cd ") else {
        return false;
    };
    let quoted = ['\'', '"']
        .iter()
        .find_map(|quote| word.strip_prefix(*quote)?.strip_suffix(*quote));
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+".contains(c) || (c == ' ' && quoted.is_some());
    let word = quoted.unwrap_or(word);
    word.chars().all(is_plain) && (matches!(word, "." | "./") || word == directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_constant_words_are_said() {
        for command in [
            "true",
            ":",
            "echo",
            "echo ok",
            "echo -n ok",
            "echo \"exit $?\"",
            "echo '(done)'",
            "printf 'ok\\n'",
            "printf \"%s\\n\" ok",
        ] {
            assert!(only_says(command), "{command}");
        }
        for command in [
            "true x",
            "echo $HOME",
            "echo ${x}",
            "echo $$",
            "echo $$??",
            "echo `x`",
            "echo *",
            "echo ~",
            "echo a\\\\n",
            "printf -v PATH .",
            "printf '-v' PATH .",
            "printf a%n PATH",
            "printf %%sn PATH",
            "printf a%\\ns PATH",
            "./echo x",
            "false",
            "exit 1",
        ] {
            assert!(!only_says(command), "{command}");
        }
    }

    #[test]
    fn only_known_words_wait_or_ask() {
        for command in [
            "sleep 2",
            "set -e",
            "set -o pipefail",
            "set -euo pipefail",
            "test -f a/b.txt",
            "[ -d build ]",
        ] {
            assert!(only_waits_or_asks(command), "{command}");
        }
        for command in [
            "sleep",
            "sleep 1000",
            "sleep x",
            "set",
            "set -x",
            "set -o noglob",
            "set -- a",
            "test -v a",
            "test -f $X",
            "test -f *",
            "test -f 'a[0]'",
            "test a -ef b",
            "[ -d build",
            "[ -t 0 ]",
            "[[ -d build ]]",
        ] {
            assert!(!only_waits_or_asks(command), "{command}");
        }
    }

    #[test]
    fn only_the_directory_itself_is_gone_to() {
        for command in ["cd .", "cd ./", "cd /ws", "cd '/ws'", "cd \"/ws\""] {
            assert!(goes_to(command, "/ws"), "{command}");
        }
        for command in [
            "cd",
            "cd /",
            "cd sub",
            "cd /ws/sub",
            "cd ..",
            "cd /ws/..",
            "cd -",
            "cd ~",
            "cd $X",
            "cd /ws x",
            "cd -P .",
            "pushd .",
        ] {
            assert!(!goes_to(command, "/ws"), "{command}");
        }
        assert!(goes_to("cd '/a b'", "/a b") && !goes_to("cd /a b", "/a b") && !goes_to("cd /$x", "/$x"));
    }
}
