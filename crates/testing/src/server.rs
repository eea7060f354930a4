//! A real HTTP server on a real socket that misbehaves on demand: the n-th request gets the n-th reply of a
//! list. A request to a model that its vendor would refuse is refused, and fails the test at its end.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use crate::reply::{Act, Framing};
use crate::{FailsOnRefusal, HttpRequest, RequestChecks, ServerReply};

/// The server. It stops when it is dropped.
pub struct TestServer {
    address: SocketAddr,
    shared: Arc<ServerShared>,
    accepting: JoinHandle<()>,
    _fails_on_refusal: Option<FailsOnRefusal>,
}

struct ServerShared {
    script: Mutex<ServerScript>,
    checks: Option<RequestChecks>,
    hung_up: watch::Sender<usize>,
}

/// Answers requests when the list has no more replies.
type RequestHandler = dyn Fn(&HttpRequest) -> ServerReply + Send + Sync;

struct ServerScript {
    replies: VecDeque<ServerReply>,
    answering: Option<Arc<RequestHandler>>,
    requests: Vec<HttpRequest>,
    connections: usize,
}

impl fmt::Debug for TestServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestServer")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl TestServer {
    /// Listens on a free port of this machine. After the last reply it answers with status 418.
    ///
    /// # Panics
    /// Panics if no port is free.
    pub async fn start(replies: impl IntoIterator<Item = ServerReply>) -> Self {
        Self::listen(replies.into_iter().collect(), None, Some(RequestChecks::new())).await
    }

    /// Starts a server with its own checks, for models that [`RequestChecks::new`] does not know.
    ///
    /// # Panics
    /// Panics if no port is free.
    pub async fn checked(checks: RequestChecks, replies: impl IntoIterator<Item = ServerReply>) -> Self {
        Self::listen(replies.into_iter().collect(), None, Some(checks)).await
    }

    /// Starts a server without any check, for tests that send garbage.
    ///
    /// # Panics
    /// Panics if no port is free.
    pub async fn accepting(replies: impl IntoIterator<Item = ServerReply>) -> Self {
        Self::listen(replies.into_iter().collect(), None, None).await
    }

    /// Listens on a free port of this machine, and answers each request with `answering`. It checks nothing
    /// itself.
    ///
    /// # Panics
    /// Panics if no port is free.
    pub async fn answering(answering: impl Fn(&HttpRequest) -> ServerReply + Send + Sync + 'static) -> Self {
        Self::listen(VecDeque::new(), Some(Arc::new(answering)), None).await
    }

    /// Starts a server at this port of this machine (0: any free one); a program can report why it cannot
    /// have the port.
    ///
    /// # Errors
    /// Returns the system's error.
    pub async fn answering_at(
        port: u16,
        answering: impl Fn(&HttpRequest) -> ServerReply + Send + Sync + 'static,
    ) -> io::Result<Self> {
        Self::listen_at(port, VecDeque::new(), Some(Arc::new(answering)), None).await
    }

    async fn listen(
        replies: VecDeque<ServerReply>,
        answering: Option<Arc<RequestHandler>>,
        checks: Option<RequestChecks>,
    ) -> Self {
        Self::listen_at(0, replies, answering, checks)
            .await
            .unwrap_or_else(|error| panic!("no free port: {error}"))
    }

    async fn listen_at(
        port: u16,
        replies: VecDeque<ServerReply>,
        answering: Option<Arc<RequestHandler>>,
        checks: Option<RequestChecks>,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        let address = listener.local_addr()?;
        let script = ServerScript {
            replies,
            answering,
            requests: Vec::new(),
            connections: 0,
        };
        let fails_on_refusal = checks.as_ref().map(RequestChecks::fail_when_dropped);
        let shared = Arc::new(ServerShared {
            script: Mutex::new(script),
            checks,
            hung_up: watch::Sender::new(0),
        });
        let accepting = tokio::spawn(accept(listener, shared.clone()));
        Ok(Self {
            address,
            shared,
            accepting,
            _fails_on_refusal: fails_on_refusal,
        })
    }

    /// `http://` and its address.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the received requests, in order.
    pub fn requests(&self) -> Vec<HttpRequest> {
        self.shared.lock().requests.clone()
    }

    /// Returns the number of accepted connections.
    pub fn connections(&self) -> usize {
        self.shared.lock().connections
    }

    /// Waits until this many clients have hung up during their answers.
    pub async fn hung_up(&self, count: usize) {
        // The sender is part of `self`, so the channel is open for as long as this waits.
        let _ = self
            .shared
            .hung_up
            .subscribe()
            .wait_for(|seen| *seen >= count)
            .await;
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl ServerShared {
    fn lock(&self) -> MutexGuard<'_, ServerScript> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reply(&self, request: &HttpRequest) -> ServerReply {
        self.lock().requests.push(request.clone());
        if let Some(checks) = &self.checks {
            let beta = request.header("anthropic-beta").unwrap_or_default();
            if let Err(refusal) = checks.check(&request.path, beta, &request.body) {
                return ServerReply::json(refusal.status, &refusal.body);
            }
        }
        let (listed, answering) = {
            let mut script = self.lock();
            (script.replies.pop_front(), script.answering.clone())
        };
        let answered = || answering.map(|answering| answering(request));
        listed
            .or_else(answered)
            .unwrap_or_else(|| ServerReply::body(418, "text/plain", "the test has no more replies"))
    }
}

/// Returns an address of this machine on which no program listens.
///
/// # Panics
/// Panics if no port is free.
pub async fn refusing_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0")
        .await
        .and_then(|listener| listener.local_addr());
    listener.unwrap_or_else(|error| panic!("no free port: {error}"))
}

async fn accept(listener: TcpListener, shared: Arc<ServerShared>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        shared.lock().connections += 1;
        connections.spawn(serve(stream, shared.clone()));
    }
}

/// Answers the requests of one connection for as long as it stays usable.
async fn serve(mut stream: TcpStream, shared: Arc<ServerShared>) {
    let _ = stream.set_nodelay(true);
    let mut buffer = Vec::new();
    while let Some(request) = HttpRequest::read(&mut stream, &mut buffer).await {
        let reply = shared.reply(&request);
        match answer(&mut stream, &reply).await {
            Ok(true) => {}
            Ok(false) => return,
            Err(_) => {
                shared.hung_up.send_modify(|count| *count += 1);
                return;
            }
        }
    }
}

/// Performs the acts of `reply`. `Ok(true)` if another request may follow; an error if the client hung up.
async fn answer(stream: &mut TcpStream, reply: &ServerReply) -> io::Result<bool> {
    if let Some(act) = &reply.before
        && !perform(stream, act, &reply.framing).await?
    {
        return Ok(false);
    }
    stream.write_all(reply.head().as_bytes()).await?;
    for act in &reply.acts {
        if !perform(stream, act, &reply.framing).await? {
            return Ok(false);
        }
    }
    match reply.framing {
        Framing::Chunked => stream.write_all(b"0\r\n\r\n").await.map(|()| true),
        Framing::Length(length) => Ok(length.is_none()),
        Framing::UntilClose => Ok(false),
    }
}

/// Performs one act. `Ok(false)` if it ends the connection.
async fn perform(stream: &mut TcpStream, act: &Act, framing: &Framing) -> io::Result<bool> {
    match act {
        Act::Send(bytes) => send(stream, bytes, framing).await?,
        Act::Drip(bytes, size) => {
            for piece in bytes.chunks(*size) {
                send(stream, piece, framing).await?;
                tokio::task::yield_now().await;
            }
        }
        Act::Flood(byte, count) => flood(stream, *byte, *count, framing).await?,
        Act::Stall(gate) => {
            tokio::select! {
                () = gate.pass() => {}
                error = client_gone(stream) => return Err(error),
            }
        }
        Act::Wait(pause) => {
            tokio::select! {
                () = tokio::time::sleep(*pause) => {}
                error = client_gone(stream) => return Err(error),
            }
        }
        Act::Reset => {
            stream.set_zero_linger()?;
            return Ok(false);
        }
        Act::HalfClose => {
            stream.shutdown().await?;
            client_gone(stream).await;
            return Ok(false);
        }
        Act::Close => return Ok(false),
    }
    Ok(true)
}

async fn send(stream: &mut TcpStream, bytes: &[u8], framing: &Framing) -> io::Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    match framing {
        Framing::Chunked => {
            let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
            chunk.extend_from_slice(bytes);
            chunk.extend_from_slice(b"\r\n");
            stream.write_all(&chunk).await
        }
        Framing::Length(_) | Framing::UntilClose => stream.write_all(bytes).await,
    }
}

async fn flood(stream: &mut TcpStream, byte: u8, count: usize, framing: &Framing) -> io::Result<()> {
    let block = vec![byte; 64 * 1024];
    let mut left = count;
    while left > 0 {
        let size = left.min(block.len());
        send(stream, &block[..size], framing).await?;
        left -= size;
    }
    Ok(())
}

/// Waits until the client closes its side or the connection breaks.
async fn client_gone(stream: &mut TcpStream) -> io::Error {
    let mut ignored = [0; 1024];
    loop {
        match stream.read(&mut ignored).await {
            Ok(0) => return io::ErrorKind::UnexpectedEof.into(),
            Ok(_) => {}
            Err(error) => return error,
        }
    }
}
