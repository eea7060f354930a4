//! Parts of a line that need no rule, because they only print words or change nothing: `echo "exit $?"`, `|| true`,
//! and `cd` to the workspace, where each line begins. From version 9 of the rules on.

/// Returns whether a command only writes words of its own to its output.
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
