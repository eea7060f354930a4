//! The people in a room, and notices to them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentx_types::wire::{Presence, Present, Problem, ServerNotice};
use agentx_types::{OwnerId, Seat, SessionRole};

use super::Room;
use crate::feed::FeedSlot;
use crate::outbox::{RoomListener, encode};

/// The number of people that one presence notice lists.
const NAMED: usize = 32;
/// The delay in which joins and leaves are collected before they are announced: for a few people, and for
/// each hundred more.
const GATHER: Duration = Duration::from_millis(10);
const GATHER_MORE: Duration = Duration::from_millis(500);

/// The people in a room.
#[derive(Default)]
pub struct RoomPresence {
    inner: Mutex<PresenceInner>,
}

#[derive(Default)]
struct PresenceInner {
    members: BTreeMap<u64, RoomMember>,
    numbers: u64,
    /// Whether an announcement is already scheduled.
    is_told: bool,
}

struct RoomMember {
    seat: Seat,
    role: SessionRole,
    slot: Arc<FeedSlot>,
    ear: Option<Arc<dyn RoomListener>>,
}

impl RoomPresence {
    /// Returns the role of a seat that is present.
    pub fn role_of(&self, seat: &Seat) -> Option<SessionRole> {
        let inner = self.lock();
        let here = inner.members.values().find(|member| member.seat == *seat);
        here.map(|member| member.role)
    }

    /// Returns whether a program of this person is present.
    pub(crate) fn has_person(&self, person: &OwnerId) -> bool {
        let inner = self.lock();
        inner.members.values().any(|member| member.seat.person == *person)
    }

    /// Returns whether no seat is present.
    pub fn is_empty(&self) -> bool {
        self.lock().members.is_empty()
    }

    /// Sends a notice to everybody.
    pub fn tell(&self, notice: &ServerNotice) {
        let ears = self.ears(|_| true);
        if ears.is_empty() {
            return;
        }
        let text = encode(notice);
        ears.iter().for_each(|ear| ear.hear(text.clone()));
    }

    /// Changes the role of a person; without a role, they lose access.
    pub fn change(&self, person: &OwnerId, role: Option<SessionRole>, problem: &Problem) {
        let mut inner = self.lock();
        let theirs = inner
            .members
            .values_mut()
            .filter(|member| member.seat.person == *person);
        for member in theirs {
            match role {
                Some(role) => member.role = role,
                None => member.slot.end(problem.clone()),
            }
        }
    }

    /// Ends the access of everybody who only watches and has no role.
    pub fn end_watchers(&self, has_own: impl Fn(&OwnerId) -> bool, problem: &Problem) {
        let inner = self.lock();
        let watchers = inner
            .members
            .values()
            .filter(|member| member.role == SessionRole::Watch && !has_own(&member.seat.person));
        watchers.for_each(|member| member.slot.end(problem.clone()));
    }

    fn join(&self, member: RoomMember) -> u64 {
        let mut inner = self.lock();
        inner.numbers += 1;
        let number = inner.numbers;
        inner.members.insert(number, member);
        number
    }

    fn listen(&self, number: u64, ear: Arc<dyn RoomListener>) {
        if let Some(member) = self.lock().members.get_mut(&number) {
            member.ear = Some(ear);
        }
    }

    fn leave(&self, number: u64) {
        self.lock().members.remove(&number);
    }

    fn ears(&self, whose: impl Fn(&Seat) -> bool) -> Vec<Arc<dyn RoomListener>> {
        let inner = self.lock();
        let members = inner.members.values().filter(|member| whose(&member.seat));
        members.filter_map(|member| member.ear.clone()).collect()
    }

    /// Returns each seat once, with what it may do; the driver first.
    fn present(&self, driver: Option<&Seat>) -> Vec<Present> {
        let inner = self.lock();
        let mut seats: BTreeMap<&Seat, SessionRole> = BTreeMap::new();
        for member in inner.members.values() {
            seats.entry(&member.seat).or_insert(member.role);
        }
        let mut people: Vec<Present> = seats
            .into_iter()
            .map(|(seat, role)| Present {
                seat: seat.clone(),
                role,
                driving: driver == Some(seat),
            })
            .collect();
        people.sort_by_key(|present| !present.driving);
        people.truncate(NAMED);
        people
    }

    /// Returns how long to collect before announcing; `None` if an announcement is already scheduled.
    fn gather(&self) -> Option<Duration> {
        let mut inner = self.lock();
        if inner.is_told || inner.members.is_empty() {
            return None;
        }
        inner.is_told = true;
        let hundreds = u32::try_from(inner.members.len() / 100).unwrap_or(u32::MAX);
        Some(GATHER + GATHER_MORE.saturating_mul(hundreds))
    }

    fn gathered(&self) {
        self.lock().is_told = false;
    }

    fn lock(&self) -> MutexGuard<'_, PresenceInner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The presence of a seat in a room, until this is dropped.
pub struct Membership {
    room: Arc<Room>,
    seat: Seat,
    number: u64,
}

impl Membership {
    /// Sends notices to `ear` from now on, beginning with the list of people who are present.
    pub fn listen(&self, ear: Arc<dyn RoomListener>) {
        self.room.people.listen(self.number, ear);
        self.room.announce();
    }

    /// Returns the room of the session.
    pub fn room(&self) -> &Arc<Room> {
        &self.room
    }
}

impl Room {
    /// Adds a reader of the session, with its slot.
    pub fn join(
        self: &Arc<Self>,
        seat: &Seat,
        role: SessionRole,
        slot: Arc<FeedSlot>,
        ear: Option<Arc<dyn RoomListener>>,
    ) -> Membership {
        self.wheel().arrive(seat);
        let number = self.people.join(RoomMember {
            seat: seat.clone(),
            role,
            slot,
            ear,
        });
        self.announce();
        Membership {
            room: self.clone(),
            seat: seat.clone(),
            number,
        }
    }

    /// Announces who is present after a short delay, so that simultaneous joins are announced together.
    pub(crate) fn announce(self: &Arc<Self>) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        let Some(gather) = self.people.gather() else {
            return;
        };
        let room = self.clone();
        runtime.spawn(async move {
            tokio::time::sleep(gather).await;
            room.people.gathered();
            room.people.tell(&room.presence());
        });
    }

    /// Returns the notice with the people who are present.
    pub fn presence(&self) -> ServerNotice {
        let driver = self.wheel().seat().cloned();
        Presence {
            session_id: self.id().clone(),
            people: self.people.present(driver.as_ref()),
        }
        .into()
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.room.people.leave(self.number);
        self.room.wheel().leave(&self.seat, self.room.now_ms());
        self.room.announce();
    }
}
