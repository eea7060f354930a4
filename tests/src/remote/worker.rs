//! A model that works: for a prompt `work <marker> turns=T words=W calls=C lines=L pace=MS` it speaks, wants
//! commands run that each write their own id into a file and say L lines, and ends after T answers. How often
//! it was asked for each marker is kept.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;

use crate::model_server::{Answer, ModelServer};

/// The model.
#[derive(Clone, Debug)]
pub struct Worker {
    server: ModelServer,
    asked: Arc<Mutex<BTreeMap<String, usize>>>,
}

/// One prompt, as it was understood.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Order {
    marker: String,
    turns: u64,
    words: u64,
    calls: u64,
    lines: u64,
    pace: u64,
}

impl Order {
    fn of(text: &str) -> Self {
        let mut words = text.split_whitespace().skip_while(|word| *word != "work").skip(1);
        let marker = words.next().unwrap_or("none").to_owned();
        let rest: Vec<&str> = words.collect();
        let number = |name: &str, usual: u64| {
            let found = rest
                .iter()
                .find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
            found.and_then(|number| number.parse().ok()).unwrap_or(usual)
        };
        Self {
            marker,
            turns: number("turns", 2),
            words: number("words", 20),
            calls: number("calls", 1),
            lines: number("lines", 2),
            pace: number("pace", 1),
        }
    }
}

impl Worker {
    /// Starts it.
    ///
    /// # Panics
    /// Panics if there is no port to be had.
    pub fn start() -> Self {
        let asked: Arc<Mutex<BTreeMap<String, usize>>> = Arc::default();
        let (book, next) = (asked.clone(), AtomicU64::new(0));
        let script = move |body: &[u8]| {
            let request: Value = serde_json::from_slice(body).unwrap_or_default();
            let (order, turn) = last_order(&request);
            let mut book = book.lock().unwrap_or_else(PoisonError::into_inner);
            *book.entry(order.marker.clone()).or_default() += 1;
            drop(book);
            answer(&order, turn, next.fetch_add(1, Ordering::SeqCst))
        };
        let server = ModelServer::start(script).expect("a free port");
        Self { server, asked }
    }

    /// Returns the value for `ANTHROPIC_BASE_URL`.
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Returns the number of requests for each marker.
    pub fn asked(&self) -> BTreeMap<String, usize> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Returns the last message of a person, and the number of answers since.
fn last_order(request: &Value) -> (Order, u64) {
    let messages = request["messages"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let mut turn = 0;
    for message in messages.iter().rev() {
        if message["role"] == "assistant" {
            turn += 1;
            continue;
        }
        if let Some(text) = text_of(&message["content"]) {
            return (Order::of(&text), turn);
        }
    }
    (Order::of(""), turn)
}

fn text_of(content: &Value) -> Option<String> {
    if let Some(text) = content.as_str() {
        return Some(text.to_owned());
    }
    let mut parts = content.as_array()?.iter().rev();
    parts.find_map(|part| part["text"].as_str().map(str::to_owned))
}

fn answer(order: &Order, turn: u64, number: u64) -> Answer {
    let is_last = turn + 1 >= order.turns;
    let call = |index: u64| {
        let id = format!("toolu_{number}_{index}");
        let command = format!("echo {id} {} >> counter; seq {}", order.marker, order.lines);
        (id, command)
    };
    Answer {
        words: (0..order.words)
            .map(|word| format!("{}-{turn}-{word} ", order.marker))
            .collect(),
        calls: (0..if is_last { 0 } else { order.calls }).map(call).collect(),
        pace: Duration::from_millis(order.pace),
        ..Answer::default()
    }
}
