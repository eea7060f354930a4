//! The machine against a server and a network in simulated time: even if frames are cut, doubled, lost or
//! late, each reader gets exactly the log, in order and once, and each request is executed once.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use agentx_types::wire::{Accepted, ClientRequest, UserInputFrame};
use agentx_types::{ContentPart, InputMode, SessionId};
use proptest::prelude::*;

use super::tests::{accepted, authenticate, fact, hello, notice, subscribed};
use super::*;
use crate::incoming::IncomingFrame;

/// The fate of a frame on its way.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Arrive,
    Double,
    Vanish,
    Garble,
}

#[derive(Clone, Debug)]
enum SimulationStep {
    /// The session gets this many more facts.
    Append(u8, u8),
    /// This much time passes.
    Pass(u16),
    /// The connection is cut.
    Cut,
    /// The next dials fail.
    Down(u8),
    /// A reader of the session arrives, and needs all events after this position.
    Read(u8, u8),
    /// A person sends an input.
    Say(u8),
    /// The next frames, this many, have this fate.
    Frames(Fate, u8),
    /// From now on, frames take this long.
    Delay(u8),
}

fn steps() -> impl Strategy<Value = Vec<SimulationStep>> {
    let fate = prop_oneof![Just(Fate::Double), Just(Fate::Vanish), Just(Fate::Garble)];
    let step = prop_oneof![
        4 => (0..2u8, 1..9u8).prop_map(|(session, count)| SimulationStep::Append(session, count)),
        4 => (0..3000u16).prop_map(SimulationStep::Pass),
        2 => Just(SimulationStep::Cut),
        1 => (1..4u8).prop_map(SimulationStep::Down),
        1 => (0..2u8, 0..12u8).prop_map(|(session, after)| SimulationStep::Read(session, after)),
        1 => (0..2u8).prop_map(SimulationStep::Say),
        2 => (fate, 1..3u8).prop_map(|(fate, count)| SimulationStep::Frames(fate, count)),
        1 => (0..200u8).prop_map(SimulationStep::Delay),
    ];
    prop::collection::vec(step, 1..60)
}

/// A connection as the server has it.
#[derive(Default)]
struct SimulatedConnection {
    /// Frames on their way, and when they arrive.
    frames: VecDeque<(u64, Result<IncomingFrame, String>)>,
    /// The latest sent `seq` of each session.
    subscriptions: BTreeMap<SessionId, u64>,
}

/// A reader of a session: it takes the next facts, remembers its place, and must miss nothing.
struct SimulatedReader {
    session: SessionId,
    has: u64,
}

struct SimulatedWorld {
    machine: ReconnectMachine,
    now: u64,
    random: u32,
    heads: BTreeMap<SessionId, u64>,
    keys: BTreeMap<String, u64>,
    line: Option<SimulatedConnection>,
    dialling: bool,
    down: u8,
    fate: (Fate, u8),
    delay: u64,
    readers: Vec<SimulatedReader>,
    /// The place up to which each session was delivered, or to which it went back.
    places: BTreeMap<SessionId, u64>,
    answers: BTreeMap<u64, u32>,
    said: u64,
}

fn session(number: u8) -> SessionId {
    SessionId::with_suffix(number)
}

impl SimulatedWorld {
    fn new(random: u32) -> Self {
        let mut world = Self {
            machine: ReconnectMachine::new(MachineSettings::default()),
            now: 0,
            random,
            heads: [(session(0), 3), (session(1), 0)].into(),
            keys: BTreeMap::new(),
            line: None,
            dialling: false,
            down: 0,
            fate: (Fate::Arrive, 0),
            delay: 0,
            readers: Vec::new(),
            places: BTreeMap::new(),
            answers: BTreeMap::new(),
            said: 0,
        };
        world.read(0, 0);
        world.read(1, 0);
        world
    }

    fn moment(&mut self) -> Moment {
        self.random = self.random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        Moment {
            ms: self.now,
            random: self.random >> 8,
        }
    }

    fn read(&mut self, number: u8, after: u64) {
        let (session, moment) = (session(number), self.moment());
        let has = after.min(self.heads[&session]);
        self.machine.add_subscription(moment, &session, has);
        let place = self.places.entry(session.clone()).or_insert(has);
        *place = has.min(*place);
        self.readers.push(SimulatedReader { session, has });
        self.perform_commands();
    }

    fn step(&mut self, step: &SimulationStep) {
        let moment = self.moment();
        match step {
            SimulationStep::Append(number, count) => {
                for _ in 0..*count {
                    self.append(&session(*number));
                }
            }
            SimulationStep::Pass(ms) => self.pass(u64::from(*ms)),
            SimulationStep::Cut => self.cut("cut"),
            SimulationStep::Down(times) => self.down = *times,
            SimulationStep::Read(number, after) => self.read(*number, u64::from(*after)),
            SimulationStep::Say(number) => {
                self.said += 1;
                let request = UserInputFrame {
                    session_id: session(*number),
                    content: vec![ContentPart::text("hi")],
                    mode: InputMode::Queue,
                    idempotency_key: Some(format!("key_{}", self.said)),
                    client_timestamp_utc: None,
                    client_timezone_offset: None,
                    wheel_epoch: None,
                    answer_schema: None,
                };
                self.machine.request(moment, self.said, request.into());
            }
            SimulationStep::Frames(fate, count) => self.fate = (*fate, *count),
            SimulationStep::Delay(ms) => self.delay = u64::from(*ms),
        }
        self.perform_commands();
    }

    fn cut(&mut self, why: &str) {
        if self.line.take().is_some() {
            let moment = self.moment();
            self.machine.closed(moment, why.into());
        }
    }

    fn append(&mut self, session: &SessionId) -> u64 {
        let head = self.heads.get_mut(session).unwrap();
        *head += 1;
        let seq = *head;
        if let Some(sent) = self
            .line
            .as_mut()
            .and_then(|line| line.subscriptions.get_mut(session))
        {
            *sent = seq;
            self.post(fact(session, seq));
        }
        seq
    }

    /// Sends a frame; only events are ever lost or doubled there.
    fn post(&mut self, frame: Result<IncomingFrame, String>) {
        let is_event = matches!(frame, Ok(IncomingFrame::Fact(..)));
        let at = self.now + self.delay;
        let Some(line) = &mut self.line else { return };
        let (fate, left) = &mut self.fate;
        let fate = if is_event && *left > 0 {
            *left -= 1;
            *fate
        } else {
            Fate::Arrive
        };
        match fate {
            Fate::Arrive => line.frames.push_back((at, frame)),
            Fate::Double => line.frames.extend([(at, frame.clone()), (at, frame)]),
            Fate::Vanish => {}
            Fate::Garble => line.frames.push_back((at, Err("garbage".into()))),
        }
    }

    /// Lets time pass, with everything that happens meanwhile.
    fn pass(&mut self, ms: u64) {
        let end = self.now + ms;
        loop {
            self.perform_commands();
            let frame = self
                .line
                .as_ref()
                .and_then(|line| line.frames.front())
                .map(|(at, _)| *at);
            let dialled = self.dialling.then_some(self.now + 1);
            let next = [frame, dialled, self.machine.wake_at()]
                .into_iter()
                .flatten()
                .min();
            let Some(next) = next.filter(|next| *next <= end) else {
                break;
            };
            self.now = self.now.max(next);
            let moment = self.moment();
            if std::mem::take(&mut self.dialling) {
                self.dialled(moment);
            } else if frame == Some(next) {
                let frame = self.line.as_mut().unwrap().frames.pop_front().unwrap().1;
                self.machine.received(moment, frame);
            } else {
                self.machine.tick(moment);
            }
        }
        self.now = end;
    }

    fn dialled(&mut self, moment: Moment) {
        if self.down > 0 {
            self.down -= 1;
            return self.machine.dial_failed(moment, "refused".into(), false);
        }
        self.line = Some(SimulatedConnection::default());
        self.machine.opened(moment);
        self.post(notice(hello()));
    }

    fn perform_commands(&mut self) {
        while let Some(command) = self.machine.next_command() {
            match command {
                MachineCommand::Dial => self.dialling = true,
                MachineCommand::HangUp => {
                    self.line = None;
                    self.dialling = false;
                }
                MachineCommand::Authenticate(..) => {
                    let moment = self.moment();
                    self.machine.credentials(moment, Ok(authenticate()));
                }
                MachineCommand::Send(frame) => self.serve(frame),
                MachineCommand::Deliver(fact, _) => self.deliver(&fact.session_id, fact.seq),
                MachineCommand::Answer { token, answer, .. } => {
                    assert!(answer.is_ok() || matches!(answer, Err(RequestFailure::Connection(_))));
                    *self.answers.entry(token).or_default() += 1;
                }
                MachineCommand::Ended(session, why) => panic!("{session} ended: {why:?}"),
                MachineCommand::Began(began) => {
                    assert_eq!(
                        began.after_seq, self.places[&began.session_id],
                        "it came back elsewhere"
                    );
                }
                MachineCommand::People(_) | MachineCommand::Waiting(_) | MachineCommand::Notify(_) => {}
            }
        }
    }

    fn serve(&mut self, frame: ClientFrame) {
        if self.line.is_none() {
            return;
        }
        match frame.request {
            ClientRequest::Subscribe(request) => {
                let head = self.heads[&request.session_id];
                self.post(subscribed(&request.session_id, request.after_seq, head));
                self.post(notice(accepted(&frame.id)));
                for seq in request.after_seq + 1..=head {
                    self.post(fact(&request.session_id, seq));
                }
                let line = self.line.as_mut().unwrap();
                let before = line.subscriptions.insert(request.session_id, head);
                assert_eq!(before, None, "one subscription a session and connection");
            }
            ClientRequest::Unsubscribe(request) => {
                self.line
                    .as_mut()
                    .unwrap()
                    .subscriptions
                    .remove(&request.session_id);
            }
            ClientRequest::UserInputFrame(said) => {
                let key = said.idempotency_key.unwrap();
                let seq = match self.keys.get(&key) {
                    Some(seq) => *seq,
                    None => self.append(&said.session_id),
                };
                self.keys.insert(key, seq);
                self.post(notice(Accepted {
                    seq: Some(seq),
                    ..accepted(&frame.id)
                }));
            }
            _ => self.post(notice(accepted(&frame.id))),
        }
    }

    fn deliver(&mut self, session: &SessionId, seq: u64) {
        let place = self.places.get_mut(session).unwrap();
        assert_eq!(seq, *place + 1, "out of order, or twice");
        *place = seq;
        for reader in self
            .readers
            .iter_mut()
            .filter(|reader| reader.session == *session)
        {
            assert!(
                seq <= reader.has + 1,
                "a reader at {} was given {seq}",
                reader.has
            );
            reader.has = reader.has.max(seq);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn readers_get_the_log_whatever_happens(steps in steps(), random in any::<u32>()) {
        let mut world = SimulatedWorld::new(random);
        for step in &steps {
            world.step(step);
        }
        // The network works again, and all readers want to read.
        (world.down, world.delay, world.fate) = (0, 0, (Fate::Arrive, 0));
        for number in 0..2 {
            world.step(&SimulationStep::Append(number, 1));
        }
        world.pass(300_000);
        for reader in &world.readers {
            prop_assert_eq!(reader.has, world.heads[&reader.session]);
        }
        prop_assert_eq!(world.answers.len() as u64, world.said);
        prop_assert!(world.answers.values().all(|times| *times == 1), "a request was answered twice");
    }
}
