//! `agentx identity`: being somebody, and trusting others.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot start fails")]

use std::os::unix::fs::PermissionsExt as _;

use crate::common::{Ran, Sandbox};
use crate::pty::Pty;
use serde_json::Value;

const IDENTITY: &str = "home/.local/share/agentx/identity";
const PEOPLE: &str = "home/.local/share/agentx/people.json";

/// The keys of the first two test vectors of RFC 8032, which are nobody's.
const ADA: &str = "ed25519:11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
const BOB: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAID1AF8PoQ4lakrcKp00bfrycmCzPLsSWjM0Fx9HwUbUL bob@laptop";

/// Somebody whose secret everybody knows.
fn somebody() -> Sandbox {
    let sandbox = Sandbox::new();
    private(
        &sandbox,
        IDENTITY,
        "agentx-identity 1\nBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=\n",
    );
    sandbox
}

fn private(sandbox: &Sandbox, path: &str, text: &str) {
    sandbox.write(path, text);
    set_mode(sandbox, path, 0o600);
}

fn set_mode(sandbox: &Sandbox, path: &str, mode: u32) {
    std::fs::set_permissions(sandbox.path(path), std::fs::Permissions::from_mode(mode)).unwrap();
}

fn json(ran: &Ran) -> Value {
    assert_eq!(ran.code, Some(0), "{ran}");
    serde_json::from_str(&ran.stdout).unwrap()
}

fn all(sandbox: &Sandbox, lines: &[&[&str]]) -> String {
    let ran = lines.iter().map(|args| sandbox.run(args).to_string());
    ran.collect::<Vec<_>>().join("\n\n")
}

#[test]
fn people_are_trusted_changed_listed_and_let_go() {
    let sandbox = somebody();
    let bob: Vec<&str> = BOB.split(' ').collect();
    let lines: [&[&str]; 13] = [
        &["identity", "show"],
        &["identity", "export"],
        &["identity", "trust", ADA, "--name", "ada", "--as", "member"],
        &["identity", "trust", bob[0], bob[1], bob[2]],
        &["identity", "trust", bob[0], bob[1], bob[2], "--as", "member"],
        &["identity", "trust", BOB, "--as", "operator"],
        &["identity", "trust", BOB, "--name", "bob"],
        &["identity", "trust", ADA, "--name", "countess", "--as", "member"],
        &["identity", "list"],
        &["identity", "list", "--json"],
        &["identity", "untrust", "countess"],
        &["identity", "untrust", BOB],
        &["identity", "list"],
    ];
    insta::assert_snapshot!("people", all(&sandbox, &lines));
}

#[test]
fn what_makes_no_sense() {
    let sandbox = Sandbox::new();
    let nobody: [&[&str]; 5] = [
        &["identity", "show"],
        &["identity", "export"],
        &["identity", "list"],
        &["identity", "untrust", "ada"],
        &["identity", "new", "--from", "missing"],
    ];
    let mut told = vec![all(&sandbox, &nobody)];
    let sandbox = somebody();
    let own = json(&sandbox.run(&["identity", "show", "--json"]));
    sandbox.write("ws/id.pub", BOB);
    sandbox.write("ws/id", "-----BEGIN PRIVATE KEY-----\n");
    sandbox.run(&["identity", "trust", ADA, "--name", "twin", "--as", "member"]);
    sandbox.run(&["identity", "trust", BOB, "--name", "twin", "--as", "member"]);
    let somebody: [&[&str]; 10] = [
        &["identity", "new"],
        &["identity", "new", "--from", "id.pub", "--force"],
        &["identity", "new", "--from", "id", "--force"],
        &["identity", "trust"],
        &["identity", "trust", "ada"],
        &["identity", "trust", "ed25519:short"],
        &["identity", "trust", "ssh-rsa", "AAAA", "me@here"],
        &["identity", "trust", ADA, "--as", "king"],
        &["identity", "trust", ADA, "--name", "a\nb"],
        &["identity", "untrust", "twin"],
    ];
    told.push(all(&sandbox, &somebody));
    let own = own["public_key"].as_str().unwrap();
    told.push(sandbox.run(&["identity", "trust", own]).to_string());
    insta::assert_snapshot!("mistakes", told.join("\n\n"));
}

#[test]
fn files_that_are_not_in_order() {
    let sandbox = somebody();
    set_mode(&sandbox, IDENTITY, 0o644);
    let mut told = vec![all(&sandbox, &[&["identity", "show"], &["identity", "new"]])];
    set_mode(&sandbox, IDENTITY, 0o600);
    private(&sandbox, PEOPLE, "[\n  {\"public_key\": \"ed25519:x\"}\n]\n");
    told.push(all(
        &sandbox,
        &[&["identity", "list"], &["identity", "trust", ADA]],
    ));
    private(&sandbox, PEOPLE, "[]\n");
    set_mode(&sandbox, PEOPLE, 0o666);
    told.push(sandbox.run(&["identity", "list"]).to_string());
    private(&sandbox, IDENTITY, "something else\n");
    told.push(sandbox.run(&["identity", "show"]).to_string());
    insta::assert_snapshot!("files", told.join("\n\n"));
}

/// A private key with the passphrase `sesame`, made by `ssh-keygen` for this test, and its public half. It is
/// nobody's.
const LOCKED: &str = "\
-----BEGIN OPENSSH PRIVATE KEY-----
b3BlbnNzaC1rZXktdjEAAAAACmFlczI1Ni1jdHIAAAAGYmNyeXB0AAAAGAAAABCxtpoaxI
+q/cftPUdDXvxgAAAAAQAAAAEAAAAzAAAAC3NzaC1lZDI1NTE5AAAAIG863r3dLlu5vwVE
+qvZmjXhaxCNqb0mEc3dXxwwo98KAAAAoMINKGnNYqJEALAjWg85Gi6Usyq8kr8FA4TJjY
xIkeI5v7Dc11KObWPHZ5zCgoeSUqk4hUhXtfBZ43yWYQKUTjw85p/3TxHdNhA3KShTydlY
4spdiJ5eO6XQzBIeILvmy2WMhF09VleBBso3hfZO2Y4oHs3S4/Keszkotc0k8sRk0JMxkH
hCcm1a46yyEru9tUe3PGJTJLSerxVniv2HuOE=
-----END OPENSSH PRIVATE KEY-----
";
const LOCKED_PUBLIC: &str = "AAAAC3NzaC1lZDI1NTE5AAAAIG863r3dLlu5vwVE+qvZmjXhaxCNqb0mEc3dXxwwo98K";

#[test]
fn the_passphrase_of_a_key_is_asked_for_on_a_terminal() {
    let new = ["identity", "new", "--from", "locked"];
    let sandbox = Sandbox::new();
    sandbox.write("ws/locked", LOCKED);
    let without_terminal = sandbox.run(&new);
    assert_eq!(without_terminal.code, Some(2), "{without_terminal}");
    assert!(
        without_terminal.stderr.contains("run this command on a terminal"),
        "{without_terminal}"
    );
    let mut wrong = Pty::start(&sandbox, &new, 120, 20);
    wrong.wait_for("Passphrase of locked:");
    // The lines for the next questions are typed before these are asked.
    wrong.keys("simsim\rsimsim\rsimsim\r");
    wrong.wait_for("this is not the passphrase of the key; it was wrong 3 times");
    assert_eq!(wrong.end(), Some(2), "{:?}", wrong.lines());
    let screen = wrong.lines().join("\n");
    assert_eq!(screen.matches("Passphrase of locked:").count(), 3, "{screen}");
    assert!(!screen.contains("simsim"), "{screen}");
    let mut interrupted = Pty::start(&sandbox, &new, 120, 20);
    interrupted.wait_for("Passphrase of locked:");
    interrupted.keys("sim\u{3}");
    interrupted.wait_for("interrupted");
    assert_eq!(interrupted.end(), Some(2), "{:?}", interrupted.lines());
    let mut second = Pty::start(&sandbox, &new, 120, 20);
    second.wait_for("Passphrase of locked:");
    second.keys("simsim\r");
    second.wait_for("this is not the passphrase of the key");
    second.keys("sesame\r");
    second.wait_for("public key");
    assert!(!second.lines().join("\n").contains("sesame"));
    assert_eq!(second.end(), Some(0), "{:?}", second.lines());
    let sandbox = Sandbox::new();
    sandbox.write("ws/locked", LOCKED);
    let mut right = Pty::start(&sandbox, &new, 120, 20);
    right.wait_for("Passphrase of locked:");
    right.keys("sesame\r");
    right.wait_for("public key");
    let exported = sandbox.run(&["identity", "export"]);
    assert!(exported.stdout.contains(LOCKED_PUBLIC), "{exported}");
}

#[test]
fn an_identity_can_be_taken_elsewhere() {
    let here = Sandbox::new();
    let made = json(&here.run(&["identity", "new", "--json"]));
    let secret = here.run(&["identity", "export", "--secret"]);
    assert!(secret.stderr.starts_with("warning: "), "{}", secret.stderr);
    let there = somebody();
    there.write("ws/moved", &secret.stdout);
    let refused = there.run(&["identity", "new", "--from", "moved"]);
    assert_eq!(refused.code, Some(2), "{refused}");
    let moved = there.run(&["identity", "new", "--from", "moved", "--force", "--json"]);
    assert!(
        moved.stderr.starts_with("note: you are no longer ed25519:"),
        "{moved}"
    );
    assert_eq!(json(&moved), made);
    assert_eq!(json(&there.run(&["identity", "show", "--json"])), made);
    let mode = std::fs::metadata(there.path(IDENTITY))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn the_secret_is_printed_only_where_it_was_asked_for() {
    let sandbox = somebody();
    let told = all(
        &sandbox,
        &[
            &["identity", "show"],
            &["identity", "show", "--json"],
            &["identity", "list", "--json"],
            &["identity", "export"],
            &["identity", "new"],
            &["identity", "new", "--force"],
        ],
    );
    assert!(
        !told.contains("BwcHBwcH") && !told.contains("PRIVATE KEY"),
        "{told}"
    );
}

#[test]
fn another_directory_is_another_person() {
    let sandbox = somebody();
    let one = json(&sandbox.run(&["identity", "show", "--json"]));
    let two = json(&sandbox.run(&["--data", "elsewhere", "identity", "new", "--json"]));
    assert_ne!(one["person"], two["person"]);
    assert!(sandbox.path("ws/elsewhere/identity").exists());
}
