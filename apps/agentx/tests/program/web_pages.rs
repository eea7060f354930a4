//! `web_extract`, and PDFs and notebooks for `read` and `@FILE`, through the program: it is its own helper.
#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};

use crate::common::{Sandbox, check};

const PAGE: &str = "<!doctype html><title>On nothing</title><nav>Home</nav><article><h2>First</h2><p>Words, and more words.\
                    </p></article>";

/// A server that answers each request with the page.
fn server() -> SocketAddr {
    server_with_robots(PAGE)
}

/// A server with this text as `robots.txt`, which answers all other requests with the page.
fn server_with_robots(robots: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            let mut head = [0; 4096];
            let _ = connection.read(&mut head);
            let body = if head.starts_with(b"GET /robots.txt ") {
                robots
            } else {
                PAGE
            };
            let length = body.len();
            let reply = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
            );
            let _ = connection.write_all(reply.as_bytes());
        }
    });
    address
}

/// A sandbox with a demo that fetches a page, or reads a file.
fn sandbox(url: &str, config: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.demo(
        &format!(
            "- input: \"*fetch*\"\n  call: {{tool: web_extract, input: {{urls: [\"{url}\"]}}}}\n\
             - input: \"*read*\"\n  call: {{tool: read, input: {{path: a.pdf}}}}\n\
             - input: \"*notebook*\"\n  call: {{tool: read, input: {{path: b.ipynb}}}}\n\
             - input: \"*attached*\"\n  say: done\n\
             - result: \"*\"\n  say: done\n"
        ),
        config,
    );
    sandbox.write("ws/a.pdf", agentx_testing::pdf_of("Words of a PDF"));
    sandbox.write(
        "ws/b.ipynb",
        r##"{"cells": [{"cell_type": "markdown", "source": ["# Of a notebook"]}]}"##,
    );
    sandbox
}

#[test]
fn a_page_is_fetched_by_a_persons_word_about_its_host() {
    let url = format!("http://localhost:{}/a", server().port());
    let local = "web_extract: {local_hosts: [localhost]}\n";
    let refused = sandbox(&url, local).run(&["run", "fetch"]);
    check(&refused, 7, &["it sends to localhost"]);
    let rule = "rules: [{effect: allow, tool: web_extract, argument: \"to localhost\"}]\n";
    let sandbox = sandbox(&url, &format!("{local}{rule}"));
    let allowed = sandbox.run(&["run", "fetch"]);
    check(&allowed, 0, &["done"]);
    let shown = sandbox.run(&["sessions", "export", &sandbox.latest_id([])]);
    check(
        &shown,
        0,
        &[
            "Title: On nothing",
            "## First",
            "Words, and more words.",
            "other people's words",
        ],
    );
    let replayed = sandbox.run(&["replay", &sandbox.latest_id([])]);
    check(&replayed, 0, &[]);
}

#[test]
fn a_page_that_its_server_closes_is_not_fetched_unless_the_person_says_so() {
    let url = format!(
        "http://localhost:{}/a",
        server_with_robots("User-agent: *\nDisallow: /a\n").port()
    );
    for (settings, said) in [
        (
            "local_hosts: [localhost]",
            "/robots.txt refuses it (line 2, `Disallow: /a`)",
        ),
        (
            "local_hosts: [localhost], robots_txt: false",
            "Words, and more words.",
        ),
    ] {
        let sandbox = sandbox(&url, &format!("web_extract: {{{settings}}}\napproval: auto\n"));
        let ran = sandbox.run(&["run", "fetch"]);
        check(&ran, 0, &["done"]);
        let shown = sandbox.run(&["sessions", "export", &sandbox.latest_id([])]);
        check(&shown, 0, &[said]);
    }
}

#[test]
fn a_local_host_is_refused_unless_the_person_names_it() {
    let url = format!("http://localhost:{}/a", server().port());
    let sandbox = sandbox(&url, "approval: auto\n");
    let ran = sandbox.run(&["run", "fetch"]);
    check(&ran, 0, &["done"]);
    let shown = sandbox.run(&["sessions", "export", &sandbox.latest_id([])]);
    check(
        &shown,
        0,
        &["not on the public internet", "web_extract.local_hosts"],
    );
}

#[test]
fn the_text_of_pdfs_and_notebooks_is_read_and_attached() {
    let sandbox = sandbox("https://example.org", "");
    for (prompt, words) in [
        ("read", "Words of a PDF"),
        ("notebook", "# Of a notebook"),
        ("attached @a.pdf", "Words of a PDF"),
        ("attached @b.ipynb", "# Of a notebook"),
    ] {
        let ran = sandbox.run(&["run", prompt]);
        assert_eq!(ran.code, Some(0), "{prompt}: {ran}");
        let shown = sandbox.run(&["sessions", "export", &sandbox.latest_id([])]);
        check(&shown, 0, &[words]);
    }
}
