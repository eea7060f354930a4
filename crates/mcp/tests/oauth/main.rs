//! Logins at MCP servers: what a person does once, how tokens are kept, sent and renewed, and the servers
//! that are refused.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    reason = "a test that cannot start fails"
)]

mod server;

use std::path::Path;
use std::time::Duration;

use agentx_config::{McpServerSettings, McpTarget, McpValue, Secret};
use agentx_mcp::{KnownServers, McpEnvironment, McpFailure, McpLaunchContext, McpLimits};
use agentx_runtime::ToolOutcome;
use agentx_testing::fixture;
use agentx_tools::ProgramEnvironment;
use agentx_types::{ContentPart, ToolStatus};
use serde_json::json;
use tokio::sync::mpsc;

use server::{Fault, OauthServer};

fn environment(server: McpServerSettings, folder: &Path) -> McpEnvironment {
    let surroundings = McpLaunchContext {
        known: KnownServers::in_directory(folder),
        environment: ProgramEnvironment::default(),
        limits: McpLimits::default(),
    };
    McpEnvironment::new(server, surroundings, [])
}

fn at(server: &OauthServer, folder: &Path) -> McpEnvironment {
    environment(McpServerSettings::address("web", &server.address), folder)
}

/// Goes where a browser would go, and returns the address at which it ends.
async fn browse(address: &str) -> String {
    let client = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .tls_certs_only([])
        .build()
        .unwrap();
    let answer = client.get(address).send().await.unwrap();
    assert_eq!(answer.status(), 302, "{address}");
    answer.headers()["location"].to_str().unwrap().to_owned()
}

/// Logs in by a browser that follows every redirect.
async fn log_in(environment: &McpEnvironment) -> Result<(), McpFailure> {
    let pending = environment.begin_login().await?;
    let address = pending.address.clone();
    let (_lines, pasted) = mpsc::channel(1);
    let (finished, ()) = tokio::join!(
        pending.finish(pasted, Duration::from_secs(30), |why| panic!("{why}")),
        async {
            let back = browse(&address).await;
            let page = reqwest::get(&back).await;
            assert!(page.is_ok());
        }
    );
    finished
}

async fn call(environment: &McpEnvironment) -> ToolOutcome {
    let tool = environment.tools().into_iter().next().unwrap();
    tool.call(json!({}), fixture::tool_context("/")).await
}

fn text(outcome: &ToolOutcome) -> &str {
    let texts = outcome.content.iter().find_map(ContentPart::as_text);
    texts.unwrap_or_default()
}

#[tokio::test]
async fn a_login_serves_every_later_process_and_nothing_shows_its_tokens() {
    let server = OauthServer::new(Fault::None).await;
    let folder = tempfile::tempdir().unwrap();
    let first = at(&server, folder.path());
    assert_eq!(first.connect().await, Err(McpFailure::Unauthorized));
    log_in(&first).await.unwrap();
    assert_eq!(server.state().scope, "read offline_access");
    let login = first.login().unwrap();
    assert!(login.renewable && login.issuer.ends_with("/tenant"), "{login:?}");
    // Another process.
    let second = at(&server, folder.path());
    second.connect().await.unwrap();
    let outcome = call(&second).await;
    assert_eq!(
        (outcome.status, text(&outcome)),
        (ToolStatus::Success, "you sent [hidden]")
    );
    second.close().await;
    assert!(second.log_out().unwrap() && !second.log_out().unwrap());
    assert_eq!(second.login(), None);
    assert_eq!(
        at(&server, folder.path()).connect().await,
        Err(McpFailure::Unauthorized)
    );
    // The files that stay say nothing of it.
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains("made-up-access"));
    }
}

#[tokio::test]
async fn an_expired_token_is_renewed_once_by_two_processes_at_once() {
    let server = OauthServer::new(Fault::None).await;
    let folder = tempfile::tempdir().unwrap();
    server.state().lifetime = 1;
    log_in(&at(&server, folder.path())).await.unwrap();
    server.state().lifetime = 3600;
    let (one, two) = (at(&server, folder.path()), at(&server, folder.path()));
    let (first, second) = tokio::join!(one.connect(), two.connect());
    first.unwrap();
    second.unwrap();
    assert_eq!(server.state().done(), (1, 0));
    assert!(server.state().refused.is_empty());
}

#[tokio::test]
async fn a_token_that_is_taken_back_during_a_session_is_renewed_and_the_call_is_made_once() {
    let server = OauthServer::new(Fault::None).await;
    let folder = tempfile::tempdir().unwrap();
    let environment = at(&server, folder.path());
    log_in(&environment).await.unwrap();
    environment.connect().await.unwrap();
    server.state().access.clear();
    let outcome = call(&environment).await;
    assert_eq!(outcome.status, ToolStatus::Success, "{outcome:?}");
    assert_eq!(server.state().done(), (1, 1));
    // The login as a whole is taken back: only a person can help.
    server.state().access.clear();
    server.state().refresh.clear();
    let outcome = call(&environment).await;
    assert_eq!(outcome.status, ToolStatus::Failed);
    assert!(text(&outcome).contains("agentx mcp login"), "{outcome:?}");
    assert!(text(&outcome).contains("Nothing was done"), "{outcome:?}");
    assert_eq!(server.state().calls, 1);
}

#[tokio::test]
async fn a_server_that_refuses_only_its_list_wants_a_login_and_gets_a_renewed_token() {
    let server = OauthServer::new(Fault::GreetsAll).await;
    let folder = tempfile::tempdir().unwrap();
    let first = at(&server, folder.path());
    assert_eq!(first.connect().await, Err(McpFailure::Unauthorized));
    log_in(&first).await.unwrap();
    server.state().access.clear();
    at(&server, folder.path()).connect().await.unwrap();
    assert_eq!(server.state().done(), (1, 0));
}

#[tokio::test]
async fn a_missing_scope_is_named() {
    let server = OauthServer::new(Fault::NarrowScope).await;
    let folder = tempfile::tempdir().unwrap();
    let environment = at(&server, folder.path());
    log_in(&environment).await.unwrap();
    environment.connect().await.unwrap();
    let outcome = call(&environment).await;
    assert!(text(&outcome).contains("\"read write\""), "{outcome:?}");
    let mut wide = McpServerSettings::address("web", &server.address);
    wide.oauth.scope = Some("read write".into());
    log_in(&self::environment(wide, folder.path())).await.unwrap();
    assert_eq!(server.state().scope, "read write");
}

/// The suite of the protocol has no server that registers clients and takes descriptions, and both may be.
#[tokio::test]
async fn the_address_of_a_description_is_the_client_where_the_server_takes_it() {
    const DOCUMENT: &str = "https://me.example/agentx.json";
    for (fault, takes_documents, client_id, client) in [
        (Fault::NoRegistration, true, None, DOCUMENT),
        (Fault::None, true, None, DOCUMENT),
        (Fault::None, false, None, "client-1"),
        (Fault::None, true, Some("mine"), "mine"),
    ] {
        let server = OauthServer::new(fault).await;
        server.state().takes_documents = takes_documents;
        let folder = tempfile::tempdir().unwrap();
        let mut settings = McpServerSettings::address("web", &server.address);
        settings.oauth.client_metadata_url = Some(DOCUMENT.into());
        settings.oauth.client_id = client_id.map(str::to_owned);
        let environment = environment(settings, folder.path());
        log_in(&environment).await.unwrap();
        assert_eq!(server.state().client, client);
        // A renewal names the same client.
        server.state().access.clear();
        environment.connect().await.unwrap();
        assert_eq!(server.state().done(), (1, 0));
    }
    let server = OauthServer::new(Fault::None).await;
    server.state().takes_documents = true;
    let folder = tempfile::tempdir().unwrap();
    log_in(&at(&server, folder.path())).await.unwrap();
    assert_eq!(
        server.state().client,
        "client-1",
        "AgentX has no address of its own"
    );
}

#[tokio::test]
async fn servers_that_cannot_be_believed_are_refused_with_a_reason() {
    for (fault, why) in [
        (Fault::OtherResource, "another resource"),
        (Fault::OtherIssuer, "another one"),
        (Fault::NoS256, "S256"),
        (Fault::NoRegistration, "mcp.web.oauth.client_id"),
        (Fault::TokensElsewhere, "not https"),
        (Fault::Refuses, "access_denied"),
    ] {
        let server = OauthServer::new(fault).await;
        let folder = tempfile::tempdir().unwrap();
        let environment = at(&server, folder.path());
        let failure = log_in(&environment).await.unwrap_err().to_string();
        assert!(failure.contains(why), "{fault:?}: {failure}");
        assert_eq!(environment.login(), None, "{fault:?}");
        assert!(server.state().access.is_empty(), "{fault:?}");
    }
}

#[tokio::test]
async fn an_answer_of_another_issuer_gets_no_code_exchanged() {
    let server = OauthServer::new(Fault::MixedUp).await;
    let folder = tempfile::tempdir().unwrap();
    let environment = at(&server, folder.path());
    let pending = environment.begin_login().await.unwrap();
    let address = pending.address.clone();
    let (_lines, pasted) = mpsc::channel(1);
    let mut said = Vec::new();
    let explain = |why: &str| said.push(why.to_owned());
    let (finished, status) = tokio::join!(pending.finish(pasted, Duration::from_secs(1), explain), async {
        reqwest::get(browse(&address).await).await.unwrap().status()
    });
    let told = |words: &str| said.iter().any(|line| line.contains(words));
    assert!(
        told("came back and was refused: the answer comes from another"),
        "{said:?}"
    );
    assert!(
        told("still waiting for the answer of http://127.0.0.1:"),
        "{said:?}"
    );
    assert_eq!(status, 400);
    assert!(
        finished
            .unwrap_err()
            .to_string()
            .contains("nobody completed the login within 1 s")
    );
    assert!(server.state().access.is_empty());
    assert!(server.state().refused.is_empty());
}

#[tokio::test]
async fn the_address_of_the_browser_can_be_pasted() {
    let server = OauthServer::new(Fault::None).await;
    let folder = tempfile::tempdir().unwrap();
    let environment = at(&server, folder.path());
    let pending = environment.begin_login().await.unwrap();
    let back = browse(&pending.address).await;
    let (lines, pasted) = mpsc::channel(4);
    for line in ["yes", "http://127.0.0.1:1/callback?state=other&code=x", &back] {
        lines.send(line.to_owned()).await.unwrap();
    }
    let mut said = Vec::new();
    let finished = pending.finish(pasted, Duration::from_secs(30), |why| said.push(why.to_owned()));
    finished.await.unwrap();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(environment.login().is_some());
    // A code is used once.
    let again = environment.begin_login().await.unwrap();
    let (lines, pasted) = mpsc::channel(1);
    lines.send(back).await.unwrap();
    drop(lines);
    let failed = again.finish(pasted, Duration::from_secs(1), |_| {}).await;
    assert!(failed.is_err());
}

#[tokio::test]
async fn a_header_and_a_program_need_no_login() {
    let server = OauthServer::new(Fault::None).await;
    let folder = tempfile::tempdir().unwrap();
    let mut with_header = McpServerSettings::address("web", &server.address);
    if let McpTarget::Address { headers, .. } = &mut with_header.target {
        headers.push(McpValue {
            name: "authorization".into(),
            from: vec!["TOKEN".into()],
            value: Some(Secret::new("Bearer made-up-access-own")),
        });
    }
    let program = McpServerSettings::program("p", "true", ["x"], "/");
    for (settings, why) in [(with_header, "Authorization header"), (program, "a program")] {
        let failure = environment(settings, folder.path())
            .begin_login()
            .await
            .unwrap_err();
        assert!(failure.to_string().contains(why), "{failure}");
    }
}
