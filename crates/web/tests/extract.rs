//! `web_extract` against servers on this machine: what the model reads, what is kept, and what is refused.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![cfg(feature = "documents")]

use std::io::Write as _;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use agentx_http::{LookupFuture, NameLookup};
use agentx_runtime::{BlobStore, Tool, ToolContext, ToolOutcome, blobs_of};
use agentx_testing::{Gate, ServerReply, TestServer, fixture, pdf_of};
use agentx_tools::Typed;
use agentx_types::{BlobId, EnvironmentEvent, ToolCallId, ToolResult, ToolStatus};
use agentx_web::{WebExtractOptions, WebExtractTool};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::common::helper;

fn context(cancel: CancellationToken) -> ToolContext {
    ToolContext {
        cancel,
        ..fixture::tool_context(std::env::temp_dir())
    }
}

fn options(local_hosts: &[&str]) -> WebExtractOptions {
    WebExtractOptions {
        helper: helper(),
        local_hosts: local_hosts.iter().map(|host| (*host).to_owned()).collect(),
        robots_txt: false,
    }
}

async fn extracted(urls: &[String]) -> (ToolOutcome, Arc<dyn BlobStore>) {
    let context = context(CancellationToken::new());
    let blobs = context.blobs.clone();
    let tool = Typed::new(WebExtractTool::new(options(&["127.0.0.1"])));
    (tool.call(json!({"urls": urls}), context).await, blobs)
}

/// The text that the model reads of a page that a server sends like this.
async fn page(reply: ServerReply) -> (ToolStatus, String) {
    let server = TestServer::accepting([reply]).await;
    let (outcome, _) = extracted(&[server.url()]).await;
    (outcome.status, text(&outcome))
}

fn text(outcome: &ToolOutcome) -> String {
    outcome.content.iter().filter_map(|part| part.as_text()).collect()
}

async fn whole(blobs: &Arc<dyn BlobStore>, id: &Value) -> Vec<u8> {
    blobs
        .get_blob(&BlobId::new(id.as_str().unwrap()), 0..u64::MAX)
        .await
        .unwrap()
}

const HTML: &str = "<!doctype html><title>On \"nothing\"</title><nav><a href=/>Home</a></nav><article><h1>First</h1>\
                    <p>Words, and <a href=b>more words</a>.</p></page><p>Ignore \u{200b}this.</p></article>";

#[tokio::test]
async fn a_page_is_markdown_marked_as_other_peoples_words_and_kept_as_it_was_fetched() {
    let server = TestServer::accepting([ServerReply::body(200, "text/html; charset=utf-8", HTML)]).await;
    let address = format!("{}/dir/a", server.url());
    let (outcome, blobs) = extracted(std::slice::from_ref(&address)).await;
    let said = text(&outcome);
    assert_eq!(outcome.status, ToolStatus::Success, "{said}");
    assert!(
        said.starts_with("Fetched from the web. These are other people's words"),
        "{said}"
    );
    assert!(
        said.contains(&format!("<page url=\"{address}\">\nTitle: On \"nothing\"\n")),
        "{said}"
    );
    assert!(
        said.contains(&format!("[more words]({}/dir/b)", server.url())),
        "{said}"
    );
    assert!(
        said.contains("Ignore this.") && said.ends_with("\n</page>\n"),
        "{said}"
    );
    let details = outcome.details.unwrap();
    let page = &details["pages"][0];
    assert_eq!(whole(&blobs, &page["blob"]).await, HTML.as_bytes());
    let request = server.requests().remove(0);
    assert_eq!(request.header("accept-encoding"), Some("gzip"));
    assert!(
        request
            .header("user-agent")
            .is_some_and(|name| name.starts_with("agentx/"))
    );
    // The session has the page by the fact of the call.
    let result = ToolResult {
        tool_call_id: ToolCallId::new("call_1"),
        result: Vec::new(),
        is_error: false,
        status: ToolStatus::Success,
        details: Some(details.clone()),
    };
    let id = BlobId::new(page["blob"].as_str().unwrap());
    assert!(blobs_of(&EnvironmentEvent::from(result)).contains(&id));
}

#[tokio::test]
async fn text_json_and_pdf_are_read_and_pages_that_fail_leave_the_others() {
    let server = TestServer::answering(|request| match &*request.path {
        "/t" => ServerReply::body(200, "text/plain", "as it is\n</page>"),
        "/j" => ServerReply::json(200, &json!({"a": [1]})),
        "/p" => ServerReply::body(200, "application/pdf", pdf_of("Words of a PDF")),
        _ => ServerReply::status(404),
    })
    .await;
    let urls = ["t", "j", "p", "none"].map(|path| format!("{}/{path}", server.url()));
    let (outcome, blobs) = extracted(&urls).await;
    let said = text(&outcome);
    assert_eq!(outcome.status, ToolStatus::Success, "{said}");
    for part in [
        "as it is\n<\\/page>\n</page>",
        "{\n  \"a\": [\n    1",
        "[page 1]\nWords of a PDF",
        "status 404",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let pages = &outcome.details.unwrap()["pages"];
    assert_eq!(whole(&blobs, &pages[2]["blob"]).await, pdf_of("Words of a PDF"));
    let (outcome, _) = extracted(&urls[3..]).await;
    assert_eq!(outcome.status, ToolStatus::Failed);
}

#[tokio::test]
async fn a_long_page_is_cut_and_the_rest_can_be_read() {
    let lines: String = (0..30_000).map(|number| format!("line {number}\n")).collect();
    let server = TestServer::accepting([ServerReply::body(200, "text/plain", lines.clone())]).await;
    let (outcome, blobs) = extracted(&[server.url()]).await;
    let said = text(&outcome);
    assert!(
        said.len() < 70_000 && said.contains("line 0\n") && said.contains("line 29999\n"),
        "{}",
        said.len()
    );
    let kept = whole(&blobs, &outcome.details.unwrap()["pages"][0]["text_blob"]).await;
    assert_eq!(kept, lines.as_bytes());
}

#[tokio::test]
async fn what_is_too_much_is_refused_in_bound() {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&vec![b'a'; 9 << 20]).unwrap();
    let bomb = packed.finish().unwrap();
    let gzip = |body: Vec<u8>| ServerReply::body(200, "text/plain", body).header("content-encoding", "gzip");
    let cases = [
        (
            ServerReply::body(200, "text/html", "<p>").claiming_length(1 << 30),
            "longer than 8388608 bytes",
        ),
        (
            ServerReply::stream().then_flood(b'a', 9 << 20),
            "longer than 8388608 bytes",
        ),
        (gzip(bomb), "when it is unpacked"),
        (gzip(b"no gzip".to_vec()), "cannot be unpacked"),
        (
            ServerReply::body(200, "text/plain", "x").header("content-encoding", "br"),
            "packed with br",
        ),
        (
            ServerReply::body(200, "image/png", "x"),
            "it is image/png; only HTML",
        ),
        (
            ServerReply::body(200, "application/pdf", "<html>"),
            "is not a PDF",
        ),
        (
            ServerReply::body(200, "text/html", "<script>a()</script>"),
            "has no text",
        ),
        (ServerReply::reset(), "cannot be reached"),
    ];
    for (reply, what) in cases {
        let (status, said) = page(reply).await;
        assert_eq!(status, ToolStatus::Failed, "{what}: {said}");
        assert!(said.contains(what) && said.len() < 1_000, "{what}: {said}");
    }
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(b"small and packed").unwrap();
    let (status, said) = page(gzip(packed.finish().unwrap())).await;
    assert!(
        status == ToolStatus::Success && said.contains("small and packed"),
        "{said}"
    );
}

#[tokio::test]
async fn redirects_are_followed_on_one_host_alone() {
    let elsewhere = TestServer::answering(|_| ServerReply::body(200, "text/plain", "stolen")).await;
    let port = elsewhere.address().port();
    let server = TestServer::answering(move |request| {
        let to = |place: String| ServerReply::status(302).header("location", &place);
        match &*request.path {
            "/moved" => to("/here?a=1".into()),
            "/here?a=1" => ServerReply::body(200, "text/plain", "found"),
            "/loop" => to("/loop".into()),
            "/name" => to(format!("http://localhost:{port}/")),
            "/number" => to(format!("http://127.0.0.2:{port}/")),
            "/file" => to("file:///etc/passwd".into()),
            _ => to("http://[".into()),
        }
    })
    .await;
    for (path, what) in [
        ("moved", "found"),
        ("loop", "redirected more than 5 times"),
        ("name", "is redirected to http://localhost"),
        ("number", "is redirected to http://127.0.0.2"),
        (
            "file",
            "is redirected to file:///etc/passwd, which was not followed",
        ),
        ("broken", "an invalid address"),
    ] {
        let (outcome, _) = extracted(&[format!("{}/{path}", server.url())]).await;
        assert!(text(&outcome).contains(what), "{path}: {}", text(&outcome));
    }
    assert_eq!(elsewhere.requests().len(), 0);
}

#[tokio::test]
async fn a_redirect_to_another_port_is_followed_as_far_as_the_person_permits_the_host() {
    let other = TestServer::answering(|_| ServerReply::body(200, "text/plain", "of the other port")).await;
    let to = format!("{}/", other.url());
    let server = TestServer::answering(move |_| ServerReply::status(302).header("location", &to)).await;
    let said = async |local_hosts: &[&str]| {
        let tool = Typed::new(WebExtractTool::new(options(local_hosts)));
        let input = json!({"urls": [server.url()]});
        text(&tool.call(input, context(CancellationToken::new())).await)
    };
    assert!(said(&["127.0.0.1"]).await.contains("of the other port"));
    let only = format!("127.0.0.1:{}", server.address().port());
    let refused = said(&[only.as_str()]).await;
    assert!(refused.contains("is permitted at other ports"), "{refused}");
    assert_eq!(other.requests().len(), 1);
}

/// Leads to this machine, in another form at the first lookup than at later ones.
#[derive(Default)]
struct Rebinding(AtomicBool);

impl NameLookup for Rebinding {
    fn lookup(&self, _host: String) -> LookupFuture {
        let is_later = self.0.swap(true, Ordering::Relaxed);
        let address = if is_later { "127.0.0.1" } else { "::ffff:127.0.0.1" };
        let address: IpAddr = address.parse().unwrap();
        Box::pin(std::future::ready(Ok(vec![address])))
    }
}

#[tokio::test]
async fn no_form_of_a_private_address_is_connected_to() {
    let server = TestServer::answering(|_| ServerReply::body(200, "text/plain", "internal")).await;
    let port = server.address().port();
    let tool = Typed::new(WebExtractTool::with_lookup(
        options(&[]),
        Arc::new(Rebinding::default()),
    ));
    for host in [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[64:ff9b::7f00:1]",
        "0.0.0.0",
        "169.254.169.254",
        "localhost",
        "rebound.example",
        "rebound.example",
    ] {
        let input = json!({"urls": [format!("http://{host}:{port}/")]});
        let outcome = tool.call(input, context(CancellationToken::new())).await;
        let said = text(&outcome);
        assert_eq!(outcome.status, ToolStatus::Failed, "{host}: {said}");
        assert!(said.contains("not on the public internet"), "{host}: {said}");
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn wrong_arguments_ask_nobody_and_a_cancelled_call_ends_at_once() {
    let tool = || Typed::new(WebExtractTool::new(options(&["127.0.0.1"])));
    for wrong in [
        json!({}),
        json!({"urls": []}),
        json!({"urls": vec!["https://a.example"; 6]}),
        json!({"urls": "x"}),
    ] {
        let outcome = tool()
            .call(wrong.clone(), context(CancellationToken::new()))
            .await;
        assert_eq!(outcome.status, ToolStatus::Invalid, "{wrong}: {}", text(&outcome));
    }
    let gate = Gate::closed();
    let server = TestServer::accepting([ServerReply::stream().wait_at(&gate)]).await;
    let (cancel, tool) = (CancellationToken::new(), tool());
    let input = json!({"urls": [server.url()]});
    let (outcome, ()) = tokio::join!(tool.call(input, context(cancel.clone())), async {
        gate.reached().await;
        cancel.cancel();
    });
    assert_eq!(outcome.status, ToolStatus::Interrupted);
}
