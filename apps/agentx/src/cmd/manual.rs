//! `agentx man`: what `man` is told, made from the command line itself.

use clap::CommandFactory as _;

use crate::args::Cli;
use crate::cmd::help::find;
use crate::console::Console;
use crate::error::CliError;
use crate::exit::Exit;

/// Prints a page of the manual.
pub(crate) fn page(words: &[String], console: &mut Console) -> Result<Exit, CliError> {
    let mut root = Cli::command();
    root.build();
    let command = find(&mut root, words)?.clone();
    let title = [&["agentx".to_owned()], words].concat().join("-");
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .title(title.to_uppercase())
        .source(concat!("agentx ", env!("CARGO_PKG_VERSION")))
        .render(&mut page)?;
    console.out(&String::from_utf8_lossy(&page))?;
    Ok(Exit::Ok)
}
