//! A set that grows steadily and is cloned often: a clone shares its values with the original, so that the
//! cost of cloning it, and of adding to it afterwards, does not grow with its size.

use std::cmp::Ordering;
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Maximum number of values to copy when one is added to a shared set.
const RECENT: usize = 64;

/// A set with cheap clones. It is serialized as a sorted list.
///
/// The values are in layers that never change, each at least twice as long as the next one, and in a short
/// list of recent values. A full list of recent values becomes a layer, and layers of similar length are
/// merged. Layers are sorted by hash: a lookup compares adjacent numbers, not values scattered in memory.
#[derive(Clone, Debug)]
pub struct SharedSet<T> {
    layers: Vec<Arc<[Hashed<T>]>>,
    recent: Arc<Vec<Hashed<T>>>,
}

/// A value behind its hash.
type Hashed<T> = (u64, T);

/// The hash of a value: equal values have the same one within a process.
fn hash_of<T: Hash>(value: &T) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

impl<T: Ord + Hash + Clone> SharedSet<T> {
    /// Returns whether the set has this value.
    pub fn contains(&self, value: &T) -> bool {
        self.has(hash_of(value), value)
    }

    fn has(&self, hash: u64, value: &T) -> bool {
        let is_it = |other: &Hashed<T>| other.0 == hash && other.1 == *value;
        self.recent.iter().any(is_it)
            || self.layers.iter().any(|layer| {
                let from = layer.partition_point(|other| other.0 < hash);
                let same = layer[from..].iter().take_while(|other| other.0 == hash);
                same.into_iter().any(is_it)
            })
    }

    /// Adds a value and returns whether it was new.
    pub fn insert(&mut self, value: T) -> bool {
        let hash = hash_of(&value);
        if self.has(hash, &value) {
            return false;
        }
        Arc::make_mut(&mut self.recent).push((hash, value));
        if self.recent.len() >= RECENT {
            let mut full = Arc::unwrap_or_clone(std::mem::take(&mut self.recent));
            full.sort_unstable();
            self.layers.push(full.into());
            self.merge();
        }
        true
    }

    /// Makes one of layers at the end that are of similar length.
    fn merge(&mut self) {
        while let [.., longer, shorter] = &self.layers[..]
            && longer.len() < 2 * shorter.len()
        {
            let merged = merged(longer, shorter);
            self.layers.truncate(self.layers.len() - 2);
            self.layers.push(merged);
        }
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.recent.len() + self.layers.iter().map(|layer| layer.len()).sum::<usize>()
    }

    /// Returns whether the set has no value.
    pub fn is_empty(&self) -> bool {
        self.recent.is_empty() && self.layers.is_empty()
    }

    /// All values, in order.
    pub fn sorted(&self) -> Vec<&T> {
        let layers = self.layers.iter().flat_map(|layer| layer.iter());
        let mut all: Vec<&T> = layers.chain(&*self.recent).map(|(_, value)| value).collect();
        all.sort_unstable();
        all
    }
}

/// The values of two sorted layers that have none in common.
fn merged<T: Ord + Clone>(left: &[Hashed<T>], right: &[Hashed<T>]) -> Arc<[Hashed<T>]> {
    let (mut left, mut right) = (left.iter().peekable(), right.iter().peekable());
    let mut all = Vec::with_capacity(left.len() + right.len());
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        let next = match a.cmp(b) {
            Ordering::Greater => right.next(),
            Ordering::Less | Ordering::Equal => left.next(),
        };
        all.extend(next.cloned());
    }
    all.extend(left.chain(right).cloned());
    all.into()
}

impl<T> Default for SharedSet<T> {
    fn default() -> Self {
        Self {
            layers: Vec::new(),
            recent: Arc::default(),
        }
    }
}

impl<T: Ord + Hash + Clone> PartialEq for SharedSet<T> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.sorted() == other.sorted()
    }
}

impl<T: Ord + Hash + Clone> Eq for SharedSet<T> {}

impl<T: Ord + Hash + Clone> Extend<T> for SharedSet<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        for value in values {
            self.insert(value);
        }
    }
}

impl<T: Ord + Hash + Clone> FromIterator<T> for SharedSet<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut set = Self::default();
        set.extend(values);
        set
    }
}

impl<T: Ord + Hash + Clone, const N: usize> From<[T; N]> for SharedSet<T> {
    fn from(values: [T; N]) -> Self {
        values.into_iter().collect()
    }
}

impl<T: Ord + Hash + Clone + Serialize> Serialize for SharedSet<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.sorted())
    }
}

impl<'de, T: Ord + Hash + Clone + Deserialize<'de>> Deserialize<'de> for SharedSet<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Vec::deserialize(deserializer)?.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Numbers in a fixed mixed order, some of them twice.
    fn numbers(count: u64) -> impl Iterator<Item = u64> {
        (0..count).map(|number| number.wrapping_mul(0x9e37_79b9) % 5_000)
    }

    #[test]
    fn it_has_what_an_ordinary_set_has() {
        let (mut shared, mut ordinary) = (SharedSet::default(), BTreeSet::new());
        for number in numbers(20_000) {
            assert_eq!(shared.insert(number), ordinary.insert(number));
            assert_eq!(shared.len(), ordinary.len());
        }
        assert!(shared.sorted().into_iter().eq(&ordinary));
        assert!((0..6_000).all(|number| shared.contains(&number) == ordinary.contains(&number)));
        let (written, expected) = (serde_json::to_string(&shared), serde_json::to_string(&ordinary));
        assert_eq!(written.as_ref().unwrap(), expected.as_ref().unwrap());
        let read: SharedSet<u64> = serde_json::from_str(&written.unwrap()).unwrap();
        assert_eq!(read, shared);
    }

    #[test]
    fn what_is_added_to_a_clone_is_not_in_the_original() {
        let original: SharedSet<u64> = (0..1_000).collect();
        let mut clone = original.clone();
        clone.insert(1_000);
        assert!(!original.contains(&1_000) && clone.contains(&1_000));
        assert_ne!(original, clone);
    }

    #[test]
    fn a_clone_of_a_large_set_shares_nearly_all_of_it() {
        let mut set = SharedSet::default();
        for number in 0..100_000u64 {
            let shared = set.clone();
            set.insert(number);
            // Each layer is at least twice as long as the next, so there are few to clone.
            assert!(shared.layers.len() <= 12 && shared.recent.len() < RECENT);
        }
        let pairs = set.layers.windows(2);
        assert!(pairs.into_iter().all(|pair| pair[0].len() >= 2 * pair[1].len()));
    }
}
