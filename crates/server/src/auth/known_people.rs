//! The people whom the operator trusts: checked for each request and each frame, and read again only after a
//! change.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use agentx_identity::{Keyring, KnownPerson, PublicKey, Stamp};
use agentx_types::OwnerId;

/// The people whom the operator trusts.
pub(crate) struct KnownPeople {
    keyring: Keyring,
    read: Mutex<Option<KnownRead>>,
    /// Counts the changes.
    generation: AtomicU64,
}

/// The people that were read, and the stamps of the files from just before.
struct KnownRead {
    stamp: Stamp,
    is_settled: bool,
    people: Vec<(PublicKey, KnownPerson)>,
    /// The number of the change since which each of them is known, by the same grant of the same role.
    since: HashMap<PublicKey, u64>,
}

impl KnownPeople {
    pub(crate) fn new(keyring: Keyring) -> Self {
        Self {
            keyring,
            read: Mutex::new(None),
            generation: AtomicU64::new(0),
        }
    }

    /// Returns the person with this key, and the number of the change since which they are known. It is
    /// another one when somebody is trusted again, or has had another role: what they had before does not
    /// count again. Each grant of trust has an id in the list, so nobody has to look between two changes.
    pub(crate) fn person(&self, key: &PublicKey) -> Option<(KnownPerson, u64)> {
        self.with(|read| {
            let found = read.people.iter().find(|(known, _)| known == key);
            found.map(|(_, known)| (known.clone(), read.since.get(key).copied().unwrap_or_default()))
        })
    }

    /// Returns all people except the operator: each has their own sessions.
    pub(crate) fn members(&self) -> Vec<OwnerId> {
        self.with(|read| {
            let members = read.people.iter().filter(|(_, known)| !known.operator);
            members.map(|(_, known)| known.owner.clone()).collect()
        })
    }

    /// Returns the name of a person on this server.
    pub(crate) fn name_of(&self, owner: &OwnerId) -> Option<String> {
        self.with(|read| {
            let found = read.people.iter().find(|(_, known)| known.owner == *owner);
            found.and_then(|(_, known)| known.name.clone())
        })
    }

    /// Returns how many changes were noticed.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Counts a change that is not one of the people: what somebody came with counts no longer.
    pub(crate) fn count_change(&self) {
        self.generation.fetch_add(1, Ordering::AcqRel);
    }

    /// Checks whether something has changed.
    pub(crate) fn look(&self) {
        self.with(|_| ());
    }

    fn with<T>(&self, look: impl FnOnce(&KnownRead) -> T) -> T {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = self.keyring.stamp();
        if let Some(read) = read
            .as_ref()
            .filter(|read| read.is_settled && read.stamp == stamp)
        {
            return look(read);
        }
        let is_settled = stamp.is_settled();
        let people = self.keyring.everybody();
        if read.as_ref().is_some_and(|read| read.people != people) {
            self.generation.fetch_add(1, Ordering::AcqRel);
        }
        let (before, change) = (read.take(), self.generation());
        let known_since = |key: &PublicKey, known: &KnownPerson| {
            let before = before.as_ref()?;
            let (_, was) = before.people.iter().find(|(other, _)| other == key)?;
            let rank = |known: &KnownPerson| (known.operator, known.approver);
            let is_same = was.grant == known.grant && rank(was) == rank(known);
            before.since.get(key).copied().filter(|_| is_same)
        };
        let mut since = HashMap::new();
        for (key, known) in &people {
            // The first entry of a key counts.
            since
                .entry(*key)
                .or_insert_with(|| known_since(key, known).unwrap_or(change));
        }
        let now = read.insert(KnownRead {
            stamp,
            is_settled,
            people,
            since,
        });
        look(now)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use agentx_identity::{SecretKey, Trusted, TrustedAs};

    use super::*;

    #[test]
    fn who_is_trusted_is_known_at_once_and_no_longer_than_that() {
        let directory = tempfile::tempdir().unwrap();
        let keyring = Keyring::at(directory.path());
        let known = KnownPeople::new(keyring.clone());
        let key = *SecretKey::from_seed(&[7; 32]).unwrap().public_key();
        assert_eq!(known.person(&key), None);
        for round in 0..20 {
            let trusted = Trusted {
                public_key: key,
                name: None,
                role: TrustedAs::Member,
            };
            keyring.trust(trusted).unwrap();
            let since = known.person(&key).map(|(_, since)| since);
            assert_eq!(since, Some(2 * round + 1), "another one each time");
            assert_eq!(known.generation(), 2 * round + 1);
            keyring.untrust(&key).unwrap();
            known.look();
            assert_eq!(known.generation(), 2 * round + 2);
            assert_eq!(known.person(&key), None);
        }
    }

    /// Both changes may come within the second between two looks.
    #[test]
    fn what_was_issued_before_does_not_count_after_changes_that_nobody_saw() {
        let directory = tempfile::tempdir().unwrap();
        let keyring = Keyring::at(directory.path());
        let known = KnownPeople::new(keyring.clone());
        let key = *SecretKey::from_seed(&[7; 32]).unwrap().public_key();
        let trust = |name: &str, role: TrustedAs| {
            let trusted = Trusted {
                public_key: key,
                name: Some(name.to_owned()),
                role,
            };
            keyring.trust(trusted).unwrap();
        };
        let since = || known.person(&key).map(|(_, since)| since);
        assert_eq!(since(), None);
        trust("ada", TrustedAs::Member);
        let first = since();
        trust("countess", TrustedAs::Member);
        assert_eq!(since(), first, "a name grants nothing");
        keyring.untrust(&key).unwrap();
        trust("countess", TrustedAs::Member);
        let second = since();
        assert!(second > first, "{second:?}");
        trust("countess", TrustedAs::Operator);
        trust("countess", TrustedAs::Member);
        assert!(since() > second);
    }

    /// A list that others may write to is not trusted from then on, even if it was read before.
    #[cfg(unix)]
    #[test]
    fn a_list_that_others_may_change_vouches_for_nobody_from_then_on() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap();
        let keyring = Keyring::at(directory.path());
        let key = *SecretKey::from_seed(&[7; 32]).unwrap().public_key();
        let trusted = Trusted {
            public_key: key,
            name: None,
            role: TrustedAs::Member,
        };
        keyring.trust(trusted).unwrap();
        let known = KnownPeople::new(keyring.clone());
        assert!(known.person(&key).is_some());
        let mode = std::fs::Permissions::from_mode(0o666);
        std::fs::set_permissions(keyring.people_file(), mode).unwrap();
        assert_eq!(known.person(&key), None);
    }
}
