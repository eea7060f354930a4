//! Tools that read pages of the web, by their names. A name alone makes the handling of their results only
//! stricter: these are masked first, and count as text from outside.

/// Tools that fetch pages or search the web.
const WEB_TOOLS: [&str; 2] = ["web_extract", "web_search"];
/// The beginning of the names of tools that drive a browser: `browse`, `browser_click`.
const BROWSER: &str = "browse";

/// Returns whether a tool reads web pages, by its name: that of a server stands behind its name
/// (`mcp__playwright__browser_click`).
pub(crate) fn is_web_tool(name: &str) -> bool {
    let own = name.rsplit("__").next().unwrap_or(name);
    WEB_TOOLS.contains(&own) || own.starts_with(BROWSER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_for_pages_are_known_by_their_names() {
        for web in [
            "web_extract",
            "browser_read",
            "browse",
            "mcp__playwright__browser_click",
        ] {
            assert!(is_web_tool(web), "{web}");
        }
        for other in ["bash", "read", "query_database", "browser__read"] {
            assert!(!is_web_tool(other), "{other}");
        }
    }
}
