//! Finds the client behind trusted proxies. Anybody can write a forwarding header, so it is used only if the
//! connection comes from a trusted proxy, and only the part that trusted proxies wrote: the client is the
//! last address in it that does not belong to one of them.
//!
//! nginx and Caddy write `X-Forwarded-For`; `Forwarded` is RFC 7239. A proxy that writes one may pass on the
//! client's other one, so if both are present and differ, neither is used.

use std::net::{IpAddr, SocketAddr};

use agentx_config::address_or_network;
use axum::http::HeaderMap;
use axum::http::header::{FORWARDED, HeaderName};

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The trusted proxies, which name the client of a forwarded request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proxies(Vec<AddressPrefix>);

/// Addresses with a common prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct AddressPrefix {
    address: u128,
    /// The length of the prefix, in bits of 128.
    bits: u32,
}

impl Proxies {
    /// Reads addresses and networks such as `127.0.0.1`, `10.0.0.0/8`, `fd00::/8`.
    ///
    /// # Errors
    /// Returns an error that names the first element that is neither.
    pub fn parse<'a>(written: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let read = |text: &'a str| {
            AddressPrefix::parse(text.trim()).ok_or_else(|| {
                format!(
                    "{text:?} is not a proxy address: use an address such as 127.0.0.1, or a network such as 10.0.0.0/8"
                )
            })
        };
        written.into_iter().map(read).collect::<Result<_, _>>().map(Self)
    }

    /// Returns whether this is the address of a proxy whose headers count.
    pub fn trusts(&self, address: IpAddr) -> bool {
        let bits = bits_of(address);
        self.0.iter().any(|network| network.has(bits))
    }

    /// Returns the client of a request that came from `peer`.
    pub fn client(&self, peer: SocketAddr, headers: &HeaderMap) -> SocketAddr {
        if !self.trusts(peer.ip()) {
            return peer;
        }
        let old = self.last_unknown(&addresses(headers, &X_FORWARDED_FOR, whole));
        let new = self.last_unknown(&addresses(headers, &FORWARDED, forwarded_for));
        match (old, new) {
            (Some(one), Some(other)) if one != other => peer,
            (Some(client), _) | (None, Some(client)) => SocketAddr::new(client, 0),
            (None, None) => peer,
        }
    }

    /// Walks from the last hop to the first, because proxies append. An unreadable hop ends it: its writer
    /// may have made up all hops before it.
    fn last_unknown(&self, hops: &[Option<IpAddr>]) -> Option<IpAddr> {
        let mut last = None;
        for hop in hops.iter().rev() {
            let Some(address) = *hop else { return last };
            last = Some(address);
            if !self.trusts(address) {
                return last;
            }
        }
        last
    }
}

impl AddressPrefix {
    fn parse(text: &str) -> Option<Self> {
        let (address, bits) = address_or_network(text)?;
        // IPv4 addresses are mapped to IPv6.
        let before = if address.is_ipv4() { 96 } else { 0 };
        Some(Self {
            address: bits_of(address),
            bits: before + bits,
        })
    }

    fn has(self, address: u128) -> bool {
        let rest = 128 - self.bits;
        (self.address ^ address).checked_shr(rest).unwrap_or(0) == 0
    }
}

/// IPv4 addresses are mapped to IPv6, so that an address is the same in both forms.
fn bits_of(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

/// Returns the addresses of all headers of this name, in order; `None` for a value that is not an address.
fn addresses(headers: &HeaderMap, name: &HeaderName, part: fn(&str) -> Option<&str>) -> Vec<Option<IpAddr>> {
    let values = headers.get_all(name).iter();
    let hops = values.flat_map(|value| match value.to_str() {
        Ok(text) => text.split(',').collect::<Vec<_>>(),
        Err(_) => vec![""],
    });
    hops.map(|hop| address(part(hop.trim())?)).collect()
}

/// An element of `X-Forwarded-For` is an address and nothing else.
#[allow(
    clippy::unnecessary_wraps,
    reason = "the other header has elements without one"
)]
fn whole(element: &str) -> Option<&str> {
    Some(element)
}

/// Returns the value of `for=` in an element of `Forwarded`.
fn forwarded_for(element: &str) -> Option<&str> {
    element.split(';').find_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        name.trim().eq_ignore_ascii_case("for").then(|| value.trim())
    })
}

/// Returns an address, perhaps in quotes or brackets and with a port.
fn address(text: &str) -> Option<IpAddr> {
    let text = text.trim_matches('"');
    if let Ok(socket) = text.parse::<SocketAddr>() {
        return Some(socket.ip().to_canonical());
    }
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    bare.unwrap_or(text)
        .parse::<IpAddr>()
        .ok()
        .map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use super::*;

    fn client(peer: &str, headers: &[(&'static str, &str)]) -> String {
        let proxies = Proxies::parse(["127.0.0.1", "10.0.0.0/8", "fd00::/8"]).unwrap();
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        proxies
            .client(SocketAddr::new(peer.parse().unwrap(), 9), &map)
            .ip()
            .to_string()
    }

    const FOR: &str = "x-forwarded-for";

    #[test]
    fn the_last_address_that_no_trusted_proxy_has_counts() {
        for (said, client_is) in [
            (&["192.0.2.1"][..], "192.0.2.1"),
            (&["6.6.6.6, 192.0.2.1"], "192.0.2.1"),
            (&["6.6.6.6", "192.0.2.1, 10.1.2.3"], "192.0.2.1"),
            (&["10.9.9.9, 10.1.2.3"], "10.9.9.9"),
            (&["192.0.2.1:4711"], "192.0.2.1"),
            (&["[2001:db8::1]:4711"], "2001:db8::1"),
            (&["::ffff:192.0.2.1"], "192.0.2.1"),
            (&["192.0.2.1, unknown"], "127.0.0.1"),
            (&["192.0.2.1, nonsense, 10.1.2.3"], "10.1.2.3"),
            (&[""], "127.0.0.1"),
            (&[], "127.0.0.1"),
        ] {
            let headers: Vec<_> = said.iter().map(|value| (FOR, *value)).collect();
            assert_eq!(client("127.0.0.1", &headers), client_is, "{said:?}");
            assert_eq!(
                client("203.0.113.9", &headers),
                "203.0.113.9",
                "nobody trusts it: {said:?}"
            );
        }
    }

    #[test]
    fn the_newer_header_counts_where_it_does_not_disagree() {
        let new = "for=6.6.6.6;proto=https, For=\"[2001:db8::1]:47\";by=10.0.0.1";
        assert_eq!(client("10.0.0.1", &[("forwarded", new)]), "2001:db8::1");
        assert_eq!(client("10.0.0.1", &[("forwarded", "for=_hidden")]), "10.0.0.1");
        let both = |old| client("fd00::1", &[("forwarded", "for=192.0.2.7"), (FOR, old)]);
        assert_eq!(both("192.0.2.7"), "192.0.2.7");
        assert_eq!(both("192.0.2.8"), "fd00::1", "one of them is of the client");
    }

    #[test]
    fn networks_are_read_or_named() {
        let has = |network: &str, address: &str| {
            Proxies::parse([network])
                .unwrap()
                .trusts(address.parse().unwrap())
        };
        assert!(has("10.0.0.0/8", "10.255.0.1") && !has("10.0.0.0/8", "11.0.0.1"));
        assert!(has("0.0.0.0/0", "203.0.113.9") && !has("0.0.0.0/0", "2001:db8::1"));
        assert!(has("::/0", "2001:db8::1") && has("127.0.0.1", "::ffff:127.0.0.1"));
        for wrong in [
            "",
            "proxy",
            "10.0.0.0/33",
            "10.0.0.0/",
            "10.0.0.0/+8",
            "10.0.0/8",
            "::/129",
        ] {
            let error = Proxies::parse([wrong]).unwrap_err();
            assert!(error.contains(&format!("{wrong:?}")), "{error}");
        }
    }
}
