//! `query` and `query_write` on databases made here: what they show and refuse, and that a refused statement
//! leaves no trace.
#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use agentx_runtime::CallSlots;
use agentx_tools::{QueryOptions, QueryTool, QueryWriteTool};
use agentx_types::ToolStatus::{self, Denied, Failed, Invalid};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::support::{Place, has, text};

const SHOP: &str = "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, joined REAL, photo BLOB);
    INSERT INTO users VALUES (1, 'Ann', 1.5, x'00ff'), (2, NULL, 1e999, NULL), (3, '你好\n|', -2, zeroblob(40));
    CREATE VIEW named AS SELECT name FROM users WHERE name IS NOT NULL;";

fn create(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

fn place_with(options: &QueryOptions) -> Place {
    let mut place = Place::new();
    create(&place.workspace.join("shop.db"), SHOP);
    place.toolbox.add(QueryTool::new(options.clone())).unwrap();
    place.toolbox.add(QueryWriteTool::new(options.clone())).unwrap();
    place
}

fn shop() -> Place {
    place_with(&QueryOptions::default())
}

fn asks(sql: &str) -> Value {
    json!({ "path": "shop.db", "sql": sql })
}

/// Checks the result of a call of `tool` with this SQL.
async fn check(place: &Place, tool: &str, sql: &str, expected: Result<&str, (ToolStatus, &str)>) {
    match expected {
        Ok(text) => assert_eq!(place.ok(tool, asks(sql)).await, text, "{sql}"),
        Err((status, words)) => has(&place.says(status, tool, asks(sql)).await, &["shop.db", words]),
    }
}

/// The replaced functions, whose time in SQLite grows with two lengths, give the same results.
#[tokio::test]
async fn functions_of_two_texts_give_what_sqlite_gives() {
    let place = shop();
    let own = Connection::open_in_memory().unwrap();
    for call in [
        "instr('héllo', 'l')",
        "instr('abc', '')",
        "instr('abc', 'x')",
        "instr(x'0102', x'02')",
        "instr(12345, 34)",
        "instr(NULL, 'a')",
        "replace('a-b-c', '-', '--')",
        "replace('abc', '', 'x')",
        "replace(121, 1, 'x')",
        "replace('a', NULL, 'x')",
        "trim('xxaxx', 'x')",
        "ltrim('你好a你', '你好')",
        "rtrim('abba', 'ab')",
        "trim('  a ')",
        "trim('a', NULL)",
    ] {
        let sql = format!("SELECT quote({call}) AS a");
        let expected: String = own.query_row(&sql, [], |row| row.get(0)).unwrap();
        let shown = format!("[\"a\"]\n[{}]\n[1 row]\n", json!(expected));
        check(&place, "query", &sql, Ok(&shown)).await;
    }
    // This takes a minute with SQLite's own function.
    let long = "SELECT instr(hex(zeroblob(4000000)), hex(zeroblob(2000000)) || '1') AS a";
    check(&place, "query", long, Ok("[\"a\"]\n[0]\n[1 row]\n")).await;
    let merged = "SELECT json_patch('{}', '{}')";
    check(&place, "query", merged, Err((Denied, "past the time limit"))).await;
    let grown = "SELECT length(replace(hex(zeroblob(1000000)), '0', hex(zeroblob(100))))";
    check(&place, "query", grown, Err((Failed, "too big"))).await;
}

#[tokio::test]
async fn rows_are_shown_with_their_types() {
    let place = shop();
    let rows = "[\"id\",\"name\",\"joined\",\"photo\"]\n\
        [1,\"Ann\",1.5,{\"blob_bytes\":2,\"hex\":\"00ff\"}]\n\
        [2,null,\"inf\",null]\n\
        [3,\"你好\\n|\",-2.0,{\"blob_bytes\":40,\"hex\":\"0000000000000000000000000000000000000000000000000000000000000000…\"}]\n\
        [3 rows]\n";
    check(&place, "query", "SELECT * FROM users ORDER BY id", Ok(rows)).await;
    let two = "[\"count(*)\"]\n[3]\n[1 row]\n\n[\"name\"]\n[\"Ann\"]\n[1 row]\n";
    let sql = "SELECT count(*) FROM users; SELECT name FROM named LIMIT 1; -- the end";
    check(&place, "query", sql, Ok(two)).await;
    check(
        &place,
        "query",
        "SELECT 1 AS a WHERE 0",
        Ok("[\"a\"]\n[0 rows]\n"),
    )
    .await;
    let columns = place.ok("query", asks("PRAGMA table_info(users)")).await;
    has(&columns, &["\"joined\",\"REAL\"", "[4 rows]"]);
    has(
        &place
            .ok("query", asks("EXPLAIN QUERY PLAN SELECT * FROM users"))
            .await,
        &["SCAN users"],
    );
}

#[tokio::test]
async fn parameters_are_values_and_never_sql() {
    let place = shop();
    let ask = |sql: &str, values: Value| json!({ "path": "shop.db", "sql": sql, "parameters": values });
    let said = place
        .ok(
            "query",
            ask(
                "SELECT ?1, ?2, ?3, ?4, typeof(?5)",
                json!(["'; --", 7, 0.5, null, true]),
            ),
        )
        .await;
    has(&said, &["[\"'; --\",7,0.5,null,\"integer\"]"]);
    let said = place.says(Invalid, "query", ask("SELECT ?", json!([1, 2]))).await;
    has(&said, &["1 parameter, and the call gives 2 values"]);
    let said = place.says(Invalid, "query", ask("SELECT ?", json!([[1]]))).await;
    has(&said, &["parameters[0] is a list"]);
    let said = place
        .says(Invalid, "query", ask("SELECT ?; SELECT 1", json!([1])))
        .await;
    has(&said, &["a single statement"]);
    has(
        &place.says(Invalid, "query", asks(" -- nothing ")).await,
        &["no statement"],
    );
}

#[tokio::test]
async fn results_are_cut_with_a_note() {
    let options = QueryOptions {
        max_rows: 50,
        shown_bytes: 2000,
        value_bytes: 10,
        ..QueryOptions::default()
    };
    let place = place_with(&options);
    let numbers = "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) SELECT i FROM n";
    let ask = |limit: u64| json!({ "path": "shop.db", "sql": numbers, "limit": limit });
    has(
        &place.ok("query", ask(2)).await,
        &["[1]\n[2]\n[the first 2 rows; there are more: raise limit"],
    );
    has(
        &place.ok("query", ask(1000)).await,
        &["[the first 50 rows; there are more, and limit is at most 50"],
    );
    let long = place
        .ok("query", asks("SELECT '你好你好' || name FROM users WHERE id = 1"))
        .await;
    has(&long, &["[\"你好你… [6 more bytes in this value]\"]"]);
    let wide = format!("SELECT '0123456789', '0123456789', '0123456789', '0123456789', i FROM ({numbers})");
    let said = place.ok("query", asks(&format!("{wide}; SELECT 1"))).await;
    has(
        &said,
        &["2000 bytes are shown at most", "after this one were not run"],
    );
    assert!(said.len() < 2300, "{said}");
    let outcome = place.call("query", ask(2)).await;
    assert_eq!(
        outcome.details,
        Some(json!({ "rows": 2, "cut": true, "changed": 0 }))
    );
}

#[tokio::test]
async fn query_only_reads() {
    let place = shop();
    let before = std::fs::read(place.workspace.join("shop.db")).unwrap();
    for (sql, why) in [
        ("DELETE FROM users", "query only reads"),
        ("SELECT 1; UPDATE users SET name = 'x'", "query only reads"),
        (
            "INSERT INTO users VALUES (9, '', 0, NULL) RETURNING id",
            "query only reads",
        ),
        ("DROP TABLE users", "query only reads"),
        ("CREATE TABLE more (a)", "query only reads"),
        ("CREATE TEMP TABLE more (a)", "query only reads"),
        ("CREATE INDEX named_users ON users (name)", "query only reads"),
        ("BEGIN IMMEDIATE", "transaction of its own"),
        ("SAVEPOINT a", "transaction of its own"),
        ("PRAGMA user_version = 7", "PRAGMA user_version with a value"),
        ("PRAGMA journal_mode = WAL", "PRAGMA journal_mode with a value"),
        (
            "PRAGMA writable_schema = ON",
            "PRAGMA writable_schema is not among",
        ),
        ("PRAGMA wal_checkpoint", "PRAGMA wal_checkpoint is not among"),
        ("PRAGMA temp_store_directory = '/tmp'", "not among"),
    ] {
        check(&place, "query", sql, Err((Denied, why))).await;
    }
    assert_eq!(std::fs::read(place.workspace.join("shop.db")).unwrap(), before);
    assert_eq!(std::fs::read_dir(&place.workspace).unwrap().count(), 1);
}

#[tokio::test]
async fn no_statement_leads_out_of_the_file() {
    let place = shop();
    let beside = place.beside();
    create(
        &beside.join("other.db"),
        "CREATE TABLE secret (a); INSERT INTO secret VALUES (42)",
    );
    let (other, copy) = (beside.join("other.db"), beside.join("copy.db"));
    for tool in ["query", "query_write"] {
        for sql in [
            format!("ATTACH '{}' AS other", other.display()),
            format!("ATTACH 'file:{}?mode=ro' AS other", other.display()),
            "ATTACH ':memory:' AS other".to_owned(),
            format!("ATTACH 'a' || '{}' AS other", other.display()),
            "ATTACH (SELECT name FROM users) AS other".to_owned(),
            "DETACH main".to_owned(),
            format!("VACUUM INTO '{}'", copy.display()),
            format!("VACUUM main INTO '{}'", copy.display()),
            "SELECT load_extension('/tmp/made-up.so')".to_owned(),
            "SELECT 1 WHERE 0 AND LOAD_EXTENSION('made-up')".to_owned(),
            "SELECT fts3_tokenizer('simple', x'00')".to_owned(),
        ] {
            let outcome = place.call(tool, asks(&sql)).await;
            assert!(matches!(outcome.status, Denied | Failed), "{tool}: {sql}");
            let said = text(&outcome);
            assert!(said.starts_with("shop.db"), "{sql}: {said}");
        }
    }
    check(
        &place,
        "query_write",
        &format!("VACUUM INTO '{}'", copy.display()),
        Err((Denied, "opens another file")),
    )
    .await;
    check(
        &place,
        "query",
        "ATTACH 'x' AS y",
        Err((Denied, "opens another file")),
    )
    .await;
    check(
        &place,
        "query_write",
        "VACUUM",
        Err((Denied, "opens another file")),
    )
    .await;
    check(
        &place,
        "query",
        "SELECT load_extension('x')",
        Err((Denied, "loads code")),
    )
    .await;
    assert!(!copy.exists());
}

#[tokio::test]
async fn places_are_checked_before_anything_is_opened() {
    let mut place = shop();
    let beside = place.beside();
    create(&beside.join("other.db"), "CREATE TABLE secret (a)");
    symlink(beside.join("other.db"), place.workspace.join("link.db")).unwrap();
    symlink("shop.db", place.workspace.join("inner.db")).unwrap();
    place.write(
        "notes.txt",
        "no database, though long enough to have a header of one: ".repeat(40),
    );
    let ask = |path: &str| json!({ "path": path, "sql": "SELECT name FROM sqlite_schema" });
    for (path, status, words) in [
        ("../beside/other.db", Denied, "outside the workspace"),
        ("link.db", Denied, "outside the workspace"),
        ("file:shop.db?mode=rw", Failed, "no such file"),
        ("shp.db", Failed, "did you mean shop.db?"),
        (".", Failed, "is a directory"),
        (
            "notes.txt",
            Failed,
            "notes.txt: file is not a database (the file does not start",
        ),
        ("", Invalid, "path is empty"),
    ] {
        has(&place.says(status, "query", ask(path)).await, &[words]);
    }
    has(&place.ok("query", ask("inner.db")).await, &["users"]);
    symlink(beside.join("made-up"), place.workspace.join("shop.db-journal")).unwrap();
    has(
        &place.says(Denied, "query", ask("shop.db")).await,
        &["shop.db-journal is a symbolic link"],
    );
    std::fs::remove_file(place.workspace.join("shop.db-journal")).unwrap();
    place.outside = true;
    has(&place.ok("query", ask("link.db")).await, &["secret"]);
}

#[tokio::test]
async fn refused_files_are_not_opened_whatever_was_approved() {
    let mut place = Place::new();
    let own = place.beside();
    create(&own.join("own.db"), "CREATE TABLE secret (a)");
    std::fs::hard_link(own.join("own.db"), place.workspace.join("same.db")).unwrap();
    let options = QueryOptions {
        refused: vec![own.clone(), own.join("own.db"), own.join("missing")],
        ..QueryOptions::default()
    };
    place.toolbox.add(QueryTool::new(options)).unwrap();
    place.outside = true;
    for path in [own.join("own.db"), place.workspace.join("same.db")] {
        let ask = json!({ "path": path, "sql": "SELECT 1" });
        has(
            &place.says(Denied, "query", ask).await,
            &["belongs to AgentX itself"],
        );
    }
    let member = own.join("members/ann");
    std::fs::create_dir_all(&member).unwrap();
    create(&member.join("a.db"), "CREATE TABLE hers (a)");
    place.workspace = member;
    let ask = json!({ "path": "a.db", "sql": "SELECT name FROM sqlite_schema" });
    has(&place.ok("query", ask).await, &["hers"]);
    let ask = json!({ "path": "../../own.db", "sql": "SELECT 1" });
    place.says(Denied, "query", ask).await;
}

#[tokio::test]
async fn mistakes_name_their_place() {
    let place = shop();
    for (sql, words) in [
        (
            "SELECT 1;\nSELECT *\n  FORM users",
            "line 3, column 3 of the SQL: near \"FORM\": syntax error",
        ),
        (
            "SELECT 你 FROM users",
            "line 1, column 8 of the SQL: no such column: 你",
        ),
        (
            "SELECT 1 FROM usres",
            "no such table: usres. Tables: named, users.",
        ),
        (
            "SELECT zeroblob(17000000)",
            "string or blob too big; a value may have 16 MiB",
        ),
        ("SELECT abs(-9223372036854775808)", "integer overflow"),
    ] {
        check(&place, "query", sql, Err((Failed, words))).await;
    }
    let long = format!("SELECT '{}'", "x".repeat(100_000));
    has(
        &place.says(Invalid, "query", asks(&long)).await,
        &["more than the 97 KiB"],
    );
    has(
        &place.says(Failed, "query", asks("SELECT '\0'")).await,
        &["shop.db"],
    );
}

#[tokio::test]
async fn a_statement_ends_when_its_time_is_up() {
    let options = QueryOptions {
        timeout: Duration::from_secs(1),
        ..QueryOptions::default()
    };
    let place = place_with(&options);
    let endless = "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    check(&place, "query", endless, Err((Failed, "took more than 1s"))).await;
    let fills = format!(
        "INSERT INTO users (name) SELECT i FROM ({})",
        endless.replace("count(*)", "i")
    );
    check(
        &place,
        "query_write",
        &fills,
        Err((Failed, "Nothing was changed.")),
    )
    .await;
    let left = place.ok("query", asks("SELECT count(*) FROM users")).await;
    has(&left, &["[3]"]);
}

#[tokio::test]
async fn a_call_that_is_cancelled_ends() {
    let place = shop();
    let endless = "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    let (cancel, call) = (place.cancel.clone(), place.call("query", asks(endless)));
    let (outcome, ()) = tokio::join!(call, async move { cancel.cancel() });
    assert_eq!(outcome.status, ToolStatus::Interrupted);
}

#[tokio::test]
async fn query_write_changes_by_one_statement() {
    let place = shop();
    let write = async |sql: &str, expected| check(&place, "query_write", sql, expected).await;
    write("CREATE TABLE notes (text)", Ok("Done; no row was changed.\n")).await;
    let sql = "INSERT INTO notes VALUES ('a'), ('b') RETURNING text";
    let said = "[\"text\"]\n[\"a\"]\n[\"b\"]\n[2 rows]\nDone; 2 rows were changed, those of triggers and cascades included.\n";
    write(sql, Ok(said)).await;
    write(
        "SELECT count(*) FROM notes",
        Ok("[\"count(*)\"]\n[2]\n[1 row]\nDone; nothing was changed.\n"),
    )
    .await;
    write(
        "DELETE FROM notes WHERE text = 'a'",
        Ok("Done; 1 row was changed.\n"),
    )
    .await;
    let two = asks("DELETE FROM notes; DROP TABLE users");
    has(
        &place.says(Invalid, "query_write", two).await,
        &["one statement a call", "nothing was changed"],
    );
    write(
        "SELECT text FROM notes",
        Ok("[\"text\"]\n[\"b\"]\n[1 row]\nDone; nothing was changed.\n"),
    )
    .await;
    write(
        "INSERT INTO users VALUES (1, 'twice', 0, NULL)",
        Err((Failed, "UNIQUE constraint failed")),
    )
    .await;
    write(
        "PRAGMA user_version = 3",
        Err((Denied, "PRAGMA user_version with a value")),
    )
    .await;
    write(
        "UPDATE sqlite_schema SET sql = ''",
        Err((Failed, "may not be modified")),
    )
    .await;
    place.write("empty.db", "");
    let ask = json!({ "path": "empty.db", "sql": "CREATE TABLE first (a)" });
    place.ok("query_write", ask).await;
    assert!(place.workspace.join("empty.db").metadata().unwrap().len() > 0);
}

#[tokio::test]
async fn rows_of_a_writing_statement_are_cut_but_it_is_done_as_a_whole() {
    let place = place_with(&QueryOptions {
        rows: 2,
        ..QueryOptions::default()
    });
    let sql = "INSERT INTO users (name) VALUES ('a'), ('b'), ('c'), ('d') RETURNING name";
    let said = place.ok("query_write", asks(sql)).await;
    has(
        &said,
        &["[the first 2 rows; there are more", "4 rows were changed"],
    );
    has(
        &place.ok("query", asks("SELECT count(*) FROM users")).await,
        &["[7]"],
    );
}

#[tokio::test]
async fn a_locked_database_is_reported() {
    let place = place_with(&QueryOptions {
        lock_wait: Duration::from_millis(1),
        ..QueryOptions::default()
    });
    let other = Connection::open(place.workspace.join("shop.db")).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let words = "database is locked by another program for 1ms; try again later";
    check(&place, "query", "SELECT * FROM users", Err((Failed, words))).await;
    check(&place, "query_write", "DELETE FROM users", Err((Failed, words))).await;
}

#[tokio::test]
async fn full_text_and_spatial_tables_can_be_read_and_written() {
    let place = shop();
    create(
        &place.workspace.join("shop.db"),
        "CREATE VIRTUAL TABLE words USING fts5(text); INSERT INTO words VALUES ('a red fox'), ('a hen');
         CREATE VIRTUAL TABLE boxes USING rtree(id, a, b); INSERT INTO boxes VALUES (1, 0, 2);",
    );
    has(
        &place
            .ok("query", asks("SELECT text FROM words WHERE words MATCH 'fox'"))
            .await,
        &["a red fox"],
    );
    has(
        &place.ok("query", asks("SELECT id FROM boxes WHERE b > 1")).await,
        &["[1]"],
    );
    place
        .ok("query_write", asks("INSERT INTO words VALUES ('a red hen')"))
        .await;
    has(
        &place
            .ok(
                "query",
                asks("SELECT count(*) FROM words WHERE words MATCH 'hen'"),
            )
            .await,
        &["[2]"],
    );
    place.says(Denied, "query", asks("DELETE FROM boxes")).await;
}

#[tokio::test]
async fn what_a_database_names_itself_is_only_data() {
    let place = shop();
    // Made up: a schema whose names are not UTF-8, and views that would load code or write.
    create(
        &place.workspace.join("shop.db"),
        "CREATE VIEW loads AS SELECT load_extension('made-up') AS a;
         CREATE VIEW reads AS SELECT fts3_tokenizer('simple') AS a;",
    );
    check(
        &place,
        "query",
        "SELECT * FROM loads",
        Err((Failed, "unsafe use of load_extension()")),
    )
    .await;
    check(
        &place,
        "query",
        "SELECT * FROM reads",
        Err((Failed, "unsafe use of fts3_tokenizer()")),
    )
    .await;
    create(
        &place.workspace.join("shop.db"),
        "PRAGMA writable_schema = ON;
         UPDATE sqlite_schema SET sql = CAST(x'435245415445205441424c4520757365727320282022ff22202920' AS TEXT) WHERE name = 'users';",
    );
    let words = "its schema has names that are not UTF-8";
    check(&place, "query", "SELECT * FROM users", Err((Failed, words))).await;
}

#[tokio::test]
async fn a_database_with_a_write_ahead_log_is_read_while_another_program_writes() {
    let place = shop();
    let other = Connection::open(place.workspace.join("shop.db")).unwrap();
    other
        .execute_batch("PRAGMA journal_mode = WAL; BEGIN IMMEDIATE; DELETE FROM users")
        .unwrap();
    has(
        &place.ok("query", asks("SELECT count(*) FROM users")).await,
        &["[3]"],
    );
    other.execute_batch("COMMIT").unwrap();
    has(
        &place.ok("query", asks("SELECT count(*) FROM users")).await,
        &["[0]"],
    );
    drop(other);
    has(
        &place.ok("query", asks("SELECT count(*) FROM users")).await,
        &["[0]"],
    );
}

/// A member of a server with many queries leaves turns for the others.
#[tokio::test]
async fn a_person_has_two_turns_of_the_four() {
    let options = QueryOptions {
        timeout: Duration::from_secs(1),
        ..QueryOptions::default()
    };
    let place = place_with(&options);
    let all = CallSlots::default();
    let (ann, bob) = (all.part(16), all.part(16));
    let _first = ann.take_slow().await;
    let second = ann.take_slow().await;
    let call = |slots: &CallSlots| {
        let mut context = place.context();
        context.slots = slots.clone();
        place.toolbox.call("query", asks("SELECT 1 AS a"), context)
    };
    let waits = call(&ann).await;
    assert_eq!(waits.status, Failed);
    has(&text(&waits), &["Other queries were running"]);
    assert_eq!(call(&bob).await.status, ToolStatus::Success);
    drop(second);
    assert_eq!(call(&ann).await.status, ToolStatus::Success);
}
