//! The program's side of [templates](super::template): which ones run, and the start of a command by one.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{ErrorKind, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::template::{READY, STALE, STARTED};
use super::template_command::ROOM;
use super::template_request::{LONGEST_REQUEST, TemplateRequest, send_with_descriptor};
use crate::helper_words::TEMPLATE;
use crate::{HeldProcess, SandboxError, SandboxPaths, SandboxPolicy, SandboxStep, TemplateStart};

/// The most templates of a launcher: each is a process of some megabytes.
const MOST: usize = 4;
/// The age of the last command after which a template may be about to end.
const USED_WITHIN: Duration = Duration::from_secs(45);
/// The time in which a template answers: to be made, or to start a command.
const ANSWER: Duration = Duration::from_secs(10);
/// The longest mark of a command.
const LONGEST_MARK: usize = 1_000;
/// Keeps jemalloc from starting a thread: only a process with one thread gets a user namespace.
const ONE_THREAD: (&str, &str) = ("_RJEM_MALLOC_CONF", "background_thread:false");

/// Templates that were given up and whose process is not waited for yet.
static GIVEN_UP: Mutex<Vec<Child>> = Mutex::new(Vec::new());

/// The templates of a launcher.
#[derive(Debug, Default)]
pub(crate) struct Templates {
    running: Mutex<Vec<RunningTemplate>>,
    /// Whether no template could be made here.
    is_impossible: AtomicBool,
}

/// The policy of a template, and the files that its paths were when it was made.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TemplateKey {
    policy: OsString,
    files: Vec<Option<(u64, u64)>>,
    /// The size and the time of the last change of those of which commands see a copy.
    redacted: Vec<Option<(u64, i64, i64)>>,
}

#[derive(Debug)]
struct RunningTemplate {
    key: TemplateKey,
    /// `None` once it was given up.
    child: Option<Child>,
    socket: UnixStream,
    /// The mounts of this process, which become readable as an exception when one changes.
    mounts: File,
    used: Instant,
}

impl TemplateKey {
    fn of(policy: &OsStr, paths: &SandboxPaths) -> Self {
        let all = [
            &paths.read,
            &paths.write,
            &paths.private,
            &paths.protected,
            &paths.hidden,
        ];
        let all = all.into_iter().flatten().chain([&paths.temporary]);
        let identity = |path: &Path| {
            let about = fs::symlink_metadata(path).ok()?;
            Some((about.dev(), about.ino()))
        };
        let written = |path: &Path| {
            let about = fs::symlink_metadata(path).ok()?;
            Some((about.len(), about.mtime(), about.mtime_nsec()))
        };
        Self {
            policy: policy.to_owned(),
            files: all.map(|path| identity(path)).collect(),
            redacted: paths.redacted.iter().map(|path| written(path)).collect(),
        }
    }
}

/// Returns whether a template may start commands of this policy. A proxy and a control group belong to one
/// command.
fn is_for_template(policy: &SandboxPolicy) -> bool {
    let is_plain = !policy.proxy && !policy.best_effort && !policy.limits.has_group();
    policy.step == SandboxStep::Namespace && is_plain
}

impl Templates {
    /// Starts a command in a copy of a template, which is made if there is none. `None` if the command has to
    /// be started in another way; then nothing was started. `words` are the command line of its own helper.
    pub(crate) fn start(
        &self,
        policy: &SandboxPolicy,
        words: &[OsString],
        start: &TemplateStart<'_>,
    ) -> Result<Option<HeldProcess>, SandboxError> {
        let [helper, word, _, argument, command @ ..] = words else {
            return Ok(None);
        };
        let Some(request) = request(command, start) else {
            return Ok(None);
        };
        if !is_for_template(policy) || self.is_impossible.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let key = TemplateKey::of(argument, &policy.paths);
        running.retain(RunningTemplate::is_usable);
        let found = running.iter().position(|template| template.key == key);
        let mut kept = found.map(|at| running.remove(at));
        // One that was kept may be gone or stale. A new one is neither.
        for _ in 0..2 {
            let mut template = match kept.take() {
                Some(template) => template,
                None => match RunningTemplate::make(helper, word, key.clone()) {
                    Some(template) => template,
                    None => break,
                },
            };
            if let Some(leader) = template.begin(&request, start)? {
                running.push(template);
                let superfluous = running.len().saturating_sub(MOST);
                running.drain(..superfluous);
                return Ok(Some(HeldProcess::of(leader)));
            }
        }
        self.is_impossible.store(true, Ordering::Relaxed);
        Ok(None)
    }
}

/// Returns the request for a command, which begins with the file of its program; `None` if it does not fit
/// into one.
fn request(command: &[OsString], start: &TemplateStart<'_>) -> Option<Vec<u8>> {
    let (file, words) = command.split_first()?;
    let join = |variable: &(&OsStr, &OsStr)| [variable.0, variable.1].join(OsStr::new("="));
    // Inside, there may be no link that leads to it.
    let directory = fs::canonicalize(start.directory).ok()?;
    let mark = start.variables.iter().find(|(name, _)| *name == start.mark);
    let request = TemplateRequest {
        directory: directory.into(),
        mark: mark.map(join).unwrap_or_default(),
        file: file.clone(),
        words: words.to_vec(),
        variables: start.variables.iter().map(join).collect(),
    };
    let fits = request.mark.len() < LONGEST_MARK;
    let bytes = request.to_bytes()?;
    (fits && bytes.len() <= LONGEST_REQUEST).then_some(bytes)
}

impl RunningTemplate {
    /// Makes a template. `None` if that does not work here.
    fn make(helper: &OsStr, word: &OsStr, key: TemplateKey) -> Option<Self> {
        let mounts = File::open("/proc/self/mountinfo").ok()?;
        let (socket, theirs) = UnixStream::pair().ok()?;
        socket.set_read_timeout(Some(ANSWER)).ok()?;
        socket.set_write_timeout(Some(ANSWER)).ok()?;
        let child = Command::new(helper)
            .arg0("agentx")
            .args([word, OsStr::new(TEMPLATE), &key.policy])
            .env_clear()
            .envs([ONE_THREAD])
            .env(ROOM.to_str().ok()?, " ".repeat(LONGEST_MARK + 1))
            .current_dir("/")
            .process_group(0)
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let template = Self {
            key,
            child: Some(child),
            socket,
            mounts,
            used: Instant::now(),
        };
        let mut said = [0];
        (&template.socket).read_exact(&mut said).ok()?;
        (said == [READY]).then_some(template)
    }

    /// Returns whether it still shows what this process sees, and is not about to end.
    fn is_usable(&self) -> bool {
        let mut changed = [PollFd::new(self.mounts.as_fd(), PollFlags::POLLPRI)];
        let is_changed = poll(&mut changed, PollTimeout::ZERO) != Ok(0);
        !is_changed && self.used.elapsed() < USED_WITHIN
    }

    /// Starts a command. Returns its leader; `None` if nothing was started.
    ///
    /// A template that gives no answer is ended: it could start the command later, when nobody waits for it.
    fn begin(&mut self, request: &[u8], start: &TemplateStart<'_>) -> Result<Option<u32>, SandboxError> {
        if send_with_descriptor(&self.socket, request, start.output).is_err() {
            // A template starts nothing before it has a whole request.
            return Ok(None);
        }
        self.used = Instant::now();
        let answer = self.answer();
        if answer.is_err()
            && let Some(child) = &mut self.child
        {
            // This fails only if it has ended.
            let _ = child.kill();
        }
        answer.map_err(|error| SandboxError::NoAnswer {
            why: error.to_string(),
        })
    }

    /// Reads the answer to a whole request.
    fn answer(&mut self) -> std::io::Result<Option<u32>> {
        let mut answer = [0; 5];
        match self.socket.read_exact(&mut answer[..1]) {
            // It has ended and has not read all.
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(None),
            answered => answered?,
        }
        match answer[0] {
            STALE => return Ok(None),
            STARTED => self.socket.read_exact(&mut answer[1..])?,
            _ => return Err(ErrorKind::InvalidData.into()),
        }
        let [_, a, b, c, d] = answer;
        Ok(Some(u32::from_le_bytes([a, b, c, d])))
    }
}

impl Drop for RunningTemplate {
    /// Lets the template end, and waits for those that have ended.
    fn drop(&mut self) {
        // It ends when it reads the end of the socket. This fails only if it is gone.
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
        let mut given_up = GIVEN_UP.lock().unwrap_or_else(PoisonError::into_inner);
        given_up.extend(self.child.take());
        given_up.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use std::os::unix::process::ExitStatusExt as _;

    use super::super::template_request::receive_with_descriptor;
    use super::*;

    #[test]
    fn a_template_that_gives_no_answer_is_ended_and_nothing_is_claimed() {
        let (socket, theirs) = UnixStream::pair().unwrap();
        let silent = std::thread::spawn(move || receive_with_descriptor(&theirs).unwrap().is_some());
        let mut template = RunningTemplate {
            key: TemplateKey {
                policy: OsString::new(),
                files: Vec::new(),
                redacted: Vec::new(),
            },
            child: Some(Command::new("sleep").arg("1000").spawn().unwrap()),
            socket,
            mounts: File::open("/proc/self/mountinfo").unwrap(),
            used: Instant::now(),
        };
        let output = File::open("/dev/null").unwrap();
        let start = TemplateStart {
            directory: Path::new("/"),
            variables: Vec::new(),
            mark: OsStr::new("MARK"),
            output: output.as_fd(),
        };
        let begun = template.begin(b"a request", &start);
        assert!(matches!(begun, Err(SandboxError::NoAnswer { .. })), "{begun:?}");
        assert!(silent.join().unwrap(), "it had the whole request");
        let ended = template.child.as_mut().unwrap().wait().unwrap();
        assert_eq!(ended.signal(), Some(9));
    }
}
