//! A proxy from the environment is used. Variables belong to a process, so the caller is this test program, run again.

use agentx_testing::{Reply, TestServer, wire};

use crate::{Caller, answered, story};

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
    let server = TestServer::start([Reply::stream().then(wire::anthropic_text(&["hel", "lo"]))]).await;
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
