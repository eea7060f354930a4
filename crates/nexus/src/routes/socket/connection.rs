//! A connection of the WebSocket: one task that reads frames of the client, and passes on events.

use std::time::Duration;

use agentx_identity::AuthChallenge;
use agentx_server::CountedConnection;
use agentx_types::SessionId;
use agentx_types::wire::Person;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket};
use axum::http::Method;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until, timeout};

use super::opening::NexusOpening;
use crate::frames::commands::command_line;
use crate::frames::requests::{NexusCommand, NexusMessage, NexusProof, NexusRequest, parse_request};
use crate::frames::ui_frames::NexusFrame;
use crate::gateway::caller::NexusCaller;
use crate::gateway::event_stream::{NexusEventStream, StreamNews};
use crate::gateway::refusal::ApiRefusal;
use crate::gateway::{Gateway, command_runs};
use crate::routes::paths::check_path;
use crate::routes::streams::{heartbeat, news_of};

/// The largest frame of a client that has not said who it is, in bytes.
const UNPROVEN_BYTES: usize = 4 << 10;
/// The number of frames of such a client, and of unreadable frames of any client.
const PATIENCE_FRAMES: usize = 32;
/// The time limit of the last frames.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// The reason why a connection ends.
#[derive(Debug)]
pub(super) enum NexusEnd {
    /// The client is gone.
    Gone,
    /// The server closes it, with a code of the WebSocket.
    Closed(u16, String),
}

/// A connection.
pub(super) struct NexusSocket {
    gateway: Gateway,
    caller: NexusCaller,
    path: String,
    /// The place after which the client wants events.
    after: Option<String>,
    /// The `run_id` of frames about the connection.
    id: String,
    person: Option<Person>,
    counted: Option<CountedConnection>,
    /// The challenge that this connection alone may answer, until it does.
    challenge: Option<AuthChallenge>,
    following: Option<(SessionId, NexusEventStream)>,
    /// The number of frames before the proof, and of unreadable ones.
    bad_frames: usize,
}

type SocketStep = Result<(), NexusEnd>;

impl NexusSocket {
    pub(super) fn new(gateway: Gateway, caller: NexusCaller, opening: NexusOpening) -> Self {
        let NexusOpening {
            path,
            after,
            person,
            counted,
        } = opening;
        Self {
            id: gateway.frame_id("connect"),
            gateway,
            caller,
            path,
            after,
            person,
            counted,
            challenge: None,
            following: None,
            bad_frames: 0,
        }
    }

    /// Serves the connection until it ends.
    pub(super) async fn serve(mut self, mut stream: WebSocket) {
        let end = match self.begin(&mut stream).await {
            Ok(()) => self.run(&mut stream).await,
            Err(end) => end,
        };
        let NexusEnd::Closed(code, reason) = end else {
            return;
        };
        tracing::debug!(code, reason, "connection of a NEXUS client closed");
        let frame = NexusFrame::error(&self.id, &reason, "closed").to_json();
        let last_words = async {
            stream.send(Message::text(frame)).await?;
            // The reason of a close frame has at most 123 bytes.
            let reason = reason.chars().take(30).collect::<String>();
            let close = CloseFrame {
                code,
                reason: Utf8Bytes::from(reason),
            };
            stream.send(Message::Close(Some(close))).await?;
            while let Some(Ok(_)) = stream.recv().await {}
            Ok::<_, axum::Error>(())
        };
        // A client that does not read does not get them.
        let _ = timeout(LAST_WORDS, last_words).await;
    }

    /// Greets the client: what it is, and a challenge if it may still prove a key.
    async fn begin(&mut self, stream: &mut WebSocket) -> SocketStep {
        let is_visitor = self.person.as_ref().map(|person| person.visitor);
        if let Some(visitor) = is_visitor {
            self.send(stream, &NexusFrame::connection_state(&self.id, visitor))
                .await?;
        }
        if is_visitor == Some(false) {
            return self.follow(stream).await;
        }
        let (challenge, told) = self.caller.challenge().await.map_err(refused)?;
        let frame = NexusFrame::new("challenge", &self.id, told);
        self.challenge = Some(challenge);
        self.send(stream, &frame).await
    }

    async fn run(&mut self, stream: &mut WebSocket) -> NexusEnd {
        let state = self.caller.state().clone();
        let limits = &state.options().limits;
        let mut beats = heartbeat(limits.heartbeat);
        let until = Instant::now() + limits.authenticate;
        let mut heard = Instant::now();
        loop {
            let is_unproven = self.person.is_none();
            let events = self.following.as_mut().map(|(_, events)| events);
            let step = tokio::select! {
                () = state.shutdown().cancelled() => return NexusEnd::Closed(1001, "the server ends".into()),
                () = sleep_until(until), if is_unproven => {
                    return NexusEnd::Closed(1008, "no proof of a key came in time".into());
                }
                _ = beats.tick() => self.beat(stream, heard.elapsed() > limits.silence).await,
                news = news_of(events) => self.pass_on(stream, news).await,
                message = stream.recv() => {
                    heard = Instant::now();
                    self.take(stream, message).await
                }
            };
            if let Err(end) = step {
                return end;
            }
        }
    }

    /// Checks that the client is there and still trusted.
    async fn beat(&mut self, stream: &mut WebSocket, is_silent: bool) -> SocketStep {
        if is_silent {
            return Err(NexusEnd::Closed(1001, "nothing was heard for too long".into()));
        }
        if self.person.is_some()
            && let Err(what) = self.caller.check_trust()
        {
            return Err(NexusEnd::Closed(1008, what));
        }
        self.send_message(stream, Message::Ping(Default::default())).await
    }

    async fn pass_on(&mut self, stream: &mut WebSocket, news: StreamNews) -> SocketStep {
        match news {
            StreamNews::Alive | StreamNews::TakenBack(_) => Ok(()),
            StreamNews::Frame(frame) => self.send(stream, &frame).await,
            // The session was deleted, the client is too slow, or the token has expired: it connects again.
            StreamNews::Over(reason) => match self.caller.check_trust() {
                Ok(()) => Err(NexusEnd::Closed(1013, reason)),
                Err(what) => Err(NexusEnd::Closed(1008, what)),
            },
        }
    }

    /// Takes a message of the WebSocket.
    async fn take(
        &mut self,
        stream: &mut WebSocket,
        message: Option<Result<Message, axum::Error>>,
    ) -> SocketStep {
        let text = match message {
            Some(Ok(Message::Text(text))) => text,
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => return Ok(()),
            Some(Ok(Message::Binary(_))) => {
                return Err(NexusEnd::Closed(1003, "frames are text".into()));
            }
            Some(Err(error)) if error.to_string().contains("too long") => {
                return Err(NexusEnd::Closed(1009, "the frame is too long".into()));
            }
            Some(Ok(Message::Close(_)) | Err(_)) | None => return Err(NexusEnd::Gone),
        };
        if self.person.is_none() {
            self.bad_frames += 1;
            if text.len() > UNPROVEN_BYTES {
                return Err(NexusEnd::Closed(1009, "the frame is too long".into()));
            }
        }
        let request = parse_request(&text);
        self.bad_frames += usize::from(request.is_err());
        if self.bad_frames > PATIENCE_FRAMES {
            return Err(NexusEnd::Closed(
                1008,
                "too many frames that cannot be read".into(),
            ));
        }
        match request {
            Ok(request) => self.carry_out(stream, request).await,
            Err(what) => self.say_error(stream, &what, "bad_frame").await,
        }
    }

    async fn carry_out(&mut self, stream: &mut WebSocket, request: NexusRequest) -> SocketStep {
        match (request, self.person.clone()) {
            (NexusRequest::Ping, _) => Ok(()),
            (NexusRequest::Authenticate(proof), _) => self.authenticate(stream, proof).await,
            (_, None) => {
                let what = "prove your key first, with `authenticate` over the challenge";
                self.say_error(stream, what, "unauthenticated").await
            }
            (NexusRequest::Message(message), Some(person)) => self.message(stream, &person, &message).await,
            (NexusRequest::Command(command), Some(person)) => self.command(stream, &person, &command).await,
            (NexusRequest::Approval(decision), Some(_)) => self.act(stream, "approvals", decision).await,
            (NexusRequest::Interrupt, Some(_)) => self.act(stream, "interrupt", json!({})).await,
        }
    }

    /// Takes the proof of a key. One that is wrong ends the connection: a person has to act.
    async fn authenticate(&mut self, stream: &mut WebSocket, proof: NexusProof) -> SocketStep {
        let Some(challenge) = self.challenge.take() else {
            return Err(NexusEnd::Closed(
                1008,
                "this connection has no open challenge".into(),
            ));
        };
        self.caller.sign_in(&challenge, &proof).map_err(refused)?;
        let person = self.caller.person().await.map_err(refused)?;
        check_path(&self.path, &person, Some(&proof.public_key)).map_err(refused)?;
        // The place of a visitor is given back first.
        self.counted = None;
        self.counted = Some(self.caller.count().map_err(refused)?);
        let visitor = person.visitor;
        self.person = Some(person);
        self.bad_frames = 0;
        self.send(stream, &NexusFrame::connection_state(&self.id, visitor))
            .await?;
        self.follow(stream).await
    }

    /// Follows the conversation of the person, if it does not yet. A conversation that cannot be opened is an
    /// error to the client, which may try again with a message.
    async fn follow(&mut self, stream: &mut WebSocket) -> SocketStep {
        match self.open_events().await {
            Ok(()) => Ok(()),
            Err(refused) => self.say_refusal(stream, &refused).await,
        }
    }

    async fn open_events(&mut self) -> Result<(), ApiRefusal> {
        let Some(person) = self.person.as_ref().filter(|person| !person.visitor) else {
            return Ok(());
        };
        if self.following.is_some() {
            return Ok(());
        }
        let conversations = self.gateway.conversations();
        let (session, head) = conversations.open_at_head(&self.caller, person).await?;
        let after = self.after.take().unwrap_or_else(|| head.to_string());
        let events = self.caller.follow(&session, &person.person, &after).await?;
        self.following = Some((session, events));
        Ok(())
    }

    async fn message(
        &mut self,
        stream: &mut WebSocket,
        person: &Person,
        message: &NexusMessage,
    ) -> SocketStep {
        if person.visitor {
            // This request counts, so that a visitor cannot send them without end.
            if let Err(refused) = self.caller.person().await {
                return self.say_refusal(stream, &refused).await;
            }
            let run = self.gateway.frame_id("run_visitor");
            for frame in NexusFrame::guidance(&run, person.person.as_str(), &message.content) {
                self.send(stream, &frame).await?;
            }
            return Ok(());
        }
        // Events are followed first, so that none of the answer is missed.
        let sent = match self.open_events().await {
            Ok(()) => {
                let conversations = self.gateway.conversations();
                conversations.say(&self.caller, person, message).await
            }
            Err(refused) => Err(refused),
        };
        match sent {
            Ok((session, seq)) => self.follow_from(session, seq, stream).await,
            Err(refused) => self.say_refusal(stream, &refused).await,
        }
    }

    /// Follows the session that took a message, if it is another one than before.
    async fn follow_from(&mut self, session: SessionId, seq: u64, stream: &mut WebSocket) -> SocketStep {
        let is_known = self
            .following
            .as_ref()
            .is_some_and(|(known, _)| *known == session);
        if is_known {
            return Ok(());
        }
        self.following = None;
        self.after = Some(seq.saturating_sub(1).to_string());
        self.follow(stream).await
    }

    async fn command(
        &mut self,
        stream: &mut WebSocket,
        person: &Person,
        command: &NexusCommand,
    ) -> SocketStep {
        let line = command_line(command);
        let outcome = command_runs::run(&self.caller, self.gateway.conversations(), person, &line).await;
        let payload = json!({"command": line.line, "result": outcome});
        let frame = NexusFrame::new("command_result", self.gateway.frame_id("cmd"), payload);
        self.send(stream, &frame).await
    }

    /// Does something with the run in the conversation.
    async fn act(&mut self, stream: &mut WebSocket, action: &str, body: Value) -> SocketStep {
        let Some((session, _)) = &self.following else {
            return self
                .say_error(stream, "you have no conversation here", "refused")
                .await;
        };
        let path = format!("/v1/sessions/{session}/{action}");
        match self.caller.ask(Method::POST, &path, Some(&body)).await {
            Ok(_) => Ok(()),
            Err(refused) => self.say_refusal(stream, &refused).await,
        }
    }

    async fn say_refusal(&mut self, stream: &mut WebSocket, refused: &ApiRefusal) -> SocketStep {
        self.say_error(stream, &refused.detail, &refused.code).await
    }

    async fn say_error(&mut self, stream: &mut WebSocket, message: &str, code: &str) -> SocketStep {
        self.send(stream, &NexusFrame::error(&self.id, message, code))
            .await
    }

    async fn send(&mut self, stream: &mut WebSocket, frame: &NexusFrame) -> SocketStep {
        self.send_message(stream, Message::text(frame.to_json())).await
    }

    /// Sends a message. A client that takes nothing for too long is cut off.
    async fn send_message(&mut self, stream: &mut WebSocket, message: Message) -> SocketStep {
        let patience = self.caller.state().options().limits.stalled;
        match timeout(patience, stream.send(message)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(NexusEnd::Gone),
            Err(_) => Err(NexusEnd::Closed(1013, "the client does not keep up".into())),
        }
    }
}

/// Returns the end of a connection for a refusal before which nothing works.
fn refused(refused: ApiRefusal) -> NexusEnd {
    NexusEnd::Closed(1008, refused.detail)
}
