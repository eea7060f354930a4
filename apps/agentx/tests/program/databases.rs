//! `query` through the program: a database is read without a question and changed only by a person's word,
//! and tools that are off by default are offered to those who name them.
#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use rusqlite::Connection;

use crate::common::{Sandbox, check};

/// A sandbox with a database, and a demo that calls the tool that it is asked about.
fn sandbox(config: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.demo(
        "- input: \"*ask*\"\n  call: {tool: query, input: {path: shop.db, sql: SELECT name FROM users}}\n\
         - input: \"*write*\"\n  call: {tool: query_write, input: {path: shop.db, sql: DELETE FROM users}}\n\
         - input: \"*own*\"\n  call: {tool: query, input: {path: ../home/.local/share/agentx/agentx.db, sql: SELECT 1}}\n\
         - input: \"*try*\"\n  call: {tool: test_tool, input: {seed: 2}}\n\
         - result: \"*\"\n  say: done\n",
        config,
    );
    let connection = Connection::open(sandbox.path("ws/shop.db")).unwrap();
    connection
        .execute_batch("CREATE TABLE users (name); INSERT INTO users VALUES ('Ann')")
        .unwrap();
    sandbox
}

fn users(sandbox: &Sandbox) -> i64 {
    let connection = Connection::open(sandbox.path("ws/shop.db")).unwrap();
    connection
        .query_row("SELECT count(*) FROM users", [], |row| row.get(0))
        .unwrap()
}

#[test]
fn a_database_is_read_without_a_question() {
    let sandbox = sandbox("");
    let ran = sandbox.run(&["run", "--output-format", "json", "ask"]);
    check(&ran, 0, &[]);
    let shown = sandbox.run(&["sessions", "export", &sandbox.latest_id([])]);
    check(&shown, 0, &["[\"name\"]", "[\"Ann\"]", "[1 row]"]);
    let own = sandbox.run(&["run", "own"]);
    check(&own, 0, &["refused", "AgentX itself"]);
}

#[test]
fn a_database_is_changed_by_a_persons_word_alone() {
    let named = sandbox("");
    check(
        &named.run(&["run", "write"]),
        0,
        &["There is no tool \"query_write\""],
    );
    let asked = sandbox("tools: {optional: [query_write]}\n");
    let refused = asked.run(&["run", "write"]);
    check(
        &refused,
        7,
        &[
            "changing a file needs approval",
            "approvals add allow query_write --path shop.db --here",
        ],
    );
    assert_eq!(users(&asked), 1);
    let allow = [
        "approvals",
        "add",
        "allow",
        "query_write",
        "--path",
        "shop.db",
        "--here",
    ];
    check(&asked.run(&allow), 0, &["allow query_write in shop.db"]);
    check(&asked.run(&["run", "write"]), 0, &["done"]);
    assert_eq!(users(&asked), 0);
}

#[test]
fn the_file_of_an_agent_may_name_a_tool_that_is_off_by_default() {
    let sandbox = sandbox("");
    sandbox.write(
        "home/.config/agentx/agents/tester.yaml",
        "type: react\nname: tester\ndescription: Tries failures.\ntools: [{$ref: test_tool}]\n",
    );
    check(
        &sandbox.run(&["run", "--agent", "tester", "try"]),
        0,
        &["test_tool", "✓"],
    );
    check(
        &sandbox.run(&["run", "try"]),
        0,
        &["There is no tool \"test_tool\""],
    );
    check(&sandbox.run(&["tools"]), 0, &["(off by default) For tests"]);
}
