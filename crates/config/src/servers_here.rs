//! The MCP servers that count in a folder: the person's own, and those of the project.
//!
//! A relative path in the command line of an own server means a file of the current folder, so a folder of somebody
//! else could bring the program that gets the person's variables.

use std::path::Path;

use crate::command_files::CommandWords;
use crate::layers::MergedSettings;
use crate::mcp::{McpServerSettings, McpTarget};
use crate::mcp_project::ProjectServers;
use crate::{ConfigMistake, ConfigPaths, Folder, FolderTrust, Settings};

/// Leaves out own servers that would run a file of a folder that is not trusted, and adds the servers of the project
/// whose names are new. Returns the effects of the project's servers.
pub(crate) fn settle(
    settings: &mut Settings,
    merged: &MergedSettings,
    places: &ConfigPaths,
    project: ProjectServers,
    warnings: &mut Vec<ConfigMistake>,
) -> Vec<String> {
    warnings.extend(project.warnings(&settings.folder));
    let taken = take_out_of_strangers(&mut settings.mcp, merged, places, &settings.folder);
    warnings.extend(taken);
    let is_new = |server: &McpServerSettings| settings.mcp.iter().all(|own| own.name != server.name);
    let of_project: Vec<McpServerSettings> = project.servers.into_iter().filter(is_new).collect();
    settings.mcp.extend(of_project);
    settings.named_files.extend(project.files);
    let mistakes = project.mistakes.into_iter().map(|mistake| mistake.what);
    project.effects.into_iter().chain(mistakes).collect()
}

/// Takes out the servers whose command line names a file of this folder, unless the person trusts the folder.
/// Returns a warning about each.
fn take_out_of_strangers(
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
