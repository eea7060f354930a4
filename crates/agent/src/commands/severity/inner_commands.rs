//! Programs with their own language that can run a shell command or write a file: databases, editors, `ssh`.
//! No star matches words that may contain such a command.
//!
//! | program | what a star does not stand for |
//! | --- | --- |
//! | `sqlite3`, `duckdb` | commands with a dot that are not listed as harmless, and SQL that loads code or touches other files |
//! | `psql` | commands with a backslash, except those that describe |
//! | `mysql` | words that run a command, or read or write a file of this machine |
//! | `ssh`, `scp`, `sftp` | settings that name a program, a library or another file with settings |
//! | `vi` and its family, `nano`, `emacs` | words that begin with `+` |
//! | `ed`, `dc`, `ftp`, `lftp` | words with `!` |
//!
//! From version 9 of the rules on.

use crate::commands::command_analysis::{ANYTHING, BLANK};

/// Commands of `sqlite3` that show something, and run, load and write nothing. Others may be written by their
/// beginning.
#[rustfmt::skip]
const OF_SQLITE: &[&str] = &[
    ".bail", ".changes", ".databases", ".dbconfig", ".dbinfo", ".dump", ".echo", ".eqp", ".explain", ".fullschema",
    ".headers", ".help", ".indexes", ".indices", ".limit", ".mode", ".nullvalue", ".print", ".quit", ".schema",
    ".separator", ".show", ".stats", ".tables", ".timeout", ".timer", ".version", ".width",
];

/// Parts of SQL with which `sqlite3` and `duckdb` load code, or read and write other files.
#[rustfmt::skip]
const SQL_OF_FILES: &[&str] = &[
    "attach", "copy", "edit(", "export", "import", "install", "load", "readfile", "read_", "vacuum", "writefile",
];

/// Beginnings of commands of `psql` that only show something.
const OF_PSQL: &[&str] = &["\\d", "\\l", "\\z", "\\x", "\\conninfo", "\\timing"];

/// Words by which `mysql` runs a command, or reads or writes a file of this machine.
#[rustfmt::skip]
const OF_MYSQL: &[&str] = &[
    "\\", "system", "source", "pager", "tee", "edit", "outfile", "dumpfile", "load",
];

/// Settings of `ssh` that name a program, a library or another file with settings.
#[rustfmt::skip]
const OF_SSH: &[&str] = &[
    "proxycommand", "localcommand", "knownhostscommand", "provider", "xauthlocation", "include",
];

/// Returns what the words of a program may run or write, as it would be written in a pattern:
/// `sqlite3 COMMAND`.
pub(super) fn inner_command(program: &str, words: &[&str]) -> Option<&'static str> {
    let lower: Vec<String> = words
        .iter()
        .map(|word| word.to_lowercase().replace(BLANK, " "))
        .collect();
    let has = |parts: &[&str]| {
        let holds = |word: &String| word.contains(ANYTHING) || parts.iter().any(|part| word.contains(part));
        lower.iter().any(holds)
    };
    let is_unclear = match program {
        "sqlite3" | "sqlite" | "duckdb" => {
            // The name of a database may begin with a dot, too.
            let runs =
                |word: &String| word.starts_with('.') && !OF_SQLITE.contains(&first(word)) && !is_path(word);
            lower.iter().any(runs) || has(SQL_OF_FILES)
        }
        "psql" => {
            let shows = |word: &String| {
                let is_one = word.matches('\\').count() == 1 && !word.contains(['|', '`', '!']);
                is_one
                    && OF_PSQL
                        .iter()
                        .any(|command| word.trim_start().starts_with(command))
            };
            has(&["program"]) || lower.iter().any(|word| word.contains('\\') && !shows(word))
        }
        "mysql" | "mariadb" => has(OF_MYSQL),
        "ssh" | "scp" | "sftp" => has(OF_SSH),
        "ed" | "red" | "dc" | "ftp" | "lftp" => has(&["!"]),
        "vi" | "vim" | "nvim" | "view" | "gvim" | "rvim" | "ex" | "nano" | "emacs" | "emacsclient" => {
            words.iter().any(|word| word.starts_with('+'))
        }
        _ => false,
    };
    is_unclear.then_some("COMMAND")
}

/// Returns the name of a command with a dot: what stands before the first blank.
fn first(text: &str) -> &str {
    text.split(' ').next().unwrap_or_default()
}

/// Returns whether a word is written like a path from here: `./a.db`, `../a.db`.
fn is_path(word: &str) -> bool {
    (word.starts_with("./") || word.starts_with("../")) && !word.contains([' ', '|'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(line: &str) -> bool {
        let words: Vec<String> = line.split(' ').map(|word| word.replace('_', "\u{1}")).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        inner_command(words[0], &words[1..]).is_some()
    }

    #[test]
    fn words_in_which_a_command_may_be_are_told_from_others() {
        for line in [
            "sqlite3 a.db .shell_ls",
            "sqlite3 a.db .sh_ls",
            "sqlite3 a.db .system_ls",
            "sqlite3 a.db .import_|ls_t",
            "sqlite3 a.db .output_|ls",
            "sqlite3 a.db .once_x",
            "sqlite3 a.db .load_./x",
            "sqlite3 a.db .read_x",
            "sqlite3 a.db select_LOAD_extension('x')",
            "sqlite3 a.db attach_'x'_as_y",
            "duckdb a.db copy_t_to_'x'",
            "psql -c \\!_ls",
            "psql -c select_1_\\g_|ls",
            "psql -c \\copy_t_from_PROGRAM_'ls'",
            "psql -c \\d_t_\\!_ls",
            "mysql -e system_ls",
            "mysql -e \\!_ls",
            "mysql -e select_1_into_outfile_'x'",
            "ssh -o ProxyCommand=ls host",
            "ssh -oproxycommand=ls host",
            "ed !ls",
            "dc -e !ls",
            "lftp -c !ls",
            "vim +!ls",
        ] {
            assert!(runs(line), "{line}");
        }
        for line in [
            "sqlite3 a.db .tables",
            "sqlite3 ./a.db .schema_t",
            "sqlite3 -header a.db select_*_from_t",
            "psql -c \\dt",
            "psql -c select_1",
            "mysql -e show_tables",
            "ssh -p 22 host ls",
            "vim a.txt",
        ] {
            assert!(!runs(line), "{line}");
        }
    }
}
