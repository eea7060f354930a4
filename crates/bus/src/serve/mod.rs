//! Serving: a request on a topic goes to the responder that answers it.
//!
//! Events go to all subscribers; a request goes to exactly one responder, or fails with an error that names
//! it. [`Dispatcher::serve`] attaches a responder, which takes [`Claim`]s from its [`Requests`];
//! [`Dispatcher::request`] hands in a request and returns a [`Ticket`] for its outcome:
//!
//! ```text
//! request ──▶ waiting ──▶ claimed ──▶ settled
//!    │           ├──▶ cancelled           │
//!    │           └──▶ unserved            └──▶ lost   (the claim was dropped, the responder was detached)
//!    └──▶ refused: nobody serves it, or too many wait
//! ```
//!
//! A claimed request is never given to a second responder, because it may have been done.

mod claim;
mod dispatcher;
mod dispatcher_state;
mod end;
mod key_pattern;
mod requests;
mod responder;
mod scheduler;
mod ticket;

pub use claim::Claim;
pub use dispatcher::Dispatcher;
pub use end::{RequestEnd, RequestError};
pub use key_pattern::{Addressed, KeyPattern};
pub use requests::Requests;
pub use responder::{Grace, ResponderInfo, Serve};
pub use scheduler::ResponderId;
pub use ticket::{Canceller, Ticket};
