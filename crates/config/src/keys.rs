//! The one table of keys: what each is called, what it takes, whether an untrusted workspace may set it, and which
//! variable stands for it. Reading, merging, showing and the documentation follow from it.

use crate::ValueKind;

/// A key that a configuration may hold.
#[derive(Debug, PartialEq, Eq)]
pub struct KeySpec {
    /// Dotted; `*` stands for a name that the person chooses.
    pub path: &'static str,
    /// What it takes.
    pub kind: ValueKind,
    /// What a workspace may do with it before it is trusted.
    pub trust: Trust,
    /// The built-in value.
    pub default: Option<&'static str>,
    /// What it means.
    pub about: &'static str,
}

/// What a workspace's file may do with a key before the person trusts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Set it.
    Free,
    /// Only make it stricter than the layers below do.
    Tighten,
    /// Nothing.
    Trusted,
    /// Nothing, even in a workspace that the person trusts.
    Own,
}

const fn key(
    path: &'static str,
    kind: ValueKind,
    trust: Trust,
    default: Option<&'static str>,
    about: &'static str,
) -> KeySpec {
    KeySpec {
        path,
        kind,
        trust,
        default,
        about,
    }
}

/// The protocols that a provider can speak.
pub const APIS: &[&str] = &["anthropic", "openai-chat"];
const AUTHS: &[&str] = &["x-api-key", "bearer", "none"];
const APPROVALS: &[&str] = &["ask", "auto", "deny"];
const DURABILITIES: &[&str] = &["process", "machine"];
const LEVELS: &[&str] = &["off", "error", "warn", "info", "debug", "trace"];

const YES_OR_NO: &[&str] = &["true", "false"];
/// How much a model is to reason, in the words of OpenAI's protocol.
pub(crate) const EFFORTS: &[&str] = &["none", "minimal", "low", "medium", "high", "xhigh"];
/// The names under which the longest answer is sent, in the words of OpenAI's protocol.
pub(crate) const LENGTH_FIELDS: &[&str] = &["max_tokens", "max_completion_tokens"];
/// How reasoning is shown.
const THINKING: &[&str] = &["full", "folded", "hidden"];
const THEMES: &[&str] = &["auto", "dark", "light", "none"];
const LINKS: &[&str] = &["auto", "always", "never"];
const EDIT_KEYS: &[&str] = &["emacs", "vi"];
const NOTICES: &[&str] = &["bell", "osc9", "osc777", "none"];
/// What a template of the status row may name.
pub const STATUS_NAMES: &[&str] = &[
    "model",
    "context",
    "tokens",
    "cost",
    "iterations",
    "time",
    "session",
    "workspace",
    "approval",
];

use Trust::{Free, Own, Tighten, Trusted};

/// Every key, in the order in which they are shown.
#[rustfmt::skip]
pub const KEYS: &[KeySpec] = &[
    key("model", ValueKind::Text, Trusted, None, "the model to ask: an id, an alias, or `provider/id`"),
    key("system_prompt", ValueKind::Text, Trusted, None, "standing instructions, in place of the built-in ones"),
    key("system_prompt_file", ValueKind::Path, Trusted, None, "a file that holds them, relative to the file that names it"),
    key("scripted_answers", ValueKind::Path, Trusted, None, "a file of answers for the scripted environment, relative to the file that names it"),
    key("params.temperature", ValueKind::Temperature, Trusted, None, "how freely the model chooses its words"),
    key("params.max_output_tokens", ValueKind::Count, Trusted, None, "the longest answer in tokens"),
    key("params.thinking_tokens", ValueKind::Count, Trusted, None, "how many tokens the model may spend on reasoning"),
    key("limits.max_iterations", ValueKind::OrNone(&ValueKind::Count), Tighten, Some("50"), "how many times in one run the model may be answered with tool results"),
    key("limits.max_tokens", ValueKind::OrNone(&ValueKind::Count), Tighten, None, "tokens in one run, read and written"),
    key("limits.max_cost", ValueKind::OrNone(&ValueKind::Money), Tighten, None, "US dollars in one run; no further model call once they are spent"),
    key("limits.timeout", ValueKind::OrNone(&ValueKind::Duration), Tighten, None, "time that a program works on a run, from its start to its end"),
    key("context.environment", ValueKind::Choice(YES_OR_NO), Free, Some("true"), "whether a model is told the directory, the state of Git, the date, the system and the shell that a session begins with"),
    key("condense.at", ValueKind::OrNone(&ValueKind::Count), Trusted, Some("80"), "how full the model's window is, in percent, when the older part of a conversation is condensed; `none` for only when it is wanted"),
    key("condense.keep", ValueKind::Count, Trusted, Some("8"), "how many of the latest exchanges stay as they are, as long as they fit into a quarter of the window"),
    key("condense.model", ValueKind::Text, Trusted, None, "the model that writes the summaries; the session's own where it is not set"),
    key("approval", ValueKind::Choice(APPROVALS), Tighten, Some("ask"), "who decides about a call that no rule decides"),
    key("rules", ValueKind::Rules, Tighten, None, "approval rules; deny beats ask beats allow; those of all layers count"),
    key("tools.enabled", ValueKind::Names, Tighten, None, "the only tools on offer; all of them where it is not set"),
    key("tools.disabled", ValueKind::Names, Free, None, "tools that are not on offer; those of all layers count"),
    key("tools.timeout", ValueKind::Duration, Tighten, Some("1h"), "the longest time of one tool call"),
    key("tools.max_output_bytes", ValueKind::Count, Tighten, Some("32768"), "how much of a tool's output the model reads"),
    key("tools.environment", ValueKind::Names, Trusted, None, "environment variables that commands get although they look like secrets; never those that hold a key of a provider"),
    key("providers.*.api", ValueKind::Choice(APIS), Trusted, None, "the protocol that it speaks [openai-chat]"),
    key("providers.*.base_url", ValueKind::Url, Trusted, None, "where it is"),
    key("providers.*.api_key", ValueKind::Key, Trusted, None, "its key, by reference: `${NAME}`"),
    key("providers.*.api_key_env", ValueKind::KeyVariable, Trusted, None, "the variable that holds its key; the same as `api_key: ${NAME}`"),
    key("providers.*.auth", ValueKind::Choice(AUTHS), Trusted, None, "how the key is sent"),
    key("providers.*.default_model", ValueKind::Text, Trusted, None, "the model to ask where none is named"),
    key("providers.*.headers.*", ValueKind::Key, Trusted, None, "one more header that is sent along, by reference: `${NAME}`"),
    key("calls.connect_timeout", ValueKind::Duration, Trusted, Some("10s"), "the longest time until a model's server is connected"),
    key("calls.first_byte_timeout", ValueKind::Duration, Trusted, Some("10m"), "the longest time until it begins to answer; one that is cut off is not asked again"),
    key("calls.idle_timeout", ValueKind::Duration, Trusted, Some("10m"), "the longest silence within an answer; one that is cut off is not asked again"),
    key("calls.timeout", ValueKind::OrNone(&ValueKind::Duration), Trusted, Some("none"), "the longest time of one answer, also of one that still comes"),
    key("calls.retry_for", ValueKind::Duration, Trusted, Some("10m"), "how long a server that is overloaded or cannot be reached is waited for in all"),
    key("calls.retries", ValueKind::Count, Trusted, Some("4"), "how many times an answer that broke off is asked for again; with `0` nothing is tried again"),
    key("models.*.provider", ValueKind::Text, Trusted, None, "which provider serves it"),
    key("models.*.id", ValueKind::Text, Trusted, None, "the id that the API expects, where it is not the key itself"),
    key("models.*.aliases", ValueKind::Names, Trusted, None, "shorter names for it"),
    key("models.*.context_window", ValueKind::Count, Trusted, None, "tokens that fit into one call, answer included"),
    key("models.*.max_output_tokens", ValueKind::Count, Trusted, None, "the longest answer in tokens"),
    key("models.*.images", ValueKind::Choice(YES_OR_NO), Trusted, None, "whether it can be shown pictures"),
    key("models.*.reasoning_effort", ValueKind::Choice(EFFORTS), Trusted, None, "how much it is asked to reason, in place of what follows from `params.thinking_tokens` (openai-chat)"),
    key("models.*.length_field", ValueKind::Choice(LENGTH_FIELDS), Trusted, None, "the field that holds the longest answer (openai-chat)"),
    key("models.*.prices.input", ValueKind::Price, Trusted, None, "US dollars for a million tokens read"),
    key("models.*.prices.output", ValueKind::Price, Trusted, None, "US dollars for a million tokens written"),
    key("models.*.prices.cache_read", ValueKind::Price, Trusted, None, "US dollars for a million tokens read from the cache"),
    key("models.*.prices.cache_write", ValueKind::Price, Trusted, None, "US dollars for a million tokens written to the cache"),
    key("chat.status", ValueKind::Template(STATUS_NAMES), Trusted, Some("{model} · {context} · {cost}"), "the row that says how a chat stands; it may name `{model}`, `{context}`, `{tokens}`, `{cost}`, `{iterations}`, `{time}`, `{session}`, `{workspace}`, `{approval}`"),
    key("chat.status_command", ValueKind::Text, Trusted, None, "a command line whose first line of output is that row instead; it gets how the chat stands as JSON on its standard input"),
    key("chat.status_every", ValueKind::Duration, Trusted, Some("10s"), "how often that command is run at most"),
    key("chat.thinking", ValueKind::Choice(THINKING), Free, Some("folded"), "how a model's reasoning is shown: as it comes, as a line with its length, or not at all"),
    key("chat.theme", ValueKind::Choice(THEMES), Free, Some("auto"), "colours for a dark or a light background, or none; `auto` asks the terminal"),
    key("chat.links", ValueKind::Choice(LINKS), Free, Some("auto"), "whether the words of a link lead there themselves (OSC 8), where it is known that the terminal can do that, always or never; else the address follows them"),
    key("chat.title", ValueKind::Choice(YES_OR_NO), Free, Some("true"), "whether the title of the terminal shows the name of the session and whether it works (`…`) or asks (`?`)"),
    key("chat.notify", ValueKind::Choice(NOTICES), Free, Some("bell"), "how the end of a long run is told: by the terminal's bell, or by a notice of the desktop as iTerm2, WezTerm, ghostty and kitty (`osc9`) or urxvt, foot and ghostty (`osc777`) show it"),
    key("chat.notify_after", ValueKind::Duration, Free, Some("20s"), "after which time a run is a long one"),
    key("chat.keys", ValueKind::Choice(EDIT_KEYS), Free, Some("emacs"), "how the line of a chat is edited: as in emacs and most shells, or as in vi"),
    key("chat.screen_reader", ValueKind::Choice(YES_OR_NO), Free, Some("false"), "whether a chat only appends whole lines and says in words what happens"),
    key("connect", ValueKind::Server, Trusted, None, "the server that commands work on; `local` for this machine"),
    key("allow_plain", ValueKind::Names, Own, None, "servers, each as `host:port`, that AgentX signs in to over plain HTTP although they do not prove their key; whoever is on the way to them can read and change everything"),
    key("data_dir", ValueKind::Path, Own, None, "where sessions are kept"),
    key("members.directory", ValueKind::Path, Own, None, "where a server makes a directory for each of its members, in which their sessions work; beside `data_dir`, with `-members` behind its name, where it is not set"),
    key("quotas.sessions", ValueKind::OrNone(&ValueKind::Count), Own, Some("1000"), "sessions that a member of a server may have"),
    key("quotas.bytes", ValueKind::OrNone(&ValueKind::Count), Own, Some("1073741824"), "bytes that the sessions of a member may take, blobs included"),
    key("quotas.running", ValueKind::OrNone(&ValueKind::Count), Own, Some("16"), "sessions of a member in which something may run at once"),
    key("quotas.calls", ValueKind::OrNone(&ValueKind::Count), Own, Some("16"), "tool calls of a member that may run at once, at least one; more wait for their turn"),
    key("quotas.cost", ValueKind::OrNone(&ValueKind::Money), Own, None, "US dollars that the sessions of a member may cost within 24 hours"),
    key("quotas.connections", ValueKind::OrNone(&ValueKind::Count), Own, Some("256"), "WebSockets and event streams that a member may have at once"),
    key("quotas.visitor_connections", ValueKind::OrNone(&ValueKind::Count), Own, Some("32"), "WebSockets and event streams that the visitors of one address may have at once"),
    key("quotas.challenges", ValueKind::Count, Own, Some("64"), "challenges over HTTP that one address may have open; then the oldest of its own is forgotten"),
    key("quotas.agents", ValueKind::Count, Own, Some("256"), "agents that the configuration of a new session at a server may have, itself included, whoever asks"),
    key("quotas.config_bytes", ValueKind::Count, Own, Some("1048576"), "bytes that the configuration of a session at a server may have as JSON, whoever makes or changes it"),
    key("quotas.queued", ValueKind::Count, Own, Some("64"), "messages that may wait in a session of a server, whoever sends them"),
    key("quotas.queued_bytes", ValueKind::Count, Own, Some("8388608"), "bytes of such messages in a session, 256 for each part, beyond which no more are taken"),
    key("server.trusted_proxies", ValueKind::Names, Own, None, "addresses and networks of proxies (`127.0.0.1`, `10.0.0.0/8`) whose `X-Forwarded-For` or `Forwarded` a server believes"),
    key("durability", ValueKind::Choice(DURABILITIES), Tighten, Some("process"), "what committed events survive: the death of the process, or of the machine too (slower)"),
    key("log", ValueKind::Choice(LEVELS), Trusted, Some("off"), "how much the program says about itself"),
    key("log_file", ValueKind::Path, Own, None, "where it says that; standard error, in a chat `agentx.log` in data_dir"),
];

/// Variables of the environment that stand for a key. The catalog names more: those that say where a provider is
/// (`ANTHROPIC_BASE_URL`, `OPENAI_BASE_URL`, …) and those that hold its key.
pub const VARIABLES: &[(&str, &str)] = &[
    ("AGENTX_MODEL", "model"),
    ("AGENTX_APPROVAL", "approval"),
    ("AGENTX_MAX_ITERATIONS", "limits.max_iterations"),
    ("AGENTX_MAX_COST", "limits.max_cost"),
    ("AGENTX_TIMEOUT", "limits.timeout"),
    ("AGENTX_THEME", "chat.theme"),
    ("AGENTX_CONNECT", "connect"),
    ("AGENTX_DATA", "data_dir"),
    ("AGENTX_LOG", "log"),
    ("AGENTX_LOG_FILE", "log_file"),
];

/// A path in a configuration, a name for each level: names that a person chooses may hold dots.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyPath(pub Vec<String>);

impl KeyPath {
    /// Splits at dots; for keys of the table, whose names hold none.
    pub fn dotted(path: &str) -> Self {
        Self(path.split('.').map(str::to_owned).collect())
    }

    /// The path with one more level.
    pub(crate) fn child(&self, name: &str) -> Self {
        let mut levels = self.0.clone();
        levels.push(name.to_owned());
        Self(levels)
    }

    /// The key of the table that this is.
    pub fn spec(&self) -> Option<&'static KeySpec> {
        KEYS.iter().find(|spec| self.matches(spec) == Match::Whole)
    }

    /// Whether keys of the table begin with this.
    pub(crate) fn is_branch(&self) -> bool {
        KEYS.iter().any(|spec| self.matches(spec) == Match::Beginning)
    }

    /// The names that may come next, `*` left out.
    pub(crate) fn next_names(&self) -> Vec<&'static str> {
        let mut names: Vec<&'static str> = KEYS
            .iter()
            .filter(|spec| self.matches(spec) == Match::Beginning)
            .filter_map(|spec| spec.path.split('.').nth(self.0.len()))
            .filter(|name| *name != "*")
            .collect();
        names.dedup();
        names
    }

    fn matches(&self, spec: &KeySpec) -> Match {
        let mut pattern = spec.path.split('.');
        for level in &self.0 {
            match pattern.next() {
                Some(name) if name == "*" || name == level => {}
                _ => return Match::Not,
            }
        }
        if pattern.next().is_some() {
            Match::Beginning
        } else {
            Match::Whole
        }
    }
}

#[derive(PartialEq, Eq)]
enum Match {
    Not,
    Beginning,
    Whole,
}

impl std::fmt::Display for KeyPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, level) in self.0.iter().enumerate() {
            let dot = if i == 0 { "" } else { "." };
            let plain = level.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
            if plain {
                write!(f, "{dot}{level}")?
            } else {
                write!(f, "{dot}{level:?}")?
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_consistent() {
        for spec in KEYS {
            assert_eq!(KeyPath::dotted(spec.path).spec(), Some(spec), "{}", spec.path);
            if let Some(default) = spec.default {
                assert!(
                    crate::value::from_words(spec.kind, default).is_ok(),
                    "{}",
                    spec.path
                );
            }
        }
        for (name, path) in VARIABLES {
            assert!(KeyPath::dotted(path).spec().is_some(), "{name}");
        }
    }

    #[test]
    fn chosen_names_may_hold_dots() {
        let path = KeyPath(vec!["models".into(), "gpt-4.1".into(), "provider".into()]);
        assert_eq!(path.spec().map(|spec| spec.path), Some("models.*.provider"));
        assert_eq!(path.to_string(), "models.\"gpt-4.1\".provider");
    }
}
