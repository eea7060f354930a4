//! The client: one task reads, one writes, and a command waits for the answer with its number.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
};
use tokio::sync::{mpsc, oneshot};
use tokio_util::task::AbortOnDropHandle;

use super::message::{CdpCommand, CdpEvent, CdpIncoming};

/// The longest message of the browser, in bytes: the tree of a very large page.
const LONGEST_MESSAGE: u64 = 64 << 20;
/// The time for the answer to a command.
const PATIENCE: Duration = Duration::from_secs(30);
/// The number of commands that wait to be written.
const OUTGOING: usize = 256;

/// The reason why a command has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CdpFailure {
    /// The browser refused it.
    #[error("the browser refused it: {0}")]
    Refused(String),
    /// No answer came in time.
    #[error("the browser gave no answer to {0} within {time:?}", time = PATIENCE)]
    Silent(&'static str),
    /// The connection is closed.
    #[error("the browser has ended")]
    Ended,
}

type CommandAnswer = Result<Value, CdpFailure>;

/// The commands that wait for answers.
#[derive(Default)]
struct PendingCommands(Mutex<PendingState>);

#[derive(Default)]
struct PendingState {
    waiting: HashMap<u64, oneshot::Sender<CommandAnswer>>,
    last_id: u64,
    has_ended: bool,
}

impl PendingCommands {
    fn state(&self) -> MutexGuard<'_, PendingState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next number, for a command whose answer nobody reads.
    fn next_id(&self) -> u64 {
        let mut state = self.state();
        state.last_id += 1;
        state.last_id
    }

    /// The next number, and its answer when there is one.
    fn begin(&self) -> Result<(u64, oneshot::Receiver<CommandAnswer>), CdpFailure> {
        let mut state = self.state();
        if state.has_ended {
            return Err(CdpFailure::Ended);
        }
        let (sender, answer) = oneshot::channel();
        state.last_id += 1;
        let id = state.last_id;
        state.waiting.insert(id, sender);
        Ok((id, answer))
    }

    fn answer(&self, id: u64, answer: Result<Value, String>) {
        let waiting = self.state().waiting.remove(&id);
        if let Some(waiting) = waiting {
            // Whoever waited may be gone.
            let _ = waiting.send(answer.map_err(CdpFailure::Refused));
        }
    }

    fn end(&self) {
        let mut state = self.state();
        state.has_ended = true;
        for (_, waiting) in state.waiting.drain() {
            let _ = waiting.send(Err(CdpFailure::Ended));
        }
    }
}

/// Forgets a command whose answer nobody waits for any more.
struct WaitingCommand<'a> {
    pending: &'a PendingCommands,
    id: u64,
}

impl Drop for WaitingCommand<'_> {
    fn drop(&mut self) {
        self.pending.state().waiting.remove(&self.id);
    }
}

/// Takes each event and returns the commands that follow from it. It is called by the reading task, so it
/// must not wait.
pub(crate) type EventHandler = Box<dyn Fn(&CdpEvent) -> Vec<CdpCommand> + Send>;

/// A connection to a browser. Dropping it closes both pipes.
pub(crate) struct CdpClient {
    outgoing: mpsc::Sender<Vec<u8>>,
    pending: Arc<PendingCommands>,
    _reading: AbortOnDropHandle<()>,
    _writing: AbortOnDropHandle<()>,
}

impl CdpClient {
    /// Begins to read and write. Must be called inside a tokio runtime.
    pub(crate) fn start(
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
        on_event: EventHandler,
    ) -> Self {
        let (outgoing, commands) = mpsc::channel(OUTGOING);
        let pending = Arc::new(PendingCommands::default());
        let reading = read_messages(input, outgoing.clone(), pending.clone(), on_event);
        Self {
            outgoing,
            _reading: AbortOnDropHandle::new(tokio::spawn(reading)),
            _writing: AbortOnDropHandle::new(tokio::spawn(write_commands(output, commands, pending.clone()))),
            pending,
        }
    }

    /// Sends a command and waits for its result.
    ///
    /// # Errors
    /// Returns an error if the browser refuses it, gives no answer in time, or has ended.
    pub(crate) async fn call(&self, command: CdpCommand) -> CommandAnswer {
        let (id, answer) = self.pending.begin()?;
        let _waiting = WaitingCommand {
            pending: &self.pending,
            id,
        };
        let method = command.method;
        let answered = async {
            let sent = self.outgoing.send(command.encode(id)).await;
            sent.map_err(|_| CdpFailure::Ended)?;
            answer.await.unwrap_or(Err(CdpFailure::Ended))
        };
        tokio::time::timeout(PATIENCE, answered)
            .await
            .unwrap_or(Err(CdpFailure::Silent(method)))
    }

    /// Sends a command whose answer nobody reads, without waiting. It is lost if too many commands wait to be
    /// written.
    pub(crate) fn send_at_once(&self, command: &CdpCommand) {
        let _ = self.outgoing.try_send(command.encode(self.pending.next_id()));
    }

    /// Returns whether the connection is closed.
    pub(crate) fn has_ended(&self) -> bool {
        self.pending.state().has_ended
    }
}

async fn read_messages(
    input: impl AsyncRead + Unpin,
    outgoing: mpsc::Sender<Vec<u8>>,
    pending: Arc<PendingCommands>,
    on_event: EventHandler,
) {
    let mut input = BufReader::new(input);
    let mut bytes = Vec::new();
    while let Some(message) = next_message(&mut input, &mut bytes).await {
        match message {
            CdpIncoming::Answer(id, answer) => pending.answer(id, answer),
            CdpIncoming::Event(event) => {
                for command in on_event(&event) {
                    // The writer may be gone; then reading ends as well.
                    let _ = outgoing.send(command.encode(pending.next_id())).await;
                }
            }
        }
    }
    pending.end();
}

/// The next message; `None` at the end, and at anything that is not a message.
async fn next_message(
    input: &mut BufReader<impl AsyncRead + Unpin>,
    bytes: &mut Vec<u8>,
) -> Option<CdpIncoming> {
    bytes.clear();
    let mut bounded = input.take(LONGEST_MESSAGE);
    bounded.read_until(0, bytes).await.ok()?;
    let (last, message) = bytes.split_last()?;
    (*last == 0).then(|| CdpIncoming::read(message))?
}

async fn write_commands(
    mut output: impl AsyncWrite + Unpin,
    mut commands: mpsc::Receiver<Vec<u8>>,
    pending: Arc<PendingCommands>,
) {
    while let Some(command) = commands.recv().await {
        let written = output.write_all(&command).await;
        if written.is_err() || output.flush().await.is_err() {
            break;
        }
    }
    pending.end();
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::io::{DuplexStream, ReadHalf, WriteHalf};

    use super::*;

    /// The other end: a made-up browser.
    struct MadeUpBrowser {
        input: BufReader<ReadHalf<DuplexStream>>,
        output: WriteHalf<DuplexStream>,
    }

    impl MadeUpBrowser {
        /// The next command that the client sent.
        async fn command(&mut self) -> Value {
            let mut bytes = Vec::new();
            self.input.read_until(0, &mut bytes).await.unwrap();
            bytes.pop();
            serde_json::from_slice(&bytes).unwrap()
        }

        async fn say(&mut self, message: &Value) {
            let mut bytes = message.to_string().into_bytes();
            bytes.push(0);
            self.output.write_all(&bytes).await.unwrap();
        }
    }

    fn connected(on_event: EventHandler) -> (CdpClient, MadeUpBrowser) {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (input, output) = tokio::io::split(ours);
        let (their_input, their_output) = tokio::io::split(theirs);
        let browser = MadeUpBrowser {
            input: BufReader::new(their_input),
            output: their_output,
        };
        (CdpClient::start(input, output, on_event), browser)
    }

    fn silent() -> EventHandler {
        Box::new(|_| Vec::new())
    }

    #[tokio::test]
    async fn answers_in_any_order_reach_their_commands() {
        let (client, mut browser) = connected(silent());
        let first = client.call(CdpCommand::to_browser("A.first", json!({})));
        let second = client.call(CdpCommand::to_tab("S", "A.second", json!({"x": 1})));
        let answering = async {
            let (one, two) = (browser.command().await, browser.command().await);
            assert_eq!((&one["method"], one.get("sessionId")), (&json!("A.first"), None));
            assert_eq!(
                (&two["params"], &two["sessionId"]),
                (&json!({"x": 1}), &json!("S"))
            );
            browser
                .say(&json!({"id": two["id"], "error": {"code": 1, "message": "no such thing"}}))
                .await;
            browser.say(&json!({"id": 99, "result": {}})).await;
            browser.say(&json!({"id": one["id"], "result": {"y": 2}})).await;
        };
        let (first, second, ()) = tokio::join!(first, second, answering);
        assert_eq!(first, Ok(json!({"y": 2})));
        assert_eq!(second, Err(CdpFailure::Refused("no such thing".to_owned())));
    }

    #[tokio::test]
    async fn an_event_is_handled_and_what_follows_is_sent() {
        let handler: EventHandler = Box::new(|event| {
            let session = event.session.clone().unwrap_or_default();
            vec![CdpCommand::to_tab(&session, "B.follows", event.params.clone())]
        });
        let (_client, mut browser) = connected(handler);
        browser
            .say(&json!({"method": "A.happened", "params": {"z": 3}, "sessionId": "S"}))
            .await;
        let command = browser.command().await;
        assert_eq!(
            (&command["method"], &command["params"], &command["sessionId"]),
            (&json!("B.follows"), &json!({"z": 3}), &json!("S"))
        );
    }

    #[tokio::test]
    async fn a_browser_that_ends_or_talks_nonsense_ends_every_command() {
        for nonsense in [None, Some(&b"nonsense\0"[..]), Some(&b"{\"id\":1"[..])] {
            let (client, mut browser) = connected(silent());
            let ending = async {
                browser.command().await;
                if let Some(nonsense) = nonsense {
                    browser.output.write_all(nonsense).await.unwrap();
                }
                drop(browser);
            };
            let (answer, ()) = tokio::join!(client.call(CdpCommand::to_browser("A.b", json!({}))), ending);
            assert_eq!(answer, Err(CdpFailure::Ended));
            assert!(client.has_ended());
            let later = client.call(CdpCommand::to_browser("A.b", json!({}))).await;
            assert_eq!(later, Err(CdpFailure::Ended));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_browser_is_not_waited_for_without_end() {
        let (client, browser) = connected(silent());
        let answer = client.call(CdpCommand::to_browser("A.b", json!({}))).await;
        assert_eq!(answer, Err(CdpFailure::Silent("A.b")));
        assert!(client.pending.state().waiting.is_empty());
        drop(browser);
    }
}
