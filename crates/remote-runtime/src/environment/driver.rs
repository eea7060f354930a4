//! Drives the reconnect machine: performs its commands on a socket and tells it what happens.

use std::collections::HashMap;
use std::sync::Arc;

use agentx_bus::Bus;
use agentx_bus::Failed;
use agentx_identity::Challenge;
use agentx_runtime::{Fact, SystemEvent};
use agentx_types::SessionId;
use agentx_types::wire::{Accepted, Authenticate, ClientFrame, ServerNotice};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Duration, Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::feed::Feed;
use super::socket::{Came, Dialler, Link, Told};
use super::{Shared, Wish};
use crate::machine::{Began, Command, Failure, Machine, Moment, Settings};
use crate::peer::Asked;
use crate::{ConnectionState, Who};

/// What a driver works with.
pub(super) struct Parts {
    pub(super) who: Who,
    pub(super) client: String,
    pub(super) dialler: Dialler,
    pub(super) settings: Settings,
    pub(super) shared: Arc<Shared>,
    pub(super) stop: CancellationToken,
}

pub(super) struct Driver {
    parts: Parts,
    bus: Bus<SystemEvent>,
    machine: Machine,
    link: Link,
    began: Instant,
    /// The feeds that the machine knows.
    feeds: HashMap<SessionId, Arc<Feed>>,
    /// Facts of one session that came together and are to be passed on.
    came: Vec<(Fact, usize)>,
    /// Who waits for a subscription to begin.
    joining: HashMap<SessionId, Vec<oneshot::Sender<Result<Began, Failure>>>>,
    /// Who waits for the answer to a wish.
    answers: HashMap<u64, oneshot::Sender<Answered>>,
}

/// The answer to a wish, and how often it was sent.
pub(super) struct Answered {
    pub(super) answer: Result<Accepted, Failure>,
    pub(super) sends: u32,
}

impl Driver {
    pub(super) fn new(parts: Parts, bus: Bus<SystemEvent>) -> Self {
        Self {
            machine: Machine::new(parts.settings),
            parts,
            bus,
            link: Link::Down,
            began: Instant::now(),
            feeds: HashMap::new(),
            came: Vec::new(),
            joining: HashMap::new(),
            answers: HashMap::new(),
        }
    }

    /// Works until it is stopped, or nobody can wish for anything any more.
    pub(super) async fn run(mut self, inbox: &mut mpsc::Receiver<Wish>) -> Result<(), Failed> {
        let (stop, shared) = (self.parts.stop.clone(), self.parts.shared.clone());
        loop {
            self.obey().await?;
            let wake = self.machine.wake_at();
            let wake = wake.map(|ms| self.began + Duration::from_millis(ms));
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                wish = inbox.recv() => match wish {
                    Some(wish) => self.grant(wish)?,
                    None => break,
                },
                () = shared.released.notified() => self.forget_unwanted()?,
                told = self.link.next() => self.take(told)?,
                () = async { sleep_until(wake.unwrap_or_else(Instant::now)).await }, if wake.is_some() => {
                    let moment = self.moment()?;
                    self.machine.tick(moment);
                }
            }
        }
        if let Link::Up(socket) = std::mem::replace(&mut self.link, Link::Down) {
            socket.close().await;
        }
        Ok(())
    }

    fn moment(&self) -> Result<Moment, Failed> {
        let mut dice = [0; 4];
        getrandom::fill(&mut dice).map_err(|error| Failed(format!("no randomness: {error}")))?;
        let ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(Moment {
            ms,
            dice: u32::from_le_bytes(dice),
        })
    }

    fn grant(&mut self, wish: Wish) -> Result<(), Failed> {
        let moment = self.moment()?;
        match wish {
            Wish::Follow {
                feed,
                after_seq,
                reply,
            } => {
                if let Some(failure) = feed.ended() {
                    let _ = reply.send(Err(failure));
                    return Ok(());
                }
                let session = feed.session.clone();
                self.joining.entry(session.clone()).or_default().push(reply);
                self.feeds.insert(session.clone(), feed);
                self.machine.want(moment, &session, after_seq);
            }
            Wish::Request {
                token,
                request,
                reply,
            } => {
                self.answers.insert(token, reply);
                self.machine.request(moment, token, *request);
            }
            Wish::Cancel(token) => {
                self.answers.remove(&token);
                self.machine.cancel(token);
            }
            Wish::Dial => self.machine.dial_now(moment),
        }
        Ok(())
    }

    /// Ends the feeds that nobody holds.
    fn forget_unwanted(&mut self) -> Result<(), Failed> {
        let moment = self.moment()?;
        for feed in self.parts.shared.take_unheld() {
            feed.fail(Failure::Connection("nobody wanted it any more".into()));
            if self
                .feeds
                .get(&feed.session)
                .is_some_and(|known| Arc::ptr_eq(known, &feed))
            {
                self.feeds.remove(&feed.session);
                self.joining.remove(&feed.session);
                self.machine.unwant(moment, &feed.session);
            }
        }
        Ok(())
    }

    fn take(&mut self, told: Told) -> Result<(), Failed> {
        let moment = self.moment()?;
        match told {
            Told::Dialled(Ok(socket)) => {
                self.link = Link::Up(socket);
                self.machine.opened(moment);
            }
            Told::Dialled(Err(failed)) => {
                self.link = Link::Down;
                self.machine.dial_failed(moment, failed.why, failed.for_good);
            }
            Told::Came(all) => {
                for came in all {
                    match came {
                        Came::Frame(frame) => self.machine.received(moment, frame),
                        Came::Sign => self.machine.heard(moment),
                        Came::Closed(why) => self.machine.closed(moment, why),
                    }
                }
            }
        }
        Ok(())
    }

    /// Performs what the machine wants, until it wants nothing.
    async fn obey(&mut self) -> Result<(), Failed> {
        let mut frames = Vec::new();
        loop {
            while let Some(command) = self.machine.next_command() {
                if !self.comes_with_the_last(&command) {
                    self.pass_on().await;
                }
                self.perform(command, &mut frames)?;
            }
            self.pass_on().await;
            if frames.is_empty() {
                return Ok(());
            }
            if let Link::Up(socket) = &mut self.link
                && let Err(why) = socket.send(std::mem::take(&mut frames)).await
            {
                let moment = self.moment()?;
                self.machine.closed(moment, why);
            }
            frames.clear();
        }
    }

    fn comes_with_the_last(&self, command: &Command) -> bool {
        match (command, self.came.last()) {
            (Command::Deliver(fact, _), Some((last, _))) => fact.session_id == last.session_id,
            (Command::Deliver(..), None) => true,
            _ => false,
        }
    }

    /// Passes on the facts that came together.
    async fn pass_on(&mut self) {
        let Some((first, _)) = self.came.first() else {
            return;
        };
        let feed = self.feeds.get(&first.session_id).cloned();
        let came = std::mem::take(&mut self.came);
        let Some(feed) = feed else { return };
        let facts = feed.take_in(came).await;
        if self.bus.subscriptions() > 0 {
            let event = |fact: &Fact| Arc::new(SystemEvent::Environment(fact.clone()));
            // A bus that is closed has no readers left to miss anything.
            let _ = self.bus.publish_all(facts.iter().map(event).collect()).await;
        }
    }

    fn perform(&mut self, command: Command, frames: &mut Vec<ClientFrame>) -> Result<(), Failed> {
        match command {
            Command::Dial => self.link = Link::dial(&self.parts.dialler),
            Command::HangUp => {
                self.link = Link::Down;
                frames.clear();
            }
            Command::Authenticate(challenge, proof) => {
                let answer = self.answer(&challenge, proof.as_deref());
                let moment = self.moment()?;
                self.machine.credentials(moment, answer);
            }
            Command::Send(frame) => frames.push(frame),
            Command::Deliver(fact, bytes) => self.came.push((fact, bytes)),
            Command::Began(began) => {
                if let Some(feed) = self.feeds.get(&began.session_id) {
                    feed.note_role(began.role);
                }
                for reply in self.joining.remove(&began.session_id).unwrap_or_default() {
                    let _ = reply.send(Ok(began.clone()));
                }
            }
            Command::Ended(session, failure) => self.end(&session, &failure),
            Command::Answer { token, answer, sends } => {
                if let Some(reply) = self.answers.remove(&token) {
                    let _ = reply.send(Answered { answer, sends });
                }
            }
            Command::People(notice) => self.note_people(*notice),
            Command::Waiting(call) => self.parts.shared.calls.add(*call),
            Command::Notify(state) => drop(self.parts.shared.state.send_replace(state)),
        }
        Ok(())
    }

    /// What the server is told of who connects.
    fn answer(&self, challenge: &Challenge, proof: Option<&str>) -> Result<Authenticate, String> {
        let Link::Up(socket) = &self.link else {
            return Err("the connection is gone".into());
        };
        let asked = Asked {
            challenge,
            proof,
            nonce: socket.nonce(),
            exported: socket.exported()?,
        };
        let Parts {
            who, dialler, client, ..
        } = &self.parts;
        who.answer(&asked, dialler.peer(), client)
    }

    fn note_people(&self, notice: ServerNotice) {
        let session = match &notice {
            ServerNotice::Presence(presence) => &presence.session_id,
            ServerNotice::Wheel(wheel) => &wheel.session_id,
            _ => return,
        };
        if let Some(feed) = self.feeds.get(session) {
            feed.note_people(notice);
        }
    }

    fn end(&mut self, session: &SessionId, failure: &Failure) {
        if let Some(feed) = self.feeds.remove(session) {
            self.parts.shared.remove(&feed);
            feed.fail(failure.clone());
        }
        for reply in self.joining.remove(session).unwrap_or_default() {
            let _ = reply.send(Err(failure.clone()));
        }
    }
}

impl Drop for Driver {
    /// Whoever follows a session is told that nothing more comes, however this ends.
    fn drop(&mut self) {
        let why = "the connection was closed here";
        for feed in self.feeds.values() {
            feed.fail(Failure::Connection(why.into()));
        }
        self.parts.shared.state.send_if_modified(|state| {
            let is_over = matches!(state, ConnectionState::GaveUp { .. });
            if !is_over {
                *state = ConnectionState::GaveUp { why: why.into() };
            }
            !is_over
        });
    }
}
