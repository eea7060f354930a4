//! `agentx man`: manual pages, made from the command line itself.

use agentx::config::{OTHER_VARIABLES, VARIABLES};
use clap::{Arg, Command, CommandFactory as _};

use crate::args::Cli;
use crate::cmd::help::find;
use crate::console::Console;
use crate::error::ChatError;
use crate::exit::{Exit, TABLE};

/// Prints a page of the manual.
pub(crate) fn page(words: &[String], console: &mut Console) -> Result<Exit, ChatError> {
    let mut root = Cli::command();
    root.build();
    let command = explained(find(&mut root, words)?.clone());
    let title = [&["agentx".to_owned()], words].concat().join("-");
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .title(title.to_uppercase())
        .source(concat!("agentx ", env!("CARGO_PKG_VERSION")))
        .render(&mut page)?;
    let mut text = String::from_utf8_lossy(&page).replace(".SH EXTRA\n", ".SH NOTES\n");
    if words.is_empty() {
        text.push_str(&about_all());
    }
    console.out(&text)?;
    Ok(Exit::Ok)
}

/// Returns the command with all its global options explained; the short help omits some.
fn explained(command: Command) -> Command {
    let shown = |arg: Arg| arg.hide_short_help(false);
    command.mut_args(shown)
}

/// Returns the sections that hold for every command: exit codes, environment and files.
fn about_all() -> String {
    let mut text = ".SH \"EXIT STATUS\"\n".to_owned();
    for (_, code, meaning) in TABLE {
        text.push_str(&entry(&code.to_string(), meaning));
    }
    text.push_str(".SH ENVIRONMENT\n");
    for (name, key) in VARIABLES {
        text.push_str(&entry(name, &format!("sets the key {key}")));
    }
    for (name, meaning) in OTHER_VARIABLES {
        text.push_str(&entry(name, meaning));
    }
    let keys = "keys of providers; `agentx models` names the variable of each";
    text.push_str(&entry("ANTHROPIC_API_KEY, OPENAI_API_KEY, …", keys));
    text.push_str(".SH FILES\n");
    let user = "the user configuration; `agentx config path` prints its path";
    text.push_str(&entry("~/.config/agentx/config.yaml", user));
    text.push_str(&entry(".agentx/config.yaml", "the workspace configuration"));
    let sessions = "the sessions; AGENTX_DATA or --data sets another directory";
    text.push_str(&entry("~/.local/share/agentx/sessions.db", sessions));
    text
}

fn entry(name: &str, meaning: &str) -> String {
    let plain = |text: &str| text.replace('\\', "\\e").replace('-', "\\-");
    // A line that begins with a dot is a request.
    format!(".TP\n\\&\\fB{}\\fR\n\\&{}\n", plain(name), plain(meaning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_of_every_page_is_explained() {
        let mut root = Cli::command();
        root.build();
        let mut pages = vec![root];
        while let Some(command) = pages.pop() {
            let mut page = Vec::new();
            let shown = explained(command.clone());
            clap_mangen::Man::new(shown)
                .render(&mut page)
                .expect("it is written to memory");
            let page = String::from_utf8(page).expect("it is text");
            let lines: Vec<&str> = page.lines().collect();
            for (at, _) in lines.iter().enumerate().filter(|(_, line)| **line == ".TP") {
                let meaning = lines.get(at + 2).copied().unwrap_or_default();
                assert!(
                    !meaning.is_empty() && !meaning.starts_with(".TP") && !meaning.starts_with(".SH"),
                    "{} of {}",
                    lines[at + 1],
                    command.get_name()
                );
            }
            pages.extend(command.get_subcommands().cloned());
        }
    }

    #[test]
    fn the_page_about_all_names_codes_variables_and_files() {
        let text = about_all();
        for what in [
            "EXIT STATUS",
            "\\fB130\\fR",
            "AGENTX_MODEL",
            "\\&\\fB.agentx/config.yaml",
        ] {
            assert!(text.contains(what), "{what}\n{text}");
        }
        assert!(
            text.lines()
                .all(|line| !line.starts_with('.') || line.starts_with(".SH") || line == ".TP")
        );
    }
}
