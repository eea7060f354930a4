//! The reconnect machine: makes a connection, keeps it and makes it again, and delivers each session's events
//! in order, without a gap or a double. It is pure: time and random numbers are arguments, commands are data,
//! and the environment performs them.
//!
//! ```text
//! Idle ──want──► Dialling ──opened──► Greeting ──hello──► Signing ──► Authenticating ──► Live
//!                   ▲   │                │                  │               │             │
//!                   │   └────────────────┴───── lost ───────┴───────────────┴─────────────┘
//!                   │                             │
//!                   └──────── Waiting ◄───────────┘        Over  (a refusal that is final, or too many failures)
//! ```
//!
//! The machine never waits, reads a clock or does I/O. The caller calls a method when something happens,
//! performs every [`MachineCommand`] that the machine returns, in order, and calls [`ReconnectMachine::tick`]
//! at [`ReconnectMachine::wake_at`]. So tests can simulate whole connections, with lost, repeated and late
//! frames.

mod delivery;
mod requests;
mod session;
mod state;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use agentx_identity::AuthChallenge;
use agentx_types::wire::{
    Accepted, ApprovalWaiting, Authenticate, ClientFrame, ClientRequest, Problem, ServerNotice,
};
use agentx_types::{Envelope, EnvironmentEvent, SessionId, SessionRole};

use crate::ConnectionState;
use requests::PendingRequests;
use session::SessionSubscription;
use state::ConnectionPhase;

/// The time of an event, with a random number.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moment {
    /// Milliseconds since some beginning; never smaller than before.
    pub ms: u64,
    /// A random number that varies the pauses, so that clients do not all reconnect at the same moment.
    pub random: u32,
}

/// Time limits and bounds, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct MachineSettings {
    /// The maximum time to establish a connection.
    pub dial_ms: u64,
    /// The maximum time for each step of signing in, and for a subscription to begin.
    pub step_ms: u64,
    /// The pause after the first failure; it doubles with each further failure.
    pub wait_ms: u64,
    /// The maximum pause between two attempts, in milliseconds.
    pub longest_wait_ms: u64,
    /// The number of failures in a row after which the machine gives up; `None` for no limit.
    pub attempts: Option<u32>,
}

impl Default for MachineSettings {
    fn default() -> Self {
        Self {
            dial_ms: 15_000,
            step_ms: 15_000,
            wait_ms: 250,
            longest_wait_ms: 30_000,
            attempts: None,
        }
    }
}

/// A command for the environment.
#[derive(Clone, Debug, PartialEq)]
pub enum MachineCommand {
    /// Connect, then call `opened` or `dial_failed`.
    Dial,
    /// Drop the connection, or the one in the making.
    HangUp,
    /// Sign this challenge of a server that gave this proof of its key, then call `credentials`.
    Authenticate(AuthChallenge, Option<String>),
    /// Send this frame on the open connection. If that fails, call `closed`.
    Send(ClientFrame),
    /// A subscription began: its facts follow.
    Began(SubscriptionStart),
    /// The next fact of its session.
    Deliver(Arc<Envelope<EnvironmentEvent>>, usize),
    /// A session cannot be followed; the machine dropped it.
    Ended(SessionId, RequestFailure),
    /// The answer to a request.
    Answer {
        /// The token that the caller gave the request.
        token: u64,
        /// The answer of the server, or the reason why there is none.
        answer: Result<Accepted, RequestFailure>,
        /// The number of times the machine sent it: if more than one, the server may have carried out an
        /// earlier one.
        sends: u32,
    },
    /// A notice about the people of a session.
    People(Box<ServerNotice>),
    /// A call in another person's session waits for a decision that this person may make.
    Waiting(Box<ApprovalWaiting>),
    /// The state of the connection.
    Notify(ConnectionState),
}

/// The start of a subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubscriptionStart {
    /// The session.
    pub session_id: SessionId,
    /// The `seq` after which its events come.
    pub after_seq: u64,
    /// The `seq` of the last event in the log.
    pub head_seq: u64,
    /// The role of the reader.
    pub role: SessionRole,
}

/// The reason why a request failed.
#[derive(Clone, Debug, PartialEq)]
pub enum RequestFailure {
    /// The server refused it.
    Refused(Problem),
    /// The connection failed.
    Connection(String),
}

/// The machine. See the [module](self).
///
/// ```
/// use agentx_remote_runtime::reconnect::{ReconnectMachine, MachineCommand, MachineSettings, Moment};
///
/// let at = |ms| Moment { ms, random: 0 };
/// let mut machine = ReconnectMachine::new(MachineSettings::default());
/// assert_eq!(machine.next_command(), None, "nothing is wanted yet");
///
/// machine.add_subscription(at(0), &"ses_1".into(), 0);
/// assert!(matches!(machine.next_command(), Some(MachineCommand::Notify(_))));
/// assert_eq!(machine.next_command(), Some(MachineCommand::Dial));
///
/// // Nobody answers, so it waits for 125 to 250 ms, and longer after each further failure.
/// machine.dial_failed(at(100), "connection refused".into(), false);
/// while machine.next_command().is_some() {}
/// assert_eq!(machine.wake_at(), Some(225));
/// machine.tick(at(225));
/// assert!(matches!(machine.next_command(), Some(MachineCommand::Notify(_))));
/// assert_eq!(machine.next_command(), Some(MachineCommand::Dial));
/// ```
#[derive(Debug)]
pub struct ReconnectMachine {
    settings: MachineSettings,
    phase: ConnectionPhase,
    /// The number of failures in a row.
    failures: u32,
    /// Whether a connection ever worked.
    was_live: bool,
    /// The heartbeat interval that the server announced last.
    heartbeat_ms: u64,
    /// The wanted sessions, with or without a connection.
    sessions: BTreeMap<SessionId, SessionSubscription>,
    /// The requests without an answer.
    requests: PendingRequests,
    /// The number of the latest subscribe frame.
    asked: u64,
    /// The subscribe frames without an answer on this connection. Only the answer to the last one of a
    /// session counts.
    asks: BTreeMap<u64, SessionId>,
    /// Commands that the environment has not taken yet.
    out: VecDeque<MachineCommand>,
}

impl ReconnectMachine {
    /// Creates a machine that stays idle until a session or a request is wanted.
    pub fn new(settings: MachineSettings) -> Self {
        Self {
            settings,
            phase: ConnectionPhase::Idle,
            failures: 0,
            was_live: false,
            heartbeat_ms: state::HEARTBEAT_MS,
            sessions: BTreeMap::new(),
            requests: PendingRequests::default(),
            asked: 0,
            asks: BTreeMap::new(),
            out: VecDeque::new(),
        }
    }

    /// Returns the next command, or `None` until something happens. The caller performs commands in this
    /// order.
    pub fn next_command(&mut self) -> Option<MachineCommand> {
        self.out.pop_front()
    }

    /// Subscribes to the events of a session, from after `after_seq` or earlier. If the session is subscribed
    /// already, its events come again from there, after a new `SubscriptionStart`.
    pub fn add_subscription(&mut self, moment: Moment, session: &SessionId, after_seq: u64) {
        if let Some(why) = self.give_up_reason() {
            let failure = RequestFailure::Connection(why);
            return self
                .out
                .push_back(MachineCommand::Ended(session.clone(), failure));
        }
        let wanted = self
            .sessions
            .entry(session.clone())
            .or_insert_with(|| SessionSubscription::new(after_seq));
        wanted.applied = wanted.applied.min(after_seq);
        self.resubscribe(moment, session);
        self.wake_up(moment);
    }

    /// Ends the subscription of a session.
    pub fn remove_subscription(&mut self, moment: Moment, session: &SessionId) {
        self.unsubscribe(moment, session);
        self.sessions.remove(session);
    }

    /// Sends a request to the server. The machine answers it once, under `token`, even if the connection is
    /// lost meanwhile.
    pub fn request(&mut self, moment: Moment, token: u64, request: ClientRequest) {
        let refused = match self.give_up_reason() {
            Some(why) => Some(why),
            None => self.requests.add(token, request).err(),
        };
        if let Some(why) = refused {
            let answer = Err(RequestFailure::Connection(why));
            return self.out.push_back(MachineCommand::Answer {
                token,
                answer,
                sends: 0,
            });
        }
        if self.phase.is_live()
            && let Some(frame) = self.requests.send(token)
        {
            self.send(moment, frame);
        }
        self.wake_up(moment);
    }

    /// Drops a request whose caller has given up.
    pub fn cancel(&mut self, token: u64) {
        self.requests.remove(token);
    }

    /// Connects now, even after a failure or after giving up.
    pub fn dial_now(&mut self, moment: Moment) {
        if matches!(
            self.phase,
            ConnectionPhase::Idle | ConnectionPhase::Waiting { .. } | ConnectionPhase::Over { .. }
        ) {
            self.failures = 0;
            self.dial(moment);
        }
    }

    /// Reports that the connection is open.
    pub fn opened(&mut self, moment: Moment) {
        if matches!(self.phase, ConnectionPhase::Dialling { .. }) {
            self.phase = ConnectionPhase::Greeting {
                until: moment.ms + self.settings.step_ms,
            };
        }
    }

    /// Reports that the connection could not be made. If `for_good` is set and no connection ever worked, the
    /// machine gives up.
    pub fn dial_failed(&mut self, moment: Moment, why: String, for_good: bool) {
        if for_good && !self.was_live {
            return self.give_up(why);
        }
        self.lost(moment, why, None);
    }

    /// Reports that the connection was lost or closed. The next one sends requests without an answer again.
    pub fn closed(&mut self, moment: Moment, why: String) {
        self.lost(moment, why, None);
    }

    /// Handles the signed challenge; an error is final.
    pub fn credentials(&mut self, moment: Moment, answer: Result<Authenticate, String>) {
        if !matches!(self.phase, ConnectionPhase::Signing { .. }) {
            return;
        }
        match answer {
            Ok(answer) => {
                self.phase = ConnectionPhase::Authenticating {
                    until: moment.ms + self.settings.step_ms,
                };
                self.send(
                    moment,
                    ClientFrame {
                        id: state::AUTHENTICATE.into(),
                        request: answer.into(),
                    },
                );
            }
            Err(why) => self.give_up(why),
        }
    }
}

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
