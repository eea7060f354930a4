//! Refuses clients for which the server has no room: in HTTP, or by a TLS alert to clients that speak TLS.
//!
//! A socket that is closed with unread bytes, or before its client has sent its request, resets the
//! connection, and the client may lose the answer. So a refused connection is answered, shut down, and read
//! for a moment before it is closed. Each of them holds a file descriptor meanwhile, so only some may; those
//! beyond are answered at once and closed.
//!
//! A client that is refused for its address alone, and says something, is served on trial instead, if there
//! is room for that.

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::connections::channel::{HANDSHAKE, TlsAcceptors, begins_with_handshake};
use crate::connections::connection_limits::{ConnectionRefused, TOO_MANY};
use crate::connections::lingering_close::Lingering;
use crate::counts::ServerCounters;

/// The time within which a refused client has to show which protocol it speaks, and the time in which the
/// rest of its request is discarded.
const WITHIN: Duration = Duration::from_secs(1);
/// The number of refused clients that are waited for at the same time. With those that one address may hold,
/// they stay below 1,024 open files, which many systems give to a process.
const AT_ONCE: usize = 128;
/// The number of bytes that are read of a client that is not waited for.
const READ_AT_ONCE: usize = 1024;
/// A fatal alert of TLS, `internal_error`: <https://www.rfc-editor.org/rfc/rfc8446#section-6>. It has none
/// for "come back later".
const ALERT: [u8; 7] = [0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x50];

/// Answers the clients that are refused.
pub(crate) struct Rejector(Arc<Semaphore>);

/// An answer to a refused client, before it is known which protocol the client speaks.
#[derive(Clone, Copy)]
struct Refusal {
    why: ConnectionRefused,
    has_certificate: bool,
}

impl Rejector {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Semaphore::new(AT_ONCE)))
    }

    /// Sends a client the reason of the refusal, and closes its connection. If too many are being answered,
    /// the client is not waited for: it loses the answer if it sends more after that.
    ///
    /// A client that is refused for its address, and does send something, is served on trial, if `trial`
    /// returns a function that does so.
    pub(crate) fn tell<T, F>(
        &self,
        stream: TcpStream,
        doors: &TlsAcceptors,
        why: ConnectionRefused,
        counts: Arc<ServerCounters>,
        trial: impl FnOnce() -> Option<T> + Send + 'static,
    ) where
        T: FnOnce(TcpStream) -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        let refusal = Refusal {
            why,
            has_certificate: doors.has_certificate(),
        };
        match self.0.clone().try_acquire_owned() {
            Ok(slot) => {
                tokio::spawn(async move {
                    let speaks = timeout(WITHIN, begins_with_handshake(&stream)).await;
                    if why == ConnectionRefused::Address
                        && matches!(speaks, Ok(Ok(_)))
                        && let Some(serve) = trial()
                    {
                        drop(slot);
                        return serve(stream).await;
                    }
                    counts.turned_away.add(1);
                    // A client that sends nothing in time gets an answer in HTTP.
                    if let Ok(is_tls) = speaks.unwrap_or(Ok(false)) {
                        refusal.tell(stream, is_tls).await;
                    }
                    drop(slot);
                });
            }
            Err(_) => {
                counts.turned_away.add(1);
                refusal.tell_at_once(stream);
            }
        }
    }
}

impl Refusal {
    /// Answers in the client's protocol, TLS or HTTP, and discards for a moment what it still sends.
    async fn tell(self, stream: TcpStream, is_tls: bool) {
        let mut stream = Lingering::new(stream, WITHIN, || true);
        let answer = self.answer(is_tls);
        if let Ok(Ok(())) = timeout(WITHIN, stream.write_all(&answer)).await {
            let _ = stream.shutdown().await;
        }
    }

    /// Answers a client without waiting for anything. A client that has sent its request by now gets the
    /// whole answer.
    fn tell_at_once(self, stream: TcpStream) {
        // The runtime does not know yet whether it can be written to, but the system does.
        let Ok(mut stream) = stream.into_std() else {
            return;
        };
        let mut sent = [0; READ_AT_ONCE];
        let read = stream.read(&mut sent).unwrap_or_default();
        let answer = self.answer(sent[..read].first() == Some(&HANDSHAKE));
        // The send buffer of a new connection has room for this; if not, the client only sees the end.
        let _ = stream.write_all(&answer);
        let _ = stream.shutdown(Shutdown::Write);
    }

    /// Returns the bytes of the answer. A client of a server with a certificate that speaks no TLS gets none.
    fn answer(self, is_tls: bool) -> Vec<u8> {
        match (is_tls, self.has_certificate) {
            (true, _) => ALERT.to_vec(),
            (false, true) => Vec::new(),
            (false, false) => no_room(self.why).into_bytes(),
        }
    }
}

/// Returns the answer to a request of a client for which the server has no room.
fn no_room(why: ConnectionRefused) -> String {
    let (status, title, code, detail) = match why {
        ConnectionRefused::Full => (
            "503 Service Unavailable",
            "Full",
            "full",
            "the server has reached its connection limit; try again in a moment",
        ),
        ConnectionRefused::Address => ("429 Too Many Requests", "Too many", "too_many", TOO_MANY),
    };
    let number = status.split(' ').next().unwrap_or_default();
    let body = format!(
        r#"{{"type":"urn:agentx:problem:{code}","title":"{title}","status":{number},"detail":"{detail}","code":"{code}","retry_after_ms":1000}}"#
    );
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/problem+json\r\nretry-after: 1\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use tokio::io::AsyncReadExt as _;
    use tokio::net::TcpListener;

    use super::*;

    /// The limit of any wait.
    const LIMIT: Duration = Duration::from_secs(20);

    const OF_ADDRESS: Refusal = Refusal {
        why: ConnectionRefused::Address,
        has_certificate: false,
    };

    /// Returns the two ends of a connection; the client has sent this before.
    async fn connected(sent: &[u8]) -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        client.write_all(sent).await.unwrap();
        let (server, _) = listener.accept().await.unwrap();
        if !sent.is_empty() {
            server.peek(&mut [0]).await.unwrap();
        }
        (client, server)
    }

    /// Returns everything that the client reads until the end, which has to be an orderly one.
    async fn heard(client: &mut TcpStream) -> Vec<u8> {
        let mut heard = Vec::new();
        timeout(LIMIT, client.read_to_end(&mut heard))
            .await
            .unwrap()
            .unwrap();
        heard
    }

    #[tokio::test]
    async fn a_client_that_sends_its_request_after_the_answer_reads_the_answer() {
        let (mut client, server) = connected(b"").await;
        let telling = tokio::spawn(OF_ADDRESS.tell(server, false));
        // The client is silent until it is answered, and sends its request then.
        let mut begin = [0; 12];
        timeout(LIMIT, client.read_exact(&mut begin))
            .await
            .unwrap()
            .unwrap();
        assert_eq!(&begin, b"HTTP/1.1 429");
        let request = vec![b'x'; 64 << 10];
        timeout(LIMIT, client.write_all(&request)).await.unwrap().unwrap();
        client.shutdown().await.unwrap();
        let rest = String::from_utf8(heard(&mut client).await).unwrap();
        assert!(rest.ends_with(r#""retry_after_ms":1000}"#), "{rest}");
        timeout(LIMIT, telling).await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn a_client_that_is_not_waited_for_reads_the_whole_answer_to_its_request() {
        let (mut client, server) = connected(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
        OF_ADDRESS.tell_at_once(server);
        let answer = String::from_utf8(heard(&mut client).await).unwrap();
        assert_eq!(answer, no_room(ConnectionRefused::Address));
        // One that has sent nothing yet reads it, too.
        let (mut client, server) = connected(b"").await;
        OF_ADDRESS.tell_at_once(server);
        let answer = String::from_utf8(heard(&mut client).await).unwrap();
        assert_eq!(answer, no_room(ConnectionRefused::Address));
    }

    #[tokio::test]
    async fn a_client_that_speaks_tls_reads_an_alert_also_from_a_server_with_a_certificate() {
        for has_certificate in [false, true] {
            let refusal = Refusal {
                has_certificate,
                ..OF_ADDRESS
            };
            let (mut client, server) = connected(&[HANDSHAKE, 0x03, 0x01]).await;
            refusal.tell_at_once(server);
            assert_eq!(heard(&mut client).await, ALERT);
            let (mut client, server) = connected(&[HANDSHAKE, 0x03, 0x01]).await;
            let telling = tokio::spawn(refusal.tell(server, true));
            assert_eq!(heard(&mut client).await, ALERT);
            drop(client);
            timeout(LIMIT, telling).await.unwrap().unwrap();
        }
        assert_eq!(
            Refusal {
                has_certificate: true,
                ..OF_ADDRESS
            }
            .answer(false),
            Vec::<u8>::new()
        );
    }
}
