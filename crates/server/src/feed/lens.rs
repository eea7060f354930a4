//! A view of a session, as a fold of its facts: which frames each fact becomes.

use agentx_runtime::{Fact, SessionFold, UiProjection};
use agentx_types::wire::WireView;
use agentx_types::{OwnerId, SessionId};

use super::page_cache::Shelf;
use super::{Frame, FrameEncoder};

/// A view of a session at one point of it.
#[derive(Clone)]
pub struct Lens {
    kind: LensKind,
    at: u64,
}

#[derive(Clone)]
enum LensKind {
    /// The facts themselves: nothing has to be known of earlier ones.
    Environment,
    /// What they mean.
    Runtime(Box<SessionFold>),
    /// What of that a simple client is shown.
    Ui(Box<SessionFold>, Box<UiProjection>),
}

impl Lens {
    /// The view of a session before its first fact.
    pub fn new(session: &SessionId, owner: &OwnerId, view: WireView) -> Self {
        let fold = || Box::new(SessionFold::new(session.clone()));
        let kind = match view {
            WireView::Environment => LensKind::Environment,
            WireView::Runtime => LensKind::Runtime(fold()),
            WireView::Ui => LensKind::Ui(fold(), Box::new(UiProjection::new(owner.clone()))),
        };
        Self { kind, at: 0 }
    }

    /// The last fact that it has seen.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Which view it is.
    pub fn view(&self) -> WireView {
        match self.kind {
            LensKind::Environment => WireView::Environment,
            LensKind::Runtime(_) => WireView::Runtime,
            LensKind::Ui(..) => WireView::Ui,
        }
    }

    /// Passes over everything up to `seq`, if nothing has to be known of it.
    pub fn skip_to(&mut self, seq: u64) {
        if matches!(self.kind, LensKind::Environment) {
            self.at = self.at.max(seq);
        }
    }

    /// Sees a fact of which nobody wants a frame.
    pub fn pass(&mut self, fact: &Fact) {
        self.at = fact.seq;
        match &mut self.kind {
            LensKind::Environment => {}
            LensKind::Runtime(fold) | LensKind::Ui(fold, _) => fold.advance(fact),
        }
    }

    /// Sees a fact, and hands on the frames that it becomes.
    pub fn look(&mut self, fact: &Fact, encoder: &mut FrameEncoder, mut push: impl FnMut(Frame)) {
        self.at = fact.seq;
        match &mut self.kind {
            LensKind::Environment => encoder.frame(&**fact).into_iter().for_each(push),
            LensKind::Runtime(fold) => {
                let derived = fold.apply(fact);
                for event in &derived.events {
                    encoder.frame(event).into_iter().for_each(&mut push);
                }
            }
            LensKind::Ui(fold, ui) => {
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

    /// Sees a fact of `session`, and hands on its frames: those that somebody has encoded of late, where there are any.
    pub(crate) fn look_with(
        &mut self,
        (fact, shelf): (&Fact, &Shelf),
        encoder: &mut FrameEncoder,
        mut push: impl FnMut(Frame),
    ) {
        let view = self.view();
        if let Some(frames) = shelf.frames(&fact.session_id, view, fact.seq) {
            self.pass(fact);
            return frames.iter().cloned().for_each(push);
        }
        let mut frames = Vec::new();
        self.look(fact, encoder, |frame| frames.push(frame));
        shelf.keep_frames(&fact.session_id, view, fact.seq, &frames);
        frames.drain(..).for_each(&mut push);
    }
}
