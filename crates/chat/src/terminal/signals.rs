//! Signals to stop: the first asks, the second ends the program.
//!
//! A separate thread receives them, because the working thread may wait for an output that nobody reads. It
//! reports the first signal to all listeners. If another signal comes before the program has acted on the
//! first, the thread kills running commands and ends the process itself.

use std::sync::OnceLock;
use std::time::Duration;

use tokio::sync::broadcast;

use crate::exit::Exit;
use crate::terminal;
use crate::terminal::{output, stop_request};

/// Maximum time for the program to end by itself after the second signal.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// Maximum number of waiting signals; there are never more than two.
const WAITING: usize = 8;

/// The exit code of the process, once the thread ends it.
static ENDED: OnceLock<Exit> = OnceLock::new();
/// The channel on which the thread reports signals.
static THREAD: OnceLock<broadcast::Sender<Exit>> = OnceLock::new();

/// Waits for Ctrl-C and for a request to terminate.
pub struct Signals {
    heard: broadcast::Receiver<Exit>,
    /// A received signal on which the program has not acted yet.
    kept: Option<Exit>,
}

impl Signals {
    /// Begins to listen.
    ///
    /// # Errors
    /// Returns an error if the system refuses.
    pub fn listen() -> std::io::Result<Self> {
        let thread = match THREAD.get() {
            Some(thread) => thread,
            None => {
                let thread = start()?;
                THREAD.get_or_init(|| thread)
            }
        };
        Ok(Self {
            heard: thread.subscribe(),
            kept: None,
        })
    }

    /// Repeats the signal, because its receiver was busy with something else.
    pub(crate) fn keep(&mut self, exit: Exit) {
        self.kept = Some(exit);
    }

    /// Notes that the request of the signal is done and the program continues: the next signal counts as a
    /// first one.
    pub(crate) fn acted(&self) {
        stop_request::clear();
    }

    /// The next signal, as the exit that it asks for. Safe to drop while it waits.
    pub async fn next(&mut self) -> Exit {
        if let Some(exit) = self.kept.take() {
            return exit;
        }
        loop {
            match self.heard.recv().await {
                Ok(exit) => return exit,
                Err(broadcast::error::RecvError::Lagged(_)) => {}
                // The thread lives as long as the process.
                Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
            }
        }
    }
}

/// Starts the thread; it hears signals when this returns.
fn start() -> std::io::Result<broadcast::Sender<Exit>> {
    let (sender, _) = broadcast::channel(WAITING);
    let (ready, is_ready) = std::sync::mpsc::sync_channel(1);
    let told = sender.clone();
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let listening = runtime.and_then(|runtime| {
                let system = runtime.block_on(async { System::listen() })?;
                Ok((runtime, system))
            });
            match listening {
                Ok((runtime, system)) => {
                    stop_request::hear_signals();
                    // The starter of the thread waits for this.
                    let _ = ready.send(Ok(()));
                    runtime.block_on(hear(system, &told));
                }
                Err(error) => {
                    let _ = ready.send(Err(error));
                }
            }
        })?;
    is_ready.recv().map_err(std::io::Error::other)??;
    Ok(sender)
}

/// Sends signals to the listeners; the second signal ends the process.
async fn hear(mut system: System, listeners: &broadcast::Sender<Exit>) {
    loop {
        let exit = system.next().await;
        // A terminal that is closed may say so more than once: by itself, and through the shell in it.
        if exit == Exit::HungUp && stop_request::is_pending() {
            continue;
        }
        let before = stop_request::add();
        output::wake_writers();
        if exit == Exit::Quit {
            end(exit);
        }
        // If nobody listens, because the program is about to end, wait for that end.
        let _ = listeners.send(exit);
        if before > 0 {
            agentx::tools::kill_all_commands();
            // Give the listeners time to end the program themselves.
            let _ = tokio::time::timeout(LAST_WORDS, system.next()).await;
            end(exit);
        }
    }
}

/// Removes the temporary files of commands at the end of the program. Returns its exit code: that of the
/// signal that ends it, whatever its killed commands reported, or else `exit`.
pub fn exit_of_process(exit: Exit) -> Exit {
    agentx::sandbox::remove_temporary_directories();
    ENDED.get().copied().unwrap_or(exit)
}

/// Kills the running commands and ends the process. No session records their end: the outcome of the calls is
/// unknown.
fn end(exit: Exit) -> ! {
    let exit = *ENDED.get_or_init(|| exit);
    agentx::runtime::halt_sessions();
    agentx::tools::kill_all_commands();
    terminal::restore();
    std::process::exit(exit.code().into());
}

/// The signals of the system.
#[cfg(unix)]
struct System {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hang_up: Option<tokio::signal::unix::Signal>,
    quit: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl System {
    /// Begins to listen. Signals that the parent process set to be ignored, as `nohup` does, stay ignored.
    fn listen() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let ignored = ignored();
        let unless_ignored = |kind: SignalKind| match ignored & bit(kind.as_raw_value()) {
            0 => signal(kind).map(Some),
            _ => Ok(None),
        };
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: unless_ignored(SignalKind::hangup())?,
            quit: unless_ignored(SignalKind::quit())?,
        })
    }

    async fn next(&mut self) -> Exit {
        tokio::select! {
            _ = self.interrupt.recv() => Exit::Interrupted,
            _ = self.terminate.recv() => Exit::Terminated,
            () = receive(&mut self.hang_up) => Exit::HungUp,
            () = receive(&mut self.quit) => Exit::Quit,
        }
    }
}

#[cfg(unix)]
async fn receive(signal: &mut Option<tokio::signal::unix::Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}

/// The place of a signal in a mask.
#[cfg(unix)]
fn bit(signal: i32) -> u64 {
    let place = u32::try_from(signal - 1).unwrap_or(u32::MAX);
    1_u64.checked_shl(place).unwrap_or(0)
}

/// Signals that this process ignores, as a mask. Only Linux says it in words; elsewhere none are known.
#[cfg(unix)]
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    ignored_in(&status)
}

#[cfg(unix)]
fn ignored_in(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}

/// The signals of the system.
#[cfg(not(unix))]
struct System;

#[cfg(not(unix))]
impl System {
    fn listen() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) -> Exit {
        let _ = tokio::signal::ctrl_c().await;
        Exit::Interrupted
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_is_ignored_is_read_from_what_the_system_says_of_the_process() {
        let status = "Name:\tagentx\nSigBlk:\t0000000000000004\nSigIgn:\t0000000000001001\nSigCgt:\t0000000000004002\n";
        let ignored = ignored_in(status);
        assert_eq!(ignored & bit(1), 1, "a hang-up, as under nohup");
        assert_eq!((ignored & bit(2), ignored & bit(3)), (0, 0));
        assert_eq!(ignored_in("Name:\tagentx\n"), 0);
    }

    #[tokio::test]
    async fn a_signal_that_is_kept_comes_again_once() {
        let mut signals = Signals::listen().unwrap();
        signals.keep(Exit::Interrupted);
        assert_eq!(signals.next().await, Exit::Interrupted);
        assert!(signals.kept.is_none());
    }
}
