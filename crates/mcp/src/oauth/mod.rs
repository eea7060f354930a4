//! Logins at MCP servers over HTTP: OAuth 2.1 as the protocol's authorization chapter has it.
//!
//! ```text
//! agentx mcp login NAME                             a call of one of its tools
//!   │ 401 ─▶ challenge ─▶ resource ─▶ issuer          │ the file's token, renewed if it is nearly over
//!   │ client: settings, else registered               ▼
//!   │ browser ─▶ code (state, iss) ─▶ tokens         the server ── 401 ─▶ renewed once, else "log in"
//!   ▼
//! a file of mode 0600 in the data directory, for this one address
//! ```
//!
//! A server's statements about where to log in are claims: addresses are guarded (`requests.rs`),
//! descriptions have to be about the server and the issuer that were asked (`metadata.rs`), and tokens are
//! sent only to the address for which they were granted.

mod access;
mod challenge;
mod discovery;
mod login;
mod login_file;
mod metadata;
mod redirect;
mod requests;
mod token_request;

pub(crate) use access::LoginAccess;
pub use login::PendingLogin;
pub(crate) use login::random;
pub(crate) use login_file::{LoginFile, StoredLogin};

/// Returns the scopes that the challenge of a refused call wants, for people.
pub(crate) fn wanted_scope(challenge: &str) -> String {
    const LONGEST: usize = 300;
    let scope = challenge::BearerChallenge::parse(challenge).scope;
    crate::server_tool::cut(&crate::server_tool::shown(&scope.unwrap_or_default()), LONGEST)
}
