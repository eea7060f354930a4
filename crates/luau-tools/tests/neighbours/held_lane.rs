//! Native work can hold the thread of a lane for any time: that is nothing to runs for other people and of
//! other owners' scripts. In these tests the work is a waker that a test holds, which the lane calls.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use agentx_luau_tools::{
    BoxFuture, Host, HostEffect, Lanes, Libraries, Outcome, Owner, Script, ScriptLimits,
};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::support::{Answers, world};

/// The time after which a test fails that waits for a lane.
const PATIENCE: Duration = Duration::from_secs(20);
/// Ends at once, or asks its host again and again.
const SCRIPT: &str =
    "function invoke(ctx, args) while args.hog do ctx.now() end return ctx.generate('m', 'p') end";

/// Keeps the lane's thread that wakes it until the test lets go.
struct HeldWake {
    entered: Sender<()>,
    released: Mutex<Receiver<()>>,
}

impl Wake for HeldWake {
    fn wake(self: Arc<Self>) {
        let is_lane = thread::current()
            .name()
            .is_some_and(|name| name.starts_with("luau-"));
        if is_lane {
            let _ = self.entered.send(());
            let _ = self.released.lock().unwrap().recv_timeout(PATIENCE);
        }
    }
}

fn invoke(script: &Script, host: Arc<dyn Host>, hog: bool, person: u64) -> BoxFuture<'static, Value> {
    let (script, limits) = (script.clone(), limits(person));
    Box::pin(async move {
        let run = script.invoke(json!({"hog": hog}), host, limits, CancellationToken::new());
        run.await.unwrap()
    })
}

fn limits(person: u64) -> ScriptLimits {
    ScriptLimits {
        effects: u64::MAX,
        cpu: PATIENCE,
        person: Some(person),
        ..ScriptLimits::default()
    }
}

/// A run whose lane stands in native work until this is dropped.
struct HeldRun {
    run: Option<BoxFuture<'static, Value>>,
    _release: Sender<()>,
}

/// Begins a run, and returns when its lane stands.
fn held(script: &Script, person: u64) -> HeldRun {
    let (entered, is_held) = channel();
    let (release, released) = channel();
    let released = Mutex::new(released);
    let waker = Waker::from(Arc::new(HeldWake { entered, released }));
    let mut run = invoke(script, Answers::new(world), true, person);
    let began = Instant::now();
    while is_held.try_recv().is_err() {
        let polled = run.as_mut().poll(&mut Context::from_waker(&waker));
        assert!(polled == Poll::Pending && began.elapsed() < PATIENCE);
    }
    HeldRun {
        run: Some(run),
        _release: release,
    }
}

/// Notes a question, and answers it when the test says so.
#[derive(Default)]
struct Later {
    asked: Notify,
    told: Arc<Notify>,
}

impl Host for Later {
    fn perform(&self, _: HostEffect) -> BoxFuture<'static, Outcome> {
        self.asked.notify_one();
        let told = Arc::clone(&self.told);
        Box::pin(async move {
            told.notified().await;
            Ok(json!("later"))
        })
    }
}

/// Two scripts of one owner, and one of another, on lanes of their own.
fn scripts(lanes: usize) -> [Script; 3] {
    let lanes = Lanes::new(lanes);
    let (one, other) = (Owner::on(Arc::clone(&lanes)), Owner::on(lanes));
    [&one, &one, &other].map(|owner| owner.compile("x", SCRIPT, Libraries::new()).unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_is_not_the_person_and_owner_of_a_held_lane_goes_on() {
    let [hers, same, other] = scripts(1);
    for (script, person) in [(&hers, 2), (&same, 2), (&other, 2), (&other, 1)] {
        let later = Arc::new(Later::default());
        let waits = tokio::spawn(invoke(script, Arc::clone(&later) as Arc<dyn Host>, false, person));
        later.asked.notified().await;
        let _held = held(&hers, 1);
        later.told.notify_one();
        let waited = tokio::time::timeout(PATIENCE / 2, waits).await;
        assert_eq!(
            waited.unwrap().unwrap(),
            json!("later"),
            "it waited before, for {person}"
        );
        let comes = invoke(script, Answers::new(world), false, person);
        let came = tokio::time::timeout(PATIENCE / 2, comes).await;
        assert_eq!(came.unwrap(), json!("m: p"), "it comes later, for {person}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_run_that_still_holds_its_lane_does_not_delay_the_next() {
    let [script, ..] = scripts(2);
    let mut held = held(&script, 1);
    held.run = None;
    for _ in 0..3 {
        let next = tokio::time::timeout(PATIENCE / 2, invoke(&script, Answers::new(world), false, 1));
        assert_eq!(next.await.unwrap(), json!("m: p"));
    }
}
