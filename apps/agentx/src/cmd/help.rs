//! `agentx help`: explains a command, or prints one of the tables that are made from the code.

use agentx::config::{KEYS, OTHER_VARIABLES, VARIABLES, WorkspaceMay};
use clap::CommandFactory as _;

use crate::args::Cli;
use crate::console::Console;
use crate::error::ChatError;
use crate::exit::{self, Exit};
use crate::render::table::table;
use crate::render::wrapped_text::wrap_lines;

/// Explains a topic.
pub(crate) fn run(topic: &[String], console: &mut Console) -> Result<Exit, ChatError> {
    let text = match topic {
        [word] if word == "exit-codes" => format!("Exit codes:\n\n{}", exit::table()),
        [word] if word == "settings" => settings(if console.terminal.output {
            console.terminal.width
        } else {
            // Another program reads it: the rows of a table would be too long.
            PIPED
        }),
        words => command(words)?,
    };
    console.out(&text)?;
    Ok(Exit::Ok)
}

const PIPED: usize = 100;

fn command(words: &[String]) -> Result<String, ChatError> {
    let mut root = Cli::command();
    root.build();
    Ok(find(&mut root, words)?.render_long_help().to_string())
}

const SCREEN: [(&str, &[&str]); 6] = [
    ("talk", &["chat", "run", "resume", "rewind", "fork"]),
    (
        "look",
        &[
            "watch", "show", "diff", "replay", "context", "cache", "usage", "sessions",
        ],
    ),
    (
        "agents",
        &[
            "agents",
            "tools",
            "mcp",
            "memory",
            "models",
            "reactors",
            "approvals",
        ],
    ),
    ("servers", &["serve", "mirror", "identity"]),
    ("settings", &["config", "doctor", "sandbox", "completions", "man"]),
    ("more", &["debug", "help"]),
];

/// Returns the text of `agentx --help`: a screen of 24 rows.
pub(crate) fn screen() -> String {
    let mut text = String::from(
        "Run agents: chat in a terminal, headless runs, sessions that keep every event\n\n\
         Usage: agentx [OPTIONS] [COMMAND]          `agentx` alone opens a chat\n\n",
    );
    for (what, commands) in SCREEN {
        text.push_str(&format!("  {what:<10}{}\n", commands.join("  ")));
    }
    text.push_str(
        "\nOptions:\n\
         \u{20} -p, --print          Run one prompt and print the answer, as `agentx run`\n\
         \u{20} -c, --continue       Continue the latest session of this directory\n\
         \u{20} -r, --resume [ID]    Continue this session, or choose one\n\
         \u{20} -m, --model <NAME>   Use this model: an id, an alias, or PROVIDER/ID\n\
         \u{20}     --agent <NAME>   Use this agent from `.agentx/agents` or your own files\n\
         \u{20} -y, --yes            Allow every call that no rule denies, without asking\n\
         \u{20}     --connect <URL>  Run the command against this server\n\
         \u{20}     --data <DIR>     Keep sessions in this directory\n\
         \u{20}     --json           Print lists and reports as JSON\n\
         \u{20} -h, --help           Print short help of a command; -V, --version\n\n\
         `agentx help` lists every command; `agentx help COMMAND` explains one.\n",
    );
    text
}

/// The command that these words name.
pub(crate) fn find<'a>(
    root: &'a mut clap::Command,
    words: &[String],
) -> Result<&'a mut clap::Command, ChatError> {
    let mut command = root;
    for word in words {
        if ["exit-codes", "settings"].contains(&word.as_str()) {
            let message = format!("`{word}` is not a command");
            return Err(ChatError::usage(
                message,
                format!("`agentx help {word}` prints it"),
            ));
        }
        let known: Vec<String> = command
            .get_subcommands()
            .map(|sub| sub.get_name().to_owned())
            .collect();
        let topics = known.iter().map(String::as_str).chain(["exit-codes", "settings"]);
        let near: Vec<&str> = agentx::config::nearest(word, topics, 1);
        let hint = near
            .first()
            .map_or("`agentx --help` shows all commands".into(), |near| {
                format!("did you mean `{near}`?")
            });
        command = command
            .find_subcommand_mut(word)
            .ok_or_else(|| ChatError::usage(format!("there is no command or topic `{word}`"), hint))?;
    }
    Ok(command)
}

/// An example, and the variables that have no key in the table.
const EXAMPLE: &str = "Example:\n\n\
    \u{20} model: local/my-model\n\
    \u{20} providers:\n\
    \u{20}   local: {base_url: http://localhost:9000/v1, auth: none}\n\n\
    or without a file: export OPENAI_BASE_URL=http://localhost:9000/v1\n";

fn settings(width: usize) -> String {
    let mut rows = vec![vec!["KEY".to_owned(), "TAKES".to_owned(), "MEANS".to_owned()]];
    for spec in KEYS {
        let default = spec
            .default
            .map(|value| format!(" [{value}]"))
            .unwrap_or_default();
        let trust = match spec.workspace_may {
            WorkspaceMay::Set => "",
            WorkspaceMay::Tighten => " †",
            WorkspaceMay::SetIfTrusted => " ‡",
            WorkspaceMay::Never => " §",
        };
        let takes = spec.kind.expects();
        let takes = takes.split(" such as ").next().unwrap_or_default().to_owned();
        rows.push(vec![
            format!("{}{trust}", spec.path),
            takes,
            format!("{}{default}", spec.about),
        ]);
    }
    let mut variables = vec![vec!["VARIABLE".to_owned(), "KEY OR MEANING".to_owned()]];
    variables.extend(
        VARIABLES
            .iter()
            .chain(&[
                ("NAME_BASE_URL", "providers.name.base_url"),
                ("NAME_API_KEY", "providers.name.api_key"),
            ])
            .chain(&OTHER_VARIABLES)
            .map(|(name, key)| vec![(*name).to_owned(), (*key).to_owned()]),
    );
    let whole = table(&rows, usize::MAX);
    let fits = whole.lines().all(|line| agentx_terminal::width(line) <= width);
    let keys = if fits { whole } else { in_rows(&rows, width) };
    format!(
        "Settings in config.yaml (`agentx config path` shows where), later layers win:\n\
         defaults < user < workspace < environment < flags\n\n{EXAMPLE}\n{keys}\n\
         † an untrusted workspace can only make it stricter\n\
         ‡ an untrusted workspace cannot set it\n\
         § only your own settings can set it, never a workspace's\n\nEnvironment:\n\n{}",
        table(&variables, usize::MAX)
    )
}

/// Renders each key with its type, and its meaning in the rows below, if there is no room for a table.
fn in_rows(rows: &[Vec<String>], width: usize) -> String {
    let mut text = String::new();
    for row in rows.iter().skip(1) {
        if let [key, takes, means] = &row[..] {
            text.push_str(&format!("{key}: {takes}\n    {means}\n"));
        }
    }
    wrap_lines(&text, width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_fit_a_terminal_of_80_columns() {
        let text = settings(80);
        let long: Vec<&str> = text
            .lines()
            .filter(|line| agentx_terminal::width(line) > 80)
            .collect();
        assert!(long.is_empty(), "{long:#?}");
        assert!(
            text.contains("base_url: http://") && text.contains("NAME_BASE_URL"),
            "{text}"
        );
        assert!(settings(usize::MAX).contains("KEY  "), "a table for who has room");
    }

    #[test]
    fn every_help_fits_a_screen() {
        let screen = screen();
        let names: Vec<&str> = SCREEN
            .iter()
            .flat_map(|(_, names)| names.iter().copied())
            .collect();
        let mut root = Cli::command();
        root.build();
        let visible = root.get_subcommands().filter(|command| !command.is_hide_set());
        let mut real: Vec<&str> = visible.map(clap::Command::get_name).collect();
        let mut named = names.clone();
        real.sort_unstable();
        named.sort_unstable();
        assert_eq!(named, real, "the first screen has every command");
        assert!(
            screen.lines().count() <= 24 && screen.lines().all(|line| line.len() <= 80),
            "{screen}"
        );
        let mut long = Vec::new();
        rows_of(&mut root, &mut long);
        assert!(long.is_empty(), "longer than a screen: {long:?}");
    }

    /// Commands below this one whose short help has more rows than a terminal of 80 columns and 24 rows shows
    /// with the line that is typed next.
    fn rows_of(command: &mut clap::Command, long: &mut Vec<String>) {
        for sub in command.get_subcommands_mut() {
            let rows = sub
                .clone()
                .term_width(80)
                .render_help()
                .to_string()
                .lines()
                .count();
            if rows > 23 {
                long.push(format!("{} {rows}", sub.get_name()));
            }
            rows_of(sub, long);
        }
    }
}
