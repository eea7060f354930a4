//! Inputs to open sessions from an active environment: a sensor, a webhook, a clock.
//!
//! Its message is an input that begins a run, like that of a person. It is recorded as the environment's, and
//! the model reads it as text of somebody other than the owner. An environment can send nothing else: results
//! of calls come only through their requests.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentx_types::{ContentPart, InputMode, OwnerId, SessionId};
use tokio::sync::{mpsc, oneshot};

use crate::api::{RuntimeError, UserInput};
use crate::commands::{FactRequest, SessionCommand};

/// The longest name of an environment.
const LONGEST_NAME: usize = 40;

/// The sessions that are open in this process. Clones share the same state. It does not keep sessions open: a
/// driver removes its session when it ends.
#[derive(Clone, Default)]
pub struct OpenSessions(Arc<Mutex<BTreeMap<SessionId, mpsc::WeakSender<SessionCommand>>>>);

impl OpenSessions {
    /// Adds a session that is opened.
    pub(crate) fn add(&self, session: &SessionId, commands: &mpsc::Sender<SessionCommand>) {
        self.lock().insert(session.clone(), commands.downgrade());
    }

    /// Removes a session that has ended.
    pub(crate) fn remove(&self, session: &SessionId) {
        self.lock().remove(session);
    }

    /// The way to a session that is open.
    fn commands(&self, session: &SessionId) -> Option<mpsc::Sender<SessionCommand>> {
        self.lock().get(session)?.upgrade()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<SessionId, mpsc::WeakSender<SessionCommand>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for OpenSessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.lock().keys()).finish()
    }
}

/// The reason why a name is invalid for an [`Ingress`]: a name has 1 to 40 ASCII letters, digits, `-`
/// and `_`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidEnvironmentName {
    /// The name is empty.
    #[error("the name of an environment is empty: it needs 1 to {LONGEST_NAME} letters, digits, `-` or `_`")]
    Empty,
    /// The name is too long.
    #[error("the name of an environment has {length} characters; at most {LONGEST_NAME} are allowed")]
    Long {
        /// Length of the name in characters.
        length: usize,
    },
    /// The name has a character that names cannot have.
    #[error(
        "the name `{name}` of an environment has {letter:?} in it: it may have ASCII letters, digits, `-` and `_`"
    )]
    Letter {
        /// The name.
        name: String,
        /// The first such letter.
        letter: char,
    },
}

/// Sends inputs to open sessions in the name of an environment, from
/// [`SystemBus::ingress`](crate::SystemBus::ingress).
#[derive(Clone, Debug)]
pub struct Ingress {
    name: OwnerId,
    sessions: OpenSessions,
}

impl Ingress {
    /// # Errors
    /// Returns an error if this is not a name.
    pub(crate) fn new(name: &str, sessions: OpenSessions) -> Result<Self, InvalidEnvironmentName> {
        let is_plain = |c: &char| c.is_ascii_alphanumeric() || "-_".contains(*c);
        if let Some(letter) = name.chars().find(|c| !is_plain(c)) {
            return Err(InvalidEnvironmentName::Letter {
                name: name.to_owned(),
                letter,
            });
        }
        match name.len() {
            0 => Err(InvalidEnvironmentName::Empty),
            length if length > LONGEST_NAME => Err(InvalidEnvironmentName::Long { length }),
            _ => Ok(Self {
                name: OwnerId::new(format!("env_{name}")),
                sessions,
            }),
        }
    }

    /// The sessions that are open in this process now.
    pub fn sessions(&self) -> Vec<SessionId> {
        self.sessions.lock().keys().cloned().collect()
    }

    /// Sends an input to a session: it begins a run, or waits according to `mode`. Returns the `seq` of the
    /// input when it is committed.
    ///
    /// # Errors
    /// Returns an error if the session is not open in this process, 64 inputs wait in it already, or it is
    /// closing.
    pub async fn send(
        &self,
        session: &SessionId,
        content: Vec<ContentPart>,
        mode: InputMode,
    ) -> Result<u64, RuntimeError> {
        let gone = |why: &str| RuntimeError::Gone {
            session: session.clone(),
            why: why.to_owned(),
        };
        let commands = self.sessions.commands(session);
        let commands = commands.ok_or_else(|| gone("it is not open in this process"))?;
        let input = UserInput::new(content).mode(mode).by(Some(self.name.clone()));
        let (reply, answer) = oneshot::channel();
        let request = Box::new(FactRequest::EnvironmentInput(input));
        let sent = commands
            .send(SessionCommand::Record {
                request,
                key: None,
                reply,
            })
            .await;
        // The handle must not keep the session open while the answer is awaited.
        drop(commands);
        match (sent, answer.await) {
            (Ok(()), Ok(answer)) => answer,
            _ => Err(gone("it was closed")),
        }
    }
}
