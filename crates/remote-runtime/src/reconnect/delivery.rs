//! Handles the frames of the server: the begin and end of subscriptions, facts in their order, answers.
//!
//! # Order
//!
//! For each session the machine knows the last delivered fact. An older fact is ignored, the next one is
//! delivered, and one that leaves a gap makes the machine subscribe again after the last delivered one. After
//! more than three such gaps in a row the connection counts as broken.
//!
//! Each subscription requests the last delivered fact again. If the same one comes, the log is the same; if
//! another one comes in its place, or the log ends before it, the log went back.

use std::sync::Arc;

use agentx_runtime::RuntimeError;
use agentx_types::wire::{
    Accepted, ClientFrame, Problem, Refused, ServerNotice, Subscribe, Subscribed, Unsubscribe, WireView,
};
use agentx_types::{Envelope, EnvironmentEvent, SessionId};
use serde_json::Value;

use super::requests::PendingRequests;
use super::session::SubscriptionState;
use super::state::{AUTHENTICATE, LONGEST_REST_MS};
use super::{MachineCommand, Moment, ReconnectMachine, RequestFailure, SubscriptionStart};
use crate::incoming::IncomingFrame;

/// The prefix of the ids of subscribe frames.
const SUBSCRIBE: &str = "s";
/// The id of frames that end a subscription; nobody waits for their answer, and later events are ignored.
const UNSUBSCRIBE: &str = "unsubscribe";
/// The code of a problem: there were too many frames.
const RATE_LIMITED: &str = "rate_limited";
/// The maximum number of gaps in a row before the machine drops the connection.
const GAPS: u32 = 3;

impl ReconnectMachine {
    /// A frame arrived, or data that is not a frame.
    pub fn received(&mut self, moment: Moment, incoming: Result<IncomingFrame, String>) {
        self.note_frame(moment);
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

    /// Handles a notice of the server.
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

    /// The server accepted the authentication, or carried out a request.
    fn on_accepted(&mut self, moment: Moment, accepted: Accepted) {
        if accepted.id == AUTHENTICATE {
            return self.on_authenticated(moment);
        }
        let Some(token) = PendingRequests::token_of(&accepted.id) else {
            return;
        };
        self.answered(token, Ok(accepted));
    }

    /// Handles a refusal. The machine repeats a rate-limited request later; any other refusal is an answer.
    fn on_refused(&mut self, moment: Moment, refused: Refused) {
        let Some(id) = refused.id else { return };
        if id == AUTHENTICATE {
            return self.on_not_authenticated(moment, refused.problem);
        }
        if let Some(token) = PendingRequests::token_of(&id) {
            return match refused.problem.retry_after_ms {
                // Rate limited: the server did nothing, so the request can be repeated.
                Some(rest) if refused.problem.code == RATE_LIMITED => {
                    self.requests
                        .put_off(token, moment.ms + rest.clamp(1, LONGEST_REST_MS));
                }
                _ => self.answered(token, Err(RequestFailure::Refused(refused.problem))),
            };
        }
        let number = id
            .strip_prefix(SUBSCRIBE)
            .and_then(|number| number.parse::<u64>().ok());
        let Some(session) = number.and_then(|number| self.asks.remove(&number)) else {
            return;
        };
        // A later subscribe frame of the same session is on its way.
        if !self.is_asked(&session) {
            self.on_unsubscribed(moment, &session, refused.problem);
        }
    }

    /// Returns whether a subscribe frame of this session has no answer yet.
    fn is_asked(&self, session: &SessionId) -> bool {
        self.asks.values().any(|asked| asked == session)
    }

    /// Answers a request, unless the caller has given up.
    fn answered(&mut self, token: u64, answer: Result<Accepted, RequestFailure>) {
        if let Some(sends) = self.requests.remove(token) {
            self.mark_useful();
            self.out
                .push_back(MachineCommand::Answer { token, answer, sends });
        }
    }

    /// Handles the start of a subscription. Only the answer to the last subscribe frame counts, and only with
    /// its `after_seq`.
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
        if !is_last
            || !matches!(wanted.subscription, SubscriptionState::Asked { .. })
            || after_seq != wanted.asks_after()
        {
            return;
        }
        let came = wanted.applied.max(wanted.newest_seq());
        if head_seq < came {
            return self.went_back(moment, &session_id, came);
        }
        wanted.subscription = SubscriptionState::On;
        wanted.awaits_overlap = wanted.ends_with_newest();
        let after_seq = wanted.applied;
        self.out.push_back(MachineCommand::Began(SubscriptionStart {
            session_id,
            after_seq,
            head_seq,
            role,
        }));
    }

    /// Handles a subscription that was refused or has ended.
    fn on_unsubscribed(&mut self, moment: Moment, session: &SessionId, problem: Problem) {
        let Some(wanted) = self.sessions.get_mut(session) else {
            return;
        };
        if let Some(rest) = problem.retry_after_ms {
            wanted.subscription = SubscriptionState::Later {
                at: moment.ms + rest.min(LONGEST_REST_MS),
            };
            return;
        }
        self.sessions.remove(session);
        self.out.push_back(MachineCommand::Ended(
            session.clone(),
            RequestFailure::Refused(problem),
        ));
    }

    /// Ends a session whose log at the server lost events or has others in their place.
    fn went_back(&mut self, moment: Moment, session: &SessionId, seq: u64) {
        self.unsubscribe(moment, session);
        let went_back = RuntimeError::WentBack {
            session: session.clone(),
            seq,
        };
        self.on_unsubscribed(moment, session, Problem::from(&went_back));
    }

    /// Handles a fact: skips, delivers, or finds a gap.
    fn on_fact(&mut self, moment: Moment, fact: Arc<Envelope<EnvironmentEvent>>, bytes: usize) {
        let Some(wanted) = self.sessions.get_mut(&fact.session_id) else {
            return;
        };
        if wanted.subscription != SubscriptionState::On {
            return;
        }
        if let Some(newest) = wanted.newest.as_ref().filter(|newest| newest.seq == fact.seq) {
            if *newest != fact {
                return self.went_back(moment, &fact.session_id, fact.seq);
            }
            wanted.awaits_overlap = false;
        }
        if fact.seq <= wanted.applied {
            return self.mark_useful();
        }
        if fact.seq == wanted.applied + 1 && !wanted.awaits_overlap {
            wanted.applied = fact.seq;
            wanted.gaps = 0;
            if fact.seq > wanted.newest_seq() {
                wanted.newest = Some(fact.clone());
            }
            self.mark_useful();
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

    /// Handles an event that this version cannot read: the session ends, others continue.
    fn on_strange(&mut self, moment: Moment, session: &SessionId, seq: u64, what: &str) {
        let Some(wanted) = self
            .sessions
            .get(session)
            .filter(|wanted| wanted.subscription == SubscriptionState::On)
        else {
            return;
        };
        if seq == wanted.newest_seq() {
            // The log had another event in this place before.
            return self.went_back(moment, session, seq);
        }
        if seq != wanted.applied + 1 || wanted.awaits_overlap {
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

    /// Subscribes to all followed sessions on a new connection.
    pub(super) fn subscribe_all(&mut self, moment: Moment) {
        let off = self
            .sessions
            .iter()
            .filter(|(_, wanted)| wanted.subscription == SubscriptionState::Off);
        let off: Vec<SessionId> = off.map(|(session, _)| session.clone()).collect();
        for session in off {
            self.resubscribe(moment, &session);
        }
    }

    /// Repeats postponed subscriptions, and drops a connection on which a subscription does not begin.
    pub(super) fn tick_sessions(&mut self, moment: Moment) {
        let is_due = |subscription: &SubscriptionState| {
            subscription.deadline().is_some_and(|until| moment.ms >= until)
        };
        let due = self
            .sessions
            .iter()
            .filter(|(_, wanted)| is_due(&wanted.subscription));
        let due: Vec<SessionId> = due.map(|(session, _)| session.clone()).collect();
        for session in due {
            let subscription = self.sessions.get(&session).map(|wanted| &wanted.subscription);
            if matches!(subscription, Some(SubscriptionState::Asked { .. })) {
                let what = format!("the server did not begin to tell of {session}");
                return self.lost(moment, what, None);
            }
            self.resubscribe(moment, &session);
        }
    }

    /// Subscribes to a session from the last delivered event, in place of any earlier subscription.
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
        wanted.subscription = SubscriptionState::Asked { until };
        self.asks.insert(number, session.clone());
        let subscribe = Subscribe {
            // A mirror needs everything.
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

    /// Ends a subscription if the server has one.
    pub(super) fn unsubscribe(&mut self, moment: Moment, session: &SessionId) {
        let is_held = self
            .sessions
            .get(session)
            .is_some_and(|wanted| wanted.subscription.is_held());
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
