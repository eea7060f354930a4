//! Habits that no lint of the compiler or of clippy holds: tasks and threads are owned, `drop` ends something
//! that has a name, parameters have names and types of their own, new agents begin with one set of defaults,
//! and no `match` is on a bool.

use agentx_tests::workspace_root;

use crate::none;
use crate::source::{Source, sources};

/// Files that start tasks or threads and keep no handle of them, each with how many places do, and the reason
/// why these end.
const MAY_DETACH: &[(&str, usize, &str)] = &[
    (
        "crates/agentx/src/answering.rs",
        2,
        "made by a `Drop`: one message to the session, and forgetting the values of its run",
    ),
    (
        "crates/agentx/src/handle.rs",
        1,
        "made by a `Drop`: the session is suspended",
    ),
    (
        "crates/bus/src/serve/dispatcher_state.rs",
        1,
        "sleeps for a fixed time, and holds the dispatcher weakly",
    ),
    (
        "crates/chat/src/terminal/mod.rs",
        2,
        "read the terminal, its keys or its lines, which nothing interrupts; end with the receiver or the process",
    ),
    (
        "crates/chat/src/headless/approver.rs",
        1,
        "reads standard input, which nothing interrupts; ends with its sender or the process",
    ),
    (
        "apps/agentx/src/cmd/run/prompt.rs",
        1,
        "reads standard input, which nothing interrupts; ends with the process",
    ),
    (
        "crates/mcp/src/serving/suspended_calls.rs",
        1,
        "sleeps until the last suspended call of a table is over, and holds the table weakly",
    ),
    (
        "crates/node-runtime/src/model/client.rs",
        1,
        "makes an HTTP client once",
    ),
    (
        "crates/remote-runtime/src/follow.rs",
        1,
        "ends with its subscription or the runtime",
    ),
    (
        "crates/runtime/src/driver/mod.rs",
        1,
        "ends with its session, whose status tells its end",
    ),
    (
        "crates/runtime/src/follow/mod.rs",
        1,
        "ends with its subscription",
    ),
    (
        "crates/runtime/src/streams/mod.rs",
        1,
        "ends with the last handle, by a drop guard",
    ),
    (
        "crates/server/src/maintenance.rs",
        1,
        "opens one session and says what came of it",
    ),
    (
        "crates/server/src/connections/rejections.rs",
        1,
        "bounded by a semaphore and a deadline",
    ),
    (
        "crates/server/src/rooms/presence.rs",
        1,
        "sleeps for a fixed time and tells a room",
    ),
    (
        "crates/server/src/server.rs",
        1,
        "a connection: holds a permit that the end of the server waits for",
    ),
    (
        "crates/server/src/quota_checks/unlisted_costs.rs",
        1,
        "writes one file",
    ),
    (
        "crates/server/src/members/waiting_calls.rs",
        1,
        "one message to a connection",
    ),
    (
        "crates/server/src/mcp/agent_tasks.rs",
        1,
        "ends with its task, its login or the server",
    ),
    (
        "crates/server/src/ws/mod.rs",
        1,
        "a connection: holds the request's permit",
    ),
    ("crates/server/src/ws/write_half.rs", 1, "one look at a session"),
    (
        "crates/tools/src/bash/jobs.rs",
        1,
        "ends with its command, which the table of jobs ends",
    ),
];

/// Parameters that are tuples. The number may only fall: a tuple of two things that belong together is a
/// struct with a name.
const TUPLE_PARAMETERS: usize = 70;

/// Calls that start a task or a thread and give a handle of it.
const SPAWNS: &[&str] = &["spawn(", "spawn_blocking("];

/// The production code of a file as one text.
fn production(source: &Source) -> String {
    let lines: Vec<&str> = source.production().map(|(_, line)| line).collect();
    lines.join("\n")
}

/// The text between the bracket at `open` and the one that closes it, and what follows.
fn bracketed(code: &str, open: usize) -> Option<(&str, &str)> {
    let mut depth = 0_usize;
    for (at, c) in code[open..].char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            let end = open + at;
            return Some((&code[open + 1..end], &code[end + 1..]));
        }
    }
    None
}

/// The lines (from 1) of statements that start a task or a thread and drop its handle.
fn detached(code: &str) -> Vec<usize> {
    let mut found = Vec::new();
    for (at, word) in SPAWNS.iter().flat_map(|word| code.match_indices(word)) {
        let begin = code[..at]
            .rfind([';', '{', '}', ',', '\n'])
            .map_or(0, |end| end + 1);
        // A path such as `tokio::spawn` or `tokio.spawn` at the beginning of a statement, or what ignores its
        // value.
        let before = code[begin..at].trim();
        let before = before.strip_prefix("let _ =").map_or(before, str::trim);
        let is_path = before.chars().all(|c| c.is_alphanumeric() || "_.:".contains(c));
        let starts = ["tokio", "std", "thread", "task", "runtime", "handle", ""];
        let first = before.split([':', '.']).next().unwrap_or_default();
        let before_line = code[..begin].trim_end();
        let is_statement = before_line.is_empty() || before_line.ends_with([';', '{', '}']);
        let ends = bracketed(code, at + word.len() - 1).is_some_and(|(_, rest)| rest.starts_with(';'));
        let dropped = code[..at].trim_end_matches(|c: char| c.is_alphanumeric() || "_.:".contains(c));
        if (is_path && starts.contains(&first) && is_statement && ends) || dropped.ends_with("drop(") {
            found.push(code[..at].lines().count());
        }
    }
    found
}

#[test]
fn tasks_and_threads_are_owned() {
    let found: Vec<(String, Vec<usize>)> = sources(&workspace_root())
        .iter()
        .map(|source| (source.path.clone(), detached(&production(source))))
        .collect();
    none(
        &beside_the_list(&found, MAY_DETACH),
        "tasks or threads whose handle is dropped: keep it, or list why they end",
    );
}

/// Returns the deviations from the list: unlisted places, and files with fewer places than listed.
fn beside_the_list(found: &[(String, Vec<usize>)], listed: &[(&str, usize, &str)]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (path, lines) in found {
        let entry = listed.iter().find(|(listed, _, _)| listed == path);
        let allowed = entry.map_or(0, |(_, count, _)| *count);
        if lines.len() > allowed {
            let places = lines
                .iter()
                .map(|line| format!("{path}:{line}, {allowed} allowed in this file"));
            wrong.extend(places);
        }
    }
    for (path, count, _) in listed {
        let lines = found.iter().find(|(found, _)| found == path);
        let there = lines.map_or(0, |(_, lines)| lines.len());
        if there < *count {
            wrong.push(format!(
                "{path} detaches {there} and not {count}: say so in the list"
            ));
        }
    }
    wrong
}

#[test]
fn a_second_detached_task_in_a_listed_file_is_seen() {
    let found = |lines: &[usize]| vec![("a.rs".to_owned(), lines.to_vec())];
    let listed = [("a.rs", 1, "ends with its session")];
    assert!(beside_the_list(&found(&[7]), &listed).is_empty());
    assert_eq!(beside_the_list(&found(&[7, 9]), &listed).len(), 2);
    assert_eq!(
        beside_the_list(&found(&[]), &listed).len(),
        1,
        "it is there no more"
    );
    assert_eq!(beside_the_list(&found(&[7]), &[]).len(), 1);
}

#[test]
fn detached_tasks_are_found() {
    for (code, count) in [
        ("{ tokio::spawn(run(a, b)); }", 1),
        (
            "fn f() {\n    std::thread::spawn(move || {\n        work();\n    });\n}",
            1,
        ),
        ("x; let _ = tokio::spawn(run());", 1),
        ("drop(tokio::spawn(run()));", 1),
        ("if let Ok(tokio) = handle() {\n    tokio.spawn(run());\n}", 1),
        ("let task = tokio::spawn(run());", 0),
        ("self.tasks.spawn(run());", 0),
        ("{ tokio::spawn(run()) }", 0),
        ("tokio::spawn(run()).await;", 0),
    ] {
        assert_eq!(detached(code).len(), count, "{code}");
    }
}

/// Finds `drop` of the value of an expression, instead of a name.
fn dropped_expressions(code: &str) -> Vec<usize> {
    let found = code.match_indices("drop(").filter(|(at, _)| {
        let before = code[..*at].chars().next_back();
        let is_word = before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '.');
        let inside = bracketed(code, at + 4).map(|(inside, _)| inside);
        let is_declared = code[..*at].trim_end().ends_with("fn");
        !is_word && !is_declared && inside.is_some_and(|inside| inside.contains(['(', '{', '!']))
    });
    found.map(|(at, _)| code[..at].lines().count()).collect()
}

#[test]
fn what_is_dropped_has_a_name() {
    let mut wrong = Vec::new();
    for source in sources(&workspace_root()) {
        let lines = dropped_expressions(&production(&source));
        wrong.extend(lines.iter().map(|line| format!("{}:{line}", source.path)));
    }
    none(
        &wrong,
        "`drop(expression)` where a value is ignored: `let _ = expression;` says so",
    );
    for (code, count) in [
        ("drop(guard); drop(self.sender); fn drop(&mut self) {}", 0),
        ("std::mem::drop(lock())", 1),
        ("map(|x| drop(set.insert(x)))", 1),
        ("table.drop(entry())", 0),
    ] {
        assert_eq!(dropped_expressions(code).len(), count, "{code}");
    }
}

/// The parameters of functions whose type or pattern is a tuple.
fn tuple_parameters(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let name_end = code[at + 3..].find(|c: char| !c.is_alphanumeric() && c != '_');
        let Some(open) = name_end.and_then(|end| after_generics(code, at + 3 + end)) else {
            continue;
        };
        let Some((parameters, _)) = bracketed(code, open) else {
            continue;
        };
        let tuples = split_parameters(parameters)
            .into_iter()
            .filter(|one| is_tuple(one));
        found.extend(tuples.map(|one| format!("{} in {}", one.trim(), &code[at + 3..open])));
    }
    found
}

/// If the bracket of the parameters opens, behind the name and its generics.
fn after_generics(code: &str, from: usize) -> Option<usize> {
    let mut depth = 0_usize;
    let mut last = ' ';
    for (at, c) in code[from..].char_indices() {
        match c {
            '(' if depth == 0 => return Some(from + at),
            '<' => depth += 1,
            '>' if last != '-' => depth = depth.checked_sub(1)?,
            _ if depth == 0 => return None,
            _ => {}
        }
        last = c;
    }
    None
}

/// The parameters, which commas part outside of brackets.
fn split_parameters(text: &str) -> Vec<&str> {
    let (mut depth, mut begin, mut last) = (0_i32, 0, ' ');
    let mut parts = Vec::new();
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            '>' if last != '-' && last != '=' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
        last = c;
    }
    parts.push(&text[begin..]);
    parts
}

fn is_tuple(parameter: &str) -> bool {
    let parameter = parameter.trim();
    let kind = parameter.replace("::", "  ");
    let kind = kind.split_once(':').map_or("", |(_, kind)| kind.trim());
    let kind = kind.trim_start_matches('&').trim_start_matches("mut ");
    parameter.starts_with('(')
        || (kind.starts_with('(') && !kind.starts_with("()") && !kind.starts_with("(dyn"))
}

#[test]
fn tuples_as_parameters_become_fewer() {
    let mut found = Vec::new();
    for source in sources(&workspace_root()) {
        let tuples = tuple_parameters(&production(&source));
        found.extend(
            tuples
                .into_iter()
                .map(|tuple| format!("{}: {tuple}", source.path)),
        );
    }
    let count = found.len();
    if count > TUPLE_PARAMETERS {
        none(
            &found,
            &format!("tuples as parameters, of which {TUPLE_PARAMETERS} may be there"),
        );
    }
    assert_eq!(
        count, TUPLE_PARAMETERS,
        "there are fewer: say so in TUPLE_PARAMETERS"
    );
    for (code, count) in [
        ("fn f((a, b): (u8, u8), c: u8) {}", 1),
        ("fn f<T: Into<(u8, u8)>>(a: &(T, T)) -> (u8, u8) {}", 1),
        (
            "fn f(a: &(dyn Any + Send), b: (), c: Vec<(u8, u8)>, d: impl Fn((u8, u8)) -> u8) {}",
            0,
        ),
        ("fn f(self, a: std::fmt::Arguments<'_>) {}", 0),
    ] {
        assert_eq!(tuple_parameters(code).len(), count, "{code}");
    }
}

/// Files that begin an agent with nothing: the defaults themselves, and the agents of tests.
const MAY_BEGIN_BARE: &[&str] = &[
    "crates/types/src/agent_defaults.rs",
    "crates/agent/src/fixtures.rs",
];

#[test]
fn every_new_agent_begins_with_the_defaults() {
    let bare = [
        "AgentConfig::react(",
        "Some(StuckSettings::default())",
        "Some(ToolSearch::default())",
        "keeps_beginning: true",
    ];
    let (mut begun, mut wrong) = (0, Vec::new());
    for source in sources(&workspace_root()) {
        for (number, line) in source.production() {
            begun += usize::from(line.contains("AgentConfig::with_defaults("));
            let may = MAY_BEGIN_BARE.contains(&source.path.as_str());
            if !may && bare.iter().any(|word| line.contains(word)) {
                wrong.push(format!("{}:{} {}", source.path, number + 1, line.trim()));
            }
        }
    }
    assert!(begun >= 3, "only {begun} places begin an agent");
    none(
        &wrong,
        "defaults of an agent in a second place: begin with `AgentConfig::with_defaults` and name what differs",
    );
}

/// The lines of a `match` on a bool: an arm that is `true` or `false`, with a guard or without, outside of
/// `matches!` and patterns of several values.
fn arms_of_bools(code: &str) -> Vec<usize> {
    let is_arm = |line: &&str| {
        let line = line.trim_start();
        let rest = line.strip_prefix("true").or_else(|| line.strip_prefix("false"));
        rest.is_some_and(|rest| rest.starts_with(" =>") || rest.starts_with(" if "))
    };
    let lines = code.lines().enumerate();
    lines
        .filter(|(_, line)| is_arm(line))
        .map(|(number, _)| number + 1)
        .collect()
}

#[test]
fn no_match_is_on_a_bool() {
    let mut wrong = Vec::new();
    for source in sources(&workspace_root()) {
        let lines = arms_of_bools(&source.code);
        wrong.extend(lines.iter().map(|line| format!("{}:{line}", source.path)));
    }
    none(
        &wrong,
        "a `match` on a bool, which the lint does not see behind a guard: `if` says the same",
    );
    for (code, count) in [
        (
            "match a {\n    true if b => 1,\n    true => 2,\n    false => 3,\n}",
            3,
        ),
        ("match a {\n    (true, false) => 1,\n    Some(true) => 2,\n}", 0),
        ("let a = if b {\n    true\n} else {\n    false\n};", 0),
    ] {
        assert_eq!(arms_of_bools(code).len(), count, "{code}");
    }
}
