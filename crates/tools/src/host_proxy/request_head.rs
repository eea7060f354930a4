//! The head of a request to the proxy: read within bounds, and rewritten for the server that it names.

use std::time::Duration;

use agentx_sandbox::normal_host;
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// The longest head, in bytes.
pub(super) const LONGEST: usize = 64 << 10;
/// The longest name of a host, as DNS has it. Names are shown to people and kept with the call.
const LONGEST_HOST: usize = 253;
/// The end of a head.
const END: &[u8] = b"\r\n\r\n";
/// The time in which a client has to send the head of its request.
pub(super) const HEAD_TIME: Duration = Duration::from_secs(30);

/// A request as far as the proxy reads it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RequestHead {
    method: String,
    /// The host, in lower case and without brackets.
    pub(super) host: String,
    pub(super) port: u16,
    /// The path for the server; `None` if the client asks for a tunnel (`CONNECT`).
    path: Option<String>,
    /// The lines of the headers.
    headers: Vec<Vec<u8>>,
    /// Bytes that arrived behind the head.
    pub(super) rest: Vec<u8>,
}

/// Headers that are between a client and its proxy, or that the proxy writes itself.
const DROPPED: [&str; 5] = [
    "connection",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
];

/// Reads the head of a request. Returns why it is none.
pub(super) async fn read_head<R: AsyncRead + Unpin>(client: &mut R) -> Result<RequestHead, &'static str> {
    let mut read = Vec::new();
    let mut searched = 0;
    loop {
        if let Some(end) = end_of_head(&read, searched) {
            let rest = read.split_off(end);
            return RequestHead::parse(&read, rest);
        }
        if read.len() >= LONGEST {
            return Err("its head is longer than 64 KiB");
        }
        // An end that has begun may be completed by the next bytes.
        searched = read.len().saturating_sub(END.len() - 1);
        match client.read_buf(&mut read).await {
            Ok(0) | Err(_) => return Err("it ended before its head did"),
            Ok(_) => {}
        }
    }
}

/// Finds the end of a head. It does not begin in the first `searched` bytes.
fn end_of_head(read: &[u8], searched: usize) -> Option<usize> {
    let at = read[searched..]
        .windows(END.len())
        .position(|window| window == END)?;
    Some(searched + at + END.len())
}

impl RequestHead {
    fn parse(head: &[u8], rest: Vec<u8>) -> Result<Self, &'static str> {
        let mut lines = head
            .split(|byte| *byte == b'\n')
            .map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        let first = lines.next().and_then(|line| std::str::from_utf8(line).ok());
        let mut words = first.unwrap_or_default().split(' ');
        let (Some(method), Some(target), Some(version), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err("its first line is not a request");
        };
        if !version.starts_with("HTTP/1.") {
            return Err("it speaks another version than HTTP/1.1");
        }
        let headers: Vec<Vec<u8>> = lines
            .filter(|line| !line.is_empty())
            .map(<[u8]>::to_vec)
            .collect();
        let is_plain =
            |line: &Vec<u8>| !line.contains(&b'\r') && !line.starts_with(b" ") && !line.starts_with(b"\t");
        if !headers.iter().all(is_plain) {
            return Err("a line of its head is broken");
        }
        let (authority, path) = split_target(method, target)?;
        let usual = if path.is_some() { Some(80) } else { None };
        let (host, port) = split_authority(authority, usual).ok_or("it names no host and port")?;
        Ok(Self {
            method: method.to_owned(),
            host,
            port,
            path,
            headers,
            rest,
        })
    }

    /// Returns whether the client asks for a tunnel.
    pub(super) fn is_tunnel(&self) -> bool {
        self.path.is_none()
    }

    /// Returns the value of the first header of this name, given in lower case.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let line = self.headers.iter().find(|line| name_of(line) == name)?;
        let value = std::str::from_utf8(line).ok()?.split_once(':')?.1;
        Some(value.trim())
    }

    /// Returns the head as the server gets it. The connection serves this one request: behind its end there
    /// could be another one for another host.
    pub(super) fn for_server(&self) -> Vec<u8> {
        let path = self.path.as_deref().unwrap_or("/");
        let mut head = format!(
            "{} {path} HTTP/1.1\r\nHost: {}\r\n",
            self.method,
            self.authority()
        )
        .into_bytes();
        let kept = self
            .headers
            .iter()
            .filter(|line| !DROPPED.contains(&name_of(line).as_str()));
        for line in kept {
            head.extend_from_slice(line);
            head.extend_from_slice(b"\r\n");
        }
        head.extend_from_slice(b"Connection: close\r\n\r\n");
        head
    }

    fn authority(&self) -> String {
        let host = if self.host.contains(':') {
            format!("[{}]", self.host)
        } else {
            self.host.clone()
        };
        if self.port == 80 {
            host
        } else {
            format!("{host}:{}", self.port)
        }
    }
}

/// The name of a header, in lower case.
fn name_of(line: &[u8]) -> String {
    let end = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
    String::from_utf8_lossy(&line[..end]).trim().to_ascii_lowercase()
}

/// Splits what a request asks for into the server and the path there.
fn split_target<'a>(method: &str, target: &'a str) -> Result<(&'a str, Option<String>), &'static str> {
    if method == "CONNECT" {
        return Ok((target, None));
    }
    const SCHEME: &str = "http://";
    let is_http = target
        .get(..SCHEME.len())
        .is_some_and(|scheme| scheme.eq_ignore_ascii_case(SCHEME));
    if !is_http {
        return Err("it asks a proxy for something else than an http address or a tunnel");
    }
    let behind = &target[SCHEME.len()..];
    let end = behind.find(['/', '?', '#']).unwrap_or(behind.len());
    let (authority, path) = behind.split_at(end);
    let path = path.split('#').next().unwrap_or_default();
    let path = if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("/{path}")
    };
    Ok((authority, Some(path)))
}

/// Splits `host:port`. `usual` is the port without one.
pub(super) fn split_authority(authority: &str, usual: Option<u16>) -> Option<(String, u16)> {
    let behind_bracket = authority.rfind(']').map_or(0, |at| at + 1);
    let (host, port) = match authority[behind_bracket..].find(':') {
        Some(at) => {
            let at = behind_bracket + at;
            (&authority[..at], authority[at + 1..].parse().ok()?)
        }
        None => (authority, usual?),
    };
    let host = normal_host(host);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._:".contains(c);
    let has_length = (1..=LONGEST_HOST).contains(&host.len());
    (has_length && port > 0 && host.chars().all(is_plain)).then_some((host, port))
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;

    use super::*;

    async fn read(text: &str) -> Result<RequestHead, &'static str> {
        read_head(&mut text.as_bytes()).await
    }

    #[tokio::test]
    async fn a_request_is_rewritten_for_its_server_alone() {
        let text = "POST http://Host.Example:81/a?b HTTP/1.1\r\nHost: other.example\r\nAccept: */*\r\n\
                    Proxy-Authorization: Basic eA==\r\nConnection: keep-alive\r\n\r\nbody";
        let head = read(text).await.unwrap();
        assert_eq!((head.host.as_str(), head.port), ("host.example", 81));
        assert!(!head.is_tunnel() && head.rest == b"body");
        assert_eq!(head.header("proxy-authorization"), Some("Basic eA=="));
        let expected =
            "POST /a?b HTTP/1.1\r\nHost: host.example:81\r\nAccept: */*\r\nConnection: close\r\n\r\n";
        assert_eq!(String::from_utf8(head.for_server()).unwrap(), expected);
    }

    #[tokio::test]
    async fn the_host_of_a_request_is_found() {
        for (first, host, port) in [
            ("CONNECT crates.io:443 HTTP/1.1", "crates.io", 443),
            ("CONNECT [::1]:8443 HTTP/1.1", "::1", 8443),
            ("GET http://crates.io HTTP/1.1", "crates.io", 80),
            ("GET HTTP://CRATES.IO./x HTTP/1.1", "crates.io", 80),
            ("GET http://[::1]/ HTTP/1.0", "::1", 80),
            ("GET http://127.0.0.1?x HTTP/1.1", "127.0.0.1", 80),
        ] {
            let head = read(&format!("{first}\r\n\r\n")).await.unwrap();
            assert_eq!((head.host.as_str(), head.port), (host, port), "{first}");
        }
    }

    #[tokio::test]
    async fn what_is_no_request_is_refused() {
        for text in [
            "GET / HTTP/1.1\r\n\r\n",
            "CONNECT crates.io HTTP/1.1\r\n\r\n",
            "CONNECT crates.io:0 HTTP/1.1\r\n\r\n",
            "GET http://user@host/ HTTP/1.1\r\n\r\n",
            "GET http://a b/ HTTP/1.1\r\n\r\n",
            "GET http://host/ HTTP/2\r\n\r\n",
            "GET http://host/ HTTP/1.1\r\n X: folded\r\n\r\n",
            "GET http://host/ HTTP/1.1\r\nA: b\rHost: c\r\n\r\n",
            "GET http://host/ HTTP/1.1\r\nA: b",
            "",
        ] {
            assert!(read(text).await.is_err(), "{text}");
        }
        let long = format!("GET http://host/ HTTP/1.1\r\nA: {}", "x".repeat(LONGEST));
        assert_eq!(read(&long).await, Err("its head is longer than 64 KiB"));
    }

    #[tokio::test]
    async fn a_host_is_at_most_as_long_as_a_name_can_be() {
        for (length, is_read) in [(LONGEST_HOST, true), (LONGEST_HOST + 1, false)] {
            let host = "x".repeat(length);
            let tunnel = read(&format!("CONNECT {host}:443 HTTP/1.1\r\n\r\n")).await;
            assert_eq!(tunnel.is_ok(), is_read, "{length}");
            let request = read(&format!("GET http://{host}/ HTTP/1.1\r\n\r\n")).await;
            assert_eq!(request.is_ok(), is_read, "{length}");
        }
    }

    #[tokio::test]
    async fn a_head_is_read_in_pieces_of_any_length() {
        let text = b"CONNECT crates.io:443 HTTP/1.1\r\nA: b\r\n\r\nrest";
        for piece in 1..text.len() {
            let (mut client, mut server) = tokio::io::duplex(piece);
            let sending = async {
                // The reader needs no more once it has the head.
                let _ = client.write_all(text).await;
            };
            let (head, ()) = tokio::join!(
                async {
                    let head = read_head(&mut server).await;
                    drop(server);
                    head
                },
                sending
            );
            let head = head.unwrap();
            assert_eq!((head.host.as_str(), head.port), ("crates.io", 443), "{piece}");
            assert!(b"rest".starts_with(head.rest.as_slice()), "{piece}");
        }
    }
}
