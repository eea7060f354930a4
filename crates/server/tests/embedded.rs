//! A server inside a program: opened in one call, with routes of the program beside its own.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::sync::Arc;
use std::time::Duration;

use agentx_config::Settings;
use agentx_node_runtime::NodeRuntime;
use agentx_runtime::{Delivery, Runtime as _, View};
use agentx_server::axum::{Router, routing::get};
use agentx_server::{Server, ServerError, open, reload_when_changed};
use agentx_types::{ApprovalMode, RunStatus, RuntimeEvent};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::support::{World, cut_off_at_a_server, options, settings, within};

async fn opened(settings: &Settings) -> Result<Server, ServerError> {
    let runtime = Arc::new(NodeRuntime::from_settings(settings, "embedded-test").unwrap());
    open(runtime, settings, options()).await
}

/// The first line of the answer, and the last.
async fn asked(server: &str, host: &str, path: &str) -> (String, String) {
    let address = server.strip_prefix("http://").unwrap();
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let line = |line: Option<&str>| line.unwrap_or_default().to_owned();
    (line(answer.lines().next()), line(answer.lines().last()))
}

#[tokio::test]
async fn routes_of_the_program_are_at_the_same_address_and_for_the_same_hosts() {
    let data = tempfile::tempdir().unwrap();
    let hello = Router::new().route("/hello", get(|| async { "Come in." }));
    let server = opened(&settings(data.path())).await.unwrap().with_routes(hello);
    let url = server.url().to_owned();
    let running = tokio::spawn(server.run(std::future::pending()));
    let host = url.strip_prefix("http://").unwrap();
    let (status, body) = asked(&url, host, "/hello").await;
    assert_eq!((status.as_str(), body.as_str()), ("HTTP/1.1 200 OK", "Come in."));
    let (status, _) = asked(&url, host, "/v1/health").await;
    assert_eq!(status, "HTTP/1.1 200 OK");
    let (status, body) = asked(&url, "elsewhere.example", "/hello").await;
    assert!(
        !status.contains("200") && !body.contains("Come in"),
        "{status} {body}"
    );
    running.abort();
}

#[tokio::test]
async fn runs_are_counted_while_the_server_runs() {
    let world = World::new().await;
    let (session, mut desk) = world.desk(ApprovalMode::Auto).await;
    desk.subscribe(&session, 0, "runtime").await;
    desk.say(&session, "thanks").await;
    desk.events_until("run_finished").await;
    // The counter hears of the end of the run as the desk does, in a task of its own.
    within(async {
        while world.state.counts().runs.figures()[0].2 < 1 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(world.state.counts().runs.figures()[0].0, "runs_completed_total");
    world.end().await;
}

/// A server inside a program continues interrupted sessions, closes idle ones, and refuses a client with too
/// many connections.
#[test]
fn a_server_inside_a_program_goes_on_sweeps_and_limits_as_the_program_does() {
    let data = tempfile::tempdir().unwrap();
    let settings = settings(data.path());
    let session = cut_off_at_a_server(&settings);
    let mut options = options();
    options.limits.idle = Duration::from_millis(50);
    options.limits.connections_per_address = 1;
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let runtime = Arc::new(NodeRuntime::from_settings(&settings, "embedded-test").unwrap());
        let mut facts = runtime.watch(&session, 0, View::Runtime, true).await.unwrap();
        let server = open(runtime, &settings, options).await.unwrap();
        let (state, url) = (server.state().clone(), server.url().to_owned());
        let running = tokio::spawn(server.run(std::future::pending()));
        let finished = async {
            loop {
                if let Delivery::Runtime(event) = facts.next().await.unwrap()
                    && let RuntimeEvent::RunFinished(finished) = &event.event
                {
                    return finished.status;
                }
            }
        };
        assert_eq!(within(finished).await, RunStatus::Completed);
        let host = url.strip_prefix("http://").unwrap();
        let first = tokio::net::TcpStream::connect(host).await.unwrap();
        let (status, _) = asked(&url, host, "/v1/health").await;
        assert!(
            !status.contains("200"),
            "a second connection of one address: {status}"
        );
        drop(first);
        assert_eq!(state.counts().opened.get(), 1);
        within(async {
            while state.rooms().open_rooms() > 0 {
                tokio::task::yield_now().await;
            }
        })
        .await;
        running.abort();
    });
}

/// Two servers would give each person twice what the quotas allow.
#[tokio::test]
async fn a_data_directory_has_one_server_at_a_time() {
    let data = tempfile::tempdir().unwrap();
    let settings = settings(data.path());
    let first = opened(&settings).await.unwrap();
    let url = first.url().to_owned();
    let refused = opened(&settings).await.err().unwrap();
    let ServerError::AlreadyServed { url: named, .. } = &refused else {
        panic!("{refused}")
    };
    assert_eq!(named.as_deref(), Some(url.as_str()));
    let said = refused.to_string();
    assert!(
        said.contains(&*data.path().to_string_lossy()) && said.contains(&url),
        "{said}"
    );
    assert!(refused.hint().is_some_and(|hint| hint.contains(&url)));
    // A server that ends, in whatever way, makes room for the next one.
    let running = tokio::spawn(first.run(std::future::pending()));
    assert!(opened(&settings).await.is_err(), "it still runs");
    running.abort();
    assert!(running.await.is_err_and(|end| end.is_cancelled()));
    let second = opened(&settings).await.unwrap();
    second.run(std::future::ready(())).await.unwrap();
    opened(&settings).await.unwrap();
}

#[cfg(unix)]
#[tokio::test]
async fn a_directory_that_others_may_write_to_serves_nobody() {
    use std::os::unix::fs::PermissionsExt as _;
    let data = tempfile::tempdir().unwrap();
    let settings = settings(data.path());
    let runtime = NodeRuntime::from_settings(&settings, "embedded-test").unwrap();
    std::fs::set_permissions(data.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let Err(refused) = NodeRuntime::from_settings(&settings, "embedded-test") else {
        panic!("others may put their own sessions there")
    };
    assert!(
        refused.to_string().contains("others can change files in it"),
        "{refused}"
    );
    let Err(refused) = open(Arc::new(runtime), &settings, options()).await else {
        panic!("others may put their own keys there")
    };
    assert!(matches!(refused, ServerError::Keys(_)), "{refused}");
}

#[test]
fn settings_are_read_again_when_their_file_has_changed() {
    let data = tempfile::tempdir().unwrap();
    let file = data.path().join("config.yaml");
    std::fs::write(&file, "a").unwrap();
    let reload = reload_when_changed(vec![file.clone()], || Err("it has mistakes".to_owned()));
    let is_read = || {
        let changed = reload.has_changed();
        let read = reload.read_if_changed().map(|read| read.err());
        assert_eq!(changed, read.is_some());
        read == Some(Some("it has mistakes".to_owned()))
    };
    assert!(!is_read(), "nothing has changed");
    std::fs::write(&file, "longer").unwrap();
    assert!(is_read());
    assert!(!is_read(), "it was read");
    let modified = std::fs::metadata(&file).unwrap().modified().unwrap();
    let other = data.path().join("other");
    std::fs::write(&other, "denied").unwrap();
    std::fs::File::options()
        .write(true)
        .open(&other)
        .unwrap()
        .set_modified(modified)
        .unwrap();
    std::fs::rename(&other, &file).unwrap();
    assert_eq!(is_read(), cfg!(unix), "another file of the same length and time");
    std::fs::remove_file(&file).unwrap();
    assert!(is_read(), "that a file is gone is a change");
}
