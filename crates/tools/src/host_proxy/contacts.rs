//! The hosts that a command asked for, as a fact with its call.

use std::collections::BTreeMap;
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
}

#[derive(Debug)]
struct HostContact {
    decision: HostDecision,
    connections: u64,
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
        });
        contact.decision = decision;
        contact.connections += 1;
    }

    /// The field `hosts` in the details of a call.
    pub(crate) fn details(&self) -> Value {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut list: Vec<Value> = state
            .hosts
            .iter()
            .map(|(host, contact)| {
                json!({
                    "host": host,
                    "decision": contact.decision.as_str(),
                    "connections": contact.connections,
                })
            })
            .collect();
        if state.unlisted > 0 {
            list.push(json!({ "others": state.unlisted }));
        }
        Value::Array(list)
    }

    /// The first host that was refused, and whether a person refused it.
    pub(crate) fn refused(&self) -> Option<(String, bool)> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut refused = state
            .hosts
            .iter()
            .filter(|(_, contact)| !contact.decision.is_allowed());
        let (host, contact) = refused.next()?;
        Some((host.clone(), contact.decision == HostDecision::PersonRefused))
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
        assert_eq!((contacts.details(), contacts.refused()), (json!([]), None));
        contacts.add("crates.io", 443, HostDecision::Named);
        contacts.add("crates.io", 443, HostDecision::Named);
        contacts.add("::1", 80, HostDecision::Refused);
        let expected = json!([
            {"host": "[::1]:80", "decision": "refused", "connections": 1},
            {"host": "crates.io:443", "decision": "named", "connections": 2},
        ]);
        assert_eq!(contacts.details(), expected);
        assert_eq!(contacts.refused(), Some(("[::1]:80".to_owned(), false)));
        for number in 0..100 {
            contacts.add(&format!("host{number}.example"), 443, HostDecision::Refused);
        }
        let list = contacts.details();
        assert_eq!(list.as_array().map(Vec::len), Some(MOST + 1));
        assert_eq!(list[MOST], json!({"others": 38}));
    }
}
