//! A person's own MCP servers in a folder of somebody else. A relative path in a command line means a file of the
//! current folder, so the folder could bring the program that gets the person's variables.

use std::path::Path;

use crate::command_files::CommandWords;
use crate::layers::MergedSettings;
use crate::mcp::{McpServerSettings, McpTarget};
use crate::{ConfigMistake, ConfigPaths, Folder, FolderTrust};

/// Takes out the servers whose command line names a file of this folder, unless the person trusts the folder.
/// Returns a warning about each.
pub(crate) fn take_out_of_strangers(
    servers: &mut Vec<McpServerSettings>,
    merged: &MergedSettings,
    places: &ConfigPaths,
    folder: &Folder,
) -> Vec<ConfigMistake> {
    if folder.trust == FolderTrust::Trusted {
        return Vec::new();
    }
    let mut warnings = Vec::new();
    servers.retain(|server| match file_of_folder(server, places) {
        None => true,
        Some(file) => {
            let name = &server.name;
            let what = format!(
                "the server {name} is left out, because its command line names {file} of this folder, which you have \
                 not trusted: write the path of your own file, or trust the folder (`agentx config trust`)"
            );
            let origin = merged.any_below("mcp", name);
            warnings.push(ConfigMistake::about(&origin, &format!("mcp.{name}"), what, None));
            false
        }
    });
    warnings
}

/// The first file of the folder that the command line of a server names by a relative path.
fn file_of_folder(server: &McpServerSettings, places: &ConfigPaths) -> Option<String> {
    let McpTarget::Program {
        command,
        arguments,
        directory,
        ..
    } = &server.target
    else {
        return None;
    };
    let words = CommandWords::in_directory(directory, places);
    // A program without a slash is found in PATH.
    let program = Some(command.as_str()).filter(|command| command.contains('/'));
    let texts = program.into_iter().chain(arguments.iter().map(String::as_str));
    texts
        .filter(|text| !Path::new(text).is_absolute())
        .find_map(|text| words.named_file(text))
        .map(|file| file.display().to_string())
}
