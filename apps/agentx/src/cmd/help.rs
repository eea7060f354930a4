//! `agentx help`: a command explained, or one of the tables that are made from the code.

use agentx::config::{KEYS, Trust, VARIABLES};
use clap::CommandFactory as _;

use crate::args::Cli;
use crate::console::Console;
use crate::error::CliError;
use crate::exit::{self, Exit};
use crate::render::table::table;

/// Explains what was asked for.
pub(crate) fn run(topic: &[String], console: &mut Console) -> Result<Exit, CliError> {
    let text = match topic {
        [word] if word == "exit-codes" => format!("Exit codes:\n\n{}", exit::table()),
        [word] if word == "settings" => settings(),
        words => command(words)?,
    };
    console.out(&text)?;
    Ok(Exit::Ok)
}

fn command(words: &[String]) -> Result<String, CliError> {
    let mut root = Cli::command();
    root.build();
    Ok(find(&mut root, words)?.render_long_help().to_string())
}

/// The command that these words name.
pub(crate) fn find<'a>(
    root: &'a mut clap::Command,
    words: &[String],
) -> Result<&'a mut clap::Command, CliError> {
    let mut command = root;
    for word in words {
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
            .ok_or_else(|| CliError::usage(format!("there is no command or topic `{word}`"), hint))?;
    }
    Ok(command)
}

fn settings() -> String {
    let mut rows = vec![vec!["KEY".to_owned(), "TAKES".to_owned(), "MEANS".to_owned()]];
    for spec in KEYS {
        let default = spec
            .default
            .map(|value| format!(" [{value}]"))
            .unwrap_or_default();
        let trust = match spec.trust {
            Trust::Free => "",
            Trust::Tighten => " †",
            Trust::Trusted | Trust::InsideOnly => " ‡",
        };
        let takes = spec.kind.expects();
        let takes = takes.split(" such as ").next().unwrap_or_default().to_owned();
        rows.push(vec![
            format!("{}{trust}", spec.path),
            takes,
            format!("{}{default}", spec.about),
        ]);
    }
    let mut variables = vec![vec!["VARIABLE".to_owned(), "KEY".to_owned()]];
    variables.extend(
        VARIABLES
            .iter()
            .map(|(name, key)| vec![(*name).to_owned(), (*key).to_owned()]),
    );
    format!(
        "Settings in config.yaml (`agentx config path` shows where), later layers win:\n\
         defaults < user < workspace < environment < flags\n\n{}\n\
         † a workspace that is not trusted can only make it stricter\n\
         ‡ a workspace that is not trusted cannot set it\n\nEnvironment:\n\n{}",
        table(&rows, usize::MAX),
        table(&variables, usize::MAX)
    )
}
