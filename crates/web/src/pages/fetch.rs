//! Fetches one page within limits of time, size and redirects, through the guard.

use std::io::Read as _;
use std::sync::Arc;
use std::time::Duration;

use agentx_http::{
    Certificates, GuardedResolver, LocalHosts, NameLookup, SystemLookup, client_builder, compared_host,
    literal_address, read_page_address,
};
use flate2::read::MultiGzDecoder;
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, LOCATION};
use reqwest::{Client, Response, Url};
use tokio::sync::OnceCell;

use super::content;
use super::response::{header, unreachable};
use super::robots::RobotsRules;
use super::robots_files::{self, RobotsFiles};

/// The time for one page, with its redirects.
const TIMEOUT: Duration = Duration::from_secs(30);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The time for a `robots.txt` file behind its first answer, within the time of its page.
const ROBOTS_TIMEOUT: Duration = Duration::from_secs(10);
/// The largest page in bytes, packed or not.
pub(super) const MAX_PAGE: usize = 8 << 20;
/// The maximum number of redirects.
const MOST_REDIRECTS: usize = 5;
/// The accepted media types: servers that have Markdown may send it.
const ACCEPTED: &str = "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, application/pdf;q=0.8, \
                        application/json;q=0.8, text/*;q=0.8, */*;q=0.1";

/// The words behind each refusal that comes from a `robots.txt` file.
const ROBOTS_HINT: &str =
    "only the person can permit it, by `web_extract.robots_txt: false` in their settings";

/// A page as it came.
#[derive(Debug)]
pub(super) struct FetchedPage {
    /// The final address, after redirects.
    pub(super) url: Url,
    /// The status.
    pub(super) status: u16,
    /// The header `content-type`.
    pub(super) content_type: String,
    /// The body, unpacked.
    pub(super) bytes: Vec<u8>,
}

impl FetchedPage {
    /// The media type without parameters, in lower case.
    pub(super) fn media_type(&self) -> String {
        media_type(&self.content_type)
    }
}

/// Fetches pages.
pub(super) struct PageFetcher {
    hosts: LocalHosts,
    lookup: Arc<dyn NameLookup>,
    /// The rules of servers for programs; `None` if they are not asked for.
    robots: Option<RobotsFiles>,
    /// Made for the first page, because reading the machine's certificates takes milliseconds.
    client: OnceCell<Client>,
}

impl PageFetcher {
    pub(super) fn new(hosts: LocalHosts) -> Self {
        Self {
            hosts,
            lookup: Arc::new(SystemLookup),
            robots: Some(RobotsFiles::default()),
            client: OnceCell::new(),
        }
    }

    /// The same with another way to look up names.
    pub(super) fn with_lookup(self, lookup: Arc<dyn NameLookup>) -> Self {
        Self { lookup, ..self }
    }

    /// The same without regard to `robots.txt`.
    pub(super) fn without_robots(self) -> Self {
        Self { robots: None, ..self }
    }

    /// Fetches the page at an address.
    pub(super) async fn fetch(&self, url: Url) -> Result<FetchedPage, String> {
        let fetched = tokio::time::timeout(TIMEOUT, self.follow(url));
        fetched
            .await
            .map_err(|_| format!("it did not come within {TIMEOUT:?}"))?
    }

    async fn follow(&self, mut url: Url) -> Result<FetchedPage, String> {
        for _ in 0..=MOST_REDIRECTS {
            self.check_robots(&url).await?;
            let response = self.ask(&url).await?;
            match next(&url, &response)? {
                Some(to) => url = to,
                None => return body(url, response).await,
            }
        }
        Err(format!("it was redirected more than {MOST_REDIRECTS} times"))
    }

    /// Asks the server's `robots.txt` whether a page may be fetched.
    async fn check_robots(&self, page: &Url) -> Result<(), String> {
        // The file itself is open to everybody.
        let Some(files) = self.robots.as_ref().filter(|_| page.path() != "/robots.txt") else {
            return Ok(());
        };
        let rules = match files.kept(page) {
            Some(rules) => rules,
            None => {
                let rules = Arc::new(self.robots_rules(page).await?);
                files.keep(page, &rules);
                rules
            }
        };
        match rules.refusal(&robots_files::path_of(page)) {
            None => Ok(()),
            Some(rule) => Err(format!(
                "{} refuses it ({rule}); {ROBOTS_HINT}",
                robots_files::file_of(page)
            )),
        }
    }

    async fn robots_rules(&self, page: &Url) -> Result<RobotsRules, String> {
        let file = robots_files::file_of(page);
        let first = self.ask(&file).await?;
        let unknown = |why: String| format!("the rules of {file} are not known ({why}); {ROBOTS_HINT}");
        let reading = tokio::time::timeout(ROBOTS_TIMEOUT, self.follow_robots(file.clone(), first));
        match reading.await {
            Ok(rules) => rules.map_err(unknown),
            Err(_) => Err(unknown(format!("it did not come within {ROBOTS_TIMEOUT:?}"))),
        }
    }

    /// Follows redirects of a `robots.txt` file as those of pages. A server counts as one without such a file
    /// if they lead elsewhere, or too far.
    async fn follow_robots(&self, mut file: Url, mut response: Response) -> Result<RobotsRules, String> {
        for _ in 0..MOST_REDIRECTS {
            match next(&file, &response) {
                Ok(Some(to)) => file = to,
                Ok(None) => return robots_files::rules(response).await,
                Err(_) => return Ok(RobotsRules::default()),
            }
            response = self.ask(&file).await?;
        }
        robots_files::rules(response).await
    }

    async fn ask(&self, url: &Url) -> Result<Response, String> {
        self.hosts.check_port(url)?;
        // A host that is an address is not looked up, so it is checked here.
        if let Some(literal) = literal_address(url) {
            let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
            self.hosts
                .check(host, literal)
                .map_err(|error| error.to_string())?;
        }
        let request = self.client().await?.get(url.clone());
        let request = request.header(ACCEPT, ACCEPTED).header(ACCEPT_ENCODING, "gzip");
        request.send().await.map_err(unreachable)
    }

    async fn client(&self) -> Result<&Client, String> {
        let made = self.client.get_or_try_init(|| async {
            let (hosts, lookup) = (self.hosts.clone(), self.lookup.clone());
            tokio::task::spawn_blocking(move || make_client(hosts, lookup))
                .await
                .map_err(|error| error.to_string())?
                .map_err(|error| error.to_string())
        });
        made.await
            .map_err(|error| format!("the HTTP client cannot be created: {error}"))
    }
}

/// The client knows no proxy, because a proxy would look names up behind the guard, and unpacks nothing,
/// because it would do so without a limit.
fn make_client(hosts: LocalHosts, lookup: Arc<dyn NameLookup>) -> reqwest::Result<Client> {
    let check = move |host: &str, address| hosts.check(host, address);
    client_builder(Certificates::OfThisMachine)
        .no_proxy()
        .no_gzip()
        .no_deflate()
        .no_brotli()
        .no_zstd()
        .dns_resolver(Arc::new(GuardedResolver::with_lookup(check, lookup)))
        .connect_timeout(CONNECT_TIMEOUT)
        .build()
}

/// Returns the target of a redirect; `None` if the response is not one. Only the approved host is asked, at
/// any port, as rules and the question name no port. Rules and the person decide about any other host.
fn next(from: &Url, response: &Response) -> Result<Option<Url>, String> {
    let to = response.headers().get(LOCATION);
    let (301 | 302 | 303 | 307 | 308, Some(to)) = (response.status().as_u16(), to) else {
        return Ok(None);
    };
    let to = to.to_str().ok().and_then(|to| from.join(to).ok());
    let to = to.ok_or("it is redirected to an invalid address")?;
    let is_same = compared_host(&to).is_some() && compared_host(&to) == compared_host(from);
    let stays_secret = to.scheme() == "https" || from.scheme() != "https";
    if !is_same || !stays_secret || read_page_address(to.as_str()).is_err() {
        let to: String = to.as_str().chars().take(500).collect();
        return Err(format!(
            "it is redirected to {to}, which was not followed; fetch that address, if it is the right one"
        ));
    }
    Ok(Some(to))
}

async fn body(url: Url, mut response: Response) -> Result<FetchedPage, String> {
    let content_type = header(response.headers(), &CONTENT_TYPE);
    let status = response.status().as_u16();
    let named = media_type(&content_type);
    if content::is_refused(&named) {
        return Err(refused_type(&named));
    }
    let too_long = || format!("it is longer than {MAX_PAGE} bytes");
    if response
        .content_length()
        .is_some_and(|length| length > MAX_PAGE as u64)
    {
        return Err(too_long());
    }
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
        if bytes.len() + chunk.len() > MAX_PAGE {
            return Err(too_long());
        }
        bytes.extend_from_slice(&chunk);
    }
    let bytes = match header(response.headers(), &CONTENT_ENCODING).trim() {
        "" | "identity" => bytes,
        "gzip" | "x-gzip" => tokio::task::spawn_blocking(move || unpacked(&bytes))
            .await
            .map_err(|error| error.to_string())??,
        other => {
            let other: String = other.chars().take(40).collect();
            return Err(format!("it is packed with {other}, which cannot be read"));
        }
    };
    Ok(FetchedPage {
        url,
        status,
        content_type,
        bytes,
    })
}

/// Unpacks a body, and stops soon after the largest page.
fn unpacked(packed: &[u8]) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let mut unpacking = MultiGzDecoder::new(packed).take(MAX_PAGE as u64 + 1);
    unpacking
        .read_to_end(&mut bytes)
        .map_err(|error| format!("it cannot be unpacked: {error}"))?;
    if bytes.len() > MAX_PAGE {
        return Err(format!("it is longer than {MAX_PAGE} bytes when it is unpacked"));
    }
    Ok(bytes)
}

/// The words for a page of a type that is not read.
pub(super) fn refused_type(named: &str) -> String {
    let named: String = named.chars().take(100).collect();
    format!("it is {named}; only HTML, PDF, JSON and text are read")
}

fn media_type(content_type: &str) -> String {
    content_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_owned()
}
