//! The text that `agentx serve` prints when the server has started.

use std::path::Path;

/// A server that has started, as its text describes it.
pub struct StartedServer<'a> {
    /// The data directory.
    pub data_dir: &'a Path,
    /// The URL on this machine.
    pub url: &'a str,
    /// The URL from outside, if it differs.
    pub origin: Option<&'a str>,
    /// Whether it listens on this machine alone.
    pub is_loopback: bool,
    /// The key by which clients know it.
    pub key: String,
    /// The address that signs a browser in, if it may be shown.
    pub page: Option<&'a str>,
}

impl StartedServer<'_> {
    /// Returns the text: the ways to use the server, and its key.
    pub fn greeting(&self) -> String {
        let url = self.origin.unwrap_or(self.url).trim_end_matches('/');
        let mut text = format!(
            "agentx {} serves {} at {}\n",
            env!("CARGO_PKG_VERSION"),
            self.data_dir.display(),
            self.url,
        );
        if let Some(page) = self.page {
            text.push_str(&format!(
                "  web page     {page}\n               signs in one browser, within an hour\n"
            ));
        }
        text.push_str(&format!(
            "  drive it     agentx --connect {url} chat\n\
             \x20 watch it     agentx mirror {url} SESSION\n\
             \x20 give access  agentx identity trust PUBLIC_KEY --name NAME --as member  (see: agentx identity show)\n\
             \x20              --as operator for another machine of yours\n",
        ));
        if self.is_loopback && self.origin.is_none() {
            let port = self.url.rsplit(':').next().unwrap_or_default();
            text.push_str(&format!(
                "  by SSH       ssh -L {port}:127.0.0.1:{port} HOST, then as above; or --listen, with TLS\n"
            ));
        }
        text.push_str(&format!("  server key   {}\nCtrl-C stops it\n", self.key));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started(page: Option<&'static str>) -> StartedServer<'static> {
        StartedServer {
            data_dir: Path::new("/data"),
            url: "http://127.0.0.1:5200",
            origin: None,
            is_loopback: true,
            key: "ed25519:x".to_owned(),
            page,
        }
    }

    #[test]
    fn the_address_of_the_page_is_shown_only_if_there_is_one() {
        let address = "http://127.0.0.1:5200/#code=abc";
        assert!(
            started(Some(address))
                .greeting()
                .contains(&format!("  web page     {address}\n"))
        );
        assert!(!started(None).greeting().contains("web page"));
    }
}
