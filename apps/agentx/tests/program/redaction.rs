//! Secrets that a person marks are replaced from then on; recorded ones are taken out of a session, which still
//! verifies, and of every byte of the database.
#![allow(clippy::unwrap_used, reason = "a test that cannot start fails")]

use serde_json::Value;

use crate::common::{Ran, Sandbox};

/// A made-up secret without a published form.
const KEY: &str = "walrus5f2c81d09be34a7766";

/// The output as it is, with its ids.
fn output(sandbox: &Sandbox, args: &[&str]) -> String {
    let ran = sandbox.command(args).output().unwrap();
    let words = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(0), "{args:?}: {words}");
    String::from_utf8(ran.stdout).unwrap()
}

/// A session in which a person says the key, and a command prints it.
fn planted(sandbox: &Sandbox) -> String {
    let ran = sandbox.run(&["run", "--quiet", "--yes", &format!("run echo {KEY}")]);
    assert_eq!(ran.code, Some(0), "{ran}");
    sandbox.latest_id([])
}

/// The files of the data directory that have the key.
fn files_with_key(sandbox: &Sandbox) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![sandbox.path("home/.local/share/agentx")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let bytes = std::fs::read(&path).unwrap();
                if bytes.windows(KEY.len()).any(|part| part == KEY.as_bytes()) {
                    found.push(path.file_name().unwrap().to_string_lossy().into_owned());
                }
            }
        }
    }
    found
}

fn redacted(sandbox: &Sandbox, id: &str) -> Ran {
    let args = ["sessions", "redact", id, "--value-from-stdin", "--name", "WIFI"];
    let ran = sandbox.run_with_input(&args, &format!("{KEY}\n"));
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(!format!("{}{}", ran.stdout, ran.stderr).contains(KEY), "{ran}");
    ran
}

#[test]
fn a_value_is_taken_out_of_a_session_that_still_verifies_and_of_every_byte() {
    let sandbox = Sandbox::new();
    let id = planted(&sandbox);
    let fork: Value = serde_json::from_str(&output(&sandbox, &["fork", "--json", &id])).unwrap();
    let fork = fork["session_id"].as_str().unwrap().to_owned();
    assert!(files_with_key(&sandbox).contains(&"sessions.db".to_owned()));

    let ran = redacted(&sandbox, &id);
    assert!(ran.stdout.contains("WIFI taken out of"), "{ran}");
    assert!(!ran.stderr.contains("still there"), "{ran}");
    assert_eq!(files_with_key(&sandbox), Vec::<String>::new());
    for session in [&id, &fork] {
        let said = output(&sandbox, &["sessions", "verify", session]);
        assert!(said.contains("texts were taken out of"), "{said}");
        output(&sandbox, &["replay", session]);
        let document = output(&sandbox, &["sessions", "export", "--format", "json", session]);
        assert!(
            document.contains("[secret WIFI]") && !document.contains(KEY),
            "{document}"
        );
    }
    assert!(output(&sandbox, &["sessions", "list"]).contains("run echo [secret WIFI]"));
    // It goes on, and can be copied.
    let on = ["run", "--quiet", "--session", &id, "thanks"];
    assert_eq!(sandbox.run(&on).code, Some(0));
    output(&sandbox, &["fork", &id]);
    output(&sandbox, &["sessions", "verify", &id]);
    let again = redacted(&sandbox, &id);
    assert!(again.stdout.contains("nothing was found"), "{again}");
}

#[test]
fn what_a_scan_finds_is_taken_out_of_a_session() {
    let sandbox = Sandbox::new();
    let id = planted(&sandbox);
    let sandbox = sandbox.env("WALRUS_TOKEN", KEY);
    assert!(output(&sandbox, &["sessions", "scan", "--all"]).contains("WALRUS_TOKEN"));
    let unsure = sandbox.run(&["sessions", "redact", &id, "--found"]);
    assert_eq!(unsure.code, Some(2), "{unsure}");
    output(&sandbox, &["sessions", "redact", &id, "--found", "--yes"]);
    assert_eq!(
        output(&sandbox, &["sessions", "scan", &id]),
        "no known secret is recorded\n"
    );
}

#[test]
fn a_short_value_and_an_unknown_session_are_refused() {
    let sandbox = Sandbox::new();
    let id = planted(&sandbox);
    let short = ["sessions", "redact", &id, "--value-from-stdin"];
    let refused = sandbox.run_with_input(&short, "abc\n");
    assert_eq!(refused.code, Some(2), "{refused}");
    assert!(refused.stderr.contains("fewer than 8 bytes"), "{refused}");
    let unknown = ["sessions", "redact", "ses_nosuch", "--value-from-stdin"];
    assert_eq!(sandbox.run_with_input(&unknown, KEY).code, Some(8));
}

#[test]
fn words_of_a_deleted_session_are_in_no_byte_of_the_data_directory() {
    let sandbox = Sandbox::new();
    let id = planted(&sandbox);
    assert!(!files_with_key(&sandbox).is_empty());
    output(&sandbox, &["sessions", "delete", "--yes", &id]);
    assert_eq!(files_with_key(&sandbox), Vec::<String>::new());
}

#[test]
fn a_marked_value_is_replaced_listed_by_name_and_forgotten() {
    let sandbox = Sandbox::new();
    let add = ["secrets", "add", "WIFI", "--value-from-stdin"];
    let marked = sandbox.run_with_input(&add, &format!("{KEY}\n"));
    assert_eq!(marked.code, Some(0), "{marked}");
    let listed = output(&sandbox, &["secrets"]);
    assert!(listed.contains("WIFI") && !listed.contains(KEY), "{listed}");
    assert_eq!(
        sandbox.run_with_input(&add, KEY).code,
        Some(2),
        "the name is taken"
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let file = sandbox.path("home/.local/share/agentx/secrets.json");
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
    let id = planted(&sandbox);
    let document = output(&sandbox, &["sessions", "export", "--format", "json", &id]);
    assert!(
        document.contains("[secret WIFI]") && !document.contains(KEY),
        "{document}"
    );
    assert_eq!(files_with_key(&sandbox), ["secrets.json"]);

    output(&sandbox, &["secrets", "remove", "WIFI"]);
    assert!(!output(&sandbox, &["secrets", "list"]).contains("WIFI"));
    assert_eq!(sandbox.run(&["secrets", "remove", "WIFI"]).code, Some(2));
    assert_eq!(
        sandbox.run(&["secrets", "add", "WIFI"]).code,
        Some(2),
        "nobody types it"
    );
}
