//! Files that a prompt names with `@`: the same in a run and in a chat.

use crate::common::Sandbox;
use serde_json::Value;

/// The request that the model of the latest session got last.
fn asked(sandbox: &Sandbox) -> String {
    let output = |args: &[&str]| sandbox.command(args).output().unwrap().stdout;
    let listed: Value = serde_json::from_slice(&output(&["sessions", "list", "--json"])).unwrap();
    let id = listed[0]["session_id"].as_str().unwrap();
    String::from_utf8(output(&["context", id])).unwrap()
}

#[test]
fn a_run_sends_the_files_that_its_prompt_names() {
    let sandbox = Sandbox::new();
    sandbox.write("ws/tides.txt", "high at noon");
    let ran = sandbox.run(&["run", "sum up @tides.txt, please"]);
    assert_eq!(
        (ran.code, ran.stderr.contains("nothing was attached")),
        (Some(0), false),
        "{ran}"
    );
    assert!(asked(&sandbox).contains("high at noon"), "{}", asked(&sandbox));
    // What comes on standard input names no file: it is what another program says.
    let ran = sandbox.run_with_input(&["run", "what is this"], "see @tides.txt\n");
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(!asked(&sandbox).contains("high at noon"), "{}", asked(&sandbox));
}

#[test]
fn a_name_that_is_no_file_is_said_and_the_words_are_sent() {
    let sandbox = Sandbox::new();
    sandbox.write("ws/tides.txt", "high at noon");
    let words = "why does @tides say so, @ada, see ada@example.com and @property";
    let ran = sandbox.run(&["run", words]);
    assert_eq!(ran.code, Some(0), "{ran}");
    let note = "note: there is no file tides, so nothing was attached; did you mean @tides.txt?";
    assert!(ran.stderr.lines().any(|line| line == note), "{ran}");
    assert!(asked(&sandbox).contains(words), "{}", asked(&sandbox));
    let quiet = sandbox.run(&["run", "--quiet", words]);
    assert!(
        quiet.code == Some(0) && !quiet.stderr.contains("tides"),
        "{quiet}"
    );
    // The model can look at a directory.
    std::fs::create_dir(sandbox.path("ws/ships")).unwrap();
    let words = "look into @ships/";
    let chat = sandbox.run_with_input(&[], &format!("{words}\n"));
    assert!(chat.stdout.contains("note: ships/ is a directory"), "{chat}");
    assert!(asked(&sandbox).contains(words), "{}", asked(&sandbox));
}

#[test]
fn a_message_that_names_a_missing_file_is_not_sent_in_a_chat_either() {
    let sandbox = Sandbox::new();
    sandbox.write("ws/mine.rs", "fn main() {}");
    let words = "compare @nosuch.rs and @./none with mine";
    let told = "there is no file nosuch.rs, so nothing was attached\n\
                there is no file ./none, so nothing was attached\n\
                hint: nothing was sent; correct the name, or enter the line again";
    let chat = sandbox.run_with_input(&[], &format!("{words}\n"));
    assert!(chat.code == Some(2) && chat.stdout.contains(told), "{chat}");
    for args in [&[words][..], &["chat", words]] {
        let chat = sandbox.run_with_input(args, "");
        assert!(chat.code == Some(2) && chat.stdout.contains(told), "{chat}");
    }
    let listed = sandbox.run(&["sessions", "list"]);
    assert!(!listed.stdout.contains("ses_"), "{listed}");
    // The person means it.
    let chat = sandbox.run_with_input(&[], &format!("{words}\n{words}\n"));
    assert_eq!(chat.code, Some(0), "{chat}");
    assert!(asked(&sandbox).contains(words), "{}", asked(&sandbox));
}

#[test]
fn words_with_at_that_are_no_path_of_the_folder_are_sent() {
    let sandbox = Sandbox::new();
    sandbox.write("ws/src/main.rs", "fn main() {}");
    let words = "npm i @scope/pkg@1.2.3, `cat @./nosuch`, @app.get(\"/x.json\") and (@src/main.rs#L2)";
    let chat = sandbox.run_with_input(&[], &format!("{words}\n"));
    assert_eq!(chat.code, Some(0), "{chat}");
    assert!(
        chat.stdout.contains("note: attached src/main.rs (12 B)"),
        "{chat}"
    );
    assert!(!chat.stdout.contains("there is no file"), "{chat}");
    assert!(
        asked(&sandbox).contains("@scope/pkg@1.2.3"),
        "{}",
        asked(&sandbox)
    );
}

#[test]
fn which_files_go_along_is_said_with_their_sizes() {
    let sandbox = Sandbox::new();
    sandbox.write("ws/tides.txt", "high at noon");
    sandbox.write("ws/ships.txt", "none");
    let words = "compare @tides.txt with @ships.txt, see @types/node";
    let note = "note: attached tides.txt (12 B), ships.txt (4 B)";
    let ran = sandbox.run(&["run", words]);
    assert_eq!(ran.stderr.matches("note: attached").count(), 1, "{ran}");
    assert!(ran.stderr.lines().any(|line| line == note), "{ran}");
    assert!(
        !ran.stdout.contains(note) && !ran.stderr.contains("types/node"),
        "{ran}"
    );
    let chat = sandbox.run_with_input(&[], &format!("{words}\n"));
    assert!(chat.stdout.contains(note), "{chat}");
}

#[test]
fn a_script_that_names_a_file_that_is_not_there_ends_before_a_model_is_asked() {
    let sandbox = Sandbox::new();
    sandbox.write("ws/tides.txt", "high at noon");
    for line in [
        &["run", "see @nosuch.txt"][..],
        &["run", "--quiet", "see @./nosuch"],
    ] {
        let ran = sandbox.run(line);
        assert!(
            ran.code == Some(2) && ran.stderr.contains("so nothing was attached"),
            "{ran}"
        );
    }
    let listed = sandbox.run(&["sessions", "list"]);
    assert!(!listed.stdout.contains("ses_"), "{listed}");
}

#[test]
fn a_run_sends_no_file_along_that_may_hold_secrets_and_none_that_cannot_be_sent() {
    let sandbox = Sandbox::new();
    sandbox
        .write("ws/.env", "TOKEN=made-up-secret")
        .write("ws/a.bin", [0xff, 0xfe]);
    let pipe = std::process::Command::new("mkfifo")
        .arg(sandbox.path("ws/pipe"))
        .status();
    assert!(pipe.unwrap().success());
    for (prompt, told) in [
        ("read @.env", "may hold secrets"),
        ("read @a.bin", "neither text nor an image"),
        ("read @pipe", "is not a regular file"),
    ] {
        let ran = sandbox.run(&["run", "--output-format", "json", prompt]);
        assert_eq!(ran.code, Some(2), "{ran}");
        assert!(ran.stderr.contains(told), "{ran}");
        assert!(!ran.to_string().contains("made-up-secret"), "{ran}");
    }
}

#[test]
fn a_secret_of_an_older_log_is_shown_as_a_model_gets_it() {
    let sandbox = Sandbox::new();
    // Made up.
    let key = "sk-ant-madeup-madeup-madeup-madeup-madeup";
    sandbox.config("secrets: {redact: false}\n");
    let ran = sandbox.run(&["run", &format!("my key is {key}")]);
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(asked(&sandbox).contains(key), "nothing was replaced");
    sandbox.config("");
    let shown = asked(&sandbox);
    assert!(
        shown.contains("[secret anthropic-key]") && !shown.contains(key),
        "{shown}"
    );
}

#[test]
fn a_picture_goes_along_that_a_flag_names() {
    let sandbox = Sandbox::new();
    sandbox.write("ws/a picture.gif", b"GIF89a\x02\0\x03\0\0\0\0,;");
    let ran = sandbox.run(&["run", "what is this?", "--image", "a picture.gif"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    let sent = asked(&sandbox);
    assert!(sent.contains("data:image/gif;base64,"), "{sent}");
    let ran = sandbox.run(&["-p", "what is this?", "--image", "none.gif"]);
    assert_eq!(ran.code, Some(2), "{ran}");
    assert!(ran.stderr.contains("there is no file none.gif"), "{ran}");
}

#[test]
fn a_file_that_is_no_image_is_refused_with_its_kind() {
    let sandbox = Sandbox::new();
    sandbox
        .write("ws/notes.txt", "hello")
        .write("ws/notes.png", "hello");
    for name in ["notes.txt", "notes.png"] {
        let refused = sandbox.run(&["run", "--image", name, "what is this?"]);
        assert_eq!(refused.code, Some(2), "{refused}");
        let why = format!("{name} is not an image that models accept: it is text");
        assert!(refused.stderr.contains(&why), "{refused}");
    }
    let listed = sandbox.run(&["sessions", "list"]);
    assert!(!listed.stdout.contains("what is this"), "{listed}");
}

#[test]
fn a_prompt_may_stand_before_the_flag_that_prints_the_answer() {
    let sandbox = Sandbox::new().env("AGENTX_MODEL", "demo");
    for args in [
        &["hello there, you", "-p"][..],
        &["-p", "hello there, you"],
        &["--yes", "hello there, you", "-p", "--quiet"],
        &["--system", "hello there, you", "-p", "hello there, you"],
    ] {
        let ran = sandbox.run(args);
        assert_eq!(ran.code, Some(0), "{ran}");
        assert!(asked(&sandbox).contains("hello there, you"), "{ran}");
        assert!(
            !asked(&sandbox).contains("hello there, you run"),
            "{}",
            asked(&sandbox)
        );
    }
}
