//! Trust belongs to a folder: another one that comes to lie at its path has neither the trust, nor the rules,
//! nor the values.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot start fails")]

use crate::common::Sandbox;
use crate::pty::Pty;

/// Says what it kept the last time.
const KEEPER: &str = "name: keeper\ntype: luau\naccess: internal\ncapabilities: {kv: [notes]}\n\
    lua: 'return function(ctx) local old = ctx.kv.get(\"last\") ctx.kv.set(\"last\", \"kept\") return old or \"nothing\" end'\n";

/// A folder that is trusted, in which an answer kept a rule, and a tool a value.
fn lived_in() -> Sandbox {
    let sandbox = Sandbox::new().of_a_stranger();
    sandbox
        .write("ws/.agentx/tools/keeper.yaml", KEEPER)
        .write("ws/.git/HEAD", "ref: refs/heads/main\n");
    assert_eq!(sandbox.run(&["config", "trust"]).code, Some(0));
    keep_a_rule(&sandbox);
    assert!(kept(&sandbox).contains("nothing"));
    assert!(kept(&sandbox).contains("kept"));
    assert_eq!(decided(&sandbox), "allow");
    sandbox
}

fn keep_a_rule(sandbox: &Sandbox) {
    let mut chat = Pty::start(sandbox, &["--model", "demo"], 100, 30);
    chat.wait_for_last("›");
    chat.keys("run echo hello\r");
    chat.wait_for("allow? y once · s session · a always");
    chat.keys("a\r");
    chat.wait_for("│ hello");
    chat.wait_for_last("›");
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0));
}

fn kept(sandbox: &Sandbox) -> String {
    let ran = sandbox.run(&["tools", "run", "keeper", "{}"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    ran.stdout
}

/// Returns the decision about the line of the rule.
fn decided(sandbox: &Sandbox) -> String {
    let tested = sandbox.run(&["approvals", "test", "bash", "echo hello"]);
    tested.stdout.split(':').next().unwrap_or_default().to_owned()
}

/// Puts another folder with the same files in the place of the first one, which is still there: no inode is
/// used again.
pub(crate) fn replace(sandbox: &Sandbox, what: &str) {
    let (path, old) = (sandbox.path(what), sandbox.path("old"));
    std::fs::rename(&path, &old).unwrap();
    let copied = std::process::Command::new("cp")
        .arg("-r")
        .args([&old, &path])
        .status();
    assert!(copied.unwrap().success());
}

/// Everywhere it is said that another folder lies there, and nothing of the one before holds.
fn is_another_one(sandbox: &Sandbox) {
    let ran = sandbox.run(&["run", "hello"]);
    assert!(
        ran.stderr.contains("another folder is at") && ran.stderr.contains("the previous one (trusted)"),
        "{ran}"
    );
    assert!(
        ran.stderr.contains("not loaded: .agentx/tools/keeper.yaml"),
        "{ran}"
    );
    let shown = sandbox.run(&["config", "trust", "--show"]);
    assert!(shown.stdout.contains("Another folder is here now"), "{shown}");
    let looked = sandbox.run(&["doctor", "--offline"]);
    assert!(looked.stdout.contains("another folder is at"), "{looked}");
    for command in [&["config", "check"][..], &["approvals", "list"]] {
        let told = sandbox.run(command);
        assert!(
            told.stderr.contains("belongs to another folder and")
                && told.stderr.contains("`agentx approvals remove 1`"),
            "{told}"
        );
    }
    assert_eq!(decided(sandbox), "ask");
    let mut chat = Pty::start(sandbox, &["--model", "demo"], 100, 30);
    chat.wait_for("Another folder is here now");
    chat.wait_for("How far do you trust it?");
    chat.keys("1\r");
    chat.wait_for_last("›");
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0));
    assert!(!sandbox.run(&["run", "hello"]).stderr.contains("another folder"));
    assert_eq!(decided(sandbox), "ask", "trust brings no rule back");
    assert!(kept(sandbox).contains("nothing"), "trust brings no value back");
}

#[test]
fn another_folder_at_a_trusted_path_is_a_stranger() {
    let sandbox = lived_in();
    replace(&sandbox, "ws");
    is_another_one(&sandbox);
    // A rule can be kept anew beside the old one, which `remove` takes out.
    keep_a_rule(&sandbox);
    assert_eq!(decided(&sandbox), "allow");
    let listed = sandbox.run(&["approvals", "list"]);
    let numbered = |number: &str| {
        let mut lines = listed.stdout.lines();
        lines.any(|line| line.starts_with(number) && line.contains("echo"))
    };
    assert!(
        numbered("1 ") && listed.stderr.contains("`agentx approvals remove 2`"),
        "{listed}"
    );
    assert_eq!(sandbox.run(&["approvals", "remove", "2"]).code, Some(0));
    assert_eq!(decided(&sandbox), "allow");
    let checked = sandbox.run(&["config", "check"]);
    assert!(
        !checked.stderr.contains("belongs to another folder and"),
        "{checked}"
    );
}

/// Puts the folder back that lay there before [`replace`].
fn put_back(sandbox: &Sandbox) {
    std::fs::rename(sandbox.path("ws"), sandbox.path("other")).unwrap();
    std::fs::rename(sandbox.path("old"), sandbox.path("ws")).unwrap();
}

#[test]
fn what_tools_kept_is_there_again_when_their_folder_is() {
    let sandbox = lived_in();
    replace(&sandbox, "ws");
    assert_eq!(sandbox.run(&["config", "trust"]).code, Some(0));
    assert!(kept(&sandbox).contains("nothing"), "another folder has its own");
    assert!(kept(&sandbox).contains("kept"));
    put_back(&sandbox);
    assert_eq!(sandbox.run(&["config", "trust"]).code, Some(0));
    assert!(kept(&sandbox).contains("kept"));
    let revoked = sandbox.run(&["config", "trust", "--revoke"]);
    assert!(revoked.stdout.contains("removed 1 value"), "{revoked}");
    sandbox.run(&["config", "trust"]);
    assert!(kept(&sandbox).contains("nothing"));
}

#[test]
fn what_is_said_of_another_folder_takes_nothing_from_the_one_before() {
    for flag in ["--restricted", "--revoke"] {
        let sandbox = lived_in();
        replace(&sandbox, "ws");
        let told = sandbox.run(&["config", "trust", flag]);
        assert!(
            !told.stdout.contains("allow bash") && !told.stdout.contains("value"),
            "{flag}: {told}"
        );
        put_back(&sandbox);
        assert_eq!(sandbox.run(&["config", "trust"]).code, Some(0));
        assert_eq!(decided(&sandbox), "allow", "{flag}");
        assert!(kept(&sandbox).contains("kept"), "{flag}");
    }
}

#[test]
fn a_folder_with_another_repository_is_a_stranger() {
    let sandbox = lived_in();
    replace(&sandbox, "ws/.git");
    is_another_one(&sandbox);
}

#[test]
fn a_folder_that_becomes_a_repository_is_still_trusted() {
    let sandbox = Sandbox::new().of_a_stranger();
    sandbox.write("ws/.agentx/tools/keeper.yaml", KEEPER);
    sandbox.run(&["config", "trust"]);
    keep_a_rule(&sandbox);
    assert!(kept(&sandbox).contains("nothing"));
    sandbox.write("ws/.git/HEAD", "ref: refs/heads/main\n");
    assert!(kept(&sandbox).contains("kept"));
    assert_eq!(decided(&sandbox), "allow");
    let ran = sandbox.run(&["run", "hello"]);
    assert!(!ran.stderr.contains("another folder"), "{ran}");
    // From now on it has to stay.
    replace(&sandbox, "ws/.git");
    let ran = sandbox.run(&["run", "hello"]);
    assert!(ran.stderr.contains("another folder is at"), "{ran}");
    assert_eq!(decided(&sandbox), "ask", "the rule is older than the repository");
    sandbox.run(&["config", "trust"]);
    assert_eq!(decided(&sandbox), "ask", "trust brings no rule back");
}

#[test]
fn whoever_takes_trust_back_takes_its_rules_and_values_along() {
    let sandbox = lived_in();
    let revoked = sandbox.run(&["config", "trust", "--revoke"]);
    assert!(
        revoked
            .stdout
            .contains("config.yaml: allow bash \"echo *\" (only in")
            && revoked
                .stdout
                .contains("removed 1 value that its tools kept (key space: notes)"),
        "{revoked}"
    );
    assert_eq!(decided(&sandbox), "ask");
    sandbox.run(&["config", "trust"]);
    assert!(kept(&sandbox).contains("nothing"));
    let again = sandbox.run(&["config", "trust", "--revoke"]);
    assert!(!again.stdout.contains("allow bash"), "{again}");
}

#[test]
fn a_restricted_folder_loses_its_rules_and_what_cannot_be_removed_is_named() {
    let sandbox = lived_in();
    let place = std::fs::canonicalize(sandbox.path("ws")).unwrap();
    let place = place.display();
    // A person wrote the last one in a way that nothing can be taken out of safely.
    sandbox.config(&format!(
        "rules:\n  - {{effect: allow, tool: bash, argument: \"echo *\", workspace: \"{place}\"}}\n  - {{effect: deny, tool: bash, \
         argument: \"rm *\", workspace: \"{place}\"}}\n  - {{effect: allow, tool: bash, argument: \"ls *\"}}\n  -\n    effect: allow\n    \
         tool: bash\n    argument: make *\n    workspace: \"{place}\"\n"
    ));
    let restricted = sandbox.run(&["config", "trust", "--restricted"]);
    assert!(
        restricted
            .stdout
            .contains("1 value that its tools kept (key space: notes) stay"),
        "{restricted}"
    );
    let left = std::fs::read_to_string(sandbox.path("home/.config/agentx/config.yaml")).unwrap();
    assert!(
        !left.contains("echo *") && left.contains("rm *") && left.contains("ls *"),
        "{left}"
    );
    assert!(
        left.contains("make *")
            && restricted.stdout.contains("remove it by hand (")
            && restricted.stdout.contains("config.yaml:6"),
        "{restricted}{left}"
    );
}
