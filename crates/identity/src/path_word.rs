//! A path as a word of a shell's command line: hints print commands that a person pastes.

use std::path::Path;

/// Returns the path as one word that a POSIX shell, and the program that gets it, read as this path.
pub fn path_word(path: &Path) -> String {
    let text = path.to_string_lossy();
    // To a program a word that begins with `-` is an option.
    let text = if text.starts_with('-') {
        format!("./{text}")
    } else {
        text.into_owned()
    };
    agentx_types::shell_word(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word_whatever_is_in_it() {
        for (path, word) in [
            ("/home/ada/.local/key", "/home/ada/.local/key"),
            ("/home/größe", "/home/größe"),
            ("/my data/key", "'/my data/key'"),
            ("-k.pem", "./-k.pem"),
            ("/a'b; rm -rf c", r"'/a'\''b; rm -rf c'"),
            ("$(x)", "'$(x)'"),
            ("", "''"),
        ] {
            assert_eq!(path_word(Path::new(path)), word);
        }
    }
}
