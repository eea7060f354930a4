//! The terminal of a shell: a pseudoterminal without echo, whose modes are put back before each command.

use std::os::fd::{AsFd as _, OwnedFd};
use std::time::Duration;

use nix::libc;
use nix::sys::termios::{FlushArg, LocalFlags, OutputFlags, SetArg, Termios, tcflush, tcgetattr, tcsetattr};
use pty_process::{OwnedReadPty, OwnedWritePty, Pts, Size};
use tokio::io::AsyncWriteExt as _;

use super::typed_line::TypedLine;

/// Rows and columns of the terminal.
const SIZE: (u16, u16) = (50, 120);
/// The time to wait for a program that does not read what is typed.
const TYPING: Duration = Duration::from_secs(5);

/// The end of a pseudoterminal that this program types into.
pub(super) struct ShellTerminal {
    keys: OwnedWritePty,
    /// The same end, to set its modes.
    modes_of: OwnedFd,
    modes: libc::termios,
    line: TypedLine,
}

/// A new pseudoterminal.
pub(super) struct OpenedTerminal {
    pub(super) terminal: ShellTerminal,
    /// Its output.
    pub(super) output: OwnedReadPty,
    /// The end for the shell.
    pub(super) inside: Pts,
}

impl ShellTerminal {
    /// Opens a pseudoterminal. Must be called inside a tokio runtime.
    pub(super) fn open() -> std::io::Result<OpenedTerminal> {
        let (pty, inside) = pty_process::open().map_err(std::io::Error::other)?;
        pty.resize(Size::new(SIZE.0, SIZE.1))
            .map_err(std::io::Error::other)?;
        let modes_of = pty.as_fd().try_clone_to_owned()?;
        let mut modes = tcgetattr(&modes_of)?;
        // The call itself says what was typed, and lines end as they do in a pipe.
        modes
            .local_flags
            .remove(LocalFlags::ECHO | LocalFlags::ECHOE | LocalFlags::ECHOK | LocalFlags::ECHONL);
        modes.output_flags.remove(OutputFlags::OPOST);
        tcsetattr(&modes_of, SetArg::TCSANOW, &modes)?;
        let (output, keys) = pty.into_split();
        let terminal = Self {
            keys,
            modes_of,
            modes: modes.into(),
            line: TypedLine::default(),
        };
        Ok(OpenedTerminal {
            terminal,
            output,
            inside,
        })
    }

    /// Puts the modes back that an earlier program may have changed, and drops what it was sent and did not
    /// read.
    pub(super) fn reset(&mut self) {
        self.line.clear();
        // A shell that is gone has no terminal.
        let _ = tcsetattr(&self.modes_of, SetArg::TCSANOW, &Termios::from(self.modes));
        let _ = tcflush(&self.modes_of, FlushArg::TCOFLUSH);
    }

    /// The line that was typed since the last command began, as far as it has not ended.
    pub(super) fn line(&self) -> &TypedLine {
        &self.line
    }

    /// Types these keys.
    pub(super) async fn press(&mut self, keys: &str) -> std::io::Result<()> {
        self.line.push(keys);
        let typed = tokio::time::timeout(TYPING, self.keys.write_all(keys.as_bytes())).await;
        typed.unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into()))
    }
}
