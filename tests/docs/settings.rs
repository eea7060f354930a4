//! Examples of configuration are right, docs/CONFIG.md has every key with its default and what an untrusted
//! workspace may do, and the tables of limits have the numbers of the code.

use std::time::Duration;

use agentx::config::{KEYS, Quotas, SettingSpec, VARIABLES, WorkspaceMay};
use agentx::server::ServerLimits;

use crate::console::Sandbox;
use crate::markdown::{blocks, quoted, read, rows, section};
use crate::none;

#[test]
fn examples_of_configuration_are_right() {
    let mut wrong = Vec::new();
    let mut examples = 0;
    for document in ["README.md", "docs/CONFIG.md"] {
        for block in blocks(&read(document)) {
            if block.language != "yaml" {
                continue;
            }
            examples += 1;
            let sandbox = Sandbox::new();
            sandbox.configure(&block.text);
            let outcome = sandbox.shell("WORK_KEY=made-up agentx config check");
            if !outcome.success || outcome.text.lines().count() != 1 {
                wrong.push(format!("{document}:{}: {}", block.line, outcome.text));
            }
        }
    }
    assert!(examples >= 4, "{examples} examples");
    none(&wrong, "examples of configuration with mistakes");
}

#[test]
fn rules_do_what_the_page_says() {
    let sandbox = Sandbox::new();
    sandbox.configure(
        "rules:\n  - {effect: allow, tool: bash, argument: \"wc *\"}\n  - {effect: deny, tool: bash, argument: \"echo *\"}\n",
    );
    let exit = |prompt: &str| {
        let outcome = sandbox.shell(&format!("agentx run --model demo \"{prompt}\"; echo \"exit $?\""));
        (
            outcome.text.contains("exit 0"),
            outcome.text.contains("● bash") && outcome.text.contains("✓"),
        )
    };
    assert_eq!(
        exit("run wc -l README.md"),
        (true, true),
        "an allowed command runs"
    );
    assert_eq!(
        exit("run wc -l README.md; touch x"),
        (false, false),
        "each command has to be allowed"
    );
    assert_eq!(
        exit("run wc -l README.md && echo x"),
        (true, false),
        "one that is denied denies all"
    );
}

fn may(workspace: WorkspaceMay) -> &'static str {
    match workspace {
        WorkspaceMay::Set => "may set it",
        WorkspaceMay::Tighten => "may make it stricter",
        WorkspaceMay::SetIfTrusted => "may not",
        WorkspaceMay::Never => "may not, trusted or not",
    }
}

/// The expected row of a key: its path, default, description and the rights of a workspace.
fn expected(spec: &SettingSpec) -> [String; 4] {
    // Built-in providers have their own API, so the table of keys has this default in the description.
    let (default, about) = match spec.about.strip_suffix(" [openai-chat]") {
        Some(about) => (Some("openai-chat"), about),
        None => (spec.default, spec.about),
    };
    [
        format!("`{}`", spec.path),
        default.map(|default| format!("`{default}`")).unwrap_or_default(),
        about.to_owned(),
        may(spec.workspace_may).to_owned(),
    ]
}

#[test]
fn the_page_has_every_key_with_its_description() {
    let documented: Vec<[String; 4]> = rows(section(&read("docs/CONFIG.md"), "## Keys"))
        .into_iter()
        .map(|row| [row[0].clone(), row[2].clone(), row[3].clone(), row[4].clone()])
        .collect();
    let right: Vec<[String; 4]> = KEYS.iter().map(expected).collect();
    assert_eq!(documented, right);
}

#[test]
fn the_page_has_the_words_of_every_choice() {
    let page = read("docs/CONFIG.md");
    let table = rows(section(&page, "## Keys"));
    let mut wrong = Vec::new();
    for (spec, row) in KEYS.iter().zip(table) {
        let expects = spec.kind.expects();
        if let Some(words) = expects.strip_prefix("one of ") {
            let words: Vec<&str> = words.split(", ").collect();
            if quoted(&row[1]) != words {
                wrong.push(format!("{}: {expects}", spec.path));
            }
        }
    }
    none(&wrong, "choices in docs/CONFIG.md");
}

#[test]
fn the_page_has_every_variable() {
    let page = read("docs/CONFIG.md");
    let table: Vec<(String, String)> = rows(section(&page, "## Environment"))
        .into_iter()
        .map(|row| (row[0].clone(), row[1].clone()))
        .collect();
    let wrong: Vec<String> = VARIABLES
        .iter()
        .map(|(name, key)| (format!("`{name}`"), format!("`{key}`")))
        .filter(|pair| !table.contains(pair))
        .map(|(name, key)| format!("{name} for {key}"))
        .collect();
    none(&wrong, "variables that docs/CONFIG.md does not name");
}

/// A count as people read it: `4,096`.
fn many(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A size as people read it: `16 KiB`.
fn size(bytes: u64) -> String {
    match bytes {
        bytes if bytes % (1 << 30) == 0 => format!("{} GiB", bytes >> 30),
        bytes if bytes % (1 << 20) == 0 => format!("{} MiB", bytes >> 20),
        bytes if bytes % (1 << 10) == 0 => format!("{} KiB", bytes >> 10),
        bytes => many(bytes),
    }
}

fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs())
}

/// The numbers of a cell, with their unit if that is bytes or seconds.
fn numbers(cell: &str) -> Vec<String> {
    let words: Vec<&str> = cell.split([' ', ';']).filter(|word| !word.is_empty()).collect();
    let number = |word: &str| {
        let word = word.trim_end_matches([',', '.', ':']);
        let is_one = word.starts_with(|c: char| c.is_ascii_digit())
            && word.chars().all(|c| c.is_ascii_digit() || c == ',');
        is_one.then(|| word.to_owned())
    };
    let unit = |word: &&str| {
        let word = word.trim_end_matches([',', '.', ':']);
        ["KiB", "MiB", "GiB", "s"]
            .contains(&word)
            .then(|| format!(" {word}"))
    };
    let found = words.iter().enumerate().filter_map(|(at, word)| {
        let unit = words.get(at + 1).and_then(unit);
        Some(number(word)? + &unit.unwrap_or_default())
    });
    found.collect()
}

/// A number that stands in the code as `const NAME: … = 16 * 1024;` and has no name outside its crate.
fn constant(file: &str, name: &str) -> u64 {
    let text = read(file);
    let begins = format!("const {name}: ");
    let line = text.lines().find(|line| line.contains(&begins));
    let value = line.and_then(|line| line.split_once(" = "));
    let value = value.unwrap_or_else(|| panic!("{file} has no {name}")).1;
    let value = value.trim_end_matches(';').replace('_', "");
    let value = value
        .strip_prefix("Duration::fromsecs(")
        .map_or(value.as_str(), |rest| rest.trim_end_matches(')'));
    let of = |text: &str| text.trim().parse::<u64>().unwrap();
    if let Some((one, by)) = value.split_once("<<") {
        return of(one) << of(by);
    }
    value.split('*').map(of).product()
}

/// The rows of a table against what the code says of them: what a row begins with, which cell it is, and the
/// numbers in it.
fn compared(document: &str, heading: &str, expected: &[(&str, usize, Vec<String>)]) -> Vec<String> {
    let page = read(document);
    let rows = rows(section(&page, heading));
    let row = |begins: &str| rows.iter().find(|row| row[0].starts_with(begins));
    let found = expected.iter().map(|(begins, cell, want)| match row(begins) {
        None => Some(format!("{document} has no row {begins:?}")),
        Some(row) => {
            let has = numbers(&row[*cell]);
            (has != *want).then(|| format!("{document}, {begins:?}: {has:?} is written, and {want:?} is so"))
        }
    });
    found.flatten().collect()
}

#[test]
fn numbers_of_tables_are_read() {
    let cell = "1 MiB; 4,096 of a visitor, or 10 s, 75 s. No `3` and b4, but 64";
    assert_eq!(numbers(cell), ["1 MiB", "4,096", "10 s", "75 s", "64"]);
    assert_eq!((many(1_000_000), many(999)), ("1,000,000".into(), "999".into()));
    assert_eq!((size(16 << 10), size(8 << 20)), ("16 KiB".into(), "8 MiB".into()));
    assert_eq!(
        constant("crates/server/src/limits/size_limits.rs", "HEAD_BYTES"),
        16 << 10
    );
    assert_eq!(constant("crates/server/src/http/layers.rs", "ANSWER"), 60);
}

/// A constant of a file of the server.
fn of_server(file: &str, name: &str) -> u64 {
    constant(&format!("crates/server/src/{file}.rs"), name)
}

/// A number of frames or connections, as tables write it.
fn count(count: usize) -> String {
    many(count as u64)
}

/// A number of bytes, as tables write it.
fn bytes(count: usize) -> String {
    size(count as u64)
}

/// The values in the rows about frames, requests and messages.
fn of_messages(limits: &ServerLimits, quotas: &Quotas) -> Vec<(&'static str, Vec<String>)> {
    let option = |name: &str| many(of_server("limits/size_limits", name));
    vec![
        (
            "a frame of a client",
            vec![
                bytes(limits.frame_bytes),
                size(of_server("ws/allowance", "VISITOR_BYTES")),
            ],
        ),
        (
            "all data on a WebSocket before",
            vec![
                size(of_server("ws/allowance", "UNKNOWN_BYTES")),
                many(of_server("ws/read_half", "UNKNOWN_FRAMES")),
            ],
        ),
        (
            "the head of a request",
            vec![size(of_server("limits/size_limits", "HEAD_BYTES"))],
        ),
        (
            "a body of a request",
            vec![
                bytes(limits.body_bytes),
                size(of_server("http/requests/body", "OPEN_BYTES")),
                size(of_server("http/requests/body", "SIGNED_BYTES")),
            ],
        ),
        (
            "a body that nobody reads",
            vec![
                size(of_server("connections/unread_body", "DISCARDED_BYTES")),
                format!("{} s", of_server("connections/unread_body", "DISCARDING")),
            ],
        ),
        (
            "an `id` of a frame",
            vec![many(of_server("ws/frames", "ID_CHARS"))],
        ),
        ("an idempotency key", vec!["1".into(), option("KEY_CHARS")]),
        ("parts of a message", vec![count(agentx::types::wire::MOST_PARTS)]),
        ("a title", vec![option("TITLE_CHARS")]),
        ("a title", vec![option("NAME_CHARS")]),
        ("an id in a request", vec![option("ID_BYTES")]),
        ("`detail` of a problem", vec![option("REFUSAL_CHARS")]),
        ("the reason of an interrupt", vec![option("WORD_CHARS")]),
        (
            "what waits in a session",
            vec![many(quotas.queued), size(quotas.queued_bytes)],
        ),
    ]
}

/// The values in the rows about connections and times.
fn of_connections(limits: &ServerLimits, quotas: &Quotas) -> Vec<(&'static str, Vec<String>)> {
    let some = |quota: Option<u64>| many(quota.unwrap());
    vec![
        (
            "frames of a connection",
            vec![many(limits.rate.into()), many(limits.burst.into())],
        ),
        (
            "an answer to a request",
            vec![format!("{} s", of_server("http/layers", "ANSWER"))],
        ),
        ("subscriptions of a connection", vec![count(limits.subscriptions)]),
        (
            "WebSockets and event streams",
            vec![some(quotas.connections), some(quotas.visitor_connections)],
        ),
        (
            "connections of an address",
            vec![count(limits.connections_per_address)],
        ),
        ("connections of a server", vec![count(limits.connections)]),
        (
            "what waits for one reader",
            vec![bytes(limits.waiting_bytes), count(limits.waiting_frames)],
        ),
        ("a reader that takes nothing", vec![seconds(limits.stalled)]),
        (
            "authentication on a WebSocket",
            vec![seconds(limits.authenticate)],
        ),
        (
            "the head of the first request",
            vec![seconds(limits.head), seconds(limits.keep), seconds(limits.body)],
        ),
        (
            "bodies of more than 64 KiB",
            vec!["1".into(), many(of_server("limits/fair_semaphore", "BODIES"))],
        ),
        ("no data from the client", vec![seconds(limits.silence)]),
        ("the end of a server", vec![seconds(limits.shutdown)]),
    ]
}

#[test]
fn the_limits_of_the_protocol_are_those_of_the_server() {
    let (limits, quotas) = (ServerLimits::default(), Quotas::default());
    let rows = of_messages(&limits, &quotas)
        .into_iter()
        .chain(of_connections(&limits, &quotas));
    let expected: Vec<_> = rows.map(|(begins, numbers)| (begins, 1, numbers)).collect();
    let wrong = compared("docs/PROTOCOL.md", "### Limits", &expected);
    none(&wrong, "limits in docs/PROTOCOL.md");
    assert_eq!(
        of_server("http/requests/body", "AT_ONCE_BYTES"),
        64 << 10,
        "as the page says of bodies"
    );
}

#[test]
fn what_a_connection_and_a_person_may_cost_is_as_the_page_says() {
    let (limits, quotas) = (ServerLimits::default(), Quotas::default());
    let after = |time: Duration| vec![seconds(time)];
    let connection = [
        ("it is empty", after(limits.head)),
        ("it does not finish a TLS handshake", after(limits.head)),
        ("it asks nothing more after an answer", after(limits.keep)),
        ("a body arrives too slowly", after(limits.body)),
        ("a person sends several bodies", after(limits.body)),
        ("it takes nothing of an answer", after(limits.stalled * 2)),
        ("it is a WebSocket and does not say", after(limits.authenticate)),
        ("it is one, and says nothing at all", after(limits.silence)),
        ("it is one, and takes nothing", after(limits.stalled)),
    ];
    let connection = connection.map(|(begins, numbers)| (begins, 2, numbers));
    let page = "docs/REMOTE.md";
    let mut wrong = compared(page, "## What a connection may cost", &connection);
    let some = |quota: Option<u64>| quota.unwrap();
    let person = [
        ("`quotas.sessions`", vec![many(some(quotas.sessions))]),
        ("`quotas.storage_bytes`", vec![size(some(quotas.bytes))]),
        ("`quotas.running_sessions`", vec![many(some(quotas.running))]),
        (
            "`quotas.running_tool_calls`",
            vec![
                many(some(quotas.calls)),
                many(constant("crates/runtime/src/effects/call_slots.rs", "USUAL")),
            ],
        ),
        ("`quotas.daily_cost`", vec![]),
        ("`quotas.connections`", vec![many(some(quotas.connections))]),
        (
            "`quotas.visitor_connections`",
            vec![many(some(quotas.visitor_connections))],
        ),
        ("`quotas.visitor_share`", vec![many(quotas.visitor_share)]),
        (
            "`quotas.turns`",
            vec![
                many(quotas.turns),
                many(constant("crates/config/src/settings/bounds.rs", "MOST_TURNS")),
            ],
        ),
        ("`quotas.challenges`", vec![many(quotas.challenges)]),
        ("`quotas.auth_tokens`", vec![many(quotas.tokens)]),
        ("`quotas.idempotency_keys`", vec![many(quotas.idempotency_keys)]),
        (
            "`quotas.agents`",
            vec![many(quotas.agents), size(quotas.config_bytes)],
        ),
        (
            "`quotas.queued_messages`",
            vec![many(quotas.queued), size(quotas.queued_bytes)],
        ),
    ];
    let person = person.map(|(begins, numbers)| (begins, 1, numbers));
    wrong.extend(compared(page, "## What each person may have", &person));
    assert_eq!(quotas.cost, None);
    none(&wrong, "limits in docs/REMOTE.md");
}
