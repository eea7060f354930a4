//! A view of a session, as a fold of its facts: it produces the frames of each fact.

use agentx_runtime::{Fact, SessionFold, UiProjection};
use agentx_types::wire::WireView;
use agentx_types::{OwnerId, SessionId};

use super::page_cache::PageCache;
use super::{Frame, FrameEncoder};

/// A view of a session at one point of it.
#[derive(Clone)]
pub struct ViewFold {
    kind: FoldKind,
    at: u64,
}

#[derive(Clone)]
enum FoldKind {
    /// The facts themselves; no state is needed.
    Environment,
    /// The runtime events that follow from the facts.
    Runtime(Box<SessionFold>),
    /// The events for simple clients that follow from those.
    Ui(Box<SessionFold>, Box<UiProjection>),
}

impl ViewFold {
    /// Creates the view of a session before its first fact.
    pub fn new(session: &SessionId, owner: &OwnerId, view: WireView) -> Self {
        let fold = || Box::new(SessionFold::new(session.clone()));
        let kind = match view {
            WireView::Environment => FoldKind::Environment,
            WireView::Runtime => FoldKind::Runtime(fold()),
            WireView::Ui => FoldKind::Ui(fold(), Box::new(UiProjection::new(owner.clone()))),
        };
        Self { kind, at: 0 }
    }

    /// Returns the last fact that was folded.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Returns the view.
    pub fn view(&self) -> WireView {
        match self.kind {
            FoldKind::Environment => WireView::Environment,
            FoldKind::Runtime(_) => WireView::Runtime,
            FoldKind::Ui(..) => WireView::Ui,
        }
    }

    /// Skips to `seq`, if the view needs no state of earlier facts.
    pub fn skip_to(&mut self, seq: u64) {
        if matches!(self.kind, FoldKind::Environment) {
            self.at = self.at.max(seq);
        }
    }

    /// Folds a fact without producing frames.
    pub fn pass(&mut self, fact: &Fact) {
        self.at = fact.seq;
        match &mut self.kind {
            FoldKind::Environment => {}
            FoldKind::Runtime(fold) | FoldKind::Ui(fold, _) => fold.advance(fact),
        }
    }

    /// Folds a fact, and passes on its frames.
    pub fn look(&mut self, fact: &Fact, encoder: &mut FrameEncoder, mut push: impl FnMut(Frame)) {
        self.at = fact.seq;
        match &mut self.kind {
            FoldKind::Environment => encoder.frame(&**fact).into_iter().for_each(push),
            FoldKind::Runtime(fold) => {
                let derived = fold.apply(fact);
                for event in &derived.events {
                    encoder.frame(event).into_iter().for_each(&mut push);
                }
            }
            FoldKind::Ui(fold, ui) => {
                let derived = fold.apply(fact);
                let mut shown = Vec::new();
                for event in &derived.events {
                    ui.project(event, &mut shown);
                }
                for event in &shown {
                    encoder.frame(event).into_iter().for_each(&mut push);
                }
            }
        }
    }

    /// Folds a fact of `session` and passes on its frames, from the cache if they are there.
    pub(crate) fn look_with(
        &mut self,
        (fact, page_cache): (&Fact, &PageCache),
        encoder: &mut FrameEncoder,
        mut push: impl FnMut(Frame),
    ) {
        let view = self.view();
        if let Some(frames) = page_cache.frames(&fact.session_id, view, fact.seq) {
            self.pass(fact);
            return frames.iter().cloned().for_each(push);
        }
        let mut frames = Vec::new();
        self.look(fact, encoder, |frame| frames.push(frame));
        page_cache.keep_frames(&fact.session_id, view, fact.seq, &frames);
        frames.drain(..).for_each(&mut push);
    }
}
