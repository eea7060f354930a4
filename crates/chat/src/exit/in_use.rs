//! The advice about what another program has in use: a session that must not be open, and an address.

use std::net::SocketAddr;

/// The advice if a session must not be open anywhere.
pub(crate) const IN_USE: &str = "leave the chat there (Ctrl-D); `agentx serve` lets go of a session a minute after \
     everybody has left it; then repeat the command";

/// Returns the advice about an address that cannot be listened at.
pub(crate) fn listen_hint(address: &SocketAddr, what: &str) -> Option<String> {
    let taken = what.contains("in use");
    let denied = what.contains("denied");
    match () {
        () if taken => Some(format!(
            "the address is already in use; if that is your server: agentx --connect http://{address} \
             sessions list; otherwise choose another port: --listen {}:{}",
            address.ip(),
            address.port().saturating_add(1)
        )),
        () if denied => {
            Some("ports below 1024 need more privileges: choose another port with --listen".into())
        }
        () => Some("--listen takes an address of this machine".into()),
    }
}
