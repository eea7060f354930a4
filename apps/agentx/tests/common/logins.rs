//! A login at an MCP server in the place of a person: the servers of the tests of `crates/mcp`, and the
//! browser.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};

use tokio::runtime::Runtime;

#[path = "../../../../crates/mcp/tests/oauth/server.rs"]
#[expect(dead_code, reason = "the tests of `crates/mcp` use all of it")]
mod server;

pub(crate) use server::{Fault, OauthServer};

/// The runtime in which the servers answer.
pub(crate) fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap()
}

/// Goes where the browser of a person would go: to the address, and to the one that it leads to, whose page
/// is returned.
pub(crate) fn browse(address: &str) -> String {
    let answer = get(address);
    let location = answer.lines().find_map(|line| line.strip_prefix("location: "));
    get(location.unwrap_or_else(|| panic!("{answer}")).trim())
}

pub(crate) fn get(address: &str) -> String {
    let (host, path) = address["http://".len()..].split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    let request = format!("GET /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}
