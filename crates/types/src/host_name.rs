//! The one form of a host's name. Rules, questions and requests compare hosts in this form, so that no other
//! spelling of a host evades a rule about it.

// The types alone: `core` has no sockets.
use core::net::{IpAddr, Ipv6Addr};

use url::{Host, Url};

/// Returns the host of an address (`http://HOST:8080/path`) or of a host with or without a port, in the form
/// to which the [URL standard](https://url.spec.whatwg.org/#host-parsing) brings it: lower case, other scripts
/// as Punycode, numbers as an IPv4 address. It has no port, no brackets and no dot at its end, and an IPv6
/// address that stands for an IPv4 address is that one. A `*` in a name stays. `None` if it is no host, or if
/// variables (`${NAME}`) decide it.
///
/// ```
/// use agentx_types::host_name;
/// for address in ["http://127.0.0.1:8080/x", "2130706433", "0x7f.1", "①②⑦.0.0.1.", "[::ffff:127.0.0.1]:80"] {
///     assert_eq!(host_name(address).as_deref(), Some("127.0.0.1"));
/// }
/// assert_eq!(host_name("*.Example.").as_deref(), Some("*.example"));
/// assert_eq!(host_name("https://${HOST}/x"), None);
/// ```
pub fn host_name(address: &str) -> Option<String> {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    if authority.contains(['{', '}', '$']) {
        return None;
    }
    if let Ok(address) = authority.parse::<Ipv6Addr>() {
        return Some(canonical_v6(address));
    }
    let url = Url::parse(&format!("http://{authority}/")).ok()?;
    let name = match url.host()? {
        Host::Domain(name) => name.trim_end_matches('.').to_owned(),
        Host::Ipv4(address) => address.to_string(),
        Host::Ipv6(address) => canonical_v6(address),
    };
    // A dot behind the name of an address that the standard does not take for one: `[::1].` is no host.
    (!name.is_empty()).then_some(name)
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
                    "017700000001",
                    "127.0.0.1.",
                ][..],
            ),
            (
                "127.0.0.1",
                &["①②⑦.0.0.1", "127。0.0.1", "%31%32%37.0.0.1", "::ffff:127.0.0.1"],
            ),
            (
                "localhost",
                &[
                    "LOCALHOST",
                    "localhost.",
                    "ｌｏｃａｌｈｏｓｔ",
                    "local\u{ad}host",
                    "lo%63alhost",
                ],
            ),
            (
                "xn--bcher-kva.example",
                &["bücher.example", "BÜCHER.example.", "xn--bcher-kva.example"],
            ),
            ("::1", &["::1", "[::1]", "[0:0::1]"]),
            (
                "api.example",
                &["api.example", "me:secret@api.example", "api\t.example"],
            ),
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
    fn what_is_no_host_or_not_known_has_no_name() {
        for address in [
            "",
            "http://",
            "http:///x",
            "http://${X}/",
            "a b",
            "1.2.3.4.5",
            "[::1",
            ".",
            "a${X}.example",
        ] {
            assert_eq!(host_name(address), None, "{address}");
        }
        assert_eq!(host_name("http://a.example/${X}").as_deref(), Some("a.example"));
    }
}
