//! The reconnect machine: how a connection is made, kept and made again, and how each session's events come
//! through it whole, in order and once. It is pure: time and chance come in, commands go out as data; the
//! environment performs them.
//!
//! ```text
//! Idle ──want──► Dialling ──opened──► Greeting ──hello──► Signing ──► Authenticating ──► Live
//!                   ▲   │                │                  │               │             │
//!                   │   └────────────────┴───── lost ───────┴───────────────┴─────────────┘
//!                   │                             │
//!                   └──────── Waiting ◄───────────┘        Over  (a refusal that is final, or too many failures)
//! ```
//!
//! The machine never waits, reads a clock or does I/O. Whoever drives it calls a method when something
//! happens, performs every [`MachineCommand`] that it then has, in order, and calls [`Machine::tick`] at
//! [`Machine::wake_at`]. Whole lives of connections are so played in tests, with lost, doubled and late
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
use requests::OpenWishes;
use session::WantedSession;
use state::ConnectionPhase;

/// When something happens, and a random number for what must not be the same in all clients.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moment {
    /// Milliseconds since some beginning; never smaller than before.
    pub ms: u64,
    /// A random number: pauses are not the same in all clients, so that these do not come back at once.
    pub dice: u32,
}

/// Time limits and bounds, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct MachineSettings {
    /// How long a connection may take to be made.
    pub dial_ms: u64,
    /// How long each step may take until the connection can be used, and each subscription to begin.
    pub step_ms: u64,
    /// How long is waited after the first failure; twice as long after each further one.
    pub wait_ms: u64,
    /// How long is waited at most.
    pub longest_wait_ms: u64,
    /// After how many failures in a row it gives up; `None` for never.
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

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum MachineCommand {
    /// Make a connection; say `opened` or `dial_failed`.
    Dial,
    /// Drop the connection, or the one in the making.
    HangUp,
    /// Say who one is, to a server that gave this proof of its key; say `credentials`.
    Authenticate(AuthChallenge, Option<String>),
    /// Send this frame on the connection that stands. If it cannot be sent, say `closed`.
    Send(ClientFrame),
    /// A subscription began: what comes now are its facts. Whoever waited for it can be told.
    Began(SubscriptionStart),
    /// The next fact of its session.
    Deliver(Arc<Envelope<EnvironmentEvent>>, usize),
    /// A session cannot be followed; it is no longer wanted.
    Ended(SessionId, WishFailure),
    /// A wish was answered.
    Answer {
        /// The token that the caller gave the request.
        token: u64,
        /// The answer of the server, or the reason why there is none.
        answer: Result<Accepted, WishFailure>,
        /// How often it was sent: where more than once, an earlier one may have been heard.
        sends: u32,
    },
    /// Something about the people of a session.
    People(Box<ServerNotice>),
    /// A call in somebody's session waits for whoever decides, and this one may.
    Waiting(Box<ApprovalWaiting>),
    /// The state of the connection.
    Notify(ConnectionState),
}

/// How a subscription began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubscriptionStart {
    /// The session whose facts come.
    pub session_id: SessionId,
    /// Its events come after this one.
    pub after_seq: u64,
    /// The last event that was there.
    pub head_seq: u64,
    /// What the reader may do.
    pub role: SessionRole,
}

/// Why something was not done.
#[derive(Clone, Debug, PartialEq)]
pub enum WishFailure {
    /// The server said no.
    Refused(Problem),
    /// The connection let it down.
    Connection(String),
}

/// The machine. See the [module](self).
///
/// ```
/// use agentx_remote_runtime::reconnect::{Machine, MachineCommand, MachineSettings, Moment};
///
/// let at = |ms| Moment { ms, dice: 0 };
/// let mut machine = Machine::new(MachineSettings::default());
/// assert_eq!(machine.next_command(), None, "nothing is wanted yet");
///
/// machine.want(at(0), &"ses_1".into(), 0);
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
pub struct Machine {
    settings: MachineSettings,
    /// What the connection is at.
    phase: ConnectionPhase,
    /// How often in a row it did not work.
    failures: u32,
    /// Whether it ever worked.
    was_live: bool,
    /// How often the server says something, as it said last.
    heartbeat_ms: u64,
    /// What is wanted, whether there is a connection or not.
    sessions: BTreeMap<SessionId, WantedSession>,
    /// What was asked and not answered.
    requests: OpenWishes,
    /// The number of the last subscription that was asked for.
    asked: u64,
    /// Subscriptions that were asked for on this connection and not answered: only the answer to the last one
    /// of a session counts.
    asks: BTreeMap<u64, SessionId>,
    /// Commands that nobody has taken yet.
    out: VecDeque<MachineCommand>,
}

impl Machine {
    /// A machine that does nothing until something is wanted.
    pub fn new(settings: MachineSettings) -> Self {
        Self {
            settings,
            phase: ConnectionPhase::Idle,
            failures: 0,
            was_live: false,
            heartbeat_ms: state::HEARTBEAT_MS,
            sessions: BTreeMap::new(),
            requests: OpenWishes::default(),
            asked: 0,
            asks: BTreeMap::new(),
            out: VecDeque::new(),
        }
    }

    /// The next command; `None` until something happens. They are performed in the order in which they come.
    pub fn next_command(&mut self) -> Option<MachineCommand> {
        self.out.pop_front()
    }

    /// The events of a session are wanted, from after `after_seq` or earlier. Where they come already, they
    /// come again from there, and a new `SubscriptionStart` says what is there now.
    pub fn want(&mut self, moment: Moment, session: &SessionId, after_seq: u64) {
        if let Some(why) = self.over() {
            let failure = WishFailure::Connection(why);
            return self
                .out
                .push_back(MachineCommand::Ended(session.clone(), failure));
        }
        let wanted = self
            .sessions
            .entry(session.clone())
            .or_insert_with(|| WantedSession::new(after_seq));
        wanted.applied = wanted.applied.min(after_seq);
        self.resubscribe(moment, session);
        self.wake_up(moment);
    }

    /// They are not wanted any more.
    pub fn unwant(&mut self, moment: Moment, session: &SessionId) {
        self.unsubscribe(moment, session);
        self.sessions.remove(session);
    }

    /// Asks the server for something. It is answered once, under `token`, even if the connection is lost
    /// meanwhile.
    pub fn request(&mut self, moment: Moment, token: u64, request: ClientRequest) {
        let refused = match self.over() {
            Some(why) => Some(why),
            None => self.requests.add(token, request).err(),
        };
        if let Some(why) = refused {
            let answer = Err(WishFailure::Connection(why));
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

    /// Nobody waits for this answer any more.
    pub fn cancel(&mut self, token: u64) {
        self.requests.remove(token);
    }

    /// Tries again now, whatever happened before.
    pub fn dial_now(&mut self, moment: Moment) {
        if matches!(
            self.phase,
            ConnectionPhase::Idle | ConnectionPhase::Waiting { .. } | ConnectionPhase::Over { .. }
        ) {
            self.failures = 0;
            self.dial(moment);
        }
    }

    /// The connection was made.
    pub fn opened(&mut self, moment: Moment) {
        if matches!(self.phase, ConnectionPhase::Dialling { .. }) {
            self.phase = ConnectionPhase::Greeting {
                until: moment.ms + self.settings.step_ms,
            };
        }
    }

    /// It could not be made. Where `for_good` is set and it never worked, it is not tried again.
    pub fn dial_failed(&mut self, moment: Moment, why: String, for_good: bool) {
        if for_good && !self.was_live {
            return self.give_up(why);
        }
        self.lost(moment, why, None);
    }

    /// It was lost, or ended by the other side. What was not answered is sent again by the next one.
    pub fn closed(&mut self, moment: Moment, why: String) {
        self.lost(moment, why, None);
    }

    /// Who one is; an error is final.
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
