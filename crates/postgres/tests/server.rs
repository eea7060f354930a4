//! `query_database` against a PostgreSQL server that the test starts. Where none is installed, it says so and
//! ends well.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot start fails")]

use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use agentx_postgres::{ConfiguredDatabase, DatabaseQueryOptions, DatabaseQueryTool};
use agentx_runtime::{Tool as _, ToolOutcome};
use agentx_testing::fixture;
use agentx_tools::Typed;
use agentx_types::{ContentPart, ToolStatus};
use serde_json::{Value, json};

/// The user `nobody`: PostgreSQL does not run as root.
const NOBODY: u32 = 65_534;

/// A server with a socket in a directory of its own. It ends with the test.
struct TestDatabase {
    directory: tempfile::TempDir,
    as_root: bool,
}

impl TestDatabase {
    /// Starts a server; `None` if PostgreSQL is not installed.
    fn start() -> Option<Self> {
        for program in ["initdb", "pg_ctl", "postgres", "psql"] {
            let asked = Command::new(program)
                .arg("--version")
                .stdout(Stdio::null())
                .status();
            if asked.is_err() {
                eprintln!("{program} is not installed: not run: the tests with a PostgreSQL server");
                return None;
            }
        }
        let directory = tempfile::tempdir().unwrap();
        let started = Self {
            as_root: is_root(directory.path()),
            directory,
        };
        if started.as_root {
            chown(started.directory.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let data = started.data();
        let data = data.to_str().unwrap();
        started.run("initdb", &["-D", data, "-A", "trust", "-U", "me", "-N"]);
        let options = format!("-c listen_addresses='' -k {}", started.directory.path().display());
        let log = started.directory.path().join("log");
        started.run(
            "pg_ctl",
            &[
                "-D",
                data,
                "-w",
                "-o",
                &options,
                "-l",
                log.to_str().unwrap(),
                "start",
            ],
        );
        Some(started)
    }

    fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    fn run(&self, program: &str, arguments: &[&str]) {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.directory.path());
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if self.as_root {
            command.uid(NOBODY).gid(NOBODY);
        }
        let status = command.status().unwrap();
        assert!(status.success(), "{program} {arguments:?}: {status}");
    }

    fn address(&self) -> String {
        format!("host={} user=me dbname=postgres", self.directory.path().display())
    }

    /// Runs SQL that may write.
    fn prepare(&self, sql: &str) {
        let directory = self.directory.path().to_str().unwrap();
        self.run(
            "psql",
            &[
                "-h",
                directory,
                "-U",
                "me",
                "-d",
                "postgres",
                "-v",
                "ON_ERROR_STOP=1",
                "-c",
                sql,
            ],
        );
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        let mut command = Command::new("pg_ctl");
        command
            .arg("-D")
            .arg(self.data())
            .args(["-m", "immediate", "stop"]);
        if self.as_root {
            command.uid(NOBODY).gid(NOBODY);
        }
        // It is not there if it did not start.
        let _ = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}

/// Returns whether files that this process makes belong to root.
fn is_root(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata(path).unwrap().uid() == 0
}

fn tool(address: &str, options: DatabaseQueryOptions) -> Typed<DatabaseQueryTool> {
    let shop = ConfiguredDatabase {
        name: "shop".into(),
        address: Some(address.to_owned()),
    };
    Typed::new(DatabaseQueryTool::new(vec![shop], options))
}

async fn call(tool: &Typed<DatabaseQueryTool>, input: Value) -> ToolOutcome {
    tool.call(input, fixture::tool_context("/")).await
}

fn text(outcome: &ToolOutcome) -> String {
    outcome.content.iter().filter_map(ContentPart::as_text).collect()
}

/// The text of a call that has to end with `status`.
async fn says(tool: &Typed<DatabaseQueryTool>, sql: &str, status: ToolStatus) -> String {
    let outcome = call(tool, json!({"database": "shop", "sql": sql})).await;
    let said = text(&outcome);
    assert_eq!(outcome.status, status, "{sql}: {said}");
    said
}

#[tokio::test]
async fn rows_are_shown_and_nothing_is_changed() {
    let Some(server) = TestDatabase::start() else {
        return;
    };
    server.prepare("CREATE TABLE users (id int8, name text, rate float8, ok bool)");
    server.prepare("INSERT INTO users VALUES (1, 'Ann', 1.5, true), (2, NULL, 'NaN', false)");
    let reads = tool(&server.address(), DatabaseQueryOptions::default());
    let shown = says(&reads, "SELECT * FROM users ORDER BY id;", ToolStatus::Success).await;
    assert_eq!(
        shown,
        "[\"id\",\"name\",\"rate\",\"ok\"]\n[1,\"Ann\",1.5,true]\n[2,null,\"NaN\",false]\n[2 rows]\n"
    );
    for (sql, why) in [
        ("INSERT INTO users VALUES (3)", "returns no rows"),
        (
            "INSERT INTO users VALUES (3) RETURNING id",
            "read-only transaction",
        ),
        (
            "WITH gone AS (DELETE FROM users RETURNING id) SELECT * FROM gone",
            "read-only transaction",
        ),
        ("EXPLAIN ANALYZE DELETE FROM users", "read-only transaction"),
        (
            "SELECT set_config('transaction_read_only', 'off', false)",
            "read-write mode",
        ),
        ("SELECT nextval('made_up')", "does not exist"),
        ("COMMIT", "returns no rows"),
        ("COPY users TO '/tmp/made-up'", "returns no rows"),
        ("SET default_transaction_read_only = off", "returns no rows"),
        ("SELECT 1; DELETE FROM users", "multiple commands"),
        ("COMMIT; DELETE FROM users", "multiple commands"),
        ("SELECT $1::int", "parameters"),
        ("SELEC 1", "syntax error"),
    ] {
        let said = says(&reads, sql, ToolStatus::Failed).await;
        assert!(said.contains(why), "{sql}: {said}");
    }
    let left = says(&reads, "SELECT count(*) AS n FROM users", ToolStatus::Success).await;
    assert_eq!(left, "[\"n\"]\n[2]\n[1 row]\n");
}

#[tokio::test]
async fn rows_bytes_and_time_have_bounds() {
    let Some(server) = TestDatabase::start() else {
        return;
    };
    let options = DatabaseQueryOptions {
        received_bytes: 1 << 20,
        ..DatabaseQueryOptions::default()
    };
    let reads = tool(&server.address(), options);
    let many = says(
        &reads,
        "SELECT generate_series(1, 1000) AS n",
        ToolStatus::Success,
    )
    .await;
    assert!(
        many.ends_with("[100]\n[100 rows; there are more: ask for fewer columns, or set limit]\n"),
        "{many}"
    );
    let long = says(&reads, "SELECT repeat('x', 5000) AS x", ToolStatus::Success).await;
    assert!(long.contains("3000 more bytes in this value"), "{long}");
    let large = says(&reads, "SELECT repeat('x', 100000000) AS x", ToolStatus::Failed).await;
    assert!(large.contains("too large"), "{large}");
    let options = DatabaseQueryOptions {
        timeout: Duration::from_secs(2),
        ..DatabaseQueryOptions::default()
    };
    let reads = tool(&server.address(), options);
    let slow = says(&reads, "SELECT pg_sleep(60)", ToolStatus::Failed).await;
    assert!(
        slow.contains("statement timeout") || slow.contains("no answer within"),
        "{slow}"
    );
    let unknown = call(&reads, json!({"database": "other", "sql": "SELECT 1"})).await;
    assert_eq!(unknown.status, ToolStatus::Invalid);
    assert!(text(&unknown).contains("there are: shop"));
}

#[tokio::test]
async fn no_error_has_the_password_of_an_address() {
    for (address, why) in [
        (
            "postgres://me:made-up-secret@127.0.0.1:1/shop",
            "cannot be reached",
        ),
        ("postgres://me:made-up-secret@", "not a PostgreSQL address"),
        ("mysql://me:made-up-secret@h/shop", "not a PostgreSQL address"),
    ] {
        let reads = tool(address, DatabaseQueryOptions::default());
        let said = says(&reads, "SELECT 1", ToolStatus::Failed).await;
        assert!(said.contains(why) && !said.contains("made-up-secret"), "{said}");
    }
}
