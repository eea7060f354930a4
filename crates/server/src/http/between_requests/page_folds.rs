//! Keeps the folds at the ends of earlier pages of events. The next page continues from there, and not from
//! the session's beginning.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use agentx_types::SessionId;
use agentx_types::wire::WireView;

use crate::feed::ViewFold;

/// The number of places that are remembered; then the one that was used longest ago is forgotten.
const REMEMBERED: usize = 16;
/// A fold this near to the beginning is not kept: it is quicker to fold again.
const NEAR: u64 = 64;

/// Views of sessions at the ends of pages.
#[derive(Default)]
pub(crate) struct PageFolds {
    /// The one that was used most recently is last.
    known: Mutex<VecDeque<(SessionId, Arc<ViewFold>)>>,
}

impl PageFolds {
    /// Returns the latest remembered fold that is not after `after`.
    pub(crate) fn latest_up_to(&self, session: &SessionId, view: WireView, after: u64) -> Option<ViewFold> {
        let found = {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            let fits = |(_, (of, fold)): &(usize, &(SessionId, Arc<ViewFold>))| {
                of == session && fold.view() == view && fold.at() <= after
            };
            let (place, _) = known
                .iter()
                .enumerate()
                .filter(fits)
                .max_by_key(|(_, (_, fold))| fold.at())?;
            let entry = known.remove(place)?;
            known.push_back(entry.clone());
            entry.1
        };
        // Other pages may begin at the same position, so the entry stays.
        Some(ViewFold::clone(&found))
    }

    /// Remembers the fold at the end of a page.
    pub(crate) fn keep(&self, session: &SessionId, fold: ViewFold) {
        if fold.view() == WireView::Environment || fold.at() <= NEAR {
            return;
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|(of, other)| of != session || other.view() != fold.view() || other.at() != fold.at());
        if known.len() >= REMEMBERED {
            known.pop_front();
        }
        known.push_back((session.clone(), Arc::new(fold)));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use agentx_types::{EnvironmentEvent, EventDraft, OwnerId, Source, TextChunk, Timestamp};

    use super::*;

    fn fold(session: &SessionId, view: WireView, at: u64) -> ViewFold {
        let mut fold = ViewFold::new(session, &OwnerId::new("own_1"), view);
        for seq in 1..=at {
            let chunk = TextChunk { text: "x".into() };
            let draft: EventDraft<EnvironmentEvent> = EventDraft::new(Source::Environment, None, chunk);
            fold.pass(&Arc::new(draft.into_envelope(session.clone(), seq, Timestamp(1))));
        }
        fold
    }

    #[test]
    fn the_nearest_place_of_the_same_view_is_found() {
        let (one, other) = (SessionId::new("ses_1"), SessionId::new("ses_2"));
        let folds = PageFolds::default();
        for at in [NEAR, 100, 200, 300] {
            folds.keep(&one, fold(&one, WireView::Ui, at));
        }
        folds.keep(&one, fold(&one, WireView::Environment, 150));
        let at = |session, view, after| {
            let found = folds.latest_up_to(session, view, after);
            found.map(|fold| fold.at())
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
        let folds = PageFolds::default();
        let first = NEAR + 1;
        folds.keep(&session, fold(&session, WireView::Runtime, first));
        for n in 1..3 * REMEMBERED as u64 {
            folds.keep(&session, fold(&session, WireView::Runtime, first + n));
            assert_eq!(
                folds
                    .latest_up_to(&session, WireView::Runtime, first)
                    .unwrap()
                    .at(),
                first
            );
        }
        assert_eq!(folds.known.lock().unwrap().len(), REMEMBERED);
    }
}
