//! The addresses of push services, which browsers name and anybody could make up: `https` on the public
//! internet, or a host that the operator's settings name. They are checked when a page subscribes, before
//! each request, and where the connection is made. No redirect is followed.

use std::sync::Arc;
use std::time::Duration;

use agentx_http::{
    Certificates, GuardedResolver, LocalHosts, client_builder, literal_address, read_page_address,
};
use reqwest::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE};
use reqwest::{Client, Url};
use tokio::sync::OnceCell;

/// The setting that names hosts outside of the public internet.
const SETTING: &str = "server.push_hosts";
/// The longest address, in bytes.
const ADDRESS_BYTES: usize = 1_024;
/// The time limits of a request, and of its connection.
const TIMEOUT: Duration = Duration::from_secs(15);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The time for which a push service keeps a message, in seconds: a question may wait for a night.
const KEPT_S: &str = "86400";

/// A request to a push service.
pub(super) struct PushRequestParts {
    pub(super) url: Url,
    pub(super) authorization: String,
    pub(super) topic: String,
    pub(super) body: Vec<u8>,
}

/// The outcome of a request to a push service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PushOutcome {
    /// The push service took the message.
    Taken,
    /// The subscription exists no more.
    Gone,
    /// It failed for now, for this reason.
    Failed(String),
    /// It will fail each time, for this reason.
    Refused(String),
}

impl PushOutcome {
    fn of_status(status: u16) -> Self {
        match status {
            200..=299 => Self::Taken,
            404 | 410 => Self::Gone,
            408 | 429 | 500..=599 => Self::Failed(format!("status {status}")),
            _ => Self::Refused(format!("status {status}")),
        }
    }
}

/// The way to push services.
pub(super) struct PushEndpoints {
    hosts: LocalHosts,
    /// Made for the first message, because reading the machine's certificates takes milliseconds.
    client: OnceCell<Client>,
}

impl PushEndpoints {
    pub(super) fn new(hosts: &[String]) -> Self {
        Self {
            hosts: LocalHosts::new(hosts, SETTING),
            client: OnceCell::new(),
        }
    }

    /// Reads the address of a push service.
    ///
    /// # Errors
    /// Returns why it is refused.
    pub(super) fn read(&self, endpoint: &str) -> Result<Url, String> {
        if endpoint.len() > ADDRESS_BYTES {
            return Err(format!("the endpoint is longer than {ADDRESS_BYTES} bytes"));
        }
        let url = read_page_address(endpoint)?;
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        if url.scheme() != "https" && !self.hosts.names(host) {
            return Err(format!(
                "a push service is asked over https; only the operator can permit {} without it, by `{SETTING}` in \
                 their settings",
                url.scheme()
            ));
        }
        if url.port().is_some() && !self.hosts.names(host) {
            return Err(format!(
                "a push service is at port 443; only the operator can permit another one, by `{SETTING}` in their settings"
            ));
        }
        self.hosts.check_port(&url)?;
        // A host that is an address is not looked up, so it is checked here.
        match literal_address(&url) {
            Some(literal) => self
                .hosts
                .check(host, literal)
                .map_err(|error| error.to_string())?,
            None => self.hosts.check_name(host)?,
        }
        Ok(url)
    }

    /// Sends a request; the answer is its status.
    pub(super) async fn send(&self, request: PushRequestParts) -> PushOutcome {
        let client = match self.client().await {
            Ok(client) => client,
            Err(why) => return PushOutcome::Failed(why),
        };
        let sent = client
            .post(request.url)
            .header(AUTHORIZATION, request.authorization)
            .header(CONTENT_TYPE, "application/octet-stream")
            .header(CONTENT_ENCODING, "aes128gcm")
            .header("ttl", KEPT_S)
            .header("urgency", "high")
            .header("topic", request.topic)
            .body(request.body)
            .send()
            .await;
        match sent {
            Ok(answer) => PushOutcome::of_status(answer.status().as_u16()),
            // The address opens the page's queue to whoever has it, so no log gets it.
            Err(error) => PushOutcome::Failed(error.without_url().to_string()),
        }
    }

    async fn client(&self) -> Result<&Client, String> {
        let made = self.client.get_or_try_init(|| async {
            let hosts = self.hosts.clone();
            tokio::task::spawn_blocking(move || make_client(hosts))
                .await
                .map_err(|error| error.to_string())?
                .map_err(|error| error.to_string())
        });
        made.await
            .map_err(|error| format!("the HTTP client cannot be created: {error}"))
    }
}

/// Makes the client. It knows no proxy, because a proxy would look names up behind the guard.
fn make_client(hosts: LocalHosts) -> reqwest::Result<Client> {
    let check = move |host: &str, address| hosts.check(host, address);
    client_builder(Certificates::OfThisMachine)
        .no_proxy()
        .dns_resolver(Arc::new(GuardedResolver::new(check)))
        .connect_timeout(CONNECT_TIMEOUT)
        .timeout(TIMEOUT)
        .build()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use super::*;

    fn is_read(hosts: &[&str], endpoint: &str) -> bool {
        let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
        PushEndpoints::new(&hosts).read(endpoint).is_ok()
    }

    #[test]
    fn an_endpoint_is_https_on_the_public_internet_unless_the_operator_names_its_host() {
        for public in [
            "https://fcm.googleapis.com/fcm/send/a:b",
            "https://updates.push.services.mozilla.com/wpush/v2/x",
            "https://1.1.1.1/x",
            "https://push.example.org:443/x",
        ] {
            assert!(is_read(&[], public), "{public}");
        }
        for refused in [
            "http://push.example.org/x",
            "https://push.example.org:22/x",
            "https://push.example.org:8443/x",
            "https://127.0.0.1/x",
            "https://10.0.0.1/x",
            "https://[::1]/x",
            "https://169.254.169.254/latest",
            "https://localhost/x",
            "https://LOCALHOST./x",
            "https://a.localhost:8443/x",
            "https://metadata.google.internal/x",
            "https://printer.local/x",
            "https://nas/x",
            "https://2130706433/x",
            "https://[::ffff:127.0.0.1]/x",
            "https://me:pw@push.example.org/x",
            "ftp://push.example.org/x",
            "push.example.org/x",
            "",
        ] {
            assert!(!is_read(&[], refused), "{refused}");
        }
        assert!(!is_read(
            &[],
            &format!("https://push.example.org/{}", "x".repeat(1_024))
        ));
        assert!(is_read(&["127.0.0.1:7"], "http://127.0.0.1:7/x"));
        assert!(!is_read(&["127.0.0.1:7"], "http://127.0.0.1:8/x"));
        assert!(!is_read(&["127.0.0.1:7"], "http://localhost:7/x"));
        assert!(is_read(&["push.intra:7"], "https://push.intra:7/x"));
    }

    #[tokio::test]
    async fn a_name_that_leads_to_a_local_network_is_not_connected_to() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        // As if the name had led elsewhere when the page subscribed.
        let request = PushRequestParts {
            url: format!("http://localhost:{port}/x").parse().unwrap(),
            authorization: "made up".to_owned(),
            topic: "made-up".to_owned(),
            body: Vec::new(),
        };
        let sent = PushEndpoints::new(&[]).send(request).await;
        assert!(matches!(sent, PushOutcome::Failed(_)), "{sent:?}");
        let connected = listener.accept().map(drop);
        assert_eq!(connected.unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    }

    #[test]
    fn a_status_says_whether_to_try_again() {
        for status in [200, 201, 202] {
            assert_eq!(PushOutcome::of_status(status), PushOutcome::Taken);
        }
        for status in [404, 410] {
            assert_eq!(PushOutcome::of_status(status), PushOutcome::Gone);
        }
        for status in [408, 429, 500, 503] {
            assert!(matches!(PushOutcome::of_status(status), PushOutcome::Failed(_)));
        }
        // A redirect is not followed.
        for status in [301, 307, 400, 401, 403, 413] {
            assert!(matches!(PushOutcome::of_status(status), PushOutcome::Refused(_)));
        }
    }
}
