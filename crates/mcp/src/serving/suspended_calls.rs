//! The calls of a server that wait for an answer of their client: those that a result `input_required`
//! suspended, and the questions that were sent to clients of earlier versions.
//!
//! A `requestState` is a random name of an entry here. So a client can change nothing by changing it, and it
//! says nothing. An entry counts for one person and one call, and once. When the time for its answer is over,
//! it is removed, and its call is cancelled.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use serde_json::{Map, Value};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::live_call::LiveCall;
use super::questions::{ClientAnswer, ClientResponse, OpenQuestion};
use crate::oauth::random;

/// The suspended calls of one person; a further one is not suspended, and nobody is asked about it.
const SUSPENDED: usize = 16;
/// The questions to the clients of one person that are open.
const OPEN: usize = 64;

/// A call that waits for the request with its answer.
pub(super) struct SuspendedCall {
    pub(super) person: String,
    /// [`fingerprint`] of the call.
    pub(super) call: [u8; 32],
    pub(super) asked: OpenQuestion,
    pub(super) live: LiveCall,
}

/// A question that was sent to a client.
struct SentQuestion {
    person: String,
    answer: oneshot::Sender<ClientAnswer>,
}

#[derive(Default)]
struct Waiting {
    suspended: HashMap<String, SuspendedCall>,
    sent: HashMap<String, SentQuestion>,
    /// Whether the task runs that removes those whose time is over: one for the whole table.
    has_timer: bool,
}

/// The calls of a server that wait for an answer of their client. Those that still wait are cancelled when it
/// is dropped.
#[derive(Default)]
pub struct SuspendedCalls(Mutex<Waiting>);

impl SuspendedCalls {
    /// Keeps a call; returns the state by which it is taken again.
    ///
    /// # Errors
    /// Returns the call if the person has too many.
    pub(super) fn keep(self: &Arc<Self>, call: SuspendedCall) -> Result<String, Box<SuspendedCall>> {
        let mut waiting = self.lock();
        // Nobody waits for the answers of those any more.
        waiting
            .suspended
            .retain(|_, other| !other.asked.answer.is_closed());
        let of_person = waiting.suspended.values();
        let count = of_person.filter(|other| other.person == call.person).count();
        match random() {
            Ok(state) if count < SUSPENDED => {
                waiting.suspended.insert(state.clone(), call);
                if !std::mem::replace(&mut waiting.has_timer, true) {
                    tokio::spawn(remove_in_time(Arc::downgrade(self)));
                }
                Ok(state)
            }
            _ => Err(Box::new(call)),
        }
    }

    /// Returns the number of calls of a person that wait for the request with their answer.
    pub fn count(&self, person: &str) -> usize {
        let waiting = self.lock();
        let of_person = waiting.suspended.values();
        let of_person = of_person.filter(|call| call.person == person && !call.asked.answer.is_closed());
        of_person.count()
    }

    /// Removes the calls whose time is over, which cancels them. Returns the time of the next one; without
    /// one, the timer ends.
    fn remove_ended(&self, now: Instant) -> Option<Instant> {
        let mut waiting = self.lock();
        waiting
            .suspended
            .retain(|_, call| call.asked.until > now && !call.asked.answer.is_closed());
        let next = waiting.suspended.values().map(|call| call.asked.until).min();
        waiting.has_timer = next.is_some();
        next
    }

    /// Takes the call that waits under this state, if it is this call of this person. `None` also if it has
    /// ended.
    pub(super) fn take(&self, state: &str, person: &str, call: &[u8; 32]) -> Option<SuspendedCall> {
        let mut waiting = self.lock();
        let is_same = waiting.suspended.get(state).is_some_and(|kept| {
            kept.person == person && kept.call == *call && !kept.asked.answer.is_closed()
        });
        if !is_same {
            return None;
        }
        waiting.suspended.remove(state)
    }

    /// Expects a client's response to a question; returns the id for the request. `None` if too many are
    /// open.
    pub(super) fn register(&self, person: &str, answer: oneshot::Sender<ClientAnswer>) -> Option<String> {
        let id = random().ok()?;
        let mut waiting = self.lock();
        waiting.sent.retain(|_, other| !other.answer.is_closed());
        let of_person = waiting.sent.values().filter(|other| other.person == person);
        if of_person.count() >= OPEN {
            return None;
        }
        let person = person.to_owned();
        waiting.sent.insert(id.clone(), SentQuestion { person, answer });
        Some(id)
    }

    /// Takes a response of a client of this person. Ignores an unexpected one, and one to a question to
    /// somebody else.
    pub fn respond(&self, person: &str, response: ClientResponse) {
        let Some(id) = response.id.as_str() else {
            return;
        };
        let mut waiting = self.lock();
        let is_theirs = waiting.sent.get(id).is_some_and(|sent| sent.person == person);
        if !is_theirs {
            return;
        }
        let sent = waiting.sent.remove(id);
        drop(waiting);
        // Without an answer the question is dropped: then the call knows that nobody can be asked.
        if let (Some(sent), Some(answer)) = (sent, response.answer) {
            // The call may have ended.
            let _ = sent.answer.send(answer);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes calls when their time is over, until none waits or the table is gone.
async fn remove_in_time(calls: Weak<SuspendedCalls>) {
    while let Some(next) = calls
        .upgrade()
        .and_then(|calls| calls.remove_ended(Instant::now()))
    {
        tokio::time::sleep_until(next).await;
    }
}

/// Distinguishes calls: a hash of the tool and its arguments, independent of the order of keys.
pub(super) fn fingerprint(tool: &str, arguments: &Map<String, Value>) -> [u8; 32] {
    let mut sorted = Value::Object(arguments.clone());
    sorted.sort_all_objects();
    let mut hasher = blake3::Hasher::new();
    hasher.update(&tool.len().to_le_bytes());
    hasher.update(tool.as_bytes());
    hasher.update(sorted.to_string().as_bytes());
    *hasher.finalize().as_bytes()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use agentx_runtime::{BoxFuture, ToolOutcome};
    use agentx_types::ToolSpec;
    use serde_json::json;
    use tokio::sync::mpsc;

    use super::*;
    use crate::serving::live_call::CallOfClient;
    use crate::serving::questions::ClientQuestion;
    use crate::serving::{ServedCall, ServedDocument, ServedParts};

    /// Parts whose only call waits until it is cancelled, and says so.
    struct WaitingParts(mpsc::Sender<()>);

    impl ServedParts for WaitingParts {
        fn tools(&self) -> BoxFuture<'_, Vec<ToolSpec>> {
            Box::pin(std::future::ready(Vec::new()))
        }

        fn call(&self, call: ServedCall) -> BoxFuture<'_, ToolOutcome> {
            Box::pin(async move {
                call.cancel.cancelled().await;
                let _ = self.0.send(()).await;
                ToolOutcome::success("")
            })
        }

        fn documents(&self) -> BoxFuture<'_, Result<Vec<ServedDocument>, String>> {
            Box::pin(std::future::ready(Ok(Vec::new())))
        }

        fn read<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Option<String>, String>> {
            Box::pin(std::future::ready(Ok(None)))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_suspended_call_is_cancelled_when_its_time_is_over_although_no_other_one_is_suspended() {
        let calls = Arc::new(SuspendedCalls::default());
        let (ends, mut ended) = mpsc::channel(1);
        let parts: Arc<dyn ServedParts> = Arc::new(WaitingParts(ends));
        let mut waits = Vec::new();
        let begun = Instant::now();
        for seconds in [600, 700] {
            let (answer, answered) = oneshot::channel();
            waits.push(answered);
            let wanted = CallOfClient {
                tool: "wait".into(),
                arguments: Map::new(),
                token: None,
                log_level: None,
                has_schema: false,
                stateless: true,
                can_be_asked: true,
                state: None,
                responses: None,
            };
            let question = ClientQuestion {
                key: "k".into(),
                message: "m".into(),
                schema: json!({"type": "object"}),
            };
            let kept = calls.keep(SuspendedCall {
                person: "ann".into(),
                call: [0; 32],
                asked: OpenQuestion {
                    question,
                    answer,
                    until: begun + Duration::from_secs(seconds),
                },
                live: LiveCall::begin(parts.clone(), wanted),
            });
            assert!(kept.is_ok());
        }
        assert_eq!((calls.count("ann"), calls.count("bob")), (2, 0));
        for (left, seconds) in [(1, 600), (0, 700)] {
            assert_eq!(ended.recv().await, Some(()));
            assert_eq!(calls.count("ann"), left);
            assert!(begun.elapsed() < Duration::from_secs(seconds + 1));
        }
        assert!(!calls.lock().has_timer, "nothing waits");
    }

    #[test]
    fn a_response_counts_for_the_person_who_was_asked_and_once() {
        let calls = SuspendedCalls::default();
        let (answer, mut answered) = oneshot::channel();
        let id = calls.register("ann", answer).unwrap();
        let response = |id: &str| ClientResponse {
            id: json!(id),
            answer: Some(ClientAnswer::Declined),
        };
        calls.respond("bob", response(&id));
        calls.respond("ann", response("other"));
        assert!(answered.try_recv().is_err());
        calls.respond("ann", response(&id));
        assert_eq!(answered.try_recv(), Ok(ClientAnswer::Declined));
        calls.respond("ann", response(&id));
    }

    #[test]
    fn questions_to_one_person_are_bounded_and_those_of_ended_calls_do_not_count() {
        let calls = SuspendedCalls::default();
        let mut open = Vec::new();
        for _ in 0..OPEN {
            let (answer, answered) = oneshot::channel();
            assert!(calls.register("ann", answer).is_some());
            open.push(answered);
        }
        assert!(calls.register("ann", oneshot::channel().0).is_none());
        let (answer, _answered) = oneshot::channel();
        assert!(calls.register("bob", answer).is_some());
        open.pop();
        let (answer, _answered) = oneshot::channel();
        assert!(calls.register("ann", answer).is_some());
    }

    #[test]
    fn calls_are_told_apart_by_tool_and_arguments_and_not_by_their_order() {
        let of =
            |tool: &str, arguments: Value| fingerprint(tool, arguments.as_object().unwrap_or(&Map::new()));
        let call = of("bash", json!({"a": 1, "b": {"c": 2, "d": 3}}));
        assert_eq!(call, of("bash", json!({"b": {"d": 3, "c": 2}, "a": 1})));
        assert_ne!(call, of("bash", json!({"b": {"d": 3, "c": 4}, "a": 1})));
        assert_ne!(call, of("bas", json!({"b": {"d": 3, "c": 2}, "a": 1})));
    }
}
