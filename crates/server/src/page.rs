//! The web page: the files that are built from `apps/aura`, embedded as they are compressed.
//!
//! The page is the same for everybody and says nothing about the server: it signs in with a code and then
//! uses the API as any client does. Its policy lets it load nothing from elsewhere, run no inline script and
//! be shown in no frame.

use std::io::Read as _;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG,
    IF_NONE_MATCH, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use flate2::read::GzDecoder;

/// The stamp of the sources of the page.
pub const STAMP: &str = include_str!("../../../apps/aura/dist/STAMP");

/// The policy of the page: it loads only its own files, and connects only to this server.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
    connect-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'";

/// The headers that all files have.
const COMMON: [(HeaderName, &str); 6] = [
    (CACHE_CONTROL, "no-cache"),
    (CONTENT_SECURITY_POLICY, POLICY),
    (REFERRER_POLICY, "no-referrer"),
    (VARY, "accept-encoding"),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
];

/// A file of the page.
struct PageFile {
    path: &'static str,
    media_type: &'static str,
    brotli: &'static [u8],
    gzip: &'static [u8],
}

macro_rules! page_files {
    ($($path:literal, $name:literal, $media_type:literal;)*) => {
        [$(PageFile {
            path: $path,
            media_type: $media_type,
            brotli: include_bytes!(concat!("../../../apps/aura/dist/", $name, ".br")),
            gzip: include_bytes!(concat!("../../../apps/aura/dist/", $name, ".gz")),
        }),*]
    };
}

static FILES: [PageFile; 9] = page_files! {
    "/", "index.html", "text/html; charset=utf-8";
    "/assets/app.js", "assets/app.js", "text/javascript; charset=utf-8";
    "/assets/motion.js", "assets/motion.js", "text/javascript; charset=utf-8";
    "/assets/index.css", "assets/index.css", "text/css; charset=utf-8";
    "/icon.svg", "icon.svg", "image/svg+xml";
    "/icon-192.png", "icon-192.png", "image/png";
    "/icon-512.png", "icon-512.png", "image/png";
    "/manifest.webmanifest", "manifest.webmanifest", "application/manifest+json";
    "/sw.js", "sw.js", "text/javascript; charset=utf-8";
};

/// Returns the routes of the page, for [`Server::with_routes`](crate::Server::with_routes).
pub fn routes() -> Router {
    FILES.iter().fold(Router::new(), |router, file| {
        router.route(
            file.path,
            get(move |headers: HeaderMap| async move { response(file, &headers) }),
        )
    })
}

/// Returns a file as this reader takes it, or that the reader has it already.
fn response(file: &PageFile, headers: &HeaderMap) -> Response {
    let tag = format!("\"{}\"", STAMP.trim_end());
    let known = headers.get_all(IF_NONE_MATCH).iter();
    let is_known = known
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|value| value.trim().trim_start_matches("W/") == tag);
    let (bytes, coding) = body_for(file, headers);
    let mut response = if is_known {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        Body::from(bytes).into_response()
    };
    let fields = response.headers_mut();
    for (name, value) in COMMON {
        fields.insert(name, HeaderValue::from_static(value));
    }
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        fields.insert(ETAG, tag);
    }
    if !is_known {
        fields.insert(CONTENT_TYPE, HeaderValue::from_static(file.media_type));
        if let Some(coding) = coding {
            fields.insert(CONTENT_ENCODING, HeaderValue::from_static(coding));
        }
    }
    response
}

/// Returns the bytes of a file in the best coding that the reader takes, and its name.
fn body_for(file: &PageFile, headers: &HeaderMap) -> (Bytes, Option<&'static str>) {
    if takes(headers, "br") {
        return (Bytes::from_static(file.brotli), Some("br"));
    }
    if takes(headers, "gzip") {
        return (Bytes::from_static(file.gzip), Some("gzip"));
    }
    let mut plain = Vec::new();
    match GzDecoder::new(file.gzip).read_to_end(&mut plain) {
        Ok(_) => (Bytes::from(plain), None),
        // The file is part of the program, so it can be read; a reader that cannot would see why.
        Err(_) => (Bytes::from_static(file.gzip), Some("gzip")),
    }
}

/// Returns whether the reader takes answers in this coding.
fn takes(headers: &HeaderMap, coding: &str) -> bool {
    let values = headers.get_all(ACCEPT_ENCODING).iter();
    let mut offers = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    offers.any(|offer| {
        let mut parts = offer.split(';').map(str::trim);
        let is_named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case(coding));
        let weight = parts.find_map(|part| part.strip_prefix("q="));
        is_named && weight.is_none_or(|weight| weight.parse().is_ok_and(|weight: f32| weight > 0.0))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use super::*;

    fn asked(file: &PageFile, name: HeaderName, value: &str) -> Response {
        let mut headers = HeaderMap::new();
        headers.insert(name, value.parse().unwrap());
        response(file, &headers)
    }

    fn coding_for(accepted: &str) -> Option<String> {
        let answer = asked(&FILES[0], ACCEPT_ENCODING, accepted);
        let coding = answer.headers().get(CONTENT_ENCODING);
        coding.map(|coding| coding.to_str().unwrap().to_owned())
    }

    #[test]
    fn a_file_comes_in_a_coding_that_its_reader_takes() {
        for (accepted, coding) in [
            ("gzip, deflate, br, zstd", Some("br")),
            ("br;q=0, gzip;q=0.5", Some("gzip")),
            ("GZIP", Some("gzip")),
            ("identity", None),
        ] {
            assert_eq!(coding_for(accepted).as_deref(), coding, "{accepted}");
        }
    }

    #[test]
    fn a_reader_that_has_the_page_gets_it_only_once() {
        let tag = format!("\"{}\"", STAMP.trim_end());
        for (known, status) in [(tag.as_str(), 304), ("\"another\"", 200)] {
            let answer = asked(&FILES[1], IF_NONE_MATCH, known);
            assert_eq!(answer.status().as_u16(), status, "{known}");
            assert_eq!(answer.headers().get(ETAG).unwrap(), tag.as_str());
        }
    }

    #[test]
    fn the_page_loads_nothing_from_elsewhere_and_no_inline_script() {
        let answer = response(&FILES[0], &HeaderMap::new());
        let policy = answer.headers().get(CONTENT_SECURITY_POLICY).unwrap();
        let policy = policy.to_str().unwrap();
        assert!(
            policy.starts_with("default-src 'none'") && !policy.contains("unsafe"),
            "{policy}"
        );
        let mut html = String::new();
        GzDecoder::new(FILES[0].gzip).read_to_string(&mut html).unwrap();
        assert!(!html.contains("http") && !html.contains("<script>"), "{html}");
        for file in &FILES[1..] {
            let is_named = html.contains(file.path);
            assert!(
                is_named || ["/assets/motion.js", "/icon-512.png", "/sw.js"].contains(&file.path),
                "{}",
                file.path
            );
        }
    }

    #[test]
    fn the_page_is_small() {
        let bytes: usize = FILES.iter().map(|file| file.brotli.len()).sum();
        assert!(bytes <= 250 << 10, "{bytes}");
    }
}
