//! The pipe through which a shell that stays gets its lines, and the proxy of its sandbox, if it has one: the
//! helper then gets the pipe over its way to the proxy.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;

use agentx_runtime::ToolContext;
use tokio::process::ChildStdin;

use crate::bash::command_sandbox::CommandSandbox;
use crate::bash::options::BashOptions;
use crate::host_proxy::{HostAnswers, HostGate, HostProxy, ProxyWay};

/// The ends of the pipe.
pub(super) struct ShellPipe {
    /// Takes the lines.
    pub(super) lines: ChildStdin,
    /// The standard input of the process to start.
    pub(super) theirs: OwnedFd,
    /// The way to the proxy.
    pub(super) way: Option<UnixStream>,
}

impl ShellPipe {
    /// Opens the pipe for a shell in this sandbox.
    pub(super) fn open(sandbox: Option<&CommandSandbox>) -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        let lines = ChildStdin::from_std(OwnedFd::from(writer).into())?;
        if !sandbox.is_some_and(CommandSandbox::has_proxy) {
            return Ok(Self {
                lines,
                theirs: reader.into(),
                way: None,
            });
        }
        let (theirs, ours) = ProxyWay::new(Some(reader.as_fd()))?.split();
        Ok(Self {
            lines,
            theirs,
            way: Some(ours),
        })
    }
}

/// Starts the proxy of a shell's sandbox. A shell outlives the call that started it, so nobody is asked about
/// hosts: those that the settings name are reached.
pub(super) fn with_proxy(
    sandbox: Option<CommandSandbox>,
    way: Option<UnixStream>,
    options: &BashOptions,
    context: &ToolContext,
) -> io::Result<Option<CommandSandbox>> {
    let (held, way) = match (sandbox, way) {
        (Some(held), Some(way)) => (held, way),
        (sandbox, _) => return Ok(sandbox),
    };
    let launcher = options.sandbox.as_ref();
    let hosts = launcher.map(|launcher| launcher.profile().hosts.clone());
    let (hosts, session) = (hosts.unwrap_or_default(), context.session_id.clone());
    let gate = HostGate::new(hosts, None, session, HostAnswers::default());
    let proxy = HostProxy::start(way, gate, options.credentials.clone())?;
    Ok(Some(held.with_proxy(proxy)))
}
