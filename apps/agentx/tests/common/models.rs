//! A server of models that gives every request the same answer, on a port of this machine.
#![allow(clippy::unwrap_used, reason = "a test that cannot start fails")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// Answers every request with this status and this JSON; returns the address.
pub(crate) fn answering(status: &'static str, body: impl Into<String>) -> String {
    let body = body.into();
    serving(move |stream| {
        let head = format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\n");
        let _ = write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len());
    })
}

/// Answers every request with these events of a stream; returns the address, and the bodies that were sent
/// there, as they come.
pub(crate) fn recording(answer: &'static str) -> (String, Arc<Mutex<Vec<String>>>) {
    let bodies = Arc::new(Mutex::new(Vec::new()));
    let kept = bodies.clone();
    let address = serving_bodies(move |stream, body| {
        kept.lock().unwrap().push(body);
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n";
        let _ = write!(stream, "{head}content-length: {}\r\n\r\n{answer}", answer.len());
    });
    (address, bodies)
}

/// Answers with these events of a stream, one text to each request, the last one to all that follow. A text
/// that does not end with `[DONE]` breaks off.
pub(crate) fn streaming(answers: &[&str]) -> String {
    let mut answers: Vec<String> = answers.iter().map(|answer| (*answer).to_owned()).collect();
    serving(move |stream| {
        let answer = match answers.len() {
            1 => answers[0].clone(),
            _ => answers.remove(0),
        };
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n";
        let missing = if answer.ends_with("[DONE]\n\n") { 0 } else { 1 };
        let length = answer.len() + missing;
        let _ = write!(stream, "{head}content-length: {length}\r\n\r\n{answer}");
    })
}

/// Has this answer each request, on a port of this machine; returns the address.
fn serving(mut answer: impl FnMut(&mut TcpStream) + Send + 'static) -> String {
    serving_bodies(move |stream, _| answer(stream))
}

fn serving_bodies(mut answer: impl FnMut(&mut TcpStream, String) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut line, mut length) = (String::new(), 0);
            while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                line.clear();
            }
            let mut body = vec![0; length];
            let _ = reader.read_exact(&mut body);
            answer(&mut stream, String::from_utf8_lossy(&body).into_owned());
        }
    });
    address
}
