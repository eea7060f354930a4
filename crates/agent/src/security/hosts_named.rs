//! The hosts that a call names, and whether it may send data there: by its addresses, its mail addresses and
//! the words of programs that reach other machines.

use agentx_types::{Access, ToolSpec, host_name};
use serde_json::Value;

/// Programs whose first plain word is a host.
const BARE_HOSTS: &[&str] = &[
    "curl", "dig", "host", "nc", "ncat", "netcat", "nslookup", "ping", "ssh", "telnet", "wget",
];
/// Programs that send what they are given.
const SENDERS: &[&str] = &[
    "ftp", "mail", "nc", "ncat", "netcat", "rclone", "rsync", "scp", "sendmail", "sftp", "socat", "ssh",
    "telnet",
];
/// Options of `curl`, `wget` and the like with which data is sent. Those that end with `=` also have a value.
const SENDING_OPTIONS: &[&str] = &[
    "-d",
    "-F",
    "-T",
    "--data",
    "--data-ascii",
    "--data-binary",
    "--data-raw",
    "--data-urlencode",
    "--form",
    "--json",
    "--upload-file",
    "--post-data",
    "--post-file",
    "--body-data",
    "--body-file",
];
/// Methods that send data.
const SENDING_METHODS: &[&str] = &["POST", "PUT", "PATCH"];
/// Characters that end an address within a text.
const ENDS: &[char] = &['"', '\'', '`', '<', '>', '(', ')', '{', '}', '|', ';', ','];
/// Characters around a word that do not belong to it.
const AROUND: &[char] = &['"', '\'', '`', ',', ';', '(', ')', '<', '>', '[', ']'];

/// All texts in the arguments of a call, in order.
pub(super) fn texts_of(input: &Value) -> Vec<&str> {
    match input {
        Value::String(text) => vec![text],
        Value::Array(all) => all.iter().flat_map(texts_of).collect(),
        Value::Object(fields) => fields.values().flat_map(texts_of).collect(),
        _ => Vec::new(),
    }
}

/// The addresses (`https://…`) in a text.
pub(super) fn addresses_in(text: &str) -> Vec<&str> {
    let words = text.split_whitespace().flat_map(|word| word.split(ENDS));
    words.filter(|word| word.contains("://")).collect()
}

/// The hosts that a text names by addresses, by mail addresses and targets such as `me@host:path`, and behind
/// programs that reach other machines.
pub(super) fn hosts_in(text: &str) -> Vec<String> {
    let mut hosts: Vec<String> = Vec::new();
    let mut add = |host: Option<String>| {
        if let Some(host) = host.filter(|host| host.contains('.') && !hosts.contains(host)) {
            hosts.push(host);
        }
    };
    for address in addresses_in(text) {
        add(host_name(address));
    }
    let mut after_program = false;
    for word in text.split_whitespace() {
        let plain = word.trim_matches(AROUND);
        if !plain.contains("://")
            && let Some((user, target)) = plain.rsplit_once('@')
            && !user.is_empty()
        {
            add(host_name(target.split(':').next().unwrap_or_default()));
        }
        if after_program && !plain.starts_with('-') && !plain.contains(['@', '$']) {
            add(host_name(plain).filter(|host| has_name_of_host(host)));
            after_program = false;
        }
        if BARE_HOSTS.contains(&plain) {
            after_program = true;
        }
    }
    hosts
}

/// Returns whether a plain word looks like a host: its last part has only letters, or it is an address.
fn has_name_of_host(host: &str) -> bool {
    let last = host.rsplit('.').next().unwrap_or_default();
    let is_name = last.len() >= 2 && last.chars().all(|c| c.is_ascii_alphabetic());
    is_name || last.chars().all(|c| c.is_ascii_digit())
}

/// Returns whether a command line sends data, or puts values that are not in the line into an address.
fn line_sends(line: &str) -> bool {
    let words: Vec<&str> = line
        .split_whitespace()
        .map(|word| word.trim_matches(AROUND))
        .collect();
    let is_option = |word: &&str| {
        let name = word.split('=').next().unwrap_or_default();
        SENDING_OPTIONS.contains(&name)
    };
    let has_method = words
        .windows(2)
        .any(|pair| matches!(pair[0], "-X" | "--request" | "--method") && SENDING_METHODS.contains(&pair[1]));
    let has_sender = words.iter().any(|word| SENDERS.contains(word));
    let has_value = line.contains("$(") || line.contains('`') || line.contains('$');
    let is_fed = ["| curl", "|curl", "| wget", "|wget"]
        .iter()
        .any(|pipe| line.contains(pipe));
    let pushes = line.contains("git push") || line.contains("git remote");
    words.iter().any(is_option) || has_method || has_sender || has_value || is_fed || pushes
}

/// Returns whether a call may send data to another machine. A call that only fetches an address which a text
/// from outside shows as it is sends nothing that is not there already (`is_shown`).
pub(super) fn sends_data(tool: &ToolSpec, input: &Value, is_shown: impl Fn(&str) -> bool) -> bool {
    if let Some(line) = tool.command_argument.as_ref().and_then(|name| input.get(name)) {
        return line.as_str().is_some_and(line_sends);
    }
    if tool.access != Access::Network {
        return false;
    }
    texts_of(input)
        .into_iter()
        .any(|text| match addresses_in(text).as_slice() {
            [] => tool.address_argument.is_none() && !text.trim().is_empty(),
            [only] if *only == text.trim() => !is_shown(only),
            _ => true,
        })
}
