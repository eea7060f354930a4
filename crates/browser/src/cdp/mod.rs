//! The Chrome DevTools Protocol: JSON messages that end with a zero byte, over two pipes. Commands have
//! numbers and are answered; events come unasked.
//!
//! `message` has the forms, `client` sends and receives.

mod client;
mod message;

pub(crate) use client::{CdpClient, CdpFailure};
pub(crate) use message::{CdpCommand, CdpEvent};
