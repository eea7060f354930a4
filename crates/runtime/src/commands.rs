//! The commands that front ends send to the driver of an open session, and the status of the driver's task.

use agentx_session::{SessionState, WaitingInputs};
use agentx_types::{
    Approval, CondenseRequested, EnvironmentEvent, InputPinned, InputRevised, InterruptRequested, OwnerId,
};
use tokio::sync::oneshot;

use crate::api::{RequestKey, RuntimeError, UserInput};
use crate::log_error::LogError;

/// The system command that retries immediately.
pub(crate) const RETRY: &str = "retry";

/// The number of inputs that may wait in a session before an environment is refused.
pub(crate) const MOST_WAITING: usize = 64;

/// The state of a session as a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DriverStatus {
    /// The session handles events.
    Open,
    /// The session was closed; everything that it published is committed.
    Closed,
    /// The session cannot continue.
    Failed(LogError),
}

/// A command from a front end to a session.
pub(crate) enum SessionCommand {
    /// Record this fact. A request whose key was recorded is done already.
    Record {
        request: Box<FactRequest>,
        key: Option<RequestKey>,
        reply: ReplySender<u64>,
    },
    /// Returns the session's state.
    State { reply: ReplySender<SessionState> },
    /// Return the input with this key.
    Known {
        key: String,
        reply: ReplySender<Option<u64>>,
    },
    /// Return the event of the request with this key.
    Requested {
        key: RequestKey,
        reply: ReplySender<Option<u64>>,
    },
    /// Return the waiting inputs.
    Waiting { reply: ReplySender<WaitingInputs> },
    /// Return the `seq` of the last committed fact.
    Head { reply: ReplySender<u64> },
    /// Stop the current run, and end.
    Close { reply: oneshot::Sender<()> },
    /// End, and leave running work to the next process that opens the session.
    Suspend { reply: oneshot::Sender<()> },
}

/// The channel for the answer to a command.
pub(crate) type ReplySender<T> = oneshot::Sender<Result<T, RuntimeError>>;

/// A fact that a front end wants to record.
#[derive(Debug)]
pub(crate) enum FactRequest {
    /// An input of a person. If one with the same key came before, that one is the answer.
    UserInput(UserInput),
    /// An input that an environment sends by itself.
    EnvironmentInput(UserInput),
    /// Stop running work. Nothing is recorded if nothing runs.
    Interrupt(InterruptRequested),
    /// Try again: at once if the run pauses between two attempts, or in a new run if the last one ended
    /// without an answer. Otherwise nothing is recorded.
    Retry { by: Option<OwnerId> },
    /// A decision about a call that waits for one.
    Approve(Approval),
    /// Another mode for an input that waits, or none.
    Revise(InputRevised),
    /// Changes of a conversation.
    Condense(CondenseRequested),
    /// An input is pinned, so that it is never condensed, or unpinned.
    Pin(InputPinned),
    /// The latest summary is taken out again.
    Restore { by: Option<OwnerId> },
    /// Record this event unchanged.
    Record(EnvironmentEvent),
}
