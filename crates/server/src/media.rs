//! Addresses of pictures, sounds and files in messages: the model's provider fetches them, from where it is. Somebody who is not the operator
//! names the public web alone.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use agentx_types::{ContentPart, MediaSource};
use axum::http::Uri;

/// Endings of names that mean something only in a network that is not public (RFC 6761, 6762, 8375, 9476; ICANN's `internal`), and those that
/// routers, companies and clusters use though nobody gave them out.
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

/// What somebody who is not the operator says has no other addresses than `data:` and `https:` at public hosts.
///
/// # Errors
/// Which address is none of them, in words.
pub(crate) fn check(content: &[ContentPart]) -> Result<(), String> {
    for part in content {
        if let ContentPart::Image(media) | ContentPart::Audio(media) | ContentPart::File(media) = part
            && let MediaSource::Url(url) = &media.source
            && !is_data(url)
            && !is_public(url)
        {
            let shown: String = url.chars().take(80).collect();
            return Err(format!(
                "the address {shown:?} is not `https:` at a public host and port 443, nor `data:`: send the bytes as base64"
            ));
        }
    }
    Ok(())
}

fn is_data(url: &str) -> bool {
    url.get(..5)
        .is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"))
}

/// Whether an address is `https:` at port 443 of a host that is public by its name. Where the name leads is the provider's to find out.
fn is_public(url: &str) -> bool {
    let Ok(url) = url.parse::<Uri>() else {
        return false;
    };
    let (scheme, authority) = (url.scheme_str(), url.authority());
    let Some(authority) = authority.filter(|it| scheme == Some("https") && !it.as_str().contains('@')) else {
        return false;
    };
    // Elsewhere there are other services than the web.
    let port = authority.as_str().strip_prefix(authority.host());
    if !matches!(port, Some("" | ":443")) {
        return false;
    }
    let host = authority.host().trim_matches(['[', ']']).to_ascii_lowercase();
    match host.parse() {
        Ok(IpAddr::V4(address)) => is_public_v4(address),
        Ok(IpAddr::V6(address)) => is_public_v6(address),
        Err(_) => is_public_name(host.strip_suffix('.').unwrap_or(&host)),
    }
}

fn is_public_name(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let ends_so = |private: &str| name == private || name.ends_with(&format!(".{private}"));
    let last = name.rsplit('.').next().unwrap_or_default();
    // `127.1` and `0x7f.1` are addresses to some programs; no domain at the top begins with a digit.
    let is_number = last.starts_with(|first: char| first.is_ascii_digit());
    name.contains('.')
        && name.bytes().all(is_letter)
        && name.split('.').all(|label| !label.is_empty())
        && !is_number
        && !PRIVATE.iter().any(|private| ends_so(private))
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_shared = a == 100 && (64..128).contains(&b);
    let is_assigned = a == 192 && b == 0 && c == 0;
    let is_measuring = a == 198 && (b == 18 || b == 19);
    !(address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_documentation()
        || a == 0
        || a >= 224
        || is_shared
        || is_assigned
        || is_measuring)
}

/// Only 2000::/3 is given out. Addresses of it that stand for IPv4 addresses or are none (Teredo, 6to4, documentation) are not public.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    let is_reserved = (first == 0x2001 && (second < 0x0200 || second == 0x0db8)) || first == 0x2002;
    first & 0xe000 == 0x2000 && !is_reserved && first != 0x3fff
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_public_web_is_public() {
        for url in [
            "https://example.com/a.png",
            "HTTPS://Example.COM:443/a?b#c",
            "https://93.184.216.34/a",
            "https://[2606:4700::1111]/",
            "https://xn--bcher-kva.example.org./",
        ] {
            assert!(is_public(url), "{url}");
        }
        for url in [
            "",
            "a.png",
            "/etc/passwd",
            "file:///etc/passwd",
            "http://example.com/",
            "ftp://example.com/",
            "gs://bucket/file",
            "https://",
            "https://user@example.com/",
            "https://localhost/",
            "https://a.localhost./",
            "https://intranet/",
            "https://printer.local/",
            "https://metadata.google.internal/",
            "https://nas.lan/",
            "https://nas.home/",
            "https://wiki.corp./",
            "https://wiki.intranet/",
            "https://db.localdomain/",
            "https://api.default.svc/",
            "https://api.default.svc.cluster.local/",
            "https://example.com:8443/",
            "https://example.com:22/",
            "https://example.com:65979/",
            "https://example.com:/",
            "https://127.0.0.1/",
            "https://127.1/",
            "https://0x7f.0.0.1/",
            "https://0x7f000001/",
            "https://2130706433/",
            "https://10.0.0.1/",
            "https://169.254.169.254/",
            "https://100.64.0.1/",
            "https://0.0.0.0/",
            "https://[::1]/",
            "https://[::ffff:127.0.0.1]/",
            "https://[fe80::1]/",
            "https://[fd00::1]/",
            "https://[64:ff9b::7f00:1]/",
            "https://[2002:7f00:1::]/",
            "https://a..b/",
            "https://ex%61mple.com/",
            " https://example.com/",
        ] {
            assert!(!is_public(url), "{url}");
        }
    }
}
