//! What counts for some time only, in bounded memory: nonces and tokens.

use std::collections::{BTreeMap, HashMap};

/// What counts until some time. Where there is no room, what ends first makes it.
pub(crate) struct Expiring<K, V> {
    capacity: usize,
    entries: HashMap<K, (V, u64, u64)>,
    /// The keys by when they end; a number keeps those apart that end together.
    ends: BTreeMap<(u64, u64), K>,
    numbers: u64,
}

impl<K: Clone + Eq + std::hash::Hash, V> Expiring<K, V> {
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            capacity: capacity.max(1),
            entries: HashMap::new(),
            ends: BTreeMap::new(),
            numbers: 0,
        }
    }

    pub(crate) fn insert(&mut self, key: K, value: V, until: u64, now: u64) {
        while let Some(((end, number), _)) = self.ends.first_key_value() {
            if *end > now && self.entries.len() < self.capacity {
                break;
            }
            let place = (*end, *number);
            if let Some(key) = self.ends.remove(&place) {
                self.entries.remove(&key);
            }
        }
        self.numbers += 1;
        self.ends.insert((until, self.numbers), key.clone());
        if let Some((_, until, number)) = self.entries.insert(key, (value, until, self.numbers)) {
            self.ends.remove(&(until, number));
        }
    }

    pub(crate) fn get(&self, key: &K, now: u64) -> Option<&V> {
        let (value, until, _) = self.entries.get(key)?;
        (*until > now).then_some(value)
    }

    pub(crate) fn take(&mut self, key: &K, now: u64) -> Option<(V, u64)> {
        let (value, until, number) = self.entries.remove(key)?;
        self.ends.remove(&(until, number));
        (until > now).then_some((value, until))
    }
}
