//! The words that settings with a choice may have, in the order in which documents list them.

/// The kinds of agents for which other keys have other defaults.
pub(super) const PROFILES: &[&str] = &["coding", "personal"];
/// The engines of `web_search`.
pub(super) const SEARCH_ENGINES: &[&str] = &["brave", "tavily", "exa", "searxng"];
pub(super) const AUTHS: &[&str] = &["x-api-key", "x-goog-api-key", "api-key", "bearer", "none"];
pub(super) const APPROVALS: &[&str] = &["ask", "accept-edits", "auto", "deny"];
pub(super) const READING_COMMANDS: &[&str] = &["allow", "ask"];
pub(super) const ASK_USER: &[&str] = &["off", "decide", "wait"];
pub(super) const RISK_POLICIES: &[&str] = &["never", "risky", "always"];
pub(super) const RISKS: &[&str] = &["high", "medium", "low"];
pub(super) const UNKNOWN_RISKS: &[&str] = &["ignore", "ask"];
pub(super) const JUDGES: &[&str] = &["strict", "allow"];
pub(super) const STUCK_MODES: &[&str] = &["off", "calls", "v0"];
pub(super) const SANDBOXES: &[&str] = agentx_sandbox::SandboxMode::WORDS;
pub(super) const MEMORY_ACCEPTS: &[&str] = &["ask", "always"];
pub(super) const NETWORKS: &[&str] = agentx_sandbox::SandboxNetwork::WORDS;
pub(super) const DURABILITIES: &[&str] = &["process", "machine"];
pub(super) const LEVELS: &[&str] = &["off", "error", "warn", "info", "debug", "trace"];
pub(super) const YES_OR_NO: &[&str] = &["true", "false"];
pub(super) const CACHE_TTLS: &[&str] = &["5m", "1h"];
pub(super) const REASONING_FIELDS: &[&str] = &["reasoning_content", "reasoning", "none"];
/// The ways to show reasoning.
pub(super) const THINKING: &[&str] = &["full", "folded", "hidden"];
pub(super) const THEMES: &[&str] = &["auto", "dark", "light", "none"];
pub(super) const LINKS: &[&str] = &["auto", "always", "never"];
pub(super) const EDIT_KEYS: &[&str] = &["emacs", "vi"];
pub(super) const NOTICES: &[&str] = &["bell", "osc9", "osc777", "none"];

/// The protocols that a provider can speak.
pub const APIS: &[&str] = &[
    "anthropic",
    "openai-chat",
    "openai-responses",
    "gemini",
    "gemini-interactions",
    "bedrock",
    "bedrock-converse",
    "vertex-anthropic",
];
