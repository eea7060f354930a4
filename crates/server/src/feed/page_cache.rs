//! Large pieces of history that were read recently. Readers who arrive together read the same: they share the
//! facts and the encoded bytes.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentx_runtime::Fact;
use agentx_types::SessionId;
use agentx_types::wire::WireView;

use super::Frame;

/// Facts whose frames have fewer bytes than this are not cached.
pub(crate) const LARGE: usize = 64 * 1024;
/// The size limit of the cached frames, in bytes; facts have about the same. An entry that is larger is kept
/// alone.
const KEPT_BYTES: usize = 32 << 20;

type PageKey = (SessionId, u64);
type FramesKey = (SessionId, WireView, u64);

/// A cache of pages of facts and frames that were read recently.
#[derive(Default)]
pub struct PageCache {
    kept: Mutex<CacheContents>,
}

#[derive(Default)]
struct CacheContents {
    pages: BoundedCache<PageKey, Arc<[Fact]>>,
    frames: BoundedCache<FramesKey, Arc<[Frame]>>,
}

impl PageCache {
    /// Returns the cached facts after a fact.
    pub(crate) fn page(&self, session: &SessionId, after: u64) -> Option<Arc<[Fact]>> {
        self.lock()
            .pages
            .get(|(of, from)| of == session && *from == after)
    }

    /// Caches the facts after a fact, whose frames have this number of bytes.
    pub(crate) fn keep_page(&self, session: &SessionId, after: u64, facts: &Arc<[Fact]>, bytes: usize) {
        if bytes >= LARGE {
            let key = (session.clone(), after);
            self.lock().pages.put(key, facts.clone(), bytes);
        }
    }

    /// Returns the frames of a fact, if they are cached.
    pub(crate) fn frames(&self, session: &SessionId, view: WireView, seq: u64) -> Option<Arc<[Frame]>> {
        let is_it = |(of, in_view, at): &FramesKey| of == session && *in_view == view && *at == seq;
        self.lock().frames.get(is_it)
    }

    /// Keeps the frames of a fact if they are large.
    pub(crate) fn keep_frames(&self, session: &SessionId, view: WireView, seq: u64, frames: &[Frame]) {
        let bytes = frames.iter().map(|frame| frame.text.len()).sum();
        if bytes >= LARGE {
            let key = (session.clone(), view, seq);
            self.lock().frames.put(key, frames.into(), bytes);
        }
    }

    /// Removes entries that were not used since the last call.
    pub(crate) fn forget_unused(&self) {
        let mut kept = self.lock();
        kept.pages.forget_unused();
        kept.frames.forget_unused();
    }

    fn lock(&self) -> MutexGuard<'_, CacheContents> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Values by key, up to a number of bytes; the oldest is removed first.
struct BoundedCache<K, V> {
    entries: VecDeque<CacheEntry<K, V>>,
    bytes: usize,
}

struct CacheEntry<K, V> {
    key: K,
    value: V,
    bytes: usize,
    is_used: bool,
}

impl<K, V> Default for BoundedCache<K, V> {
    fn default() -> Self {
        Self {
            entries: VecDeque::new(),
            bytes: 0,
        }
    }
}

impl<K: PartialEq, V: Clone> BoundedCache<K, V> {
    fn get(&mut self, is_it: impl Fn(&K) -> bool) -> Option<V> {
        let entry = self.entries.iter_mut().find(|entry| is_it(&entry.key))?;
        entry.is_used = true;
        Some(entry.value.clone())
    }

    fn put(&mut self, key: K, value: V, bytes: usize) {
        if self.entries.iter().any(|entry| entry.key == key) {
            return;
        }
        while self.bytes + bytes > KEPT_BYTES
            && let Some(oldest) = self.entries.pop_front()
        {
            self.bytes -= oldest.bytes;
        }
        self.bytes += bytes;
        self.entries.push_back(CacheEntry {
            key,
            value,
            bytes,
            is_used: true,
        });
    }

    fn forget_unused(&mut self) {
        self.entries
            .retain_mut(|entry| std::mem::replace(&mut entry.is_used, false));
        self.bytes = self.entries.iter().map(|entry| entry.bytes).sum();
        if self.entries.is_empty() {
            self.entries = VecDeque::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_bounded_and_goes_when_nobody_uses_it() {
        let mut kept = BoundedCache::default();
        for n in 0..10 {
            kept.put(n, n, KEPT_BYTES / 4);
        }
        assert_eq!(kept.entries.len(), 4);
        assert_eq!(kept.get(|key| *key == 0), None);
        kept.put(10, 10, 2 * KEPT_BYTES);
        assert_eq!((kept.entries.len(), kept.get(|key| *key == 10)), (1, Some(10)));
        kept.put(11, 11, 1);
        assert_eq!(kept.entries.len(), 1, "the large one made room");
        kept.forget_unused();
        assert_eq!(kept.get(|key| *key == 11), Some(11));
        kept.forget_unused();
        assert_eq!(kept.entries.len(), 1, "it was used in between");
        kept.forget_unused();
        assert_eq!((kept.entries.len(), kept.bytes), (0, 0));
    }
}
