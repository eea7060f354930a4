//! Clients that are not ours follow a session from `docs/PROTOCOL.md` alone: one in Python over a WebSocket,
//! one of curl and openssl over server-sent events. Both leave in the middle and come back; what they saw is
//! what the server has.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

use agentx_identity::{Keyring, Trusted, TrustedAs};
use agentx_tests::remote::{Serving, Web, Who, Worker};
use agentx_tests::{Running, World, workspace_root};

/// The packages that Python needs.
const PACKAGES: [&str; 2] = ["websockets>=13", "cryptography>=41"];

/// A client that cannot run here is a failure if the checks have to be complete, else a note.
fn passed_by(why: &str) {
    assert!(!agentx_tests::every_check_must_run(), "not run: {why}");
    eprintln!("not run: {why}");
}

fn works(command: &mut Command) -> Result<(), String> {
    let output = command
        .output()
        .map_err(|error| format!("{:?}: {error}", command.get_program()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!(
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    ))
}

/// A Python that has what the client needs; it is made once and kept with what was built.
fn python() -> Result<PathBuf, String> {
    let folder = workspace_root().join("target/clients-python");
    let python = folder.join("bin/python");
    let has_all = |python: &Path| works(Command::new(python).args(["-c", "import websockets, cryptography"]));
    if let Some(there) = [&python, Path::new("python3")]
        .into_iter()
        .find(|python| has_all(python).is_ok())
    {
        return Ok(there.to_owned());
    }
    works(
        Command::new("python3")
            .args(["-m", "venv", "--clear"])
            .arg(&folder),
    )?;
    works(
        Command::new(&python)
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
            .args(PACKAGES),
    )?;
    has_all(&python)?;
    Ok(python)
}

fn script(name: &str) -> PathBuf {
    workspace_root().join("tests/clients").join(name)
}

/// Lets the client make a key, and lets the server know it.
fn introduce(world: &World, client: &[&Path], key: &Path) {
    let made = Command::new(client[0])
        .args(&client[1..])
        .arg("key")
        .arg(key)
        .output();
    let made = made.unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let public = String::from_utf8(made.stdout).unwrap();
    let trusted = Trusted {
        public_key: public.trim().parse().unwrap(),
        name: None,
        role: TrustedAs::Operator,
    };
    Keyring::at(world.data()).trust(trusted).unwrap();
}

/// Runs the client in a new session for each view, and compares what it saw with what is there.
async fn follows(client: &[&Path]) {
    let worker = Worker::start();
    let world = World::new(&worker.url());
    world.config("approval: auto\n");
    let who = Who::operator(&world, 1);
    let key = world.file("key.pem");
    introduce(&world, client, &key);
    let server = Serving::start(&world, &[]);
    let web = Web::new(&server.url(), &who, "test").signed_in().await;
    for view in ["environment", "runtime", "ui"] {
        let session = web.new_session().await;
        let mut command = Command::new(client[0]);
        command
            .args(&client[1..])
            .args(["run", &server.url()])
            .arg(&key)
            .args([&session, view, &format!("work {view} turns=3 words=30 calls=2")]);
        let ran = Running::start(command).end().exits(0);
        let seen: Vec<&str> = ran.out.lines().collect();
        let log = match view {
            "environment" => web.export(&session).await,
            _ => web.events(&session, view).await,
        };
        assert!(seen.len() > 60, "{view}: {ran}");
        let count = log.iter().zip(&seen).take_while(|(logged, seen)| logged == *seen);
        let count = count.count();
        assert_eq!(
            count,
            seen.len(),
            "{view}: {:?} and not {:?}",
            seen.get(count),
            log.get(count)
        );
    }
    assert!(
        worker.asked().values().all(|times| *times == 3),
        "{:?}",
        worker.asked()
    );
    server.stop().exits(0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_in_python_follows_a_session() {
    match python() {
        Ok(python) => follows(&[&python, &script("follow.py")]).await,
        Err(why) => passed_by(&format!("the client in Python: {why}")),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_of_curl_and_openssl_follows_a_session() {
    let tools = [("curl", "--version"), ("openssl", "version")];
    for (tool, version) in tools {
        if let Err(why) = works(Command::new(tool).arg(version)) {
            return passed_by(&format!("the client of curl and openssl: {why}"));
        }
    }
    follows(&[Path::new("sh"), &script("follow.sh")]).await;
}
