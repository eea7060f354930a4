//! Restored files: whatever the session and others did to them in whatever order, their earlier state
//! returns, and no change of somebody else is lost silently.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test: it fails by panicking, and reads files"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::sync::Mutex;

use crate::support::Place;
use agentx_history::SessionHistory;
use agentx_runtime::{
    BoxFuture, FactRecorder, PlannedFile, RestoreConflict, RestoreEffect, RestorePlan, RestoreReport,
    RestoreRequest, RuntimeError,
};
use agentx_tools::{CommandRewind, ToolOptions, plan_restore, restore};
use agentx_types::{Envelope, EnvironmentEvent, SessionId, ToolStatus};
use proptest::prelude::*;
use serde_json::{Value, json};

/// A session that records facts as its tools are called.
struct Session {
    place: Place,
    facts: Mutex<Vec<Value>>,
    /// Whether recording facts fails.
    deaf: bool,
}

impl FactRecorder for Session {
    fn record(&self, event: EnvironmentEvent) -> BoxFuture<'_, Result<u64, RuntimeError>> {
        if self.deaf {
            let refused = Err(RuntimeError::Refused("the log is full".into()));
            return Box::pin(std::future::ready(refused));
        }
        let seq = self.add(serde_json::to_value(event).unwrap());
        Box::pin(std::future::ready(Ok(seq)))
    }
}

impl Session {
    fn new() -> Self {
        Self::with(ToolOptions::default())
    }

    fn with(options: ToolOptions) -> Self {
        let place = Place::with(options);
        let session = Self {
            place,
            facts: Mutex::default(),
            deaf: false,
        };
        let model = json!({"id": "m", "provider": "p", "api": "scripted", "context_window": 1, "max_output_tokens": 1, "prices": {}});
        let tools: Vec<Value> = ["write", "edit", "bash", "read"]
            .iter()
            .map(|name| {
                let specs = session.place.toolbox.specs();
                let spec = specs.iter().find(|spec| spec.name == **name).unwrap();
                serde_json::to_value(spec).unwrap()
            })
            .collect();
        let config = json!({"kind": "react", "name": "t", "model": model, "params": {}, "system_prompt": "", "instructions": [],
            "workspace": session.place.workspace, "tools": tools, "approval": "ask", "rules": [], "limits": {}});
        session.add(json!({"event": "session_opened", "payload": {"owner": "own_1", "config": config, "program": "t"}}));
        session
    }

    fn add(&self, mut event: Value) -> u64 {
        let mut facts = self.facts.lock().unwrap();
        let seq = facts.len() as u64 + 1;
        event["seq"] = seq.into();
        event["at"] = (seq * 1_000_000).into();
        event["source"] = "user".into();
        event["session_id"] = "ses_test".into();
        facts.push(event);
        seq
    }

    fn say(&self) -> u64 {
        let parts = json!([{"type": "text", "text": "go on"}]);
        let id = format!("msg_{}", self.facts.lock().unwrap().len());
        self.add(json!({"event": "user_message", "payload": {"message_id": id, "content": parts}}))
    }

    async fn call(&self, tool: &str, input: Value) -> ToolStatus {
        let id = format!("call_{}", self.facts.lock().unwrap().len());
        self.add(
            json!({"event": "tool_call", "payload": {"tool_call_id": id, "name": tool, "input": input}}),
        );
        let outcome = self.place.call(tool, input).await;
        let is_error = outcome.status != ToolStatus::Success;
        self.add(json!({"event": "tool_result", "payload": {
            "tool_call_id": id, "result": [], "is_error": is_error, "status": outcome.status, "details": outcome.details,
        }}));
        outcome.status
    }

    fn history(&self) -> SessionHistory {
        let mut history = SessionHistory::default();
        for fact in self.facts.lock().unwrap().iter() {
            let fact: Envelope<EnvironmentEvent> = serde_json::from_value(fact.clone()).unwrap();
            history.take(&fact);
        }
        history
    }

    async fn plan(&self, to_seq: u64) -> RestorePlan {
        let session = SessionId::new("ses_test");
        let plan = plan_restore(&session, &self.history(), to_seq, &*self.place.blobs).await;
        plan.unwrap()
    }

    async fn restore(&self, plan: &RestorePlan, doubted: bool) -> RestoreReport {
        let wish = RestoreRequest::of(plan, |_| doubted);
        let history = self.history();
        restore(&history, &wish, &*self.place.blobs, self).await.unwrap()
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.place.workspace.join(name)
    }

    fn on_disk(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.path(name)).ok()
    }

    /// Writes or removes a file as somebody else would.
    fn outside(&self, name: &str, content: Option<&str>) {
        match content {
            Some(content) => self.place.write(name, content),
            None => drop(fs::remove_file(self.path(name))),
        }
    }
}

fn file<'a>(plan: &'a RestorePlan, name: &str) -> &'a PlannedFile {
    let found = plan.files.iter().find(|file| file.shown == name);
    found.unwrap_or_else(|| panic!("{name} is in {plan:?}"))
}

#[tokio::test]
async fn made_changed_and_gone_files_are_as_they_were_and_the_way_back_is_open() {
    let session = Session::new();
    session.place.write("old.txt", "one\ntwo\n");
    session.place.write("run.sh", "#!/bin/sh\n");
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(session.path("run.sh"), mode.clone()).unwrap();
    let input = session.say();
    session
        .call(
            "edit",
            json!({"path": "old.txt", "old_string": "two", "new_string": "2"}),
        )
        .await;
    session
        .call("write", json!({"path": "new/deep.txt", "content": "new\n"}))
        .await;
    session
        .call(
            "edit",
            json!({"path": "run.sh", "old_string": "sh", "new_string": "bash"}),
        )
        .await;
    let plan = session.plan(input).await;
    assert_eq!(plan.files.len(), 3, "{plan:?}");
    let old = file(&plan, "old.txt");
    assert_eq!(
        (old.happens, old.added, old.removed),
        (RestoreEffect::Changed, 1, 1)
    );
    assert!(old.diff.contains("-2\n+two\n"), "{}", old.diff);
    assert_eq!(file(&plan, "new/deep.txt").happens, RestoreEffect::Removed);
    assert!(
        plan.files
            .iter()
            .all(|file| file.doubt.is_none() && file.blocked.is_none())
    );
    let report = session.restore(&plan, false).await;
    assert_eq!((report.restored.len(), report.failed.len()), (3, 0), "{report:?}");
    assert_eq!(session.on_disk("old.txt").as_deref(), Some("one\ntwo\n"));
    assert_eq!(session.on_disk("new/deep.txt"), None);
    let now = fs::metadata(session.path("run.sh")).unwrap().permissions();
    assert_eq!(now.mode() & 0o777, 0o755);
    assert_eq!(session.history().restorings().len(), 1);
    // A rewind is rewound: removed files return with their permissions.
    let plan = session.plan(report.seq.unwrap()).await;
    assert_eq!(file(&plan, "new/deep.txt").happens, RestoreEffect::BroughtBack);
    session.restore(&plan, false).await;
    assert_eq!(session.on_disk("old.txt").as_deref(), Some("one\n2\n"));
    assert_eq!(session.on_disk("new/deep.txt").as_deref(), Some("new\n"));
    assert_eq!(session.on_disk("run.sh").as_deref(), Some("#!/bin/bash\n"));
    let after = session.history().last_seq() + 1;
    assert!(session.plan(after).await.files.is_empty());
}

#[tokio::test]
async fn what_the_agent_did_after_a_restore_is_not_undone_with_it_without_a_word() {
    let session = Session::new();
    session.place.write("one", "before\n");
    session.place.write("two", "before\n");
    let input = session.say();
    for name in ["one", "two"] {
        session
            .call("write", json!({"path": name, "content": "after\n"}))
            .await;
    }
    let report = session.restore(&session.plan(input).await, false).await;
    let restored = report.seq.unwrap();
    session
        .call("write", json!({"path": "one", "content": "newer\n"}))
        .await;
    // The second undo restores the files that the first one kept.
    for files in [2, 1] {
        let plan = session.plan(restored).await;
        assert_eq!(plan.files.len(), files, "{plan:?}");
        assert!(matches!(
            file(&plan, "one").doubt,
            Some(RestoreConflict::ChangedByAgent { .. })
        ));
        session.restore(&plan, false).await;
        assert_eq!(session.on_disk("one").as_deref(), Some("newer\n"));
        assert_eq!(session.on_disk("two").as_deref(), Some("after\n"));
    }
    session.restore(&session.plan(restored).await, true).await;
    assert_eq!(session.on_disk("one").as_deref(), Some("after\n"));
}

/// A session whose commands are watched.
fn watched() -> (Session, tempfile::TempDir) {
    let shadow = tempfile::tempdir().unwrap();
    let mut options = ToolOptions::default();
    options.bash.rewind = Some(CommandRewind::new(shadow.path().to_owned()));
    (Session::with(options), shadow)
}

#[tokio::test]
async fn what_a_command_changed_goes_back_too() {
    let (session, _shadow) = watched();
    session.place.write("changed", "before\n");
    session.place.write("removed", "before\n");
    session.place.write("moved", "before\n");
    let input = session.say();
    let line =
        "echo after > changed; rm removed; mkdir -p made/deep; echo new > made/deep/file; mv moved away";
    session.call("bash", json!({"command": line})).await;
    let plan = session.plan(input).await;
    let names: Vec<&str> = plan.files.iter().map(|file| file.shown.as_str()).collect();
    assert_eq!(names, ["away", "changed", "made/deep/file", "moved", "removed"]);
    // Somebody else may have made the changes meanwhile, so that a person is asked.
    let is_asked = |file: &PlannedFile| matches!(file.doubt, Some(RestoreConflict::DuringCommand { .. }));
    assert!(plan.files.iter().all(is_asked), "{plan:?}");
    let report = session.restore(&plan, true).await;
    assert!(report.failed.is_empty(), "{report:?}");
    for name in ["changed", "removed", "moved"] {
        assert_eq!(session.on_disk(name).as_deref(), Some("before\n"), "{name}");
    }
    assert!(!session.path("away").exists() && !session.path("made").exists());
    // The command is still told among what a rewind does not undo, with what becomes of its files.
    let history = session.history();
    let effect = history.irreversible_since(input).next().unwrap();
    assert_eq!((effect.files, effect.files_not_kept), (Some(5), 0));
    // The undo of the restore is the state that the command left.
    session
        .restore(&session.plan(report.seq.unwrap()).await, true)
        .await;
    assert_eq!(session.on_disk("changed").as_deref(), Some("after\n"));
    assert_eq!(session.on_disk("removed"), None);
}

#[tokio::test]
async fn what_somebody_else_changed_since_a_command_is_asked_about() {
    let (session, _shadow) = watched();
    session.place.write("file", "before\n");
    let input = session.say();
    session
        .call("bash", json!({"command": "echo after > file"}))
        .await;
    session.outside("file", Some("theirs\n"));
    let plan = session.plan(input).await;
    assert!(matches!(
        file(&plan, "file").doubt,
        Some(RestoreConflict::ChangedSince { .. })
    ));
    session.restore(&plan, false).await;
    assert_eq!(session.on_disk("file").as_deref(), Some("theirs\n"));
}

#[tokio::test]
async fn commands_are_not_watched_unless_the_options_say_so() {
    let session = Session::new();
    session.place.write("file", "before\n");
    let input = session.say();
    session
        .call("bash", json!({"command": "echo after > file"}))
        .await;
    assert!(session.plan(input).await.files.is_empty());
    assert_eq!(
        session.history().irreversible_since(input).next().unwrap().files,
        None
    );
}

/// A script's call of `write` leaves the same record as a call of the model.
#[tokio::test]
async fn what_a_script_changed_goes_back_too() {
    let session = Session::new();
    session.place.write("old.txt", "one\n");
    let input = session.say();
    for (name, content) in [("old.txt", "two\n"), ("made/new.txt", "new\n")] {
        let args = json!({"path": name, "content": content});
        let mut details = session.place.call("write", args).await.details.unwrap();
        details["tool"] = json!("write");
        session.add(json!({"event": "effect_ended", "payload": {
            "tool_call_id": "call_1", "step": 3, "kind": "invoke", "outcome": {"done": null}, "details": details,
        }}));
    }
    let plan = session.plan(input).await;
    assert!(plan.files.iter().all(|file| file.doubt.is_none()), "{plan:?}");
    let report = session.restore(&plan, false).await;
    assert_eq!(
        (report.restored.len(), report.directories.len()),
        (2, 1),
        "{report:?}"
    );
    assert_eq!(session.on_disk("old.txt").as_deref(), Some("one\n"));
    assert!(!session.path("made").exists());
}

#[tokio::test]
async fn directories_go_where_the_session_made_them_and_nothing_is_in_them() {
    let session = Session::new();
    fs::create_dir(session.path("own")).unwrap();
    let first = session.say();
    for name in [
        "own/in/a.txt",
        "a/b/c/one.txt",
        "a/b/two.txt",
        "kept/by/x.txt",
        "late/y.txt",
    ] {
        session
            .call("write", json!({"path": name, "content": "words\n"}))
            .await;
    }
    session.outside("kept/mine.txt", Some("by somebody else\n"));
    let plan = session.plan(first).await;
    let report = session.restore(&plan, false).await;
    let gone: BTreeSet<&str> = report
        .directories
        .iter()
        .map(|path| path.strip_prefix(session.path("").to_str().unwrap()).unwrap())
        .collect();
    assert_eq!(
        gone,
        BTreeSet::from(["a", "a/b", "a/b/c", "kept/by", "late", "own/in"])
    );
    assert!(session.path("own").is_dir() && session.path("kept/mine.txt").exists());
    // The directories return with their files, and are removed once more.
    let again = session.plan(report.seq.unwrap()).await;
    let back = session.restore(&again, false).await;
    assert!(session.path("a/b/c/one.txt").exists() && back.directories.is_empty());
    let once_more = session.plan(back.seq.unwrap()).await;
    let report = session.restore(&once_more, false).await;
    assert!(!session.path("a").exists(), "{report:?}");
    // A directory that existed before is not the session's, and a link in its place is not followed.
    fs::create_dir(session.path("late")).unwrap();
    let second = session.say();
    session
        .call("write", json!({"path": "late/y.txt", "content": "words\n"}))
        .await;
    let plan = session.plan(second).await;
    session.restore(&plan, false).await;
    assert!(session.path("late").is_dir());
}

#[tokio::test]
async fn what_others_changed_is_asked_about_and_told_apart() {
    let session = Session::new();
    for name in ["since", "between", "gone", "same"] {
        session.place.write(name, "before\n");
    }
    let input = session.say();
    for name in ["since", "between", "gone", "same"] {
        session
            .call("write", json!({"path": name, "content": "by the agent\n"}))
            .await;
    }
    session.outside("since", Some("by somebody else\n"));
    session.outside("between", Some("by somebody else\n"));
    session
        .call(
            "write",
            json!({"path": "between", "content": "by the agent again\n"}),
        )
        .await;
    session.outside("gone", None);
    session.outside("same", Some("before\n"));
    let plan = session.plan(input).await;
    assert!(matches!(
        file(&plan, "since").doubt,
        Some(RestoreConflict::ChangedSince { at: Some(_), .. })
    ));
    assert!(matches!(
        file(&plan, "between").doubt,
        Some(RestoreConflict::ChangedBetween { .. })
    ));
    assert!(matches!(
        file(&plan, "gone").doubt,
        Some(RestoreConflict::ChangedSince { at: None, .. })
    ));
    assert_eq!(
        plan.files.len(),
        3,
        "what is as it was already is not told: {plan:?}"
    );
    let report = session.restore(&plan, false).await;
    assert_eq!(
        (report.seq, report.restored.len()),
        (None, 0),
        "nothing was wished: {report:?}"
    );
    assert_eq!(session.on_disk("since").as_deref(), Some("by somebody else\n"));
    let report = session.restore(&plan, true).await;
    assert_eq!(report.restored.len(), 3, "{report:?}");
    for name in ["since", "between", "gone", "same"] {
        assert_eq!(session.on_disk(name).as_deref(), Some("before\n"), "{name}");
    }
    let back = session.plan(report.seq.unwrap()).await;
    session.restore(&back, true).await;
    assert_eq!(
        session.on_disk("since").as_deref(),
        Some("by somebody else\n"),
        "nothing is lost"
    );
    assert_eq!(session.on_disk("gone"), None);
}

#[tokio::test]
async fn a_command_of_the_session_that_changed_a_file_is_named_and_not_undone() {
    let session = Session::new();
    session.place.write("a", "before\n");
    let input = session.say();
    session
        .call("write", json!({"path": "a", "content": "by the agent\n"}))
        .await;
    session
        .call("bash", json!({"command": "echo by a command > a"}))
        .await;
    let seq = session.facts.lock().unwrap().len() as u64;
    let modified = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seq - 1);
    fs::File::options()
        .write(true)
        .open(session.path("a"))
        .unwrap()
        .set_modified(modified)
        .unwrap();
    let plan = session.plan(input).await;
    match &file(&plan, "a").doubt {
        Some(RestoreConflict::ChangedSince {
            during: Some(what), ..
        }) => assert_eq!(what, "bash: echo by a command > a"),
        other => panic!("{other:?}"),
    }
    let history = session.history();
    assert_eq!(history.undone(input).beyond, 1);
    assert_eq!(history.irreversible_since(input).next().unwrap().tool, "bash");
}

#[tokio::test]
async fn nothing_outside_is_reached_through_a_link() {
    let mut session = Session::new();
    let beside = session.place.workspace.parent().unwrap().join("beside");
    fs::create_dir(&beside).unwrap();
    fs::write(beside.join("a"), "not to be touched\n").unwrap();
    let input = session.say();
    for name in ["dir/a", "leaf", "plain"] {
        session
            .call("write", json!({"path": name, "content": "by the agent\n"}))
            .await;
    }
    session.place.outside = true;
    session
        .call("write", json!({"path": beside.join("b"), "content": "outside\n"}))
        .await;
    // A directory and a file become links that lead elsewhere.
    fs::remove_dir_all(session.path("dir")).unwrap();
    symlink(&beside, session.path("dir")).unwrap();
    fs::remove_file(session.path("leaf")).unwrap();
    symlink(beside.join("a"), session.path("leaf")).unwrap();
    let plan = session.plan(input).await;
    assert!(
        file(&plan, "dir/a")
            .blocked
            .as_deref()
            .unwrap()
            .contains("is not a directory any more")
    );
    assert!(
        file(&plan, "leaf")
            .blocked
            .as_deref()
            .unwrap()
            .contains("a link is in its place")
    );
    let outside = plan
        .files
        .iter()
        .find(|file| file.path.ends_with("beside/b"))
        .unwrap();
    assert_eq!(outside.doubt, Some(RestoreConflict::Outside));
    // An explicit request for it does not help.
    let mut wish = RestoreRequest::of(&plan, |_| false);
    let blocked = plan.files.iter().filter(|file| file.blocked.is_some());
    wish.files.extend(blocked.map(|file| agentx_runtime::RestoreFile {
        path: file.path.clone(),
        seen: file.seen.clone(),
    }));
    let history = session.history();
    let report = restore(&history, &wish, &*session.place.blobs, &session)
        .await
        .unwrap();
    assert_eq!(report.failed.len(), 2, "{report:?}");
    assert_eq!(session.on_disk("plain"), None);
    assert_eq!(
        fs::read_to_string(beside.join("a")).unwrap(),
        "not to be touched\n"
    );
    assert_eq!(fs::read_to_string(beside.join("b")).unwrap(), "outside\n");
}

#[tokio::test]
async fn nothing_is_touched_that_cannot_be_kept_put_on_record_or_is_not_what_was_seen() {
    let mut session = Session::new();
    session.place.write("a", "before\n");
    let input = session.say();
    session
        .call("write", json!({"path": "a", "content": "by the agent\n"}))
        .await;
    let plan = session.plan(input).await;
    let wish = RestoreRequest::of(&plan, |_| false);
    let history = session.history();
    *session.place.blobs.full.lock().unwrap() = true;
    session.outside("a", Some("changed while the person thought\n"));
    let report = restore(&history, &wish, &*session.place.blobs, &session)
        .await
        .unwrap();
    assert_eq!(report.failed[0].what, "it has changed since it was looked at");
    session.outside("a", Some("by the agent\n"));
    let full = restore(&history, &wish, &*session.place.blobs, &session).await;
    assert!(matches!(full, Err(RuntimeError::Log(_))), "{full:?}");
    *session.place.blobs.full.lock().unwrap() = false;
    session.deaf = true;
    assert!(
        restore(&history, &wish, &*session.place.blobs, &session)
            .await
            .is_err()
    );
    assert_eq!(session.on_disk("a").as_deref(), Some("by the agent\n"));
    session.deaf = false;
    // A file that cannot be restored is named, and the others are restored.
    session.place.write("sub/b", "before\n");
    let input = session.say();
    session
        .call("write", json!({"path": "sub/b", "content": "by the agent\n"}))
        .await;
    session
        .call("write", json!({"path": "c", "content": "by the agent\n"}))
        .await;
    let plan = session.plan(input).await;
    fs::remove_dir_all(session.path("sub")).unwrap();
    session.place.write("sub", "a file where a directory was\n");
    let report = session.restore(&plan, false).await;
    assert_eq!((report.restored.len(), report.failed.len()), (1, 1), "{report:?}");
    assert_eq!(session.on_disk("c"), None);
}

#[tokio::test]
async fn a_process_that_dies_in_between_leaves_no_doubt_about_its_own_work() {
    let session = Session::new();
    session.place.write("a", "before\n");
    session.place.write("b", "before\n");
    let input = session.say();
    for name in ["a", "b"] {
        session
            .call("write", json!({"path": name, "content": "by the agent\n"}))
            .await;
    }
    let plan = session.plan(input).await;
    session.restore(&plan, false).await;
    // As if the process had died after the first file: the end is not recorded, and one file is unchanged.
    session.facts.lock().unwrap().pop();
    session.outside("b", Some("by the agent\n"));
    let plan = session.plan(input).await;
    assert_eq!(plan.files.len(), 1);
    assert_eq!(file(&plan, "b").doubt, None);
}

/// Returns a session of eight files, of which one restore wrote three before its process died.
async fn cut_off() -> (Session, u64) {
    let session = Session::new();
    for name in EIGHT {
        session.place.write(name, "before\n");
    }
    let input = session.say();
    for name in EIGHT {
        session
            .call("write", json!({"path": name, "content": "after\n"}))
            .await;
    }
    session.restore(&session.plan(input).await, false).await;
    session.dies_having_done(3, "after\n");
    (session, input)
}

const EIGHT: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

impl Session {
    /// Imitates a process that died after this number of files of the latest restore: the others are
    /// unchanged, and the end is not recorded.
    fn dies_having_done(&self, done: usize, was: &str) {
        self.facts.lock().unwrap().pop();
        for name in &EIGHT[done..] {
            self.outside(name, Some(was));
        }
    }

    /// Performs `--undo`.
    async fn undo(&self) -> RestoreReport {
        let to_seq = self.history().restorings().last().unwrap().undo_to();
        self.restore(&self.plan(to_seq).await, false).await
    }

    fn has_all(&self, words: &str) -> bool {
        EIGHT
            .iter()
            .all(|name| self.on_disk(name).as_deref() == Some(words))
    }
}

#[tokio::test]
async fn a_restore_that_was_cut_off_and_is_repeated_is_taken_back_as_one() {
    let (session, input) = cut_off().await;
    assert!(session.history().unfinished().is_some());
    let report = session.restore(&session.plan(input).await, false).await;
    assert_eq!(report.restored.len(), 5, "{report:?}");
    assert!(session.has_all("before\n") && session.history().unfinished().is_none());
    for words in ["after\n", "before\n", "after\n"] {
        let report = session.undo().await;
        assert_eq!((report.restored.len(), report.failed.len()), (8, 0), "{report:?}");
        assert!(session.has_all(words));
    }
}

#[tokio::test]
async fn a_restore_that_was_cut_off_is_taken_back_at_once_too() {
    let (session, _) = cut_off().await;
    assert_eq!(session.undo().await.restored.len(), 3);
    assert!(session.has_all("after\n"));
}

#[tokio::test]
async fn an_undo_that_was_cut_off_is_finished_by_the_next_one() {
    for done in [7, 8] {
        let (session, input) = cut_off().await;
        session.restore(&session.plan(input).await, false).await;
        session.undo().await;
        session.dies_having_done(done, "before\n");
        let report = session.undo().await;
        assert_eq!(report.restored.len(), 8 - done, "{report:?}");
        assert!(
            session.has_all("after\n"),
            "the same command does not go the opposite way"
        );
        for words in ["before\n", "after\n"] {
            assert_eq!(session.undo().await.restored.len(), 8);
            assert!(session.has_all(words));
        }
    }
}

#[tokio::test]
async fn what_was_done_between_a_restore_that_was_cut_off_and_the_next_one_stays() {
    let (session, input) = cut_off().await;
    session
        .call("write", json!({"path": "a", "content": "later\n"}))
        .await;
    session.restore(&session.plan(input).await, false).await;
    session.undo().await;
    assert_eq!(session.on_disk("a").as_deref(), Some("later\n"));
}

/// Returns the number of a process that is gone.
fn gone() -> u32 {
    let mut child = std::process::Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    child.id()
}

#[tokio::test]
async fn what_a_killed_process_left_beside_a_file_goes_with_the_next_change_there() {
    let session = Session::new();
    let own = std::process::id();
    let left = [gone(), own].map(|process| format!(".agentx-{process}-1000000.tmp"));
    let stay = [
        ".agentx-1-0.tmp".to_owned(),
        format!(".agentx-{own}-0.tmp"),
        format!(".agentx-{}-x.tmp", gone()),
        format!("agentx-{}-0.tmp", gone()),
    ];
    let leave = |directory: &str| {
        for name in left.iter().chain(&stay) {
            session.place.write(&format!("{directory}{name}"), "half");
        }
    };
    let check = |directory: &str| {
        for name in &left {
            assert_eq!(session.on_disk(&format!("{directory}{name}")), None, "{name}");
        }
        for name in &stay {
            assert!(session.on_disk(&format!("{directory}{name}")).is_some(), "{name}");
        }
    };
    // A number below that of this process's next file.
    session.call("write", json!({"path": "x", "content": ""})).await;
    leave("sub/");
    let held = fs::File::create(session.path("sub/.agentx-999999999-0.tmp")).unwrap();
    held.lock().unwrap();
    let input = session.say();
    session
        .call("write", json!({"path": "sub/new", "content": "new\n"}))
        .await;
    check("sub/");
    assert!(
        session.path("sub/.agentx-999999999-0.tmp").exists(),
        "somebody holds it"
    );
    leave("sub/");
    session.restore(&session.plan(input).await, false).await;
    check("sub/");
}

const NAMES: [&str; 4] = ["a", "b", "dir/c", "dir/sub/d"];
const WORDS: [&str; 4] = ["x\n", "y\n", "x\ny\n", ""];

/// An event of the random history.
#[derive(Clone, Debug)]
enum Step {
    Say,
    Write(usize, usize),
    Edit(usize),
    Outside(usize, Option<usize>),
    Chmod(usize),
    Rewind { back: usize, doubted: bool },
    Undo { doubted: bool },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let name = 0..NAMES.len();
    let step = prop_oneof![
        2 => Just(Step::Say),
        5 => (name.clone(), 0..WORDS.len()).prop_map(|(name, words)| Step::Write(name, words)),
        3 => name.clone().prop_map(Step::Edit),
        3 => (name.clone(), proptest::option::of(0..WORDS.len())).prop_map(|(name, words)| Step::Outside(name, words)),
        1 => name.prop_map(Step::Chmod),
        2 => (0..5_usize, any::<bool>()).prop_map(|(back, doubted)| Step::Rewind { back, doubted }),
        1 => any::<bool>().prop_map(|doubted| Step::Undo { doubted }),
    ];
    proptest::collection::vec(step, 1..40)
}

type Disk = BTreeMap<&'static str, String>;

/// An event that touched a file: its `seq`, and the contents before and after it.
type Touch = (u64, Option<String>, Option<String>);

/// The expected state, independent of the tested code: the disk before each event that changed it.
#[derive(Default)]
struct Oracle {
    inputs: Vec<u64>,
    touched: BTreeMap<&'static str, Vec<Touch>>,
}

impl Oracle {
    fn expected(&self, name: &str, to: u64) -> Option<Option<String>> {
        let first = self.touched.get(name)?.iter().find(|(seq, ..)| *seq >= to)?;
        Some(first.1.clone())
    }

    /// Returns whether restoring the state at `to` would discard somebody else's work.
    fn is_foreign(&self, name: &str, to: u64, now: Option<&String>) -> bool {
        let Some(touched) = self.touched.get(name) else {
            return false;
        };
        let since = touched.last().is_some_and(|(_, _, left)| left.as_ref() != now);
        let pairs = touched.windows(2).filter(|pair| pair[0].0 >= to);
        since || pairs.into_iter().any(|pair| pair[0].2 != pair[1].1)
    }
}

fn disk(session: &Session) -> Disk {
    let read = |name: &&'static str| Some((*name, session.on_disk(name)?));
    NAMES.iter().filter_map(read).collect()
}

impl Oracle {
    async fn rewind(&mut self, session: &Session, to: u64, doubted: bool) -> Option<u64> {
        let before = disk(session);
        let plan = session.plan(to).await;
        let asked: BTreeSet<String> = plan
            .files
            .iter()
            .filter(|file| file.doubt.is_some())
            .map(|file| file.shown.clone())
            .collect();
        for planned in &plan.files {
            let now = before.get(planned.shown.as_str());
            assert_eq!(planned.blocked, None, "{planned:?}");
            if self.is_foreign(&planned.shown, to, now) {
                assert!(planned.doubt.is_some(), "lost without a word: {planned:?}");
            }
        }
        let report = session.restore(&plan, doubted).await;
        assert!(report.failed.is_empty(), "{report:?}");
        for name in NAMES {
            let now = session.on_disk(name);
            let kept = asked.contains(name) && !doubted;
            match self.expected(name, to).filter(|_| !kept) {
                Some(expected) => assert_eq!(now, expected, "{name} as before {to}"),
                None => assert_eq!(now, before.get(name).cloned(), "{name} was nobody's wish"),
            }
            if let Some(seq) = report.seq
                && now != before.get(name).cloned()
            {
                let found = (seq, before.get(name).cloned(), now);
                self.touched.entry(name).or_default().push(found);
            }
        }
        report.seq
    }
}

async fn live(steps: Vec<Step>) {
    let session = Session::new();
    let mut oracle = Oracle::default();
    oracle.inputs.push(session.say());
    let mut last_rewind = None;
    for step in steps {
        match step {
            Step::Say => oracle.inputs.push(session.say()),
            Step::Outside(name, words) => session.outside(NAMES[name], words.map(|words| WORDS[words])),
            Step::Chmod(name) => {
                let mode = fs::Permissions::from_mode(0o755);
                drop(fs::set_permissions(session.path(NAMES[name]), mode));
            }
            Step::Write(name, words) => {
                tool(
                    &session,
                    &mut oracle,
                    NAMES[name],
                    "write",
                    json!({"content": WORDS[words]}),
                )
                .await
            }
            Step::Edit(name) => {
                tool(
                    &session,
                    &mut oracle,
                    NAMES[name],
                    "edit",
                    json!({"old_string": "x", "new_string": "z"}),
                )
                .await
            }
            Step::Rewind { back, doubted } => {
                let to = oracle.inputs[oracle.inputs.len().saturating_sub(back + 1)];
                last_rewind = oracle.rewind(&session, to, doubted).await.or(last_rewind);
            }
            Step::Undo { doubted } => {
                if let Some(seq) = last_rewind {
                    last_rewind = oracle.rewind(&session, seq, doubted).await.or(last_rewind);
                }
            }
        }
    }
}

async fn tool(session: &Session, oracle: &mut Oracle, name: &'static str, tool: &str, mut input: Value) {
    let before = session.on_disk(name);
    input["path"] = name.into();
    session.call(tool, input).await;
    let after = session.on_disk(name);
    if before != after {
        let seq = session.facts.lock().unwrap().len() as u64;
        oracle.touched.entry(name).or_default().push((seq, before, after));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn files_are_as_they_were_and_nothing_of_others_is_lost_in_silence(steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(live(steps));
    }
}
