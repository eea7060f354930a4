//! The keys that only a person's own settings may set, and the reason that a refusal gives.
//!
//! Trust in a folder does not cover them: they decide which programs and servers get a person's keys, where
//! data is kept, and which rights a server gives to others.

use crate::layers::keys::{SettingPath, WorkspaceMay};

const SANDBOX: &str = "only your own settings may let the sandbox reach more";
const REWIND: &str = "only your own settings may say which files are kept for a rewind";
const ANALYZERS: &str = "only your own settings may name analyzers of risk, or let one allow calls";
const SECRETS: &str = "only your own settings may say what is replaced as a secret";
const ELSEWHERE: &str = "only your own settings may set where sessions and logs are kept";
const SERVERS: &str =
    "only your own settings may name MCP servers here; those of a folder are in its `.mcp.json`";
const SEARCH: &str = "only your own settings may choose a search engine";
const DATABASES: &str = "only your own settings may name databases";
const FETCHING: &str = "only your own settings may say what `web_extract` fetches";
const BROWSING: &str = "only your own settings may say what the browser is and reaches";
const SERVING: &str = "only your own settings may set the limits and folders of a server";
const OPTIONAL: &str = "only your own settings may offer tools that are off by default";
const DAY: &str = "only your own settings may limit what all your sessions spend";
const WEBHOOKS: &str = "only your own settings may name webhooks";
const ASKING: &str = "only your own settings may say about which calls you are asked";
const PERSONA: &str = "only your own settings may say who the agent is and what it gets of a conversation";
const PLAIN: &str = "only your own settings may name servers that are reached without encryption";

/// Returns why no file of a folder may set this key, trusted or not; `None` if a trusted one may.
pub(crate) fn why_personal(path: &SettingPath) -> Option<&'static str> {
    let never = path
        .spec()
        .is_some_and(|spec| spec.workspace_may == WorkspaceMay::Never);
    let why = match path.0.first().map(String::as_str) {
        Some("mcp") => SERVERS,
        Some("rewind") => REWIND,
        Some("sandbox") => SANDBOX,
        Some("security" | "analyzers") => ANALYZERS,
        Some("secrets") => SECRETS,
        Some("web_search") => SEARCH,
        Some("databases") => DATABASES,
        Some("web_extract") => FETCHING,
        Some("limits") if path.0.get(1).is_some_and(|key| key.starts_with("day_")) => DAY,
        Some("webhooks") => WEBHOOKS,
        Some("tools") if path.0.get(1).is_some_and(|key| key == "ask_unknown") => ASKING,
        Some("browser") => BROWSING,
        Some("tools") => OPTIONAL,
        Some("quotas" | "server" | "members_dir") => SERVING,
        Some("allow_plain_http") => PLAIN,
        Some("profile" | "context") => PERSONA,
        _ => ELSEWHERE,
    };
    (never || why == SERVERS).then_some(why)
}
