//! The end of a login: the browser comes back to this machine with a code (RFC 8252), or a person pastes the
//! address that it would have gone to.

use std::time::Duration;

use reqwest::Url;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use super::token_request::ErrorAnswer;

/// The path of the address to which the browser comes back.
const PATH: &str = "/callback";
/// The longest request line with its headers.
const REQUEST_BYTES: usize = 16 << 10;
/// The time for a browser to send its request.
const REQUEST: Duration = Duration::from_secs(10);

/// The answer of an authorization server through the browser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Returned {
    /// The code, to be exchanged for tokens.
    Code(String),
    /// The reason why there is none.
    Refused(String),
}

/// The values that the answer must have to belong to this login.
#[derive(Clone, Debug)]
pub(super) struct Expected {
    pub(super) state: String,
    pub(super) issuer: String,
    /// Whether the answer has to name the issuer.
    pub(super) names_issuer: bool,
}

impl Expected {
    /// Reads the address to which the browser came back.
    ///
    /// # Errors
    /// Returns the reason why it is not the answer to this login. The login then waits further.
    pub(super) fn read(&self, url: &Url) -> Result<Returned, String> {
        let value = |wanted: &str| {
            let found = url.query_pairs().find(|(name, _)| name == wanted);
            found.map(|(_, value)| value.into_owned())
        };
        if value("state").as_deref() != Some(&self.state) {
            return Err("this is not the answer to this login (its `state` differs)".to_owned());
        }
        match value("iss") {
            Some(issuer) if issuer != self.issuer => {
                return Err(format!(
                    "the answer comes from another authorization server than {}",
                    self.issuer
                ));
            }
            None if self.names_issuer => {
                return Err(format!(
                    "the answer does not say that it comes from {}",
                    self.issuer
                ));
            }
            _ => {}
        }
        if let Some(error) = value("error") {
            let said = ErrorAnswer {
                error,
                error_description: value("error_description").unwrap_or_default(),
            };
            return Ok(Returned::Refused(said.in_words()));
        }
        let code = value("code").filter(|code| !code.is_empty());
        Ok(code.map_or_else(|| Returned::Refused("it has no code".to_owned()), Returned::Code))
    }
}

/// Waits on this machine for the browser.
pub(super) struct RedirectListener {
    listener: TcpListener,
    /// The address to which the browser is sent.
    pub(super) address: String,
}

impl RedirectListener {
    /// Listens on a port of this machine; any free one by default.
    ///
    /// # Errors
    /// Returns the reason if the port is not free.
    pub(super) async fn open(port: Option<u16>) -> Result<Self, String> {
        let port = port.unwrap_or(0);
        let listener = TcpListener::bind(("127.0.0.1", port)).await;
        let listener = listener.map_err(|error| format!("port {port} cannot be listened on: {error}"))?;
        let port = listener.local_addr().map_err(|error| error.to_string())?.port();
        Ok(Self {
            listener,
            address: format!("http://127.0.0.1:{port}{PATH}"),
        })
    }

    /// Waits for the answer that is expected. Any other request is refused and changes nothing; `strays` gets
    /// the reason if it came to the address of an answer, and loses it while it is full.
    pub(super) async fn answer(&self, expected: &Expected, strays: &mpsc::Sender<String>) -> Returned {
        loop {
            let Ok((mut stream, _)) = self.listener.accept().await else {
                // No more descriptors, say: others end meanwhile.
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            };
            let target = tokio::time::timeout(REQUEST, request_target(&mut stream)).await;
            let Ok(Some(target)) = target else { continue };
            let url = Url::parse(&self.address).and_then(|base| base.join(&target));
            let read = match url {
                Ok(url) if url.path() == PATH => expected.read(&url).inspect_err(|why| {
                    let _ = strays.try_send(why.clone());
                }),
                _ => Err("there is nothing here".to_owned()),
            };
            let (status, text) = match &read {
                Ok(Returned::Code(_)) => ("200 OK", "You are logged in. You can close this page.".to_owned()),
                Ok(Returned::Refused(why)) => ("200 OK", format!("The login was refused: {why}")),
                Err(why) => ("400 Bad Request", why.clone()),
            };
            let _ = tokio::time::timeout(REQUEST, reply(&mut stream, status, &text)).await;
            if let Ok(returned) = read {
                return returned;
            }
        }
    }
}

/// Reads the target of a GET request; `None` if it is none.
async fn request_target(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    while !bytes.windows(4).any(|four| four == b"\r\n\r\n") {
        if bytes.len() > REQUEST_BYTES || stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let head = std::str::from_utf8(&bytes).ok()?;
    let target = head.strip_prefix("GET ")?.split(' ').next()?;
    target.starts_with('/').then(|| target.to_owned())
}

/// Answers with a plain text, which no browser runs.
async fn reply(stream: &mut TcpStream, status: &str, text: &str) -> std::io::Result<()> {
    let head = "content-type: text/plain; charset=utf-8\r\ncache-control: no-store\r\nx-content-type-options: nosniff\r\nreferrer-policy: no-referrer";
    let answer = format!(
        "HTTP/1.1 {status}\r\n{head}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{text}\n",
        text.len() + 1
    );
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected() -> Expected {
        Expected {
            state: "s1".into(),
            issuer: "https://login.example".into(),
            names_issuer: false,
        }
    }

    fn read(expected: &Expected, query: &str) -> Result<Returned, String> {
        expected.read(&Url::parse(&format!("http://127.0.0.1:1/callback?{query}")).unwrap())
    }

    #[test]
    fn only_the_answer_to_this_login_counts() {
        let ours = expected();
        let code = Returned::Code("c 1".into());
        assert_eq!(read(&ours, "state=s1&code=c+1"), Ok(code.clone()));
        let named = "state=s1&code=c+1&iss=https%3A%2F%2Flogin.example";
        assert_eq!(read(&ours, named), Ok(code.clone()));
        assert!(read(&ours, "code=c").unwrap_err().contains("state"));
        assert!(read(&ours, "state=s2&code=c").unwrap_err().contains("state"));
        let other = "state=s1&code=c&iss=https%3A%2F%2Fevil.example";
        assert!(
            read(&ours, other)
                .unwrap_err()
                .contains("another authorization server")
        );
        let strict = Expected {
            names_issuer: true,
            ..ours.clone()
        };
        assert_eq!(read(&strict, named), Ok(code));
        assert!(
            read(&strict, "state=s1&code=c")
                .unwrap_err()
                .contains("does not say")
        );
        let refused = read(&ours, "state=s1&error=access_denied&error_description=No%0Away").unwrap();
        let Returned::Refused(why) = refused else {
            panic!("{refused:?}")
        };
        assert!(
            why.starts_with("access_denied: No") && !why.contains('\n'),
            "{why}"
        );
        assert_eq!(
            read(&ours, "state=s1"),
            Ok(Returned::Refused("it has no code".into()))
        );
    }

    #[tokio::test]
    async fn a_stray_request_does_not_end_the_wait() {
        let listener = RedirectListener::open(None).await.unwrap();
        let address = listener.address.clone();
        let ask = async |query: &str| {
            let url = Url::parse(&address).unwrap();
            let mut stream = TcpStream::connect(("127.0.0.1", url.port().unwrap()))
                .await
                .unwrap();
            let request = format!("GET {query} HTTP/1.1\r\nhost: x\r\n\r\n");
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.unwrap();
            answer
        };
        let expected = expected();
        let (strays, mut told) = mpsc::channel(4);
        let (returned, answers) = tokio::join!(listener.answer(&expected, &strays), async {
            [
                ask("/favicon.ico").await,
                ask("/callback?state=wrong&code=evil").await,
                ask("/callback?state=s1&code=good").await,
            ]
        });
        assert_eq!(returned, Returned::Code("good".into()));
        let statuses = answers.map(|answer| answer[9..12].to_owned());
        assert_eq!(statuses, ["400", "400", "200"]);
        drop(strays);
        assert!(told.recv().await.unwrap().contains("`state` differs"));
        assert_eq!(told.recv().await, None, "the icon is nobody's answer");
    }
}
