//! The process of the readers: many mirrors that follow sessions over WebSockets, count events and
//! their delays, check that none is missing or duplicated, and continue by `seq` if they are cut off.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use agentx_tests::model_server::now_us;
use serde_json::{Value, json};
use tokio::task::LocalSet;

use crate::histogram::Histogram;
use crate::identity;
use crate::process::Role;
use crate::socket::{Kind, READ_BYTES, Socket};

/// The size of the receive buffer of a reader with a small socket, in bytes.
const SMALL_SOCKET: u32 = 16 * 1024;

/// The work of the readers.
#[derive(Clone, Debug)]
pub(crate) struct Readers {
    /// The server's address.
    pub(crate) url: String,
    /// Whether it is the bare one, which knows no sessions.
    pub(crate) bare: bool,
    /// The number of connections.
    pub(crate) connections: usize,
    /// The sessions; connection after connection takes the next ones, around and around.
    pub(crate) sessions: Vec<String>,
    /// The number of sessions that each connection follows.
    pub(crate) subscriptions: usize,
    /// The view of the events.
    pub(crate) view: &'static str,
    /// The number of connections that stop reading once they have caught up.
    pub(crate) stopped: usize,
}

impl Readers {
    /// Mirrors of sessions of a server.
    pub(crate) fn of(url: &str, connections: usize, sessions: &[String]) -> Self {
        Self {
            url: url.to_owned(),
            bare: false,
            connections,
            sessions: sessions.to_vec(),
            subscriptions: 1,
            view: "environment",
            stopped: 0,
        }
    }

    /// Starts them; returns when all have caught up.
    pub(crate) fn start(&self) -> Reading {
        let spec = json!({
            "address": self.url.trim_start_matches("http://"),
            "bare": self.bare,
            "connections": self.connections,
            "sessions": self.sessions,
            "subscriptions": self.subscriptions,
            "view": self.view,
            "stopped": self.stopped,
        });
        // Too long for an argument if there are many sessions.
        let mut role = Role::start("read", &[]);
        role.tell(&spec.to_string());
        let caught_up = role.hear();
        Reading {
            slowest_ms: caught_up.parse().expect("a time"),
            role,
        }
    }
}

/// Readers at work.
pub(crate) struct Reading {
    pub(crate) role: Role,
    /// The time of the slowest from its request until it had caught up.
    pub(crate) slowest_ms: f64,
}

/// The counts of readers in some time.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) events_per_s: f64,
    pub(crate) bytes_per_s: f64,
    /// From the sequencer's clock in the event to the reader, in milliseconds.
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) most: f64,
    /// The number of readers that were cut off.
    pub(crate) cuts: u64,
    /// Events that were missing, or came again.
    pub(crate) wrong: u64,
    /// The reasons that the server gave.
    pub(crate) reasons: String,
}

impl Reading {
    /// Watches for so long.
    pub(crate) fn watch(&mut self, time: Duration) -> Seen {
        self.role.tell("count");
        std::thread::sleep(time);
        self.role.tell("report");
        let report: Value = serde_json::from_str(&self.role.hear()).expect("a report");
        let number = |name: &str| report[name].as_f64().unwrap_or(f64::NAN);
        let seconds = number("seconds");
        Seen {
            events_per_s: number("events") / seconds,
            bytes_per_s: number("bytes") / seconds,
            p50: number("p50"),
            p99: number("p99"),
            most: number("most"),
            cuts: report["cuts"].as_u64().unwrap_or(0),
            wrong: report["wrong"].as_u64().unwrap_or(0),
            reasons: report["reasons"].to_string(),
        }
    }
}

/// The sum of the counts of all mirrors of the process.
#[derive(Default)]
struct Counts {
    began: Cell<Option<Instant>>,
    events: Cell<u64>,
    bytes: Cell<u64>,
    late: RefCell<Histogram>,
    cuts: Cell<u64>,
    wrong: Cell<u64>,
    reasons: RefCell<BTreeMap<String, u64>>,
    caught_up: RefCell<Vec<f64>>,
}

impl Counts {
    fn reset(&self) {
        self.began.set(Some(Instant::now()));
        self.events.set(0);
        self.bytes.set(0);
        self.cuts.set(0);
        self.wrong.set(0);
        *self.late.borrow_mut() = Histogram::default();
    }

    fn report(&self) -> Value {
        let late = self.late.borrow();
        json!({
            "seconds": self.began.get().map_or(0.0, |began| began.elapsed().as_secs_f64()),
            "events": self.events.get(),
            "bytes": self.bytes.get(),
            "p50": late.per_mille(500),
            "p99": late.per_mille(990),
            "most": late.most(),
            "cuts": self.cuts.get(),
            "wrong": self.wrong.get(),
            "reasons": *self.reasons.borrow(),
        })
    }
}

/// The process.
pub(crate) fn read() {
    LocalSet::new().block_on(&crate::process::runtime(0), async {
        let mut orders = crate::process::orders();
        let spec = orders.recv().await.unwrap_or_default();
        let spec: Value = serde_json::from_str(&spec).expect("what to do");
        let counts = Rc::new(Counts::default());
        let connections = usize::try_from(spec["connections"].as_u64().unwrap_or(0)).unwrap_or(0);
        for index in 0..connections {
            let mirror = Mirror::new(&spec, index, counts.clone());
            tokio::task::spawn_local(mirror.run());
            // The listener's queue is short; and nobody arrives all at once.
            while counts.caught_up.borrow().len() + 64 < index {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
        while counts.caught_up.borrow().len() < connections {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        println!(
            "{}",
            counts.caught_up.borrow().iter().copied().fold(0.0, f64::max)
        );
        while let Some(order) = orders.recv().await {
            match order.as_str() {
                "count" => counts.reset(),
                _ => println!("{}", counts.report()),
            }
        }
    });
}

struct Mirror {
    address: SocketAddr,
    bare: bool,
    view: String,
    sessions: Vec<String>,
    stops: bool,
    counts: Rc<Counts>,
    /// The last event that it has of a session.
    last: u64,
    asked: Option<Instant>,
    behind: usize,
}

/// Something that is not an event.
enum Notice {
    Said(Value),
    Ping,
}

impl Mirror {
    fn new(spec: &Value, index: usize, counts: Rc<Counts>) -> Self {
        let all = spec["sessions"].as_array().cloned().unwrap_or_default();
        let each = usize::try_from(spec["subscriptions"].as_u64().unwrap_or(1)).unwrap_or(1);
        let sessions = all
            .iter()
            .cycle()
            .skip(index * each % all.len().max(1))
            .take(each);
        Self {
            address: spec["address"]
                .as_str()
                .and_then(|text| text.parse().ok())
                .expect("an address"),
            bare: spec["bare"] == true,
            view: spec["view"].as_str().unwrap_or_default().to_owned(),
            sessions: sessions.filter_map(|id| id.as_str().map(str::to_owned)).collect(),
            stops: (index as u64) < spec["stopped"].as_u64().unwrap_or(0),
            counts,
            last: 0,
            asked: None,
            behind: 0,
        }
    }

    /// Follows, and comes back, for ever.
    async fn run(mut self) {
        let mut scratch = vec![0; READ_BYTES];
        loop {
            let end = self.follow(&mut scratch).await;
            let reason = end
                .err()
                .map_or_else(|| "ended".to_owned(), |error| error.to_string());
            *self.counts.reasons.borrow_mut().entry(reason).or_default() += 1;
            self.counts.cuts.set(self.counts.cuts.get() + 1);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    async fn follow(&mut self, scratch: &mut [u8]) -> std::io::Result<()> {
        let path = if self.bare { "/" } else { "/v1/socket" };
        let small = self.stops.then_some(SMALL_SOCKET);
        let mut socket = Socket::connect(self.address, path, small).await?;
        if self.bare {
            self.is_there();
        }
        let mut notices = Vec::new();
        loop {
            let goes_on = self.take(&mut socket, scratch, &mut notices).await?;
            for notice in notices.drain(..) {
                match notice {
                    Notice::Ping => socket.pong().await?,
                    Notice::Said(notice) => self.heed(&mut socket, &notice).await?,
                }
            }
            if !goes_on {
                return Ok(());
            }
            if self.stops && self.asked.is_some() && self.behind == 0 {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Reads once and counts what came.
    async fn take(
        &mut self,
        socket: &mut Socket,
        scratch: &mut [u8],
        notices: &mut Vec<Notice>,
    ) -> std::io::Result<bool> {
        let counts = self.counts.clone();
        let is_single = self.sessions.len() == 1 && self.view == "environment";
        let (mut events, mut bytes, mut wrong, mut last, mut now) = (0, 0, 0, self.last, 0);
        let is_counting = counts.began.get().is_some();
        let goes_on = socket
            .read(scratch, |kind, payload| match (kind, event(payload)) {
                (Kind::Text, Some((seq, at))) => {
                    if is_single && last != 0 {
                        wrong += seq.abs_diff(last + 1);
                    }
                    last = seq;
                    events += 1;
                    bytes += payload.len() as u64;
                    if is_counting {
                        if now == 0 {
                            now = u64::try_from(now_us()).unwrap_or(0);
                        }
                        counts.late.borrow_mut().add(now.saturating_sub(at));
                    }
                }
                (Kind::Text, None) => {
                    notices.push(Notice::Said(serde_json::from_slice(payload).unwrap_or_default()))
                }
                (Kind::Ping, _) => notices.push(Notice::Ping),
                (Kind::Close | Kind::Other, _) => {}
            })
            .await?;
        self.last = last;
        counts.events.set(counts.events.get() + events);
        counts.bytes.set(counts.bytes.get() + bytes);
        counts.wrong.set(counts.wrong.get() + wrong);
        Ok(goes_on)
    }

    async fn heed(&mut self, socket: &mut Socket, notice: &Value) -> std::io::Result<()> {
        match notice["event"].as_str() {
            Some("hello") => {
                let frame = identity::authenticate(&notice["payload"]);
                socket.say(&frame.to_string()).await
            }
            Some("accepted") if notice["payload"]["id"] == "me" => self.subscribe(socket).await,
            Some("caught_up") => {
                self.behind = self.behind.saturating_sub(1);
                if self.behind == 0 {
                    self.is_there();
                }
                Ok(())
            }
            Some("ping") => socket.say(r#"{"type":"ping","id":"p","payload":{}}"#).await,
            Some("bye" | "refused" | "unsubscribed") => Err(std::io::Error::other(notice.to_string())),
            _ => Ok(()),
        }
    }

    async fn subscribe(&mut self, socket: &mut Socket) -> std::io::Result<()> {
        self.asked = Some(Instant::now());
        self.behind = self.sessions.len();
        for (index, session) in self.sessions.iter().enumerate() {
            let frame = json!({"type": "subscribe", "id": format!("s{index}"), "payload": {
                "session_id": session, "after_seq": self.last, "view": self.view}});
            socket.say(&frame.to_string()).await?;
        }
        if self.sessions.is_empty() {
            self.is_there();
        }
        Ok(())
    }

    /// It has caught up, for the first time or again.
    fn is_there(&self) {
        let took = self
            .asked
            .map_or(0.0, |asked| asked.elapsed().as_secs_f64() * 1e3);
        self.counts.caught_up.borrow_mut().push(took);
    }
}

/// `seq` and time of an event; `None` if it is none.
fn event(frame: &[u8]) -> Option<(u64, u64)> {
    let (seq, rest) = digits(frame.strip_prefix(b"{\"seq\":")?);
    let rest = match rest.strip_prefix(b",\"index\":") {
        Some(index) => digits(index).1,
        None => rest,
    };
    Some((seq, digits(rest.strip_prefix(b",\"at\":")?).0))
}

fn digits(bytes: &[u8]) -> (u64, &[u8]) {
    let mut number = 0;
    let mut rest = bytes;
    while let Some((digit, after)) = rest.split_first().filter(|(digit, _)| digit.is_ascii_digit()) {
        number = number * 10 + u64::from(digit - b'0');
        rest = after;
    }
    (number, rest)
}
