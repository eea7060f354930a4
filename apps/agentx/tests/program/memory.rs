//! `agentx memory` by hand: what a person adds, and what is never kept.

#![allow(clippy::unwrap_used, reason = "a test: it fails by panicking")]

use crate::common::Sandbox;

#[test]
fn a_secret_that_is_known_becomes_no_memory() {
    let sandbox = Sandbox::new();
    let secret = "tok3n-Ahj29sKx81Lm";
    let with_secret = |args: &[&str]| {
        let mut command = sandbox.command(args);
        command.env("DEPLOY_TOKEN", secret).output().unwrap()
    };
    let added = with_secret(&["memory", "add", "deploys go over staging"]);
    assert!(added.status.success(), "{added:?}");
    for args in [
        &["memory", "add", "the token is tok3n-Ahj29sKx81Lm"][..],
        &["memory", "edit", "1", "use tok3n-Ahj29sKx81Lm"],
    ] {
        let refused = with_secret(args);
        let said = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{said}");
        assert!(said.contains("DEPLOY_TOKEN") && !said.contains(secret), "{said}");
    }
    let listed = sandbox.run(&["memory", "list"]);
    assert!(listed.stdout.contains("deploys go over staging"), "{listed}");
    assert!(!listed.stdout.contains("tok3n"), "{listed}");
}
