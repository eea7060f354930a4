//! The files and directories of the program are broken, newer, full, read-only or missing: what it prints,
//! how it exits, what stays safe.

use std::path::{Path, PathBuf};
use std::process::Command;

use agentx_tests::model_server::Answer;
use agentx_tests::{Model, Ran, World};

use crate::facts;

/// Opens the database behind the program's back.
fn database(world: &World) -> rusqlite::Connection {
    let connection = rusqlite::Connection::open(world.data().join(agentx::node::DATABASE)).unwrap();
    connection
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .unwrap();
    connection
}

/// A session with two answers.
fn with_a_session(world: &World, model: &Model) -> Ran {
    model.only([
        Model::words(&["first ", "answer"]),
        Model::words(&["second ", "answer"]),
    ]);
    let first = world.run_prompt(None, &[], "one").end().exits(0);
    world
        .run_prompt(Some(&first.session()), &[], "two")
        .end()
        .exits(0);
    first
}

#[test]
fn a_damaged_session_says_what_is_safe_and_the_advice_works() {
    let model = Model::start([]);
    let world = World::new(&model.url());
    let session = with_a_session(&world, &model).session();
    let well = world.run_prompt(None, &[], "another").end().exits(0);
    let sql = database(&world);
    let changed = sql.execute(
        "UPDATE batches SET data = zeroblob(length(data)) WHERE id = \
         (SELECT max(id) FROM batches WHERE id >> 36 = 1)",
        [],
    );
    assert_eq!(changed.unwrap(), 1);
    drop(sql);
    world.run(&["sessions", "list"]).exits(0);
    let verify = world.run(&["sessions", "verify", &session]).exits(9);
    assert!(verify.err.contains("damaged"), "{verify}");
    let advice = verify.err.split('`').nth(1).unwrap().to_owned();
    assert!(
        advice.starts_with(&format!("agentx fork {session} --at ")),
        "{verify}"
    );
    let refused = world
        .run(&["run", "--output-format", "json", "--session", &session, "three"])
        .exits(9);
    assert_eq!(refused.result()["error"]["kind"], "damaged", "{refused}");
    assert!(refused.err.contains("sessions verify"), "{refused}");
    let words: Vec<&str> = advice.split(' ').skip(1).collect();
    let fork = world.run(&words).exits(0);
    let fork = fork
        .out
        .split_whitespace()
        .find(|word| word.starts_with("ses_"))
        .unwrap();
    model.only([Model::words(&["from there"])]);
    let ran = world.run_prompt(Some(fork), &[], "three").end().exits(0);
    assert_eq!(ran.result()["text"], "from there", "{ran}");
    world.check(fork);
    world.check(&well.session());
}

#[test]
fn a_database_cut_in_half_is_said_and_not_made_worse() {
    let model = Model::start([]);
    let world = World::new(&model.url());
    with_a_session(&world, &model);
    drop(database(&world));
    let file = world.data().join(agentx::node::DATABASE);
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    let ran = world.run(&["run", "--output-format", "json", "hello"]).exits(9);
    let error = &ran.result()["error"];
    assert!(
        error["message"].as_str().unwrap().contains("sessions.db"),
        "{ran}"
    );
    assert!(error["hint"].is_string(), "{ran}");
    assert_eq!(
        std::fs::read(&file).unwrap().len(),
        bytes.len() / 2,
        "it is left as it was"
    );
    assert!(
        model.requests().len() <= 2,
        "no model is asked for what cannot be kept"
    );
}

#[test]
fn a_database_of_a_newer_version_can_be_read_and_not_written() {
    let model = Model::start([]);
    let world = World::new(&model.url());
    let session = with_a_session(&world, &model).session();
    database(&world).pragma_update(None, "user_version", 99).unwrap();
    let list = world.run(&["sessions", "list"]).exits(0);
    assert!(list.out.contains(&session), "{list}");
    let show = world.run(&["sessions", "show", &session]).exits(0);
    assert!(show.out.contains("second answer"), "{show}");
    world.run(&["sessions", "verify", &session]).exits(0);
    world.run(&["replay", &session]).exits(0);
    let asked = model.requests().len();
    for args in [
        &["run", "--output-format", "json", "hello"][..],
        &["run", "--output-format", "json", "--session", &session, "hello"],
    ] {
        let ran = world.run(args).exits(9);
        assert_eq!(ran.result()["error"]["kind"], "newer_format", "{ran}");
        assert!(ran.err.contains("newer version"), "{ran}");
    }
    for args in [
        &["fork", &session][..],
        &["sessions", "delete", "--yes", &session],
    ] {
        let ran = world.run(args).exits(9);
        assert!(ran.err.contains("newer"), "{ran}");
    }
    assert_eq!(
        model.requests().len(),
        asked,
        "no model is asked for what cannot be kept"
    );
}

/// A small disk of its own, gone with the value.
struct Disk {
    place: tempfile::TempDir,
}

impl Disk {
    /// `None` if this machine does not let us have one.
    fn mount(size: &str) -> Option<Self> {
        let place = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(place.path())
            .output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Self { place });
        }
        eprintln!("no disk can be mounted here (that takes root): not run");
        None
    }

    fn path(&self) -> &Path {
        self.place.path()
    }

    fn remount(&self, options: &str) {
        let done = Command::new("mount")
            .args(["-o", &format!("remount,{options}")])
            .arg(self.path())
            .status();
        assert!(done.unwrap().success());
    }

    /// Takes all the space that is left, except this much.
    fn fill(&self, left: usize) -> PathBuf {
        let ballast = self.path().join("ballast");
        let mut file = std::fs::File::create(&ballast).unwrap();
        while std::io::Write::write_all(&mut file, &[0; 4096]).is_ok() {}
        let length = file.metadata().unwrap().len();
        file.set_len(length.saturating_sub(left as u64)).unwrap();
        ballast
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.path()).status();
    }
}

/// An answer that is bigger than what is left.
fn a_long_answer() -> Answer {
    let word = |index: usize| format!("{index}:{} ", "word".repeat(200));
    Answer {
        words: (0..3_000).map(word).collect(),
        ..Answer::default()
    }
}

#[test]
fn a_full_disk_stops_the_turn_and_nothing_claims_to_be_saved() {
    let Some(disk) = Disk::mount("16m") else { return };
    let model = Model::start([]);
    let world = World::new(&model.url()).with_data(&disk.path().join("data"));
    let session = with_a_session(&world, &model).session();
    let ballast = disk.fill(256 << 10);
    model.only([a_long_answer().into()]);
    let ran = world
        .run_prompt(Some(&session), &["--quiet"], "tell me a lot")
        .end()
        .exits(9);
    let result = ran.result();
    assert_eq!(result["status"], "failed", "{}", ran.err);
    assert_eq!(result["error"]["kind"], "disk_full", "{}", ran.err);
    assert!(ran.err.contains("free some disk space"), "{}", ran.err);
    std::fs::remove_file(ballast).unwrap();
    let kept = facts(&world, &ran);
    let shown = ran.frames();
    let asked = |fact: &serde_json::Value| fact.to_string().contains("tell me a lot");
    assert!(kept.iter().any(asked), "what was committed before is there");
    for frame in &shown {
        let seq = usize::try_from(frame["seq"].as_u64().unwrap()).unwrap();
        assert_eq!(kept.get(seq - 1), Some(frame), "{seq} was shown and is not kept");
    }
    model.only([Model::words(&["on ", "we ", "go"]), Model::words(&["and on"])]);
    let next = world.run_prompt(Some(&session), &[], "and now?").end().exits(0);
    assert_eq!(next.result()["status"], "completed", "{next}");
    world.check(&session);
}

#[test]
fn a_disk_that_is_full_from_the_start_is_said() {
    let Some(disk) = Disk::mount("1m") else { return };
    disk.fill(0);
    let model = Model::start([]);
    let world = World::new(&model.url()).with_data(&disk.path().join("data"));
    let ran = world.run(&["run", "--output-format", "json", "hello"]).exits(9);
    assert!(ran.result()["error"]["hint"].is_string(), "{ran}");
    assert!(ran.err.contains("full") || ran.err.contains("space"), "{ran}");
    assert_eq!(
        model.requests().len(),
        0,
        "no model is asked for what cannot be kept"
    );
}

#[test]
fn a_data_directory_that_is_read_only_is_said() {
    let Some(disk) = Disk::mount("16m") else { return };
    let model = Model::start([]);
    let world = World::new(&model.url()).with_data(&disk.path().join("data"));
    let session = with_a_session(&world, &model).session();
    let asked = model.requests().len();
    disk.remount("ro");
    for args in [
        &["run", "--output-format", "json", "hello"][..],
        &["run", "--output-format", "json", "--session", &session, "hello"],
    ] {
        let ran = world.run(args).exits(9);
        let error = &ran.result()["error"];
        let message = error["message"].as_str().unwrap();
        assert!(
            message.contains("can only be read") || message.contains("Read-only"),
            "{ran}"
        );
        assert!(error["hint"].as_str().unwrap().contains("--data"), "{ran}");
    }
    let list = world.run(&["sessions", "list"]).exits(0);
    assert!(list.out.contains(&session), "{list}");
    let show = world.run(&["sessions", "show", &session]).exits(0);
    assert!(show.out.contains("second answer"), "{show}");
    assert_eq!(
        model.requests().len(),
        asked,
        "no model is asked for what cannot be kept"
    );
    disk.remount("rw");
    world.run_prompt(Some(&session), &[], "and now?").end().exits(0);
    world.check(&session);
}

#[test]
fn an_unknown_model_and_a_missing_key_are_answered_with_what_to_do() {
    let model = Model::start([]);
    let world = World::new(&model.url());
    let ran = world
        .run(&[
            "run",
            "--output-format",
            "json",
            "--model",
            "claude-sonet-5-5",
            "hello",
        ])
        .exits(2);
    assert_eq!(ran.result()["error"]["kind"], "unknown_model", "{ran}");
    assert!(ran.err.contains("claude-sonnet-5-5"), "{ran}");
    let mut command = world.command(&["run", "--output-format", "json", "--model", "opus", "hello"]);
    command
        .env_remove("ANTHROPIC_API_KEY")
        .env_remove("ANTHROPIC_BASE_URL");
    let ran = agentx_tests::Running::start(command).end().exits(4);
    assert_eq!(ran.result()["error"]["kind"], "missing_key", "{ran}");
    assert!(
        ran.err.contains("ANTHROPIC_API_KEY") && ran.err.contains("config.yaml"),
        "{ran}"
    );
    assert_eq!(model.requests().len(), 0);
}
