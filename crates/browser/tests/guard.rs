//! The hosts that a browser reaches and those that it does not, whatever a page does.

use agentx_testing::{TestServer, fixture};
use agentx_types::{ApprovalMode, Rule, RuleEffect, since};
use serde_json::json;

use crate::support::{HOSTS, Pages, ScriptedHand, has_browser, serve};

fn port(server: &TestServer) -> String {
    server.url().rsplit_once(':').unwrap().1.to_owned()
}

fn reached(server: &TestServer, host: &str) -> bool {
    let begin = format!("{host}:");
    server.requests().iter().any(|request| {
        request
            .header("host")
            .is_some_and(|host| host.starts_with(&begin))
    })
}

fn pages(page: &str) -> Pages {
    [("/", page.to_owned()), ("/ok", "<h1>Fine</h1>".to_owned())].into()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_reaches_no_host_of_a_local_network() {
    if !has_browser() {
        return;
    }
    let server = serve(pages(
        "<h1>Probe</h1><img src=http://inner.test:PORT/a><iframe src=http://inner.test:PORT/b></iframe><script>\
         fetch('http://inner.test:PORT/c',{mode:'no-cors'}).catch(()=>document.title='refused');\
         new WebSocket('ws://inner.test:PORT/d');navigator.sendBeacon('http://127.0.0.1:PORT/e');\
         new Worker(URL.createObjectURL(new Blob(['fetch(\"http://inner.test:PORT/f\",{mode:\"no-cors\"})'])))</script>",
    ))
    .await;
    let mut hand = ScriptedHand::new(&HOSTS);
    hand.open(&format!("http://shop.test:{}/", port(&server))).await;
    hand.sees("refused").await;
    assert!(reached(&server, "shop.test"));
    assert!(!reached(&server, "inner.test") && !reached(&server, "127.0.0.1"));
    for address in [
        format!("http://inner.test:{}/", port(&server)),
        format!("http://127.0.0.1:{}/", port(&server)),
        "file:///etc/passwd".to_owned(),
        "chrome://version/".to_owned(),
        "http://169.254.169.254/".to_owned(),
    ] {
        let failure = hand.fails("browser_navigate", json!({"url": address})).await;
        assert!(!failure.contains("root:"), "{failure}");
    }
    assert!(!reached(&server, "inner.test") && !reached(&server, "127.0.0.1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_or_a_redirect_to_another_host_waits_for_a_word_about_it() {
    if !has_browser() {
        return;
    }
    let server = serve(pages(
        "<h1>Start</h1><a href=http://other.test:PORT/ok>Link</a><a href=/away>Redirect</a><a \
         href=http://other.test:PORT/ok target=_blank>Tab</a><form action=http://other.test:PORT/ok method=post><button>Send\
         </button></form><button onclick=\"location='http://other.test:PORT/ok'\">Script</button>",
    ))
    .await;
    let port = port(&server);
    let mut hand = ScriptedHand::new(&["shop.test", "other.test"]);
    hand.open(&format!("http://shop.test:{port}/")).await;
    for line in [
        "link \"Link\"",
        "link \"Redirect\"",
        "button \"Send\"",
        "button \"Script\"",
    ] {
        let said = hand.act("browser_click", line, json!({})).await;
        assert!(
            said.contains("was refused: its host was not approved"),
            "{line}: {said}"
        );
        hand.sees("Start").await;
    }
    let said = hand.act("browser_click", "link \"Tab\"", json!({})).await;
    assert!(said.contains("was refused") && !said.contains("Fine"), "{said}");
    assert!(!reached(&server, "other.test"));
    hand.done(
        "browser_navigate",
        json!({"url": format!("http://other.test:{port}/ok")}),
    )
    .await;
    hand.sees("Fine").await;
    hand.open(&format!("http://shop.test:{port}/")).await;
    let said = hand.act("browser_click", "link \"Link\"", json!({})).await;
    assert!(said.contains("Fine"), "approved by the call before: {said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_about_hosts_hold_for_links_and_for_parts_of_pages() {
    if !has_browser() {
        return;
    }
    let server = serve(pages(
        "<h1>Start</h1><a href=http://other.test:PORT/ok>Link</a><iframe src=http://frames.test:PORT/ok></iframe>",
    ))
    .await;
    let port = port(&server);
    let rule = |effect, argument: &str| Rule {
        effect,
        tool: "browser_navigate".to_owned(),
        argument: Some(argument.to_owned()),
        path: None,
        workspace: None,
        origin: None,
    };
    let mut config = fixture::config();
    config.approval = ApprovalMode::Ask;
    config.rules_version = since::WEB_TEXT_IS_SEEN;
    config.web_text = true;
    config.rules = vec![
        rule(RuleEffect::Allow, "to other.test"),
        rule(RuleEffect::Deny, "to frames.test"),
    ];
    let mut hand = ScriptedHand::new(&["shop.test", "other.test", "frames.test"]).with_config(config.clone());
    hand.open(&format!("http://shop.test:{port}/")).await;
    let said = hand.act("browser_click", "link \"Link\"", json!({})).await;
    assert!(said.contains("Fine"), "{said}");
    assert!(reached(&server, "other.test") && !reached(&server, "frames.test"));
    config.web_text = false;
    let hand = hand.with_config(config);
    let failure = hand.fails("browser_read", json!({})).await;
    assert!(failure.contains("Another agent of this session"), "{failure}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_act_needs_the_page_that_the_person_saw() {
    if !has_browser() {
        return;
    }
    let server = serve(pages(
        "<button onclick=\"this.textContent='Pressed'\">Press</button>",
    ))
    .await;
    let port = port(&server);
    let mut hand = ScriptedHand::new(&HOSTS);
    hand.open(&format!("http://shop.test:{port}/")).await;
    let element = hand.find("button \"Press\"").await;
    for page in [
        "https://frames.test/",
        "https://shop.test.example/",
        "shop.test",
        "",
    ] {
        let input = json!({"page": page, "element": element});
        let failure = hand.fails("browser_click", input).await;
        assert!(failure.contains("page"), "{failure}");
    }
    let read = hand.done("browser_read", json!({})).await;
    assert!(!read.contains("Pressed"), "{read}");
}
