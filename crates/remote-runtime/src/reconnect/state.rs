//! The connection itself: its phases, its heartbeat, its pauses, and its end.
//!
//! **Failures.** A connection that was useful, or lasted for half a minute, resets the count of failures.
//! Otherwise pauses double, from `wait_ms` to `longest_wait_ms`; each is a random time between half of that
//! and all of it. A pause that a server requests is respected, up to five minutes.
//!
//! **Silence.** Both sides send something once a heartbeat, whose interval the server chooses (15 s; values
//! between 0.1 and 120 s are accepted). Two heartbeats of silence mean a lost connection: a laptop that slept
//! detects it in half a minute.
//!
//! **The end.** It is over when the server refuses this person, has another version of the protocol, or is
//! another server; and after `attempts` failures. Then all requests and subscriptions fail with the reason.
//!
//! Front ends see the seven phases of [`ConnectionPhase`] as four states: `Connecting`, `Connected`,
//! `Waiting` with a reason and a time, and `GaveUp`. `Idle` is only at the beginning.

use agentx_identity::AuthChallenge;
use agentx_types::wire::{Bye, ClientFrame, Hello, PROTOCOL, Ping, Problem};

use super::{MachineCommand, Moment, ReconnectMachine, RequestFailure};
use crate::ConnectionState;

/// The id of the frame that authenticates.
pub(super) const AUTHENTICATE: &str = "authenticate";
/// The id of keep-alive frames.
const PING: &str = "ping";
/// The heartbeat interval until the server announces its own.
pub(super) const HEARTBEAT_MS: u64 = 15_000;
/// The heartbeat intervals that a server may announce.
const HEARTBEATS_MS: std::ops::RangeInclusive<u64> = 100..=120_000;
/// The longest pause that a server can ask for.
pub(super) const LONGEST_REST_MS: u64 = 300_000;
/// The age at which a connection counts as good.
const GOOD_AFTER_MS: u64 = 30_000;
/// The close code for a policy violation.
const NOT_ALLOWED: u16 = 1008;

/// The phase of a connection.
#[derive(Debug)]
pub(super) enum ConnectionPhase {
    /// No session or request is wanted yet.
    Idle,
    /// The environment is connecting.
    Dialling { until: u64 },
    /// The machine waits for the server's first frame.
    Greeting { until: u64 },
    /// The environment signs the challenge.
    Signing { until: u64 },
    /// The machine waits for the server's answer to the signature.
    Authenticating { until: u64 },
    /// The connection works.
    Live {
        /// The time of the last incoming frame.
        heard: u64,
        /// The time of the last outgoing frame.
        said: u64,
        /// The time at which it began to work.
        since: u64,
        /// Whether it brought a fact or an answer.
        useful: bool,
    },
    /// The machine waits before the next attempt.
    Waiting { until: u64 },
    /// The machine gave up.
    Over { why: String },
}

impl ConnectionPhase {
    /// Returns whether the client has signed in, so that any frame can be sent.
    pub(super) fn is_live(&self) -> bool {
        matches!(self, Self::Live { .. })
    }

    /// Returns whether a connection is open or being opened.
    fn is_connected(&self) -> bool {
        !matches!(self, Self::Idle | Self::Waiting { .. } | Self::Over { .. })
    }
}

impl ReconnectMachine {
    /// Returns the time at which [`ReconnectMachine::tick`] is due next, if nothing else happens before.
    pub fn wake_at(&self) -> Option<u64> {
        match &self.phase {
            ConnectionPhase::Idle | ConnectionPhase::Over { .. } => None,
            ConnectionPhase::Dialling { until }
            | ConnectionPhase::Greeting { until }
            | ConnectionPhase::Signing { until }
            | ConnectionPhase::Authenticating { until }
            | ConnectionPhase::Waiting { until } => Some(*until),
            ConnectionPhase::Live { heard, said, .. } => {
                let silent = (heard + 2 * self.heartbeat_ms).min(said + self.heartbeat_ms);
                let sessions = self
                    .sessions
                    .values()
                    .filter_map(|wanted| wanted.subscription.deadline());
                Some(sessions.chain(self.requests.next_retry()).fold(silent, u64::min))
            }
        }
    }

    /// Handles everything that is due. It is safe to call too early or more than once.
    pub fn tick(&mut self, moment: Moment) {
        let now = moment.ms;
        match self.phase {
            ConnectionPhase::Idle | ConnectionPhase::Over { .. } => {}
            ConnectionPhase::Waiting { until } if now >= until => self.dial(moment),
            ConnectionPhase::Dialling { until } if now >= until => {
                let seconds = self.settings.dial_ms.div_ceil(1000);
                self.lost(moment, format!("no connection within {seconds} seconds"), None);
            }
            ConnectionPhase::Greeting { until }
            | ConnectionPhase::Signing { until }
            | ConnectionPhase::Authenticating { until }
                if now >= until =>
            {
                let seconds = self.settings.step_ms.div_ceil(1000);
                self.lost(
                    moment,
                    format!("it did not continue within {seconds} seconds"),
                    None,
                );
            }
            ConnectionPhase::Live { heard, said, .. } => self.tick_live(moment, heard, said),
            _ => {}
        }
    }

    /// Handles the due tasks of a working connection: silence, heartbeats, requests, subscriptions.
    fn tick_live(&mut self, moment: Moment, heard: u64, said: u64) {
        let dead_after = 2 * self.heartbeat_ms;
        if moment.ms >= heard + dead_after {
            let seconds = dead_after.div_ceil(1000);
            return self.lost(moment, format!("it was silent for {seconds} seconds"), None);
        }
        if moment.ms >= said + self.heartbeat_ms {
            self.send(
                moment,
                ClientFrame {
                    id: PING.into(),
                    request: Ping {}.into(),
                },
            );
        }
        for frame in self.requests.send_due(moment.ms) {
            self.send(moment, frame);
        }
        self.tick_sessions(moment);
    }

    /// Records that a frame came.
    pub fn note_frame(&mut self, moment: Moment) {
        if let ConnectionPhase::Live { heard, .. } = &mut self.phase {
            *heard = moment.ms;
        }
    }

    /// Records that the connection brought a fact or an answer, so that it counts as good.
    pub(super) fn mark_useful(&mut self) {
        if let ConnectionPhase::Live { useful, .. } = &mut self.phase {
            *useful = true;
        }
    }

    /// Queues a frame, which counts as a heartbeat too.
    pub(super) fn send(&mut self, moment: Moment, frame: ClientFrame) {
        if let ConnectionPhase::Live { said, .. } = &mut self.phase {
            *said = moment.ms;
        }
        self.out.push_back(MachineCommand::Send(frame));
    }

    /// Connects, unless the machine did already.
    pub(super) fn wake_up(&mut self, moment: Moment) {
        if matches!(self.phase, ConnectionPhase::Idle) {
            self.dial(moment);
        }
    }

    /// Connects, from any phase.
    pub(super) fn dial(&mut self, moment: Moment) {
        let attempt = self.failures + 1;
        self.phase = ConnectionPhase::Dialling {
            until: moment.ms + self.settings.dial_ms,
        };
        self.notify(ConnectionState::Connecting { attempt });
        self.out.push_back(MachineCommand::Dial);
    }

    /// Handles the server's greeting: checks the protocol version and asks for a signature.
    pub(super) fn on_hello(&mut self, moment: Moment, hello: Hello) {
        if !matches!(self.phase, ConnectionPhase::Greeting { .. }) {
            return;
        }
        if hello.protocol != PROTOCOL {
            return self.give_up(format!(
                "the server ({}) uses protocol version {}, this program version {PROTOCOL}; one of them is outdated",
                hello.server.chars().take(80).collect::<String>(),
                hello.protocol
            ));
        }
        self.heartbeat_ms = hello
            .heartbeat_ms
            .clamp(*HEARTBEATS_MS.start(), *HEARTBEATS_MS.end());
        self.phase = ConnectionPhase::Signing {
            until: moment.ms + self.settings.step_ms,
        };
        let challenge = AuthChallenge {
            origin: hello.origin,
            nonce: hello.nonce,
            expires_at_ms: hello.expires_at_ms,
        };
        self.out
            .push_back(MachineCommand::Authenticate(challenge, hello.proof));
    }

    /// Handles the end of authentication: subscribes and sends waiting requests.
    pub(super) fn on_authenticated(&mut self, moment: Moment) {
        if !matches!(self.phase, ConnectionPhase::Authenticating { .. }) {
            return;
        }
        self.was_live = true;
        self.phase = ConnectionPhase::Live {
            heard: moment.ms,
            said: moment.ms,
            since: moment.ms,
            useful: false,
        };
        self.notify(ConnectionState::Connected);
        self.subscribe_all(moment);
        for frame in self.requests.send_all() {
            self.send(moment, frame);
        }
    }

    /// Handles a refused authentication. If the server names a time, it is only busy.
    pub(super) fn on_not_authenticated(&mut self, moment: Moment, problem: Problem) {
        match problem.retry_after_ms {
            Some(rest) => self.lost(moment, problem.detail, Some(rest)),
            None => self.give_up(problem.detail),
        }
    }

    /// Handles the server's good-bye, which may have a reason and a pause.
    pub(super) fn on_bye(&mut self, moment: Moment, bye: Bye) {
        let is_final = bye.code == NOT_ALLOWED && bye.retry_after_ms.is_none() && !self.phase.is_live();
        if is_final && self.phase.is_connected() {
            return self.give_up(bye.reason);
        }
        self.lost(moment, bye.reason, bye.retry_after_ms);
    }

    /// Handles the loss of the connection. The next one sends requests without an answer again.
    pub(super) fn lost(&mut self, moment: Moment, why: String, rest: Option<u64>) {
        if !self.phase.is_connected() {
            return;
        }
        if let ConnectionPhase::Live { since, useful, .. } = self.phase
            && (useful || moment.ms >= since + GOOD_AFTER_MS)
        {
            self.failures = 0;
        }
        self.failures += 1;
        if self.settings.attempts.is_some_and(|most| self.failures >= most) {
            return self.give_up(why);
        }
        self.out.push_back(MachineCommand::HangUp);
        self.asks.clear();
        for wanted in self.sessions.values_mut() {
            wanted.cut();
        }
        for (token, sends) in self.requests.remove_exhausted() {
            let answer = Err(RequestFailure::Connection(format!(
                "the connection was lost {sends} times before there was an answer; it may or may not have been done ({why})"
            )));
            self.out
                .push_back(MachineCommand::Answer { token, answer, sends });
        }
        let retry_in_ms = self.wait(moment, rest);
        self.phase = ConnectionPhase::Waiting {
            until: moment.ms + retry_in_ms,
        };
        self.notify(ConnectionState::Waiting { retry_in_ms, why });
    }

    /// The pause before the next attempt: as the server asks, or longer after each failure; random, so that
    /// clients differ.
    fn wait(&self, moment: Moment, rest: Option<u64>) -> u64 {
        let spread = |least: u64, most: u64| least + u64::from(moment.random) % (most - least + 1);
        if let Some(rest) = rest {
            let rest = rest.min(LONGEST_REST_MS);
            return spread(rest, rest + rest / 2);
        }
        let doubled = self.failures.saturating_sub(1).min(20);
        let longer = self.settings.wait_ms.saturating_mul(1 << doubled);
        let most = longer.min(self.settings.longest_wait_ms);
        spread(most / 2, most)
    }

    /// Gives up: answers every request and ends every session with `why`.
    pub(super) fn give_up(&mut self, why: String) {
        if self.phase.is_connected() {
            self.out.push_back(MachineCommand::HangUp);
        }
        self.phase = ConnectionPhase::Over { why: why.clone() };
        self.asks.clear();
        for (token, sends) in self.requests.drain() {
            let answer = Err(RequestFailure::Connection(why.clone()));
            self.out
                .push_back(MachineCommand::Answer { token, answer, sends });
        }
        for (session, _) in std::mem::take(&mut self.sessions) {
            self.out.push_back(MachineCommand::Ended(
                session,
                RequestFailure::Connection(why.clone()),
            ));
        }
        self.notify(ConnectionState::GaveUp { why });
    }

    /// The reason why the machine gave up, if it did.
    pub(super) fn give_up_reason(&self) -> Option<String> {
        match &self.phase {
            ConnectionPhase::Over { why } => Some(why.clone()),
            _ => None,
        }
    }

    /// Reports the state of the connection.
    fn notify(&mut self, state: ConnectionState) {
        self.out.push_back(MachineCommand::Notify(state));
    }
}
