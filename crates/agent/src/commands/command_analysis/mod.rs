//! Finds all commands that a command line may run, for rules that ask or deny, even if they are quoted,
//! escaped, wrapped or passed to a shell.
//!
//! It finds more commands than run. A determined author can still hide a command, which only a sandbox
//! prevents; if a line plainly hides something, the result says so (`hides`). The narrow reading, for rules
//! that allow, is [`crate::commands::command_split`] (decision 021 in `issues/`).
//!
//! The steps of the analysis:
//!
//! | step | file |
//! | --- | --- |
//! | reads a line, its commands, and the commands that those run | `traversal` |
//! | splits it into words as bash does, and makes names of braces and globs | `lex` |
//! | finds the command within a command (`sudo`, `env`, `sh -c`), and commands whose words, files or variables name programs to run | `programs`, `loaders` |
//! | makes the forms of a command that rules are compared with | `command_forms` |
//! | finds commands that get input, and those that may run it | `piped_input`, `programs` |
//! | collects files, whole folders and texts | `named_files`, `mentioned_commands` |
//! | joins unknown beginnings of names with values of the line | `named_files::given_values` |
//! | finds words that may become options | `option_globs` |
//! | reads the parts that bash expands a second time | `subscripts`, `descriptors` |
//! | compares names and commands with marks to patterns | `overlap` |
//!
//! Every recursion and every list has a bound (`DEPTH`, `WRAPPERS`, `MOST_OPEN`). A line that reaches one of
//! them hides something, so a long line does not evade a rule.
//!
//! Each later version of the rules sees more. A flag of [`CommandAnalysis`] with the name of the addition
//! represents the version: `closer` (1), `names` (5), `feeds` (7), `expands_twice` (9).

mod command_forms;
mod descriptors;
mod lex;
mod loaders;
mod mentioned_commands;
mod named_files;
mod option_globs;
mod overlap;
mod piped_input;
mod programs;
mod subscripts;
mod traversal;

use agentx_types::{RULES_VERSION, since};
use named_files::given_values::GivenValues;

pub(crate) use lex::expand::{ANYTHING, STAR};
pub(crate) use lex::word::BLANK;
pub(crate) use option_globs::OptionGlob;
pub(crate) use overlap::path_overlap::{
    ComparedSize, PathOverlap, is_compared, meeting, names_behind_stars, names_path, reaches,
};
pub(crate) use overlap::pattern_overlap::{may_fit, names_meet};
pub(crate) use programs::data_consumers::sed_does;
pub(crate) use programs::subcommands::OF_GIT;
pub(crate) use programs::wrapper_commands::{basename, is_wrapper};

/// Maximum depth of commands within commands.
const DEPTH: usize = 5;
/// Maximum number of commands before a command, such as `sudo env`.
const WRAPPERS: usize = 12;
/// Maximum number of commands of a line that run another one as `uv run` does.
const LAUNCHES: usize = 16;
/// Maximum number of commands with unknown parts to check. A line with more of them counts as hiding
/// something.
const MOST_OPEN: usize = 200;

/// All commands that a command line may run, and the files that it may open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandAnalysis {
    /// The commands in each form in which a rule may name them: unchanged, without quotes, without the
    /// commands before them, without the program's directory and the options before its subcommand.
    pub commands: Vec<String>,
    /// The same as commands that bash would run, with [`BLANK`] instead of a blank within a word.
    pub(crate) in_words: Vec<String>,
    /// Words that may be paths: arguments, values of options and assignments, targets of redirections.
    pub paths: Vec<String>,
    /// Whether the line runs something that cannot be known from it: a program that a variable names, a shell
    /// that reads a pipe, a quote without an end, or more levels than are followed.
    pub hides: bool,
    /// Commands that may run and are only partly known, with a NUL in place of a variable, a glob or a
    /// substitution, and words that a program may run as a command. From version 1 of the rules on.
    pub open: Vec<String>,
    /// Whether version 1 of the rules or a later one reads the line.
    closer: bool,
    /// Files that run as scripts. The content of a script that the line itself writes is not known.
    scripts: Vec<String>,
    /// Files that the line may write.
    written: Vec<String>,
    /// Names that may be paths and are only partly known, with marks for [`overlap`]. From version 5 of
    /// the rules on, as `unnamed`.
    pub(crate) globs: Vec<String>,
    /// Whether it opens files whose names cannot be known from it: `find | xargs cat`.
    pub(crate) unnamed: bool,
    /// Whether version 5 of the rules or a later one reads the line.
    names: bool,
    /// Whether globs also match names that begin with a dot.
    dots: bool,
    /// Whether version 7 of the rules or a later one reads the line.
    feeds: bool,
    /// Whether version 9 of the rules or a later one reads the line.
    expands_twice: bool,
    /// Whether the line contains something that no `*` of an allow rule covers: a substitution in the
    /// subscript of a quoted word or in the target of `>&`, or a carriage return, which a shell does not
    /// treat as a blank.
    pub(crate) beyond_stars: bool,
    /// Whether the current command gets input.
    fed: bool,
    /// Whether the current command gets arguments from its input, as behind `xargs`.
    piped_args: bool,
    /// Whether those arguments are names of existing files.
    listed: bool,
    /// The folders in which relative paths may begin after a `cd`, or in a home after `HOME=…`.
    folders: Vec<String>,
    /// The number of commands that run another one as `uv run` does.
    launches: usize,
    /// Whether the line sets a variable with the path of a home or another folder.
    homes: bool,
    /// The folders in which the current command works because of an option, such as `env -C DIR`.
    command_folders: Vec<String>,
    /// Texts that programs may run, or from which they may read commands.
    pub(crate) texts: Vec<String>,
    /// Names of programs that the line copies to another name.
    copied: Vec<String>,
    /// The names of programs whose path the line looks up.
    located: Vec<String>,
    /// Whether the line copies any file to another name.
    copies: bool,
    /// Names and globs of folders on which a command acts with everything in them. From version 9 of the
    /// rules on, as the field below.
    pub(crate) folders_taken: Vec<String>,
    /// Names and globs of folders in which the line finds names of files that it opens: `find ~ | xargs cat`.
    pub(crate) folders_found: Vec<String>,
    /// Whether the current line is a substitution, so that its output becomes words of another command.
    substituted: bool,
    /// Names and globs of files that the line writes because the words of a command or a redirection name
    /// them.
    pub(crate) files_written: Vec<String>,
    /// Values that the line gives to variables, positions and substitutions.
    given: GivenValues,
    /// Names that words become by these values, as paths and with marks. They count for guarded files alone,
    /// as the fields below.
    pub(crate) joined: Vec<String>,
    /// Such names of folders on which a command acts with everything in them.
    pub(crate) folders_joined: Vec<String>,
    /// Names with unknown parts that no command opens by itself: in the words of `echo`, in assignments.
    pub(crate) spoken: Vec<String>,
    /// Texts in other languages, and texts that become files which the line may run.
    pub(crate) code: Vec<String>,
    /// Words that may become options by the names of files.
    pub(crate) option_globs: Vec<OptionGlob>,
}

/// Reads a command line by the latest version of the rules.
///
/// ```
/// use agentx_agent::command_analysis::read;
/// let reading = read("cd x && sudo -u me sh -c 'r\\m -rf y'");
/// assert!(reading.commands.iter().any(|command| command == "rm -rf y"));
/// assert!(!reading.hides);
/// assert!(read("curl x.com | sh").hides);
/// ```
///
/// | line | [`hides`](CommandAnalysis::hides) | because |
/// | --- | --- | --- |
/// | `echo $X`, `ls *.rs`, `echo $(date)` | no | the programs are known |
/// | `bash x.sh` | no | the script is a file that is named |
/// | `$X -rf /`, `sudo $X`, `/bin/r? x` | yes | a variable or a glob names the program |
/// | `curl x \| sh`, `bash -s` | yes | a shell reads its commands from its input |
/// | `eval "$x"`, `sh -c "$x"` | yes | a variable has the commands |
/// | `echo 'a` | yes | the quote has no end |
pub fn read(line: &str) -> CommandAnalysis {
    read_as(line, RULES_VERSION)
}

/// Reads a command line as this version of the rules does (see [`RULES_VERSION`]).
///
/// The reading of a logged line depends on the version of its session:
///
/// ```
/// use agentx_agent::command_analysis::{read, read_as};
/// assert!(read_as("echo ${x:-${y}}", 8).hides);
/// assert!(!read("echo ${x:-${y}}").hides);
/// ```
pub fn read_as(line: &str, version: u32) -> CommandAnalysis {
    read_in(Vec::new(), line, version)
}

/// Reads text that is typed into a program nobody knows: as a command line, and as a text in which that
/// program may find commands and names of files. A key that edits the line, such as Backspace, hides what the
/// program reads, and so does a sign by which a shell recalls an earlier line.
pub(crate) fn read_typed(text: &str, version: u32) -> CommandAnalysis {
    let mut reading = read_as(text, version);
    let has_keys = text.chars().any(|c| c.is_control() && c != '\n');
    let is_changed = has_keys || recalls_a_line(text);
    reading.hides |= is_changed;
    reading.beyond_stars |= is_changed;
    reading.texts.push(text.to_owned());
    reading.note_code(text);
    reading
}

/// Returns whether a shell on a terminal may put a part of an earlier line into this text: `!r`, `!!`,
/// `^old^new` (<https://www.gnu.org/software/bash/manual/bash.html#Event-Designators>).
fn recalls_a_line(text: &str) -> bool {
    let is_event = |next: char| !next.is_whitespace() && !"=(\"".contains(next);
    let follows = |at: usize| text[at + 1..].chars().next();
    text.lines().any(|line| line.starts_with('^'))
        || text
            .match_indices('!')
            .any(|(at, _)| follows(at).is_some_and(is_event))
}

/// Reads one command of a line, in the folders that the line goes to.
pub(crate) fn read_within(outer: &CommandAnalysis, command: &str, version: u32) -> CommandAnalysis {
    let folders = match version {
        since::EXPANDED_TWICE.. => outer.folders.clone(),
        _ => Vec::new(),
    };
    read_in(folders, command, version)
}

/// Reads a command line whose relative paths may begin in these folders.
fn read_in(folders: Vec<String>, line: &str, version: u32) -> CommandAnalysis {
    let mut reading = CommandAnalysis {
        folders,
        closer: version >= since::HIDDEN_COMMANDS_ASKED,
        names: version >= since::PATH_RULES_SEE_COMMAND_LINES,
        feeds: version >= since::INPUT_MAY_RUN,
        expands_twice: version >= since::EXPANDED_TWICE,
        beyond_stars: version >= since::CARRIAGE_RETURNS_ARE_WORDS && line.contains('\r'),
        dots: line.contains("dotglob")
            || line.contains("globdots")
            || line.contains("GLOB_DOTS")
            || (version >= since::UNKNOWN_BEGINNINGS && line.contains("GLOBIGNORE")),
        ..CommandAnalysis::default()
    };
    reading.line(line, DEPTH);
    reading.hides |= reading.closer && reading.runs_what_it_writes();
    reading.hides |= reading.open.len() > MOST_OPEN;
    reading
}

#[cfg(test)]
mod tests;
