//! URLs of pictures, sounds and files in messages. The model's provider fetches them from its own network;
//! callers other than the operator may name only the public web.

use std::net::IpAddr;

use agentx_types::{ContentPart, MediaSource, embedded_ipv4, is_public_address, is_public_name};
use axum::http::Uri;

/// Checks that the content of a caller other than the operator has only `data:` URLs, and `https:` URLs of
/// public hosts.
///
/// # Errors
/// Returns an error that names the first other URL.
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

/// Checks that the media types of content have no control characters, which would end a header of a request,
/// and that a picture has the type of one: a page that shows it might run what a document or SVG contains.
///
/// # Errors
/// Returns an error that names the first other media type.
pub(crate) fn check_types(content: &[ContentPart]) -> Result<(), String> {
    for part in content {
        if let ContentPart::Image(media) | ContentPart::Audio(media) | ContentPart::File(media) = part {
            let shown = || media.media_type.chars().take(80).collect::<String>();
            if media.media_type.chars().any(char::is_control) {
                return Err(format!("the media type {:?} has control characters", shown()));
            }
            if matches!(part, ContentPart::Image(_)) && !is_picture(&media.media_type) {
                return Err(format!(
                    "{:?} is not the media type of a picture, such as `image/png`: send the content as a file",
                    shown()
                ));
            }
        }
    }
    Ok(())
}

/// Returns whether a media type is one of pictures, and not of drawings that are documents (SVG).
fn is_picture(media_type: &str) -> bool {
    let kind = media_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    kind.strip_prefix("image/")
        .is_some_and(|kind| !kind.is_empty() && !kind.contains("xml") && !kind.starts_with("svg"))
}

fn is_data(url: &str) -> bool {
    url.get(..5)
        .is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"))
}

/// Returns whether a URL is `https:` at port 443 of a host with a public name. The provider has to check the
/// address of that name.
fn is_public(url: &str) -> bool {
    let Ok(url) = url.parse::<Uri>() else {
        return false;
    };
    let (scheme, authority) = (url.scheme_str(), url.authority());
    let Some(authority) = authority.filter(|it| scheme == Some("https") && !it.as_str().contains('@')) else {
        return false;
    };
    // Other ports may belong to services other than the web.
    let port = authority.as_str().strip_prefix(authority.host());
    if !matches!(port, Some("" | ":443")) {
        return false;
    }
    let host = authority.host().trim_matches(['[', ']']).to_ascii_lowercase();
    match host.parse() {
        // An address that embeds an IPv4 address reaches that only through a gateway of the network it is
        // used in.
        Ok(IpAddr::V6(address)) if embedded_ipv4(address).is_some() => false,
        Ok(address) => is_public_address(address),
        Err(_) => is_public_name(&host),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_has_the_type_of_one() {
        for kind in ["image/png", "IMAGE/JPEG", "image/webp; q=1", "image/heic"] {
            assert!(is_picture(kind), "{kind}");
        }
        for kind in [
            "text/html",
            "image/svg+xml",
            "Image/SVG",
            "image/",
            "",
            "application/pdf",
            "image/x+xml ; a",
        ] {
            assert!(!is_picture(kind), "{kind}");
        }
    }

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
            "https://192.88.99.1/",
            "https://224.0.0.1/",
            "https://[3fff:fff::1]/",
            "https://[::ffff:8.8.8.8]/",
            "https://[2002:808:808::1]/",
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
