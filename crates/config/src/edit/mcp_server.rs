//! Adds a server to the user's file, and removes one.

use std::path::Path;

use crate::edit::set::set_all;
use crate::edit::unset::unset_at;
use crate::layers::keys::SettingPath;
use crate::loading::load::{LoadRequest, Loaded};
use crate::mcp::{McpServerSettings, McpTarget, check_mcp_name};
use crate::mistake::{ConfigError, ConfigMistake, MistakeLocation};

/// The command that adds a server, as mistakes name it.
const ADD: &str = "mcp add";

/// Adds a server to a file. Its variables and headers are written as references, never as values; its
/// directory is written if it is absolute.
///
/// # Errors
/// Returns an error if there is a server of this name, or the file cannot be changed without touching the
/// rest of it.
pub fn add_mcp_server(
    request: LoadRequest<'_>,
    file: &Path,
    server: &McpServerSettings,
) -> Result<Loaded, ConfigError> {
    let mistake = |what: String| {
        ConfigError::Mistakes(vec![ConfigMistake {
            at: MistakeLocation::Flag(ADD.into()),
            key: format!("mcp.{}", server.name),
            what,
            nearest: None,
        }])
    };
    check_mcp_name(&server.name).map_err(mistake)?;
    let at = SettingPath::dotted("mcp").child(&server.name);
    let text = |text: &str| serde_json::Value::from(text).to_string();
    let mut values = Vec::new();
    let mut set = |key: &str, literal: String| values.push((at.child(key), literal));
    let group = match &server.target {
        McpTarget::Program {
            command,
            arguments,
            directory,
            ..
        } => {
            set("command", text(command));
            if !arguments.is_empty() {
                set("args", serde_json::Value::from(arguments.clone()).to_string());
            }
            if directory.is_absolute() {
                set("cwd", text(&directory.to_string_lossy()));
            }
            "env"
        }
        McpTarget::Address { url, .. } => {
            set("url", text(url));
            "headers"
        }
    };
    if server.trust_annotations {
        set("trust_annotations", "true".into());
    }
    for value in server.values() {
        let [variable] = value.from.as_slice() else {
            let what = format!("{} needs the name of one variable", value.name);
            return Err(mistake(what));
        };
        let literal = text(&format!("${{{variable}}}"));
        values.push((at.child(group).child(&value.name), literal));
    }
    let is_there = std::fs::read_to_string(file).is_ok_and(|text| {
        let root = crate::yaml::parse(&text).map(|root| root.to_json());
        root.is_ok_and(|root| !root["mcp"][&server.name].is_null())
    });
    if is_there {
        return Err(mistake(
            "a server of this name already exists; remove it first".into(),
        ));
    }
    let (_, loaded) = set_all(request, file, &values, |_| Ok(()))?;
    Ok(loaded)
}

/// Takes a server out of a file. Returns whether it was there.
///
/// # Errors
/// Returns an error if the file cannot be changed without touching the rest of it.
pub fn remove_mcp_server(request: LoadRequest<'_>, file: &Path, name: &str) -> Result<bool, ConfigError> {
    Ok(unset_at(request, file, SettingPath::dotted("mcp").child(name))?.changed)
}
