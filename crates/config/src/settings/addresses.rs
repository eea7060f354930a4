//! Checks settings with network addresses: addresses and networks, servers with their port, and ports.
//! Without this check, a mistake would show only when a server starts, or when somebody logs in.

use std::net::IpAddr;

use crate::layers::getter::{SettingsGetter, mistake};
use crate::layers::keys::SettingPath;
use crate::layers::value::Value;
use crate::mistake::ConfigMistake;

/// Reads an address, or a network as an address and the length of its prefix in bits: `127.0.0.1`,
/// `10.0.0.0/8`, `fd00::/8`. An address alone has all of its bits. `None` if it is neither.
pub fn address_or_network(text: &str) -> Option<(IpAddr, u32)> {
    let (address, bits) = match text.split_once('/') {
        Some((address, bits)) => (address, Some(bits)),
        None => (text, None),
    };
    let address: IpAddr = address.parse().ok()?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    let is_number = |bits: &&str| !bits.is_empty() && bits.bytes().all(|byte| byte.is_ascii_digit());
    let bits: u32 = match bits {
        Some(bits) => Some(bits).filter(is_number)?.parse().ok()?,
        None => most,
    };
    (bits <= most).then_some((address, bits))
}

/// Reports settings that name no such place as mistakes.
pub(crate) fn check(get: &SettingsGetter<'_>, mistakes: &mut Vec<ConfigMistake>) {
    let proxy = "is not a proxy address: use an address such as 127.0.0.1, or a network such as 10.0.0.0/8";
    let server = "is not a server: use its host and port, such as server.local:5200";
    check_names(get, "server.trusted_proxies", proxy, is_proxy, mistakes);
    check_names(get, "allow_plain_http", server, is_server, mistakes);
    let servers = SettingPath::dotted("mcp");
    for name in get.merged.names_under(&servers) {
        check_login(get, &name, &servers.child(&name).child("oauth"), mistakes);
    }
}

/// Checks the addresses of logins at the MCP server `name`.
fn check_login(get: &SettingsGetter<'_>, name: &str, oauth: &SettingPath, mistakes: &mut Vec<ConfigMistake>) {
    let mut wrong = |word: &str, why: &dyn Fn(&Value) -> Option<String>| {
        let path = oauth.child(word);
        let (Some(value), Some(origin)) = (get.merged.get(&path), get.merged.origin(&path)) else {
            return;
        };
        if let Some(why) = why(value) {
            let key = format!("mcp.{name}.oauth.{word}");
            mistakes.push(mistake(origin, &key, format!("{key} {why}"), None));
        }
    };
    wrong("redirect_port", &|value| match value {
        Value::Count(port) if !(1..=u64::from(u16::MAX)).contains(port) => {
            Some(format!("is {port}; it may be 1 to {}", u16::MAX))
        }
        _ => None,
    });
    wrong("client_metadata_url", &|value| {
        match value {
        // An address with a password is not repeated.
        Value::Text(text) if !is_document(text) => Some(
            "is not the address of a document: use one such as https://example.org/agentx.json, with a path and \
             without a user, a query or a fragment"
                .to_owned(),
        ),
        _ => None,
    }
    });
}

/// Returns whether this may be the address of a client ID metadata document.
fn is_document(text: &str) -> bool {
    let Some((host, path)) = text
        .strip_prefix("https://")
        .and_then(|rest| rest.split_once('/'))
    else {
        return false;
    };
    let is_odd = |c: char| c.is_control() || c.is_whitespace() || "@?#\\".contains(c);
    let is_step = |part: &str| part == "." || part == "..";
    !host.is_empty() && !path.is_empty() && !text.chars().any(is_odd) && !path.split('/').any(is_step)
}

fn check_names(
    get: &SettingsGetter<'_>,
    key: &str,
    why: &str,
    is_one: fn(&str) -> bool,
    mistakes: &mut Vec<ConfigMistake>,
) {
    let Some(set) = get.merged.sourced(key) else {
        return;
    };
    if let Value::Names(names) = &set.value {
        for name in names.iter().filter(|name| !is_one(name)) {
            mistakes.push(mistake(&set.origin, key, format!("{name:?} {why}"), None));
        }
    }
}

fn is_proxy(text: &str) -> bool {
    address_or_network(text.trim()).is_some()
}

/// Returns whether this is `HOST:PORT`; a scheme may be in front, and a `/` behind.
fn is_server(text: &str) -> bool {
    let text = text.trim();
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let Some((host, port)) = rest.trim_end_matches('/').rsplit_once(':') else {
        return false;
    };
    let is_bare_ipv6 = host.contains(':') && !host.starts_with('[');
    let is_host = !host.is_empty()
        && !is_bare_ipv6
        && !host.contains(|c: char| c.is_whitespace() || "/@?#".contains(c));
    is_host && port.parse::<u16>().is_ok_and(|port| port > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_have_no_more_bits_than_their_addresses() {
        let v4 = |text: &str| address_or_network(text).map(|(_, bits)| bits);
        for (text, bits) in [
            ("127.0.0.1", Some(32)),
            ("10.0.0.0/8", Some(8)),
            ("10.0.0.0/32", Some(32)),
            ("10.0.0.0/33", None),
            ("fd00::/8", Some(8)),
            ("::1", Some(128)),
            ("::1/129", None),
            ("10.0.0.0/", None),
            ("10.0.0.0/+8", None),
            ("foo", None),
            ("", None),
        ] {
            assert_eq!(v4(text), bits, "{text}");
        }
    }

    #[test]
    fn a_document_of_a_client_has_an_address_with_tls_and_a_path() {
        for good in [
            "https://a.example/agentx.json",
            "https://a.example:8443/clients/agentx/",
        ] {
            assert!(is_document(good), "{good}");
        }
        for bad in [
            "",
            "abc",
            "http://a.example/agentx.json",
            "https://a.example",
            "https://a.example/",
            "https:///agentx.json",
            "https://me:x@a.example/agentx.json",
            "https://a.example/agentx.json?x=1",
            "https://a.example/agentx.json#x",
            "https://a.example/../agentx.json",
            "https://a.example/agent x.json",
        ] {
            assert!(!is_document(bad), "{bad}");
        }
    }

    #[test]
    fn servers_are_a_host_and_a_port() {
        for good in [
            "server.local:5200",
            "127.0.0.1:80",
            "[::1]:5200",
            "http://a:1/",
            "ws://a:1",
        ] {
            assert!(is_server(good), "{good}");
        }
        for bad in [
            "foo", "", ":80", "a:", "a:0", "a:70000", "::1", "a b:1", "a/b:1", "me:x@a:1",
        ] {
            assert!(!is_server(bad), "{bad}");
        }
    }
}
