//! A tunnel whose TLS the proxy ends: requests of HTTP/1.1, each with its credentials put in, and answers
//! that pass as they come.
//!
//! A credential leaves only for a server that has proved its name. So the server's certificate is checked
//! against the name of the tunnel, and a request inside that names another host is refused: a server of many
//! sites could otherwise pass the credential on. Requests are read and written anew (by hyper), so that the
//! server cannot see other borders between them than the proxy does.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;

use http_body_util::{Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::SendRequest;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode, Version};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::server::Acceptor;
use tokio_rustls::{LazyConfigAcceptor, TlsConnector};

use super::certificate_authority::CertificateAuthority;
use super::masked_credential::CredentialList;
use crate::host_proxy::contacts::HostContacts;
use crate::host_proxy::gate::HostGate;
use crate::host_proxy::request_head::{HEAD_TIME, LONGEST, RequestHead, split_authority};
use crate::host_proxy::server_connection::connect;

/// The port of a host that a request names without one.
const HTTPS: u16 = 443;

/// Headers that are between two neighbours. A change of protocol is not passed on.
const BETWEEN_NEIGHBOURS: [HeaderName; 4] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::UPGRADE,
];

type AnswerBody = Either<Incoming, Full<Bytes>>;

/// Methods whose answers repeat the headers of the request
/// (<https://www.rfc-editor.org/rfc/rfc9110#section-9.3.8>).
const REPEATING: [&str; 2] = ["TRACE", "TRACK"];

/// The way to the server, which may end between two requests.
enum ServerWay {
    /// A connection on which nothing was sent.
    Connected(TcpStream),
    /// TLS over which requests can be sent.
    Open(OpenWay),
    /// Nothing.
    Closed,
}

struct OpenWay {
    sender: SendRequest<Incoming>,
    /// The task of the connection, which ends with this value.
    _connection: JoinSet<()>,
}

/// A tunnel to a host that credentials are for.
pub(super) struct OpenedTunnel<'a> {
    head: &'a RequestHead,
    gate: &'a HostGate,
    contacts: &'a HostContacts,
    credentials: &'a CredentialList,
    authority: Arc<CertificateAuthority>,
    way: Mutex<ServerWay>,
}

impl<'a> OpenedTunnel<'a> {
    /// Opens the tunnel that `head` asks for. `server` is connected to its host.
    pub(super) fn new(
        head: &'a RequestHead,
        gate: &'a HostGate,
        contacts: &'a HostContacts,
        credentials: &'a CredentialList,
        authority: Arc<CertificateAuthority>,
        server: TcpStream,
    ) -> Self {
        Self {
            head,
            gate,
            contacts,
            credentials,
            authority,
            way: Mutex::new(ServerWay::Connected(server)),
        }
    }

    /// Serves a client that begins with TLS, to the end of the connection.
    pub(super) async fn serve(&self, client: &mut TcpStream) -> io::Result<()> {
        let (reading, writing) = client.split();
        let stream = tokio::io::join((&self.head.rest[..]).chain(reading), writing);
        let accepting = LazyConfigAcceptor::new(Acceptor::default(), stream);
        let started = timeout(HEAD_TIME, accepting).await??;
        let offers_http_1 = started
            .client_hello()
            .alpn()
            .is_some_and(|mut offered| offered.any(|protocol| protocol == b"http/1.1"));
        let config = self.authority.in_place_of(&self.head.host, offers_http_1)?;
        let stream = timeout(HEAD_TIME, started.into_stream(config)).await??;
        hyper::server::conn::http1::Builder::new()
            .auto_date_header(false)
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIME)
            .max_buf_size(LONGEST)
            .preserve_header_case(true)
            .serve_connection(TokioIo::new(stream), service_fn(|request| self.answer(request)))
            .await
            .map_err(io::Error::other)
    }

    async fn answer(&self, request: Request<Incoming>) -> Result<Response<AnswerBody>, Infallible> {
        let answered = match self.check(&request) {
            Ok(()) => self.pass(request).await,
            Err((status, why)) => Ok(own_answer(status, why)),
        };
        // The error is about the connection or a certificate, and holds nothing of the request.
        Ok(answered.unwrap_or_else(|error| {
            let why = format!("{} cannot be asked: {error}", self.head.host);
            own_answer(StatusCode::BAD_GATEWAY, &why)
        }))
    }

    /// Checks that a request is for the host of the tunnel alone, that its answer does not repeat it, that it
    /// is clear where its body ends, and how long its head is: the buffer of hyper may grow beyond its bound.
    fn check(&self, request: &Request<Incoming>) -> Result<(), (StatusCode, &'static str)> {
        if REPEATING.contains(&request.method().as_str()) {
            let why = "the answer to this method would repeat the headers of the request";
            return Err((StatusCode::METHOD_NOT_ALLOWED, why));
        }
        let lengths = request.headers().iter();
        let head: usize = lengths
            .map(|(name, value)| name.as_str().len() + value.len())
            .sum();
        if head > LONGEST {
            let why = "its head is longer than 64 KiB";
            return Err((StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, why));
        }
        let mut hosts = request.headers().get_all(header::HOST).iter();
        let named = match (hosts.next(), hosts.next()) {
            (Some(host), None) if request.uri().authority().is_none() => host.to_str().ok(),
            _ => None,
        };
        let named = named.and_then(|host| split_authority(host, Some(HTTPS)));
        if named.is_none_or(|(host, port)| host != self.head.host || port != self.head.port) {
            let why = "the request names another host than its tunnel, or several";
            return Err((StatusCode::MISDIRECTED_REQUEST, why));
        }
        let mut encodings = request.headers().get_all(header::TRANSFER_ENCODING).iter();
        let is_chunked = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"chunked");
        match (encodings.next(), encodings.next()) {
            (None, _) => Ok(()),
            (Some(only), None) if is_chunked(only) => Ok(()),
            _ => Err((StatusCode::BAD_REQUEST, "its body has an unknown encoding")),
        }
    }

    /// Passes a request to the server, with its credentials, and the answer back.
    async fn pass(&self, mut request: Request<Incoming>) -> io::Result<Response<AnswerBody>> {
        let (host, port) = (self.head.host.as_str(), self.head.port);
        *request.version_mut() = Version::HTTP_11;
        remove_between_neighbours(request.headers_mut());
        // The proxy has asked for the body already.
        request.headers_mut().remove(header::EXPECT);
        let mut way = self.way.lock().await;
        let mut open = self
            .opened(std::mem::replace(&mut *way, ServerWay::Closed))
            .await?;
        for variable in self.credentials.reveal(host, port, request.headers_mut()) {
            self.contacts.add_credential(host, port, variable);
        }
        let answered = open.sender.send_request(request).await;
        *way = ServerWay::Open(open);
        let mut answer = answered.map_err(io::Error::other)?;
        remove_between_neighbours(answer.headers_mut());
        self.credentials.conceal(host, port, answer.headers_mut());
        Ok(answer.map(Either::Left))
    }

    /// Returns a way over which a request can be sent: the present one, unless the server has closed it.
    async fn opened(&self, way: ServerWay) -> io::Result<OpenWay> {
        let server = match way {
            ServerWay::Open(mut open) => match timeout(HEAD_TIME, open.sender.ready()).await? {
                Ok(()) => return Ok(open),
                Err(_) => connect(self.gate, self.head).await?,
            },
            ServerWay::Connected(server) => server,
            ServerWay::Closed => connect(self.gate, self.head).await?,
        };
        let connector = TlsConnector::from(self.authority.toward_servers()?);
        let name = ServerName::try_from(self.head.host.clone()).map_err(io::Error::other)?;
        let stream = timeout(HEAD_TIME, connector.connect(name, server)).await??;
        let (sender, connection) = hyper::client::conn::http1::Builder::new()
            .max_buf_size(LONGEST)
            .preserve_header_case(true)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(io::Error::other)?;
        let mut connection_task = JoinSet::new();
        connection_task.spawn(async move {
            // Whoever sent a request gets the error, too.
            let _ = connection.await;
        });
        Ok(OpenWay {
            sender,
            _connection: connection_task,
        })
    }
}

fn remove_between_neighbours(headers: &mut HeaderMap) {
    for name in BETWEEN_NEIGHBOURS {
        headers.remove(name);
    }
}

/// An answer of the proxy itself.
fn own_answer(status: StatusCode, why: &str) -> Response<AnswerBody> {
    let body = Full::new(Bytes::from(format!("agentx: {why}\n")));
    let mut answer = Response::new(Either::Right(body));
    *answer.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    answer.headers_mut().insert(header::CONTENT_TYPE, plain);
    answer
}

#[cfg(test)]
mod tests;
