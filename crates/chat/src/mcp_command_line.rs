//! The command line of an MCP server as a person types it, in a form that means the same from every directory.

use std::path::Path;

use agentx::config::McpServerSettings;

/// The settings of a server that is a program, which any directory may be the current one of.
pub(crate) fn program_of(name: &str, program: &str, arguments: &[String]) -> McpServerSettings {
    let here = std::env::current_dir().unwrap_or_default();
    let arguments = arguments.iter().map(|word| file_from_here(word, &here));
    // A program without a slash is found in PATH, whatever lies here under its name.
    let program = if program.contains('/') {
        file_from_here(program, &here)
    } else {
        program.to_owned()
    };
    McpServerSettings::program(name, program, arguments, ".")
}

/// Returns the absolute path of a file that a word of a command line names from the directory `here`; other words
/// stay as they are. A server is started in any directory, where a relative path would name another file.
fn file_from_here(word: &str, here: &Path) -> String {
    let path = Path::new(word);
    let is_file = path.is_relative() && here.join(path).is_file();
    let is_path = word.contains('/') || path.extension().is_some();
    if !(is_file && is_path) {
        return word.to_owned();
    }
    // A link stays one: an interpreter in a virtual environment knows it by that.
    let absolute = std::path::absolute(here.join(path));
    absolute.map_or_else(|_| word.to_owned(), |path| path.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::file_from_here;

    #[test]
    fn files_of_a_command_line_are_found_from_every_directory() {
        let here = tempfile::tempdir().unwrap();
        for file in ["server.py", "plain"] {
            std::fs::write(here.path().join(file), "").unwrap();
        }
        let absolute = |file: &str| here.path().join(file).to_string_lossy().into_owned();
        let read = |word: &str| file_from_here(word, here.path());
        assert_eq!(read("server.py"), absolute("server.py"));
        assert_eq!(read("./plain"), absolute("plain"));
        for word in ["plain", "other.py", ".", "--port=1.5", "/bin/sh"] {
            assert_eq!(read(word), word);
        }
    }
}
