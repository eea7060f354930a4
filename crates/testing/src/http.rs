//! Just enough of HTTP/1.1 to read a request and to frame a reply, for a server that also has to do it wrong.

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// The longest head of a request that is read.
const MAX_HEAD: usize = 64 * 1024;

/// A request as the server received it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpRequest {
    /// The method, for example `POST`.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// Names in lower case, in order.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl HttpRequest {
    /// Returns the first header of this name (in lower case).
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    /// Returns the body as JSON; `null` if it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// Reads one request; `None` if the client is gone.
    pub(crate) async fn read(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Self> {
        let head_end = loop {
            if let Some(at) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
                break at;
            }
            if buffer.len() > MAX_HEAD || stream.read_buf(buffer).await.ok()? == 0 {
                return None;
            }
            if !buffer.starts_with(b"P") && !buffer.starts_with(b"G") && !buffer.starts_with(b"C") {
                // Neither POST nor GET, nor CONNECT to a proxy: TLS, for example. Servers answer in plain
                // text.
                stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.ok()?;
                return None;
            }
        };
        let mut request = Self::parse_head(&String::from_utf8_lossy(&buffer[..head_end]))?;
        buffer.drain(..head_end + 4);
        let length: usize = request
            .header("content-length")
            .and_then(|value| value.parse().ok())
            .unwrap_or(0);
        while buffer.len() < length {
            if stream.read_buf(buffer).await.ok()? == 0 {
                return None;
            }
        }
        request.body = buffer.drain(..length).collect();
        Some(request)
    }

    fn parse_head(head: &str) -> Option<Self> {
        let mut lines = head.split("\r\n");
        let mut first = lines.next()?.split(' ');
        let (method, path) = (first.next()?.to_owned(), first.next()?.to_owned());
        let headers = lines.filter_map(|line| line.split_once(':'));
        let headers = headers
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        Some(Self {
            method,
            path,
            headers,
            body: Vec::new(),
        })
    }
}
