//! The page that is embedded: it is built from the sources that are here, and served beside the API.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use agentx_server::page::{STAMP, routes};
use axum::body::{Body, to_bytes};
use axum::http::{Method, Request, StatusCode};
use tower::ServiceExt as _;

/// The files and folders from which the page is built: the same list as in `scripts/stamp.mjs`.
const SOURCES: [&str; 10] = [
    "../../docs/protocol/agentx.v1.d.ts",
    "index.html",
    "package-lock.json",
    "package.json",
    "public",
    "scripts/finish.mjs",
    "scripts/stamp.mjs",
    "src",
    "tsconfig.json",
    "vite.config.ts",
];

fn page_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../apps/aura")
}

fn sha256(bytes: &[u8]) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, bytes);
    digest.as_ref().iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

/// Adds the path of each file, relative to the folder of the page.
fn files(folder: &Path, path: &str, found: &mut Vec<String>) {
    if !folder.join(path).is_dir() {
        found.push(path.to_owned());
        return;
    }
    for entry in std::fs::read_dir(folder.join(path)).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        files(folder, &format!("{path}/{name}"), found);
    }
}

#[test]
fn the_page_is_built_from_the_sources_that_are_here() {
    let folder = page_folder();
    let mut paths = Vec::new();
    for source in SOURCES {
        files(&folder, source, &mut paths);
    }
    paths.sort();
    let lines: String = paths
        .iter()
        .map(|path| format!("{}  {path}\n", sha256(&std::fs::read(folder.join(path)).unwrap())))
        .collect();
    assert_eq!(
        STAMP.trim_end(),
        sha256(lines.as_bytes()),
        "the page is older than its sources: run `npm install && npm run build` in apps/aura"
    );
}

#[test]
fn the_stamp_names_the_same_sources_in_both_languages() {
    let script = std::fs::read_to_string(page_folder().join("scripts/stamp.mjs")).unwrap();
    let list = script.split_once("const SOURCES = [").unwrap().1;
    let list = list.split_once("];").unwrap().0;
    let named: Vec<&str> = list.split('"').skip(1).step_by(2).collect();
    assert_eq!(named, SOURCES);
}

async fn asked(method: Method, path: &str) -> (StatusCode, Vec<u8>) {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .body(Body::empty())
        .unwrap();
    let answer = routes().oneshot(request).await.unwrap();
    let status = answer.status();
    (
        status,
        to_bytes(answer.into_body(), 4 << 20).await.unwrap().to_vec(),
    )
}

#[tokio::test]
async fn every_file_that_the_page_names_is_served() {
    let (status, html) = asked(Method::GET, "/").await;
    assert_eq!(status, StatusCode::OK);
    let html = String::from_utf8(html).unwrap();
    let named: Vec<&str> = html
        .split('"')
        .filter(|part| part.starts_with('/') && !part.contains('>'))
        .collect();
    assert!(named.len() >= 4, "{named:?}");
    for path in named {
        let (status, bytes) = asked(Method::GET, path).await;
        assert_eq!(status, StatusCode::OK, "{path}");
        assert!(!bytes.is_empty(), "{path}");
    }
    assert_eq!(
        asked(Method::GET, "/assets/other.js").await.0,
        StatusCode::NOT_FOUND
    );
    assert_eq!(asked(Method::POST, "/").await.0, StatusCode::METHOD_NOT_ALLOWED);
}
