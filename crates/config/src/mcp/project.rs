//! `.mcp.json`: the servers of a project, in the form that several programs read.
//!
//! Its servers run programs or send data away, so the file counts only in a folder that the person trusts,
//! with exactly the bytes that they saw. The claims of the file never give it more permissions. Variables of
//! the environment reach a server only by name (`${NAME}`, `${NAME:-default}`), and keys that the program
//! pays with never do. The form is that of Claude Code (<https://code.claude.com/docs/en/mcp>).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use agentx_llm::Secret;
use serde_json::{Map, Value};

use crate::api_key_source::ApiKeySource;
use crate::digest::digest;
use crate::folders::file_of_setting::named;
use crate::folders::folder::{FileAcceptance, Folder, FolderTrust};
use crate::folders::named_file::{NamedFile, SERVERS_FILE};
use crate::folders::secret_guard;
use crate::layers::value::url;
use crate::mcp::entry::{ServerEffect, add_variables, as_written, details, variables_in};
use crate::mcp::server_files::{Listings, ServerFiles, changed_message, directory, files_of};
use crate::mcp::{McpOauthSettings, McpServerSettings, McpTarget, McpValue, check_mcp_name};
use crate::mistake::ConfigMistake;
use crate::paths::ConfigPaths;

/// The most servers that are read from it.
const MAX_SERVERS: usize = 64;

/// The contents of a project's `.mcp.json`.
#[derive(Debug, Default)]
pub(crate) struct ProjectServers {
    /// The file and the files of the folder that its servers run, accepted or not.
    pub(crate) files: Vec<NamedFile>,
    /// The servers that count.
    pub(crate) servers: Vec<McpServerSettings>,
    /// Its entries, for a person who decides about the folder.
    pub(crate) effects: Vec<ServerEffect>,
    /// Further notes about the file for the person.
    pub(crate) notes: Vec<String>,
    /// The mistakes in the file.
    pub(crate) mistakes: Vec<ConfigMistake>,
    /// The servers that are left out because of a file that they run.
    pub(crate) pending: Vec<ConfigMistake>,
}

impl ProjectServers {
    /// Adds a mistake that is not about an entry with an effect.
    fn wrong(&mut self, mistake: ConfigMistake) {
        self.notes.push(mistake.what.clone());
        self.mistakes.push(mistake);
    }

    /// The effect of this server.
    fn effect_of(&mut self, name: &str) -> Option<&mut ServerEffect> {
        self.effects.iter_mut().find(|effect| effect.name == name)
    }

    /// Returns warnings about the file in a trusted folder.
    pub(crate) fn warnings(&self, folder: &Folder) -> Vec<ConfigMistake> {
        if folder.trust != FolderTrust::Trusted {
            return Vec::new();
        }
        self.mistakes.iter().chain(&self.pending).cloned().collect()
    }
}

/// The conditions under which the file counts.
pub(crate) struct ProjectContext<'a> {
    pub(crate) places: &'a ConfigPaths,
    pub(crate) folder: &'a Folder,
    /// The API keys that the program uses: no server of a folder gets one.
    pub(crate) keys: &'a [ApiKeySource],
    pub(crate) lookup: &'a dyn Fn(&str) -> Option<String>,
}

impl ProjectContext<'_> {
    /// Reads the file of the project, if there is one.
    pub(crate) fn servers(&self) -> ProjectServers {
        let path = self.places.workspace_root.join(SERVERS_FILE);
        let mut found = ProjectServers::default();
        let bytes = match named(&path, &secret_guard::secrets(), self.places) {
            Ok(mut read) => match read.pop() {
                Some((_, bytes)) => bytes,
                None => return found,
            },
            Err(why) => {
                found.wrong(self.mistake(format!("it is left out: {why}")));
                return found;
            }
        };
        let read = self.read(&bytes, &mut found);
        let counts =
            self.folder.trust == FolderTrust::Trusted && self.folder.admits(Path::new(SERVERS_FILE), &bytes);
        found.files.push(NamedFile {
            key: "mcp".into(),
            path: PathBuf::from(SERVERS_FILE),
            bytes,
        });
        let mut listings = Listings::new();
        for server in read {
            let with_its_files = match self.files_of(&server, &mut listings) {
                Ok(of_server) => self.with_its_files(server, of_server, &mut found),
                Err(why) => {
                    if let Some(effect) = found.effect_of(&server.name) {
                        effect.left_out = Some(why.clone());
                    }
                    let name = &server.name;
                    Err(format!(
                        "the server {name:?} is left out: {why}; add the server to your own settings with `agentx mcp add`"
                    ))
                }
            };
            match with_its_files {
                Ok(server) if counts => found.servers.push(server),
                Ok(_) => {}
                Err(what) => found.pending.push(self.mistake(what)),
            }
        }
        found
    }

    /// Adds the files of the folder that the server runs, and their hash to the server's.
    ///
    /// # Errors
    /// Returns the reason to leave the server out: one of the files is new or has changed.
    fn with_its_files(
        &self,
        mut server: McpServerSettings,
        of_server: Vec<(PathBuf, Vec<u8>)>,
        found: &mut ProjectServers,
    ) -> Result<McpServerSettings, String> {
        let name = server.name.clone();
        let mut missing = None;
        server.files = Some(ServerFiles::new(self.places, &of_server));
        for (path, bytes) in of_server {
            if self.folder.standing(&path, &bytes) != FileAcceptance::Accepted {
                missing.get_or_insert_with(|| path.clone());
            }
            let of_directory = directory(&path, self.places).map(|directory| {
                format!(
                    "MCP server `{name}` may run any file {directory}: your trust accepts them all as they are now, and \
                     after any later change of one AgentX asks you again"
                )
            });
            if let Some(effect) = found.effect_of(&name) {
                effect.also.extend(of_directory);
            }
            server.entry_hash = digest(format!("{}\n{}", server.entry_hash, digest(&bytes)).as_bytes());
            found.files.push(NamedFile {
                key: format!("mcp.{name}"),
                path,
                bytes,
            });
        }
        match missing.filter(|_| self.folder.trust == FolderTrust::Trusted) {
            Some(path) => Err(format!(
                "the server {name:?} is left out: {}; `agentx config trust` shows it",
                changed_message(&path, self.places)
            )),
            None => Ok(server),
        }
    }

    /// Reads the files of the folder that a server runs.
    fn files_of(
        &self,
        server: &McpServerSettings,
        listings: &mut Listings,
    ) -> Result<Vec<(PathBuf, Vec<u8>)>, String> {
        files_of(&server.target, self.places, listings)
    }

    /// Reads the servers. Each entry is an effect, whether or not it can be used today: otherwise a variable
    /// that is set later would start a server that nobody has seen.
    fn read(&self, bytes: &[u8], found: &mut ProjectServers) -> Vec<McpServerSettings> {
        let servers = match serde_json::from_slice::<Value>(bytes) {
            Ok(Value::Object(mut file)) => file.remove("mcpServers"),
            Ok(_) => None,
            Err(error) => {
                found.wrong(self.mistake(format!("it is not valid JSON: {error}")));
                return Vec::new();
            }
        };
        let Some(Value::Object(servers)) = servers else {
            found.wrong(self.mistake("expected {\"mcpServers\": {NAME: {…}}}".into()));
            return Vec::new();
        };
        if servers.len() > MAX_SERVERS {
            let what = format!(
                "it has {} servers; the first {MAX_SERVERS} are read",
                servers.len()
            );
            found.wrong(self.mistake(what));
        }
        let mut read = Vec::new();
        for (name, value) in servers.iter().take(MAX_SERVERS) {
            let effect = value
                .as_object()
                .and_then(|fields| ServerEffect::of(name, fields));
            match (self.server(name, value), effect) {
                (Ok(server), mut effect) => {
                    let left_out = server.values_left_out().into_iter();
                    let sentences = left_out.map(|what| format!("MCP server `{name}`: {what}"));
                    if let Some(effect) = &mut effect {
                        effect.also.extend(sentences);
                    }
                    found.effects.extend(effect);
                    read.push(server);
                }
                (Err(what), effect) => {
                    let mistake = self.mistake(format!("the server {name:?} is left out: {what}"));
                    match effect {
                        Some(mut effect) => {
                            effect.left_out = Some(what);
                            found.effects.push(effect);
                            found.mistakes.push(mistake);
                        }
                        None => found.wrong(mistake),
                    }
                }
            }
        }
        read
    }

    fn server(&self, name: &str, value: &Value) -> Result<McpServerSettings, String> {
        check_mcp_name(name)?;
        let Value::Object(fields) = value else {
            return Err("expected an object with `command` or `url`".into());
        };
        let text = |key: &str| match fields.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => self.expanded(text).map(|(text, from)| Some((text, from))),
            Some(_) => Err(format!("`{key}` must be a string")),
        };
        let kind = fields.get("type").and_then(Value::as_str).unwrap_or_default();
        if kind == "sse" {
            return Err("the transport `sse` is deprecated; servers of today speak `http`".into());
        }
        let target = match (text("command")?, text("url")?) {
            (Some((command, _)), None) => McpTarget::Program {
                command,
                arguments: self.arguments(fields)?,
                directory: match text("cwd")? {
                    Some((directory, _)) => self.places.workspace_root.join(directory),
                    None => self.places.workspace_root.clone(),
                },
                variables: self.values(fields, "env")?,
            },
            (None, Some((address, from))) => McpTarget::Address {
                // The values of variables are not repeated.
                url: url(&address).map_err(|what| match from.len() {
                    0 => what,
                    _ => "after its variables are filled in, `url` is not a valid address".to_owned(),
                })?,
                headers: self.values(fields, "headers")?,
            },
            _ => return Err("it needs either `command` or `url`".into()),
        };
        Ok(McpServerSettings {
            name: name.to_owned(),
            target,
            shown: as_written(fields),
            details: details(fields),
            entry_hash: digest(value.to_string().as_bytes()),
            hidden: self.hidden(value),
            tools: None,
            start_timeout_ms: None,
            call_timeout_ms: None,
            trust_annotations: false,
            sampling: false,
            oauth: McpOauthSettings::default(),
            of_folder: true,
            files: None,
        })
    }

    fn arguments(&self, fields: &Map<String, Value>) -> Result<Vec<String>, String> {
        let items = match fields.get("args") {
            None => return Ok(Vec::new()),
            Some(Value::Array(items)) => items,
            Some(_) => return Err("`args` must be a list".into()),
        };
        let argument = |item: &Value| match item {
            Value::String(text) => self.expanded(text).map(|(text, _)| text),
            _ => Err("`args` must be a list of strings".into()),
        };
        items.iter().map(argument).collect()
    }

    fn values(&self, fields: &Map<String, Value>, key: &str) -> Result<Vec<McpValue>, String> {
        let map = match fields.get(key) {
            None => return Ok(Vec::new()),
            Some(Value::Object(map)) => map,
            Some(_) => return Err(format!("`{key}` must be an object")),
        };
        let value = |(name, value): (&String, &Value)| {
            let Value::String(text) = value else {
                return Err(format!("`{key}.{name}` must be a string"));
            };
            // A value whose variable is not set is left out, as in the person's own settings.
            let missing = variables_in(text)
                .into_iter()
                .find(|variable| variable.default.is_none() && (self.lookup)(&variable.name).is_none());
            let from = variables_in(text).into_iter().map(|variable| variable.name);
            let from: Vec<String> = from.collect();
            from.iter().try_for_each(|variable| self.may_have(variable))?;
            let value = match missing {
                Some(_) => None,
                None => Some(Secret::new(self.expanded(text)?.0)),
            };
            Ok(McpValue {
                name: name.clone(),
                from,
                value,
            })
        };
        map.iter().map(value).collect()
    }

    /// The text with the values of the variables that it names, and their names.
    fn expanded(&self, text: &str) -> Result<(String, Vec<String>), String> {
        let (mut out, mut at, mut from) = (String::new(), 0, Vec::new());
        for variable in variables_in(text) {
            self.may_have(&variable.name)?;
            out.push_str(&text[at..variable.begin]);
            let value = (self.lookup)(&variable.name).or(variable.default);
            out.push_str(&value.ok_or_else(|| format!("the variable {} is not set", variable.name))?);
            at = variable.end;
            from.push(variable.name);
        }
        out.push_str(&text[at..]);
        Ok((out, from))
    }

    /// The values of all variables that a server names anywhere.
    fn hidden(&self, server: &Value) -> Vec<Secret> {
        let mut named = BTreeSet::new();
        add_variables([server], &mut named);
        let values = named.iter().filter_map(|variable| (self.lookup)(variable));
        values
            .filter(|value| !value.is_empty())
            .map(Secret::new)
            .collect()
    }

    /// Refuses an API key that the program uses, by the name or the value of its variable.
    fn may_have(&self, variable: &str) -> Result<(), String> {
        let value = (self.lookup)(variable);
        let is_key = self.keys.iter().any(|key| {
            let same_name = matches!(key, ApiKeySource::Env { name, .. } if name == variable);
            let holds_it = |key: &Secret| value.as_deref().is_some_and(|value| key.is_in(value));
            same_name || key.value().is_some_and(holds_it)
        });
        if is_key {
            return Err(format!(
                "it asks for {variable}, a key that AgentX itself uses; only your own settings may pass it on"
            ));
        }
        Ok(())
    }

    fn mistake(&self, what: String) -> ConfigMistake {
        ConfigMistake::of_file(&self.places.workspace_root.join(SERVERS_FILE), what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(root: &Path) -> ConfigPaths {
        let home = root.to_string_lossy().into_owned();
        let places = ConfigPaths::find(root, &|name| (name == "HOME").then(|| home.clone()));
        ConfigPaths {
            workspace_root: root.to_owned(),
            ..places.expect("there are places")
        }
    }

    /// The file's servers, in a folder that is trusted as it is, with these variables.
    fn read(text: &str, lookup: &dyn Fn(&str) -> Option<String>) -> ProjectServers {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("it is there");
        std::fs::write(root.join(SERVERS_FILE), text).expect("it is written");
        let places = places(&root);
        let keys = [ApiKeySource::Env {
            name: "OWN_KEY".into(),
            value: Some(Secret::new("sk-own-secret-of-some-length")),
        }];
        let context = ProjectContext {
            places: &places,
            folder: &Folder::trusted_whole(),
            keys: &keys,
            lookup,
        };
        context.servers()
    }

    /// Returns the text about the servers for the person.
    fn said(found: ProjectServers) -> Vec<String> {
        let effects = found.effects.into_iter();
        effects.flat_map(ServerEffect::sentences).collect()
    }

    #[test]
    fn servers_are_read_with_the_values_that_they_name() {
        let lookup = |name: &str| (name == "TOKEN").then(|| "t0ken".to_owned());
        let text = r#"{"mcpServers": {
            "files": {"command": "npx", "args": ["-y", "x y", "${DIR:-/srv}"], "env": {"A": "${TOKEN}", "B": "${UNSET}", "C": "plain"}},
            "docs": {"type": "http", "url": "https://example.org/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}}
        }}"#;
        let found = read(text, &lookup);
        assert!(found.mistakes.is_empty(), "{:?}", found.mistakes);
        let shown: Vec<String> = found.servers.iter().map(|server| server.shown.clone()).collect();
        assert_eq!(shown, ["npx -y 'x y' '${DIR:-/srv}'", "https://example.org/mcp"]);
        let value = |server: usize, at: usize| {
            found.servers[server].values()[at]
                .value
                .as_ref()
                .map(Secret::expose)
        };
        assert_eq!(
            [value(0, 0), value(0, 1), value(0, 2)],
            [Some("t0ken"), None, Some("plain")]
        );
        assert_eq!(value(1, 0), Some("Bearer t0ken"));
        assert!(
            found
                .servers
                .iter()
                .all(|server| server.of_folder && !server.trust_annotations && !server.sampling)
        );
        let said = said(found);
        assert_eq!(
            said[1],
            "MCP server `files`: it does not get B: the variable UNSET is not set"
        );
        assert_eq!(
            said[3],
            "MCP server `docs`: its tools send to this address: https://example.org/mcp; it sets Authorization: 'Bearer ${TOKEN}', with the values of TOKEN"
        );
    }

    #[test]
    fn what_makes_no_sense_is_left_out_and_named() {
        let lookup = |name: &str| match name {
            "SAME" => Some("x sk-own-secret-of-some-length".to_owned()),
            "ODD" => Some("sk-own".to_owned()),
            _ => None,
        };
        for (server, what) in [
            (r#""a b": {"command": "x"}"#, "the name of an MCP server"),
            (r#""a": 7"#, "expected an object"),
            (
                r#""a": {"command": "x", "url": "http://x"}"#,
                "either `command` or `url`",
            ),
            (
                r#""a": {"type": "sse", "url": "http://x"}"#,
                "`sse` is deprecated",
            ),
            (r#""a": {"command": ["x"]}"#, "`command` must be a string"),
            (r#""a": {"command": "x", "args": "y"}"#, "`args` must be a list"),
            (
                r#""a": {"command": "x", "args": [1]}"#,
                "`args` must be a list of strings",
            ),
            (r#""a": {"command": "${UNSET}"}"#, "UNSET is not set"),
            (
                r#""a": {"command": "x", "env": {"K": "${OWN_KEY}"}}"#,
                "a key that AgentX itself uses",
            ),
            (
                r#""a": {"url": "http://x/${SAME}"}"#,
                "a key that AgentX itself uses",
            ),
        ] {
            let found = read(
                &format!(r#"{{"mcpServers": {{{server}, "z": {{"command": "z"}}}}}}"#),
                &lookup,
            );
            assert_eq!(found.servers.len(), 1, "{server}");
            let said = found.mistakes[0].to_string();
            assert!(
                said.contains(what) && !said.contains("sk-own"),
                "{server}: {said}"
            );
        }
        let found = read(
            r#"{"mcpServers": {"a": {"type": "sse", "url": "http://x"}, "b": 7, "z": {"command": "z"}}}"#,
            &lookup,
        );
        assert_eq!(found.notes.len(), 1, "{:?}", found.notes);
        let sse = "the transport `sse` is deprecated; servers of today speak `http`";
        assert_eq!(
            said(found),
            [
                format!(
                    "MCP server `a` is not started: {sse}; once it can start, its tools send to this address: http://x"
                ),
                "MCP server `z`: its tools start this program: z".to_owned(),
                "MCP server `z` may run any file of this folder: your trust accepts them all as they are now, and after any \
                 later change of one AgentX asks you again"
                    .to_owned(),
            ]
        );
        for text in ["", "[]", "{}", "{\"mcpServers\": []}", "{"] {
            let found = read(text, &lookup);
            assert_eq!((found.servers.len(), found.mistakes.len()), (0, 1), "{text}");
            assert_eq!(found.files.len(), 1, "a person may see it");
        }
    }

    #[test]
    fn a_server_counts_while_the_files_that_it_runs_are_as_they_were_trusted() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("it is there");
        let text = r#"{"mcpServers": {"db": {"command": "python3", "args": ["-u", "srv/db.py", "--config=db.ini", "/etc/hostname"]}}}"#;
        std::fs::create_dir(root.join("srv")).expect("a folder");
        let write = |file: &str, text: &str| std::fs::write(root.join(file), text).expect("it is written");
        for (file, text) in [(SERVERS_FILE, text), ("srv/db.py", "one"), ("db.ini", "two")] {
            write(file, text);
        }
        let places = places(&root);
        let look = |folder: &Folder| {
            let context = ProjectContext {
                places: &places,
                folder,
                keys: &[],
                lookup: &|_| None,
            };
            context.servers()
        };
        let files = look(&Folder::default()).files;
        let names: Vec<_> = files.iter().map(|file| file.path.to_string_lossy()).collect();
        assert_eq!(names, [".mcp.json", "srv/db.py", "db.ini", "srv"]);
        let effects = said(look(&Folder::default())).join("\n");
        assert!(
            effects.contains("MCP server `db` may run any file in srv: your trust"),
            "{effects}"
        );
        let accepted: Vec<_> = files
            .iter()
            .map(|file| (file.path.clone(), file.bytes.clone()))
            .collect();
        let data = tempfile::tempdir().expect("a folder");
        let trusted =
            crate::folders::folder::trust_folder(data.path(), &root, FolderTrust::Trusted, &accepted)
                .expect("it is kept");
        let before = look(&trusted).servers.remove(0).identity();
        write("srv/db.py", "another program");
        let found = look(&trusted);
        assert!(found.servers.is_empty());
        assert!(
            found.pending[0]
                .to_string()
                .contains("srv/db.py is new or has changed"),
            "{:?}",
            found.pending
        );
        // A person accepts it: it is another program for a rule that keeps one of its tools.
        assert_ne!(
            look(&Folder::trusted_whole()).servers.remove(0).identity(),
            before
        );
        write("srv/db.py", &"x".repeat(2 << 20));
        assert!(
            look(&Folder::trusted_whole()).pending[0]
                .to_string()
                .contains("more than 1048576 bytes")
        );
    }
}
