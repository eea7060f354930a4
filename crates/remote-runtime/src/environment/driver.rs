//! Drives the reconnect machine: performs its commands on a socket and reports events to it.
//!
//! In each round the driver performs all commands of the machine and then waits for the first of: a stop, a
//! request, a feed without holders, an event of the socket, a time. It sends frames that are due at the same
//! time together, and passes on facts of one session that came together in one piece.

use std::collections::HashMap;
use std::sync::Arc;

use agentx_bus::Bus;
use agentx_bus::ReactorFailure;
use agentx_identity::AuthChallenge;
use agentx_runtime::{Fact, SystemEvent};
use agentx_types::SessionId;
use agentx_types::wire::{Accepted, Authenticate, ClientFrame, ServerNotice};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Duration, Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::feed::SessionFeed;
use super::link_reports::LinkReports;
use super::socket::{Dialler, LinkReport, LinkState, SocketEvent};
use super::{ConnectionRequest, ConnectionShared};
use crate::peer::ServerChallenge;
use crate::reconnect::{
    MachineCommand, MachineSettings, Moment, ReconnectMachine, RequestFailure, SubscriptionStart,
};
use crate::{ConnectionState, Credentials};

/// The parts of a driver, which live as long as the environment runs.
pub(super) struct Parts {
    /// The credentials that sign the server's challenge.
    pub(super) who: Credentials,
    /// The name of this program.
    pub(super) client: String,
    pub(super) dialler: Dialler,
    /// Limits and bounds for the machine.
    pub(super) settings: MachineSettings,
    /// The state that the handles of the connection share.
    pub(super) shared: Arc<ConnectionShared>,
    /// Reports the changes of the connection on the bus.
    pub(super) reports: LinkReports,
    /// Ends the driver, with a good-bye to the server.
    pub(super) stop: CancellationToken,
}

/// The one task behind a connection.
pub(super) struct ConnectionDriver {
    parts: Parts,
    bus: Bus<SystemEvent>,
    machine: ReconnectMachine,
    /// The socket, if there is one.
    link: LinkState,
    /// The start of the machine's milliseconds.
    began: Instant,
    /// The feeds that the machine knows.
    feeds: HashMap<SessionId, Arc<SessionFeed>>,
    /// Facts of one session that arrived together and have to be passed on.
    came: Vec<(Fact, usize)>,
    /// The callers that wait for a subscription to begin.
    joining: HashMap<SessionId, Vec<oneshot::Sender<Result<SubscriptionStart, RequestFailure>>>>,
    /// The callers that wait for the answer to a request.
    answers: HashMap<u64, oneshot::Sender<RequestReply>>,
}

/// The answer to a request, and the number of times the request was sent.
pub(super) struct RequestReply {
    pub(super) answer: Result<Accepted, RequestFailure>,
    pub(super) sends: u32,
}

impl ConnectionDriver {
    pub(super) fn new(parts: Parts, bus: Bus<SystemEvent>) -> Self {
        Self {
            machine: ReconnectMachine::new(parts.settings),
            parts,
            bus,
            link: LinkState::Down,
            began: Instant::now(),
            feeds: HashMap::new(),
            came: Vec::new(),
            joining: HashMap::new(),
            answers: HashMap::new(),
        }
    }

    /// Runs until the environment stops or every handle is gone.
    pub(super) async fn run(
        mut self,
        inbox: &mut mpsc::Receiver<ConnectionRequest>,
    ) -> Result<(), ReactorFailure> {
        let (stop, shared) = (self.parts.stop.clone(), self.parts.shared.clone());
        loop {
            self.perform_commands().await?;
            let wake = self.machine.wake_at();
            let wake = wake.map(|ms| self.began + Duration::from_millis(ms));
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                request = inbox.recv() => match request {
                    Some(request) => self.handle(request)?,
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
        if let LinkState::Up(socket) = std::mem::replace(&mut self.link, LinkState::Down) {
            socket.close().await;
        }
        Ok(())
    }

    /// The time since the driver began, with a die.
    fn moment(&self) -> Result<Moment, ReactorFailure> {
        let mut random = [0; 4];
        getrandom::fill(&mut random)
            .map_err(|error| ReactorFailure(format!("no random numbers available: {error}")))?;
        let ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(Moment {
            ms,
            random: u32::from_le_bytes(random),
        })
    }

    /// Hands a request to the machine.
    fn handle(&mut self, request: ConnectionRequest) -> Result<(), ReactorFailure> {
        let moment = self.moment()?;
        match request {
            ConnectionRequest::Follow {
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
                self.machine.add_subscription(moment, &session, after_seq);
            }
            ConnectionRequest::Request {
                token,
                request,
                reply,
            } => {
                self.answers.insert(token, reply);
                self.machine.request(moment, token, *request);
            }
            ConnectionRequest::Cancel(token) => {
                self.answers.remove(&token);
                self.machine.cancel(token);
            }
            ConnectionRequest::Dial => self.machine.dial_now(moment),
        }
        Ok(())
    }

    /// Ends the feeds that nobody holds.
    fn forget_unwanted(&mut self) -> Result<(), ReactorFailure> {
        let moment = self.moment()?;
        for feed in self.parts.shared.take_unheld() {
            feed.fail(RequestFailure::Connection("it has no reader any more".into()));
            if self
                .feeds
                .get(&feed.session)
                .is_some_and(|known| Arc::ptr_eq(known, &feed))
            {
                self.feeds.remove(&feed.session);
                self.joining.remove(&feed.session);
                self.machine.remove_subscription(moment, &feed.session);
            }
        }
        Ok(())
    }

    /// Passes an event of the link to the machine.
    fn take(&mut self, told: LinkReport) -> Result<(), ReactorFailure> {
        let moment = self.moment()?;
        match told {
            LinkReport::Dialled(Ok(socket)) => {
                self.link = LinkState::Up(socket);
                self.machine.opened(moment);
            }
            LinkReport::Dialled(Err(failed)) => {
                self.link = LinkState::Down;
                self.machine.dial_failed(moment, failed.why, failed.for_good);
            }
            LinkReport::Came(all) => {
                for came in all {
                    match came {
                        SocketEvent::Frame(frame) => self.machine.received(moment, frame),
                        SocketEvent::Sign => {
                            self.machine.note_frame(moment);
                            self.parts
                                .reports
                                .report_heartbeat(&self.parts.shared.state.borrow());
                        }
                        SocketEvent::Closed(why) => self.machine.closed(moment, why),
                    }
                }
            }
        }
        Ok(())
    }

    /// Performs the commands of the machine until there are none.
    async fn perform_commands(&mut self) -> Result<(), ReactorFailure> {
        let mut frames = Vec::new();
        loop {
            while let Some(command) = self.machine.next_command() {
                if !self.extends_last_fact(&command) {
                    self.forward().await;
                }
                self.perform(command, &mut frames)?;
            }
            self.forward().await;
            if frames.is_empty() {
                return Ok(());
            }
            if let LinkState::Up(socket) = &mut self.link
                && let Err(why) = socket.send(std::mem::take(&mut frames)).await
            {
                let moment = self.moment()?;
                self.machine.closed(moment, why);
            }
            frames.clear();
        }
    }

    /// Returns whether a command only adds a fact to those that are passed on together.
    fn extends_last_fact(&self, command: &MachineCommand) -> bool {
        match (command, self.came.last()) {
            (MachineCommand::Deliver(fact, _), Some((last, _))) => fact.session_id == last.session_id,
            (MachineCommand::Deliver(..), None) => true,
            _ => false,
        }
    }

    /// Passes on the facts that came together.
    async fn forward(&mut self) {
        let Some((first, _)) = self.came.first() else {
            return;
        };
        let feed = self.feeds.get(&first.session_id).cloned();
        let came = std::mem::take(&mut self.came);
        let Some(feed) = feed else { return };
        let facts = feed.publish(came).await;
        if self.bus.subscriptions() > 0 {
            let event = |fact: &Fact| Arc::new(SystemEvent::Environment(fact.clone()));
            // A bus that is closed has no readers left to miss anything.
            let _ = self.bus.publish_all(facts.iter().map(event).collect()).await;
        }
    }

    /// Performs one command. None of them waits: frames are collected, and feeds are notified afterwards.
    fn perform(
        &mut self,
        command: MachineCommand,
        frames: &mut Vec<ClientFrame>,
    ) -> Result<(), ReactorFailure> {
        match command {
            MachineCommand::Dial => self.link = LinkState::dial(&self.parts.dialler),
            MachineCommand::HangUp => {
                self.link = LinkState::Down;
                frames.clear();
            }
            MachineCommand::Authenticate(challenge, proof) => {
                let answer = self.answer(&challenge, proof.as_deref());
                let moment = self.moment()?;
                self.machine.credentials(moment, answer);
            }
            MachineCommand::Send(frame) => frames.push(frame),
            MachineCommand::Deliver(fact, bytes) => self.came.push((fact, bytes)),
            MachineCommand::Began(began) => {
                if let Some(feed) = self.feeds.get(&began.session_id) {
                    feed.note_role(began.role);
                }
                for reply in self.joining.remove(&began.session_id).unwrap_or_default() {
                    let _ = reply.send(Ok(began.clone()));
                }
            }
            MachineCommand::Ended(session, failure) => self.end(&session, &failure),
            MachineCommand::Answer { token, answer, sends } => {
                if let Some(reply) = self.answers.remove(&token) {
                    let _ = reply.send(RequestReply { answer, sends });
                }
            }
            MachineCommand::People(notice) => self.note_people(*notice),
            MachineCommand::Waiting(call) => self.parts.shared.calls.add(*call),
            MachineCommand::Notify(state) => self.note_state(state),
        }
        Ok(())
    }

    /// Tells holders of the connection and listeners on the bus that its state has changed.
    fn note_state(&self, state: ConnectionState) {
        let now = state.clone();
        let before = self.parts.shared.state.send_replace(state);
        self.parts.reports.changed(&before, &now);
    }

    /// Authenticates to the server.
    fn answer(&self, challenge: &AuthChallenge, proof: Option<&str>) -> Result<Authenticate, String> {
        let LinkState::Up(socket) = &self.link else {
            return Err("the connection is gone".into());
        };
        let asked = ServerChallenge {
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

    /// Passes a notice about people to the feed of its session. One that nobody follows is dropped.
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

    /// Ends the feed of a session, and answers callers that wait for its subscription.
    fn end(&mut self, session: &SessionId, failure: &RequestFailure) {
        if let Some(feed) = self.feeds.remove(session) {
            self.parts.shared.remove(&feed);
            feed.fail(failure.clone());
        }
        for reply in self.joining.remove(session).unwrap_or_default() {
            let _ = reply.send(Err(failure.clone()));
        }
    }
}

impl Drop for ConnectionDriver {
    /// Ends all feeds, however the driver ends.
    fn drop(&mut self) {
        let why = "the connection was closed here";
        for feed in self.feeds.values() {
            feed.fail(RequestFailure::Connection(why.into()));
        }
        let is_over = matches!(&*self.parts.shared.state.borrow(), ConnectionState::GaveUp { .. });
        if !is_over {
            self.note_state(ConnectionState::GaveUp { why: why.into() });
        }
    }
}
