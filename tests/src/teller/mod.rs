//! A model server for the examples: it speaks the protocols of two providers on a real socket, its answers
//! follow from what it is asked and from nothing else, it keeps every request, and it can stop in the middle
//! of an answer and say so.

mod asked;
mod said;
mod wire;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use asked::Asked;
use wire::Wire;

/// The protocol of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI chat completions.
    OpenAi,
}

impl Provider {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Anthropic, Self::OpenAi];
}

/// The server. It is there until the process ends; clones are the same one.
#[derive(Clone, Debug)]
pub struct Teller {
    address: SocketAddr,
    book: Arc<Mutex<Book>>,
}

/// A request as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The key that it came with: who asks.
    pub key: String,
    /// Its body.
    pub body: String,
}

/// The beginning of each call's id; its number follows. No two answers have the same, as with any model.
const CALL: &str = "toolu-";

impl Request {
    /// Its body without the numbers of calls: what was asked.
    pub fn what(&self) -> String {
        let mut pieces = self.body.split(CALL);
        let first = pieces.next().unwrap_or_default().to_owned();
        pieces.fold(first, |text, piece| {
            text + CALL + piece.trim_start_matches(|c: char| c.is_ascii_digit())
        })
    }
}

/// The state of the server.
#[derive(Debug, Default)]
struct Book {
    requests: Vec<Request>,
    /// Answers that were begun.
    answers: usize,
    /// Bytes of answers that were written.
    written: usize,
    trap: Option<Trap>,
}

/// The point at which the server stops.
#[derive(Debug)]
struct Trap {
    left: usize,
    told: Sender<()>,
}

impl Teller {
    /// Starts it on a port of its own.
    ///
    /// # Panics
    /// Panics if there is no port to be had.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let book: Arc<Mutex<Book>> = Arc::default();
        let shared = book.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let book = shared.clone();
                // A client that goes away ends its connection.
                std::thread::spawn(move || serve(&stream, &book));
            }
        });
        Self { address, book }
    }

    /// The address for clients of this protocol.
    pub fn url(&self, provider: Provider) -> String {
        match provider {
            Provider::Anthropic => format!("http://{}", self.address),
            Provider::OpenAi => format!("http://{}/v1", self.address),
        }
    }

    /// Lets a program ask this server and no other, with this key. As OpenAI it is asked for a model that
    /// takes tools by Chat Completions, which is all that it speaks then.
    pub fn serves(&self, provider: Provider, key: &str, command: &mut Command) {
        let (ours, other) = match provider {
            Provider::Anthropic => ("ANTHROPIC", "OPENAI"),
            Provider::OpenAi => ("OPENAI", "ANTHROPIC"),
        };
        command
            .env(format!("{ours}_BASE_URL"), self.url(provider))
            .env(format!("{ours}_API_KEY"), key)
            .env_remove(format!("{other}_BASE_URL"))
            .env_remove(format!("{other}_API_KEY"));
        if provider == Provider::OpenAi {
            command.env("AGENTX_MODEL", "gpt-5.6-terra");
        }
    }

    /// From now on: stops for good after so many more bytes of answers, and tells so. What waits then is over
    /// when its client is.
    pub fn stop_after(&self, bytes: usize, told: Sender<()>) {
        lock(&self.book).trap = Some(Trap { left: bytes, told });
    }

    /// Continues as before.
    pub fn go_on(&self) {
        lock(&self.book).trap = None;
    }

    /// All requests since the last time that this was asked, and how many bytes were answered.
    pub fn take(&self) -> (Vec<Request>, usize) {
        let mut book = lock(&self.book);
        (
            std::mem::take(&mut book.requests),
            std::mem::take(&mut book.written),
        )
    }
}

fn lock(book: &Mutex<Book>) -> MutexGuard<'_, Book> {
    book.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Answers every request of a connection. `None` when it is over.
fn serve(stream: &TcpStream, book: &Mutex<Book>) -> Option<()> {
    let _ = stream.set_nodelay(true);
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut writer = stream.try_clone().ok()?;
    loop {
        let (path, request) = read_request(&mut reader)?;
        let wire = match path.as_str() {
            "/v1/messages" => Wire::Anthropic,
            "/v1/chat/completions" => Wire::OpenAi,
            _ => return writer.write_all(NOT_FOUND).ok(),
        };
        let asked = Asked::of(&serde_json::from_str(&request.body).ok()?);
        let number = {
            let mut book = lock(book);
            book.requests.push(request);
            book.answers += 1;
            book.answers
        };
        writer.write_all(HEAD).ok()?;
        for piece in wire.answer(&said::answer(&asked), &format!("{CALL}{number}")) {
            let (now, is_last) = pass(book, &piece);
            writer.write_all(now).ok()?;
            if is_last {
                return reader.read_to_end(&mut Vec::new()).ok().map(drop);
            }
        }
    }
}

const HEAD: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
const NOT_FOUND: &[u8] =
    b"HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\nconnection: close\r\ncontent-type: application/json\r\n\r\n{}";

/// Returns the part of a piece to send, and whether the stream stops after it.
fn pass<'a>(book: &Mutex<Book>, piece: &'a [u8]) -> (&'a [u8], bool) {
    let mut book = lock(book);
    let Some(trap) = &mut book.trap else {
        book.written += piece.len();
        return (piece, false);
    };
    let passed = trap.left.min(piece.len());
    trap.left -= passed;
    let is_last = trap.left == 0;
    if is_last {
        // Whoever does not listen has seen the end of the program already.
        let _ = trap.told.send(());
    }
    book.written += passed;
    (&piece[..passed], is_last)
}

/// The next request, and its path.
fn read_request(reader: &mut BufReader<TcpStream>) -> Option<(String, Request)> {
    let (mut path, mut key, mut length) = (String::new(), String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if path.is_empty() {
            path = line.split(' ').nth(1)?.to_owned();
        }
        if let Some((name, value)) = line.split_once(':') {
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.trim().parse().ok()?,
                "x-api-key" => value.trim().clone_into(&mut key),
                "authorization" => value.trim().trim_start_matches("Bearer ").clone_into(&mut key),
                _ => {}
            }
        }
        if line == "\r\n" {
            let mut body = vec![0; length];
            reader.read_exact(&mut body).ok()?;
            let body = String::from_utf8(body).ok()?;
            return Some((path, Request { key, body }));
        }
    }
}
