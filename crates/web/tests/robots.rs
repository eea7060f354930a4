//! `web_extract` and the `robots.txt` of servers: which pages it does not fetch, and what the model reads.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![cfg(feature = "documents")]

use std::io::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};

use agentx_runtime::Tool;
use agentx_testing::{ServerReply, TestServer, fixture};
use agentx_tools::Typed;
use agentx_web::{WebExtractOptions, WebExtractTool};
use serde_json::json;

use crate::common::helper;

fn tool(robots_txt: bool) -> Typed<WebExtractTool> {
    Typed::new(WebExtractTool::new(WebExtractOptions {
        helper: helper(),
        local_hosts: vec!["127.0.0.1".into()],
        robots_txt,
    }))
}

/// The text of one page for the model.
async fn said(tool: &Typed<WebExtractTool>, url: &str) -> String {
    let context = fixture::tool_context(std::env::temp_dir());
    let outcome = tool.call(json!({"urls": [url]}), context).await;
    outcome.content.iter().filter_map(|part| part.as_text()).collect()
}

/// A server whose `robots.txt` is this, and whose pages are all the same text.
async fn server(robots: impl Fn() -> ServerReply + Send + Sync + 'static) -> TestServer {
    TestServer::answering(move |request| match &*request.path {
        "/robots.txt" => robots(),
        "/moved" => ServerReply::status(302).header("location", "/private/b"),
        _ => ServerReply::body(200, "text/plain", "the page"),
    })
    .await
}

fn paths(server: &TestServer) -> Vec<String> {
    server
        .requests()
        .iter()
        .map(|request| request.path.clone())
        .collect()
}

const RULES: &str =
    "User-agent: *\nDisallow: /\n\nUser-agent: agentx\nDisallow: /private\nAllow: /private/open\n";

#[tokio::test]
async fn a_page_that_a_server_closes_to_agentx_is_not_fetched() {
    let server = server(|| ServerReply::body(200, "text/plain", RULES)).await;
    let (tool, url) = (tool(true), server.url());
    assert!(said(&tool, &format!("{url}/a")).await.contains("the page"));
    assert!(
        said(&tool, &format!("{url}/private/open/a?b"))
            .await
            .contains("the page")
    );
    for path in ["private/a", "moved"] {
        let said = said(&tool, &format!("{url}/{path}")).await;
        let rule = format!("{url}/robots.txt refuses it (line 5, `Disallow: /private`)");
        assert!(
            said.contains(&rule) && said.contains("`web_extract.robots_txt: false`"),
            "{said}"
        );
    }
    let asked = paths(&server);
    assert_eq!(
        asked,
        ["/robots.txt", "/a", "/private/open/a?b", "/moved"],
        "the rules are kept, and hold after a redirect"
    );
    let said = said(&tool, &format!("{url}/robots.txt")).await;
    assert!(
        said.contains("User-agent: agentx"),
        "the file itself is open: {said}"
    );
}

#[tokio::test]
async fn a_person_may_turn_it_off() {
    let server = server(|| ServerReply::body(200, "text/plain", RULES)).await;
    let said = said(&tool(false), &format!("{}/private/a", server.url())).await;
    assert!(said.contains("the page"), "{said}");
    assert_eq!(paths(&server), ["/private/a"]);
}

#[tokio::test]
async fn an_answer_without_rules_permits_and_a_failure_refuses() {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(b"User-agent: *\nDisallow: /\n").unwrap();
    let packed = packed.finish().unwrap();
    let gzip = |body: Vec<u8>| ServerReply::body(200, "text/plain", body).header("content-encoding", "gzip");
    let long = format!("{}User-agent: *\nDisallow: /\n", "# words\n".repeat(64_000));
    let to = |place: &str| ServerReply::status(301).header("location", place);
    let cases = [
        (ServerReply::status(404), "the page"),
        (ServerReply::status(403), "the page"),
        (
            ServerReply::body(200, "text/html", "<!doctype html><p>Disallow: /"),
            "the page",
        ),
        (to("http://localhost/robots.txt"), "the page"),
        (to("/robots.txt"), "the page"),
        (ServerReply::body(200, "text/plain", long), "the page"),
        (
            ServerReply::status(503),
            "are not known (the server answered with status 503)",
        ),
        (gzip(packed), "(line 2, `Disallow: /`)"),
        (gzip(b"no gzip".to_vec()), "cannot be unpacked"),
    ];
    for (reply, what) in cases {
        let server = server(move || reply.clone()).await;
        let said = said(&tool(true), &format!("{}/a", server.url())).await;
        assert!(said.contains(what), "{what}: {said}");
        let fetched = paths(&server).contains(&"/a".to_owned());
        assert_eq!(fetched, what == "the page", "{what}");
    }
}

#[tokio::test]
async fn rules_that_were_not_known_are_asked_for_again() {
    let asked = AtomicUsize::new(0);
    let server = server(move || match asked.fetch_add(1, Ordering::Relaxed) {
        0 => ServerReply::status(500),
        _ => ServerReply::status(404),
    })
    .await;
    let (tool, url) = (tool(true), format!("{}/a", server.url()));
    assert!(said(&tool, &url).await.contains("status 500"));
    assert!(said(&tool, &url).await.contains("the page"));
}

#[tokio::test]
async fn the_rules_of_one_port_do_not_hold_for_another() {
    let closed = server(|| ServerReply::body(200, "text/plain", "User-agent: *\nDisallow: /\n")).await;
    let open = server(|| ServerReply::status(404)).await;
    let tool = tool(true);
    assert!(
        said(&tool, &format!("{}/a", closed.url()))
            .await
            .contains("refuses it")
    );
    assert!(
        said(&tool, &format!("{}/a", open.url()))
            .await
            .contains("the page")
    );
}
