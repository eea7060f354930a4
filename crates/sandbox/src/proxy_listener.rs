//! The program's side of the way between a command in a sandbox and the proxy of the program: see
//! [`SandboxPolicy::proxy`](crate::SandboxPolicy::proxy).

use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd};

/// The listening socket of a command, on which the proxy is expected.
#[derive(Debug)]
pub struct ProxyListener {
    /// The socket. It is in the network of the command, whatever network this process has.
    pub listener: TcpListener,
    /// The password that the command's programs send, where other programs reach the socket too.
    pub token: Option<String>,
}

/// Sends the helper what the command reads as its standard input: `None` for nothing. `control` is the
/// program's end of a pair of Unix sockets; the other end is the standard input of the helper. Send it before
/// the helper starts, so that it does not wait.
///
/// # Errors
/// Returns an error if the socket is closed.
pub fn send_input(control: impl AsFd, input: Option<BorrowedFd<'_>>) -> io::Result<()> {
    system::send_input(control, input)
}

/// Receives the listening socket from the helper.
///
/// # Errors
/// Returns an error if the helper ended before, or `control` does not block and nothing has arrived yet
/// ([`WouldBlock`](io::ErrorKind::WouldBlock)).
pub fn receive_listener(control: impl AsFd) -> io::Result<ProxyListener> {
    system::receive_listener(control)
}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod system {
    use super::{AsFd, BorrowedFd, ProxyListener, io};
    use crate::linux::{receive_descriptor, send_bytes, send_descriptor};

    /// The longest token, with the end of its line.
    const LONGEST: usize = 64;

    pub(super) fn send_input(control: impl AsFd, input: Option<BorrowedFd<'_>>) -> io::Result<()> {
        match input {
            Some(input) => send_descriptor(control, input, b"i"),
            None => send_bytes(control, b"n"),
        }
    }

    pub(super) fn receive_listener(control: impl AsFd) -> io::Result<ProxyListener> {
        let mut bytes = [0; LONGEST];
        let (read, listener) = receive_descriptor(control, &mut bytes)?;
        let ended = || {
            io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the helper sent no listening socket",
            )
        };
        let listener = listener.ok_or_else(ended)?.into();
        let token = String::from_utf8_lossy(&bytes[..read]).trim_end().to_owned();
        Ok(ProxyListener {
            listener,
            token: Some(token).filter(|token| !token.is_empty()),
        })
    }
}

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod system {
    use super::{AsFd, BorrowedFd, ProxyListener, io};

    pub(super) fn send_input(_: impl AsFd, _: Option<BorrowedFd<'_>>) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn receive_listener(_: impl AsFd) -> io::Result<ProxyListener> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
