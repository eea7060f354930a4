//! The process of a command that a template has started: a child of this process, which ends as the command
//! does.

use std::ffi::OsStr;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::{Mutex, PoisonError};

/// Facts about a command that a template needs beside its
/// [`SandboxedCommand`](crate::SandboxedCommand).
#[derive(Clone, Debug)]
pub struct TemplateStart<'a> {
    /// The working directory.
    pub directory: &'a Path,
    /// All variables of the command. Those of its sandbox are added.
    pub variables: Vec<(&'a OsStr, &'a OsStr)>,
    /// The name of the variable by which the processes of the command are found. The processes of its sandbox
    /// show it, too.
    pub mark: &'a OsStr,
    /// The file that gets the output and the error output. The command reads nothing.
    pub output: BorrowedFd<'a>,
}

/// The leader of the process group of a command, a child of this process. Its end is announced by `SIGCHLD`.
#[derive(Debug)]
pub struct HeldProcess {
    id: u32,
    ended: Option<ExitStatus>,
}

/// Processes that were let go before they ended. The next start waits for those that have ended since.
static LET_GO: Mutex<Vec<u32>> = Mutex::new(Vec::new());

impl HeldProcess {
    /// A child of this process that nothing has waited for.
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    pub(crate) fn of(id: u32) -> Self {
        let mut let_go = LET_GO.lock().unwrap_or_else(PoisonError::into_inner);
        let_go.retain(|process| matches!(system::wait(*process, false), Ok(None)));
        Self { id, ended: None }
    }

    /// The id of the process, and of its group.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Returns how it ended; `None` while it runs.
    ///
    /// # Errors
    /// Returns an error if something else has waited for it.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.ended.is_none() {
            self.ended = system::wait(self.id, false)?;
        }
        Ok(self.ended)
    }

    /// Blocks until it ends, and returns how.
    ///
    /// # Errors
    /// Returns an error if something else has waited for it.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        loop {
            if let Some(ended) = self.ended {
                return Ok(ended);
            }
            self.ended = system::wait(self.id, true)?;
        }
    }
}

impl Drop for HeldProcess {
    fn drop(&mut self) {
        if let Ok(None) = self.try_wait() {
            LET_GO
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(self.id);
        }
    }
}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod system {
    use std::os::unix::process::ExitStatusExt as _;

    use nix::errno::Errno;
    use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
    use nix::unistd::Pid;

    use super::{ExitStatus, io};

    /// The bit of a status that says that memory was dumped.
    const DUMPED: i32 = 0x80;

    pub(super) fn wait(process: u32, is_blocking: bool) -> io::Result<Option<ExitStatus>> {
        let process = Pid::from_raw(i32::try_from(process).map_err(io::Error::other)?);
        let flags = (!is_blocking).then_some(WaitPidFlag::WNOHANG);
        let status = match waitpid(process, flags) {
            Ok(WaitStatus::Exited(_, code)) => code << 8,
            Ok(WaitStatus::Signaled(_, signal, dumped)) => signal as i32 | if dumped { DUMPED } else { 0 },
            Ok(_) | Err(Errno::EINTR) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        Ok(Some(ExitStatus::from_raw(status)))
    }
}

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod system {
    use super::{ExitStatus, io};

    pub(super) fn wait(_: u32, _: bool) -> io::Result<Option<ExitStatus>> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
