//! The conversation of a person. NEXUS has one for each owner and names no session, so a person's clients
//! share the session with the title `NEXUS`, whichever of them made it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use agentx_types::wire::Person;
use agentx_types::{OwnerId, SessionId};
use axum::http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::caller::{NexusCaller, read};
use super::refusal::ApiRefusal;
use crate::frames::history::LatestMessages;
use crate::frames::requests::NexusMessage;

/// The title by which the session is found again.
const TITLE: &str = "NEXUS";
/// The number of sessions on a page of the list, and of pages that are looked through.
const SEARCHED: (usize, usize) = (200, 5);
/// The number of people whose session is remembered.
const REMEMBERED: usize = 1024;
/// The number of events in which the latest messages are looked for first, and the factor by which it grows
/// until there are enough.
const LATEST_EVENTS: (u64, u64) = (4096, 8);

/// The lock of a person, held while their session is looked for and made.
type PersonLock = Arc<tokio::sync::Mutex<()>>;

/// The sessions of people, as far as they were looked up.
#[derive(Default)]
pub(crate) struct Conversations {
    known: Mutex<HashMap<OwnerId, SessionId>>,
    /// The locks of people whose session is looked for, so that two tabs do not make two.
    making: Mutex<HashMap<OwnerId, PersonLock>>,
}

/// A session in a list.
#[derive(Deserialize)]
struct ListedSession {
    session_id: SessionId,
    owner: OwnerId,
    title: String,
}

/// A page of something.
#[derive(Deserialize)]
struct ListedPage<T> {
    items: Vec<T>,
    #[serde(default)]
    next: Option<String>,
}

impl Conversations {
    /// Returns the session of a person; makes it if there is none.
    pub(crate) async fn open(&self, caller: &NexusCaller, person: &Person) -> Result<SessionId, ApiRefusal> {
        if person.visitor {
            return Err(ApiRefusal::of_visitor());
        }
        if let Some(session) = self.known_of(&person.person) {
            return Ok(session);
        }
        let making = self.lock_of(&person.person);
        let _making = making.lock().await;
        if let Some(session) = self.known_of(&person.person) {
            return Ok(session);
        }
        let session = match find(caller, person).await? {
            Some(session) => session,
            None => make(caller).await?,
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(person.person.clone(), session.clone());
        Ok(session)
    }

    /// Forgets a session that is gone.
    pub(crate) fn forget(&self, person: &Person) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.remove(&person.person);
    }

    /// Returns the lock of a person. Nobody waits for the requests of somebody else.
    fn lock_of(&self, person: &OwnerId) -> PersonLock {
        let mut making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        if making.len() >= REMEMBERED {
            making.retain(|_, lock| Arc::strong_count(lock) > 1);
        }
        making.entry(person.clone()).or_default().clone()
    }

    fn known_of(&self, person: &OwnerId) -> Option<SessionId> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(person).cloned()
    }

    /// Sends a message to the conversation of a person. Returns its session and the `seq` of the message. If
    /// the session was deleted, a new one gets the message.
    pub(crate) async fn say(
        &self,
        caller: &NexusCaller,
        person: &Person,
        message: &NexusMessage,
    ) -> Result<(SessionId, u64), ApiRefusal> {
        if message.is_empty() {
            return Err(ApiRefusal::bad_request("the message is empty"));
        }
        let session = self.open(caller, person).await?;
        match send(caller, &session, message).await {
            Err(refused) if refused.code == "no_session" => {
                self.forget(person);
                let session = self.open(caller, person).await?;
                let seq = send(caller, &session, message).await?;
                Ok((session, seq))
            }
            sent => sent.map(|seq| (session, seq)),
        }
    }

    /// Returns the session of a person and its last `seq`. One that was deleted is followed by a new one.
    pub(crate) async fn open_at_head(
        &self,
        caller: &NexusCaller,
        person: &Person,
    ) -> Result<(SessionId, u64), ApiRefusal> {
        let session = self.open(caller, person).await?;
        match head(caller, &session).await {
            Err(refused) if refused.code == "no_session" => {
                self.forget(person);
                let session = self.open(caller, person).await?;
                let seq = head(caller, &session).await?;
                Ok((session, seq))
            }
            found => found.map(|seq| (session, seq)),
        }
    }

    /// Returns the latest messages of a person's conversation.
    pub(crate) async fn latest(
        &self,
        caller: &NexusCaller,
        person: &Person,
        wanted: usize,
    ) -> Result<LatestMessages, ApiRefusal> {
        let (session, head) = self.open_at_head(caller, person).await?;
        let (mut events, growth) = LATEST_EVENTS;
        loop {
            let from = head.saturating_sub(events);
            let found = messages(caller, &session, from, wanted).await?;
            if found.has_enough() || from == 0 {
                return Ok(found);
            }
            events = events.saturating_mul(growth);
        }
    }
}

/// Returns the `seq` of the last event of a session.
async fn head(caller: &NexusCaller, session: &SessionId) -> Result<u64, ApiRefusal> {
    let path = format!("/v1/sessions/{session}");
    let info = caller.ask(Method::GET, &path, None).await?;
    Ok(info["last_seq"].as_u64().unwrap_or_default())
}

async fn send(caller: &NexusCaller, session: &SessionId, message: &NexusMessage) -> Result<u64, ApiRefusal> {
    let path = format!("/v1/sessions/{session}/messages");
    let sent = caller.ask(Method::POST, &path, Some(&message.body())).await?;
    read(sent["seq"].clone())
}

/// Finds the session of a person among their latest ones.
async fn find(caller: &NexusCaller, person: &Person) -> Result<Option<SessionId>, ApiRefusal> {
    let (limit, pages) = SEARCHED;
    let mut cursor = String::new();
    for _ in 0..pages {
        let path = format!("/v1/sessions?limit={limit}{cursor}");
        let page: ListedPage<ListedSession> = read(caller.ask(Method::GET, &path, None).await?)?;
        let is_theirs = |session: &ListedSession| session.owner == person.person && session.title == TITLE;
        if let Some(found) = page.items.into_iter().find(is_theirs) {
            return Ok(Some(found.session_id));
        }
        match page.next {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    Ok(None)
}

/// Makes the session of a person, with the agent that a new session of theirs has.
async fn make(caller: &NexusCaller) -> Result<SessionId, ApiRefusal> {
    let agent = caller.ask(Method::GET, "/v1/agent", None).await?;
    let made = caller
        .ask(Method::POST, "/v1/sessions", Some(&json!({"config": agent})))
        .await?;
    let session: SessionId = read(made["session_id"].clone())?;
    let path = format!("/v1/sessions/{session}");
    caller
        .ask(Method::PATCH, &path, Some(&json!({"title": TITLE})))
        .await?;
    Ok(session)
}

/// Returns the last `wanted` messages after an event.
async fn messages(
    caller: &NexusCaller,
    session: &SessionId,
    from: u64,
    wanted: usize,
) -> Result<LatestMessages, ApiRefusal> {
    let mut latest = LatestMessages::new(wanted);
    let mut cursor = format!("{from}.0");
    loop {
        let path = format!("/v1/sessions/{session}/messages?limit=500&cursor={cursor}");
        let page: ListedPage<Value> = read(caller.ask(Method::GET, &path, None).await?)?;
        for item in page.items {
            latest.add(read(item)?);
        }
        match page.next {
            Some(next) if next != cursor => cursor = next,
            _ => return Ok(latest),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use super::*;

    #[test]
    fn two_tabs_wait_for_each_other_and_two_people_do_not() {
        let conversations = Conversations::default();
        let lock = |person: &str| conversations.lock_of(&OwnerId::new(person));
        let of_ann = lock("own_ann");
        let held = of_ann.try_lock().unwrap();
        assert!(lock("own_ann").try_lock().is_err());
        assert!(lock("own_bob").try_lock().is_ok());
        for number in 0..2 * REMEMBERED {
            drop(lock(&format!("own_{number}")));
        }
        assert!(lock("own_ann").try_lock().is_err(), "a lock that is held is kept");
        drop(held);
        let count = conversations.making.lock().unwrap().len();
        assert!(count <= REMEMBERED, "{count}");
    }
}
