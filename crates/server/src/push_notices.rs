//! Pushes about calls and questions that wait. A page gets one if its person may answer, and none of their
//! programs is connected to the session at that moment: at once, or when they leave.
//!
//! A push only says that something waits. The question itself is in the session, so a push that fails loses
//! nothing; it is tried again a few times while the question waits and the person is away.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use agentx_bus::{Filter, Queue};
use agentx_runtime::{PendingApproval, SessionState, SystemEvent};
use agentx_types::{ApprovalDecision, SessionId, SessionRole, ToolCallId};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use crate::actions::call_decisions::CallDecider;
use crate::auth::Identity;
use crate::auth::caller::Caller;
use crate::push::{PushMessage, PushOutcome, PushSubscription};
use crate::rooms::Room;
use crate::state::ServerState;

/// The number of questions that may wait to be noticed; beyond that, the sessions are listed again.
const QUEUED: usize = 256;
/// The interval between looks at the sessions in which something waits.
const LOOK: Duration = Duration::from_secs(1);
/// The time limit of a look at one session.
const LOOK_LIMIT: Duration = Duration::from_secs(2);
/// The maximum number of sessions that are looked at; further ones come when some are done.
const SESSIONS: usize = 1_024;
/// The looks at which a session may be closed, or a page signed out, before it is forgotten: the session may
/// be about to be opened, and an editor may be replacing the list of people.
const ABSENT_LOOKS: u32 = 60;
/// The maximum number of pushes under way; further ones come with the next look.
const AT_ONCE: usize = 32;
/// A page gets at most one push about a session in this time.
const PAUSE: Duration = Duration::from_secs(10);
/// The number of times that a push is tried, and the pause before the second time, which doubles each time.
const TRIES: u32 = 6;
const RETRY: Duration = Duration::from_secs(1);

/// A page of a person who is still trusted.
struct PushPage {
    subscription: PushSubscription,
    owner: Identity,
}

/// A push that was sent, and its outcome.
struct SentPush {
    session: SessionId,
    login: String,
    call: ToolCallId,
    host: String,
    outcome: PushOutcome,
}

/// The state of one page towards a session in which something waits.
#[derive(Debug)]
struct PageState {
    /// The call of the last push; `None` if its person may not answer any.
    call: Option<ToolCallId>,
    /// Whether the push was sent, or given up.
    is_done: bool,
    /// The time before which nothing is sent.
    next_at: Instant,
    tries: u32,
}

/// A session in which something waits.
#[derive(Debug, Default)]
struct WaitingSession {
    /// The state of each page, by its login.
    pages: BTreeMap<String, PageState>,
    absent_looks: u32,
}

impl WaitingSession {
    /// Returns whether nothing is to be sent to a page now; `waiting` are the calls that wait.
    fn is_quiet(&self, login: &str, waiting: &[PendingApproval], now: Instant) -> bool {
        self.pages.get(login).is_some_and(|page| {
            let still_waits = || {
                waiting
                    .iter()
                    .any(|one| Some(&one.tool_call_id) == page.call.as_ref())
            };
            now < page.next_at || (page.is_done && still_waits())
        })
    }

    /// Notes that a push is sent to a page now.
    fn note_push(&mut self, login: &str, call: &ToolCallId, now: Instant) {
        let before = self
            .pages
            .get(login)
            .filter(|page| page.call.as_ref() == Some(call));
        let page = PageState {
            call: Some(call.clone()),
            is_done: true,
            next_at: now + PAUSE,
            tries: before.map_or(0, |page| page.tries) + 1,
        };
        self.pages.insert(login.to_owned(), page);
    }

    /// Notes that the person of a page may not answer any call that waits now.
    fn note_no_answer(&mut self, login: &str, now: Instant) {
        let page = PageState {
            call: None,
            is_done: false,
            next_at: now + PAUSE,
            tries: 0,
        };
        self.pages.insert(login.to_owned(), page);
    }

    /// Notes that a push about a call failed. It is tried again unless it is the last try, or the page has
    /// got another one.
    fn note_failure(&mut self, login: &str, call: &ToolCallId, now: Instant) {
        let page = self
            .pages
            .get_mut(login)
            .filter(|page| page.call.as_ref() == Some(call));
        if let Some(page) = page.filter(|page| (1..TRIES).contains(&page.tries)) {
            page.is_done = false;
            page.next_at = now + RETRY * (1 << (page.tries - 1));
        }
    }
}

/// The sessions in which something waits.
#[derive(Default)]
struct WaitingSessions {
    sessions: BTreeMap<SessionId, WaitingSession>,
    /// Whether some may be missing, so that they are listed again.
    is_incomplete: bool,
    /// The looks at which a page was signed out, by its login.
    signed_out: BTreeMap<String, u32>,
}

impl WaitingSessions {
    fn add(&mut self, session: SessionId) {
        if self.sessions.len() < SESSIONS || self.sessions.contains_key(&session) {
            self.sessions.entry(session).or_default();
        } else {
            self.is_incomplete = true;
        }
    }

    /// Lists the sessions again if some may be missing and there is room for them.
    async fn complete(&mut self, state: &ServerState) {
        if !self.is_incomplete || self.sessions.len() >= SESSIONS {
            return;
        }
        self.is_incomplete = false;
        match timeout(LOOK_LIMIT, state.runtime().waiting()).await {
            Ok(Ok(found)) => found.into_iter().for_each(|info| self.add(info.session_id)),
            Ok(Err(error)) => tracing::warn!(%error, "cannot find waiting calls"),
            Err(_) => self.is_incomplete = true,
        }
    }

    /// Notes the pages that are signed out now. Returns those that have been for so long that their
    /// subscriptions are removed.
    fn note_signed_out(&mut self, now: Vec<String>) -> Vec<String> {
        let before = std::mem::take(&mut self.signed_out);
        let looks = |login: &String| before.get(login).copied().unwrap_or(0) + 1;
        for login in now {
            let looks = looks(&login);
            self.signed_out.insert(login, looks);
        }
        let gone = self
            .signed_out
            .iter()
            .filter(|(_, looks)| **looks >= ABSENT_LOOKS);
        gone.map(|(login, _)| login.clone()).collect()
    }
}

/// Pushes for as long as the server runs.
pub(crate) async fn push_waiting_calls(state: Arc<ServerState>) {
    let filter = Filter::all().event_type("approval_requested");
    let Ok(mut questions) = state
        .runtime()
        .bus()
        .subscribe("push", filter, Queue::lag(QUEUED))
    else {
        return;
    };
    // Something may have waited before the server began.
    let mut waiting = WaitingSessions {
        is_incomplete: true,
        ..WaitingSessions::default()
    };
    let mut sending = JoinSet::new();
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            delivery = questions.recv() => {
                let Ok(delivery) = delivery else { return };
                match delivery.into_event().as_deref() {
                    Some(SystemEvent::Runtime(event)) => waiting.add(event.session_id.clone()),
                    Some(_) => {}
                    // Some were dropped.
                    None => waiting.is_incomplete = true,
                }
            }
            _ = looks.tick() => look(&state, &mut waiting, &mut sending).await,
            Some(sent) = sending.join_next() => match sent {
                Ok(sent) => finish(&state, &mut waiting, sent).await,
                Err(lost) => tracing::warn!(%lost, "a push broke"),
            },
        }
    }
}

/// Looks at all sessions in which something waits, and begins the pushes that are due.
async fn look(state: &Arc<ServerState>, waiting: &mut WaitingSessions, sending: &mut JoinSet<SentPush>) {
    let pages = pages(state, waiting).await;
    if pages.is_empty() {
        // They are listed when there is a page.
        waiting.sessions.clear();
        waiting.is_incomplete = true;
        return;
    }
    waiting.complete(state).await;
    let sessions: Vec<SessionId> = waiting.sessions.keys().cloned().collect();
    for session in sessions {
        let Some(entry) = waiting.sessions.get_mut(&session) else {
            continue;
        };
        let looked = look_at(state, &session, entry, &pages, sending);
        // A session that does not answer in time is looked at again.
        let stays = timeout(LOOK_LIMIT, looked).await.unwrap_or(true);
        if !stays {
            waiting.sessions.remove(&session);
        }
    }
}

/// Returns the pages that get pushes, and removes the subscriptions of those that have been signed out.
async fn pages(state: &Arc<ServerState>, waiting: &mut WaitingSessions) -> Vec<PushPage> {
    let subscriptions = state.push.subscriptions();
    if subscriptions.is_empty() {
        return Vec::new();
    }
    let (mut pages, mut ended) = (Vec::new(), Vec::new());
    for subscription in subscriptions.all() {
        match state.auth().page_owner(&subscription.login, state.now_ms()) {
            Some(owner) => pages.push(PushPage { subscription, owner }),
            None => ended.push(subscription.login),
        }
    }
    let gone = waiting.note_signed_out(ended);
    if !gone.is_empty() {
        remove(state, gone).await;
    }
    pages
}

/// Looks at one session. Returns whether something still waits there.
async fn look_at(
    state: &Arc<ServerState>,
    session: &SessionId,
    entry: &mut WaitingSession,
    pages: &[PushPage],
    sending: &mut JoinSet<SentPush>,
) -> bool {
    let room = state.rooms().find(session).await;
    let Some((room, open)) = room.as_ref().and_then(|room| Some((room, room.session()?))) else {
        entry.absent_looks += 1;
        return entry.absent_looks < ABSENT_LOOKS;
    };
    entry.absent_looks = 0;
    let now = match open.state().await {
        Ok(now) if !now.pending_approvals.is_empty() => now,
        Ok(_) | Err(_) => return false,
    };
    for page in pages {
        let (login, at) = (&page.subscription.login, Instant::now());
        let is_full = sending.len() >= AT_ONCE;
        let is_here = room.people.has_person(&page.owner.person);
        if is_full || is_here || entry.is_quiet(login, &now.pending_approvals, at) {
            continue;
        }
        let caller = page.owner.at("push", "");
        let Some(call) = call_for(state, &caller, room, &now).await else {
            entry.note_no_answer(login, at);
            continue;
        };
        entry.note_push(login, &call, at);
        sending.spawn(send(
            state.clone(),
            page.subscription.clone(),
            session.clone(),
            call,
        ));
    }
    true
}

/// Returns the first call that waits for an answer of this person: a call that they may allow, or a question
/// that they may answer.
async fn call_for(
    state: &ServerState,
    caller: &Caller,
    room: &Room,
    now: &SessionState,
) -> Option<ToolCallId> {
    let access = state.access(caller, room.id()).await.ok()?;
    let decider = CallDecider::new(state, caller, &access, &now.sharing);
    let shared = now.sharing.roles.get(&caller.person);
    let is_theirs = access.owner == caller.person || shared.is_some_and(|role| *role >= SessionRole::Approve);
    let mut waiting = now.pending_approvals.iter();
    // Whoever decides about calls of members gets only those that the settings of the server ask about.
    let call = waiting.find(|call| {
        let may_allow = decider.check(ApprovalDecision::Once, call.by_server).is_ok();
        may_allow && (is_theirs || call.by_server)
    });
    call.map(|call| call.tool_call_id.clone())
}

/// Sends one push.
async fn send(
    state: Arc<ServerState>,
    subscription: PushSubscription,
    session: SessionId,
    call: ToolCallId,
) -> SentPush {
    let message = PushMessage {
        session_id: session.clone(),
        tool_call_id: Some(call.clone()),
    };
    let login = subscription.login.clone();
    let host = agentx_types::host_name(&subscription.endpoint).unwrap_or_default();
    let delivering = state.push.clone().deliver(subscription, message, state.now());
    SentPush {
        outcome: delivering.await,
        session,
        login,
        call,
        host,
    }
}

/// Notes the outcome of a push.
async fn finish(state: &Arc<ServerState>, waiting: &mut WaitingSessions, sent: SentPush) {
    let SentPush {
        session,
        login,
        call,
        host,
        outcome,
    } = sent;
    match outcome {
        PushOutcome::Taken => tracing::debug!(%session, host, "pushed"),
        PushOutcome::Gone => {
            tracing::debug!(host, "the subscription of a page has ended");
            remove(state, vec![login]).await;
        }
        PushOutcome::Failed(why) => {
            tracing::debug!(%session, host, why, "cannot push for now");
            if let Some(entry) = waiting.sessions.get_mut(&session) {
                entry.note_failure(&login, &call, Instant::now());
            }
        }
        PushOutcome::Refused(why) => tracing::warn!(%session, host, why, "cannot push to a page"),
    }
}

/// Removes the subscriptions of these logins.
async fn remove(state: &Arc<ServerState>, logins: Vec<String>) {
    let push = state.push.clone();
    let removed = tokio::task::spawn_blocking(move || push.subscriptions().remove(&logins)).await;
    if let Ok(Err(error)) = removed {
        tracing::warn!(%error, "cannot remove the subscriptions of pages that have ended");
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use serde_json::json;

    use super::*;

    const PAGE: &str = "tok_1";

    fn waiting(calls: &[&str]) -> Vec<PendingApproval> {
        let asked = |call: &&str| {
            let suggested = json!({"effect": "allow", "tool": "bash"});
            let asked = json!({
                "tool_call_id": call, "name": "bash", "input": {}, "reason": "made up", "suggested": suggested,
            });
            serde_json::from_value(asked).unwrap()
        };
        calls.iter().map(asked).collect()
    }

    #[test]
    fn a_page_gets_one_push_about_a_call_and_then_one_about_the_next() {
        let (mut entry, begin) = (WaitingSession::default(), Instant::now());
        let (both, second) = (waiting(&["call_1", "call_2"]), waiting(&["call_2"]));
        assert!(!entry.is_quiet(PAGE, &both, begin));
        entry.note_push(PAGE, &ToolCallId::new("call_1"), begin);
        let later = begin + 100 * PAUSE;
        assert!(entry.is_quiet(PAGE, &both, later));
        assert!(
            entry.is_quiet(PAGE, &second, begin),
            "not before the pause is over"
        );
        assert!(!entry.is_quiet(PAGE, &second, later));
        assert!(!entry.is_quiet("tok_2", &both, begin), "each page for itself");
    }

    #[test]
    fn a_failed_push_is_tried_again_a_few_times() {
        let (mut entry, mut now) = (WaitingSession::default(), Instant::now());
        let (calls, call) = (waiting(&["call_1"]), ToolCallId::new("call_1"));
        for tries in 0..TRIES {
            assert!(!entry.is_quiet(PAGE, &calls, now), "{tries}");
            entry.note_push(PAGE, &call, now);
            entry.note_failure(PAGE, &call, now);
            assert!(entry.is_quiet(PAGE, &calls, now));
            now += RETRY * (1 << tries);
        }
        assert!(entry.is_quiet(PAGE, &calls, now + 100 * PAUSE), "it is given up");
        let next = waiting(&["call_2"]);
        assert!(!entry.is_quiet(PAGE, &next, now + 100 * PAUSE));
    }

    #[test]
    fn a_person_who_may_not_answer_is_looked_at_again_later() {
        let (mut entry, begin) = (WaitingSession::default(), Instant::now());
        let calls = waiting(&["call_1"]);
        entry.note_no_answer(PAGE, begin);
        assert!(entry.is_quiet(PAGE, &calls, begin));
        assert!(!entry.is_quiet(PAGE, &calls, begin + PAUSE));
    }

    #[test]
    fn a_page_that_is_signed_out_for_a_moment_keeps_its_subscription() {
        let mut table = WaitingSessions::default();
        let page = || vec![PAGE.to_owned()];
        for _ in 1..ABSENT_LOOKS {
            assert!(table.note_signed_out(page()).is_empty());
        }
        assert!(table.note_signed_out(Vec::new()).is_empty(), "it is signed in");
        for _ in 1..ABSENT_LOOKS {
            assert!(table.note_signed_out(page()).is_empty());
        }
        assert_eq!(table.note_signed_out(page()), page());
    }

    #[test]
    fn the_table_of_sessions_is_bounded_and_knows_when_it_is_incomplete() {
        let mut table = WaitingSessions::default();
        for number in 0..SESSIONS {
            table.add(SessionId::new(format!("ses_{number}")));
        }
        table.add(SessionId::new("ses_0"));
        assert!(!table.is_incomplete);
        table.add(SessionId::new("ses_other"));
        assert!(table.is_incomplete && table.sessions.len() == SESSIONS);
    }
}
