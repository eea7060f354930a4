//! The program: where it is found, and how it is started.
//!
//! It speaks the protocol over its descriptors 3 and 4, which a shell connects with its standard input and
//! output before it becomes the browser. So the protocol has no port that other programs could use, and the
//! browser ends when this process is gone.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agentx_tools::{PipedCommand, PipedProgram, ProgramPipes};
use nix::unistd::Uid;
use tokio::io::AsyncReadExt as _;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio_util::task::AbortOnDropHandle;

use crate::options::{BrowserOptions, WINDOW};
use crate::profile::BrowserProfile;

/// The names of the program, the usual ones of Debian first.
const PROGRAMS: [&str; 4] = [
    "chromium",
    "chromium-browser",
    "google-chrome-stable",
    "google-chrome",
];

/// Connects the pipes, and becomes the program.
const CONNECT: &str = r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null"#;

/// The bytes of its standard error that an error shows.
const SHOWN_ERRORS: usize = 600;
/// The time for the browser to end after its pipes are closed, and again after a signal.
const ENDING: Duration = Duration::from_millis(700);

/// Fixed arguments: nothing is shown, asked, updated or sent to the vendor, and all frames of a page are in
/// one process, so that one connection reaches them.
const ARGUMENTS: [&str; 26] = [
    "--headless",
    "--remote-debugging-pipe",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-client-side-phishing-detection",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-features=IsolateOrigins,site-per-process,Translate,OptimizationHints,MediaRouter,\
     AutofillServerCommunication",
    "--disable-gpu",
    "--disable-search-engine-choice-screen",
    "--disable-site-isolation-trials",
    "--disable-sync",
    "--deny-permission-prompts",
    "--gaia-url=https://clients2.google.com/",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--metrics-recording-only",
    "--mute-audio",
    "--no-pings",
    "--password-store=basic",
    "--proxy-bypass-list=<-loopback>",
];

/// Returns the program of a browser: the named one, or the first Chromium or Chrome in `PATH`. `None` if it
/// is not there. A name with slashes has to be absolute: a folder in which this program runs chooses no
/// program.
pub fn find_chromium(named: Option<&Path>) -> Option<PathBuf> {
    if let Some(named) = named.filter(|named| named.components().count() > 1) {
        return (named.is_absolute() && named.is_file()).then(|| named.to_owned());
    }
    let path = std::env::var_os("PATH")?;
    let names: Vec<PathBuf> = match named {
        Some(name) => vec![name.to_owned()],
        None => PROGRAMS.iter().map(PathBuf::from).collect(),
    };
    let mut places = names.iter().flat_map(|name| {
        let directories = std::env::split_paths(&path).filter(|directory| directory.is_absolute());
        directories.map(move |directory| directory.join(name))
    });
    places.find(|place| place.is_file())
}

/// Returns the program that these options start.
///
/// # Errors
/// Returns why it cannot be started, and what to do.
pub fn usable_chromium(options: &BrowserOptions) -> Result<PathBuf, String> {
    let named = options.program.as_deref();
    let program = find_chromium(named).ok_or_else(|| match named {
        Some(named) => format!("{} is not there (`browser.program`)", named.display()),
        None => "no Chromium or Chrome is in PATH; install one, or name it with `browser.program`".to_owned(),
    })?;
    if Uid::effective().is_root() && !options.without_sandbox {
        let why = "Chromium does not start for root with its sandbox; run this program as another user, or set \
                   `browser.sandbox: false` in your settings";
        return Err(why.to_owned());
    }
    Ok(program)
}

/// A browser that runs. Dropping it kills all of its processes.
pub(crate) struct ChromiumProgram {
    program: PipedProgram,
    said: Arc<Mutex<Vec<u8>>>,
    _listening: AbortOnDropHandle<()>,
}

/// The pipes of the protocol.
pub(crate) struct ProtocolPipes {
    /// Commands go here.
    pub(crate) commands: ChildStdin,
    /// Answers and events come from here.
    pub(crate) answers: ChildStdout,
}

impl ChromiumProgram {
    /// Starts the program with a profile and a proxy on this machine. Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// Returns why it cannot be started, and what to do.
    pub(crate) fn start(
        options: &BrowserOptions,
        profile: &BrowserProfile,
        proxy_port: u16,
    ) -> Result<(Self, ProtocolPipes), String> {
        let program = usable_chromium(options)?;
        let arguments = arguments(&program, options, profile, proxy_port);
        let command = PipedCommand {
            name: "browser",
            program: "/bin/sh",
            arguments: &arguments,
            directory: profile.path(),
            environment: &environment(profile.path()),
        };
        let (program, pipes) =
            PipedProgram::start(&command).map_err(|error| format!("it cannot be started: {error}"))?;
        let ProgramPipes {
            stdin,
            stdout,
            stderr,
        } = pipes;
        let said = Arc::new(Mutex::new(Vec::new()));
        let listening = tokio::spawn(keep_end(stderr, said.clone()));
        let started = Self {
            program,
            said,
            _listening: AbortOnDropHandle::new(listening),
        };
        let pipes = ProtocolPipes {
            commands: stdin,
            answers: stdout,
        };
        Ok((started, pipes))
    }

    /// The end of its standard error.
    pub(crate) fn last_words(&self) -> String {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&said).trim().to_owned()
    }

    /// Returns how it ended, if it has.
    pub(crate) async fn exit_status(&mut self) -> Option<ExitStatus> {
        self.program.ended_within(Duration::ZERO).await
    }

    /// Ends it. Drop its pipes before.
    pub(crate) async fn stop(self) {
        self.program.stop(ENDING).await;
    }
}

fn arguments(
    program: &Path,
    options: &BrowserOptions,
    profile: &BrowserProfile,
    proxy_port: u16,
) -> Vec<String> {
    let (width, height) = WINDOW;
    let mut arguments = vec![
        "-c".to_owned(),
        CONNECT.to_owned(),
        program.to_string_lossy().into_owned(),
    ];
    arguments.extend(ARGUMENTS.iter().map(|argument| (*argument).to_owned()));
    arguments.extend([
        format!("--user-data-dir={}", profile.path().display()),
        format!("--proxy-server=socks5://127.0.0.1:{proxy_port}"),
        format!("--window-size={width},{height}"),
    ]);
    if options.without_sandbox {
        arguments.push("--no-sandbox".to_owned());
    }
    arguments.push("about:blank".to_owned());
    arguments
}

/// The browser gets no variables of this process but those that say where programs, words, fonts and
/// temporary files are; its home is the profile. Its socket is a temporary file and not in the profile,
/// because the path of a socket has to be short.
fn environment(profile: &Path) -> Vec<(OsString, OsString)> {
    let kept = [
        "PATH",
        "LANG",
        "LC_ALL",
        "LC_CTYPE",
        "TZ",
        "FONTCONFIG_FILE",
        "FONTCONFIG_PATH",
        "TMPDIR",
    ];
    let mut variables: Vec<(OsString, OsString)> = kept
        .iter()
        .filter_map(|name| Some((OsString::from(name), std::env::var_os(name)?)))
        .collect();
    variables.push(("HOME".into(), profile.into()));
    variables
}

/// Reads everything and keeps the end.
async fn keep_end(mut stderr: ChildStderr, said: Arc<Mutex<Vec<u8>>>) {
    let mut piece = [0; 4096];
    while let Ok(read @ 1..) = stderr.read(&mut piece).await {
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        said.extend_from_slice(&piece[..read]);
        let surplus = said.len().saturating_sub(SHOWN_ERRORS);
        said.drain(..surplus);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_program_is_found_or_nothing_is() {
        assert_eq!(find_chromium(Some(Path::new("/bin/sh"))), Some("/bin/sh".into()));
        assert_eq!(find_chromium(Some(Path::new("/made/up/chromium"))), None);
        assert!(find_chromium(Some(Path::new("sh"))).is_some_and(|found| found.ends_with("sh")));
        assert_eq!(find_chromium(Some(Path::new("agentx-made-up-browser"))), None);
        assert_eq!(
            find_chromium(Some(Path::new("src/chromium.rs"))),
            None,
            "a relative path"
        );
    }

    #[test]
    fn the_browser_is_started_behind_the_proxy_with_its_own_profile() {
        let parent = tempfile::tempdir().unwrap();
        let profile = BrowserProfile::create(parent.path()).unwrap();
        let all = |without_sandbox| {
            let options = BrowserOptions {
                without_sandbox,
                ..BrowserOptions::new(parent.path())
            };
            arguments(Path::new("/x/chromium"), &options, &profile, 7)
        };
        let arguments = all(false);
        assert_eq!(&arguments[..1], ["-c"]);
        assert_eq!(&arguments[2..3], ["/x/chromium"]);
        assert!(arguments.contains(&"--proxy-server=socks5://127.0.0.1:7".to_owned()));
        assert!(arguments.contains(&"--proxy-bypass-list=<-loopback>".to_owned()));
        assert!(!arguments.contains(&"--no-sandbox".to_owned()));
        assert!(all(true).contains(&"--no-sandbox".to_owned()));
        let environment = environment(profile.path());
        assert!(environment.contains(&("HOME".into(), profile.path().into())));
    }
}
