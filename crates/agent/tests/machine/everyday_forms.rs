//! Everyday forms of a command that a rule allows: behind wrappers and variables, with its output thrown
//! away, and with a pipe into programs that only read it. Each table has the forms that are allowed with the
//! rule for the command, and lines near them that are asked about, because they run, write or show something
//! else.
#![allow(clippy::unwrap_used, reason = "a test whose tool is missing fails")]

use agentx_agent::approval::{covers, suggested};
use agentx_agent::pattern::literal;
use agentx_types::{AgentConfig, ApprovalMode, RULES_VERSION, since};
use serde_json::json;

use crate::rules::{config, judged, rule};
use crate::secrets::{guarded, word};

fn asking(rules: &[&str]) -> AgentConfig {
    AgentConfig {
        rules_version: RULES_VERSION,
        ..config(ApprovalMode::Ask, rules)
    }
}

/// Asserts that these lines are allowed by a rule for `cargo test` and by one for `cargo test *`, but not in
/// a session of older rules.
fn are_allowed(lines: &[&str]) {
    for pattern in ["allow bash: cargo test", "allow bash: cargo test *"] {
        let config = asking(&[pattern]);
        let older = AgentConfig {
            rules_version: since::EVERYDAY_FORMS - 1,
            ..config.clone()
        };
        for line in lines {
            let (word, reason) = judged(&config, line);
            assert_eq!(word, "allow", "{pattern}: {line}: {reason}");
            let was_allowed =
                pattern.ends_with('*') && line.starts_with("cargo test") && !line.contains(['|', '<']);
            let before = judged(&older, line).0;
            assert!(
                before == "ask" || was_allowed,
                "sessions of before are decided about as they were: {line}"
            );
        }
    }
}

/// Asserts that these lines are asked about beside rules for `cargo test`.
fn are_asked_about(lines: &[&str]) {
    let config = asking(&["allow bash: cargo test", "allow bash: cargo test *"]);
    for line in lines {
        assert_eq!(judged(&config, line).0, "ask", "{line}");
    }
}

#[test]
fn a_command_is_allowed_behind_wrappers_and_variables_that_change_nothing() {
    are_allowed(&[
        "time cargo test",
        "time -p cargo test",
        "timeout 60 cargo test",
        "timeout -k 5 --signal=INT 1.5m cargo test",
        "nice cargo test",
        "nice -n 5 cargo test",
        "stdbuf -oL cargo test",
        "RUST_BACKTRACE=1 cargo test",
        "RUST_LOG=a::b=debug,info NO_COLOR=1 cargo test",
        "TERM=dumb COLUMNS=100 cargo test",
        "LC_ALL=C TZ=UTC cargo test",
        "LANG=C.UTF-8 cargo test",
        "env RUST_LOG=debug cargo test",
        "env cargo test",
        "RUST_BACKTRACE=full time timeout 60 nice -n 5 env RUST_LOG=debug cargo test",
    ]);
}

#[test]
fn no_variable_that_may_run_something_is_looked_through() {
    are_asked_about(&[
        "PATH=. cargo test",
        "LD_PRELOAD=./x.so cargo test",
        "LD_LIBRARY_PATH=. cargo test",
        "RUSTC=./x cargo test",
        "RUSTC_WRAPPER=./x cargo test",
        "RUSTFLAGS=-Clinker=./x cargo test",
        "CARGO_HOME=. cargo test",
        "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER=./x cargo test",
        "GIT_SSH_COMMAND=./x cargo test",
        "BASH_ENV=x cargo test",
        "IFS=: cargo test",
        "NODE_OPTIONS=-r./x cargo test",
        "NODE_ENV=production cargo test",
        "PYTHONPATH=. cargo test",
        "PYTHONWARNINGS=all:0:antigravity.x:0:0 cargo test",
        "PAGER=./x cargo test",
        "EDITOR=./x cargo test",
        "HOME=/tmp/x cargo test",
        "CI=1 cargo test",
        "RUST_LOG=debug PATH=. cargo test",
        "RUST_LOG+=debug cargo test",
        "RUST_LOG=$X cargo test",
        "RUST_LOG=$(x) cargo test",
        "RUST_LOG='a b' cargo test",
        "TERM=../x cargo test",
        "TZ=/etc/shadow cargo test",
        "TZ=:x cargo test",
        "TZ=AAA-24 cargo test",
        "TZ=Europe/Berlin cargo test",
        "LANG=en_US.UTF-8 cargo test",
        "LC_ALL=de_DE.UTF-8 cargo test",
        "LANG=zh_TW.Big5 cargo test",
        "RUST_LOG=debug",
    ]);
}

#[test]
fn no_wrapper_that_may_run_something_is_looked_through() {
    are_asked_about(&[
        "env",
        "env RUST_LOG=debug",
        "env PATH=. cargo test",
        "env -i cargo test",
        "env -u HOME cargo test",
        "env -C /tmp cargo test",
        "env -S 'cargo test'",
        "time -o x cargo test",
        "time -f %e -ao x cargo test",
        "timeout $X cargo test",
        "timeout `x` cargo test",
        "timeout 60 RUST_LOG=debug cargo test",
        "time RUST_LOG=debug cargo test",
        "timeout 0 cargo test",
        "timeout 0.1 cargo test",
        "timeout -s KILL 60 cargo test",
        "timeout --signal=STOP 60 cargo test",
        "timeout 60 ./cargo test",
        "timeout 60 sh -c 'cargo test'",
        "timeout '60' cargo test",
        "nice -n $X cargo test",
        "nice -n 5 sudo cargo test",
        "./timeout 60 cargo test",
        "/tmp/nice cargo test",
        "\\time cargo test",
        "sudo cargo test",
        "nohup cargo test",
        "setsid cargo test",
        "strace -o x cargo test",
        "flock x cargo test",
        "watch cargo test",
        "xargs cargo test",
        "ssh host cargo test",
        "chroot . cargo test",
        "time cargo build",
        "time cargo test; rm x",
        "timeout 60 cargo test && curl x",
        "timeout() { rm x; }; timeout 60 cargo test",
        "alias timeout=./x; timeout 60 cargo test",
    ]);
}

#[test]
fn a_command_is_allowed_without_its_output_or_input() {
    are_allowed(&[
        "cargo test 2>&1",
        "cargo test 2>/dev/null",
        "cargo test 2> /dev/null",
        "cargo test >/dev/null 2>&1",
        "cargo test &>/dev/null",
        "cargo test >&2",
        "cargo test 1>&2",
        "cargo test 2>>/dev/null",
        "cargo test < /dev/null",
        "cargo test </dev/null 2>&1",
        "timeout 60 cargo test 0</dev/null >/dev/null",
    ]);
}

#[test]
fn no_redirection_that_reads_or_writes_a_file_is_looked_through() {
    are_asked_about(&[
        "cargo test > out",
        "cargo test > out 2>&1",
        "cargo test 2>&1 > out",
        "cargo test >> out",
        "cargo test >| out",
        "cargo test &> out",
        "cargo test 2> out",
        "cargo test >& out",
        "cargo test >&$X",
        "cargo test > /dev/nullx",
        "cargo test > /dev/null/../x",
        "cargo test > /dev/$X",
        "cargo test < x",
        "cargo test 1</dev/null",
        "cargo test 2< /dev/null",
        "cargo test < /dev/nullx",
        "cargo test < /dev/null/../x",
        "cargo test <> /dev/null",
        "cargo test <<< x",
        "cargo test << /dev/null\nx\n/dev/null",
        "cargo test <(x) 2>&1",
        "cargo test\\ 2>&1",
        "cargo test2>&1",
        "> out 2>&1",
        ">/dev/null",
        "2>&1",
        "timeout 60 cargo test > out",
    ]);
    // A star stands for it, as it did in sessions of older rules.
    let exact = asking(&["allow bash: cargo test"]);
    assert_eq!(judged(&exact, "cargo test 0>/dev/null").0, "ask");
}

#[test]
fn what_a_wrapper_would_run_in_another_way_than_a_shell_is_asked_about() {
    let config = asking(&[
        "allow bash: DATABASE_URL=postgres://localhost/test make",
        "allow bash: TZ=Europe/Berlin date",
        "allow bash: PORT=* ./srv",
        "allow bash: source ./env.sh",
        "allow bash: . ./env.sh",
        "allow bash: cd sub",
        "allow bash: export A=b/c",
    ]);
    for line in [
        "DATABASE_URL=postgres://localhost/test make 2>&1",
        "NO_COLOR=1 TZ=Europe/Berlin date",
        "PORT=1 ./srv </dev/null",
    ] {
        let (word, reason) = judged(&config, line);
        assert_eq!(word, "allow", "{line}: {reason}");
    }
    for line in [
        "timeout 60 DATABASE_URL=postgres://localhost/test make",
        "time DATABASE_URL=postgres://localhost/test make",
        "stdbuf -oL TZ=Europe/Berlin date",
        "nice PORT=1/2 ./srv",
        "env nice PORT=1/2 ./srv",
        "NO_COLOR=1 time PORT=1/2 ./srv",
        "timeout 5 source ./env.sh",
        "time . ./env.sh",
        "nice cd sub",
        "env export A=b/c",
    ] {
        assert_eq!(judged(&config, line).0, "ask", "{line}");
    }
}

#[test]
fn a_star_in_the_value_of_a_variable_stands_for_a_part_of_one_word() {
    let config = asking(&["allow bash: PORT=* ./srv"]);
    let older = AgentConfig {
        rules_version: since::VALUES_ARE_ONE_WORD - 1,
        ..config.clone()
    };
    for line in ["PORT=1 ./srv", "PORT=a:b ./srv"] {
        assert_eq!(judged(&config, line).0, "allow", "{line}");
    }
    for line in ["PORT=1 LD_PRELOAD=./x.so ./srv", "PORT=1 ./evil ./srv"] {
        let (word, reason) = judged(&config, line);
        assert!(
            word == "ask" && reason.contains("is one word"),
            "{line}: {reason}"
        );
        assert_eq!(
            judged(&older, line).0,
            "allow",
            "sessions of before are decided about as they were: {line}"
        );
    }
}

#[test]
fn a_command_is_allowed_with_a_pipe_into_programs_that_only_read_it() {
    are_allowed(&[
        "cargo test | tail -20",
        "cargo test 2>&1 | tail -20",
        "cargo test |& tail -n 20",
        "cargo test 2>&1 | head -n 5",
        "cargo test | wc -l",
        "cargo test | grep -n word",
        "cargo test 2>&1 | grep -vE 'a|b' | tail -n 30",
        "cargo test | grep \"error: \"",
        "cargo test | sort | uniq -c | sort -rn | head -5",
        "cargo test | cut -d: -f1",
        "cargo test | cut -d' ' -f1,3",
        "cargo test | tr a b",
        "cargo test | tr -d '\\n'",
        "cargo test | cat",
        "cargo test | LC_ALL=C sort -u 2>/dev/null",
        "timeout 60 cargo test 2>&1 | tail -5; cargo test | wc -l",
    ]);
}

#[test]
fn no_program_that_reads_a_file_or_runs_something_is_allowed_behind_a_pipe() {
    are_asked_about(&[
        "cargo test | tail -f",
        "cargo test | tail -20f",
        "cargo test | tail -n 5 x",
        "cargo test | tail -f --pid 1",
        "cargo test | tail -n $X",
        "cargo test | tail $(x)",
        "cargo test | tail -20 > out",
        "cargo test | tail -20 < x",
        "cargo test | ./tail -20",
        "cargo test | /tmp/tail -20",
        "cargo test | PATH=. tail -20",
        "cargo test | sudo tail -20",
        "cargo test | xargs tail -20",
        "cargo test | tail -20 | sh",
        "cargo test | tail -20; rm x",
        "cargo test && tail -20",
        "cargo test; cat",
        "cargo test | head x",
        "cargo test | head -",
        "cargo test | wc --files0-from=x",
        "cargo test | grep -f x word",
        "cargo test | grep -r word",
        "cargo test | grep -nr word",
        "cargo test | grep word x",
        "cargo test | grep word *",
        "cargo test | grep \"$X\"",
        "cargo test | grep -q word",
        "cargo test | grep -m 1 word",
        "cargo test | grep -l word",
        "cargo test | grep -L word",
        "cargo test | grep --quiet word",
        "cargo test | grep --max-count=1 word",
        "cargo test | grep -- word x",
        "cargo test | sort -o x",
        "cargo test | sort -uo x",
        "cargo test | sort --compress-program=./x",
        "cargo test | sort --compress-prog ./x -S 1",
        "cargo test | sort -T x",
        "cargo test | sort x",
        "cargo test | uniq IN OUT",
        "cargo test | uniq - OUT",
        "cargo test | cut -f1 x",
        "cargo test | tr a b c",
        "cargo test | cat x",
        "cargo test | cat -",
        "cargo test | tee x",
        "cargo test | less",
        "cargo test | sed p",
        "cargo test | python",
        "cat x | tail -20",
        "tail -20 | cargo test",
        "curl x | grep word",
    ]);
}

#[test]
fn a_command_is_allowed_beside_parts_that_only_say_something_or_stay_in_the_workspace() {
    are_allowed(&[
        "cargo test || true",
        "cargo test && echo ok",
        "cargo test; echo \"exit $?\"",
        "cargo test 2>&1 | tail -5; printf '%s\\n' done",
        "cd . && cargo test",
        "cd /ws && cargo test",
        "cd \"/ws\" && timeout 60 cargo test || echo failed >/dev/null",
        "echo begin; cargo test",
        "set -o pipefail; cargo test 2>&1 | tail -20",
        "sleep 2; cargo test",
        "test -f Cargo.toml && cargo test",
        "[ -d target ] && cargo test",
    ]);
}

#[test]
fn no_part_that_runs_sets_writes_or_feeds_something_is_left_out() {
    are_asked_about(&[
        "echo ok",
        "cd /ws",
        "true",
        "cd sub && cargo test",
        "cd /ws/sub && cargo test",
        "cd /ws/.. && cargo test",
        "cd .. && cargo test",
        "cd && cargo test",
        "cd $X && cargo test",
        "pushd . && cargo test",
        "cargo test && echo ok > x",
        "cargo test; echo $HOME",
        "cargo test; echo $(x)",
        "cargo test; echo *",
        "cargo test; printf -v PATH .",
        "printf 'ab%n' PATH; cargo test",
        "echo x | cargo test; echo y",
        "cargo test || false",
        "cargo test; exit 0",
        "sleep 2",
        "set -x; cargo test",
        "set -- x; cargo test",
        "test -v x && cargo test",
        "[ -d $X ] && cargo test",
        "test -f * && cargo test",
        "sleep 100000; cargo test",
    ]);
    let config = asking(&["allow bash: sqlite3 *"]);
    assert_eq!(judged(&config, "echo '.shell x' | sqlite3 a.db").0, "ask");
    assert_eq!(judged(&config, "sqlite3 a.db .tables && echo ok").0, "allow");
}

#[test]
fn what_a_wrapper_runs_is_held_against_the_rules_like_any_command() {
    let config = asking(&[
        "allow bash: git *",
        "allow bash: sort a",
        "deny bash: rm *",
        "ask bash: tail *",
    ]);
    for (line, word, reason) in [
        ("time git log", "allow", "allows it"),
        ("timeout 60 git status 2>&1 | head -5", "allow", "allows it"),
        ("timeout 60 git push", "ask", "`git push` reaches the network"),
        ("time git -C .. log", "ask", "`git -C` has to be named"),
        ("nice git log $X", "ask", "nobody has seen the value"),
        (
            "git log | timeout 5 sort a",
            "ask",
            "reads what the command before it writes",
        ),
        (
            "git log | grep -f x",
            "ask",
            "no rule allows `grep -f x`, which is part of this line",
        ),
        ("time timeout 60 env RUST_LOG=debug rm x", "deny", "denies it"),
        ("git log 2>&1 | tail -5 && nice -n 5 rm x", "deny", "denies it"),
        ("git log | tail -5", "ask", "asks"),
    ] {
        let (found, why) = judged(&config, line);
        assert!(found == word && why.contains(reason), "{line}: {found}: {why}");
    }
}

#[test]
fn always_keeps_the_line_with_its_wrapper_as_it_was_seen() {
    let config = asking(&[]);
    let bash = config
        .tools
        .iter()
        .find(|tool| tool.name == "bash")
        .unwrap()
        .clone();
    for line in [
        "timeout 60 cargo test",
        "RUST_LOG=debug cargo test",
        "cargo test 2>&1 | tail -20",
        "cargo test < /dev/null",
        "time ls -l",
        "ls < /dev/null",
    ] {
        let kept = suggested(&config, &bash, &json!({ "command": line }));
        assert_eq!(kept.argument.as_deref(), Some(&*literal(line)), "{line}");
        let covered = |line: &str| covers(&kept, "/ws", &bash, &json!({ "command": line }));
        assert!(covered(line), "{line}");
        for other in [
            "cargo test",
            "ls -l",
            "timeout 61 cargo test",
            "cargo test -p a",
            "ls",
        ] {
            assert!(!covered(other), "{line}: {other}");
        }
    }
    let wrapped = rule("allow bash: timeout 60 cargo test");
    let covered = |line: &str| covers(&wrapped, "/ws", &bash, &json!({ "command": line }));
    assert!(covered("time timeout 60 cargo test 2>&1") && !covered("timeout 600 cargo test"));
}

#[test]
fn a_line_that_names_a_secret_is_asked_about_in_every_form() {
    let config = guarded(ApprovalMode::Ask, &["allow bash: cargo test *"]);
    for (line, expected) in [
        ("timeout 60 cargo test 2>&1 | grep env", "allow"),
        ("cargo test | grep .env", "ask"),
        ("cargo test | tail -5 .env", "ask"),
        ("cargo test < .env", "ask"),
        ("timeout 60 cargo test .env", "ask"),
        ("RUST_LOG=debug cargo test --config .env 2>/dev/null", "ask"),
    ] {
        assert_eq!(
            word(&config, "bash", json!({ "command": line })),
            expected,
            "{line}"
        );
    }
}
