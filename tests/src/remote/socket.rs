//! A WebSocket client that knows nothing about the frames except that they are JSON.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::BOUND;
use crate::remote::{Lost, Who};

/// A connection. Nothing is done twice and nothing is mended.
pub struct Socket {
    stream: WebSocketStream<TcpStream>,
    /// The first frame of the server.
    pub hello: Value,
    /// Frames that came while the test waited for another one.
    aside: VecDeque<Value>,
    frames: u64,
    /// The maximum silence of the server.
    pub silence: Duration,
}

impl Socket {
    /// Connects and reads the first frame.
    ///
    /// # Errors
    /// Returns an error if the connection cannot be made.
    pub async fn dial(address: SocketAddr, headers: &[(&'static str, &str)]) -> Result<Self, Lost> {
        let url = format!("ws://{address}/v1/socket");
        let mut request = url.into_client_request().map_err(|error| error.to_string())?;
        let mut all = vec![("sec-websocket-protocol", "agentx.v1")];
        all.extend(headers);
        for (name, value) in all {
            let value = HeaderValue::from_str(value).map_err(|error| error.to_string())?;
            request.headers_mut().insert(name, value);
        }
        let dialled = async {
            let tcp = TcpStream::connect(address)
                .await
                .map_err(|error| error.to_string())?;
            let _ = tcp.set_nodelay(true);
            client_async(request, tcp)
                .await
                .map_err(|error| format!("{error:?}"))
        };
        let (stream, _) = timeout(BOUND, dialled)
            .await
            .map_err(|_| "it was not connected in time")??;
        let mut socket = Self {
            stream,
            hello: Value::Null,
            aside: VecDeque::new(),
            frames: 0,
            silence: BOUND,
        };
        socket.hello = socket.try_next().await?["payload"].clone();
        Ok(socket)
    }

    /// Connects and says who it is, with a program that calls itself `client`.
    ///
    /// # Errors
    /// Returns an error if it is not let in.
    pub async fn try_enter(address: SocketAddr, who: &Who, client: &str) -> Result<Self, Lost> {
        let mut socket = Self::dial(address, &[]).await?;
        let mut answer = who.answer(&socket.hello);
        answer["client"] = client.into();
        match socket.try_ask("authenticate", answer).await? {
            Ok(_) => Ok(socket),
            Err(problem) => Err(problem.to_string()),
        }
    }

    /// The same, for a connection that has to work.
    ///
    /// # Panics
    /// Panics if it does not.
    pub async fn enter(address: SocketAddr, who: &Who, client: &str) -> Self {
        Self::try_enter(address, who, client).await.expect("it is let in")
    }

    /// Sends a frame; returns its id.
    ///
    /// # Errors
    /// Returns an error if the connection is lost.
    pub async fn try_send(&mut self, kind: &str, payload: &Value) -> Result<String, Lost> {
        self.frames += 1;
        let id = format!("f{}", self.frames);
        let frame = json!({"type": kind, "id": id, "payload": payload});
        self.try_text(frame.to_string()).await?;
        Ok(id)
    }

    /// Sends any text.
    ///
    /// # Errors
    /// Returns an error if the connection is lost.
    pub async fn try_text(&mut self, text: String) -> Result<(), Lost> {
        self.try_message(Message::text(text)).await
    }

    /// Sends any message.
    ///
    /// # Errors
    /// Returns an error if the connection is lost.
    pub async fn try_message(&mut self, message: Message) -> Result<(), Lost> {
        let sent = timeout(BOUND, self.stream.send(message)).await;
        sent.map_err(|_| "it does not listen")?
            .map_err(|error| format!("{error:?}"))
    }

    /// The next frame.
    ///
    /// # Errors
    /// If the connection is lost, or nothing comes for too long.
    pub async fn try_next(&mut self) -> Result<Value, Lost> {
        match self.aside.pop_front() {
            Some(frame) => Ok(frame),
            None => self.try_read().await,
        }
    }

    async fn try_read(&mut self) -> Result<Value, Lost> {
        loop {
            let message = timeout(self.silence, self.stream.next()).await;
            let message = message.map_err(|_| format!("nothing came for {:?}", self.silence))?;
            match message {
                Some(Ok(Message::Text(text))) => {
                    return serde_json::from_str(&text).map_err(|error| format!("{error}: {text}"));
                }
                Some(Ok(Message::Close(frame))) => return Err(format!("closed: {frame:?}")),
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(format!("{error:?}")),
                None => return Err("it ended".into()),
            }
        }
    }

    /// Sends a frame and waits for its answer: its result, or the problem. What else comes is kept for later.
    ///
    /// # Errors
    /// Returns an error if the connection is lost before.
    pub async fn try_ask(&mut self, kind: &str, payload: Value) -> Result<Result<Value, Value>, Lost> {
        let id = self.try_send(kind, &payload).await?;
        self.try_answer(&id).await
    }

    /// Waits for the answer to a frame that was sent.
    ///
    /// # Errors
    /// Returns an error if the connection is lost before.
    pub async fn try_answer(&mut self, id: &str) -> Result<Result<Value, Value>, Lost> {
        loop {
            let mut frame = self.try_read().await?;
            let is_it = frame["payload"]["id"] == id;
            match frame["event"].as_str() {
                Some("accepted") if is_it => return Ok(Ok(frame["payload"].take())),
                Some("refused") if is_it => return Ok(Err(frame["payload"]["problem"].take())),
                _ => self.aside.push_back(frame),
            }
        }
    }

    /// Asks for something that is done.
    ///
    /// # Panics
    /// If it is refused, or the connection is lost.
    pub async fn ask(&mut self, kind: &str, payload: Value) -> Value {
        let what = format!("{kind} {payload}");
        let answer = self.try_ask(kind, payload).await.expect("the connection lasts");
        answer.unwrap_or_else(|problem| panic!("{what}: {problem}"))
    }

    /// Asks for something that is refused; returns the code.
    ///
    /// # Panics
    /// If it is done, or the connection is lost.
    pub async fn refused(&mut self, kind: &str, payload: Value) -> String {
        let what = format!("{kind} {payload}");
        let answer = self.try_ask(kind, payload).await.expect("the connection lasts");
        match answer {
            Ok(done) => panic!("{what} was done: {done}"),
            Err(problem) => super::problem_code(&problem),
        }
    }

    /// Waits for such a frame; what comes before it is thrown away.
    ///
    /// # Panics
    /// Panics if it does not come.
    pub async fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let frame = self
                .try_next()
                .await
                .expect("it comes before the connection is lost");
            if wanted(&frame) {
                return frame;
            }
        }
    }

    /// Waits for an event, or notice, of this name.
    pub async fn event(&mut self, name: &str) -> Value {
        self.until(|frame| frame["event"] == name).await
    }

    /// Follows a session.
    pub async fn subscribe(&mut self, session: &str, after_seq: u64, view: &str) -> Value {
        let wish = json!({"session_id": session, "after_seq": after_seq, "view": view});
        self.ask("subscribe", wish).await
    }

    /// Waits until the server has closed it; says what came before.
    ///
    /// # Panics
    /// Panics if it does not close it.
    pub async fn is_closed(mut self) -> (Vec<Value>, Lost) {
        let mut before = Vec::new();
        let waited = timeout(BOUND, async {
            loop {
                match self.try_next().await {
                    Ok(frame) => before.push(frame),
                    Err(why) => return why,
                }
            }
        });
        let why = waited.await.expect("it is closed in time");
        (before, why)
    }
}
