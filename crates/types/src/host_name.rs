//! The one form of a host's name. Rules, questions and requests compare hosts in this form, so that no other
//! spelling of a host evades a rule about it.

// Only the types: `core` has no sockets.
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Returns the host of an address (`http://HOST:8080/path`) or of a host with or without a port, in one form:
/// lower case, numbers as an IPv4 address (<https://url.spec.whatwg.org/#concept-ipv4-parser>), without a
/// port, brackets and a dot at its end; an IPv6 address that represents an IPv4 address becomes that address.
/// A `*` in a name stays.
///
/// `None` if it is not a host, if it depends on variables (`${NAME}`), or if reading it would need tables, as
/// for another script or `%41`: callers treat it as an unknown host. Names in other scripts are recognized in
/// Punycode (`xn--…`).
///
/// ```
/// use agentx_types::host_name;
/// for address in ["http://127.0.0.1:8080/x", "2130706433", "0x7f.1", "127.0.0.1.", "[::ffff:127.0.0.1]:80"] {
///     assert_eq!(host_name(address).as_deref(), Some("127.0.0.1"));
/// }
/// assert_eq!(host_name("*.Example.").as_deref(), Some("*.example"));
/// assert_eq!(host_name("https://${HOST}/x"), None);
/// assert_eq!(host_name("①②⑦.0.0.1"), None);
/// ```
pub fn host_name(address: &str) -> Option<String> {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    if let Ok(address) = host.parse::<Ipv6Addr>() {
        return Some(canonical_v6(address));
    }
    if let Some((inside, port)) = host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        let address = inside.parse::<Ipv6Addr>().ok()?;
        return is_port(port).then(|| canonical_v6(address));
    }
    let (name, port) = host.find(':').map_or((host, ""), |at| host.split_at(at));
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | '*');
    if name.is_empty() || !name.chars().all(is_plain) || name.contains("..") || !is_port(port) {
        return None;
    }
    let last = name.rsplit('.').next().unwrap_or_default();
    if last.starts_with("0x") && number(last).is_some() || last.chars().all(|c| c.is_ascii_digit()) {
        return ipv4(&name).map(|address| address.to_string());
    }
    Some(name)
}

/// Returns whether this is `:` with a number, or nothing.
fn is_port(text: &str) -> bool {
    text.is_empty()
        || text
            .strip_prefix(':')
            .is_some_and(|port| port.chars().all(|c| c.is_ascii_digit()))
}

/// Reads one to four numbers with dots between them: each is a byte, and the last one fills the rest.
fn ipv4(name: &str) -> Option<Ipv4Addr> {
    let parts: Vec<u64> = name.split('.').map(number).collect::<Option<_>>()?;
    let (last, bytes) = parts.split_last()?;
    let free = 4_u32
        .checked_sub(u32::try_from(bytes.len()).ok()?)
        .filter(|free| *free > 0)?;
    if *last >= 1 << (8 * free) || bytes.iter().any(|byte| *byte > 255) {
        return None;
    }
    let first = bytes.iter().enumerate();
    let first: u64 = first.map(|(index, byte)| byte << (8 * (3 - index))).sum();
    Some(Ipv4Addr::from_bits(u32::try_from(first + last).ok()?))
}

/// Reads a number as C does: `0x7f`, `0177` and `127` are equal.
fn number(text: &str) -> Option<u64> {
    match (text.strip_prefix("0x"), text.strip_prefix('0')) {
        (Some(""), _) | (_, Some("")) => Some(0),
        (Some(hex), _) => u64::from_str_radix(hex, 16).ok(),
        (None, Some(octal)) => u64::from_str_radix(octal, 8).ok(),
        (None, None) => text.parse().ok(),
    }
}

fn canonical_v6(address: Ipv6Addr) -> String {
    IpAddr::V6(address).to_canonical().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_host_is_one_host() {
        let spellings = [
            (
                "127.0.0.1",
                &[
                    "127.0.0.1",
                    "2130706433",
                    "127.1",
                    "0x7f.1",
                    "0X7F.0.0.0x1",
                    "017700000001",
                    "127.0.0.1.",
                    "::ffff:127.0.0.1",
                ][..],
            ),
            ("localhost", &["LOCALHOST", "localhost."]),
            ("xn--bcher-kva.example", &["xn--bcher-kva.example"]),
            ("::1", &["::1", "[::1]", "[0:0::1]"]),
            ("api.example", &["api.example", "me:secret@api.example"]),
            ("*", &["*"]),
        ];
        for (host, spelled) in spellings {
            for spelling in spelled {
                let bracketed = spelling.contains("::") && !spelling.starts_with('[');
                let written = if bracketed {
                    format!("[{spelling}]")
                } else {
                    (*spelling).to_owned()
                };
                for address in [
                    (*spelling).to_owned(),
                    format!("http://{written}:8080/x?y#z"),
                    format!("https://{written}\\x"),
                    format!("{written}:8080"),
                ] {
                    assert_eq!(host_name(&address).as_deref(), Some(host), "{address}");
                }
            }
        }
    }

    #[test]
    fn what_is_no_host_or_takes_tables_to_read_has_no_name() {
        for address in [
            "",
            "http://",
            "http:///x",
            "http://${X}/",
            "a b",
            "1.2.3.4.5",
            "256.0.0.1",
            "4294967296",
            "a.09",
            "[::1",
            "[::1].",
            ".",
            "a..example",
            "a.example:x",
            "a${X}.example",
            "①②⑦.0.0.1",
            "127。0.0.1",
            "%31%32%37.0.0.1",
            "ｌｏｃａｌｈｏｓｔ",
            "local\u{ad}host",
            "lo%63alhost",
            "bücher.example",
            "api\t.example",
        ] {
            assert_eq!(host_name(address), None, "{address}");
        }
        assert_eq!(host_name("http://a.example/${X}").as_deref(), Some("a.example"));
    }
}
