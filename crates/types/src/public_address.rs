//! Distinguishes addresses and names of the public internet from those of local and reserved networks. The
//! network guards and the check of media in messages share it, so that they refuse the same ones.

// The types alone: `core` has no sockets.
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Domain suffixes that are only meaningful in private networks (RFC 6761, 6762, 8375, 9476; ICANN's
/// `internal`), and those that routers, companies and clusters use without a registration.
const PRIVATE: [&str; 18] = [
    "localhost",
    "local",
    "localdomain",
    "internal",
    "intranet",
    "intra",
    "private",
    "corp",
    "home",
    "home.arpa",
    "lan",
    "svc",
    "cluster",
    "test",
    "example",
    "invalid",
    "onion",
    "alt",
];

/// Returns whether an address is of the public internet. An IPv6 address that embeds an IPv4 address is as
/// public as that one.
pub fn is_public_address(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => match embedded_ipv4(address) {
            Some(embedded) => is_public_v4(embedded),
            None => is_public_v6(address),
        },
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let reserved = address.is_unspecified()
        || address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_broadcast()
        || address.is_multicast()
        || address.is_documentation()
        || a == 0
        || a >= 240
        // Shared by the customers of a provider (CGNAT).
        || (a == 100 && (64..128).contains(&b))
        // Protocol assignments, and the anycast of 6to4 relays.
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 88 && c == 99)
        // Measurements between networks.
        || (a == 198 && (b == 18 || b == 19));
    !reserved
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    // IANA has allocated only 2000::/3 for global unicast.
    let global = first & 0xe000 == 0x2000;
    // Protocol assignments with Teredo (2001::/23), documentation (2001:db8::/32, and 3fff::/20 with the rest
    // of 3fff::/16, which is not allocated).
    let reserved = (first == 0x2001 && (second < 0x0200 || second == 0x0db8)) || first == 0x3fff;
    global && !reserved
}

/// Returns the IPv4 address that an IPv6 address embeds: mapped, compatible, NAT64 (both prefixes) or 6to4.
pub fn embedded_ipv4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let segments = address.segments();
    let last = || v4(segments[6], segments[7]);
    match segments {
        [0, 0, 0, 0, 0, 0xffff, ..] | [0, 0, 0, 0, 0xffff, 0, ..] => Some(last()),
        [0, 0, 0, 0, 0, 0, high, _] if high != 0 => Some(last()),
        [0x64, 0xff9b, 0, 0, 0, 0, ..] => Some(last()),
        // The local prefix leaves the length open: none of it is public.
        [0x64, 0xff9b, 1, ..] => Some(Ipv4Addr::UNSPECIFIED),
        [0x2002, high, low, ..] => Some(v4(high, low)),
        _ => None,
    }
}

fn v4(high: u16, low: u16) -> Ipv4Addr {
    let [a, b] = high.to_be_bytes();
    let [c, d] = low.to_be_bytes();
    Ipv4Addr::new(a, b, c, d)
}

/// Returns whether a host may be one of the public internet by its name, in any case and with or without the
/// dot at the end. Only a lookup shows where it leads.
///
/// ```
/// use agentx_types::is_public_name;
/// assert!(is_public_name("push.example.org."));
/// assert!(!is_public_name("localhost") && !is_public_name("metadata.google.internal"));
/// ```
pub fn is_public_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let name = name.strip_suffix('.').unwrap_or(&name);
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let ends_so = |private: &str| {
        name.strip_suffix(private)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    let last = name.rsplit('.').next().unwrap_or_default();
    // `127.1` and `0x7f.1` are addresses to some programs; no domain at the top begins with a digit.
    let is_number = last.starts_with(|first: char| first.is_ascii_digit());
    name.contains('.')
        && name.bytes().all(is_letter)
        && name.split('.').all(|label| !label.is_empty())
        && !is_number
        && !PRIVATE.iter().any(|private| ends_so(private))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used, reason = "a test stops at the first surprise")]

    use super::*;

    #[test]
    fn only_the_public_internet_is_public() {
        let inside = [
            "127.0.0.1",
            "0.0.0.0",
            "10.1.2.3",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "100.127.255.255",
            "192.0.0.1",
            "198.18.0.1",
            "198.19.255.255",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "192.0.2.1",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "fd12:3456::1",
            "fec0::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "::ffff:0:127.0.0.1",
            "64:ff9b::127.0.0.1",
            "64:ff9b::a00:1",
            "64:ff9b:1::8.8.8.8",
            "2002:7f00:1::",
            "2002:a00:1::1",
            "2001::1",
            "2001:db8::1",
            "3fff::1",
            "3fff:fff::1",
            "3fff:1000::1",
            "100::1",
            "192.88.99.1",
            "192.88.99.255",
            "4000::1",
        ];
        for address in inside {
            assert!(!is_public_address(address.parse().expect(address)), "{address}");
        }
        let outside = [
            "8.8.8.8",
            "93.184.216.34",
            "192.88.98.1",
            "1.1.1.1",
            "100.63.255.255",
            "100.128.0.1",
            "172.32.0.1",
            "2606:4700::1111",
            "2001:4860:4860::8888",
            "::ffff:8.8.8.8",
            "64:ff9b::8.8.8.8",
            "2002:808:808::1",
        ];
        for address in outside {
            assert!(is_public_address(address.parse().expect(address)), "{address}");
        }
    }

    #[test]
    fn names_of_local_networks_are_not_public() {
        for name in [
            "localhost",
            "LOCALHOST.",
            "a.localhost",
            "metadata.google.internal",
            "printer.local",
            "nas.lan",
            "intranet",
            "127.1",
            "a..b.org",
            "",
        ] {
            assert!(!is_public_name(name), "{name}");
        }
        for name in [
            "example.org",
            "Push.Example.org.",
            "notlocal.org",
            "internal.example.org",
        ] {
            assert!(is_public_name(name), "{name}");
        }
    }
}
