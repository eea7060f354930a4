//! `read`, `write`, `edit`, `todo`, `finish` and the toolbox that contains them.

use std::os::unix::fs::{PermissionsExt, symlink};

use crate::support::{Place, has, text};
use agentx_tools::{FileOptions, ToolOptions};
use agentx_types::{Access, ContentPart, InputMedium, MediaSource, ToolStatus};
use serde_json::json;

#[tokio::test]
async fn reads_lines_with_numbers() {
    let place = Place::new();
    place.write("a.txt", "one\r\ntwo\n你好");
    assert_eq!(
        place.ok("read", json!({"path": "a.txt"})).await,
        "     1\tone\n     2\ttwo\n     3\t你好\n"
    );
    let part = place
        .ok("read", json!({"path": "a.txt", "offset": 2, "limit": 1}))
        .await;
    assert_eq!(part, "     2\ttwo\n[lines 2-2 of 3; read on with offset 3]\n");
    let absolute = place.workspace.join("a.txt");
    has(&place.ok("read", json!({"path": absolute})).await, &["one"]);
}

#[tokio::test]
async fn reading_is_bounded() {
    let place = Place::new();
    let lines: String = (1..=3000).map(|number| format!("line {number}\n")).collect();
    place.write("long.txt", &lines);
    let said = place.ok("read", json!({"path": "long.txt"})).await;
    has(
        &said,
        &["  2000\tline 2000\n[lines 1-2000 of 3000; read on with offset 2001]"],
    );
    place.write("wide.txt", "x".repeat(1_000_000));
    let said = place.ok("read", json!({"path": "wide.txt"})).await;
    has(&said, &["… [998000 more bytes in this line]"]);
    assert!(said.len() < 3000);
    place.write(
        "big.txt",
        "y".repeat(1000).replace('y', &format!("{}\n", "z".repeat(999))),
    );
    let said = place.ok("read", json!({"path": "big.txt"})).await;
    assert!(said.len() < 70_000, "{}", said.len());
    has(&said, &["of 1000; read on with offset 67"]);
}

#[tokio::test]
async fn what_cannot_be_read_is_explained() {
    let place = Place::new();
    place.write("src/main.rs", "");
    place.write("data.bin", b"ab\0cd");
    place.write("doc.pdf", b"%PDF-1.7 ...");
    place.write("utf16.txt", b"\xff\xfea\0b\0");
    std::process::Command::new("mkfifo")
        .arg(place.workspace.join("pipe"))
        .status()
        .unwrap();
    let check = async |path: &str, words: &[&str]| {
        has(
            &place
                .says(ToolStatus::Failed, "read", json!({"path": path}))
                .await,
            words,
        );
    };
    check("src/mian.rs", &["no such file", "did you mean src/main.rs?"]).await;
    check("src", &["is a directory", "glob"]).await;
    check("data.bin", &["data.bin (5 bytes) is binary data, not text"]).await;

    check("doc.pdf", &["a PDF document"]).await;
    check("utf16.txt", &["bytes) is UTF-16 (`iconv"]).await;
    check("pipe", &["a named pipe"]).await;
    check("src/main.rs/x", &["a part of the path is a file"]).await;
    check("~/x", &["~ is not expanded"]).await;
    has(
        &place.says(ToolStatus::Invalid, "read", json!({})).await,
        &["either path or blob"],
    );
    has(
        &place
            .says(ToolStatus::Invalid, "read", json!({"path": "a", "limit": 0}))
            .await,
        &["at least one line"],
    );
    has(
        &place
            .says(ToolStatus::Failed, "read", json!({"blob": "b3_none"}))
            .await,
        &[
            "There is no kept output b3_none here.",
            "other sessions cannot be read",
        ],
    );
    let long = place
        .says(ToolStatus::Failed, "read", json!({"blob": "é".repeat(5_000)}))
        .await;
    assert!(long.len() < 400, "{long}");
    place.write("short.txt", "a\nb\n");
    has(
        &place
            .says(
                ToolStatus::Failed,
                "read",
                json!({"path": "short.txt", "offset": 9}),
            )
            .await,
        &["there are 2 lines"],
    );
    assert_eq!(place.ok("read", json!({"path": "src/main.rs"})).await, "[empty]");
}

#[tokio::test]
async fn other_encodings_are_shown_with_a_note() {
    let place = Place::new();
    place.write("latin.txt", b"caf\xe9\nok\n");
    has(
        &place.ok("read", json!({"path": "latin.txt"})).await,
        &["caf\u{FFFD}\n", "not all of it is UTF-8"],
    );
}

#[tokio::test]
async fn images_are_shown_through_the_blob_store() {
    let place = Place::new();
    let pictures: [(&[u8], &str); 4] = [
        (&png(2, 3), "image/png"),
        (
            b"\xff\xd8\xff\xc0\0\x0b\x08\0\x05\0\x07\x01\0\0\0\xff\xda\0\x03\x01xyz\xff\xd9",
            "image/jpeg",
        ),
        (b"GIF89a\x02\0\x03\0\0\0\0,;", "image/gif"),
        (
            b"RIFF\x16\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x09\0\0\x13\0\0",
            "image/webp",
        ),
    ];
    for (bytes, media_type) in pictures {
        let bytes = bytes.to_vec();
        place.write("picture", &bytes);
        let outcome = place.call("read", json!({"path": "picture"})).await;
        let ContentPart::Image(image) = &outcome.content[1] else {
            panic!("{outcome:?}")
        };
        let MediaSource::Blob(id) = &image.source else {
            panic!("{image:?}")
        };
        assert_eq!(
            (image.media_type.as_str(), place.blobs.get(id.as_str())),
            (media_type, bytes)
        );
    }
    place.write(
        "huge.png",
        [b"\x89PNG\r\n\x1a\n".as_slice(), &vec![0; 4_000_000]].concat(),
    );
    has(
        &place
            .says(ToolStatus::Failed, "read", json!({"path": "huge.png"}))
            .await,
        &["make it smaller"],
    );
    // Vendors refuse these pictures, and every later request of a conversation that contains them.
    let cut = png(2, 3);
    for (bytes, why) in [
        (&cut[..cut.len() - 4], "broken or cut off"),
        (&png(2, 8_001), "8000 a side"),
    ] {
        place.write("odd.png", bytes);
        let told = place
            .says(ToolStatus::Failed, "read", json!({"path": "odd.png"}))
            .await;
        has(&told, &[why]);
    }
}

/// A PNG of this size without pixels.
fn png(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    bytes.extend(width.to_be_bytes());
    bytes.extend(height.to_be_bytes());
    bytes.extend(b"\x08\x02\0\0\0crc!\0\0\0\0IEND\xaeB`\x82");
    bytes
}

#[tokio::test]
async fn a_model_that_takes_no_pictures_is_told_so_by_the_result() {
    let mut place = Place::new();
    place.write("b.png", png(2, 2));
    place.write("a.txt", "words");
    place.of_model(Some(vec![]));
    let told = place
        .says(ToolStatus::Failed, "read", json!({"path": "b.png"}))
        .await;
    has(&told, &["b.png is a picture (image/png, 45 bytes)", "takes none"]);
    has(&place.ok("read", json!({"path": "a.txt"})).await, &["words"]);
    for sees in [None, Some(vec![InputMedium::Image])] {
        place.of_model(sees);
        let outcome = place.call("read", json!({"path": "b.png"})).await;
        assert!(matches!(outcome.content[1], ContentPart::Image(_)), "{outcome:?}");
    }
}

#[tokio::test]
async fn writes_new_and_old_files() {
    let place = Place::new();
    let outcome = place
        .call("write", json!({"path": "a/b/c.txt", "content": "one\ntwo\n"}))
        .await;
    assert_eq!(text(&outcome), "Created a/b/c.txt (2 lines, 8 bytes).");
    let details = outcome.details.unwrap();
    assert_eq!(
        (&details["created"], &details["pre_image"]),
        (&json!(true), &json!(null))
    );
    assert_eq!(
        details["path"],
        place.workspace.join("a/b/c.txt").to_str().unwrap()
    );

    std::fs::set_permissions(
        place.workspace.join("a/b/c.txt"),
        PermissionsExt::from_mode(0o750),
    )
    .unwrap();
    let outcome = place
        .call("write", json!({"path": "a/b/c.txt", "content": "one\n2\n"}))
        .await;
    assert_eq!(text(&outcome), "Replaced a/b/c.txt (2 lines, 6 bytes).");
    let details = outcome.details.unwrap();
    assert_eq!(details["diff"], "@@ -1,2 +1,2 @@\n one\n-two\n+2\n");
    assert_eq!((&details["added"], &details["removed"]), (&json!(1), &json!(1)));
    assert_eq!(
        place.blobs.get(details["pre_image"].as_str().unwrap()),
        b"one\ntwo\n"
    );
    assert_eq!(place.read("a/b/c.txt"), "one\n2\n");
    let mode = std::fs::metadata(place.workspace.join("a/b/c.txt"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o750);
    let names: Vec<_> = std::fs::read_dir(place.workspace.join("a/b"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["c.txt"]);
    has(
        &place
            .ok("write", json!({"path": "a/b/c.txt", "content": "one\n2\n"}))
            .await,
        &["already"],
    );
}

#[tokio::test]
async fn nothing_is_changed_where_the_old_state_cannot_be_kept() {
    let place = Place::new();
    place.write("a", "old");
    *place.blobs.full.lock().unwrap() = true;
    has(
        &place
            .says(
                ToolStatus::Failed,
                "write",
                json!({"path": "a", "content": "new"}),
            )
            .await,
        &["Nothing was changed"],
    );
    has(
        &place
            .says(
                ToolStatus::Failed,
                "edit",
                json!({"path": "a", "old_string": "old", "new_string": "new"}),
            )
            .await,
        &["Nothing was changed"],
    );
    assert_eq!(place.read("a"), "old");
}

#[tokio::test]
async fn what_cannot_be_written_is_explained() {
    let files = FileOptions {
        edit_bytes: 10,
        ..FileOptions::default()
    };
    let place = Place::with(ToolOptions {
        files,
        ..ToolOptions::default()
    });
    place.write("dir/x", "");
    place.write("big", "12345678901");
    place.write("fixed", "x");
    std::fs::set_permissions(place.workspace.join("fixed"), PermissionsExt::from_mode(0o444)).unwrap();
    let check = async |path: &str, words: &[&str]| {
        has(
            &place
                .says(ToolStatus::Failed, "write", json!({"path": path, "content": "y"}))
                .await,
            words,
        );
    };
    check("dir", &["is a directory"]).await;
    check("big", &["11 bytes; at most 10 bytes"]).await;
    check("fixed", &["is read-only"]).await;
    check("fixed/below", &["a part of the path is a file"]).await;
}

#[tokio::test]
async fn a_link_inside_is_followed_and_kept() {
    let place = Place::new();
    place.write("real.txt", "old");
    symlink("real.txt", place.workspace.join("link.txt")).unwrap();
    place
        .ok("write", json!({"path": "link.txt", "content": "new"}))
        .await;
    assert_eq!(place.read("real.txt"), "new");
    assert!(
        std::fs::symlink_metadata(place.workspace.join("link.txt"))
            .unwrap()
            .is_symlink()
    );
}

#[tokio::test]
async fn no_file_tool_leaves_the_workspace() {
    let mut place = Place::new();
    let beside = place.beside();
    std::fs::write(beside.join("secret.txt"), "secret").unwrap();
    symlink(&beside, place.workspace.join("door")).unwrap();
    symlink(beside.join("new.txt"), place.workspace.join("dangling")).unwrap();
    let calls = [
        ("read", json!({"path": "door/secret.txt"})),
        ("read", json!({"path": "../beside/secret.txt"})),
        ("read", json!({"path": beside.join("secret.txt")})),
        ("write", json!({"path": "door/new.txt", "content": "x"})),
        ("write", json!({"path": "dangling", "content": "x"})),
        ("write", json!({"path": "door/deep/new.txt", "content": "x"})),
        (
            "edit",
            json!({"path": "door/secret.txt", "old_string": "secret", "new_string": "x"}),
        ),
        ("glob", json!({"pattern": "*", "path": "door"})),
        ("glob", json!({"pattern": "../beside/*"})),
        ("glob", json!({"pattern": beside.join("*")})),
        ("grep", json!({"pattern": "secret", "path": "door"})),
        ("grep", json!({"pattern": "secret", "path": "door/secret.txt"})),
    ];
    for (tool, input) in &calls {
        has(
            &place.says(ToolStatus::Denied, tool, input.clone()).await,
            &["outside the workspace"],
        );
    }
    assert_eq!(std::fs::read_dir(&beside).unwrap().count(), 1);
    has(
        &place.ok("grep", json!({"pattern": "secret"})).await,
        &["No files to search"],
    );

    place.outside = true;
    has(
        &place.ok("read", json!({"path": "door/secret.txt"})).await,
        &["secret"],
    );
    place
        .ok("write", json!({"path": "dangling", "content": "x"}))
        .await;
    assert_eq!(std::fs::read_to_string(beside.join("new.txt")).unwrap(), "x");
    has(
        &place.ok("glob", json!({"pattern": beside.join("*.txt")})).await,
        &["secret.txt", "new.txt"],
    );
}

#[tokio::test]
async fn edits_what_is_there_once() {
    let place = Place::new();
    place.write("a.rs", "\u{FEFF}fn a() {}\r\nfn b() {}\r\nfn a2() {}\r\n");
    let input = json!({"path": "a.rs", "old_string": "fn a() {}\nfn b", "new_string": "fn x() {}\nfn y"});
    let outcome = place.call("edit", input).await;
    assert_eq!(text(&outcome), "Edited a.rs: replaced 1 occurrence, at line 1.");
    assert_eq!(
        place.read("a.rs"),
        "\u{FEFF}fn x() {}\r\nfn y() {}\r\nfn a2() {}\r\n"
    );
    let details = outcome.details.unwrap();
    has(details["diff"].as_str().unwrap(), &["-fn b() {}", "+fn y() {}"]);
    has(
        std::str::from_utf8(&place.blobs.get(details["pre_image"].as_str().unwrap())).unwrap(),
        &["fn b()"],
    );

    let twice = json!({"path": "a.rs", "old_string": "{}", "new_string": "{ }"});
    has(
        &place.says(ToolStatus::Failed, "edit", twice).await,
        &["occurs 3 times, at lines 1, 2, 3"],
    );
    let all = json!({"path": "a.rs", "old_string": "{}", "new_string": "{ }", "replace_all": true});
    has(&place.ok("edit", all).await, &["3 occurrences, at lines 1, 2, 3"]);
    let near = json!({"path": "a.rs", "old_string": "fn  x() { }", "new_string": "z"});
    has(
        &place.says(ToolStatus::Failed, "edit", near).await,
        &["other white space", "fn x() { }"],
    );
    let missing = json!({"path": "b.rs", "old_string": "x", "new_string": "z"});
    has(
        &place.says(ToolStatus::Failed, "edit", missing).await,
        &["no such file", "did you mean a.rs?"],
    );
    let same = json!({"path": "a.rs", "old_string": "x", "new_string": "x"});
    has(
        &place.says(ToolStatus::Invalid, "edit", same).await,
        &["the same"],
    );
    let empty = json!({"path": "a.rs", "old_string": "", "new_string": "x"});
    has(
        &place.says(ToolStatus::Invalid, "edit", empty).await,
        &["use write"],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn edits_of_one_file_at_once_are_all_made() {
    let place = Place::new();
    let names: Vec<String> = (10..40).map(|number| format!("word{number}")).collect();
    place.write("a.txt", names.join("\n"));
    let calls: Vec<_> = names
        .iter()
        .map(|name| {
            let input = json!({"path": "a.txt", "old_string": name, "new_string": name.to_uppercase()});
            tokio::spawn(place.toolbox.get("edit").unwrap().call(input, place.context()))
        })
        .collect();
    for call in calls {
        assert_eq!(call.await.unwrap().status, ToolStatus::Success);
    }
    assert_eq!(place.read("a.txt"), names.join("\n").to_uppercase());
}

#[tokio::test]
async fn a_todo_list_is_its_last_result() {
    let place = Place::new();
    let todos =
        json!([{"content": "look", "status": "completed"}, {"content": "do", "status": "in_progress"}]);
    let outcome = place.call("todo", json!({"todos": todos})).await;
    assert_eq!(text(&outcome), "[x] look\n[>] do");
    assert_eq!(outcome.details.unwrap()["todos"], todos);
    assert_eq!(
        place.ok("todo", json!({"todos": []})).await,
        "The to-do list is empty."
    );
    let wrong = json!({"todos": [{"content": "a", "status": "done"}]});
    has(
        &place.says(ToolStatus::Invalid, "todo", wrong).await,
        &[r#"expected one of "pending", "in_progress""#],
    );
    let many: Vec<_> = (0..101)
        .map(|_| json!({"content": "a", "status": "pending"}))
        .collect();
    has(
        &place
            .says(ToolStatus::Invalid, "todo", json!({"todos": many}))
            .await,
        &["at most 100"],
    );
    has(
        &place
            .says(
                ToolStatus::Invalid,
                "todo",
                json!({"todos": [{"content": " ", "status": "pending"}]}),
            )
            .await,
        &["empty"],
    );
}

#[tokio::test]
async fn finish_says_the_summary() {
    let place = Place::new();
    assert_eq!(
        place.ok("finish", json!({"summary": "All done."})).await,
        "All done."
    );
}

#[tokio::test]
async fn unknown_tools_have_neighbours() {
    let place = Place::new();
    has(
        &place.says(ToolStatus::Invalid, "Bash", json!({})).await,
        &["no tool \"Bash\"", "Did you mean bash?", "grep, todo, finish"],
    );
    has(
        &place.says(ToolStatus::Invalid, "read_file", json!({})).await,
        &["Did you mean read?"],
    );
    has(
        &place
            .says(ToolStatus::Invalid, &"x".repeat(10_000), json!({}))
            .await,
        &["There is no tool"],
    );
}

#[test]
fn specs_are_what_approval_rules_start_from() {
    let place = Place::new();
    let rows: Vec<_> = place
        .toolbox
        .specs()
        .iter()
        .map(|spec| {
            assert_eq!(spec.input_schema["additionalProperties"], false, "{}", spec.name);
            assert!(
                !spec.input_schema.to_string().contains("$ref"),
                "{}",
                spec.input_schema
            );
            (
                spec.name.clone(),
                spec.access,
                spec.path_argument.clone().or(spec.command_argument.clone()),
                spec.idempotent,
                spec.quit,
            )
        })
        .collect();
    let row = |name: &str, access, argument: Option<&str>, idempotent, quit| {
        (
            name.to_owned(),
            access,
            argument.map(Into::into),
            idempotent,
            quit,
        )
    };
    let expected = [
        row("bash", Access::Run, Some("command"), false, false),
        row("job", Access::Internal, None, false, false),
        row("read", Access::Read, Some("path"), true, false),
        row("write", Access::Change, Some("path"), false, false),
        row("edit", Access::Change, Some("path"), false, false),
        row("glob", Access::Read, Some("path"), true, false),
        row("grep", Access::Read, Some("path"), true, false),
        row("todo", Access::Internal, None, true, false),
        row("finish", Access::Internal, None, true, true),
        row("shell", Access::Run, Some("command"), false, false),
        row("shell_input", Access::Run, Some("text"), false, false),
        row("shell_wait", Access::Internal, None, false, false),
    ];
    assert_eq!(rows, expected);
    let size: usize = place
        .toolbox
        .specs()
        .iter()
        .filter(|spec| !spec.only_by_name)
        .map(|spec| serde_json::to_string(spec).unwrap().len())
        .sum();
    assert!(size < 8_000, "the specs cost {size} bytes in every model call");
}

#[test]
fn a_name_is_taken_once() {
    let mut place = Place::new();
    let again = place.toolbox.get("todo").unwrap();
    assert_eq!(
        place.toolbox.register(again).unwrap_err().to_string(),
        "there is a tool named todo already"
    );
    let few = place.toolbox.clone().filtered(|name| name == "read");
    assert_eq!(few.specs().len(), 1);
}
