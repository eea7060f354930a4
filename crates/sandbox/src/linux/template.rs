//! The template of a root directory: a process that has made the root of a policy once, and starts each
//! command of that policy in a copy. To make it costs more than all else of a command: about thirty mounts,
//! and the end of the old root, for which the kernel waits.
//!
//! | process | is | ends |
//! | --- | --- | --- |
//! | template | a child of the program, in a user and a mount namespace | with the program, or when idle |
//! | leader | a child of the program, which leads the group of the command | as the command did |
//! | init | a child of the template: the [first process](super::first_process) of a pid namespace | with the command, or with the last process of its group |
//! | command | the requested program | by itself |
//!
//! Each command gets namespaces of its own of every kind, also the user and the mount namespace. It cannot
//! change the template: a copy of a mount is another mount, and what is mounted is read-only, or what the
//! policy lets commands write. `init` is a child of the template, so the program does not wait until the
//! namespaces of a command are gone; and it is made before its command is known, while nothing is asked for.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, dup2_stdin, pipe2, setpgid};

use super::first_process::{FirstReport, end_as_killed};
use super::namespace::InsidePerson;
use super::template_request::{receive_with_descriptor, send_with_descriptor};
use super::{kernel, mounts, template_command};
use crate::{SandboxError, SandboxPaths, SandboxPolicy, SandboxStep};

/// The word of a template whose root is made.
pub(crate) const READY: u8 = 1;
/// The command starts; the process id of its leader follows.
pub(crate) const STARTED: u8 = 2;
/// Nothing was started, because the root no longer is as the policy wants it, or because that failed.
pub(crate) const STALE: u8 = 3;

/// The time without a command after which the template ends, so that it does not keep file systems busy.
const IDLE: u16 = 60_000;
/// The time in which a request has to arrive.
const REQUEST: Duration = Duration::from_secs(5);

/// A path that the root covers with a mount, and that mount; `None` if nothing is there.
type Cover = (CString, Option<u64>);

/// A template that waits for requests.
struct Template {
    socket: UnixStream,
    ended: SignalFd,
    person: InsidePerson,
    covers: Vec<Cover>,
    /// The first process of the next command, which takes the restrictions while nothing is asked for.
    next: Option<NextInit>,
    /// The number of first processes that have not ended.
    children: usize,
}

/// A first process that waits for its command, and the way to it.
struct NextInit {
    process: Pid,
    way: UnixStream,
}

/// The process that a request has made this one, which was a copy of the template at first.
enum Begun {
    Template { leader: Pid },
    Leader(Leader),
}

/// The pipes of a leader: the end of the command arrives on one; the other says that the group is there. What
/// was ended with the command is told in its output.
struct Leader {
    report: OwnedFd,
    joined: OwnedFd,
    output: OwnedFd,
}

/// Runs as the template of a policy. The other end of standard input is the program.
pub(super) fn serve(policy: &SandboxPolicy) -> Result<ExitCode, SandboxError> {
    let failed = |error: Errno| SandboxError::set_up("a template", error);
    let broken = |error: std::io::Error| SandboxError::set_up("a template", error);
    if policy.step != SandboxStep::Namespace || policy.proxy || policy.limits.has_group() {
        return Err(SandboxError::set_up("a template", "the policy is not for one"));
    }
    let socket = std::io::stdin().as_fd().try_clone_to_owned().map_err(broken)?;
    let null = File::open("/dev/null").map_err(broken)?;
    dup2_stdin(&null).map_err(failed)?;
    // Signals for the group are for the command; the program that is executed gets none blocked.
    SigSet::all().thread_block().map_err(failed)?;
    let ended = SigSet::from(Signal::SIGCHLD);
    let ended = SignalFd::with_flags(&ended, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK);
    let person = InsidePerson::present();
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS).map_err(failed)?;
    person.enter().map_err(failed)?;
    mounts::enter_template(&policy.paths)?;
    let template = Template {
        socket: socket.into(),
        ended: ended.map_err(failed)?,
        person,
        covers: covers(&policy.paths)?,
        next: None,
        children: 0,
    };
    (&template.socket).write_all(&[READY]).map_err(broken)?;
    template.run(policy).map_err(broken)
}

/// Looks which protected and hidden paths the root covers.
fn covers(paths: &SandboxPaths) -> Result<Vec<Cover>, SandboxError> {
    let covered = |path: &PathBuf| {
        let failed = |error| SandboxError::path(path, error);
        let name = CString::new(path.as_os_str().as_bytes()).map_err(|error| failed(error.into()))?;
        let mount = cover(&name).map_err(failed)?;
        Ok((name, mount))
    };
    paths.protected.iter().chain(&paths.hidden).map(covered).collect()
}

/// Returns the mount that covers a path; `None` if nothing is at the path. What is there uncovered is an
/// error.
fn cover(path: &CStr) -> std::io::Result<Option<u64>> {
    match kernel::mount_at(path) {
        Ok(Some(mount)) => Ok(Some(mount)),
        Ok(None) => Err(std::io::Error::other("no mount covers it")),
        Err(error) => match error.raw_os_error() {
            Some(libc::ENOENT | libc::ENOTDIR | libc::EACCES) => Ok(None),
            _ => Err(error),
        },
    }
}

impl Template {
    /// Serves until the program is gone, or until nothing was asked for and nothing has run for a while.
    fn run(mut self, policy: &SandboxPolicy) -> std::io::Result<ExitCode> {
        loop {
            // Made behind an answer, so that no command waits for it.
            if self.next.is_none()
                && let Some(way) = self.prepare(policy.network)?
            {
                let person = self.person;
                drop(self);
                template_command::run(way, policy, person)
            }
            let (asked, is_idle) = self.wait()?;
            self.children = self.children.saturating_sub(reap());
            if is_idle && self.children <= usize::from(self.next.is_some()) {
                return Ok(ExitCode::SUCCESS);
            }
            if !asked {
                continue;
            }
            let Some((request, output)) = self.receive()? else {
                return Ok(ExitCode::SUCCESS);
            };
            if let Some(leader) = self.begin(&request, output)? {
                drop(self);
                leader.lead()
            }
        }
    }

    /// Waits for a request or the end of a child. Returns whether there is a request, and whether nothing
    /// happened for long.
    fn wait(&self) -> std::io::Result<(bool, bool)> {
        let mut sources = [
            PollFd::new(self.socket.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.ended.as_fd(), PollFlags::POLLIN),
        ];
        let number = match poll(&mut sources, PollTimeout::from(IDLE)) {
            Err(Errno::EINTR) => return Ok((false, false)),
            number => number?,
        };
        let asked = sources[0].any().unwrap_or(true);
        // One signal may stand for several children.
        let _ = self.ended.read_signal();
        Ok((asked, number == 0))
    }

    /// Starts the first process of the next command. Returns its end of the way in that process.
    fn prepare(&mut self, network: bool) -> std::io::Result<Option<UnixStream>> {
        let (way, theirs) = UnixStream::pair()?;
        let ForkResult::Parent { child } = kernel::clone_process(namespaces(network))? else {
            return Ok(Some(theirs));
        };
        self.children += 1;
        self.next = Some(NextInit { process: child, way });
        Ok(None)
    }

    /// Receives a request, with the file that gets the output of the command. `None` if the program is gone.
    fn receive(&self) -> std::io::Result<Option<(Vec<u8>, OwnedFd)>> {
        self.socket.set_read_timeout(Some(REQUEST))?;
        receive_with_descriptor(&self.socket)
    }

    /// Starts a command and says so, or says that nothing was started. Returns the leader in its process.
    fn begin(&mut self, request: &[u8], output: OwnedFd) -> std::io::Result<Option<Leader>> {
        let is_stale = self
            .covers
            .iter()
            .any(|(path, mount)| cover(path).ok() != Some(*mount));
        let begun = if is_stale {
            None
        } else {
            self.start(request, output).ok()
        };
        match begun {
            Some(Begun::Leader(leader)) => return Ok(Some(leader)),
            Some(Begun::Template { leader }) => {
                let [a, b, c, d] = leader.as_raw().to_le_bytes();
                (&self.socket).write_all(&[STARTED, a, b, c, d])?;
            }
            None => (&self.socket).write_all(&[STALE])?,
        }
        Ok(None)
    }

    /// Starts the leader of a command, and hands the command to the first process that waits for it.
    fn start(&mut self, request: &[u8], output: OwnedFd) -> std::io::Result<Begun> {
        let next = self.next.take().ok_or(std::io::ErrorKind::NotFound)?;
        let (from_init, report) = pipe2(OFlag::O_CLOEXEC)?;
        let (from_leader, joined) = pipe2(OFlag::O_CLOEXEC)?;
        let ForkResult::Parent { child: leader } = kernel::clone_process(libc::CLONE_PARENT)? else {
            return Ok(Begun::Leader(Leader {
                report: from_init,
                joined,
                output,
            }));
        };
        drop(joined);
        // The first process has no id for the group inside of its namespace, and the group is there once its
        // leader says so.
        File::from(from_leader).read_exact(&mut [0])?;
        setpgid(next.process, leader)?;
        kernel::send_descriptor(&next.way, &report, &[0])?;
        send_with_descriptor(&next.way, request, &output)?;
        Ok(Begun::Template { leader })
    }
}

/// The namespaces of a command.
fn namespaces(network: bool) -> libc::c_int {
    let own_network = if network { 0 } else { libc::CLONE_NEWNET };
    libc::CLONE_NEWUSER
        | libc::CLONE_NEWNS
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUTS
        | own_network
}

/// Waits for the children that have ended. Returns their number.
fn reap() -> usize {
    let mut ended = 0;
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) => return ended,
            Ok(_) => ended += 1,
            Err(_) => {}
        }
    }
}

impl Leader {
    /// Leads the group of the command, and ends as the command does.
    fn lead(self) -> ! {
        let own = Pid::from_raw(0);
        let joined = setpgid(own, own).map_err(std::io::Error::from);
        // The template waits for it, and starts nothing if it does not come.
        let _ = joined.and_then(|()| File::from(self.joined).write_all(&[0]));
        match FirstReport::read(self.report) {
            Some(report) => report.end_told(File::from(self.output)),
            None => end_as_killed(),
        }
    }
}
