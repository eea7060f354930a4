//! Reads the address of Ollama from Ollama's own variable, so that a person who has set it for `ollama` need
//! not set another one. Forms and defaults are those of `envconfig.Host` and `ConnectableHost` in
//! `ollama/ollama`, `envconfig/config.go`.

use agentx_llm::Catalog;

/// Ollama's own variable: a host, `host:port`, `:port` or an address.
pub(crate) const HOST: &str = "OLLAMA_HOST";

/// Returns the address that Ollama's own variable names, if the variable of AgentX names none.
pub(crate) fn own_address(catalog: &Catalog, lookup: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let set = |name: &str| lookup(name).filter(|words| !words.trim().is_empty());
    catalog.provider("ollama")?;
    if set("OLLAMA_BASE_URL").is_some() {
        return None;
    }
    set(HOST).map(|words| base_url(&words))
}

/// Returns the address of the API that is compatible with OpenAI's at the host that the words name.
pub(crate) fn base_url(words: &str) -> String {
    let words = words.trim();
    let (scheme, rest) = words.split_once("://").unwrap_or(("http", words));
    let usual_port = match words.split_once("://") {
        Some(("http", _)) => "80",
        Some(("https", _)) => "443",
        _ => "11434",
    };
    let (place, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (host, port) = host_and_port(place, usual_port);
    // A server listens at all addresses; a client needs one.
    let host = match host {
        "" | "0.0.0.0" => "127.0.0.1".to_owned(),
        "::" => "[::1]".to_owned(),
        host if host.contains(':') => format!("[{host}]"),
        host => host.to_owned(),
    };
    let path = path.trim_matches('/');
    let between = if path.is_empty() { "" } else { "/" };
    format!("{scheme}://{host}:{port}{between}{path}/v1")
}

/// The host without brackets and the port; the usual one where none is named, or it is not a number of a
/// port.
fn host_and_port<'a>(place: &'a str, usual: &'a str) -> (&'a str, &'a str) {
    let bare = |host: &'a str| host.trim_start_matches('[').trim_end_matches(']');
    match place.rsplit_once(':') {
        // An address of IPv6 without brackets has no port.
        Some((host, _)) if host.contains(':') && !host.ends_with(']') => (bare(place), usual),
        Some((host, port)) if port.parse::<u16>().is_ok() => (bare(host), port),
        Some((host, _)) if !place.starts_with('[') => (host, usual),
        _ => (bare(place), usual),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_of_ollama_names_a_host_in_all_its_forms() {
        for (words, url) in [
            ("box:11500", "http://box:11500/v1"),
            ("box", "http://box:11434/v1"),
            (":11500", "http://127.0.0.1:11500/v1"),
            ("0.0.0.0", "http://127.0.0.1:11434/v1"),
            ("0.0.0.0:9", "http://127.0.0.1:9/v1"),
            ("http://box", "http://box:80/v1"),
            ("https://box/ollama/", "https://box:443/ollama/v1"),
            ("[::1]:5", "http://[::1]:5/v1"),
            ("::1", "http://[::1]:11434/v1"),
            ("[::]", "http://[::1]:11434/v1"),
            ("box:port", "http://box:11434/v1"),
        ] {
            assert_eq!(base_url(words), url, "{words}");
        }
    }
}
