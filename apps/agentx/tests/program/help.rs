//! The program's help.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot start fails")]

use crate::common::Sandbox;

#[test]
fn help_of_every_command() {
    let sandbox = Sandbox::new();
    let commands: [&[&str]; 26] = [
        &["--help"],
        &["help", "chat"],
        &["help", "run"],
        &["help", "resume"],
        &["help", "fork"],
        &["help", "sessions"],
        &["help", "sessions", "list"],
        &["help", "sessions", "share"],
        &["help", "serve"],
        &["help", "mirror"],
        &["help", "replay"],
        &["help", "context"],
        &["help", "approvals"],
        &["help", "approvals", "replay"],
        &["help", "config"],
        &["help", "config", "trust"],
        &["help", "identity"],
        &["help", "identity", "new"],
        &["help", "identity", "trust"],
        &["help", "debug", "decode"],
        &["help", "usage"],
        &["help", "sessions", "export"],
        &["help", "doctor"],
        &["help", "config", "set"],
        &["help", "exit-codes"],
        &["help", "settings"],
    ];
    for args in commands {
        let ran = sandbox.run(args);
        assert_eq!(ran.code, Some(0), "{ran}");
        let name = args
            .iter()
            .filter(|word| **word != "help")
            .map(|word| word.trim_start_matches('-'))
            .collect::<Vec<_>>();
        insta::assert_snapshot!(format!("help_{}", name.join("_")), ran);
    }
}

#[test]
fn version() {
    let ran = Sandbox::new().run(&["--version"]);
    assert_eq!((ran.stdout.as_str(), ran.code), ("agentx [version]\n", Some(0)));
}
