//! `agentx config`: shows, checks and changes settings, and the trust in a workspace.

mod change;

use agentx::assembly::folder_contents;
use agentx::config::{
    ConfigError, FileStatus, FolderTrust, Loaded, SettingRow, check_folder_decisions, forget_folder,
    trust_folder, workspace_bytes,
};
use serde_json::{Value, json};

use crate::args::{ConfigCommand, Global, TrustArgs};
use crate::cmd::approvals::holding_nowhere;
use crate::configuration::{SettingsShown, table_of};
use crate::console::Console;
use crate::default_model;
use crate::demo;
use crate::error::ChatError;
use crate::exit::Exit;
use crate::folder;
use crate::provider_keys;
use crate::render::clean::visible;
use crate::render::table::table;
use crate::start::{self, SettingsRead};

/// The note about later changes in a trusted folder.
const LATER: &str = "changed settings, agents, tools and MCP servers need to be trusted again; changed instructions are followed, and a note names them";

/// Runs one of the commands.
pub(crate) fn run(
    command: &ConfigCommand,
    global: &Global,
    console: &mut Console,
) -> Result<Exit, ChatError> {
    let prints_notes = match command {
        ConfigCommand::Check => true,
        ConfigCommand::Show => !global.json,
        _ => false,
    };
    if !prints_notes {
        console.say(&start::warning_lines(&start::wrong_variables()));
    }
    match command {
        ConfigCommand::Show => show(&load(global)?, global.json, console)?,
        ConfigCommand::Path => path(&load(global)?, global.json, console)?,
        ConfigCommand::Check => check(&load(global)?, global.json, console)?,
        ConfigCommand::Set {
            key,
            value,
            workspace,
        } => change::set(global, key, value, *workspace, console)?,
        ConfigCommand::Unset { key, workspace } => change::unset(global, key, *workspace, console)?,
        ConfigCommand::Edit { workspace } => change::edit(global, *workspace, console)?,
        ConfigCommand::Trust(args) => trust_workspace(global, *args, console)?,
    }
    Ok(Exit::Ok)
}

fn load(global: &Global) -> Result<Loaded, ChatError> {
    start::settings_to_look(global)
}

fn show(loaded: &Loaded, json: bool, console: &mut Console) -> Result<(), ChatError> {
    let rows = loaded.merged.rows();
    if json {
        let data = loaded.settings.data_dir.display().to_string();
        let object = |row: &SettingRow| {
            let value = match &row.value {
                None if row.key == "data_dir" => Some(&data),
                value => value.as_ref(),
            };
            json!({ "key": row.key, "value": value, "origin": row.origin.to_string() })
        };
        return console.out_pretty(&rows.iter().map(object).collect::<Vec<Value>>());
    }
    let model = loaded.settings.model_or_default();
    console.out(&table_of(loaded, SettingsShown::All, console))?;
    if loaded.settings.model.is_none() {
        let asked = match default_model::own_server(&loaded.settings) {
            Some(own) => format!(
                "the server at {} is used with its only model",
                visible(&own.base_url)
            ),
            None => format!("`{}` is asked", model.value),
        };
        console.out(&format!("\nno model is named; {asked}\n"))?;
    }
    console.say(&start::notes(loaded, SettingsRead::All));
    Ok(())
}

fn path(loaded: &Loaded, json: bool, console: &mut Console) -> Result<(), ChatError> {
    let data = &loaded.settings.data_dir;
    if json {
        let files: Vec<Value> = loaded
            .files
            .iter()
            .map(|file| json!({ "layer": file.layer, "path": file.path, "exists": file.exists, "trusted": counts(loaded, file) }))
            .collect();
        return console.out_pretty(
            &json!({ "files": files, "data_dir": data, "workspace": loaded.settings.workspace }),
        );
    }
    let mut rows = Vec::new();
    for file in &loaded.files {
        let state = match (file.exists, counts(loaded, file)) {
            (false, _) => "does not exist",
            (true, true) => "",
            (true, false) => "not trusted",
        };
        rows.push(vec![
            file.layer.to_owned(),
            file.path.display().to_string(),
            state.to_owned(),
        ]);
    }
    rows.push(vec!["data".into(), data.display().to_string(), String::new()]);
    console.out(&table(&rows, usize::MAX))
}

/// Returns whether every part of a file counts that trust covers.
fn counts(loaded: &Loaded, file: &FileStatus) -> bool {
    file.layer != "workspace" || !loaded.ignored.iter().any(|ignored| ignored.waits_for_trust)
}

fn check(loaded: &Loaded, json: bool, console: &mut Console) -> Result<(), ChatError> {
    if !loaded.workspace_mistakes.is_empty() {
        return Err(ConfigError::Mistakes(loaded.workspace_mistakes.clone()).into());
    }
    console.say(&start::notes(loaded, SettingsRead::All));
    console.say(&start::tool_warnings(loaded));
    console.say(&provider_keys::missing(loaded));
    console.say(&provider_keys::unsent(loaded));
    console.say(&holding_nowhere(loaded));
    // Last, so that a mistake does not hide the checks above.
    start::check_tools(loaded)?;
    let settings = &loaded.settings;
    let wanted = settings.model_or_default();
    // A model of a server is for that server to know; the demo is in no catalog.
    if settings.connect.is_none() && !demo::is_demo(&wanted.value) {
        let known = settings.choose_model(&wanted.value, &[]);
        known.map_err(|unknown| ChatError::UnknownModel {
            name: unknown.name,
            nearest: unknown.nearest,
            origin: wanted.origin,
        })?;
    }
    let read = loaded.files.iter().filter(|file| file.exists);
    let read: Vec<String> = read.map(|file| file.path.display().to_string()).collect();
    if json {
        return console.out_pretty(&json!({ "valid": true, "files": read }));
    }
    let files = if read.is_empty() {
        "no configuration file; defaults apply".to_owned()
    } else {
        read.join(", ")
    };
    console.out(&format!("the configuration is valid: {files}\n"))
}

fn trust_workspace(global: &Global, args: TrustArgs, console: &mut Console) -> Result<(), ChatError> {
    let loaded = load(global)?;
    check_folder_decisions(&loaded.trust_dir)?;
    let root = &loaded.places.workspace_root;
    let shown = visible(&root.to_string_lossy());
    let taken_back = folder::RevokedGrants::find(&loaded);
    if args.revoke {
        let was = forget_folder(&loaded.trust_dir, root)?;
        if global.json {
            let removed = taken_back.take(&loaded, true)?;
            return console.out_pretty(&folder::decided(&loaded, FolderTrust::Unknown, &removed));
        }
        console.out(&match (was, loaded.settings.folder.trust) {
            (true, FolderTrust::ReadOnly | FolderTrust::Restricted) => {
                format!("the decision about {shown} is forgotten\n")
            }
            (true, _) => format!("{shown} is no longer trusted\n"),
            (false, _) => format!("{shown} was not trusted\n"),
        })?;
        return console.out(&taken_back.take(&loaded, true)?);
    }
    let brings = folder_contents(&loaded.settings);
    if args.show && global.json {
        return console.out_pretty(&folder::document(&loaded, &brings));
    }
    if args.show {
        let style = console.out_style();
        let said = match loaded.settings.folder.trust {
            FolderTrust::Unknown if loaded.settings.folder.previous_trust.is_some() => "new at this path",
            FolderTrust::Unknown => "not trusted yet",
            trust => trust.word(),
        };
        return console.out(&format!(
            "{}  ({said})\n{}\n{}",
            folder::folder_summary(&loaded).trim_start(),
            folder::contents_list(&loaded, &brings),
            folder::changes(&loaded, &brings, style)
        ));
    }
    let (trust, accepted) = match (args.read_only, args.restricted) {
        (true, _) => (FolderTrust::ReadOnly, brings.instructions()),
        (_, true) => (FolderTrust::Restricted, Vec::new()),
        _ => (FolderTrust::Trusted, brings.accepted()),
    };
    if trust == FolderTrust::Trusted && loaded.places.workspace_file.exists() {
        // A person who trusts a file with mistakes would have to trust it again after they are fixed.
        workspace_bytes(&loaded.places)?;
    }
    trust_folder(&loaded.trust_dir, root, trust, &accepted)?;
    if global.json {
        let removed = match trust {
            FolderTrust::Restricted => taken_back.take(&loaded, false)?,
            _ => String::new(),
        };
        return console.out_pretty(&folder::decided(&loaded, trust, &removed));
    }
    let word = trust.word();
    console.out_lines(&match trust {
        FolderTrust::Trusted => format!("{shown} is trusted as it is now; {LATER}\n"),
        _ => format!("{shown} is now {word}\n"),
    })?;
    if trust == FolderTrust::Restricted {
        console.out(&taken_back.take(&loaded, false)?)?;
    }
    if trust == FolderTrust::Trusted {
        console.out(&folder::contents_list(&loaded, &brings))?;
    }
    Ok(())
}
