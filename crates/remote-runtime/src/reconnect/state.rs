//! The connection itself: its phases, its heartbeat, how long is waited, and when it is over.
//!
//! **Failures.** A connection that was of use, or stood for half a minute, makes the next failure the first
//! one again. Otherwise pauses double, from `wait_ms` to `longest_wait_ms`; each is a random time between
//! half of that and all of it. A server that says how long it wants to rest is believed, up to five minutes.
//!
//! **Silence.** Both sides say something once a heartbeat, which the server chooses (15 s; between 0.1 and
//! 120 s is believed). Two heartbeats of silence are a lost connection: a laptop that slept finds out in half
//! a minute.
//!
//! **The end.** It is over when the server refuses who connects, speaks another version of the protocol, or
//! is another server; and after `attempts` failures. Then everything that is wanted is answered with the
//! reason.
//!
//! The seven phases of [`ConnectionPhase`] are told to front ends as four states: being made (`Connecting`),
//! `Connected`, `Waiting` with a reason and a time, and `GaveUp`. `Idle` is only at the beginning.

use agentx_identity::AuthChallenge;
use agentx_types::wire::{Bye, ClientFrame, Hello, PROTOCOL, Ping, Problem};

use super::{Machine, MachineCommand, Moment, WishFailure};
use crate::ConnectionState;

/// The id of the frame that says who one is.
pub(super) const AUTHENTICATE: &str = "authenticate";
/// The id of frames that only say that one is there.
const PING: &str = "ping";
/// How often a server says something before it said how often.
pub(super) const HEARTBEAT_MS: u64 = 15_000;
/// What a server may say that its heartbeat is.
const HEARTBEATS_MS: std::ops::RangeInclusive<u64> = 100..=120_000;
/// However long a server wants one to wait.
pub(super) const LONGEST_REST_MS: u64 = 300_000;
/// Time after which a connection counts as a good one.
const GOOD_AFTER_MS: u64 = 30_000;
/// The close code of what is not allowed.
const NOT_ALLOWED: u16 = 1008;

/// Where the connection stands.
#[derive(Debug)]
pub(super) enum ConnectionPhase {
    /// Nothing is wanted yet.
    Idle,
    /// It is being made.
    Dialling { until: u64 },
    /// The server's first frame is awaited.
    Greeting { until: u64 },
    /// Its challenge is being signed.
    Signing { until: u64 },
    /// Its answer to the signature is awaited.
    Authenticating { until: u64 },
    /// It works: frames go and facts come.
    Live {
        /// When something came last.
        heard: u64,
        /// When something was sent last.
        said: u64,
        /// When it began to work.
        since: u64,
        /// Whether it was of use: a fact came, or an answer.
        useful: bool,
    },
    /// It is tried again later.
    Waiting { until: u64 },
    /// It is not tried again.
    Over { why: String },
}

impl ConnectionPhase {
    /// Whether frames other than those of signing in can be sent.
    pub(super) fn is_live(&self) -> bool {
        matches!(self, Self::Live { .. })
    }

    /// Whether there is a connection, or one in the making, that can be lost.
    fn is_connected(&self) -> bool {
        !matches!(self, Self::Idle | Self::Waiting { .. } | Self::Over { .. })
    }
}

impl Machine {
    /// When [`Machine::tick`] has to be called, if nothing else happens before.
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
                let sessions = self.sessions.values().filter_map(|wanted| wanted.wire.until());
                Some(sessions.chain(self.requests.until()).fold(silent, u64::min))
            }
        }
    }

    /// Time has passed: acts on what was due. May be called too early or more than once.
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

    /// What is due on a connection that works: silence, a sign of life, wishes, subscriptions.
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

    /// Something came, whatever it was.
    pub fn heard(&mut self, moment: Moment) {
        if let ConnectionPhase::Live { heard, .. } = &mut self.phase {
            *heard = moment.ms;
        }
    }

    /// Notes that the connection brought something, so that it counts as a good one.
    pub(super) fn was_useful(&mut self) {
        if let ConnectionPhase::Live { useful, .. } = &mut self.phase {
            *useful = true;
        }
    }

    /// Has a frame sent, which is a sign of life as well.
    pub(super) fn send(&mut self, moment: Moment, frame: ClientFrame) {
        if let ConnectionPhase::Live { said, .. } = &mut self.phase {
            *said = moment.ms;
        }
        self.out.push_back(MachineCommand::Send(frame));
    }

    /// Begins to connect, if nobody has yet.
    pub(super) fn wake_up(&mut self, moment: Moment) {
        if matches!(self.phase, ConnectionPhase::Idle) {
            self.dial(moment);
        }
    }

    /// Begins to connect, whatever was before.
    pub(super) fn dial(&mut self, moment: Moment) {
        let attempt = self.failures + 1;
        self.phase = ConnectionPhase::Dialling {
            until: moment.ms + self.settings.dial_ms,
        };
        self.notify(ConnectionState::Connecting { attempt });
        self.out.push_back(MachineCommand::Dial);
    }

    /// The server has said what it is: its challenge is to be signed, if it speaks our protocol.
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

    /// The server knows who is there.
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

    /// The server does not take who connects. If it names a time it is only busy.
    pub(super) fn on_not_authenticated(&mut self, moment: Moment, problem: Problem) {
        match problem.retry_after_ms {
            Some(rest) => self.lost(moment, problem.detail, Some(rest)),
            None => self.give_up(problem.detail),
        }
    }

    /// The server ends the connection, and may say why and for how long.
    pub(super) fn on_bye(&mut self, moment: Moment, bye: Bye) {
        let is_final = bye.code == NOT_ALLOWED && bye.retry_after_ms.is_none() && !self.phase.is_live();
        if is_final && self.phase.is_connected() {
            return self.give_up(bye.reason);
        }
        self.lost(moment, bye.reason, bye.retry_after_ms);
    }

    /// The connection is lost. What was sent and not answered is sent again by the next one.
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
        for (token, sends) in self.requests.cut() {
            let answer = Err(WishFailure::Connection(format!(
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

    /// How long is waited: as the server wishes, or longer after each failure; never the same for all
    /// clients.
    fn wait(&self, moment: Moment, rest: Option<u64>) -> u64 {
        let spread = |least: u64, most: u64| least + u64::from(moment.dice) % (most - least + 1);
        if let Some(rest) = rest {
            let rest = rest.min(LONGEST_REST_MS);
            return spread(rest, rest + rest / 2);
        }
        let doubled = self.failures.saturating_sub(1).min(20);
        let longer = self.settings.wait_ms.saturating_mul(1 << doubled);
        let most = longer.min(self.settings.longest_wait_ms);
        spread(most / 2, most)
    }

    /// It is over: everything that is wanted is answered with `why`.
    pub(super) fn give_up(&mut self, why: String) {
        if self.phase.is_connected() {
            self.out.push_back(MachineCommand::HangUp);
        }
        self.phase = ConnectionPhase::Over { why: why.clone() };
        self.asks.clear();
        for (token, sends) in self.requests.drain() {
            let answer = Err(WishFailure::Connection(why.clone()));
            self.out
                .push_back(MachineCommand::Answer { token, answer, sends });
        }
        for (session, _) in std::mem::take(&mut self.sessions) {
            self.out.push_back(MachineCommand::Ended(
                session,
                WishFailure::Connection(why.clone()),
            ));
        }
        self.notify(ConnectionState::GaveUp { why });
    }

    /// Why it is over, if it is.
    pub(super) fn over(&self) -> Option<String> {
        match &self.phase {
            ConnectionPhase::Over { why } => Some(why.clone()),
            _ => None,
        }
    }

    /// Tells how the connection stands now.
    fn notify(&mut self, state: ConnectionState) {
        self.out.push_back(MachineCommand::Notify(state));
    }
}
