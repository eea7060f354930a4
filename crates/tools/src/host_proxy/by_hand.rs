//! A command that a person runs by hand beside a proxy: `agentx sandbox run`.

use std::io;
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};

use agentx_sandbox::HostPattern;
use agentx_types::SessionId;

use super::gate::{HostAnswers, HostGate};
use super::masked_credentials::MaskedCredentials;
use super::serving::{HostProxy, ProxyWay};

/// The proxy of a command that a person runs.
#[derive(Debug)]
pub struct ProxyByHand {
    /// The hosts that the command reaches. Nobody is asked about another one.
    pub hosts: Vec<HostPattern>,
    /// The credentials that the proxy puts in.
    pub credentials: MaskedCredentials,
    /// The directory for the command's temporary files.
    pub temporary: PathBuf,
}

/// Runs a helper whose policy has a proxy, and serves that until the command ends. The command reads the
/// standard input of this process. Returns how the command ended, and the first host that it was refused.
///
/// # Errors
/// Returns an error if the helper or the proxy cannot be started.
pub fn run_beside_proxy(
    mut command: Command,
    proxy: ProxyByHand,
) -> io::Result<(ExitStatus, Option<String>)> {
    // In a thread: the caller may be a task of another runtime, in which none can be started.
    let running = std::thread::spawn(move || -> io::Result<(ExitStatus, Option<String>)> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        let _inside = runtime.enter();
        command.envs(proxy.credentials.variables(&proxy.temporary)?);
        let (theirs, ours) = ProxyWay::new(Some(io::stdin().as_fd()))?.split();
        let gate = HostGate::new(
            proxy.hosts,
            None,
            SessionId::new("by-hand"),
            HostAnswers::default(),
        );
        let proxy = HostProxy::start(ours, gate, proxy.credentials)?;
        let mut child = command.stdin(Stdio::from(theirs)).spawn()?;
        // It has the other end, whose last copy says by its end that nothing is left.
        drop(command);
        let status = child.wait()?;
        Ok((status, proxy.contacts().take_refused().map(|(host, _)| host)))
    });
    let broken = |_| io::Error::other("the thread of the proxy broke");
    running.join().map_err(broken)?
}
