//! The command line of an MCP server as a person types it, in a form that means the same from every
//! directory.

use std::path::Path;

use agentx::config::{McpServerSettings, path_of_directory};

/// The settings of a server that is a program, which any directory may be the current one of. If a word that
/// stays relative means something here, the server belongs to this directory and starts in it.
pub(crate) fn program_of(name: &str, program: &str, arguments: &[String]) -> McpServerSettings {
    program_from(
        name,
        program,
        arguments,
        &std::env::current_dir().unwrap_or_default(),
    )
}

fn program_from(name: &str, program: &str, arguments: &[String], here: &Path) -> McpServerSettings {
    let arguments: Vec<String> = arguments.iter().map(|word| file_from_here(word, here)).collect();
    // A program without a slash is found in PATH, even if a file of that name is here.
    let program = if program.contains('/') {
        file_from_here(program, here)
    } else {
        program.to_owned()
    };
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let directory = match path_of_directory(&words, here) {
        Some(_) => here,
        None => Path::new("."),
    };
    McpServerSettings::program(name, program, arguments, directory)
}

/// Returns the absolute path of a file that a word of a command line names from the directory `here`; other
/// words stay as they are. A server is started in any directory, where a relative path would name another
/// file.
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
    use agentx::config::McpTarget;

    use super::{file_from_here, program_from};

    #[test]
    fn a_server_whose_words_stay_relative_belongs_to_the_directory_where_it_is_added() {
        let here = tempfile::tempdir().unwrap();
        let inner = here.path().join("inner");
        std::fs::create_dir_all(inner.join("tools")).unwrap();
        for file in ["inner/c.json", "inner/srv.py", "inner/tools/s.py"] {
            std::fs::write(here.path().join(file), "").unwrap();
        }
        let starts_in = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            match program_from("mine", &words[0], &words[1..], &inner).target {
                McpTarget::Program { directory, .. } => directory,
                McpTarget::Address { .. } => panic!("it is a program"),
            }
        };
        for line in [
            "uv --directory ../inner run srv",
            "uv --directory=./tools run s.py",
            "node --config=./c.json",
            "docker run -v ./tools:/data img",
            "python3 -m srv",
            "python3 -m tools.s",
        ] {
            assert_eq!(starts_in(line), inner, "{line}");
        }
        for line in [
            "npx -y @some/server .",
            "srv tools",
            "python3 tools/s.py",
            "docker run mcp/git",
        ] {
            assert_eq!(starts_in(line), std::path::Path::new("."), "{line}");
        }
    }

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
