//! The others at a session of a server, as a chat tells of them: modest lines when they come and go, when the wheel changes
//! hands or is asked for, and when the connection to all of them is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use agentx::history::transcript::act_of_another;
use agentx::remote::{CallsWaiting, People, Presence, RemoteRuntime};
use agentx::types::wire::WheelWish;
use agentx::types::{OwnerId, RuntimeEvent, Seat, SessionId, SessionRole};

use crate::connection_watch::ConnectionWatch;
use crate::error::ChatError;
use crate::place::Place;
use crate::render::clean::visible;
use crate::render::conversation::act;
use crate::render::participants as words;
use crate::render::style::Paint;

/// Time limit for the driver to answer a request for control, as on the server.
const ANSWER_SECONDS: u32 = 20;

/// A change of the participants that is worth a note.
pub(crate) enum ParticipantsUpdate {
    /// The connection is lost, or there again: this is said at once.
    Connection(String),
    /// Somebody came, left, drives or asks: this may wait for the end of a line.
    People(Vec<String>),
}

/// The other participants; empty for a local session.
pub(crate) struct Participants {
    link: ConnectionWatch,
    server: Option<(Arc<RemoteRuntime>, Seat)>,
    session: Option<SessionId>,
    presence: Option<Presence>,
    /// Calls of members that wait for somebody who decides, and where they are decided.
    calls: Option<(CallsWaiting, String)>,
    /// Whether nobody has looked at the people since one joined.
    unseen: bool,
    /// The people as they were told last.
    told: People,
    /// The names that this person has given them.
    names: BTreeMap<OwnerId, String>,
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
            calls: calls.zip(place.address().map(str::to_owned)),
            unseen: false,
            told: People::default(),
            names: place.names().cloned().unwrap_or_default(),
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
        if let Some((server, _)) = &self.server {
            self.presence = Some(server.presence(session).await?);
            self.session = Some(session.clone());
            self.unseen = true;
        }
        Ok(())
    }

    /// Leaves those who are in the session: the next one is not open yet.
    pub(crate) fn part(&mut self) {
        (self.presence, self.session) = (None, None);
        self.told = People::default();
    }

    /// Describes in a line what another person did: neither the owner of the session nor the person here.
    pub(crate) fn act(&self, event: &RuntimeEvent, style: Paint) -> Option<String> {
        let (by, what) = act_of_another(event)?;
        let me = self.server.as_ref().map(|(_, me)| &me.person);
        let who = || {
            let name = self.names.get(by);
            name.map_or_else(|| words::person(by), |name| visible(name))
        };
        (me != Some(by)).then(|| act(&who(), &what, style))
    }

    /// Waits for something worth saying. Safe to drop while it waits.
    pub(crate) async fn news(&mut self) -> ParticipantsUpdate {
        loop {
            tokio::select! {
                text = self.link.news() => return ParticipantsUpdate::Connection(text),
                call = waiting(&mut self.calls, self.session.as_ref()) => return ParticipantsUpdate::People(vec![call]),
                () = changed(&mut self.presence, self.unseen) => {
                    self.unseen = false;
                    let lines = self.look();
                    if !lines.is_empty() {
                        return ParticipantsUpdate::People(lines);
                    }
                }
            }
        }
    }

    /// Returns the changes of the participants.
    fn look(&mut self) -> Vec<String> {
        let (Some(presence), Some((_, me))) = (&self.presence, &self.server) else {
            return Vec::new();
        };
        let now = presence.now();
        let lines = changes(&self.told, &now, me);
        self.told = now;
        lines
    }

    /// Returns whether one may do what needs this role, as far as is known.
    pub(crate) fn may(&self, role: SessionRole) -> bool {
        let known = self.presence.as_ref().and_then(|presence| presence.now().role);
        known.is_none_or(|mine| mine >= role)
    }

    /// Returns advice for a person who may not drive, or while somebody else drives.
    pub(crate) fn advice(&self) -> String {
        if self.may(SessionRole::Drive) {
            let wheel = self.presence.as_ref().and_then(|presence| presence.now().wheel);
            let driver = wheel.and_then(|wheel| wheel.seat).map(|seat| seat.person);
            let me = self.server.as_ref().map(|(_, me)| &me.person);
            return if driver.as_ref() == me {
                "the driver is you, in another client: `/wheel take` takes the wheel".into()
            } else {
                "`/who` shows who is here; `/wheel ask` asks the driver for the wheel".into()
            };
        }
        let session = self.session.as_ref().map_or("ID", SessionId::as_str);
        let person = self.server.as_ref().map_or("you", |(_, me)| me.person.as_str());
        format!("the owner can allow it: `agentx sessions share {session} {person} --as drive`")
    }

    /// Returns the participants as rows of a table.
    pub(crate) fn who(&self) -> Option<Vec<Vec<String>>> {
        let (presence, (_, me)) = (self.presence.as_ref()?, self.server.as_ref()?);
        Some(words::people_table(&presence.now().present, me, &self.names))
    }

    /// Returns the name of the driver.
    pub(crate) fn wheel(&self) -> Option<String> {
        let (presence, (_, me)) = (self.presence.as_ref()?, self.server.as_ref()?);
        Some(match presence.now().wheel {
            Some(wheel) => words::wheel(&wheel, me),
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

    /// Returns whether anybody else is there.
    pub(crate) fn has_others(&self) -> bool {
        let present = self.presence.as_ref().map(|presence| presence.now().present);
        present.is_some_and(|present| present.len() > 1)
    }

    fn drives(&self) -> bool {
        let wheel = self.presence.as_ref().and_then(|presence| presence.now().wheel);
        let me = self.server.as_ref().map(|(_, me)| me);
        wheel.is_some_and(|wheel| wheel.seat.as_ref() == me)
    }

    /// The seat that is meant by a word: the name of its program, the person, or how it is shown.
    pub(crate) fn seat(&self, word: &str) -> Result<Seat, ChatError> {
        let (Some(presence), Some((_, me))) = (&self.presence, &self.server) else {
            return Err(nobody());
        };
        let is_meant = |seat: &Seat| {
            seat != me
                && (seat.client.starts_with(word)
                    || seat.person.as_str().starts_with(word)
                    || words::seat_name(seat, me) == word)
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
            Some((_, me)) => words::seat_name(seat, me),
            None => seat.client.clone(),
        }
    }
}

/// Returns the error of a command about the wheel in a chat without a server.
fn nobody() -> ChatError {
    ChatError::usage(
        "you are alone with this session",
        "`agentx serve` lets others in; `agentx --connect URL` joins a server",
    )
}

async fn changed(presence: &mut Option<Presence>, unseen: bool) {
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

/// The next call of a member that waits in another session than this, in words. Safe to drop while it waits.
async fn waiting(calls: &mut Option<(CallsWaiting, String)>, here: Option<&SessionId>) -> String {
    while let Some((waiting, address)) = calls {
        match waiting.next().await {
            Some(call) if Some(&call.session_id) == here => {}
            Some(call) => return words::call_waits(&call, address),
            None => *calls = None,
        }
    }
    std::future::pending().await
}

/// Returns the changes between two looks that are worth a line. A person who is alone gets none.
fn changes(before: &People, now: &People, me: &Seat) -> Vec<String> {
    let seats = |people: &People| {
        let seats = people.present.iter().map(|present| present.seat.clone());
        seats.collect::<BTreeSet<_>>()
    };
    let others = |people: &People| people.present.iter().any(|present| present.seat != *me);
    let mut lines = Vec::new();
    if !others(before) && !others(now) {
        return lines;
    }
    let driver = |people: &People| people.wheel.as_ref().and_then(|wheel| wheel.seat.clone());
    let asker = |people: &People| people.wheel.as_ref().and_then(|wheel| wheel.asked_by.clone());
    if seats(before) != seats(now) {
        lines.push(if others(now) {
            format!("here: {}", words::people_line(&now.present, me))
        } else {
            "the others have left".to_owned()
        });
    } else if driver(before) != driver(now)
        && let Some(wheel) = &now.wheel
    {
        lines.push(words::wheel(wheel, me));
    }
    if asker(before) != asker(now)
        && let Some(asker) = asker(now).filter(|_| driver(now).as_ref() == Some(me))
    {
        lines.push(format!(
            "{}: `/wheel give {}`, or `/wheel take` to keep it; otherwise it may be taken in {ANSWER_SECONDS} s",
            words::asks(&asker, me),
            asker.client
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentx::types::OwnerId;
    use agentx::types::wire::{Present, Wheel};

    fn seat(person: &str, client: &str) -> Seat {
        Seat {
            person: OwnerId::new(person),
            client: client.into(),
        }
    }

    fn people(seats: &[(&Seat, SessionRole)], driver: Option<&Seat>, asker: Option<&Seat>) -> People {
        let present = |(seat, role): &(&Seat, SessionRole)| Present {
            seat: (*seat).clone(),
            role: *role,
            driving: driver == Some(*seat),
        };
        People {
            present: seats.iter().map(present).collect(),
            wheel: Some(Wheel {
                session_id: SessionId::new("ses_1"),
                epoch: 1,
                seat: driver.cloned(),
                reason: None,
                asked_by: asker.cloned(),
            }),
            role: Some(SessionRole::Own),
        }
    }

    #[test]
    fn one_who_is_alone_is_told_nothing() {
        let me = seat("own_local", "desk-1");
        let alone = people(&[(&me, SessionRole::Own)], None, None);
        let drives = people(&[(&me, SessionRole::Own)], Some(&me), None);
        assert_eq!(changes(&People::default(), &alone, &me), Vec::<String>::new());
        assert_eq!(changes(&alone, &drives, &me), Vec::<String>::new());
    }

    #[test]
    fn coming_going_driving_and_asking_are_a_line_each() {
        use SessionRole::{Drive, Own, Watch};
        let me = seat("own_local", "desk-1");
        let laptop = seat("own_local", "laptop-2");
        let ada = seat("own_abcdefghijklmnop", "ada-3");
        let visitor = seat("own_visitors", "web-4");
        let two = people(&[(&me, Own), (&laptop, Own)], Some(&me), None);
        let four = people(
            &[(&me, Own), (&laptop, Own), (&ada, Drive), (&visitor, Watch)],
            Some(&me),
            None,
        );
        let asked = people(
            &[(&me, Own), (&laptop, Own), (&ada, Drive), (&visitor, Watch)],
            Some(&me),
            Some(&ada),
        );
        let given = people(
            &[(&me, Own), (&laptop, Own), (&ada, Drive), (&visitor, Watch)],
            Some(&ada),
            None,
        );
        let alone = people(&[(&me, Own)], None, None);
        let steps = [&People::default(), &two, &four, &asked, &given, &alone];
        let told: Vec<String> = steps
            .windows(2)
            .map(|pair| changes(pair[0], pair[1], &me).join("\n"))
            .collect();
        insta::assert_snapshot!(told.join("\n"), @r"
        here: you drive · you at laptop-2 watch
        here: you drive · you at laptop-2 watch · own_abcdefgh… at ada-3 watches · a visitor at web-4 watches
        own_abcdefgh… at ada-3 asks for the wheel: `/wheel give ada-3`, or `/wheel take` to keep it; otherwise it may be taken in 20 s
        own_abcdefgh… at ada-3 drives
        the others have left
        ");
    }
}
