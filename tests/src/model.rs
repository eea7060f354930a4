//! A model whose replies are listed beforehand, on a [`ModelServer`]; the requests that it got are kept and
//! can be waited for.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::BOUND;
use crate::model_server::{Answer, ModelServer, Reply};

/// The answer at the end of the list.
const LAST_WORDS: &str = "all done";

/// A model with a list of replies, one for each request.
#[derive(Clone, Debug)]
pub struct Model {
    server: ModelServer,
    book: Arc<Book>,
}

#[derive(Debug, Default)]
struct Book {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    replies: VecDeque<Reply>,
    requests: Vec<Value>,
    held: bool,
}

impl Book {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reply(&self, body: &[u8]) -> Reply {
        let mut state = self.lock();
        state
            .requests
            .push(serde_json::from_slice(body).unwrap_or_default());
        let reply = state.replies.pop_front();
        self.changed.notify_all();
        let held = self.changed.wait_while(state, |state| state.held);
        drop(held);
        reply.unwrap_or_else(|| Model::words(&[LAST_WORDS]))
    }
}

impl Model {
    /// Starts it. After the last of `replies` it says that all is done.
    ///
    /// # Panics
    /// Panics if there is no port to be had.
    pub fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let book = Arc::new(Book::default());
        book.lock().replies.extend(replies);
        let writer = book.clone();
        let server = ModelServer::start(move |body| writer.reply(body)).expect("a free port");
        Self { server, book }
    }

    /// An answer in words.
    pub fn words(words: &[&str]) -> Reply {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        Reply::Answer(Answer {
            words,
            ..Answer::default()
        })
    }

    /// One call of `bash`.
    pub fn bash(id: &str, command: &str) -> Reply {
        Reply::Answer(Answer {
            calls: vec![(id.to_owned(), command.to_owned())],
            ..Answer::default()
        })
    }

    /// One call of any tool.
    pub fn call(id: &str, name: &str, input: Value) -> Reply {
        Reply::Answer(Answer {
            tools: vec![(id.to_owned(), name.to_owned(), input)],
            ..Answer::default()
        })
    }

    /// Returns the value for `ANTHROPIC_BASE_URL`.
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Adds replies at the end of the list.
    pub fn then(&self, replies: impl IntoIterator<Item = Reply>) {
        self.book.lock().replies.extend(replies);
    }

    /// From here on it says these, whatever was listed before.
    pub fn only(&self, replies: impl IntoIterator<Item = Reply>) {
        self.book.lock().replies = replies.into_iter().collect();
    }

    /// From here on requests are taken and not answered, until [`Self::release`].
    pub fn hold(&self) {
        self.book.lock().held = true;
    }

    /// Answers what was held.
    pub fn release(&self) {
        self.book.lock().held = false;
        self.book.changed.notify_all();
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<Value> {
        self.book.lock().requests.clone()
    }

    /// Waits for request number `number`, from 1.
    ///
    /// # Panics
    /// Panics if it does not come.
    pub fn request(&self, number: usize) -> Value {
        let state = self.book.lock();
        let waited = self
            .book
            .changed
            .wait_timeout_while(state, BOUND, |state| state.requests.len() < number);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let found = state.requests.get(number - 1).cloned();
        found.unwrap_or_else(|| panic!("request {number} never came; there were {}", state.requests.len()))
    }

    /// Returns the result of a call in the last request.
    ///
    /// # Panics
    /// If the request says nothing about the call, or more than once.
    pub fn told_about(&self, call: &str) -> String {
        let requests = self.requests();
        let last = requests.last().expect("a request");
        let messages = last["messages"].as_array().into_iter().flatten();
        let results: Vec<&Value> = messages
            .filter_map(|message| message["content"].as_array())
            .flatten()
            .filter(|part| part["type"] == "tool_result" && part["tool_use_id"] == call)
            .collect();
        let [result] = results[..] else {
            panic!("{} results of {call} in {last:#}", results.len());
        };
        result["content"].to_string()
    }
}
