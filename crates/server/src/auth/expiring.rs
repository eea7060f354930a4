//! A bounded map of nonces or tokens that expire. Each entry belongs to an address or a person, and the
//! holder of most entries loses some first.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;

/// The time at which an entry expires, with a number that distinguishes entries of the same time.
type Expiry = (u64, u64);

/// A bounded map whose entries expire. If a holder has their maximum, the entry of theirs that expires first
/// is removed; if the map is full, one of the holder with most entries is.
pub(crate) struct Expiring<K, V> {
    capacity: usize,
    each: usize,
    entries: HashMap<K, ExpiringEntry<V>>,
    /// The keys by when they end.
    ends: BTreeMap<Expiry, K>,
    /// The entries of each holder.
    holders: HashMap<String, BTreeSet<Expiry>>,
    numbers: u64,
}

struct ExpiringEntry<V> {
    value: V,
    end: Expiry,
    holder: String,
}

impl<K: Clone + Eq + Hash, V> Expiring<K, V> {
    /// Creates a map with at most `capacity` entries in all, and `each` per holder.
    pub(crate) fn new(capacity: usize, each: usize) -> Self {
        Self {
            capacity: capacity.max(1),
            each: each.max(1),
            entries: HashMap::new(),
            ends: BTreeMap::new(),
            holders: HashMap::new(),
            numbers: 0,
        }
    }

    pub(crate) fn insert(&mut self, holder: &str, key: K, value: V, until: u64, now: u64) {
        self.remove(&key);
        while let Some((end, _)) = self.ends.first_key_value()
            && end.0 <= now
        {
            self.remove_at(*end);
        }
        while let Some(end) = self.holders.get(holder).filter(|own| own.len() >= self.each) {
            let Some(first) = end.first().copied() else { break };
            self.remove_at(first);
        }
        while self.entries.len() >= self.capacity {
            let most = self.holders.values().max_by_key(|own| own.len());
            let Some(first) = most.and_then(|own| own.first().copied()) else {
                break;
            };
            self.remove_at(first);
        }
        self.numbers += 1;
        let (end, holder) = ((until, self.numbers), holder.to_owned());
        self.ends.insert(end, key.clone());
        self.holders.entry(holder.clone()).or_default().insert(end);
        self.entries.insert(key, ExpiringEntry { value, end, holder });
    }

    pub(crate) fn get(&self, key: &K, now: u64) -> Option<&V> {
        let entry = self.entries.get(key)?;
        (entry.end.0 > now).then_some(&entry.value)
    }

    pub(crate) fn take(&mut self, key: &K, now: u64) -> Option<(V, u64)> {
        let entry = self.remove(key)?;
        (entry.end.0 > now).then_some((entry.value, entry.end.0))
    }

    fn remove_at(&mut self, end: Expiry) {
        if let Some(key) = self.ends.get(&end).cloned() {
            self.remove(&key);
        }
    }

    fn remove(&mut self, key: &K) -> Option<ExpiringEntry<V>> {
        let entry = self.entries.remove(key)?;
        self.ends.remove(&entry.end);
        if let Some(own) = self.holders.get_mut(&entry.holder) {
            own.remove(&entry.end);
            if own.is_empty() {
                self.holders.remove(&entry.holder);
            }
        }
        Some(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_many_loses_their_own() {
        let mut known = Expiring::new(10, 4);
        known.insert("honest", 0, (), 60, 0);
        for n in 1..100 {
            known.insert("flood", n, (), 60, 0);
        }
        assert!(known.get(&0, 1).is_some(), "somebody else's stays");
        assert_eq!(known.entries.len(), 5);
        assert!(known.get(&99, 1).is_some() && known.get(&95, 1).is_none());
        // Many addresses with a few each.
        for n in 100..200 {
            known.insert(&format!("flood{}", n % 5), n, (), 60, 0);
        }
        assert!(known.get(&0, 1).is_some(), "who has least loses last");
        assert_eq!(known.entries.len(), 10);
    }

    #[test]
    fn what_has_ended_is_forgotten_and_counts_for_nobody() {
        let mut known = Expiring::new(10, 2);
        known.insert("ann", 1, "a", 10, 0);
        known.insert("ann", 2, "b", 20, 0);
        assert_eq!(known.get(&1, 9), Some(&"a"));
        assert_eq!(known.get(&1, 10), None);
        known.insert("ann", 3, "c", 30, 10);
        assert_eq!((known.get(&2, 10), known.get(&3, 10)), (Some(&"b"), Some(&"c")));
        assert_eq!(known.take(&2, 10), Some(("b", 20)));
        assert_eq!(known.take(&2, 10), None);
        assert_eq!(known.take(&3, 40), None);
        assert!(known.entries.is_empty() && known.ends.is_empty() && known.holders.is_empty());
    }
}
