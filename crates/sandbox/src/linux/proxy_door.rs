//! The door of a command to the proxy of the program: a listening socket in the command's own network, which
//! the helper makes and hands to the program. The program accepts the connections outside, so nothing inside
//! has to forward them, and the sandbox needs no network of its own beyond its loopback device.
//!
//! | who | does |
//! | --- | --- |
//! | program | starts the helper with a socket as standard input, and sends over it what the command reads |
//! | helper | listens on `127.0.0.1`, sends the listening socket back, sets the variables of proxies |
//! | program | serves the listening socket until the other end of the first socket is closed |
//!
//! In the step `namespace` the first process inside keeps that end until nothing is left; in `landlock` the
//! command and what it starts inherit it.

use std::fs::File;
use std::io::Read as _;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::Command;

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::unistd::dup2_stdin;

use super::kernel;
use crate::SandboxError;

/// The variables by which programs find a proxy.
const VARIABLES: [&str; 6] = [
    "ALL_PROXY",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "all_proxy",
    "http_proxy",
    "https_proxy",
];

/// Hosts that programs reach without a proxy: the loopback device of the command itself.
const DIRECT: &str = "localhost,127.0.0.1,::1";

/// The name in front of the token, where a proxy expects the name of a person.
const USER: &str = "agentx";

/// Random bytes of a token.
const TOKEN_BYTES: usize = 16;

/// An open door.
pub(super) struct ProxyDoor {
    control: OwnedFd,
    /// The port of the proxy.
    pub(super) port: u16,
    address: String,
}

fn failed(error: impl std::fmt::Display) -> SandboxError {
    SandboxError::set_up("the way to the proxy", error)
}

/// Takes the socket to the program from standard input, and puts there what it sent: a file, or nothing.
pub(super) fn take_control() -> Result<OwnedFd, SandboxError> {
    let control = std::io::stdin().as_fd().try_clone_to_owned().map_err(failed)?;
    let (_, input) = kernel::receive_descriptor(&control, &mut [0; 1]).map_err(failed)?;
    let input = match input {
        Some(input) => input,
        None => File::open("/dev/null").map_err(failed)?.into(),
    };
    dup2_stdin(&input).map_err(failed)?;
    Ok(control)
}

impl ProxyDoor {
    /// Listens in the present network, and hands the socket to the program. Where other programs reach it
    /// too, it needs a token, which the environment of the command has.
    pub(super) fn open(control: OwnedFd, has_token: bool) -> Result<Self, SandboxError> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let token = if has_token { token()? } else { String::new() };
        kernel::send_descriptor(&control, &listener, format!("{token}\n").as_bytes()).map_err(failed)?;
        let login = if has_token {
            format!("{USER}:{token}@")
        } else {
            String::new()
        };
        let address = format!("http://{login}127.0.0.1:{port}");
        Ok(Self {
            control,
            port,
            address,
        })
    }

    /// Lets the program that this process becomes inherit the socket, so that the proxy serves it until it
    /// and what it starts are gone.
    pub(super) fn keep_open(&self) -> Result<(), SandboxError> {
        fcntl(&self.control, FcntlArg::F_SETFD(FdFlag::empty()))
            .map(|_| ())
            .map_err(failed)
    }

    /// Tells a program about the proxy.
    pub(super) fn set_variables(&self, command: &mut Command) {
        for name in VARIABLES {
            command.env(name, &self.address);
        }
        command.env("NO_PROXY", DIRECT).env("no_proxy", DIRECT);
        // Node.js looks at the other variables only then.
        command.env("NODE_USE_ENV_PROXY", "1");
    }
}

fn token() -> Result<String, SandboxError> {
    let mut bytes = [0; TOKEN_BYTES];
    let read = File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut bytes));
    read.map_err(failed)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
