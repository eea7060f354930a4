//! One session as many streams: any interleaving of agents, slow readers, cuts and replays from anywhere.
//! Every stream gets exactly its events, in order, each once.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::{Arc, Mutex};

use agentx_runtime::streams::{
    AgentStream, Select, SlowReaderPolicy, StreamBody, StreamEnd, StreamEvent, StreamFold, StreamSource,
    StreamStart, Streams,
};
use agentx_runtime::{BoxFuture, Delivery, RuntimeError, Subscription};
use agentx_types::{
    AgentStarted, Chunk, Closed, Envelope, Eof, EventDraft, Medium, RunId, RuntimeEvent, SessionId, Source,
    TextDelta, Timestamp, ToolCompleted, ToolExecuting,
};
use proptest::prelude::*;
use tokio::sync::mpsc;

type Event = Arc<Envelope<RuntimeEvent>>;

/// A session whose events and cuts the test decides.
#[derive(Default)]
struct Session {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    events: Vec<Event>,
    readers: Vec<mpsc::Sender<Delivery>>,
    closed: bool,
    subscriptions: usize,
    /// The number of events at the last cut: a reader that is cut off twice without any news gives up.
    cut_at: usize,
    /// Nobody can reconnect any more.
    broken: bool,
}

impl StreamSource for Session {
    fn subscribe(&self, after_seq: u64) -> BoxFuture<'_, Result<Subscription, RuntimeError>> {
        let mut state = self.state.lock().unwrap();
        state.subscriptions += 1;
        let (out, deliveries) = mpsc::channel(10_000);
        if state.broken {
            out.try_send(Delivery::CutOff("the disk is gone".into())).unwrap();
        }
        for event in state
            .events
            .iter()
            .filter(|event| event.seq > after_seq && !state.broken)
        {
            out.try_send(Delivery::Runtime(event.clone())).unwrap();
        }
        out.try_send(Delivery::CaughtUp(state.events.len() as u64))
            .unwrap();
        if !state.closed {
            state.readers.push(out);
        }
        Box::pin(std::future::ready(Ok(Subscription { deliveries })))
    }
}

impl Session {
    fn publish(&self, agent: &str, same_fact: bool, event: impl Into<RuntimeEvent>) {
        let mut state = self.state.lock().unwrap();
        let last = state
            .events
            .last()
            .map_or((0, 0), |event| (event.seq, event.index.unwrap()));
        let (seq, index) = if same_fact && last.0 > 0 {
            (last.0, last.1 + 1)
        } else {
            (last.0 + 1, 0)
        };
        let draft = EventDraft::new(Source::Agent, Some(agent.into()), event);
        let mut envelope = draft.into_envelope(SessionId::new("ses_1"), seq, Timestamp(1));
        envelope.index = Some(index);
        let event = Arc::new(envelope);
        state.events.push(event.clone());
        state
            .readers
            .retain(|reader| reader.try_send(Delivery::Runtime(event.clone())).is_ok());
    }

    fn cut(&self, which: usize) {
        let mut state = self.state.lock().unwrap();
        if !state.readers.is_empty() && state.cut_at < state.events.len() {
            state.cut_at = state.events.len();
            let which = which % state.readers.len();
            let reader = state.readers.remove(which);
            // Its reader may be gone.
            let _ = reader.try_send(Delivery::CutOff("too slow".into()));
        }
    }

    fn close(&self) {
        let mut state = self.state.lock().unwrap();
        state.closed = true;
        state.readers.clear();
    }

    fn len(&self) -> usize {
        self.state.lock().unwrap().events.len()
    }

    /// Returns the events that a stream from `after` has to deliver.
    fn expected(&self, select: &Select, after: u64) -> Vec<StreamEvent> {
        let mut fold = StreamFold::default();
        let state = self.state.lock().unwrap();
        let said = state.events.iter().filter_map(|event| fold.apply(event));
        said.filter(|said| said.seq > after && select.wants(said))
            .collect()
    }
}

fn agent(number: usize) -> String {
    format!("agt_{number}")
}

/// Two agents share each name.
fn name(number: usize) -> String {
    format!("agent {}", number / 2)
}

fn word(session: &Session, number: usize, text: &str) {
    session.publish(&agent(number), false, TextDelta { text: text.into() });
}

fn start(session: &Session, number: usize) {
    let started = AgentStarted {
        name: name(number),
        parent: (number > 0).then(|| agent(0).as_str().into()),
        routes: false,
    };
    session.publish(&agent(number), false, started);
}

/// Lets all other tasks run until none has anything to do.
async fn settle() {
    for _ in 0..64 {
        tokio::task::yield_now().await;
    }
}

/// The next event, if one is ready already.
async fn ready(stream: &mut AgentStream) -> Option<Option<Arc<StreamEvent>>> {
    tokio::select! {
        biased;
        event = stream.next() => Some(event),
        () = settle() => None,
    }
}

async fn rest(stream: &mut AgentStream) -> Vec<Arc<StreamEvent>> {
    let mut out = Vec::new();
    while stream.next_many(&mut out, 3).await > 0 {}
    out
}

fn texts(events: &[Arc<StreamEvent>]) -> Vec<String> {
    let text = |event: &Arc<StreamEvent>| match &event.body {
        StreamBody::Chunk(chunk) => chunk.text.clone(),
        _ => event.kind().to_owned(),
    };
    events.iter().map(text).collect()
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.unwrap().block_on(future)
}

async fn streams(session: &Arc<Session>, after: u64) -> Streams {
    Streams::of(session.clone(), after).await.unwrap()
}

#[tokio::test]
async fn a_stream_is_opened_before_its_agent_exists_and_ends_with_it() {
    let session = Arc::new(Session::default());
    start(&session, 0);
    let streams = streams(&session, 0).await;
    let mut child = streams.open(Select::agent(agent(1).as_str()), SlowReaderPolicy::Lossless(8));
    let mut named = streams.open(Select::named(name(1)), SlowReaderPolicy::Lossless(8));
    start(&session, 1);
    word(&session, 1, "one");
    word(&session, 0, "zero");
    session.publish(
        &agent(1),
        false,
        Closed {
            reason: "done".into(),
        },
    );
    assert_eq!(texts(&rest(&mut child).await), ["one", "closed"]);
    assert_eq!(child.ended(), Some(&StreamEnd::AgentClosed));
    settle().await;
    let agents = streams.agents();
    let entries: Vec<_> = agents
        .iter()
        .map(|entry| {
            (
                entry.agent_state_id.as_str(),
                &*entry.name,
                entry.parent.is_some(),
                entry.closed,
            )
        })
        .collect();
    assert_eq!(
        entries,
        [
            ("agt_0", "agent 0", false, false),
            ("agt_1", "agent 0", true, true)
        ]
    );
    assert_eq!(streams.named("agent 0").len(), 1, "those that are there");
    // The stream of an agent that is gone has the earlier events, and ends.
    let mut late = streams.open(Select::agent(agent(1).as_str()), SlowReaderPolicy::Lossless(8));
    assert_eq!(texts(&rest(&mut late).await), ["one", "closed"]);
    let select = Select::agent(agent(1).as_str());
    let mut too_late = streams.open_from(select, SlowReaderPolicy::Lossless(8), StreamStart::Now);
    assert_eq!(texts(&rest(&mut too_late).await), [""; 0]);
    assert_eq!(too_late.ended(), Some(&StreamEnd::AgentClosed));
    session.close();
    assert_eq!(texts(&rest(&mut named).await), ["one", "zero", "closed"]);
    assert_eq!(named.ended(), Some(&StreamEnd::SessionEnded));
}

#[tokio::test]
async fn a_slow_reader_comes_back_from_the_log_and_takes_part_again() {
    let session = Arc::new(Session::default());
    start(&session, 0);
    let streams = streams(&session, 0).await;
    let mut slow = streams.open(Select::all(), SlowReaderPolicy::Lossless(2));
    let mut fast = streams.open(Select::all(), SlowReaderPolicy::Lossless(100));
    for number in 0..10 {
        word(&session, 0, &number.to_string());
    }
    let mut seen = Vec::new();
    while let Some(event) = ready(&mut fast).await.flatten() {
        seen.push(event);
    }
    assert_eq!(seen.len(), 10, "the fast one has everything");
    assert_eq!(
        session.state.lock().unwrap().subscriptions,
        1,
        "one reader of the session for all"
    );
    let mut seen = Vec::new();
    while let Some(event) = ready(&mut slow).await.flatten() {
        seen.push(event);
    }
    assert_eq!(
        texts(&seen),
        (0..10).map(|number| number.to_string()).collect::<Vec<_>>()
    );
    assert_eq!(session.state.lock().unwrap().subscriptions, 2);
    assert!(!slow.is_behind(), "it is where the others are");
    word(&session, 0, "live");
    assert_eq!(texts(&[ready(&mut slow).await.flatten().unwrap()]), ["live"]);
    assert_eq!(session.state.lock().unwrap().subscriptions, 2);
}

#[tokio::test]
async fn who_wants_only_what_is_new_is_told_how_much_was_dropped() {
    let session = Arc::new(Session::default());
    start(&session, 0);
    let streams = streams(&session, 0).await;
    let mut latest = streams.open(Select::all(), SlowReaderPolicy::Latest(3));
    for number in 0..10 {
        word(&session, 0, &number.to_string());
    }
    settle().await;
    session.close();
    assert_eq!(texts(&rest(&mut latest).await), ["7", "8", "9"]);
    assert_eq!(latest.dropped(), 7);
}

#[tokio::test]
async fn what_cannot_be_read_again_is_said() {
    let session = Arc::new(Session::default());
    start(&session, 0);
    let streams = streams(&session, 0).await;
    let mut stream = streams.open(Select::all(), SlowReaderPolicy::Lossless(8));
    word(&session, 0, "one");
    settle().await;
    session.state.lock().unwrap().broken = true;
    session.cut(0);
    assert_eq!(texts(&rest(&mut stream).await), ["one"]);
    assert_eq!(
        stream.ended(),
        Some(&StreamEnd::Failed("the disk is gone".into()))
    );
}

#[tokio::test]
async fn the_session_is_let_go_when_nobody_listens() {
    let session = Arc::new(Session::default());
    let streams = streams(&session, 0).await;
    let stream = streams.open(Select::all(), SlowReaderPolicy::Lossless(1));
    drop(streams);
    settle().await;
    let reader = session.state.lock().unwrap().readers[0].clone();
    assert!(!reader.is_closed(), "a stream is enough");
    drop(stream);
    settle().await;
    assert!(reader.is_closed());
}

#[derive(Clone, Debug)]
enum Happening {
    Say {
        agent: usize,
        what: u8,
        same_fact: bool,
    },
    Open {
        select: usize,
        policy: SlowReaderPolicy,
        from: Option<u8>,
    },
    Read {
        which: usize,
        count: usize,
    },
    Cut(usize),
    Settle,
}

const AGENTS: usize = 4;

fn happening() -> impl Strategy<Value = Happening> {
    let policy = prop_oneof![
        3 => (1..5usize).prop_map(SlowReaderPolicy::Lossless),
        1 => (1..5usize).prop_map(SlowReaderPolicy::Latest),
    ];
    prop_oneof![
        12 => (0..AGENTS, 0..24u8, any::<bool>()).prop_map(|(agent, what, same_fact)| Happening::Say { agent, what, same_fact }),
        2 => (0..SELECTIONS, policy, proptest::option::of(any::<u8>()))
            .prop_map(|(select, policy, from)| Happening::Open { select, policy, from }),
        5 => (0..8usize, 1..6usize).prop_map(|(which, count)| Happening::Read { which, count }),
        1 => (0..8usize).prop_map(Happening::Cut),
        3 => Just(Happening::Settle),
    ]
}

const SELECTIONS: usize = 3 * (1 + AGENTS + 2);

fn select(number: usize) -> Select {
    let whose = match number / 3 {
        0 => Select::all(),
        one if one <= AGENTS => Select::agent(agent(one - 1).as_str()),
        group => Select::named(name(2 * (group - AGENTS - 1))),
    };
    match number % 3 {
        0 => whose,
        1 => whose.medium(Medium::Text),
        _ => whose.medium(Medium::Audio),
    }
}

fn say(session: &Session, agent_number: usize, what: u8, same_fact: bool) {
    let id = agent(agent_number);
    if what < 23 && last_of(session, &id).is_some_and(|last| matches!(last, RuntimeEvent::Closed(_))) {
        return;
    }
    let text = session.len().to_string();
    let event: RuntimeEvent = match what {
        0..=9 => TextDelta { text }.into(),
        10..=14 => Chunk {
            medium: Medium::Audio,
            text,
            data: None,
            tool_call_id: Some("c1".into()),
        }
        .into(),
        15..=17 => ToolExecuting {
            tool_call_id: "c1".into(),
            name: "read".into(),
            input: serde_json::json!({}),
        }
        .into(),
        18..=20 => ToolCompleted {
            tool_call_id: "c1".into(),
            name: "read".into(),
            duration_ms: 0,
            details: None,
        }
        .into(),
        21..=22 => Eof {
            run_id: RunId::new("run_1"),
        }
        .into(),
        _ => return close_or_start(session, agent_number),
    };
    session.publish(&id, same_fact, event);
}

/// Returns the last arrival or departure of this agent.
fn last_of(session: &Session, id: &str) -> Option<RuntimeEvent> {
    let events = &session.state.lock().unwrap().events;
    let of = |event: &&Event| {
        event.agent_state_id.as_ref().is_some_and(|of| of.as_str() == id)
            && matches!(
                event.event,
                RuntimeEvent::AgentStarted(_) | RuntimeEvent::Closed(_)
            )
    };
    events.iter().rfind(of).map(|event| event.event.clone())
}

/// Closes the agent if it is there; starts it if it never was.
fn close_or_start(session: &Session, number: usize) {
    let id = agent(number);
    match last_of(session, &id) {
        None => start(session, number),
        Some(RuntimeEvent::AgentStarted(_)) => {
            session.publish(
                &id,
                false,
                Closed {
                    reason: "done".into(),
                },
            );
        }
        // Agents that are gone do not return.
        Some(_) => {}
    }
}

/// A stream, and all its events.
struct Listener {
    stream: AgentStream,
    select: Select,
    policy: SlowReaderPolicy,
    after: u64,
    seen: Vec<Arc<StreamEvent>>,
}

impl Listener {
    fn check(mut self, session: &Session) {
        let mut expected = session.expected(&self.select, self.after);
        if *self.stream.ended().unwrap() == StreamEnd::AgentClosed {
            let last = expected.iter().position(|said| said.kind() == "closed");
            // A stream that begins after the agent's end has no events.
            expected.truncate(last.map_or(0, |last| last + 1));
        }
        let seen: Vec<&StreamEvent> = self.seen.iter().map(|event| &**event).collect();
        if let SlowReaderPolicy::Lossless(_) = self.policy {
            let places =
                |events: &[&StreamEvent]| events.iter().map(|event| event.place()).collect::<Vec<_>>();
            let expected: Vec<_> = expected.iter().collect();
            assert_eq!(
                places(&seen),
                places(&expected),
                "{:?} {:?}",
                self.select,
                self.stream.ended()
            );
            assert_eq!(seen, expected);
            return;
        }
        assert_eq!(seen.len() as u64 + self.stream.dropped(), expected.len() as u64);
        let places: Vec<_> = seen.iter().map(|event| event.place()).collect();
        assert!(places.is_sorted_by(|left, right| left < right), "{places:?}");
        assert!(seen.iter().all(|event| expected.contains(event)));
        assert_eq!(seen.last().copied(), expected.last(), "the newest is kept");
        self.seen.clear();
    }
}

async fn play(steps: Vec<Happening>, begin: u64) {
    let session = Arc::new(Session::default());
    for number in 0..2 {
        start(&session, number);
    }
    for _ in 0..begin {
        word(&session, 0, "before");
    }
    let streams = streams(&session, begin).await;
    let mut listeners: Vec<Listener> = Vec::new();
    for step in steps {
        match step {
            Happening::Say {
                agent,
                what,
                same_fact,
            } => say(&session, agent, what, same_fact),
            Happening::Open {
                select: number,
                policy,
                from,
            } if listeners.len() < 8 => {
                let head = session.state.lock().unwrap().events.last().unwrap().seq;
                let after = from.map(|part| head * u64::from(part) / 255);
                let from = after.map_or(StreamStart::Start, StreamStart::After);
                listeners.push(Listener {
                    stream: streams.open_from(select(number), policy, from),
                    select: select(number),
                    policy,
                    after: after.unwrap_or(begin),
                    seen: Vec::new(),
                });
            }
            Happening::Open { .. } => {}
            Happening::Read { which, count } => {
                if let Some(listener) = listeners.get_mut(which) {
                    for _ in 0..count {
                        let Some(Some(event)) = ready(&mut listener.stream).await else {
                            break;
                        };
                        listener.seen.push(event);
                    }
                }
            }
            Happening::Cut(which) => session.cut(which),
            Happening::Settle => settle().await,
        }
    }
    settle().await;
    session.close();
    for mut listener in listeners {
        let rest = rest(&mut listener.stream).await;
        listener.seen.extend(rest);
        listener.check(&session);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_stream_gets_its_events_in_order_and_once(
        steps in proptest::collection::vec(happening(), 1..150),
        begin in 0..5u64,
    ) {
        block_on(play(steps, begin));
    }
}
