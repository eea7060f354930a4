//! A server of the person's own starts in every folder. The MCP servers that count in a folder are these and
//! those of the project.
//!
//! A relative path in the command line of an own server would mean another file in each folder, and a folder
//! of somebody else could bring the program that gets the person's variables. So the folder decides nothing:
//! a path that exists beside the settings is resolved there, a server whose file exists only in the folder is
//! not started, and in an untrusted folder a server starts in the directory of the settings, where it finds
//! no `node_modules`, `pyproject.toml` or module of the folder.

use std::path::{Path, PathBuf};

use agentx_llm::Secret;

use crate::folders::command_files::{CommandWords, path_in};
use crate::folders::folder::FolderTrust;
use crate::layers::MergedSettings;
use crate::layers::keys::SettingPath;
use crate::mcp::entry::ServerEffect;
use crate::mcp::project::ProjectServers;
use crate::mcp::{McpServerSettings, McpTarget};
use crate::mistake::ConfigMistake;
use crate::paths::ConfigPaths;
use crate::settings::Settings;

/// Settles where own servers start, leaves out those that would mean the files of the folder, and adds the
/// servers of the project whose names are new. Returns the effects of the project's servers: first those that
/// are not started, each with the reason.
pub(crate) fn settle(
    settings: &mut Settings,
    merged: &MergedSettings,
    places: &ConfigPaths,
    project: ProjectServers,
    warnings: &mut Vec<ConfigMistake>,
) -> Vec<String> {
    warnings.extend(project.warnings(&settings.folder));
    let place = FolderOfServers {
        merged,
        places,
        is_trusted: settings.folder.trust == FolderTrust::Trusted,
    };
    settings.mcp.retain_mut(|server| match place.settle(server) {
        Ok(()) => true,
        Err(warning) => {
            warnings.push(warning);
            false
        }
    });
    let own: Vec<String> = settings.mcp.iter().map(|own| own.name.clone()).collect();
    let of_project = project.servers.into_iter();
    settings
        .mcp
        .extend(of_project.filter(|server| !own.contains(&server.name)));
    settings.named_files.extend(project.files);
    let mut effects = project.effects;
    for effect in effects.iter_mut().filter(|effect| own.contains(&effect.name)) {
        effect
            .left_out
            .get_or_insert_with(|| "yours has the same name".to_owned());
    }
    // A stable sort: servers that start stand last, as other effects that reach far.
    effects.sort_by_key(|effect| effect.left_out.is_none());
    let sentences = effects.into_iter().flat_map(ServerEffect::sentences);
    project.notes.into_iter().chain(sentences).collect()
}

/// The folder that is open, in which own servers would start.
struct FolderOfServers<'a> {
    merged: &'a MergedSettings,
    places: &'a ConfigPaths,
    is_trusted: bool,
}

impl FolderOfServers<'_> {
    /// Sets the directory in which an own server starts.
    ///
    /// # Errors
    /// Returns a warning if its command line means the files of this folder; then it is left out.
    fn settle(&self, server: &mut McpServerSettings) -> Result<(), ConfigMistake> {
        let McpTarget::Program { directory, .. } = &server.target else {
            return Ok(());
        };
        let cwd = SettingPath::dotted("mcp").child(&server.name).child("cwd");
        // A directory that the person wrote says where the line belongs, as whole paths do; but programs look
        // for modules, packages and settings where they start.
        if self.merged.get(&cwd).is_some() {
            let is_here = std::fs::canonicalize(directory)
                .is_ok_and(|directory| directory.starts_with(&self.places.workspace_root));
            return if is_here && !self.is_trusted {
                Err(self.left_out(server, &directory.display().to_string()))
            } else {
                Ok(())
            };
        }
        let texts = texts_of(&server.target);
        let here = CommandWords::in_directory(directory, self.places);
        let beside_settings = self.places.user_file.parent().filter(|own| own.is_dir());
        let is_beside = beside_settings.is_some_and(|own| {
            texts
                .iter()
                .any(|text| path_in(text, own).is_some_and(|path| path != "."))
        });
        if !is_beside {
            let file = |text: &&str| here.named_file(text).map(|file| file.display().to_string());
            let path = |text: &&str| path_in(text, directory).filter(|path| path != "." || !self.is_trusted);
            if let Some(named) = texts.iter().find_map(|text| file(text).or_else(|| path(text))) {
                return Err(self.left_out(server, &named));
            }
        }
        let start = match beside_settings {
            Some(own) if is_beside => Some(own.to_owned()),
            _ if !self.is_trusted => Some(self.directory_of_no_folder()),
            _ => None,
        };
        if let (Some(start), McpTarget::Program { directory, .. }) = (start, &mut server.target) {
            *directory = start;
        }
        Ok(())
    }

    /// A directory that the open folder does not control: beside the settings, otherwise that of the data,
    /// otherwise the nearest one above these that exists.
    fn directory_of_no_folder(&self) -> PathBuf {
        let is_elsewhere = |directory: &&Path| {
            // The usual place of the settings is the person's own, also if the open folder is their home.
            let is_usual = Some(*directory) == self.places.user_file.parent() && !self.places.user_file_named;
            std::fs::canonicalize(directory).is_ok_and(|real| {
                real.is_dir() && (is_usual || !real.starts_with(&self.places.workspace_root))
            })
        };
        let own = self.places.user_file.parent().into_iter();
        let own = own.chain([self.places.data_dir.as_path()]);
        let candidates = own.clone().chain(own.flat_map(Path::ancestors));
        let mut candidates = candidates.filter(|directory| directory.is_absolute());
        candidates.find(is_elsewhere).unwrap_or(Path::new("/")).to_owned()
    }

    /// The warning about a server that is left out.
    fn left_out(&self, server: &McpServerSettings, named: &str) -> ConfigMistake {
        let name = &server.name;
        let what = if self.is_trusted {
            format!(
                "the server {name} is left out, because its command line names {named}, which means something else in \
                 each folder: write the whole path, or the directory that it belongs to as `mcp.{name}.cwd`; a server of \
                 this project belongs in its .mcp.json"
            )
        } else if named == "." {
            format!(
                "the server {name} is left out, because its command line means this folder (`.`), which you have not \
                 trusted: trust the folder (`agentx config trust`), or write its whole path"
            )
        } else {
            format!(
                "the server {name} is left out, because its command line names {named} of this folder, which you have \
                 not trusted: write the whole path of your own file, or its directory as `mcp.{name}.cwd`"
            )
        };
        let origin = self.merged.any_below("mcp", name);
        ConfigMistake::about(&origin, &format!("mcp.{name}"), what, None)
    }
}

/// The texts of a program that may name files: its command line and the values of its variables. A program
/// without a slash is found in PATH.
fn texts_of(target: &McpTarget) -> Vec<&str> {
    let McpTarget::Program {
        command,
        arguments,
        variables,
        ..
    } = target
    else {
        return Vec::new();
    };
    let program = Some(command.as_str()).filter(|command| command.contains('/'));
    let values = variables.iter().filter(|value| value.from.is_empty());
    let values = values.filter_map(|value| value.value.as_ref().map(Secret::expose));
    let texts = program
        .into_iter()
        .chain(arguments.iter().map(String::as_str))
        .chain(values);
    texts.filter(|text| !Path::new(text).is_absolute()).collect()
}
