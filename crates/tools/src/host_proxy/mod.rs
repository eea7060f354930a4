//! The proxy through which a command in a sandbox reaches single hosts.
//!
//! The command's own network holds nothing but a listening socket, which its helper sent here
//! ([`agentx_sandbox::receive_listener`]). This module accepts the connections, reads which host each is for,
//! decides ([`HostGate`]), looks the name up, and connects. An address that is not of the public internet is
//! refused unless the settings name it: a name that anybody may register could lead into the local network.
//!
//! | a client asks for | it gets |
//! | --- | --- |
//! | a tunnel (`CONNECT`), as for HTTPS | one; the proxy does not see what goes through it |
//! | a tunnel to the host of a credential | TLS with the proxy, which puts it in ([`MaskedCredentials`]) |
//! | an address that begins with `http://` | one request, in a connection of its own |
//! | a host that is refused | 403, with the reason and the setting |
//!
//! The task of a proxy ends with the last process of its command, or when the [`HostProxy`] is dropped.

mod by_hand;
mod connection;
mod contacts;
mod gate;
mod masked_credentials;
#[cfg(feature = "masking")]
mod masking;
mod request_head;
mod server_connection;
mod serving;

pub use by_hand::{ProxyByHand, run_beside_proxy};
pub(crate) use gate::{AnswerAboutHost, AskAboutHost, HostAnswers, HostDecision, HostGate};
pub(crate) use masked_credentials::BUNDLE;
pub use masked_credentials::MaskedCredentials;
#[cfg(feature = "masking")]
pub use masking::MaskedCredential;
pub(crate) use serving::{HostProxy, ProxyWay};
