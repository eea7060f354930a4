//! Checks the environment: unknown variables with our prefix, and invalid proxies.

use std::collections::BTreeSet;

use agentx_types::nearest;

use crate::layers::keys::{OTHER_VARIABLES, VARIABLES};
use crate::layers::owner_variable;
use crate::mistake::{ConfigMistake, MistakeLocation};

/// The prefix of our variables.
const PREFIX: &str = "AGENTX_";
/// Our variables that are not for people: the mark of a tool's call; variables of tests and benchmarks.
const INTERNAL: [&str; 3] = ["AGENTX_CALL", "AGENTX_BIN", "AGENTX_FAULTS_PROXY_CHILD"];
/// Variables that name a proxy.
pub const PROXIES: [&str; 6] = [
    "HTTPS_PROXY",
    "https_proxy",
    "HTTP_PROXY",
    "http_proxy",
    "ALL_PROXY",
    "all_proxy",
];

/// Returns warnings about the variables of the environment. They never contain values, because a proxy may
/// have a password.
///
/// ```
/// let set = [("AGENTX_MODLE", "opus"), ("HTTPS_PROXY", "http://me:secret@")];
/// let said: Vec<String> = agentx_config::check_environment(set).iter().map(ToString::to_string).collect();
/// assert_eq!(said[0], "AGENTX_MODLE: nothing reads this variable; did you mean `AGENTX_MODEL`?");
/// assert!(said[1].starts_with("HTTPS_PROXY: ") && !said[1].contains("secret"));
/// ```
pub fn check_environment<'a>(set: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<ConfigMistake> {
    let mut found = BTreeSet::new();
    for (name, value) in set {
        if value.trim().is_empty() {
            continue;
        }
        if PROXIES.contains(&name) {
            found.extend(wrong_proxy(value).map(|what| (name, what, None)));
        } else if name == owner_variable::VARIABLE && owner_variable::read(value).is_none() {
            found.insert((name, "is not the id of a user, such as 1000".to_owned(), None));
        } else if is_stray(name) {
            let known = VARIABLES
                .iter()
                .map(|(name, _)| *name)
                .chain(OTHER_VARIABLES.map(|(name, _)| name));
            let near = nearest(name, known, 1).first().map(|near| (*near).to_owned());
            found.insert((name, "nothing reads this variable".to_owned(), near));
        }
    }
    let mistake = |(name, what, nearest): (&str, String, Option<String>)| ConfigMistake {
        at: MistakeLocation::Env(name.to_owned()),
        key: String::new(),
        what,
        nearest,
    };
    found.into_iter().map(mistake).collect()
}

/// Returns whether a name looks like one of our variables but is unknown.
fn is_stray(name: &str) -> bool {
    let is_for_tests = name.contains("_TEST_") || name.contains("_BENCH_");
    name.starts_with(PREFIX)
        && !is_for_tests
        && !INTERNAL.contains(&name)
        && !VARIABLES
            .iter()
            .chain(&OTHER_VARIABLES)
            .any(|(known, _)| *known == name)
}

/// Returns the reason why this is not the address of a proxy.
fn wrong_proxy(value: &str) -> Option<String> {
    let (scheme, rest) = value.trim().split_once("://").unwrap_or(("http", value.trim()));
    let scheme = scheme.to_ascii_lowercase();
    if !matches!(scheme.as_str(), "http" | "https") {
        let is_word = !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric());
        return is_word.then(|| {
            format!(
                "begins with {scheme}://, but only http:// and https:// proxies are supported; no connection can be made through it"
            )
        });
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let place = authority.rsplit_once('@').map_or(authority, |(_, place)| place);
    let wrong =
        || "is not an address such as `http://proxy.example:3128`; no proxy is used for it".to_owned();
    let is_right = is_place(place) && !authority.contains(char::is_whitespace);
    (!is_right).then(wrong)
}

/// Returns whether this is a host, perhaps with a port.
fn is_place(place: &str) -> bool {
    let (host, port) = match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, rest)) => {
            let is_address = host.parse::<std::net::Ipv6Addr>().is_ok();
            if !is_address || !(rest.is_empty() || rest.starts_with(':')) {
                return false;
            }
            (host, rest.strip_prefix(':'))
        }
        None => match place.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (place, None),
        },
    };
    let is_sign = |c: char| c.is_alphanumeric() || "-._:".contains(c);
    let is_port = |port: &str| port.is_empty() || port.parse::<u16>().is_ok();
    !host.is_empty() && host.chars().all(is_sign) && port.is_none_or(is_port)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(name: &str, value: &str) -> Vec<String> {
        let found = check_environment([(name, value)]);
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn variables_that_nothing_reads_are_named_once() {
        assert_eq!(
            said("AGENTX_MODLE", "x"),
            ["AGENTX_MODLE: nothing reads this variable; did you mean `AGENTX_MODEL`?"]
        );
        assert_eq!(
            said("AGENTX_ZZZZZZZZZZ", "x"),
            ["AGENTX_ZZZZZZZZZZ: nothing reads this variable"]
        );
        for (known, _) in VARIABLES {
            assert!(said(known, "x").is_empty(), "{known}");
        }
        for ours in [
            "AGENTX_CONFIG",
            "AGENTX_TEST_DATA",
            "AGENTX_BENCH_RUNS",
            "AGENTX_CALL",
            "PATH",
        ] {
            assert!(said(ours, "x").is_empty(), "{ours}");
        }
        assert!(
            said("AGENTX_MODLE", " ").is_empty(),
            "what is empty counts as not set"
        );
    }

    #[test]
    fn proxies_that_cannot_be_one_are_said_without_their_words() {
        for right in [
            "http://proxy.example:3128",
            "proxy.example:3128",
            "https://me:p%40ss@10.0.0.1",
            "http://[::1]:8080/",
            "localhost",
        ] {
            assert!(said("HTTPS_PROXY", right).is_empty(), "{right}");
        }
        for wrong in [
            "http://",
            "http://me:secret@",
            "not a proxy",
            "http://h:99999",
            "http://[::1",
            ":3128",
            "http://[x]:1",
        ] {
            let said = said("http_proxy", wrong);
            assert_eq!(said.len(), 1, "{wrong}");
            assert!(
                said[0].starts_with("http_proxy: is not an address") && !said[0].contains("secret"),
                "{said:?}"
            );
        }
        assert!(said("ALL_PROXY", "socks5://me:secret@h")[0].contains("begins with socks5://"));
        assert!(!said("ALL_PROXY", "socks5://me:secret@h")[0].contains("secret"));
    }
}
