//! Other people in a shared session: one line when they join or leave, when the wheel changes hands or is
//! requested, and when the connection to all of them is lost.

use std::sync::Arc;

use agentx::history::transcript::{ActsOfOthers, act_of_another};
use agentx::remote::{CallsWaiting, People, Presence, RemoteRuntime};
use agentx::runtime::{Delivery, Runtime as _, View};
use agentx::types::wire::{ApprovalWaiting, WheelWish};
use agentx::types::{OwnerId, RuntimeEvent, Seat, SessionId, SessionRole};
use tokio::time::Instant;

use super::line_limit::{LimitedLine, LineLimit};
use super::participant_changes::{ANSWER_SECONDS, changes};
use crate::error::ChatError;
use crate::place::Place;
use crate::place::connection_watch::ConnectionWatch;
use crate::place::follow::AnyFollower;
use crate::render::clean::visible;
use crate::render::conversation::SpokenBy;
use crate::render::participants as words;
use crate::render::person_names::PersonNames;
use crate::render::style::AnsiStyle;

/// A change that is reported to the person.
pub(crate) enum ParticipantsUpdate {
    /// The connection is lost or back. This is reported immediately.
    Connection(String),
    /// A person came, left, drives or asks. The report may wait for the end of a line.
    People(Vec<String>),
}

/// The other participants; empty for a local session.
pub(crate) struct Participants {
    link: ConnectionWatch,
    server: Option<(Arc<RemoteRuntime>, Seat)>,
    session: Option<SessionId>,
    presence: Option<Presence>,
    /// Calls of members that wait for a decision.
    calls: Option<CallsWaiting>,
    /// The address of the server, as it was named.
    address: String,
    /// Whether a person has joined since the list was last read.
    unseen: bool,
    /// The people as they were last reported.
    told: People,
    /// The names of people for this reader.
    names: PersonNames,
    /// The facts of the session: some acts of others are in no derived event.
    facts: Option<AnyFollower>,
    acts: ActsOfOthers,
    /// Lines about the people in the session and the driver, about acts, and about calls that wait elsewhere.
    people_lines: LineLimit,
    act_lines: LineLimit,
    call_lines: LineLimit,
}

impl Participants {
    /// Creates an empty list of participants.
    pub(crate) fn new(place: &Place) -> Self {
        let server = place.remote().cloned().zip(place.me().cloned());
        let calls = place.remote().map(|remote| remote.calls_waiting());
        Self {
            link: ConnectionWatch::new(place),
            server,
            session: None,
            presence: None,
            calls,
            address: place.address().unwrap_or_default().to_owned(),
            unseen: false,
            told: People::default(),
            names: place.person_names(),
            facts: None,
            acts: ActsOfOthers::default(),
            people_lines: LineLimit::default(),
            act_lines: LineLimit::default(),
            call_lines: LineLimit::default(),
        }
    }

    /// Returns how the people of the session are called here.
    pub(crate) fn names(&self) -> &PersonNames {
        &self.names
    }

    /// Adds a named person, so that no other gets the same short name.
    pub(crate) fn meet(&mut self, speaker: &SpokenBy) {
        if let SpokenBy::Guest(person) = speaker {
            self.names.meet(person);
        }
    }

    /// Returns whether there can be others at all.
    pub(crate) fn is_possible(&self) -> bool {
        self.server.is_some()
    }

    /// Returns whether the connection to them is lost and not there again.
    pub(crate) fn is_cut_off(&self) -> bool {
        self.link.is_lost()
    }

    /// Joins those who are in this session.
    pub(crate) async fn join(&mut self, session: &SessionId) -> Result<(), ChatError> {
        if let Some((server, me)) = &self.server {
            self.presence = Some(server.presence(session).await?);
            self.session = Some(session.clone());
            self.unseen = true;
            let info = server.info(session).await?;
            self.names.read_by(&me.person, &info.owner);
            self.acts = ActsOfOthers::default();
            let facts =
                AnyFollower::watching(server.clone(), session.clone(), info.last_seq, View::Environment);
            self.facts = Some(facts.await?);
        }
        Ok(())
    }

    /// Leaves those who are in the session: the next one is not open yet.
    pub(crate) fn part(&mut self) {
        (self.presence, self.session, self.facts) = (None, None, None);
        self.told = People::default();
    }

    /// Describes in a line what another person did: neither the owner of the session nor the person here.
    pub(crate) fn act(&mut self, event: &RuntimeEvent, style: AnsiStyle) -> Option<String> {
        let (by, what) = act_of_another(event)?;
        let line = self.act_line(by, &what)?;
        Some(style.dim(&format!("· {line}")))
    }

    /// Returns the line about an act of another person, unless too many were shown just now.
    fn act_line(&mut self, by: &OwnerId, what: &str) -> Option<String> {
        let who = self.other(by)?;
        match self.act_lines.place(Instant::now()) {
            LimitedLine::Shown => Some(format!("{who} {}", visible(what))),
            LimitedLine::FirstLeftOut => {
                let session = self.session.as_ref().map_or("ID", SessionId::as_str);
                Some(format!(
                    "some acts of other people are not shown here; to see all of them: agentx --connect {} sessions show {session}",
                    visible(&self.address)
                ))
            }
            LimitedLine::LeftOut => None,
        }
    }

    /// Returns the line about a call that waits elsewhere, unless too many were shown just now.
    fn call_line(&mut self, call: &ApprovalWaiting) -> Option<String> {
        match self.call_lines.place(Instant::now()) {
            LimitedLine::Shown => Some(words::call_waits(call, &self.address, &self.names)),
            LimitedLine::FirstLeftOut => Some(format!(
                "more calls wait for your decision: agentx --connect {} sessions list --waiting",
                visible(&self.address)
            )),
            LimitedLine::LeftOut => None,
        }
    }

    /// Returns the name of a person, unless it is the reader.
    fn other(&mut self, person: &OwnerId) -> Option<String> {
        let me = self.server.as_ref().map(|(_, me)| &me.person);
        if me == Some(person) {
            return None;
        }
        self.names.meet(person);
        Some(self.names.name(person))
    }

    /// Waits for the next notable change. Safe to drop while it waits.
    pub(crate) async fn news(&mut self) -> ParticipantsUpdate {
        loop {
            tokio::select! {
                text = self.link.news() => return ParticipantsUpdate::Connection(text),
                call = waiting(&mut self.calls, self.session.as_ref()) => {
                    if let Some(line) = self.call_line(&call) {
                        return ParticipantsUpdate::People(vec![line]);
                    }
                }
                (by, what) = act_in_facts(&mut self.facts, &mut self.acts) => {
                    if let Some(line) = self.act_line(&by, &what) {
                        return ParticipantsUpdate::People(vec![line]);
                    }
                }
                () = changed(&mut self.presence, self.unseen, self.people_lines.free_at()) => {
                    self.unseen = false;
                    let lines = self.look();
                    if !lines.is_empty() {
                        self.people_lines.note(Instant::now());
                        return ParticipantsUpdate::People(lines);
                    }
                }
            }
        }
    }

    /// Returns the lines about the changes since the last check.
    fn look(&mut self) -> Vec<String> {
        let (Some(presence), Some((_, me))) = (&self.presence, &self.server) else {
            return Vec::new();
        };
        let now = presence.now();
        for present in &now.present {
            self.names.meet(&present.seat.person);
        }
        let lines = changes(&self.told, &now, me, &self.names);
        self.told = now;
        lines
    }

    /// Returns whether this person has the permissions of a role, as far as is known.
    pub(crate) fn may(&self, role: SessionRole) -> bool {
        let known = self.presence.as_ref().and_then(|presence| presence.now().role);
        known.is_none_or(|mine| mine >= role)
    }

    /// Returns whether another client of the same person drives.
    pub(crate) fn drives_elsewhere(&self) -> bool {
        let wheel = self.presence.as_ref().and_then(|presence| presence.now().wheel);
        let driver = wheel.and_then(|wheel| wheel.seat).map(|seat| seat.person);
        let me = self.server.as_ref().map(|(_, me)| &me.person);
        driver.is_some() && driver.as_ref() == me && !self.drives()
    }

    /// Returns advice for a person who may not drive, or while somebody else drives.
    pub(crate) fn advice(&self) -> String {
        if self.may(SessionRole::Drive) {
            let wheel = self.presence.as_ref().and_then(|presence| presence.now().wheel);
            let driver = wheel.and_then(|wheel| wheel.seat).map(|seat| seat.person);
            let me = self.server.as_ref().map(|(_, me)| &me.person);
            return if driver.as_ref() == me {
                "`/wheel take` moves control here".into()
            } else {
                "`/who` shows who is here; `/wheel ask` asks the driver for the wheel".into()
            };
        }
        let session = self.session.as_ref().map_or("ID", SessionId::as_str);
        let person = self.server.as_ref().map_or("you", |(_, me)| me.person.as_str());
        format!("the owner can allow it: `agentx sessions share {session} {person} --as drive`")
    }

    /// Returns the participants as rows of a table.
    pub(crate) fn people_rows(&self) -> Option<Vec<Vec<String>>> {
        let (presence, (_, me)) = (self.presence.as_ref()?, self.server.as_ref()?);
        Some(words::people_table(&presence.now().present, me, &self.names))
    }

    /// Returns the name of the driver.
    pub(crate) fn wheel(&self) -> Option<String> {
        let (presence, (_, me)) = (self.presence.as_ref()?, self.server.as_ref()?);
        Some(match presence.now().wheel {
            Some(wheel) => words::wheel(&wheel, me, &self.names),
            None => "nobody is driving; the next person to send a message takes the wheel".to_owned(),
        })
    }

    /// Sends a command about the wheel, and returns a line about the result unless the participants learn of
    /// it anyway.
    pub(crate) async fn wish(&self, wish: WheelWish) -> Result<String, ChatError> {
        let (Some((server, _)), Some(session)) = (&self.server, &self.session) else {
            return Err(nobody());
        };
        server.wheel(session, wish.clone()).await?;
        if wish != WheelWish::Ask && self.has_others() {
            return Ok(String::new());
        }
        Ok(match wish {
            WheelWish::Ask if !self.drives() => {
                format!("asked; if nobody answers within {ANSWER_SECONDS} s, `/wheel take` takes the wheel")
            }
            WheelWish::Ask | WheelWish::Take => "you drive".to_owned(),
            WheelWish::Hand(seat) => format!("{} drives now", self.name(&seat)),
            WheelWish::Release => {
                "nobody is driving now; the next person to send a message takes the wheel".to_owned()
            }
        })
    }

    /// Returns whether other people are present.
    pub(crate) fn has_others(&self) -> bool {
        let present = self.presence.as_ref().map(|presence| presence.now().present);
        present.is_some_and(|present| present.len() > 1)
    }

    fn drives(&self) -> bool {
        let wheel = self.presence.as_ref().and_then(|presence| presence.now().wheel);
        let me = self.server.as_ref().map(|(_, me)| me);
        wheel.is_some_and(|wheel| wheel.seat.as_ref() == me)
    }

    /// Returns the seat that a word names: by its program, its person, or the name that is shown.
    pub(crate) fn seat(&self, word: &str) -> Result<Seat, ChatError> {
        let (Some(presence), Some((_, me))) = (&self.presence, &self.server) else {
            return Err(nobody());
        };
        let is_meant = |seat: &Seat| {
            seat != me
                && (seat.client.starts_with(word)
                    || seat.person.as_str().starts_with(word)
                    || words::seat_name(seat, me, &self.names) == word)
        };
        let present = presence.now().present;
        let mut meant = present
            .iter()
            .map(|present| &present.seat)
            .filter(|seat| is_meant(seat));
        match (meant.next(), meant.next()) {
            (Some(seat), None) => Ok(seat.clone()),
            (Some(_), Some(_)) => Err(ChatError::usage(
                format!("{word:?} matches several people here"),
                "`/who` shows them; give more letters of the program's name",
            )),
            (None, _) => Err(ChatError::usage(
                format!("nobody here is called {word:?}"),
                "`/who` shows who is here",
            )),
        }
    }

    fn name(&self, seat: &Seat) -> String {
        match &self.server {
            Some((_, me)) => words::seat_name(seat, me, &self.names),
            None => seat.client.clone(),
        }
    }
}

/// Returns the error of a local session, which has no wheel.
fn nobody() -> ChatError {
    ChatError::usage(
        "you are alone with this session",
        "`agentx serve` lets others join; `agentx --connect URL` joins a server",
    )
}

/// Waits for a change among the people, at least until `not_before`: all changes until then count as one.
async fn changed(presence: &mut Option<Presence>, unseen: bool, not_before: Option<Instant>) {
    if let Some(not_before) = not_before {
        tokio::time::sleep_until(not_before).await;
    }
    if unseen {
        return;
    }
    if let Some(here) = presence {
        if here.changed().await {
            return;
        }
        *presence = None;
    }
    std::future::pending().await
}

/// The next call of a member that waits in another session than this. Safe to drop while it waits.
async fn waiting(calls: &mut Option<CallsWaiting>, here: Option<&SessionId>) -> ApprovalWaiting {
    while let Some(waiting) = calls {
        match waiting.next().await {
            Some(call) if Some(&call.session_id) == here => {}
            Some(call) => return call,
            None => *calls = None,
        }
    }
    std::future::pending().await
}

/// The next act of another person that is in a fact alone. Safe to drop while it waits.
async fn act_in_facts(facts: &mut Option<AnyFollower>, acts: &mut ActsOfOthers) -> (OwnerId, String) {
    while let Some(following) = facts {
        match following.next().await {
            Ok(Some(Delivery::Environment(fact))) => {
                if let Some((by, what)) = acts.take(&fact.event) {
                    return (by.clone(), what);
                }
            }
            Ok(Some(_)) => {}
            // The chat itself reports the end of the session.
            Ok(None) | Err(_) => *facts = None,
        }
    }
    std::future::pending().await
}
