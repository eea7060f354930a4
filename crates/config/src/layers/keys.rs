//! The table of keys: their names, kinds of values, defaults, and whether a workspace may set them; and the
//! environment variables for keys. Code that reads, merges and shows settings uses this table, and a test
//! compares docs/CONFIG.md with it.

use crate::layers::choices::{
    APIS, APPROVALS, ASK_USER, AUTHS, CACHE_TTLS, DURABILITIES, EDIT_KEYS, JUDGES, LEVELS, LINKS,
    MEMORY_ACCEPTS, NETWORKS, NOTICES, PROFILES, READING_COMMANDS, REASONING_FIELDS, RISK_POLICIES, RISKS,
    SANDBOXES, SEARCH_ENGINES, STUCK_MODES, THEMES, THINKING, UNKNOWN_RISKS, YES_OR_NO,
};
use crate::layers::former_keys::FORMER_KEYS;
use crate::layers::value::ValueKind;
use crate::layers::{owner_variable, trust_variable};

/// A key of the configuration.
#[derive(Debug, PartialEq, Eq)]
pub struct SettingSpec {
    /// The dotted path; `*` is a name that the person chooses.
    pub path: &'static str,
    /// The kind of value.
    pub kind: ValueKind,
    /// The rights of a workspace's file.
    pub workspace_may: WorkspaceMay,
    /// The default value as text; `None` if there is none.
    pub default: Option<&'static str>,
    /// The description.
    pub about: &'static str,
}

/// The right of a workspace's file to set a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkspaceMay {
    /// The layer may set the key.
    Set,
    /// Without trust, it may only make the value stricter than the layers below do.
    Tighten,
    /// The layer may set the key if the user trusts the workspace.
    SetIfTrusted,
    /// The layer may not set the key, even in a trusted workspace.
    Never,
}

const fn key(
    path: &'static str,
    kind: ValueKind,
    workspace_may: WorkspaceMay,
    default: Option<&'static str>,
    about: &'static str,
) -> SettingSpec {
    SettingSpec {
        path,
        kind,
        workspace_may,
        default,
        about,
    }
}

/// The levels of reasoning effort in OpenAI's protocol.
pub(crate) const EFFORTS: &[&str] = &["none", "minimal", "low", "medium", "high", "xhigh"];
/// The request fields for the maximum length of an answer in OpenAI's protocol.
pub(crate) const LENGTH_FIELDS: &[&str] = &["max_tokens", "max_completion_tokens"];
/// The names that a template of the status row may use.
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
    "sandbox",
];

use WorkspaceMay::{Never, Set, SetIfTrusted, Tighten};

/// All keys, in the order of `config show`.
#[rustfmt::skip]
pub const KEYS: &[SettingSpec] = &[
    key("model", ValueKind::Text, SetIfTrusted, None, "the model: an id, an alias, or `provider/id`"),
    key("fallbacks", ValueKind::Names("gpt-6.1-terra, ollama/qwen3"), SetIfTrusted, None, "models to ask in this order, within a run, if the model is down, limited or refuses; the next run begins with the model again"),
    key("profile", ValueKind::Choice(PROFILES), Never, Some("coding"), "the kind of agent: `personal` changes the defaults of `limits.max_iterations` to 5, of `context.history_context_size` to 20, and of `context.modules` to all of them"),
    key("system_prompt", ValueKind::Text, SetIfTrusted, None, "system prompt, instead of the built-in one"),
    key("system_prompt_file", ValueKind::Path, SetIfTrusted, None, "a file with the system prompt; relative paths start at the configuration file"),
    key("scripted_answers", ValueKind::Path, SetIfTrusted, None, "a file with answers for the scripted environment; relative paths start at the configuration file"),
    key("params.temperature", ValueKind::Temperature, SetIfTrusted, None, "sampling temperature"),
    key("params.max_output_tokens", ValueKind::Count, SetIfTrusted, None, "maximum length of an answer, in tokens"),
    key("params.thinking_tokens", ValueKind::Count, SetIfTrusted, None, "token budget for reasoning; `0` is the same as none"),
    key("limits.max_iterations", ValueKind::OrNone(&ValueKind::Count), Tighten, Some("50"), "maximum number of tool rounds in one run"),
    key("limits.max_tokens", ValueKind::OrNone(&ValueKind::Count), Tighten, None, "maximum number of tokens in one run, input and output"),
    key("limits.max_cost", ValueKind::OrNone(&ValueKind::Money), Tighten, None, "maximum cost of one run in US dollars; a run that reaches it makes no further model call. A call costs its tokens at the prices of the model, or the amount that its server reports, whichever is more"),
    key("limits.timeout", ValueKind::OrNone(&ValueKind::Duration), Tighten, None, "maximum time for one run, counted while a program works on it"),
    key("limits.ask", ValueKind::Choice(YES_OR_NO), Never, Some("true"), "whether a run that reaches a limit of rounds, tokens or cost asks you whether to continue; if nobody can answer, it ends"),
    key("limits.day_cost", ValueKind::OrNone(&ValueKind::Money), Never, None, "maximum cost of all your sessions on this machine within 24 hours, in US dollars; at this limit no model is called until `agentx usage --raise-day 5` raises it for a day"),
    key("limits.day_tokens", ValueKind::OrNone(&ValueKind::Count), Never, None, "maximum number of tokens of all your sessions on this machine within 24 hours, input and output; `agentx usage --raise-day 50000t` raises it for a day"),
    key("context.environment", ValueKind::Choice(YES_OR_NO), Tighten, Some("true"), "whether the model gets the directory, the state of Git, the date, the system and the shell at the start of a session"),
    key("context.modules", ValueKind::Names("persona, system, tools, moment"), Never, None, "contexts that services build before each run: `persona`, `system`, `tools`, `moment`, or the name of one that a reactor serves; `persona` replaces the built-in system prompt"),
    key("context.persona_file", ValueKind::Path, Never, None, "a file with the text of `persona`, instead of the built-in one; relative paths start at the configuration file"),
    key("context.system_file", ValueKind::Path, Never, None, "a file with the text of `system`; `{facts}` in it stands for the facts"),
    key("context.tools_file", ValueKind::Path, Never, None, "a file with the text of `tools`; `{tools}` in it stands for the list of tools"),
    key("context.time_zone", ValueKind::Text, Never, None, "the time zone of `moment`, such as `Europe/Berlin`; that of this machine by default"),
    key("context.history_context_size", ValueKind::OrNone(&ValueKind::Count), Never, None, "number of earlier messages that a request has besides those of its run; as many as fit by default"),
    key("condense.at", ValueKind::OrNone(&ValueKind::Count), SetIfTrusted, Some("80"), "how full the model's context window may get, in percent, before the older part of the conversation is condensed; `none` to condense only on request"),
    key("condense.keep", ValueKind::Count, SetIfTrusted, Some("8"), "number of latest exchanges that are never condensed, as long as they fit into a quarter of the window and a third of what instructions and tools leave of it"),
    key("condense.model", ValueKind::Text, SetIfTrusted, None, "the model that writes summaries; the session's model by default"),
    key("condense.condensers", ValueKind::Names("mask 100, summary"), SetIfTrusted, None, "what shortens a long conversation: a list of `summary`, `summary N`, `recent N`, `mask N`, `mask-web N` and `window`, or of OpenHands' names for them; `[summary]` if it is not set"),
    key("stuck.mode", ValueKind::Choice(STUCK_MODES), SetIfTrusted, Some("calls"), "how to detect a model that repeats itself: by equal calls with equal results (`calls`), by the rules of OpenHands V0 (`v0`), or not at all"),
    key("stuck.nudge_after", ValueKind::Count, SetIfTrusted, Some("6"), "number of equal successful calls after which AgentX tells the model that it repeats itself; at least 2"),
    key("stuck.stop_after", ValueKind::Count, SetIfTrusted, Some("100"), "number of equal successful calls after which AgentX asks you whether to continue, or stops the run if nobody can answer"),
    key("stuck.nudge_after_errors", ValueKind::Count, SetIfTrusted, Some("3"), "the same as `stuck.nudge_after` for equal failing calls"),
    key("stuck.stop_after_errors", ValueKind::Count, SetIfTrusted, Some("8"), "the same as `stuck.stop_after` for equal failing calls"),
    key("approval", ValueKind::Choice(APPROVALS), Tighten, Some("ask"), "who decides about a call that no rule covers"),
    key("rules", ValueKind::Rules, Tighten, None, "approval rules; deny beats ask, and ask beats allow; the rules of all layers apply"),
    key("security.analyzers", ValueKind::Names("rules, model"), Never, None, "the analyzers that assess the risk of calls before these are decided: `rules` (always one of them), `model`, and names of `analyzers`; nothing is assessed if none is named"),
    key("security.policy", ValueKind::Choice(RISK_POLICIES), Tighten, Some("risky"), "the assessed calls that need your decision although a rule or the approval mode allows them: none, those with a risk, or all"),
    key("security.threshold", ValueKind::Choice(RISKS), Tighten, Some("high"), "the lowest risk that needs your decision with `security.policy: risky`"),
    key("security.unknown", ValueKind::Choice(UNKNOWN_RISKS), Tighten, Some("ask"), "whether a call whose risk an analyzer does not know needs your decision with `security.policy: risky`"),
    key("security.judge", ValueKind::Choice(JUDGES), Never, Some("strict"), "whether a judge only makes decisions stricter, or also allows calls of low risk that no rule is about and that you would be asked about"),
    key("security.model", ValueKind::Text, Never, None, "the model that judges; the session's model by default"),
    key("security.timeout", ValueKind::Duration, Never, Some("30s"), "maximum time for the verdict of an analyzer, at most 10m; after it the risk is unknown"),
    key("analyzers.*.command", ValueKind::Text, Never, None, "the program of an analyzer: a path, or a name in PATH"),
    key("analyzers.*.args", ValueKind::Names("--strict"), Never, None, "the arguments of the program"),
    key("analyzers.*.url", ValueKind::Url, Never, None, "the address of an analyzer, in place of a program"),
    key("analyzers.*.headers.*", ValueKind::Key, Never, None, "a header that is sent to the address, as a reference: `${NAME}`"),
    key("tools.enabled", ValueKind::Names("read, grep"), Tighten, None, "the tools to offer; all by default"),
    key("tools.disabled", ValueKind::Names("bash"), Set, None, "tools not to offer; the lists of all layers apply"),
    key("tools.timeout", ValueKind::Duration, Tighten, Some("1h"), "maximum time for one tool call"),
    key("tools.max_output_bytes", ValueKind::Count, Tighten, Some("32768"), "maximum size of tool output that the model reads"),
    key("tools.find_tools_at", ValueKind::OrNone(&ValueKind::Count), SetIfTrusted, Some("10"), "how much of the model's context window the tools of MCP servers may take, in percent, before the model gets `find_tools` in their place; `0` always gives it `find_tools`, `none` always all tools"),
    key("tools.ask_user", ValueKind::Choice(ASK_USER), SetIfTrusted, Some("decide"), "whether the model may ask questions with `ask_user`; if nobody can answer, `decide` tells the model so, and `wait` keeps the question open"),
    key("tools.reading_commands", ValueKind::Choice(READING_COMMANDS), Tighten, Some("allow"), "whether commands of `bash` that only read the workspace (`ls`, `git status`, `head FILE`) run without a question in a folder that you trust"),
    key("tools.ask_unknown", ValueKind::Names("bash"), Never, None, "tools about which you are asked what became of a call that was running when the program stopped: done, not done, or run again; `*` for all. The model is told that nobody knows about calls of other tools"),
    key("tools.environment", ValueKind::Names("GITHUB_TOKEN"), SetIfTrusted, None, "environment variables to pass to commands although they look like secrets; provider keys are never passed"),
    key("tools.optional", ValueKind::Names("query_write"), Never, None, "tools to offer that are off by default: `query_write`, `remind_me`, `shell`, `test_tool`, `wait`; if `tools.enabled` is set, it must also name them"),
    key("tools.own_agents", ValueKind::Choice(YES_OR_NO), Never, Some("true"), "whether the agent may delegate work to agents of your files, and of a folder that you trust, that it does not list"),
    key("tools.browser", ValueKind::Choice(YES_OR_NO), Never, Some("false"), "whether to offer the tools `browser_*`, which drive Chromium; docs/BROWSER.md has them"),
    key("sandbox.mode", ValueKind::Choice(SANDBOXES), Tighten, None, "the sandbox for commands of `bash`: none, Landlock or namespaces; `auto` takes the strongest one that works, `everyday` takes namespaces if they work and otherwise none. If you do not set it: `everyday` for commands about which nobody is asked (`--yes`, `approval: auto`, a judge that allows calls, a command that only reads), `none` for all others"),
    key("sandbox.best_effort", ValueKind::Choice(YES_OR_NO), Tighten, Some("false"), "whether to run commands even if the sandbox does not fully work on this machine"),
    key("sandbox.network", ValueKind::Choice(NETWORKS), Tighten, None, "whether commands in the sandbox have a network: `on`; `hosts` for those of `sandbox.hosts` alone; `ask` to be asked about others; or `off`. `on` by default with the mode `everyday`, otherwise `off`"),
    key("sandbox.hosts", ValueKind::Names("crates.io, *.crates.io"), Never, None, "hosts that commands in the sandbox reach with `sandbox.network: hosts` or `ask`: `crates.io`, `*.crates.io`, `localhost:8080`, `10.0.0.1`; an address that is not of the public internet has to be named itself"),
    key("sandbox.credentials.*.hosts", ValueKind::Names("api.github.com"), Never, None, "the hosts that may have the value of this variable, of which commands see a placeholder; they also need `sandbox.hosts`"),
    key("sandbox.credentials.*.value", ValueKind::Key, Never, None, "the value, as a reference: `${NAME}`; by default that of the variable itself"),
    key("sandbox.memory", ValueKind::OrNone(&ValueKind::Count), Tighten, None, "maximum memory of a command in the sandbox and all that it starts, in MiB; commands do not run where control groups are not delegated to you"),
    key("sandbox.processes", ValueKind::OrNone(&ValueKind::Count), Tighten, None, "maximum number of processes and threads of such a command, held in the same way"),
    key("sandbox.read", ValueKind::Names("~/notes"), Never, None, "files and directories that commands in the sandbox can read, besides the system and the toolchains"),
    key("sandbox.write", ValueKind::Names("~/build"), Never, None, "files and directories that commands in the sandbox can write, besides the workspace"),
    key("rewind.commands", ValueKind::Choice(YES_OR_NO), Never, Some("false"), "whether a rewind also restores the files of the workspace that commands of `bash` changed; their contents are then kept in `data_dir`"),
    key("rewind.ignored_files", ValueKind::Choice(YES_OR_NO), Never, Some("false"), "whether that includes files that Git ignores"),
    key("rewind.max_files", ValueKind::Count, Never, Some("20000"), "maximum number of files of a workspace that are kept for that; of a workspace with more than twice as many none is"),
    key("rewind.max_file_bytes", ValueKind::Count, Never, Some("1048576"), "maximum size of such a file, in bytes"),
    key("rewind.max_bytes", ValueKind::Count, Never, Some("268435456"), "maximum size of all such files of a workspace, in bytes"),
    key("secrets.redact", ValueKind::Choice(YES_OR_NO), Never, Some("true"), "whether to replace secrets, and keys in their published form, before anything is recorded, shown or sent to a model"),
    key("secrets.names", ValueKind::Names("SIGNING_SEED"), Never, None, "additional variables of the environment or of `.env` files to treat as secrets"),
    key("secrets.ignore", ValueKind::Names("PUBLIC_KEY"), Never, None, "variables that are not secrets although their names look like secrets"),
    key("memory.enabled", ValueKind::Choice(YES_OR_NO), Tighten, Some("false"), "whether the agent may propose memories with `remember` and receives the memories that you accepted"),
    key("memory.accept", ValueKind::Choice(MEMORY_ACCEPTS), Tighten, Some("ask"), "whether a proposal waits for you, or is accepted immediately unless the conversation contains text from outside"),
    key("memory.max_tokens", ValueKind::Count, Tighten, Some("500"), "maximum size, in tokens, of the memories sent with one input; `0` sends none"),
    key("memory.learning.threshold_turns", ValueKind::Count, Never, Some("20"), "number of your messages in a session after which a model is asked once what to remember of them, if memory is on; at most 1000, `0` never asks"),
    key("memory.learning.reflect_turns", ValueKind::Count, Never, Some("60"), "number of your messages in a session after which the model is also asked what worked and what to offer another time; `0` never asks"),
    key("mcp.*.command", ValueKind::Text, Never, None, "the program of an MCP server: a path, or a name in PATH"),
    key("mcp.*.args", ValueKind::Names("-y, some-server"), Never, None, "the arguments of the program"),
    key("mcp.*.env.*", ValueKind::Key, Never, None, "a variable that the program gets besides the usual ones, as a reference: `${NAME}`"),
    key("mcp.*.cwd", ValueKind::Path, Never, None, "the directory that the program starts in; docs/MCP.md names the default"),
    key("mcp.*.url", ValueKind::Url, Never, None, "the address of an MCP server, in place of a program"),
    key("mcp.*.headers.*", ValueKind::Key, Never, None, "a header that is sent to the address, as a reference: `${NAME}`"),
    key("mcp.*.oauth.client_id", ValueKind::Text, Never, None, "the client for `agentx mcp login`, if the server's authorization server registers none by itself"),
    key("mcp.*.oauth.client_secret", ValueKind::Key, Never, None, "the secret of that client, as a reference: `${NAME}`"),
    key("mcp.*.oauth.client_metadata_url", ValueKind::Text, Never, None, "the `https` address of a client ID metadata document that you publish: the client for `agentx mcp login` where the authorization server takes such documents and `client_id` is not set"),
    key("mcp.*.oauth.scope", ValueKind::Text, Never, None, "the scopes to ask for, separated by spaces; those that the server names by default"),
    key("mcp.*.oauth.redirect_port", ValueKind::Count, Never, None, "the local port for the redirect of the browser; by default any free port"),
    key("mcp.*.tools", ValueKind::Names("search, fetch"), Never, None, "the tools of the server to offer, by the server's names; all by default"),
    key("mcp.*.start_timeout", ValueKind::Duration, Never, None, "maximum time for the server to start, agree on a version and list its tools; 30s by default"),
    key("mcp.*.call_timeout", ValueKind::Duration, Never, None, "maximum time for one call of its tools, at most `tools.timeout`; 10m by default"),
    key("mcp.*.trust_annotations", ValueKind::Choice(YES_OR_NO), Never, None, "whether to believe the server that a tool only reads or may be repeated; then such calls run without asking, and are repeated after a crash; `false` by default"),
    key("mcp.*.sampling", ValueKind::Choice(YES_OR_NO), Never, None, "whether the server may call the agent's model during a tool call (sampling), at your cost and within the run's limits; `false` by default"),
    key("web_search.engine", ValueKind::Choice(SEARCH_ENGINES), Never, None, "the search engine of the tool `web_search`; without it, the tool is not offered"),
    key("web_search.api_key", ValueKind::Key, Never, None, "the key of the search engine, as a reference: `${NAME}`; SearXNG needs none"),
    key("web_search.url", ValueKind::Url, Never, None, "the address of the search engine; its vendor's by default, SearXNG needs one"),
    key("exec_server.url", ValueKind::Url, Never, None, "the address of an exec server (`agentx exec-server`) at which commands run and files are, in place of this machine"),
    key("exec_server.key", ValueKind::Key, Never, None, "the key of the exec server, as a reference: `${NAME}`"),
    key("exec_server.insecure", ValueKind::Choice(YES_OR_NO), Never, Some("false"), "whether the key may be sent to another machine over `http`, without encryption"),
    key("databases.*.url", ValueKind::Key, Never, None, "the address of a PostgreSQL database that `query_database` reads, as a reference: `${NAME}`; needs a build with the feature `postgres`"),
    key("webhooks.*.secret", ValueKind::Key, Never, None, "the secret that signs the deliveries of this webhook, as a reference: `${NAME}`"),
    key("webhooks.*.prompt", ValueKind::Text, Never, None, "the prompt that a delivery to `POST /v1/hooks/NAME` runs; the content of the delivery stands below it"),
    key("webhooks.*.agent", ValueKind::Text, Never, None, "the agent that gets the prompt; the default agent without it"),
    key("webhooks.*.model", ValueKind::Text, Never, None, "the model; that of the settings without it"),
    key("webhooks.*.workspace", ValueKind::Path, Never, None, "the directory of the new session of each delivery; that of the server without it"),
    key("webhooks.*.session", ValueKind::Text, Never, None, "the session that each delivery continues, by its id; a new one for each without it"),
    key("web_extract.local_hosts", ValueKind::Names("localhost, wiki.intra"), Never, None, "hosts outside of the public internet, by name or address, from which `web_extract` may fetch pages"),
    key("web_extract.robots_txt", ValueKind::Choice(YES_OR_NO), Never, Some("true"), "whether `web_extract` fetches only what the `robots.txt` of a server permits to `agentx`"),
    key("browser.program", ValueKind::Text, Never, None, "the browser: an absolute path, or a name in PATH; by default the first Chromium or Chrome in PATH"),
    key("browser.local_hosts", ValueKind::Names("localhost, wiki.intra"), Never, None, "hosts outside of the public internet, by name or address, that the browser may reach"),
    key("browser.sandbox", ValueKind::Choice(YES_OR_NO), Never, Some("true"), "whether the browser starts with its own sandbox, which does not work for root"),
    key("providers.*.api", ValueKind::Choice(APIS), SetIfTrusted, None, "the API protocol; OpenAI at its own address uses openai-responses, Google uses gemini [openai-chat]"),
    key("providers.*.base_url", ValueKind::Url, SetIfTrusted, None, "the address of the API"),
    key("providers.*.api_key", ValueKind::Key, SetIfTrusted, None, "the API key, as a reference: `${NAME}`"),
    key("providers.*.api_key_env", ValueKind::KeyVariable, SetIfTrusted, None, "the environment variable with the API key; same as `api_key: ${NAME}`"),
    key("providers.*.auth", ValueKind::Choice(AUTHS), SetIfTrusted, None, "how the key is sent"),
    key("providers.*.region", ValueKind::Text, Never, None, "the region of a cloud, which the address follows from: of AWS for `bedrock`, of Google Cloud for Vertex AI"),
    key("providers.*.project", ValueKind::Text, Never, None, "the project of Google Cloud, which the address of Vertex AI follows from"),
    key("providers.*.default_model", ValueKind::Text, SetIfTrusted, None, "the default model of this provider"),
    key("providers.*.headers.*", ValueKind::Key, SetIfTrusted, None, "an additional request header, as a reference: `${NAME}`"),
    key("model_calls.connect_timeout", ValueKind::Duration, SetIfTrusted, Some("10s"), "maximum time to connect to the model's server"),
    key("model_calls.first_byte_timeout", ValueKind::Duration, SetIfTrusted, Some("10m"), "maximum time until the first byte of an answer; a timeout is not retried"),
    key("model_calls.idle_timeout", ValueKind::Duration, SetIfTrusted, Some("10m"), "maximum silence within an answer; a timeout is not retried"),
    key("model_calls.timeout", ValueKind::OrNone(&ValueKind::Duration), SetIfTrusted, Some("none"), "maximum time for one answer, even while it is still streaming"),
    key("model_calls.max_retry_time", ValueKind::Duration, SetIfTrusted, Some("10m"), "how long to wait, in total, for a server that is overloaded or unreachable"),
    key("model_calls.retries", ValueKind::Count, SetIfTrusted, Some("4"), "how many times to retry an answer that broke off; `0` disables all retries"),
    key("models.*.provider", ValueKind::Text, SetIfTrusted, None, "the provider that serves the model"),
    key("models.*.id", ValueKind::Text, SetIfTrusted, None, "the model id in the API, if it differs from the key"),
    key("models.*.aliases", ValueKind::Names("mine"), SetIfTrusted, None, "short names for the model"),
    key("models.*.context_window", ValueKind::Count, SetIfTrusted, None, "size of the context window in tokens, answer included"),
    key("models.*.max_output_tokens", ValueKind::Count, SetIfTrusted, None, "maximum length of an answer, in tokens"),
    key("models.*.images", ValueKind::Choice(YES_OR_NO), SetIfTrusted, None, "whether the model accepts images"),
    key("models.*.reasoning_effort", ValueKind::Choice(EFFORTS), SetIfTrusted, None, "the reasoning effort to request, instead of the one derived from `params.thinking_tokens` (not of anthropic)"),
    key("models.*.temperature", ValueKind::Temperature, SetIfTrusted, None, "the sampling temperature, to hundredths, if neither `params.temperature` nor the agent sets one"),
    key("models.*.max_tokens_field", ValueKind::Choice(LENGTH_FIELDS), SetIfTrusted, None, "the request field for the maximum length of an answer (openai-chat)"),
    key("models.*.reasoning_field", ValueKind::Choice(REASONING_FIELDS), SetIfTrusted, None, "the field in which the model's reasoning is sent back to it; by its name by default (openai-chat)"),
    key("models.*.cache_ttl", ValueKind::Choice(CACHE_TTLS), SetIfTrusted, None, "the time for which Anthropic keeps the beginning of a request in its cache after its last use: 5 minutes by default, or an hour, for which writing costs twice the input price (anthropic)"),
    key("models.*.prices.input", ValueKind::Price, SetIfTrusted, None, "US dollars per million input tokens"),
    key("models.*.prices.output", ValueKind::Price, SetIfTrusted, None, "US dollars per million output tokens"),
    key("models.*.prices.cache_read", ValueKind::Price, SetIfTrusted, None, "US dollars per million tokens read from the cache"),
    key("models.*.prices.cache_write", ValueKind::Price, SetIfTrusted, None, "US dollars per million tokens written to the cache"),
    key("models.*.prices.cache_write_1h", ValueKind::Price, SetIfTrusted, None, "US dollars per million tokens written to the cache for an hour; twice `input` by default"),
    key("chat.status", ValueKind::Template(STATUS_NAMES), SetIfTrusted, Some("{model} · {context} · {cost}"), "the status row of a chat; may contain `{model}`, `{context}`, `{tokens}`, `{cost}`, `{iterations}`, `{time}`, `{session}`, `{workspace}`, `{approval}`, `{sandbox}`"),
    key("chat.status_command", ValueKind::Text, SetIfTrusted, None, "a command whose first line of output replaces the status row; it reads the state of the chat as JSON from standard input"),
    key("chat.status_interval", ValueKind::Duration, SetIfTrusted, Some("10s"), "minimum time between two runs of that command"),
    key("chat.thinking", ValueKind::Choice(THINKING), Set, Some("folded"), "how reasoning is shown: in full, as one line with its length, or not at all"),
    key("chat.theme", ValueKind::Choice(THEMES), Set, Some("auto"), "colours for a dark or a light background, or none; `auto` asks the terminal"),
    key("chat.links", ValueKind::Choice(LINKS), Set, Some("auto"), "whether links are clickable (OSC 8): in terminals known to support it, always, or never; otherwise the address follows the text"),
    key("chat.title", ValueKind::Choice(YES_OR_NO), Set, Some("true"), "whether the title of the terminal shows the name of the session and whether it works (`…`) or asks (`?`)"),
    key("chat.notify", ValueKind::Choice(NOTICES), Set, Some("bell"), "how to announce the end of a long run: the terminal bell, or a desktop notification, as `osc9` (iTerm2, WezTerm, ghostty, kitty) or `osc777` (urxvt, foot, ghostty)"),
    key("chat.notify_after", ValueKind::Duration, Set, Some("20s"), "how long a run must take to count as long"),
    key("chat.keys", ValueKind::Choice(EDIT_KEYS), Set, Some("emacs"), "key bindings of the line editor: `emacs`, as in most shells, or `vi`"),
    key("chat.screen_reader", ValueKind::Choice(YES_OR_NO), Set, Some("false"), "whether a chat prints whole lines only and describes progress in words"),
    key("connect", ValueKind::Server, SetIfTrusted, None, "the server to run commands against; `local` for this machine"),
    key("allow_plain_http", ValueKind::Names("server.local:5200"), Never, None, "servers (`host:port`) that AgentX signs in to over plain HTTP although they do not prove their key; anyone on the network path can read and change everything"),
    key("data_dir", ValueKind::Path, Never, None, "the directory of sessions; by default `agentx` in the directory for user data (`~/.local/share` on Linux)"),
    key("members_dir", ValueKind::Path, Never, None, "the directory in which a server creates a working directory for each member; `data_dir` with the suffix `-members` by default"),
    key("quotas.sessions", ValueKind::OrNone(&ValueKind::Count), Never, Some("1000"), "maximum number of sessions per server member"),
    key("quotas.storage_bytes", ValueKind::OrNone(&ValueKind::Count), Never, Some("1073741824"), "maximum size of a member's sessions in bytes, blobs included"),
    key("quotas.running_sessions", ValueKind::OrNone(&ValueKind::Count), Never, Some("16"), "maximum number of a member's sessions that may run at once"),
    key("quotas.running_tool_calls", ValueKind::OrNone(&ValueKind::Count), Never, Some("16"), "maximum number of a member's tool calls that may run at once, at least one; further calls wait"),
    key("quotas.daily_cost", ValueKind::OrNone(&ValueKind::Money), Never, None, "maximum cost of a member's sessions within 24 hours, in US dollars"),
    key("quotas.connections", ValueKind::OrNone(&ValueKind::Count), Never, Some("256"), "maximum number of WebSockets and event streams of one member at once"),
    key("quotas.visitor_connections", ValueKind::OrNone(&ValueKind::Count), Never, Some("32"), "maximum number of WebSockets and event streams of visitors from one address at once"),
    key("quotas.visitor_share", ValueKind::Count, Never, Some("50"), "maximum share of all connections that all visitors may have together, in percent"),
    key("quotas.challenges", ValueKind::Count, Never, Some("64"), "maximum number of open HTTP challenges per address; beyond it, the oldest is dropped"),
    key("quotas.auth_tokens", ValueKind::Count, Never, Some("256"), "maximum number of tokens per person, and for all visitors of one address; beyond it, the oldest becomes invalid"),
    key("quotas.idempotency_keys", ValueKind::Count, Never, Some("1024"), "maximum number of remembered idempotency keys per person; beyond it, the oldest is forgotten"),
    key("quotas.turns", ValueKind::Count, Never, Some("1"), "maximum number of slow requests of each kind that one person may have at once; more wait"),
    key("quotas.agents", ValueKind::Count, Never, Some("256"), "maximum number of agents in the configuration of a new session on a server, the root agent included"),
    key("quotas.config_bytes", ValueKind::Count, Never, Some("1048576"), "maximum size of a session's configuration on a server, in bytes of JSON"),
    key("quotas.queued_messages", ValueKind::Count, Never, Some("64"), "maximum number of messages that may wait in a session on a server"),
    key("quotas.queued_bytes", ValueKind::Count, Never, Some("8388608"), "maximum size of waiting messages in a session, in bytes, counting 256 extra per part"),
    key("server.trusted_proxies", ValueKind::Names("127.0.0.1, 10.0.0.0/8"), Never, None, "addresses and networks of proxies (`127.0.0.1`, `10.0.0.0/8`) whose `X-Forwarded-For` or `Forwarded` headers a server trusts"),
    key("server.push_hosts", ValueKind::Names("push.intra"), Never, None, "hosts outside of the public internet, by name or address, at which push services of browsers may be; also without `https`"),
    key("durability", ValueKind::Choice(DURABILITIES), Tighten, Some("process"), "what committed events survive: a crash of the process, or also of the machine (slower)"),
    key("log", ValueKind::Choice(LEVELS), SetIfTrusted, Some("off"), "log level"),
    key("log_file", ValueKind::Path, Never, None, "log file; by default standard error, or `agentx.log` in `data_dir` during a chat"),
];

/// Environment variables of AgentX that set no key, and what they mean.
pub const OTHER_VARIABLES: [(&str, &str); 3] = [
    ("AGENTX_CONFIG", "path of the user configuration"),
    (trust_variable::VARIABLE, trust_variable::MEANING),
    (owner_variable::VARIABLE, owner_variable::MEANING),
];

/// Environment variables that set a key. The catalog has more: those with the address of a provider
/// (`ANTHROPIC_BASE_URL`, `OPENAI_BASE_URL`, …) and those with its key.
pub const VARIABLES: &[(&str, &str)] = &[
    ("AGENTX_MODEL", "model"),
    ("AGENTX_APPROVAL", "approval"),
    ("AGENTX_SANDBOX", "sandbox.mode"),
    ("AGENTX_MAX_ITERATIONS", "limits.max_iterations"),
    ("AGENTX_MAX_COST", "limits.max_cost"),
    ("AGENTX_TIMEOUT", "limits.timeout"),
    ("AGENTX_THEME", "chat.theme"),
    ("AGENTX_CONNECT", "connect"),
    ("AGENTX_DATA", "data_dir"),
    ("AGENTX_LOG", "log"),
    ("AGENTX_LOG_FILE", "log_file"),
];

/// A path in a configuration, with a name for each level. A name that a person chose may contain dots.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SettingPath(pub Vec<String>);

impl SettingPath {
    /// Splits a path at its dots, for keys of the table, whose names contain none.
    pub fn dotted(path: &str) -> Self {
        Self(path.split('.').map(str::to_owned).collect())
    }

    /// Returns the path with one more level.
    pub(crate) fn child(&self, name: &str) -> Self {
        let mut levels = self.0.clone();
        levels.push(name.to_owned());
        Self(levels)
    }

    /// The entry of the table for this path, which may be a former name of the key.
    pub fn spec(&self) -> Option<&'static SettingSpec> {
        let current = self.current();
        let path = current.as_ref().unwrap_or(self);
        KEYS.iter().find(|spec| path.matches(spec.path) == Match::Whole)
    }

    /// The current path of the key if this is a former name of it.
    pub(crate) fn current(&self) -> Option<Self> {
        let former = FORMER_KEYS
            .iter()
            .find(|(former, _)| self.matches(former) == Match::Whole);
        former.map(|(_, current)| self.renamed(current))
    }

    /// Returns another name of the key, with the names of this path instead of `*`.
    fn renamed(&self, name: &str) -> Self {
        let levels = name
            .split('.')
            .enumerate()
            .map(|(level, word)| match self.0.get(level) {
                Some(chosen) if word == "*" => chosen.clone(),
                _ => word.to_owned(),
            });
        Self(levels.collect())
    }

    /// The former names of this key.
    pub(crate) fn former(&self) -> impl Iterator<Item = Self> + '_ {
        let names = FORMER_KEYS
            .iter()
            .filter(|(_, current)| self.matches(current) == Match::Whole);
        names.map(|(former, _)| self.renamed(former))
    }

    /// Returns whether keys of the table, or former names of keys, begin with this path.
    pub(crate) fn is_branch(&self) -> bool {
        let former = FORMER_KEYS.iter().map(|(former, _)| *former);
        KEYS.iter()
            .map(|spec| spec.path)
            .chain(former)
            .any(|key| self.matches(key) == Match::Beginning)
    }

    /// The names that may come next, `*` left out.
    pub(crate) fn next_names(&self) -> Vec<&'static str> {
        let mut names: Vec<&'static str> = KEYS
            .iter()
            .filter(|spec| self.matches(spec.path) == Match::Beginning)
            .filter_map(|spec| spec.path.split('.').nth(self.0.len()))
            .filter(|name| *name != "*")
            .collect();
        names.dedup();
        names
    }

    fn matches(&self, key: &str) -> Match {
        let mut pattern = key.split('.');
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

impl std::fmt::Display for SettingPath {
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
            assert_eq!(SettingPath::dotted(spec.path).spec(), Some(spec), "{}", spec.path);
            if let Some(default) = spec.default {
                assert!(
                    crate::layers::value::from_words(spec.kind, default).is_ok(),
                    "{}",
                    spec.path
                );
            }
        }
        for (former, current) in FORMER_KEYS {
            let spec = SettingPath::dotted(former).spec();
            assert_eq!(spec.map(|spec| spec.path), Some(*current), "{former}");
        }
        for (name, path) in VARIABLES {
            assert!(SettingPath::dotted(path).spec().is_some(), "{name}");
        }
    }

    #[test]
    fn a_former_name_keeps_the_names_that_a_person_chose() {
        let former = SettingPath(vec!["models".into(), "my.model".into(), "length_field".into()]);
        let current = SettingPath(vec![
            "models".into(),
            "my.model".into(),
            "max_tokens_field".into(),
        ]);
        assert_eq!(former.current(), Some(current.clone()));
        assert!(current.former().eq([former]));
    }

    #[test]
    fn chosen_names_may_hold_dots() {
        let path = SettingPath(vec!["models".into(), "gpt-4.1".into(), "provider".into()]);
        assert_eq!(path.spec().map(|spec| spec.path), Some("models.*.provider"));
        assert_eq!(path.to_string(), "models.\"gpt-4.1\".provider");
    }
}
