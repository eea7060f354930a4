//! Where earlier pages of events ended: a view that is a fold continues from there, and not from the session's beginning again.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use agentx_types::SessionId;
use agentx_types::wire::WireView;

use crate::feed::Lens;

/// The number of places that are remembered; then the one that was used longest ago is forgotten.
const REMEMBERED: usize = 16;
/// What is so near to the beginning is folded again sooner than it is remembered.
const NEAR: u64 = 64;

/// Views of sessions at the ends of pages.
#[derive(Default)]
pub(super) struct PageLenses {
    /// The one that was used last is last.
    known: Mutex<VecDeque<(SessionId, Arc<Lens>)>>,
}

impl PageLenses {
    /// The view as it was at the last remembered place that is not behind `after`.
    pub(super) fn before(&self, session: &SessionId, view: WireView, after: u64) -> Option<Lens> {
        let found = {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            let fits = |(_, (of, lens)): &(usize, &(SessionId, Arc<Lens>))| {
                of == session && lens.view() == view && lens.at() <= after
            };
            let (place, _) = known
                .iter()
                .enumerate()
                .filter(fits)
                .max_by_key(|(_, (_, lens))| lens.at())?;
            let entry = known.remove(place)?;
            known.push_back(entry.clone());
            entry.1
        };
        // Others may begin at the same place, so it stays as it is.
        Some(Lens::clone(&found))
    }

    /// Remembers where a page ended.
    pub(super) fn keep(&self, session: &SessionId, lens: Lens) {
        if lens.view() == WireView::Environment || lens.at() <= NEAR {
            return;
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|(of, other)| of != session || other.view() != lens.view() || other.at() != lens.at());
        if known.len() >= REMEMBERED {
            known.pop_front();
        }
        known.push_back((session.clone(), Arc::new(lens)));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use agentx_types::{EnvironmentEvent, EventDraft, OwnerId, Source, TextChunk, Timestamp};

    use super::*;

    fn lens(session: &SessionId, view: WireView, at: u64) -> Lens {
        let mut lens = Lens::new(session, &OwnerId::new("own_1"), view);
        for seq in 1..=at {
            let chunk = TextChunk { text: "x".into() };
            let draft: EventDraft<EnvironmentEvent> = EventDraft::new(Source::Environment, None, chunk);
            lens.pass(&Arc::new(draft.into_envelope(session.clone(), seq, Timestamp(1))));
        }
        lens
    }

    #[test]
    fn the_nearest_place_of_the_same_view_is_found() {
        let (one, other) = (SessionId::new("ses_1"), SessionId::new("ses_2"));
        let lenses = PageLenses::default();
        for at in [NEAR, 100, 200, 300] {
            lenses.keep(&one, lens(&one, WireView::Ui, at));
        }
        lenses.keep(&one, lens(&one, WireView::Environment, 150));
        let at = |session, view, after| {
            let found = lenses.before(session, view, after);
            found.map(|lens| lens.at())
        };
        for (after, found) in [(99, None), (100, Some(100)), (250, Some(200)), (1_000, Some(300))] {
            assert_eq!(at(&one, WireView::Ui, after), found, "{after}");
            assert_eq!(at(&one, WireView::Ui, after), found, "{after}, once more");
        }
        assert_eq!(at(&one, WireView::Runtime, 1_000), None);
        assert_eq!(at(&one, WireView::Environment, 1_000), None, "it needs none");
        assert_eq!(at(&other, WireView::Ui, 1_000), None);
    }

    #[test]
    fn what_is_used_is_not_forgotten() {
        let session = SessionId::new("ses_1");
        let lenses = PageLenses::default();
        let first = NEAR + 1;
        lenses.keep(&session, lens(&session, WireView::Runtime, first));
        for n in 1..3 * REMEMBERED as u64 {
            lenses.keep(&session, lens(&session, WireView::Runtime, first + n));
            assert_eq!(
                lenses.before(&session, WireView::Runtime, first).unwrap().at(),
                first
            );
        }
        assert_eq!(lenses.known.lock().unwrap().len(), REMEMBERED);
    }
}
