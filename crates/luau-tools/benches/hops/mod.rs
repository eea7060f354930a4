//! Round trips to another thread without any work, through channels of std.

use std::hint::{self, black_box};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::Instant;

use futures_util::stream::{self, StreamExt};
use serde_json::Value;
use tokio::sync::oneshot;

use crate::measure::micros;

/// A round trip to another thread with a copy of the arguments, and nothing else: microseconds by the clock.
pub(crate) async fn hop(args: &Value, rounds: usize, at_once: usize) -> f64 {
    let (there, told) = channel::<(Value, oneshot::Sender<Value>)>();
    std::thread::spawn(move || told.into_iter().for_each(|(value, back)| drop(back.send(value))));
    let began = Instant::now();
    let hops = stream::iter(0..rounds).map(|_| {
        let (back, answer) = oneshot::channel();
        there.send((args.clone(), back)).unwrap();
        answer
    });
    hops.buffer_unordered(at_once)
        .for_each(|value| async { drop(black_box(value)) })
        .await;
    micros(began.elapsed(), rounds)
}

/// The same to a thread that never sleeps; the caller polls for the answer all the time.
pub(crate) fn awake(args: &Value, rounds: usize) -> f64 {
    let ((there, told), (back, answer)) = (channel::<Value>(), channel());
    std::thread::spawn(move || {
        while let Ok(value) = spun(&told) {
            if back.send(value).is_err() {
                return;
            }
        }
    });
    let began = Instant::now();
    for _ in 0..rounds {
        there.send(args.clone()).unwrap();
        drop(black_box(spun(&answer).unwrap()));
    }
    micros(began.elapsed(), rounds)
}

fn spun(from: &Receiver<Value>) -> Result<Value, TryRecvError> {
    loop {
        match from.try_recv() {
            Err(TryRecvError::Empty) => hint::spin_loop(),
            other => return other,
        }
    }
}
