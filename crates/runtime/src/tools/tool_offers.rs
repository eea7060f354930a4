//! The tools that a runtime offers: those that it was made with, and those of reactors that come and go while
//! sessions run.

use std::sync::{Arc, OnceLock};

use agentx_bus::ResponderId;
use agentx_session::SessionFold;
use agentx_types::ToolSpec;
use tokio::sync::watch;

/// The tools that a runtime offers now. Clones refer to the same offers. Each session records which of them
/// it has: the drivers hear of changes here, and record them between two runs.
#[derive(Clone, Debug)]
pub struct ToolOffers(Arc<watch::Sender<OfferedTools>>);

#[derive(Debug)]
struct OfferedTools {
    /// The tools that the runtime was made with.
    own: Arc<[ToolSpec]>,
    /// The tools of reactors, in the order in which they were attached.
    attached: Vec<(ResponderId, ToolSpec)>,
    /// Both, each name once: an attached tool replaces one with the same name. It is made when it is asked
    /// for, because tools come and go one by one.
    all: OnceLock<Arc<[ToolSpec]>>,
}

impl ToolOffers {
    /// Offers of these tools, and none of a reactor yet.
    pub fn new(own: Arc<[ToolSpec]>) -> Self {
        let offered = OfferedTools {
            all: OnceLock::new(),
            own,
            attached: Vec::new(),
        };
        Self(Arc::new(watch::Sender::new(offered)))
    }

    /// Returns the current offers. The order is fixed: the runtime's own, then those that were attached, the
    /// first one first.
    pub fn now(&self) -> Arc<[ToolSpec]> {
        let offered = self.0.borrow();
        let all = || match &offered.attached[..] {
            [] => offered.own.clone(),
            attached => together(&offered.own, attached),
        };
        offered.all.get_or_init(all).clone()
    }

    /// Only the tools of reactors.
    pub(crate) fn attached(&self) -> Vec<ToolSpec> {
        let offered = self.0.borrow();
        offered.attached.iter().map(|(_, spec)| spec.clone()).collect()
    }

    /// Reports their changes from now on.
    pub(crate) fn changes(&self) -> ToolChanges {
        ToolChanges(self.0.subscribe())
    }

    /// Offers the tool of a reactor from now on.
    pub(crate) fn add(&self, responder: ResponderId, spec: ToolSpec) {
        self.change(|attached| attached.push((responder, spec)));
    }

    /// Withdraws the tools of a reactor.
    pub(crate) fn remove(&self, responder: ResponderId) {
        self.change(|attached| attached.retain(|(id, _)| *id != responder));
    }

    /// Changes the tools of reactors, and notifies the drivers.
    fn change(&self, change: impl FnOnce(&mut Vec<(ResponderId, ToolSpec)>)) {
        self.0.send_modify(|offered| {
            change(&mut offered.attached);
            offered.all = OnceLock::new();
        });
    }
}

impl From<Vec<ToolSpec>> for ToolOffers {
    fn from(own: Vec<ToolSpec>) -> Self {
        Self::new(own.into())
    }
}

impl From<Arc<[ToolSpec]>> for ToolOffers {
    fn from(own: Arc<[ToolSpec]>) -> Self {
        Self::new(own)
    }
}

impl Default for ToolOffers {
    fn default() -> Self {
        Self::new(Arc::from([]))
    }
}

/// Reports changes of the offered tools.
#[derive(Debug)]
pub(crate) struct ToolChanges(watch::Receiver<OfferedTools>);

impl ToolChanges {
    /// Takes the change that this receiver has not seen yet. Returns whether there was one.
    pub(crate) fn take_change(&mut self) -> bool {
        let came = self.0.has_changed().unwrap_or(false);
        if came {
            self.0.borrow_and_update();
        }
        came
    }

    /// Completes with the next change. Waits forever if nobody can offer tools any more.
    pub(crate) async fn next(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending().await
        }
    }
}

/// Both lists as one, in which an attached tool replaces one with the same name.
fn together(own: &[ToolSpec], attached: &[(ResponderId, ToolSpec)]) -> Arc<[ToolSpec]> {
    let mut all = own.to_vec();
    for (_, spec) in attached {
        match all.iter_mut().find(|known| known.name == spec.name) {
            Some(known) => *known = spec.clone(),
            None => all.push(spec.clone()),
        }
    }
    all.into()
}

/// Returns the tools that the session has to record because the program offers others than the one before.
/// The log has everything that shapes a decision before that decision. Programs do not offer the tools that
/// the machine answers itself.
pub(crate) fn changed_tools(fold: &SessionFold, offered: &[ToolSpec]) -> Option<Arc<[ToolSpec]>> {
    let kept = &fold.root_agent()?.config().tools;
    let mut current = fold.tools_of(offered);
    current.extend(kept.iter().filter(|tool| delegates_work(tool)).cloned());
    (*current != **kept).then(|| Arc::from(current))
}

/// Returns whether the machine answers calls of the tool itself, to delegate work.
fn delegates_work(tool: &ToolSpec) -> bool {
    [agentx_agent::DELEGATE, agentx_agent::AGENTS].contains(&tool.name.as_str())
}

/// Returns the tools of a new session with those of reactors that they lack: one may have been attached since
/// they were looked up. The order is the one in which [`changed_tools`] records them later, so that reopening
/// the session changes nothing.
pub(crate) fn with_attached(tools: &Arc<[ToolSpec]>, offers: &ToolOffers) -> Arc<[ToolSpec]> {
    let mut attached = offers.attached();
    attached.retain(|new| !new.only_by_name && !tools.iter().any(|known| known.name == new.name));
    if attached.is_empty() {
        return tools.clone();
    }
    let others = tools.iter().filter(|tool| !delegates_work(tool)).cloned();
    let last = tools.iter().filter(|tool| delegates_work(tool)).cloned();
    others.chain(attached).chain(last).collect()
}
