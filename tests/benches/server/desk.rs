//! A person's part: sends messages over a WebSocket, and requests over HTTP.

use std::time::Instant;

use serde_json::{Value, json};

use crate::pace::Stream;
use crate::socket::{READ_BYTES, Socket};

/// Somebody at a server.
pub(crate) struct Desk {
    runtime: tokio::runtime::Runtime,
    socket: Socket,
    scratch: Vec<u8>,
    client: reqwest::Client,
    url: String,
    token: Option<String>,
}

impl Desk {
    /// Says who it is.
    pub(crate) fn at(url: &str) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let runtime = crate::process::runtime(0);
        let address = url.trim_start_matches("http://").parse().expect("an address");
        let socket = runtime.block_on(Socket::connect(address, "/v1/socket", None));
        let mut desk = Self {
            runtime,
            socket: socket.expect("a connection"),
            scratch: vec![0; READ_BYTES],
            client: reqwest::Client::new(),
            url: url.to_owned(),
            token: None,
        };
        let hello = desk.hear(|notice| notice["event"] == "hello");
        let frame = crate::identity::authenticate(&hello["payload"]);
        desk.ask(&frame);
        desk
    }

    /// Lets a session stream.
    pub(crate) fn stream(&mut self, session: &str, stream: Stream) {
        self.ask(&json!({"type": "user_message", "id": session, "payload": {
            "session_id": session, "content": stream.words()}}));
    }

    /// Sends a frame and waits until it is accepted.
    fn ask(&mut self, frame: &Value) {
        let socket = &mut self.socket;
        let said = self.runtime.block_on(socket.say(&frame.to_string()));
        said.expect("the server listens");
        let answer = self.hear(|notice| notice["payload"]["id"] == frame["id"]);
        assert_eq!(answer["event"], "accepted", "{answer}");
    }

    /// Waits for such a notice.
    fn hear(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        let mut found = None;
        while found.is_none() {
            let read = self.socket.read(&mut self.scratch, |_, payload| {
                let notice: Value = serde_json::from_slice(payload).unwrap_or_default();
                if found.is_none() && wanted(&notice) {
                    found = Some(notice);
                }
            });
            let goes_on = self.runtime.block_on(read).expect("an answer");
            assert!(goes_on || found.is_some(), "the server hung up");
        }
        found.unwrap_or_default()
    }

    /// Asks for something over HTTP; how many milliseconds it took, and the answer.
    pub(crate) fn get(&mut self, path: &str) -> (f64, Value) {
        if self.token.is_none() {
            let challenge = self.send(
                self.client
                    .post(self.at_path("/v1/auth/challenge"))
                    .json(&json!({})),
            );
            let answer = crate::identity::answer(&challenge);
            let token = self.send(self.client.post(self.at_path("/v1/auth/token")).json(&answer));
            self.token = token["token"].as_str().map(str::to_owned);
        }
        let request = self.client.get(self.at_path(path));
        let began = Instant::now();
        let answer = self.send(request);
        (began.elapsed().as_secs_f64() * 1e3, answer)
    }

    fn at_path(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    fn send(&self, request: reqwest::RequestBuilder) -> Value {
        self.runtime.block_on(async {
            let request = match &self.token {
                Some(token) => request.bearer_auth(token),
                None => request,
            };
            let response = request.send().await.expect("an answer");
            let status = response.status();
            let text = response.text().await.expect("a body");
            assert!(status.is_success(), "{status}: {text}");
            serde_json::from_str(&text).expect("JSON")
        })
    }
}
