//! A proxy from the environment is used. Variables belong to a process, so this test program runs itself
//! again as the caller.

use agentx_testing::{ServerReply, TestServer, wire};

use crate::{Caller, answered, message, story};

/// Set in the process that calls through the proxy.
const CHILD: &str = "AGENTX_FAULTS_PROXY_CHILD";

#[tokio::test]
async fn a_proxy_is_used_and_its_exceptions_are_kept() {
    if std::env::var_os(CHILD).is_some() {
        assert_eq!(
            story(&Caller::at("http://model.invalid").call().await),
            answered(1)
        );
        return;
    }
    let server = TestServer::start([ServerReply::stream().then(wire::anthropic_text(&["hel", "lo"]))]).await;
    let child = |no_proxy: &str| {
        let mut command = tokio::process::Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "proxy::a_proxy_is_used_and_its_exceptions_are_kept"]);
        command
            .env(CHILD, "1")
            .env("HTTP_PROXY", server.url())
            .env("NO_PROXY", no_proxy);
        command.env_remove("http_proxy").env_remove("no_proxy");
        command.output()
    };
    let output = child("").await.unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
    assert_eq!(server.requests()[0].path, "http://model.invalid/v1/messages");
    assert!(
        !child("model.invalid").await.unwrap().status.success(),
        "there is no such host"
    );
    assert_eq!(server.requests().len(), 1);
}

/// Calls through the proxy in this environment variable, in a separate process, whose assertions have to
/// hold.
async fn through(proxy: &str, expected: &str) {
    let mut command = tokio::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "proxy::a_proxy_that_cannot_be_used_is_said_to_be_why"]);
    for name in ["https_proxy", "no_proxy", "NO_PROXY", "ALL_PROXY", "all_proxy"] {
        command.env_remove(name);
    }
    command.env(CHILD, expected).env("HTTPS_PROXY", proxy);
    let output = command.output().await.unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
}

#[tokio::test]
async fn a_proxy_that_cannot_be_used_is_said_to_be_why() {
    if let Ok(expected) = std::env::var(CHILD) {
        let said = message(&Caller::at("https://model.invalid").call().await);
        return assert!(said.contains(&expected), "{said}");
    }
    let wants_login = TestServer::start([ServerReply::status(407)]).await;
    through(
        &wants_login.url(),
        "the proxy of HTTPS_PROXY, HTTP_PROXY or ALL_PROXY in front of https://model.invalid/v1/messages wants a login (HTTP 407)",
    )
    .await;
    assert_eq!(wants_login.requests().len(), 1, "it is not asked again");
    let server = TestServer::start([ServerReply::status(403)]).await;
    through(
        &server.url(),
        "the proxy of HTTPS_PROXY, HTTP_PROXY or ALL_PROXY does not let it through",
    )
    .await;
    through("socks5://127.0.0.1:1", "begins with socks5://").await;
}
