//! Refuses clients for which the server has no room: in HTTP, or by a TLS alert to clients that speak TLS.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use crate::connections::channel::{TlsAcceptors, begins_with_handshake};
use crate::connections::connection_limits::{ConnectionRefused, TOO_MANY};

/// The time within which a refused client has to show which protocol it speaks.
const WITHIN: Duration = Duration::from_secs(1);
/// The number of refused clients that are answered at once.
const AT_ONCE: usize = 64;
/// A fatal alert of TLS, `internal_error`: <https://www.rfc-editor.org/rfc/rfc8446#section-6>. It has none
/// for "come back later".
const ALERT: [u8; 7] = [0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x50];

/// Answers the clients that are refused.
pub(crate) struct Rejector(Arc<Semaphore>);

impl Rejector {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Semaphore::new(AT_ONCE)))
    }

    /// Sends a client the reason of the refusal, and closes its connection. A client of a server with a
    /// certificate, and one that comes when too many are being answered, only sees the end.
    pub(crate) fn tell(&self, stream: TcpStream, doors: &TlsAcceptors, why: ConnectionRefused) {
        if doors.has_certificate() {
            return;
        }
        let Ok(slot) = self.0.clone().try_acquire_owned() else {
            return;
        };
        tokio::spawn(async move {
            let speaks = tokio::time::timeout(WITHIN, begins_with_handshake(&stream)).await;
            // A client that sends nothing in time gets an answer in HTTP.
            if let Ok(is_tls) = speaks.unwrap_or(Ok(false)) {
                // Unread bytes would reset the connection when it is closed, and the client could lose our
                // answer.
                let _ = stream.try_read(&mut [0; 4096]);
                let _ = if is_tls {
                    stream.try_write(&ALERT)
                } else {
                    stream.try_write(no_room(why).as_bytes())
                };
            }
            drop(slot);
        });
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
    // The send buffer of a new connection has room for this; if not, the client only sees the end.
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/problem+json\r\nretry-after: 1\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
}
