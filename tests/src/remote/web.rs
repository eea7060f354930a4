//! An HTTP client that shares no code with the clients of this project except the signature.

use std::time::Duration;

use reqwest::Method;
use reqwest::header::HeaderMap;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::BOUND;
use crate::remote::{Lost, Stream, Who};

/// One person at a server, over HTTP.
#[derive(Debug)]
pub struct Web {
    url: String,
    client: reqwest::Client,
    who: Who,
    name: String,
    token: Mutex<Option<String>>,
}

/// The response of a server.
#[derive(Clone, Debug)]
pub struct Answered {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Vec<u8>,
}

impl Answered {
    /// The body as JSON; null if it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The code of the problem that it is, else nothing.
    pub fn code(&self) -> String {
        self.json()["code"].as_str().unwrap_or_default().to_owned()
    }

    /// Fails the test unless it was done.
    ///
    /// # Panics
    /// Panics if it was not.
    #[track_caller]
    pub fn done(self) -> Value {
        assert!((200..300).contains(&self.status), "{self}");
        self.json()
    }
}

impl std::fmt::Display for Answered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.status, self.text())
    }
}

/// The code of a problem.
pub fn problem_code(problem: &Value) -> String {
    problem["code"].as_str().unwrap_or_default().to_owned()
}

impl Web {
    /// Somebody at the server at `url`, with a program that calls itself `name`.
    ///
    /// # Panics
    /// Panics if there is no HTTP client to be had.
    pub fn new(url: &str, who: &Who, name: &str) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .tls_certs_only([])
            .connect_timeout(BOUND)
            .timeout(BOUND)
            .build()
            .expect("an HTTP client");
        Self {
            url: url.to_owned(),
            client,
            who: who.clone(),
            name: name.to_owned(),
            token: Mutex::new(None),
        }
    }

    /// The identity of the client.
    pub fn who(&self) -> &Who {
        &self.who
    }

    /// From now on it says that it is who has this token.
    pub async fn set_token(&self, token: Option<String>) {
        *self.token.lock().await = token;
    }

    /// Its token.
    ///
    /// # Panics
    /// Panics if it has none.
    pub async fn token(&self) -> String {
        self.token.lock().await.clone().expect("a token")
    }

    /// Asks for one thing; nothing is tried twice.
    ///
    /// # Errors
    /// If there is no answer, or not a whole one.
    pub async fn try_ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Result<Answered, Lost> {
        let body = body.map(Value::to_string);
        self.try_raw(method, path, headers, body).await
    }

    /// The same with any body.
    ///
    /// # Errors
    /// If there is no answer, or not a whole one.
    pub async fn try_raw(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<String>,
    ) -> Result<Answered, Lost> {
        let mut request = self.request(method, path, headers).await;
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body);
        }
        let response = request.send().await.map_err(|error| format!("{error:?}"))?;
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let body = response.bytes().await.map_err(|error| format!("{error:?}"))?;
        Ok(Answered {
            status,
            headers,
            body: body.to_vec(),
        })
    }

    async fn request(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> reqwest::RequestBuilder {
        let method: Method = method.parse().expect("a method");
        let mut request = self
            .client
            .request(method, format!("{}{path}", self.url))
            .header("agentx-client", &self.name);
        if let Some(token) = &*self.token.lock().await {
            request = request.bearer_auth(token);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request
    }

    /// Asks for one thing.
    ///
    /// # Panics
    /// Panics if there is no answer.
    pub async fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Answered {
        let answered = self.try_ask(method, path, &[], body).await;
        answered.unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    /// Reads something that has to be there.
    #[track_caller]
    pub fn get(&self, path: &str) -> impl Future<Output = Value> {
        let at = std::panic::Location::caller();
        async move {
            let answered = self.ask("GET", path, None).await;
            assert!(answered.status == 200, "{at}: GET {path}: {answered}");
            answered.json()
        }
    }

    /// Does something that has to work.
    #[track_caller]
    pub fn post(&self, path: &str, body: &Value) -> impl Future<Output = Value> {
        let at = std::panic::Location::caller();
        async move {
            let answered = self.ask("POST", path, Some(body)).await;
            let is_done = (200..300).contains(&answered.status);
            assert!(is_done, "{at}: POST {path}: {answered}");
            answered.json()
        }
    }

    /// Says who it is: from now on all that it asks is asked with a token. Nothing for a visitor.
    ///
    /// # Errors
    /// If it is not let in, or there is no answer.
    pub async fn try_sign_in(&self) -> Result<(), Lost> {
        if self.who.key().is_none() {
            return Ok(());
        }
        let challenge = self
            .try_ask("POST", "/v1/auth/challenge", &[], Some(&json!({})))
            .await?;
        let challenge = challenge.json();
        let answered = self
            .try_ask(
                "POST",
                "/v1/auth/token",
                &[],
                Some(&self.token_request(&challenge)),
            )
            .await?;
        let token = answered.json()["token"].as_str().map(str::to_owned);
        if token.is_none() {
            return Err(answered.to_string());
        }
        self.set_token(token).await;
        Ok(())
    }

    /// The body that answers a challenge over HTTP.
    pub fn token_request(&self, challenge: &Value) -> Value {
        let mut request = self.who.answer(challenge);
        request["nonce"] = challenge["nonce"].clone();
        request["expires_at_ms"] = challenge["expires_at_ms"].clone();
        request
    }

    /// Says who it is.
    ///
    /// # Panics
    /// Panics if it is not let in.
    #[must_use]
    pub async fn signed_in(self) -> Self {
        self.try_sign_in().await.expect("it is let in");
        self
    }

    /// A new session with the server's own agent.
    ///
    /// # Panics
    /// Panics if it cannot be made.
    pub async fn new_session(&self) -> String {
        let config = self.get("/v1/agent").await;
        let made = self.post("/v1/sessions", &json!({ "config": config })).await;
        made["session_id"].as_str().expect("a session").to_owned()
    }

    /// Says something; returns its `seq`.
    pub async fn say(&self, session: &str, text: &str, key: &str) -> Answered {
        let body = json!({"content": text, "idempotency_key": key});
        self.ask("POST", &format!("/v1/sessions/{session}/messages"), Some(&body))
            .await
    }

    /// Every fact of a session as a line, as the server exports it.
    ///
    /// # Panics
    /// Panics if it cannot be read.
    pub async fn export(&self, session: &str) -> Vec<String> {
        let path = format!("/v1/sessions/{session}/export");
        let answered = self.ask("GET", &path, None).await;
        assert_eq!(answered.status, 200, "{answered}");
        assert!(
            answered.body.ends_with(b"\n"),
            "the last line of an export is whole"
        );
        answered.text().lines().map(str::to_owned).collect()
    }

    /// All that the facts of a session mean, each event as a line.
    ///
    /// # Panics
    /// Panics if it cannot be read.
    pub async fn meaning(&self, session: &str) -> Vec<String> {
        self.events(session, "runtime").await
    }

    /// All events of a session in a view, each as a line, page by page.
    ///
    /// # Panics
    /// Panics if they cannot be read.
    pub async fn events(&self, session: &str, view: &str) -> Vec<String> {
        let (mut events, mut after) = (Vec::new(), 0);
        loop {
            let path = format!("/v1/sessions/{session}/events?view={view}&after_seq={after}");
            let page = self.get(&path).await;
            let items = page["items"].as_array().expect("a page");
            events.extend(items.iter().map(Value::to_string));
            match page["next_after_seq"].as_u64() {
                Some(next) => after = next,
                None => return events,
            }
        }
    }

    /// Follows a session as an event stream from after what was seen last.
    ///
    /// # Errors
    /// If there is no answer, or it is not a stream.
    pub async fn follow(&self, session: &str, view: &str, last: Option<&str>) -> Result<Stream, Lost> {
        let path = format!("/v1/sessions/{session}/events?view={view}");
        let mut headers = vec![("accept", "text/event-stream")];
        headers.extend(last.map(|last| ("last-event-id", last)));
        let request = self.request("GET", &path, &headers).await;
        // It lasts as long as it lasts.
        let request = request.timeout(Duration::from_secs(3_600));
        let response = request.send().await.map_err(|error| format!("{error:?}"))?;
        if response.status() != 200 {
            let status = response.status();
            return Err(format!("{status} {}", response.text().await.unwrap_or_default()));
        }
        Ok(Stream::new(response))
    }
}
