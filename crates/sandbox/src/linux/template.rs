//! The template of a root directory: a process that has made the root of a policy once, and starts each
//! command of that policy in a copy. To make it costs more than all else of a command: about thirty mounts,
//! and the end of the old root, for which the kernel waits.
//!
//! | process | is | ends |
//! | --- | --- | --- |
//! | template | a child of the program with a user and a mount namespace, in which nothing can be written that commands could not write anyway | with the program, or after a minute without a command |
//! | leader | a child of the program, which leads the group of the command | as the command did |
//! | init | a child of the template with namespaces of its own: first process of its pid namespace | with the last process inside |
//! | command | the requested program | by itself |
//!
//! Each command gets namespaces of its own of every kind, also the user and the mount namespace. It cannot
//! change the template: a copy of a mount is another mount, and what is mounted is read-only, or what the
//! policy lets commands write. `init` is a child of the template, so the program does not wait until the
//! namespaces of a command are gone.

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

use super::namespace::{InsidePerson, end_as_reported};
use super::template_command::TemplateCommand;
use super::template_request::TemplateRequest;
use super::{kernel, mounts};
use crate::{SandboxError, SandboxPaths, SandboxPolicy, SandboxStep};

/// What a template says: its root is made.
pub(crate) const READY: u8 = 1;
/// The command starts; the process id of its leader follows.
pub(crate) const STARTED: u8 = 2;
/// Nothing was started, because the root no longer is as the policy wants it.
pub(crate) const STALE: u8 = 3;
/// The longest request: shorter than the longest argument of a program.
pub(crate) const LONGEST_REQUEST: usize = 100_000;

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
}

/// The process that a request has made this one, which was a copy of the template at first.
enum Begun {
    Template,
    Leader(Leader),
    Init(TemplateCommand),
}

/// The pipes of a leader: the end of the command arrives on one; the other says that the group is there.
struct Leader {
    report: OwnedFd,
    joined: OwnedFd,
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
    fn run(self, policy: &SandboxPolicy) -> std::io::Result<ExitCode> {
        loop {
            let (asked, is_idle) = self.wait()?;
            let has_children = reap();
            if is_idle && !has_children {
                return Ok(ExitCode::SUCCESS);
            }
            if !asked {
                continue;
            }
            let Some((request, output)) = self.receive()? else {
                return Ok(ExitCode::SUCCESS);
            };
            match self.begin(policy, request, output)? {
                Begun::Template => {}
                Begun::Leader(leader) => {
                    drop(self);
                    leader.lead()
                }
                Begun::Init(command) => {
                    drop(self);
                    command.run(policy)
                }
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

    /// Receives a request, with the file that gets the output of the command. `None` if the program is gone.
    fn receive(&self) -> std::io::Result<Option<(TemplateRequest, OwnedFd)>> {
        self.socket.set_read_timeout(Some(REQUEST))?;
        let mut length = [0; 4];
        let (read, output) = kernel::receive_descriptor(&self.socket, &mut length)?;
        let length = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
        let Some(output) = output.filter(|_| read == 4 && length <= LONGEST_REQUEST) else {
            return Ok(None);
        };
        let mut bytes = vec![0; length];
        (&self.socket).read_exact(&mut bytes)?;
        Ok(TemplateRequest::of_bytes(&bytes).map(|request| (request, output)))
    }

    /// Starts the leader and the first process of a command, and says so.
    fn begin(
        &self,
        policy: &SandboxPolicy,
        request: TemplateRequest,
        output: OwnedFd,
    ) -> std::io::Result<Begun> {
        if self
            .covers
            .iter()
            .any(|(path, mount)| cover(path).ok() != Some(*mount))
        {
            (&self.socket).write_all(&[STALE])?;
            return Ok(Begun::Template);
        }
        let (from_init, report) = pipe2(OFlag::O_CLOEXEC)?;
        let (go, to_init) = pipe2(OFlag::O_CLOEXEC)?;
        let (from_leader, joined) = pipe2(OFlag::O_CLOEXEC)?;
        let ForkResult::Parent { child: init } = kernel::clone_process(namespaces(policy.network))? else {
            return Ok(Begun::Init(TemplateCommand {
                request,
                output,
                report,
                go,
                person: self.person,
            }));
        };
        let ForkResult::Parent { child: leader } = kernel::clone_process(libc::CLONE_PARENT)? else {
            let report = from_init;
            return Ok(Begun::Leader(Leader { report, joined }));
        };
        drop(joined);
        // `init` has no id for the group inside of its namespace, and the group is there once its leader says
        // so.
        File::from(from_leader).read_exact(&mut [0])?;
        setpgid(init, leader)?;
        File::from(to_init).write_all(&[0])?;
        let [a, b, c, d] = leader.as_raw().to_le_bytes();
        (&self.socket).write_all(&[STARTED, a, b, c, d])?;
        Ok(Begun::Template)
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

/// Waits for the children that have ended. Returns whether one still runs.
fn reap() -> bool {
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) => return true,
            Err(Errno::ECHILD) => return false,
            Ok(_) | Err(_) => {}
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
        end_as_reported(self.report)
    }
}
