//! A call of a tool from a file: everything that its effects use. Its parts do not know it, and the code that
//! performs effects takes it whole.

use std::sync::Arc;

use agentx_luau_tools::HostEffect;
use agentx_runtime::ToolContext;
use tokio_util::sync::CancellationToken;

use super::call_permits::CallPermits;
use super::call_streams::CallStreams;
use super::children::Children;
use super::network::Network;
use super::shared::ToolsShared;
use crate::grants::Grants;
use crate::record::RecorderHandle;

/// A call of a tool from a file.
pub(crate) struct FileToolCall {
    pub(crate) tool: String,
    pub(crate) shared: Arc<ToolsShared>,
    pub(crate) grants: Arc<Grants>,
    pub(crate) network: Arc<Network>,
    pub(crate) context: ToolContext,
    /// Fires when the call is stopped or has ended: its effects end then.
    pub(crate) stop: CancellationToken,
    pub(crate) recorder: RecorderHandle,
    pub(crate) streams: CallStreams,
    pub(crate) children: Children,
    /// The position of its steps in its file.
    pub(crate) origin: CallOrigin,
    pub(crate) permits: CallPermits,
}

/// The position of the steps of a call in their file.
#[derive(Clone, Debug)]
pub(crate) enum CallOrigin {
    /// In a script, after this many lines of its file.
    Script { file: String, before: u32 },
    /// Each step has a name.
    Steps(Vec<String>),
    /// The tool is a single step, without a position.
    Whole,
}

impl CallOrigin {
    /// Returns the position of a step, for people.
    pub(super) fn place(&self, effect: &HostEffect) -> Option<String> {
        match self {
            Self::Script { file, before } => {
                let place = effect.place.as_ref();
                Some(match place.map(|place| (&place.library, place.line)) {
                    Some((Some(library), line)) => format!("{library}:{line}"),
                    Some((None, line)) => format!("{file}:{}", line.saturating_add(*before)),
                    None => file.clone(),
                })
            }
            Self::Steps(names) => {
                let at = usize::try_from(effect.step.checked_sub(1)?).ok()?;
                Some(format!("step {}", names.get(at)?))
            }
            Self::Whole => None,
        }
    }
}
