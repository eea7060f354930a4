//! The limits of a server: time, memory, and room in the conversation. A server is somebody else's program,
//! so everything that it says is bounded here.

use std::time::Duration;

use agentx_config::McpServerSettings;

/// The time to start, agree on a version and list the tools.
const START: Duration = Duration::from_secs(30);
/// The time of a call.
const CALL: Duration = Duration::from_secs(600);
/// The text of a result that the model sees.
const RESULT_BYTES: usize = 32 << 10;

/// Maximum size of one message; a longer one ends the connection.
pub(crate) const MESSAGE_BYTES: usize = 8 << 20;
/// Maximum output of a program from the beginning of a call to that of the next, in bytes and in lines.
pub(crate) const BYTES_BETWEEN_CALLS: u64 = 64 << 20;
pub(crate) const LINES_BETWEEN_CALLS: u64 = 50_000;
/// Tools of a server; the rest is left out, by name.
pub(crate) const TOOLS: usize = 512;
/// Pages of the list of tools.
pub(crate) const PAGES: usize = 64;
/// The description of a tool; the rest is cut off.
pub(crate) const DESCRIPTION_BYTES: usize = 16 << 10;
/// The schema of a tool's arguments as JSON; a tool with a longer one is left out.
pub(crate) const SCHEMA_BYTES: usize = 64 << 10;
/// Maximum nesting of a schema.
pub(crate) const SCHEMA_DEPTH: usize = 40;
/// The name of a tool; a tool with a longer one is left out.
pub(crate) const NAME_BYTES: usize = 128;
/// Progress and log messages of a call that become output.
pub(crate) const OUTPUT_BYTES: usize = 64 << 10;
/// The maximum length of one such message, in bytes.
pub(crate) const OUTPUT_LINE_BYTES: usize = 4 << 10;
/// The maximum number of messages that wait to be written; further ones are counted and dropped.
pub(crate) const OUTPUT_QUEUE: usize = 256;
/// The question of a server to our model, and the answer.
pub(crate) const SAMPLE_BYTES: usize = 256 << 10;
pub(crate) const SAMPLE_TOKENS: u64 = 8_192;
/// The time for model calls that a server asked for to be stopped and billed when its call ends.
pub(crate) const BILL_PATIENCE: Duration = Duration::from_secs(5);
/// Questions to a person or a model in one call; further ones are declined.
pub(crate) const QUESTIONS: u64 = 20;
/// Maximum number of times to ask one question because the answer does not fit.
pub(crate) const ANSWER_ATTEMPTS: usize = 3;
/// The fields of a form, and its schema as JSON; a larger one is declined.
pub(crate) const FORM_FIELDS: usize = 32;
pub(crate) const FORM_BYTES: usize = 16 << 10;
/// Maximum number of times that a server may ask instead of returning a result.
pub(crate) const ROUNDS: usize = 10;
/// The record of a call that waits for answers in the log of its session; a call with a longer one is not
/// continued by another process.
pub(crate) const SUSPENDED_BYTES: usize = 64 << 10;
/// The time until the state of a task is asked for again: if its server suggests none, at least, and at most.
pub(crate) const POLL: Duration = Duration::from_secs(1);
pub(crate) const POLL_SHORTEST: Duration = Duration::from_millis(100);
pub(crate) const POLL_LONGEST: Duration = Duration::from_secs(30);
/// The time until a server is listened to again, which doubles each time up to the longest; a stream that
/// lasted that long counts as good. After so many others in a row AgentX stops listening.
pub(crate) const LISTEN_WAIT: Duration = Duration::from_secs(1);
pub(crate) const LISTEN_LONGEST_WAIT: Duration = Duration::from_secs(60);
pub(crate) const LISTEN_ATTEMPTS: u32 = 10;
/// Pictures of a result.
pub(crate) const PICTURES: usize = 16;
/// Maximum size of one image, as for the tool `read`.
pub(crate) const PICTURE_BYTES: usize = 3_750_000;
/// Maximum number of bytes of standard error to keep for errors.
pub(crate) const STDERR_BYTES: usize = 4 << 10;
/// Time from the end of its input until a program is asked to end, and from there until it is killed.
pub(crate) const PATIENCE: Duration = Duration::from_millis(500);
/// The time to reach a server at an address.
pub(crate) const CONNECT: Duration = Duration::from_secs(10);
/// All tools that a server lists, as JSON; further ones are left out. Every start of the program reads them.
pub(crate) const LISTED_BYTES: usize = 2 << 20;
/// All tools of a server that were ever accepted, as JSON; new ones beyond that are left out. Accepted tools
/// are not deleted to make room: the server could then describe a tool again as if it were new.
pub(crate) const ACCEPTED_BYTES: usize = 4 << 20;
/// Maximum size of the file with the known facts about a server.
pub(crate) const FILE_BYTES: u64 = 16 << 20;
/// The lines and bytes of a difference.
pub(crate) const DIFFERENCE_LINES: usize = 40;
pub(crate) const DIFFERENCE_BYTES: usize = 4 << 10;

/// The limits that a person may set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct McpLimits {
    /// The time to start a server, agree on a version and list its tools.
    pub start: Duration,
    /// The time of a call.
    pub call: Duration,
    /// The text of a result that the model sees, in bytes; the rest is kept.
    pub result_bytes: usize,
}

impl Default for McpLimits {
    fn default() -> Self {
        Self {
            start: START,
            call: CALL,
            result_bytes: RESULT_BYTES,
        }
    }
}

impl McpLimits {
    /// Returns these limits as a server's settings set them. No call is longer than these limits allow.
    #[must_use]
    pub fn of(self, server: &McpServerSettings) -> Self {
        let millis = |set: Option<u64>, usual: Duration| set.map_or(usual, Duration::from_millis);
        Self {
            start: millis(server.start_timeout_ms, self.start),
            call: millis(server.call_timeout_ms, CALL.min(self.call)).min(self.call),
            ..self
        }
    }
}
