//! Notes and errors about the configuration of a person.

use agentx::assembly::{UnknownTools, misnamed_tools};
use agentx::config::{
    ApiKeySource, ConfigError, ConfigMistake, FolderTrust, Loaded, MistakeLocation, PROXIES,
    ProviderSettings, SettingOrigin, SettingRow, Settings, VARIABLES, check_environment,
};

use crate::error::ChatError;
use crate::render::clean::visible;
use crate::render::table::table;
use crate::render::wrapped_text::wrap_lines;
use crate::terminal::console::Console;

/// Reads the environment; a value that is not UTF-8 counts as not set.
pub fn lookup(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Returns the mistakes in the variables of the environment.
pub fn wrong_variables() -> Vec<ConfigMistake> {
    let set: Vec<(String, String)> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    check_environment(set.iter().map(|(name, value)| (name.as_str(), value.as_str())))
}

/// Returns warnings in lines for the person.
pub fn warning_lines<'a>(mistakes: impl IntoIterator<Item = &'a ConfigMistake>) -> String {
    let line = |mistake: &ConfigMistake| format!("warning: {}\n", visible(&mistake.to_string()));
    mistakes.into_iter().map(line).collect()
}

/// The settings that a command reads. Notes about others do not concern it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingsRead {
    /// All settings: the command runs an agent, or shows the settings.
    All,
    /// The settings of the sandbox.
    Sandbox,
    /// The settings of MCP servers.
    McpServers,
    /// The settings that say where sessions and keys are stored, or on which server.
    Stored,
}

impl SettingsRead {
    /// Returns whether a command reads this key.
    fn has_key(self, key: &str) -> bool {
        let first = key.split('.').next().unwrap_or_default();
        match self {
            Self::All => true,
            Self::Sandbox => first == "sandbox",
            Self::McpServers => first == "mcp",
            Self::Stored => ["connect", "data_dir", "log", "log_file", "secrets"].contains(&first),
        }
    }

    /// Returns whether a command reads what this warning is about.
    fn has(self, warning: &ConfigMistake, loaded: &Loaded) -> bool {
        match &warning.at {
            MistakeLocation::Env(name) if PROXIES.contains(&name.as_str()) => match self {
                Self::All | Self::McpServers => true,
                Self::Stored => loaded.settings.connect.is_some(),
                Self::Sandbox => false,
            },
            // A variable that nothing reads: the one that was meant counts.
            MistakeLocation::Env(_) if self != Self::All && warning.key.is_empty() => {
                let meant = warning.nearest.as_deref().unwrap_or_default();
                let meant = VARIABLES.iter().find(|(name, _)| *name == meant);
                meant.is_some_and(|(_, key)| self.has_key(key))
            }
            MistakeLocation::File(place) if place.file.ends_with(".mcp.json") => {
                matches!(self, Self::All | Self::McpServers)
            }
            _ => self.has_key(&warning.key),
        }
    }

    /// Returns whether a command would read what this mistake in the file of a folder is about. A folder does
    /// not say where sessions are stored.
    fn has_of_folder(self, mistake: &ConfigMistake) -> bool {
        self != Self::Stored && (mistake.key.is_empty() || self.has_key(&mistake.key))
    }
}

/// Returns a warning about a data directory of another user, and advice; `None` if it is this user's or
/// root's, or the person allows that user.
pub(crate) fn foreign_data_dir(settings: &Settings) -> Option<(String, String)> {
    let owner = settings.foreign_data_owner()?;
    let path = settings.data_dir.display();
    let found = format!(
        "{path} belongs to another user (user id {owner}), who can replace everything in it, and may not be able \
         to open what this program writes there"
    );
    let advice = format!(
        "start AgentX as that user, or set AGENTX_DATA to a directory of your own; if that user may decide what \
         AgentX does here, as with the volume of a container, set AGENTX_DATA_OWNER={owner}"
    );
    Some((found, advice))
}

/// Returns notes about the configuration, for a command that reads these settings.
pub fn notes(loaded: &Loaded, read: SettingsRead) -> String {
    let warnings = loaded.warnings.iter().filter(|warning| read.has(warning, loaded));
    let mut text = warning_lines(warnings);
    if let Some((found, advice)) = foreign_data_dir(&loaded.settings).filter(|_| read.has_key("data_dir")) {
        text.push_str(&format!("warning: {}\nhint: {advice}\n", visible(&found)));
    }
    let mistakes = loaded.workspace_mistakes.iter();
    for mistake in mistakes.filter(|mistake| read.has_of_folder(mistake)) {
        let why = match loaded.settings.folder.trust {
            FolderTrust::Trusted => "the settings of this folder have a mistake, so they are ignored",
            _ => "this folder is not trusted, so its file is ignored",
        };
        text.push_str(&format!("warning: {why}: {}\n", visible(&mistake.to_string())));
    }
    let ignored = || {
        let all = loaded.ignored.iter();
        all.filter(move |ignored| read.has_key(&ignored.key))
    };
    for ignored in ignored() {
        text.push_str(&format!(
            "note: `{}` is ignored: {} ({})\n",
            visible(&ignored.key),
            ignored.why,
            visible(&ignored.origin.to_string())
        ));
    }
    if ignored().any(|ignored| ignored.waits_for_trust) {
        text.push_str(&format!(
            "hint: {}\n",
            to_use_ignored(loaded.settings.folder.trust)
        ));
    }
    text
}

/// Returns advice about ignored settings of a folder.
pub(crate) fn to_use_ignored(trust: FolderTrust) -> &'static str {
    match trust {
        FolderTrust::Restricted | FolderTrust::ReadOnly => {
            "you decided that this folder may not set it; `agentx config set KEY VALUE` sets it in your own settings, \
             `agentx config trust` trusts all of the folder"
        }
        FolderTrust::Unknown | FolderTrust::Trusted => {
            "`agentx config trust --show` lists what the folder contains, `agentx config trust` trusts all of it"
        }
    }
}

/// Refuses settings whose rules would let calls through because they name a tool that does not exist. Returns
/// warnings about other wrong names, in lines for the person. Rules of a server are checked by the server.
pub fn check_tools(loaded: &Loaded) -> Result<String, ChatError> {
    if loaded.settings.connect.is_some() {
        return Ok(String::new());
    }
    let misnamed = misnamed_tools(loaded);
    if !misnamed.mistakes.is_empty() {
        return Err(ConfigError::Mistakes(misnamed.mistakes).into());
    }
    Ok(warnings(&misnamed))
}

/// Returns warnings about unknown tool names, in lines for the person, even if there are mistakes as well.
pub fn tool_warnings(loaded: &Loaded) -> String {
    match loaded.settings.connect {
        Some(_) => String::new(),
        None => warnings(&misnamed_tools(loaded)),
    }
}

/// Returns notes about the configuration for a command that changed this key, or the whole file if it is
/// empty. Wrong names of tools are warnings here even if nothing starts with them.
pub fn notes_after_change(loaded: &Loaded, key: &str) -> String {
    let mut text = notes(loaded, SettingsRead::All);
    let names_tools = matches!(key.split('.').next(), Some("" | "tools" | "rules"));
    if names_tools && loaded.settings.connect.is_none() {
        let misnamed = misnamed_tools(loaded);
        let all = misnamed.mistakes.iter().chain(&misnamed.warnings);
        text.extend(all.map(|mistake| format!("warning: {mistake}\n")));
    }
    text
}

fn warnings(misnamed: &UnknownTools) -> String {
    let lines = misnamed.warnings.iter();
    lines.map(|warning| format!("warning: {warning}\n")).collect()
}

/// The settings that a table lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingsShown {
    /// All settings.
    All,
    /// The settings that have a value.
    Set,
    /// The settings that a file, a variable or a flag sets.
    Changed,
}

impl SettingsShown {
    /// Reads the words behind `/config`.
    ///
    /// # Errors
    /// Returns an error, in words for the person, if there are others than `all`.
    pub(crate) fn parse(argument: &str) -> Result<Self, String> {
        match argument {
            "" => Ok(Self::Changed),
            "all" => Ok(Self::Set),
            other => Err(format!("/config takes nothing or all, not `{other}`")),
        }
    }

    fn has(self, row: &SettingRow) -> bool {
        match self {
            Self::All => true,
            Self::Set => row.value.is_some(),
            Self::Changed => row.value.is_some() && row.origin != SettingOrigin::Default,
        }
    }
}

/// The settings in effect and where each comes from. A key that is given by reference says whether its
/// variable is set, and no more.
pub fn table_of(loaded: &Loaded, shown: SettingsShown, console: &Console) -> String {
    let rows = loaded.merged.rows();
    let mut lines = vec![["KEY", "VALUE", "FROM"].map(str::to_owned).to_vec()];
    let is_here = |row: &&SettingRow| shown == SettingsShown::All || !is_only_of_server(row);
    for row in rows
        .iter()
        .filter(|row| is_told(loaded, row) && shown.has(row))
        .filter(is_here)
    {
        let value = row.value.as_ref().map_or("–".to_owned(), |value| {
            format!("{}{}", visible(value), key_note(loaded, row))
        });
        let origin = if row.value.is_some() {
            row.origin.to_string()
        } else {
            String::new()
        };
        lines.push(vec![visible(&row.key), value, visible(&origin)]);
    }
    let is_default = |row: &SettingRow| row.key == "data_dir" && row.value.is_none();
    if shown != SettingsShown::Changed && rows.iter().any(is_default) {
        lines.push(vec![
            "data_dir".into(),
            loaded.settings.data_dir.display().to_string(),
            "default".into(),
        ]);
    }
    if lines.len() == 1 {
        return "all settings have their defaults\n".to_owned();
    }
    in_rows(&lines, console)
}

/// Returns whether a setting is a default of `agentx serve`, which a person who does not serve need not read.
fn is_only_of_server(row: &SettingRow) -> bool {
    row.origin == SettingOrigin::Default && (row.key.starts_with("server.") || row.key.starts_with("members"))
}

/// Returns the table. If it does not fit on the terminal, each setting takes one row, and its origin the row
/// below.
fn in_rows(lines: &[Vec<String>], console: &Console) -> String {
    let (whole, width) = (table(lines, usize::MAX), console.terminal.width);
    let fits = |text: &str| text.lines().all(|line| agentx_terminal::width(line) <= width);
    if !console.terminal.output || fits(&whole) {
        return whole;
    }
    let mut text = String::new();
    for line in lines.iter().skip(1) {
        if let [key, value, origin] = &line[..] {
            let beside = format!("{key}  {value}");
            let fits = agentx_terminal::width(&beside) <= width;
            text.push_str(&if fits {
                format!("{beside}\n")
            } else {
                format!("{key}\n    {value}\n")
            });
            let told = !origin.is_empty() && origin != "default";
            text.push_str(&if told {
                format!("    {origin}\n")
            } else {
                String::new()
            });
        }
    }
    wrap_lines(&text, width)
}

/// Returns whether a setting has its own row. Built-in providers without settings are left out, and the data
/// directory comes last.
fn is_told(loaded: &Loaded, row: &SettingRow) -> bool {
    if row.origin != SettingOrigin::Default {
        return true;
    }
    let Some(rest) = row.key.strip_prefix("providers.") else {
        return row.key != "data_dir";
    };
    let name = rest.split('.').next().unwrap_or_default();
    matches!(name, "anthropic" | "openai")
        || loaded
            .settings
            .provider(name)
            .is_some_and(|known| known.is_connected())
}

/// Returns a note that says whether a key that is given by reference exists.
fn key_note(loaded: &Loaded, row: &SettingRow) -> &'static str {
    let of_row = |provider: &&ProviderSettings| row.key == format!("providers.{}.api_key", provider.name);
    match loaded
        .settings
        .providers
        .iter()
        .find(of_row)
        .map(|provider| &provider.key)
    {
        Some(ApiKeySource::Env { value: Some(_), .. }) => " (set)",
        Some(ApiKeySource::Env { value: None, .. }) => " (not set)",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_there_is_no_room_for_the_table_each_setting_is_told() {
        let lines = [
            ["KEY", "VALUE", "FROM"],
            ["model", "opus", "/home/ada/.config/agentx/config.yaml:1"],
            ["approval", "ask", "default"],
            [
                "providers.openai.base_url",
                "https://api.openai.com/v1",
                "default",
            ],
        ]
        .map(|line| line.map(str::to_owned).to_vec());
        let mut console = Console::of_process();
        (console.terminal.output, console.terminal.width) = (true, 40);
        assert_eq!(
            in_rows(&lines, &console),
            "model  opus\n    /home/ada/.config/agentx/config.yaml\n    :1\napproval  ask\n\
             providers.openai.base_url\n    https://api.openai.com/v1\n"
        );
        console.terminal.output = false;
        assert_eq!(
            in_rows(&lines, &console),
            table(&lines, usize::MAX),
            "another program reads it"
        );
    }
}
