//! The settings of MCP servers: the program or address, its variables, headers and limits.
//!
//! The person's own servers are keys of the table (`mcp.NAME.*`); those of a project are in its
//! [`.mcp.json`](crate::mcp::project). Values of variables and headers are references to the environment.

pub(crate) mod entry;
pub(crate) mod known_commands;
pub(crate) mod project;
pub(crate) mod server_files;

use std::path::PathBuf;

use agentx_llm::Secret;
use agentx_types::shell_word;

use crate::layers::getter::{SettingsGetter, mistake};
use crate::layers::keys::SettingPath;
use crate::layers::value::{KeyReference, Value};
use crate::mcp::server_files::ServerFiles;
use crate::mistake::ConfigMistake;

/// The longest name of a server: with the name of a tool it has to fit into 64 characters.
const MAX_NAME: usize = 32;

/// A server, as plain data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpServerSettings {
    /// The server's name, which starts the names of its tools.
    pub name: String,
    /// The program or address of a server.
    pub target: McpTarget,
    /// The names of its tools to offer, as the server has them; `None` for all.
    pub tools: Option<Vec<String>>,
    /// The maximum time to start, agree on a version and list the tools, in milliseconds.
    pub start_timeout_ms: Option<u64>,
    /// The maximum time of a call, in milliseconds.
    pub call_timeout_ms: Option<u64>,
    /// Whether the person trusts the server's claims about its tools: that they only read, or may be
    /// repeated.
    pub trust_annotations: bool,
    /// Whether the server may call the agent's model, at the person's cost.
    pub sampling: bool,
    /// The client of a login at a server at an address.
    pub oauth: McpOauthSettings,
    /// Whether the project's `.mcp.json` names it.
    pub of_folder: bool,
    /// The command line or the address, for people: as it is written, without the values of variables.
    pub shown: String,
    /// For a folder's server: what else its file sets for it, in words, such as `PATH=/opt/bin`.
    pub details: Vec<String>,
    /// For a folder's server: a hash of its entry in the file and of the folder's files that the entry names;
    /// else empty.
    pub entry_hash: String,
    /// For a folder's server: the files of the folder that it runs, as a person trusted them.
    pub(crate) files: Option<ServerFiles>,
    /// The values of variables that it gets anywhere, which nothing may show.
    pub hidden: Vec<Secret>,
}

/// The client that a login at a server uses. Without an id, one is registered for each login.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct McpOauthSettings {
    /// The id of a client that the person registered at the authorization server.
    pub client_id: Option<String>,
    /// The secret of that client; few servers give one to a program.
    pub client_secret: Option<Secret>,
    /// The address of a client ID metadata document that the person publishes: the id of the client where no
    /// other is set and the authorization server takes such documents.
    pub client_metadata_url: Option<String>,
    /// The scopes to ask for, separated by spaces; those that the server names by default.
    pub scope: Option<String>,
    /// The port of this machine to which the browser comes back; any free one by default.
    pub redirect_port: Option<u16>,
}

/// The way to reach a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpTarget {
    /// A program, which is talked to through its pipes.
    Program {
        /// The program: a path, or a name in `PATH`.
        command: String,
        /// Its arguments.
        arguments: Vec<String>,
        /// The directory that it starts in, absolute.
        directory: PathBuf,
        /// The variables that it gets beside the usual ones.
        variables: Vec<McpValue>,
    },
    /// An address, over HTTP.
    Address {
        /// The address.
        url: String,
        /// Headers that are sent along.
        headers: Vec<McpValue>,
    },
}

/// A variable or a header that a server gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpValue {
    /// The name of the variable or header.
    pub name: String,
    /// The environment variables that its value is taken from.
    pub from: Vec<String>,
    /// The value; `None` if one of those is not set. Then the server does not get it.
    pub value: Option<Secret>,
}

impl McpServerSettings {
    /// Creates a program that starts in a directory, without additional variables and without trust in its
    /// annotations.
    pub fn program<A: Into<String>>(
        name: impl Into<String>,
        command: impl Into<String>,
        arguments: impl IntoIterator<Item = A>,
        directory: impl Into<PathBuf>,
    ) -> Self {
        let command = command.into();
        let arguments: Vec<String> = arguments.into_iter().map(Into::into).collect();
        let target = McpTarget::Program {
            directory: directory.into(),
            variables: Vec::new(),
            command,
            arguments,
        };
        Self::new(name.into(), target)
    }

    /// Creates a server at an address, without additional headers and without trust in its annotations.
    pub fn address(name: impl Into<String>, url: impl Into<String>) -> Self {
        let target = McpTarget::Address {
            url: url.into(),
            headers: Vec::new(),
        };
        Self::new(name.into(), target)
    }

    fn new(name: String, target: McpTarget) -> Self {
        let shown = match &target {
            McpTarget::Address { url, .. } => url.clone(),
            McpTarget::Program {
                command, arguments, ..
            } => command_line(command, arguments.iter().map(String::as_str)),
        };
        Self {
            name,
            target,
            tools: None,
            start_timeout_ms: None,
            call_timeout_ms: None,
            trust_annotations: false,
            sampling: false,
            oauth: McpOauthSettings::default(),
            of_folder: false,
            shown,
            details: Vec::new(),
            entry_hash: String::new(),
            files: None,
            hidden: Vec::new(),
        }
    }

    /// Returns the identity of this server: the command line or address as it is written and, for a folder's
    /// server, the hash of its entry. The cached tools, and rules that keep a tool, apply only to the same
    /// identity.
    pub fn identity(&self) -> String {
        match self.entry_hash.as_str() {
            "" => self.shown.clone(),
            hash => format!("{}\n{hash}", self.shown),
        }
    }

    /// Returns the variables and headers that it gets.
    pub fn values(&self) -> &[McpValue] {
        match &self.target {
            McpTarget::Program { variables, .. } => variables,
            McpTarget::Address { headers, .. } => headers,
        }
    }

    /// Describes each variable or header that it does not get, because an environment variable is not set.
    pub fn values_left_out(&self) -> Vec<String> {
        let left_out = self.values().iter().filter(|value| value.value.is_none());
        let describe = |value: &McpValue| match value.from.as_slice() {
            [variable] => format!(
                "it does not get {}: the variable {variable} is not set",
                value.name
            ),
            several => format!(
                "it does not get {}: not all of the variables {} are set",
                value.name,
                several.join(", ")
            ),
        };
        left_out.map(describe).collect()
    }

    /// Returns the environment variables whose values it gets, in order.
    pub fn variables(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self
            .values()
            .iter()
            .flat_map(|value| value.from.iter().map(String::as_str))
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// A command line as a person may read it.
pub(crate) fn command_line<'a>(command: &'a str, arguments: impl IntoIterator<Item = &'a str>) -> String {
    let words = std::iter::once(command).chain(arguments);
    words.map(shell_word).collect::<Vec<_>>().join(" ")
}

/// Checks the name of a server.
///
/// # Errors
/// Returns what is wrong with it.
///
/// ```
/// use agentx_config::check_mcp_name;
/// assert!(check_mcp_name("github").is_ok());
/// assert!(check_mcp_name("a__b").is_err() && check_mcp_name("a b").is_err() && check_mcp_name("").is_err());
/// ```
pub fn check_mcp_name(name: &str) -> Result<(), String> {
    let is_one_of = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    let is_valid = (1..=MAX_NAME).contains(&name.len())
        && name.chars().all(is_one_of)
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && !name.contains("__")
        && !name.ends_with('_');
    if is_valid {
        return Ok(());
    }
    Err(format!(
        "the name of an MCP server has 1 to {MAX_NAME} ASCII letters, digits, `-` and single `_`, and begins with a letter or digit"
    ))
}

/// The servers of the user's own settings.
pub(crate) fn servers(
    get: &SettingsGetter<'_>,
    lookup: &dyn Fn(&str) -> Option<String>,
    mistakes: &mut Vec<ConfigMistake>,
) -> Vec<McpServerSettings> {
    let names = get.merged.names_under(&SettingPath::dotted("mcp"));
    let read = names.iter().filter_map(|name| {
        server(name, get, lookup)
            .map_err(|what| {
                let origin = get.merged.any_below("mcp", name);
                mistakes.push(mistake(&origin, &format!("mcp.{name}"), what, None));
            })
            .ok()
    });
    read.collect()
}

fn server(
    name: &str,
    get: &SettingsGetter<'_>,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Result<McpServerSettings, String> {
    check_mcp_name(name)?;
    let at = SettingPath::dotted("mcp").child(name);
    let path = |key: &str| at.child(key);
    let command = get.text_at(&path("command"));
    let url = get.text_at(&path("url"));
    let is_set = |key: &str| get.merged.get(&path(key)).is_some();
    let has = |key: &str| is_set(key) || !get.merged.names_under(&path(key)).is_empty();
    let target = match (command, url) {
        (Some(command), None) => {
            if has("headers") {
                return Err("`headers` needs `url`; a program gets `env`".into());
            }
            McpTarget::Program {
                command,
                arguments: get.names(&path("args")).unwrap_or_default(),
                directory: get.path_at(&path("cwd")).unwrap_or_else(|| get.workspace()),
                variables: values(get, &path("env"), lookup),
            }
        }
        (None, Some(url)) => {
            if let Some(key) = ["args", "env", "cwd"].into_iter().find(|key| has(key)) {
                return Err(format!(
                    "`{key}` needs `command`; a server at an address gets `headers`"
                ));
            }
            McpTarget::Address {
                url,
                headers: values(get, &path("headers"), lookup),
            }
        }
        (Some(_), Some(_)) => return Err("it has both `command` and `url`; keep one of them".into()),
        (None, None) => return Err(crate::layers::read::NEEDS_TARGET.into()),
    };
    let mut server = McpServerSettings {
        tools: get.names(&path("tools")),
        start_timeout_ms: get.millis_at(&path("start_timeout")),
        call_timeout_ms: get.millis_at(&path("call_timeout")),
        trust_annotations: get.text_at(&path("trust_annotations")).as_deref() == Some("true"),
        sampling: get.text_at(&path("sampling")).as_deref() == Some("true"),
        oauth: oauth(get, &at.child("oauth"), lookup),
        ..McpServerSettings::new(name.to_owned(), target)
    };
    if server.oauth != McpOauthSettings::default() && matches!(server.target, McpTarget::Program { .. }) {
        return Err("`oauth` needs `url`; a program has no login".into());
    }
    let of_variables = server.values().iter().filter(|value| !value.from.is_empty());
    server.hidden = of_variables.filter_map(|value| value.value.clone()).collect();
    server.hidden.extend(server.oauth.client_secret.clone());
    Ok(server)
}

/// Returns the client for logins at a server.
fn oauth(
    get: &SettingsGetter<'_>,
    at: &SettingPath,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> McpOauthSettings {
    let secret = match get.merged.get(&at.child("client_secret")) {
        Some(Value::Key(KeyReference::Env(variable))) => lookup(variable).map(Secret::new),
        Some(Value::Key(KeyReference::Literal(secret))) => Some(secret.clone()),
        _ => None,
    };
    McpOauthSettings {
        client_id: get.text_at(&at.child("client_id")),
        client_secret: secret,
        client_metadata_url: get.text_at(&at.child("client_metadata_url")),
        scope: get.text_at(&at.child("scope")),
        redirect_port: get
            .count_at(&at.child("redirect_port"))
            .and_then(|port| u16::try_from(port).ok()),
    }
}

/// Returns the values of a server's variables or headers. A literal value is used unchanged.
fn values(
    get: &SettingsGetter<'_>,
    at: &SettingPath,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Vec<McpValue> {
    let names = get.merged.names_under(at).into_iter();
    let value = |name: String| {
        let (from, value) = match get.merged.get(&at.child(&name)) {
            Some(Value::Key(KeyReference::Env(variable))) => {
                let value = lookup(variable).filter(|value| !value.trim().is_empty());
                (vec![variable.clone()], value.map(Secret::new))
            }
            Some(Value::Key(KeyReference::Literal(secret))) => (Vec::new(), Some(secret.clone())),
            _ => (Vec::new(), None),
        };
        McpValue { name, from, value }
    };
    names.map(value).collect()
}
