//! What the server says, frame by frame: subscriptions that begin and end, facts in their order, answers.
//!
//! # In order and once
//!
//! For each session the machine knows up to which fact it has delivered. A fact that is older is passed over,
//! the next one is delivered, and one that leaves a gap has the subscription begun again behind the last one
//! that was delivered. After three such gaps in a row the connection is taken for broken.
//!
//! The last fact that ever came is asked for again with each subscription. If the same one comes, the log is
//! the same; if another one comes in its place, or the log ends before it, the log went back.

use std::sync::Arc;

use agentx_runtime::RuntimeError;
use agentx_types::wire::{
    Accepted, ClientFrame, Problem, Refused, ServerNotice, Subscribe, Subscribed, Unsubscribe, WireView,
};
use agentx_types::{Envelope, EnvironmentEvent, SessionId};
use serde_json::Value;

use super::requests::OpenWishes;
use super::session::Wire;
use super::state::{AUTHENTICATE, LONGEST_REST_MS};
use super::{Machine, MachineCommand, Moment, SubscriptionStart, WishFailure};
use crate::incoming::IncomingFrame;

/// What the ids of subscriptions begin with.
const SUBSCRIBE: &str = "s";
/// The id of frames that end a subscription; nobody waits for their answer, and what still comes is passed
/// over.
const UNSUBSCRIBE: &str = "unsubscribe";
/// The code of a problem: there were too many frames.
const RATE_LIMITED: &str = "rate_limited";
/// How often in a row events may be missing before the connection is taken for broken.
const GAPS: u32 = 3;

impl Machine {
    /// A frame came, or something that is none.
    pub fn received(&mut self, moment: Moment, incoming: Result<IncomingFrame, String>) {
        self.heard(moment);
        match incoming {
            Ok(IncomingFrame::Fact(fact, bytes)) => self.on_fact(moment, fact, bytes),
            Ok(IncomingFrame::Notice(notice)) => self.on_notice(moment, *notice),
            Ok(IncomingFrame::Strange {
                session_id,
                seq,
                what,
            }) => self.on_strange(moment, &session_id, seq, &what),
            Ok(IncomingFrame::Other) => {}
            Err(what) => self.lost(moment, what, None),
        }
    }

    /// What the server says beside facts.
    fn on_notice(&mut self, moment: Moment, notice: ServerNotice) {
        match notice {
            ServerNotice::Hello(hello) => self.on_hello(moment, hello),
            ServerNotice::Accepted(accepted) => self.on_accepted(moment, accepted),
            ServerNotice::Refused(refused) => self.on_refused(moment, refused),
            ServerNotice::Subscribed(subscribed) => self.on_subscribed(moment, subscribed),
            ServerNotice::Unsubscribed(ended) => {
                self.on_unsubscribed(moment, &ended.session_id, ended.problem)
            }
            ServerNotice::Presence(_) | ServerNotice::Wheel(_) => {
                self.out.push_back(MachineCommand::People(Box::new(notice)));
            }
            ServerNotice::ApprovalWaiting(call) => {
                self.out.push_back(MachineCommand::Waiting(Box::new(call)))
            }
            ServerNotice::Bye(bye) => self.on_bye(moment, bye),
            ServerNotice::CaughtUp(_) | ServerNotice::Heartbeat(_) | ServerNotice::Unknown(_) => {}
        }
    }

    /// Something was done: who one is was accepted, or a wish.
    fn on_accepted(&mut self, moment: Moment, accepted: Accepted) {
        if accepted.id == AUTHENTICATE {
            return self.on_authenticated(moment);
        }
        let Some(token) = OpenWishes::token_of(&accepted.id) else {
            return;
        };
        self.answered(token, Ok(accepted));
    }

    /// Something was not done. Too many frames at once are sent again later; everything else is an answer.
    fn on_refused(&mut self, moment: Moment, refused: Refused) {
        let Some(id) = refused.id else { return };
        if id == AUTHENTICATE {
            return self.on_not_authenticated(moment, refused.problem);
        }
        if let Some(token) = OpenWishes::token_of(&id) {
            return match refused.problem.retry_after_ms {
                // Too many at once: it was not done, and may be, later.
                Some(rest) if refused.problem.code == RATE_LIMITED => {
                    self.requests
                        .put_off(token, moment.ms + rest.clamp(1, LONGEST_REST_MS));
                }
                _ => self.answered(token, Err(WishFailure::Refused(refused.problem))),
            };
        }
        let number = id
            .strip_prefix(SUBSCRIBE)
            .and_then(|number| number.parse::<u64>().ok());
        let Some(session) = number.and_then(|number| self.asks.remove(&number)) else {
            return;
        };
        // One that was asked for earlier; its successor is on its way.
        if !self.is_asked(&session) {
            self.on_unsubscribed(moment, &session, refused.problem);
        }
    }

    /// Whether a subscription of this session is to be answered yet.
    fn is_asked(&self, session: &SessionId) -> bool {
        self.asks.values().any(|asked| asked == session)
    }

    /// Answers a wish, unless nobody waits for it any more.
    fn answered(&mut self, token: u64, answer: Result<Accepted, WishFailure>) {
        if let Some(sends) = self.requests.remove(token) {
            self.was_useful();
            self.out
                .push_back(MachineCommand::Answer { token, answer, sends });
        }
    }

    /// A subscription began. Only the last one that was asked for counts, and only from where it was asked
    /// for.
    fn on_subscribed(&mut self, moment: Moment, subscribed: Subscribed) {
        let Subscribed {
            session_id,
            after_seq,
            head_seq,
            role,
            ..
        } = subscribed;
        let first = self.asks.iter().find(|(_, asked)| **asked == session_id);
        if let Some(number) = first.map(|(number, _)| *number) {
            self.asks.remove(&number);
        }
        let is_last = !self.is_asked(&session_id);
        let Some(wanted) = self.sessions.get_mut(&session_id) else {
            return;
        };
        if !is_last || !matches!(wanted.wire, Wire::Asked { .. }) || after_seq != wanted.asks_after() {
            return;
        }
        let came = wanted.applied.max(wanted.newest_seq());
        if head_seq < came {
            return self.went_back(moment, &session_id, came);
        }
        wanted.wire = Wire::On;
        wanted.overlaps = wanted.ends_with_newest();
        let after_seq = wanted.applied;
        self.out.push_back(MachineCommand::Began(SubscriptionStart {
            session_id,
            after_seq,
            head_seq,
            role,
        }));
    }

    /// A subscription was refused or has ended.
    fn on_unsubscribed(&mut self, moment: Moment, session: &SessionId, problem: Problem) {
        let Some(wanted) = self.sessions.get_mut(session) else {
            return;
        };
        if let Some(rest) = problem.retry_after_ms {
            wanted.wire = Wire::Later {
                at: moment.ms + rest.min(LONGEST_REST_MS),
            };
            return;
        }
        self.sessions.remove(session);
        self.out.push_back(MachineCommand::Ended(
            session.clone(),
            WishFailure::Refused(problem),
        ));
    }

    /// The server's log lost what came before, or has other events there: nothing that comes now follows it.
    fn went_back(&mut self, moment: Moment, session: &SessionId, seq: u64) {
        self.unsubscribe(moment, session);
        let went_back = RuntimeError::WentBack {
            session: session.clone(),
            seq,
        };
        self.on_unsubscribed(moment, session, Problem::from(&went_back));
    }

    /// A fact came: passed over, delivered, or a gap.
    fn on_fact(&mut self, moment: Moment, fact: Arc<Envelope<EnvironmentEvent>>, bytes: usize) {
        let Some(wanted) = self.sessions.get_mut(&fact.session_id) else {
            return;
        };
        if wanted.wire != Wire::On {
            return;
        }
        if let Some(newest) = wanted.newest.as_ref().filter(|newest| newest.seq == fact.seq) {
            if *newest != fact {
                return self.went_back(moment, &fact.session_id, fact.seq);
            }
            wanted.overlaps = false;
        }
        if fact.seq <= wanted.applied {
            return self.was_useful();
        }
        if fact.seq == wanted.applied + 1 && !wanted.overlaps {
            wanted.applied = fact.seq;
            wanted.gaps = 0;
            if fact.seq > wanted.newest_seq() {
                wanted.newest = Some(fact.clone());
            }
            self.was_useful();
            return self.out.push_back(MachineCommand::Deliver(fact, bytes));
        }
        wanted.gaps += 1;
        if wanted.gaps > GAPS {
            wanted.gaps = 0;
            let what = format!("events of {} are missing before {}", fact.session_id, fact.seq);
            return self.lost(moment, what, None);
        }
        self.resubscribe(moment, &fact.session_id);
    }

    /// An event that this version cannot read: the session cannot be followed past it, others can.
    fn on_strange(&mut self, moment: Moment, session: &SessionId, seq: u64, what: &str) {
        let Some(wanted) = self
            .sessions
            .get(session)
            .filter(|wanted| wanted.wire == Wire::On)
        else {
            return;
        };
        if seq == wanted.newest_seq() {
            // What was read before was another one.
            return self.went_back(moment, session, seq);
        }
        if seq != wanted.applied + 1 || wanted.overlaps {
            return;
        }
        self.unsubscribe(moment, session);
        let problem = Problem {
            code: "not_understood".into(),
            detail: format!("event {seq} of {session} is of a kind that this version cannot read: {what}"),
            retry_after_ms: None,
            data: Value::Null,
        };
        self.on_unsubscribed(moment, session, problem);
    }

    /// Asks for all sessions that are wanted, on a connection that is new.
    pub(super) fn subscribe_all(&mut self, moment: Moment) {
        let off = self
            .sessions
            .iter()
            .filter(|(_, wanted)| wanted.wire == Wire::Off);
        let off: Vec<SessionId> = off.map(|(session, _)| session.clone()).collect();
        for session in off {
            self.resubscribe(moment, &session);
        }
    }

    /// Asks again where the server wanted a rest, and gives up on a connection that does not begin to tell.
    pub(super) fn tick_sessions(&mut self, moment: Moment) {
        let is_due = |wire: &Wire| wire.until().is_some_and(|until| moment.ms >= until);
        let due = self.sessions.iter().filter(|(_, wanted)| is_due(&wanted.wire));
        let due: Vec<SessionId> = due.map(|(session, _)| session.clone()).collect();
        for session in due {
            let wire = self.sessions.get(&session).map(|wanted| &wanted.wire);
            if matches!(wire, Some(Wire::Asked { .. })) {
                let what = format!("the server did not begin to tell of {session}");
                return self.lost(moment, what, None);
            }
            self.resubscribe(moment, &session);
        }
    }

    /// Asks for the events of a session from the last one on that was delivered, whatever was asked for
    /// before.
    pub(super) fn resubscribe(&mut self, moment: Moment, session: &SessionId) {
        if !self.phase.is_live() {
            return;
        }
        self.unsubscribe(moment, session);
        self.asked += 1;
        let number = self.asked;
        let until = moment.ms + self.settings.step_ms;
        let Some(wanted) = self.sessions.get_mut(session) else {
            return;
        };
        wanted.wire = Wire::Asked { until };
        self.asks.insert(number, session.clone());
        let subscribe = Subscribe {
            // A mirror has everything.
            agents: Vec::new(),
            media: Vec::new(),
            session_id: session.clone(),
            after_seq: wanted.asks_after(),
            view: WireView::Environment,
        };
        let id = format!("{SUBSCRIBE}{number}");
        self.send(
            moment,
            ClientFrame {
                id,
                request: subscribe.into(),
            },
        );
    }

    /// Ends a subscription, where the server has one.
    pub(super) fn unsubscribe(&mut self, moment: Moment, session: &SessionId) {
        let is_held = self
            .sessions
            .get(session)
            .is_some_and(|wanted| wanted.wire.is_held());
        if !is_held || !self.phase.is_live() {
            return;
        }
        let request = Unsubscribe {
            session_id: session.clone(),
        }
        .into();
        self.send(
            moment,
            ClientFrame {
                id: UNSUBSCRIBE.into(),
                request,
            },
        );
    }
}
