//! The state machine that decides who drives a session. Pure: the time is an argument, the facts to record
//! are the result.
//!
//! The machine decides a change, its caller records it, and only then [`Wheel::apply`] makes it effective.
//! The session's lock is held from the decision to the effect, so two requests at once are decided one after
//! the other.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use agentx_runtime::{RuntimeError, Sharing};
use agentx_types::wire::WheelWish;
use agentx_types::{OwnerId, Seat, SessionRole, WheelChanged, WheelReason};

/// The times that the server waits for a driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WheelTimeouts {
    /// The time to answer a request for the wheel, in milliseconds; then the requester may take it.
    pub answer_ms: u64,
    /// The time that a driver may be absent, in milliseconds; then the wheel is free.
    pub gone_ms: u64,
}

impl Default for WheelTimeouts {
    fn default() -> Self {
        Self {
            answer_ms: 20_000,
            gone_ms: 30_000,
        }
    }
}

/// The wheel of one session, and the people who are present.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wheel {
    patience: WheelTimeouts,
    seat: Option<Seat>,
    epoch: u64,
    /// The number of connections of each seat to this session.
    here: BTreeMap<Seat, u32>,
    /// The time since which the driver has been absent.
    gone_since: Option<u64>,
    /// The seat that asks for the wheel, and since when.
    asked: Option<(Seat, u64)>,
}

/// The outcome of a wish.
#[derive(Clone, Debug, PartialEq)]
pub enum WheelVerdict {
    /// A change to record.
    Change(WheelChanged),
    /// The driver has to be asked.
    Asked,
    /// Nothing changes.
    Nothing,
}

impl Wheel {
    /// Creates a wheel without a driver.
    pub fn new(patience: WheelTimeouts) -> Self {
        Self {
            patience,
            ..Self::default()
        }
    }

    /// Takes over the state from the facts. The last driver has some time to come back.
    pub fn learn(&mut self, sharing: &Sharing, now: u64) {
        self.seat = sharing.seat.clone();
        self.epoch = sharing.epoch;
        self.asked = None;
        self.gone_since = self.absent_since(now);
    }

    /// Returns the seat that drives; `None` if nobody does.
    pub fn seat(&self) -> Option<&Seat> {
        self.seat.as_ref()
    }

    /// Returns the number of changes of the wheel so far.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Returns the seat that asks for the wheel.
    pub fn asked_by(&self) -> Option<&Seat> {
        self.asked.as_ref().map(|(seat, _)| seat)
    }

    /// Counts one more connection of a seat.
    pub fn arrive(&mut self, seat: &Seat) {
        *self.here.entry(seat.clone()).or_default() += 1;
        if self.seat.as_ref() == Some(seat) {
            self.gone_since = None;
        }
    }

    /// Counts one connection of a seat less.
    pub fn leave(&mut self, seat: &Seat, now: u64) {
        let Some(count) = self.here.get_mut(seat) else {
            return;
        };
        *count -= 1;
        if *count > 0 {
            return;
        }
        self.here.remove(seat);
        if self.seat.as_ref() == Some(seat) {
            self.gone_since = Some(now);
        }
        if self.asked_by() == Some(seat) {
            self.asked = None;
        }
    }

    /// Checks that `seat` may do something that needs the wheel. If nobody is driving, `seat` takes the
    /// wheel.
    ///
    /// # Errors
    /// Returns `stale_epoch` if the seat assumes an earlier wheel, `denied` if it may not drive or another
    /// one does.
    pub fn drive(
        &mut self,
        seat: &Seat,
        role: SessionRole,
        believed: Option<u64>,
        now: u64,
    ) -> Result<Option<WheelChanged>, RuntimeError> {
        needs(SessionRole::Drive, role)?;
        if let Some(believed) = believed.filter(|believed| *believed != self.epoch) {
            return Err(self.stale(believed));
        }
        match &self.seat {
            Some(holder) if holder == seat => {
                self.seen(now);
                Ok(None)
            }
            Some(holder) if !self.is_free(now) && !self.is_own_and_gone(holder, seat) => {
                Err(self.held_by(holder))
            }
            _ => Ok(Some(self.taken_by(seat, now))),
        }
    }

    /// Decides a wish. `heir` is the role of the seat that is to get the wheel, for [`WheelWish::Hand`].
    ///
    /// # Errors
    /// Returns `denied` if the seat may not wish it, `refused` if it is not possible now.
    pub fn wish(
        &mut self,
        seat: &Seat,
        role: SessionRole,
        wish: &WheelWish,
        heir: Option<SessionRole>,
        now: u64,
    ) -> Result<WheelVerdict, RuntimeError> {
        needs(SessionRole::Drive, role)?;
        let drives = self.seat.as_ref() == Some(seat);
        match wish {
            // A driver who confirms that they drive has answered the request.
            WheelWish::Ask | WheelWish::Take if drives => {
                self.asked = None;
                self.seen(now);
                Ok(WheelVerdict::Nothing)
            }
            WheelWish::Ask if self.is_free(now) => Ok(WheelVerdict::Change(self.taken_by(seat, now))),
            WheelWish::Ask => self.ask(seat, now),
            WheelWish::Take => match &self.seat {
                Some(holder)
                    if !self.is_free(now)
                        && holder.person != seat.person
                        && !self.was_left_unanswered(seat, now) =>
                {
                    Err(self.held_by(holder))
                }
                _ => Ok(WheelVerdict::Change(self.taken_by(seat, now))),
            },
            WheelWish::Hand(_) | WheelWish::Release if !drives => Err(RuntimeError::Denied(
                "only the driver can hand over or release the wheel".into(),
            )),
            WheelWish::Hand(to) => self.hand(to, heir),
            WheelWish::Release => Ok(WheelVerdict::Change(self.change(None, WheelReason::Released))),
        }
    }

    /// Returns the change after a person's role was lowered: if one of their programs drives and may no
    /// longer, the wheel is free.
    pub fn lowered(&self, person: &OwnerId, role: Option<SessionRole>) -> Option<WheelChanged> {
        let holder = self.seat.as_ref().filter(|seat| seat.person == *person);
        let may = role.is_some_and(|role| role >= SessionRole::Drive);
        (holder.is_some() && !may).then(|| self.change(None, WheelReason::Released))
    }

    /// Returns the change that passing time causes: the driver has been absent for too long, and others are
    /// present.
    pub fn tick(&self, now: u64) -> Option<WheelChanged> {
        let is_over = self.seat.is_some() && self.is_free(now) && !self.here.is_empty();
        is_over.then(|| self.change(None, WheelReason::TimedOut))
    }

    /// Returns when [`Wheel::tick`] has a change, if nothing happens before.
    pub fn deadline(&self) -> Option<u64> {
        let gone = self.gone_since.filter(|_| self.seat.is_some())?;
        (!self.here.is_empty()).then_some(gone + self.patience.gone_ms)
    }

    /// Applies a recorded change.
    pub fn apply(&mut self, changed: &WheelChanged, now: u64) {
        self.seat = changed.seat.clone();
        self.epoch = changed.epoch;
        self.asked = None;
        self.gone_since = self.absent_since(now);
    }

    /// Returns `now` if the driver is not present.
    fn absent_since(&self, now: u64) -> Option<u64> {
        let seat = self.seat.as_ref()?;
        (!self.here.contains_key(seat)).then_some(now)
    }

    fn ask(&mut self, seat: &Seat, now: u64) -> Result<WheelVerdict, RuntimeError> {
        match &self.asked {
            Some((asker, _)) if asker == seat => Ok(WheelVerdict::Asked),
            Some((asker, _)) => Err(RuntimeError::Refused(format!(
                "{} has already asked for the wheel",
                asker.client
            ))),
            None => {
                self.asked = Some((seat.clone(), now));
                Ok(WheelVerdict::Asked)
            }
        }
    }

    fn hand(&self, to: &Seat, heir: Option<SessionRole>) -> Result<WheelVerdict, RuntimeError> {
        if self.seat.as_ref() == Some(to) {
            return Ok(WheelVerdict::Nothing);
        }
        if !self.here.contains_key(to) {
            return Err(RuntimeError::Refused(format!(
                "{} of {} is not there",
                to.client, to.person
            )));
        }
        if heir.is_none_or(|role| role < SessionRole::Drive) {
            return Err(RuntimeError::Refused(format!("{} may not drive", to.person)));
        }
        Ok(WheelVerdict::Change(
            self.change(Some(to.clone()), WheelReason::HandedOver),
        ))
    }

    /// Notes a sign of life: a driver without a connection (over HTTP) is present while it sends requests.
    fn seen(&mut self, now: u64) {
        if self.gone_since.is_some() {
            self.gone_since = Some(now);
        }
    }

    fn taken_by(&self, seat: &Seat, now: u64) -> WheelChanged {
        let was_gone = self.seat.is_some() && self.is_free(now);
        let reason = if was_gone {
            WheelReason::TimedOut
        } else {
            WheelReason::Taken
        };
        self.change(Some(seat.clone()), reason)
    }

    fn change(&self, seat: Option<Seat>, reason: WheelReason) -> WheelChanged {
        WheelChanged {
            seat,
            epoch: self.epoch + 1,
            reason,
        }
    }

    /// Returns whether any seat may take it.
    fn is_free(&self, now: u64) -> bool {
        let gone = |since: u64| now.saturating_sub(since) >= self.patience.gone_ms;
        self.seat.is_none() || self.gone_since.is_some_and(gone)
    }

    /// Returns whether another program of the same person holds it, which is gone.
    fn is_own_and_gone(&self, holder: &Seat, seat: &Seat) -> bool {
        holder.person == seat.person && !self.here.contains_key(holder)
    }

    fn was_left_unanswered(&self, seat: &Seat, now: u64) -> bool {
        self.asked.as_ref().is_some_and(|(asker, since)| {
            asker == seat && now.saturating_sub(*since) >= self.patience.answer_ms
        })
    }

    fn held_by(&self, holder: &Seat) -> RuntimeError {
        RuntimeError::Denied(format!(
            "{} ({}) drives; ask for the wheel, and take it if nobody answers within {} s",
            holder.client,
            holder.person,
            self.patience.answer_ms / 1000
        ))
    }

    fn stale(&self, believed: u64) -> RuntimeError {
        let who = self.seat.as_ref().map_or("nobody drives".to_owned(), |seat| {
            format!("{} ({}) drives", seat.client, seat.person)
        });
        RuntimeError::Remote {
            code: "stale_epoch".into(),
            detail: format!(
                "the wheel has changed hands: this is for wheel {believed}, now it is {} and {who}",
                self.epoch
            ),
        }
    }
}

/// Refuses a caller whose role is lower than needed, and says what they may do.
pub(crate) fn needs(least: SessionRole, role: SessionRole) -> Result<(), RuntimeError> {
    if role >= least {
        return Ok(());
    }
    let may = match role {
        SessionRole::Approve => "watch and decide about tool calls",
        _ => "look",
    };
    Err(RuntimeError::Denied(format!("you may only {may} here")))
}
