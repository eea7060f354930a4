//! The hosts that a command asked for, as a fact with its call.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use super::gate::HostDecision;

/// The most hosts that are listed; others are counted.
const MOST: usize = 64;

/// The hosts that one command asked for.
#[derive(Debug, Default)]
pub(crate) struct HostContacts {
    state: Mutex<ContactList>,
}

#[derive(Debug, Default)]
struct ContactList {
    hosts: BTreeMap<String, HostContact>,
    unlisted: u64,
    /// The variables whose values went to hosts that are not listed.
    unlisted_credentials: BTreeSet<String>,
}

#[derive(Debug)]
struct HostContact {
    decision: HostDecision,
    connections: u64,
    /// The variables whose values the proxy put into requests.
    credentials: BTreeSet<String>,
    /// Whether its refusal was told since its last connection.
    told: bool,
}

impl HostContacts {
    /// Notes a connection that a command wanted.
    pub(super) fn add(&self, host: &str, port: u16, decision: HostDecision) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let name = address(host, port);
        if state.hosts.len() >= MOST && !state.hosts.contains_key(&name) {
            state.unlisted += 1;
            return;
        }
        let contact = state.hosts.entry(name).or_insert(HostContact {
            decision,
            connections: 0,
            credentials: BTreeSet::new(),
            told: false,
        });
        contact.decision = decision;
        contact.connections += 1;
        contact.told = false;
    }

    /// Notes that the proxy put the value of this variable into a request to a host.
    #[cfg(feature = "masking")]
    pub(super) fn add_credential(&self, host: &str, port: u16, variable: String) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let state = &mut *state;
        match state.hosts.get_mut(&address(host, port)) {
            Some(contact) => contact.credentials.insert(variable),
            None => state.unlisted_credentials.insert(variable),
        };
    }

    /// The field `hosts` in the details of a call.
    pub(crate) fn details(&self) -> Value {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut list: Vec<Value> = state
            .hosts
            .iter()
            .map(|(host, contact)| {
                let mut listed = json!({
                    "host": host,
                    "decision": contact.decision.as_str(),
                    "connections": contact.connections,
                });
                if !contact.credentials.is_empty() {
                    listed["credentials"] = json!(contact.credentials);
                }
                listed
            })
            .collect();
        if state.unlisted > 0 {
            let mut others = json!({ "others": state.unlisted });
            if !state.unlisted_credentials.is_empty() {
                others["credentials"] = json!(state.unlisted_credentials);
            }
            list.push(others);
        }
        Value::Array(list)
    }

    /// Takes the hosts that were refused since the last time. Returns the first of them, and the decision
    /// about it.
    pub(crate) fn take_refused(&self) -> Option<(String, HostDecision)> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut first = None;
        for (host, contact) in &mut state.hosts {
            if contact.told || contact.decision.is_allowed() {
                continue;
            }
            contact.told = true;
            first.get_or_insert_with(|| (host.clone(), contact.decision));
        }
        first
    }
}

/// A host with its port, as people write it.
pub(super) fn address(host: &str, port: u16) -> String {
    if host.contains(':') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_listed_once_and_within_a_bound() {
        let contacts = HostContacts::default();
        assert_eq!((contacts.details(), contacts.take_refused()), (json!([]), None));
        contacts.add("crates.io", 443, HostDecision::Named);
        contacts.add("crates.io", 443, HostDecision::Named);
        contacts.add("::1", 80, HostDecision::Refused);
        let expected = json!([
            {"host": "[::1]:80", "decision": "refused", "connections": 1},
            {"host": "crates.io:443", "decision": "named", "connections": 2},
        ]);
        assert_eq!(contacts.details(), expected);
        assert_eq!(
            contacts.take_refused(),
            Some(("[::1]:80".to_owned(), HostDecision::Refused))
        );
        for number in 0..100 {
            contacts.add(&format!("host{number}.example"), 443, HostDecision::Refused);
        }
        let list = contacts.details();
        assert_eq!(list.as_array().map(Vec::len), Some(MOST + 1));
        assert_eq!(list[MOST], json!({"others": 38}));
        // A command cannot hide by many hosts that it used a credential.
        contacts.add_credential("host99.example", 443, "MADE_UP_TOKEN".to_owned());
        contacts.add_credential("crates.io", 443, "OTHER".to_owned());
        let list = contacts.details();
        assert_eq!(
            list[MOST],
            json!({"others": 38, "credentials": ["MADE_UP_TOKEN"]})
        );
        assert_eq!(list[1]["credentials"], json!(["OTHER"]));
    }

    /// A shell that stays runs many commands, and a refusal explains the failure of one of them.
    #[test]
    fn a_refusal_is_told_once_until_the_host_is_wanted_again() {
        let contacts = HostContacts::default();
        let refused = Some(("a.example:443".to_owned(), HostDecision::PersonRefused));
        for _ in 0..2 {
            contacts.add("a.example", 443, HostDecision::PersonRefused);
            assert_eq!(contacts.take_refused(), refused);
            assert_eq!(contacts.take_refused(), None);
        }
        assert_eq!(contacts.details()[0]["connections"], 2);
    }
}
