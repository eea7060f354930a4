//! Requests in the JSON of OpenHands' V0 client (made-up values).
#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use std::io::{Cursor, Write as _};

use serde_json::{Value, json};
use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

use crate::support::{KEY, Running, command_action};

#[tokio::test]
async fn commands_share_a_shell_and_say_how_they_ended() {
    let server = Running::start().await;
    assert_eq!(
        server.run("mkdir sub && cd sub && export A=5").await,
        (0, String::new())
    );
    let observation = server
        .act(command_action("echo \"<$A>\"; pwd; (exit 3)", json!({})))
        .await;
    let sub = server.directory().join("sub").display().to_string();
    assert_eq!(observation["observation"], "run");
    assert_eq!(observation["content"], format!("<5>\n{sub}"));
    assert_eq!(
        (&observation["cause"], &observation["success"]),
        (&json!(7), &json!(false))
    );
    let extras = &observation["extras"];
    assert_eq!(extras["command"], "echo \"<$A>\"; pwd; (exit 3)");
    assert_eq!(
        (
            &extras["metadata"]["exit_code"],
            &extras["metadata"]["working_dir"]
        ),
        (&json!(3), &json!(sub))
    );
    let apart = command_action("pwd; echo \"<$A>\"", json!({"is_static": true, "cwd": "/"}));
    let apart = server.act(apart).await;
    assert_eq!(apart["content"], "/\n<>");
}

#[tokio::test]
async fn a_program_gets_input_and_keys() {
    let server = Running::start().await;
    let ask = command_action(
        "read -r -p 'Name? ' name; echo \"Hello $name\"; sleep 1000",
        json!({}),
    );
    let asked = server.act(ask).await;
    assert_eq!(asked["extras"]["metadata"]["exit_code"], -1);
    assert!(
        asked["content"].as_str().unwrap().starts_with("Name? "),
        "{asked}"
    );
    let refused = server.act(command_action("ls", json!({}))).await;
    assert!(
        refused["content"].as_str().unwrap().contains("still runs"),
        "{refused}"
    );
    let mut input = command_action("Ann", json!({"is_input": true}));
    input["timeout"] = json!(0.5);
    let greeted = server.act(input).await;
    assert!(
        greeted["content"].as_str().unwrap().contains("Hello Ann"),
        "{greeted}"
    );
    let ended = server.act(command_action("C-c", json!({"is_input": true}))).await;
    assert_eq!(ended["extras"]["metadata"]["exit_code"], 130, "{ended}");
    assert_eq!(server.run("echo free").await, (0, "free".to_owned()));
}

#[tokio::test]
async fn files_are_read_written_and_edited() {
    let server = Running::start().await;
    let act = |action: &str, args: Value| json!({"id": 1, "action": action, "args": args});
    let written = server
        .act(act(
            "write",
            json!({"path": "a/b.txt", "content": "one\ntwo\n", "start": 0, "end": -1}),
        ))
        .await;
    assert_eq!(
        (&written["observation"], &written["extras"]["path"]),
        (&json!("write"), &json!("a/b.txt"))
    );
    let read = server
        .act(act(
            "read",
            json!({"path": "a/b.txt", "start": 1, "end": -1, "impl_source": "default"}),
        ))
        .await;
    assert_eq!(
        (&read["observation"], &read["content"]),
        (&json!("read"), &json!("two\n"))
    );
    let edit = json!({"path": "a/b.txt", "command": "str_replace", "old_str": "two", "new_str": "2"});
    let edited = server.act(act("edit", edit.clone())).await;
    assert_eq!(
        (&edited["extras"]["old_content"], &edited["extras"]["new_content"]),
        (&json!("one\ntwo\n"), &json!("one\n2\n"))
    );
    let again = server.act(act("edit", edit)).await;
    assert_eq!(again["observation"], "error");
    let insert = json!({"path": "a/b.txt", "command": "insert", "insert_line": 1, "new_str": "1.5"});
    server.act(act("edit", insert)).await;
    let view = json!({"path": "a/b.txt", "command": "view", "view_range": [2, 3]});
    let viewed = server.act(act("edit", view)).await;
    assert_eq!(viewed["content"], "     2\t1.5\n     3\t2\n");
    let create = json!({"path": "a/b.txt", "command": "create", "file_text": "x"});
    assert_eq!(server.act(act("edit", create)).await["observation"], "error");
    assert_eq!(
        server.act(act("read", json!({"path": "none"}))).await["observation"],
        "error"
    );
    assert_eq!(
        server
            .act(act("browse", json!({"url": "http://a.example"})))
            .await["observation"],
        "error"
    );
    for wrong in [
        json!({}),
        json!({"action": {"action": "dance", "args": {}}}),
        json!({"action": {"action": "run", "args": {}}}),
    ] {
        let (status, body) = server.answer(server.post("/execute_action", &wrong)).await;
        assert_eq!(status, 400, "{body}");
    }
}

/// A form with one file, as HTTP clients write it.
fn form(name: &str, bytes: &[u8]) -> (String, Vec<u8>) {
    let mut body = format!(
        "--made-up\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\nContent-Type: application/octet-stream\r\n\r\n"
    )
    .into_bytes();
    body.extend_from_slice(bytes);
    body.extend_from_slice(b"\r\n--made-up--\r\n");
    ("multipart/form-data; boundary=made-up".to_owned(), body)
}

async fn upload(server: &Running, query: &str, name: &str, bytes: &[u8]) -> (u16, Value) {
    let (kind, body) = form(name, bytes);
    let request = server.client.post(server.url(&format!("/upload_file?{query}")));
    let request = request
        .header("X-Session-API-Key", KEY)
        .header("Content-Type", kind);
    server.answer(request.body(body)).await
}

#[tokio::test]
async fn files_are_uploaded_listed_and_downloaded() {
    let server = Running::start().await;
    let place = server.directory().display().to_string();
    let to = format!("destination={place}/in");
    let (status, body) = upload(&server, &to, "../../a.bin", b"\x00\x01").await;
    assert_eq!((status, &body["filename"]), (200, &json!("a.bin")), "{body}");
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    archive
        .start_file("d/e.txt", SimpleFileOptions::default())
        .unwrap();
    archive.write_all(b"words").unwrap();
    let archive = archive.finish().unwrap().into_inner();
    let (status, body) = upload(&server, &format!("{to}&recursive=true"), "x.zip", &archive).await;
    assert_eq!(status, 200, "{body}");
    let (status, body) = upload(&server, "destination=relative", "a", b"").await;
    assert_eq!(status, 400, "{body}");
    let listed = server
        .answer(server.post("/list_files", &json!({"path": "in"})))
        .await;
    assert_eq!(listed, (200, json!(["d/", "a.bin"])));
    let listed = server.answer(server.post("/list_files", &json!({}))).await;
    assert_eq!(listed, (200, json!(["in/"])));
    let response = server
        .get(&format!("/download_files?path={place}/in"))
        .send()
        .await
        .unwrap();
    assert_eq!(response.headers()["content-type"], "application/zip");
    let packed = response.bytes().await.unwrap();
    let mut archive = ZipArchive::new(Cursor::new(packed.to_vec())).unwrap();
    assert_eq!(archive.len(), 2);
    assert_eq!(archive.by_index(0).unwrap().size(), 2);
    let (status, body) = server.answer(server.get("/download_files?path=/made/up")).await;
    assert_eq!((status, &body["code"]), (404, &json!("not_found")));
}

#[tokio::test]
async fn requests_without_the_key_are_refused() {
    let server = Running::start().await;
    let body = json!({"action": command_action("touch made", json!({}))});
    for key in [None, Some("wrong-key-of-the-test"), Some("")] {
        let mut request = server.client.post(server.url("/execute_action")).json(&body);
        if let Some(key) = key {
            request = request.header("X-Session-API-Key", key);
        }
        let (status, body) = server.answer(request).await;
        assert_eq!((status, &body["detail"]), (403, &json!("Invalid API Key")));
    }
    let foreign = server
        .post("/execute_action", &body)
        .header("Host", "evil.example");
    assert_eq!(server.answer(foreign).await.0, 421);
    assert!(!server.directory().join("made").exists());
    let open = server.client.get(server.url("/alive"));
    assert_eq!(server.answer(open).await, (200, json!({"status": "ok"})));
    let info = server.answer(server.client.get(server.url("/server_info"))).await;
    assert!(info.0 == 200 && info.1["uptime"].is_f64(), "{info:?}");
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused() {
    let server = Running::with(|mut options| {
        options.body_bytes = 10_000;
        options
    })
    .await;
    let body = json!({"action": command_action(&"x".repeat(20_000), json!({}))});
    assert_eq!(server.answer(server.post("/execute_action", &body)).await.0, 413);
}

#[tokio::test]
async fn paused_and_deleted_are_two_answers() {
    let server = Running::start().await;
    let touch = json!({"action": command_action("touch made", json!({}))});
    let set = |phase: &str| server.answer(server.post("/v1/phase", &json!({ "phase": phase })));
    assert_eq!(set("paused").await, (200, json!({"phase": "paused"})));
    let (status, body) = server.answer(server.post("/execute_action", &touch)).await;
    assert_eq!((status, &body["code"]), (423, &json!("paused")));
    assert_eq!(
        server.answer(server.get("/alive")).await,
        (200, json!({"status": "paused"}))
    );
    set("active").await;
    assert_eq!(server.run("echo on").await, (0, "on".to_owned()));
    set("deleted").await;
    assert_eq!(
        set("active").await,
        (200, json!({"phase": "deleted"})),
        "it stays deleted"
    );
    let (status, body) = server.answer(server.post("/execute_action", &touch)).await;
    assert_eq!((status, &body["code"]), (410, &json!("deleted")));
    assert_eq!(server.answer(server.get("/alive")).await.0, 410);
    assert!(!server.directory().join("made").exists());
}
