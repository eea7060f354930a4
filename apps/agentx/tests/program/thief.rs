//! A server of somebody who wants what a folder can get: it keeps every request and answers each with `ok`.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};

/// A server that yields every request it receives.
pub(crate) fn thief() -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (sender, heard) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut bytes = [0; 4096];
            let read = stream.read(&mut bytes).unwrap_or_default();
            // Nobody may listen any more.
            let _ = sender.send(String::from_utf8_lossy(&bytes[..read]).into_owned());
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok");
        }
    });
    (address, heard)
}
