//! The `robots.txt` files of servers: which answer means what, and the rules that are kept for a while.

use std::collections::HashMap;
use std::io::Read as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use flate2::read::MultiGzDecoder;
use reqwest::header::CONTENT_ENCODING;
use reqwest::{Response, Url};
use tokio::time::Instant;

use super::response::{header, unreachable};
use super::robots::RobotsRules;

/// The part of a file that is read, in bytes: RFC 9309 requires this much.
const MAX_FILE: usize = 500 << 10;
/// The time for which the rules of a file count; RFC 9309 permits a day.
const LIFETIME: Duration = Duration::from_secs(60 * 60);
/// The maximum number of servers whose rules are kept.
const MOST_FILES: usize = 32;

/// The rules that were read, by the scheme, host and port of their server.
#[derive(Default)]
pub(super) struct RobotsFiles(Mutex<HashMap<String, CachedRobots>>);

struct CachedRobots {
    rules: Arc<RobotsRules>,
    until: Instant,
}

impl RobotsFiles {
    /// The rules for a page, if they were read a short time ago.
    pub(super) fn kept(&self, page: &Url) -> Option<Arc<RobotsRules>> {
        let files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = files.get(&server(page))?;
        (Instant::now() < kept.until).then(|| kept.rules.clone())
    }

    /// Keeps the rules for the server of a page; the oldest make room for them.
    pub(super) fn keep(&self, page: &Url, rules: &Arc<RobotsRules>) {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let server = server(page);
        if files.len() >= MOST_FILES && !files.contains_key(&server) {
            let oldest = files.iter().min_by_key(|(_, kept)| kept.until);
            if let Some(oldest) = oldest.map(|(server, _)| server.clone()) {
                files.remove(&oldest);
            }
        }
        let kept = CachedRobots {
            rules: rules.clone(),
            until: Instant::now() + LIFETIME,
        };
        files.insert(server, kept);
    }
}

fn server(page: &Url) -> String {
    page.origin().ascii_serialization()
}

/// The address of the file for a page.
pub(super) fn file_of(page: &Url) -> Url {
    let mut file = page.clone();
    file.set_path("/robots.txt");
    file.set_query(None);
    file.set_fragment(None);
    file
}

/// Returns the path with the query of a page, as rules are compared with it.
pub(super) fn path_of(page: &Url) -> String {
    match page.query() {
        Some(query) => format!("{}?{query}", page.path()),
        None => page.path().to_owned(),
    }
}

/// Reads the rules from the final answer of a server: a server without a file (4xx, or redirects that lead
/// nowhere) forbids nothing.
///
/// # Errors
/// Returns why the rules are not known: then no page may be fetched.
pub(super) async fn rules(response: Response) -> Result<RobotsRules, String> {
    let status = response.status();
    if status.is_server_error() {
        return Err(format!("the server answered with status {}", status.as_u16()));
    }
    if !status.is_success() {
        return Ok(RobotsRules::default());
    }
    let is_packed = header(response.headers(), &CONTENT_ENCODING).contains("gzip");
    let bytes = start_of(response).await?;
    let reading = tokio::task::spawn_blocking(move || -> Result<RobotsRules, String> {
        let bytes = if is_packed { unpacked(&bytes)? } else { bytes };
        Ok(RobotsRules::read(&String::from_utf8_lossy(&bytes)))
    });
    reading.await.map_err(|error| error.to_string())?
}

/// The beginning of the file; the rest is not read.
async fn start_of(mut response: Response) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() >= MAX_FILE {
            bytes.truncate(MAX_FILE);
            break;
        }
    }
    Ok(bytes)
}

/// Unpacks the beginning of the file. It may be cut off, so only a file of which nothing can be unpacked is
/// an error.
fn unpacked(packed: &[u8]) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = MultiGzDecoder::new(packed)
        .take(MAX_FILE as u64)
        .read_to_end(&mut bytes);
    match read {
        Err(error) if bytes.is_empty() => Err(format!("it cannot be unpacked: {error}")),
        _ => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(number: usize) -> Url {
        format!("https://a{number}.example/x").parse().unwrap()
    }

    #[test]
    fn the_file_of_a_page_lies_at_its_server() {
        let page: Url = "http://localhost:8080/a/b?c=d#e".parse().unwrap();
        assert_eq!(file_of(&page).as_str(), "http://localhost:8080/robots.txt");
        assert_eq!(path_of(&page), "/a/b?c=d");
    }

    #[tokio::test(start_paused = true)]
    async fn rules_are_kept_for_an_hour_and_for_a_bounded_number_of_servers() {
        let (files, rules) = (RobotsFiles::default(), Arc::new(RobotsRules::default()));
        for number in 0..MOST_FILES {
            files.keep(&page(number), &rules);
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        assert!(files.kept(&page(0)).is_some());
        files.keep(&page(1), &rules);
        assert!(
            files.kept(&page(0)).is_some(),
            "rules that are read again take no more room"
        );
        files.keep(&page(MOST_FILES), &rules);
        assert!(files.kept(&page(0)).is_none() && files.kept(&page(1)).is_some());
        tokio::time::advance(LIFETIME).await;
        assert!(files.kept(&page(MOST_FILES)).is_none());
    }
}
