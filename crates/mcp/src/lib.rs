//! Servers of the [Model Context Protocol](https://modelcontextprotocol.io) as tools of AgentX.
//!
//! A server is an environment ([`McpEnvironment`]): a reactor that offers tools named `SERVER__TOOL` and
//! serves their calls. Its tools are offered from a cache ([`KnownServers`]), so a server that no call needs
//! is not started. The protocol is that of the crate `rmcp`; nothing of that crate is part of this one's
//! interface.
//!
//! A server is somebody else's program. Its descriptions of itself are claims: they can make things stricter,
//! and freer only if the person believes them (`trust_annotations`). All of its output is bounded
//! (`src/limits.rs`), every wait has a limit, a call that was cut off is `unknown` and is not repeated, and a
//! program ends with the process that started it.

mod call;
mod call_report;
mod changed_tools;
mod connection;
mod described_tool;
mod environment;
mod error_chain;
mod failure;
mod form;
mod hidden;
mod host;
mod http_transport;
mod known_servers;
mod limits;
mod listener;
mod login;
mod oauth;
mod offered_names;
mod reported_connection;
mod result;
mod running_mark;
mod sampling;
mod server_process;
mod server_requests;
mod server_start;
mod server_state;
mod server_tool;
mod servers;
mod serving;
mod stdio;
mod suspension;
mod task_call;
mod tool;

pub use environment::McpEnvironment;
pub use failure::McpFailure;
pub use host::McpLaunchContext;
pub use known_servers::{KnownServer, KnownServers, ServerIdentity};
pub use limits::McpLimits;
pub use login::McpLogin;
pub use oauth::PendingLogin;
pub use server_state::McpServerState;
pub use server_tool::{LeftOutTool, ServerTool};
pub use servers::McpServers;
pub use serving::{
    AGENT_TOOL, CallProgress, CallQuestions, ClientAnswer, ClientApprover, ClientLogLevel, ClientQuestion,
    ClientResponse, HttpAnswer, HttpMessage, McpHttpRequest, McpRequestContext, MirroredHeaders,
    SentArguments, ServedCall, ServedDocument, ServedParts, ServedTask, ServedTaskState, ServedTasks,
    SuspendedCalls, TASK_TTL_MS, TASKS_AT_ONCE, TaskCall, agent_tool, is_askable_session, is_for_clients,
    is_task_key, serve, session_decision, session_question, task_key, token_of_task,
};
