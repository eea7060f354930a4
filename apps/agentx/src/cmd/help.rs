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
            100
        }),
        words => command(words)?,
    };
    console.out(&text)?;
    Ok(Exit::Ok)
}

fn command(words: &[String]) -> Result<String, ChatError> {
    let mut root = Cli::command();
    root.build();
    Ok(find(&mut root, words)?.render_long_help().to_string())
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
}
