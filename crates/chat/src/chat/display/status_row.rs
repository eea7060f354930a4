//! The row with the state of a chat: a template, or the first line of output of the person's own command. The
//! command runs in the background, with a time limit, at most once per configured interval, and only after a
//! change.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use agentx::config::{ChatSettings, NamedFile, Settings};
use agentx::tools::ProgramEnvironment;
use agentx::types::ApprovalMode;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use crate::render::clean::visible;
use crate::session_status::summary::StatusSummary;
use crate::tools::command_sandbox::step_word;

/// Maximum running time of the command of this row.
const LIMIT: Duration = Duration::from_secs(2);
/// Maximum number of bytes of its output that are read.
const MOST_BYTES: u64 = 4096;

/// Fills in a template. If a part is empty, one of the two separators around it is left out.
fn filled(template: &str, stand: &StatusSummary) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some(at) = rest.find(['{', '}']) {
        text.push_str(&rest[..at]);
        let after = &rest[at..];
        let doubled = after.len() >= 2 && after.as_bytes()[0] == after.as_bytes()[1];
        rest = match after.strip_prefix('{').and_then(|inside| inside.split_once('}')) {
            _ if doubled => {
                text.push_str(&after[..1]);
                &after[2..]
            }
            Some((name, rest)) => {
                text.push_str(&visible(&stand.value(name)));
                rest
            }
            None => &after[1..],
        };
    }
    text.push_str(rest);
    text
}

/// The steps of the sandbox on this machine, as words; empty if none is shown.
#[derive(Debug, Default)]
struct SandboxWords {
    /// For commands about which somebody is asked.
    asked: String,
    /// For commands about which nobody is asked.
    unasked: String,
}

/// The row above the line: a template that is filled in, or the output of a command of the person.
#[derive(Debug)]
pub(crate) struct StatusRow {
    template: String,
    /// The steps of the sandbox on this machine, if the template shows one.
    sandbox: SandboxWords,
    command: Option<StatusScript>,
}

#[derive(Debug)]
struct StatusScript {
    line: String,
    environment: ProgramEnvironment,
    /// The folder and the files of it that the line names: the command runs only while they are as the person
    /// trusted them.
    files: (PathBuf, Vec<NamedFile>),
    every: Duration,
    /// The latest output of the command.
    said: Option<String>,
    ran: Option<Instant>,
    /// The latest summary that the command was given.
    told: Option<StatusSummary>,
    /// A newer summary that the command was not given yet.
    news: Option<StatusSummary>,
    running: Option<AbortOnDropHandle<Result<String, String>>>,
    failure: Option<String>,
    complained: bool,
}

impl StatusRow {
    /// Returns the status row of the settings, with the files of the folder that its command names.
    pub(crate) fn from_settings(settings: &Settings, environment: ProgramEnvironment) -> Self {
        // Whole directories are compared when the settings are read: to read them before each run takes too
        // long.
        let is_named = |file: &&NamedFile| {
            file.key == "chat.status_command" && !settings.workspace_root.join(&file.path).is_dir()
        };
        let files = settings.named_files.iter().filter(is_named).cloned().collect();
        let row = Self::new(
            &settings.chat,
            environment,
            (settings.workspace_root.clone(), files),
        );
        // To find out what works here takes some milliseconds.
        let sandbox = if row.template.contains("{sandbox}") {
            SandboxWords {
                asked: step_word(settings, settings.sandbox.mode),
                unasked: step_word(settings, settings.sandbox.unasked),
            }
        } else {
            SandboxWords::default()
        };
        Self { sandbox, ..row }
    }

    /// The step of the sandbox that holds commands on this machine in this approval mode; empty if the
    /// template does not show it.
    pub(crate) fn sandbox(&self, approval: ApprovalMode) -> &str {
        match approval {
            ApprovalMode::Auto => &self.sandbox.unasked,
            ApprovalMode::Ask | ApprovalMode::AcceptEdits | ApprovalMode::Deny => &self.sandbox.asked,
        }
    }

    fn new(
        settings: &ChatSettings,
        environment: ProgramEnvironment,
        files: (PathBuf, Vec<NamedFile>),
    ) -> Self {
        let command = settings.status_command.clone().map(|line| StatusScript {
            line,
            environment,
            files,
            every: settings.status_interval,
            said: None,
            ran: None,
            told: None,
            news: None,
            running: None,
            failure: None,
            complained: false,
        });
        Self {
            template: settings.status.clone(),
            sandbox: SandboxWords::default(),
            command,
        }
    }

    /// Returns the current row. If calls are not simply asked about, or the folder is read-only, it begins
    /// with a word that says so, unless the template shows the approval mode itself.
    pub(crate) fn text(&self, stand: &StatusSummary) -> String {
        let said = self.command.as_ref().and_then(|command| command.said.clone());
        let says_it = said.is_none() && self.template.contains("{approval}");
        let text = said.unwrap_or_else(|| filled(&self.template, stand));
        match stand.unusual() {
            Some(sign) if !says_it => format!("{sign} · {text}"),
            _ => text,
        }
    }

    /// Gives the command a new summary, as soon as it may run again.
    pub(crate) fn tell(&mut self, stand: &StatusSummary) {
        if let Some(command) = &mut self.command {
            if command.told.as_ref() != Some(stand) {
                command.news = Some(stand.clone());
            }
            command.start_if_due();
        }
    }

    /// Returns the error of the status command, once.
    pub(crate) fn complaint(&mut self) -> Option<String> {
        let command = self.command.as_mut()?;
        let failure = command.failure.take().filter(|_| !command.complained)?;
        command.complained = true;
        Some(format!("chat.status_command: {failure}; showing the default row"))
    }

    /// Waits until the row may be another one: the command has ended or may be run again, or `tick` is over.
    /// Safe to drop.
    pub(crate) async fn changed(&mut self, tick: Option<Duration>) {
        let ticks = async {
            match tick {
                Some(tick) => tokio::time::sleep(tick).await,
                None => std::future::pending().await,
            }
        };
        let command = async {
            match &mut self.command {
                Some(command) => command.turn().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = ticks => {}
            () = command => {}
        }
    }
}

impl StatusScript {
    fn next(&self) -> Option<Instant> {
        self.ran.map(|ran| ran + self.every)
    }

    fn start_if_due(&mut self) {
        if self.running.is_some() || self.next().is_some_and(|next| next > Instant::now()) {
            return;
        }
        let Some(stand) = self.news.take() else { return };
        let input = stand.to_json();
        (self.told, self.ran) = (Some(stand), Some(Instant::now()));
        let (root, files) = &self.files;
        if let Some(changed) = files.iter().find(|file| !file.is_as_it_was(root)) {
            let what = format!(
                "{} has changed and was not run; `agentx config trust` shows and accepts it",
                changed.path.display()
            );
            (self.said, self.failure) = (None, Some(what));
            return;
        }
        let work = run(self.line.clone(), self.environment.clone(), input);
        self.running = Some(AbortOnDropHandle::new(tokio::spawn(work)));
    }

    async fn turn(&mut self) {
        match (&mut self.running, &self.news) {
            (Some(running), _) => {
                let ended = running.await;
                self.running = None;
                match ended.unwrap_or_else(|error| Err(error.to_string())) {
                    Ok(said) => self.said = Some(said),
                    Err(what) => (self.said, self.failure) = (None, Some(what)),
                }
            }
            (None, Some(_)) => {
                if let Some(next) = self.next() {
                    tokio::time::sleep_until(next).await;
                }
            }
            (None, None) => std::future::pending().await,
        }
    }
}

/// Runs a command line; returns the first line of its output.
async fn run(line: String, environment: ProgramEnvironment, input: String) -> Result<String, String> {
    let mut command = tokio::process::Command::new("sh");
    command
        .args(["-c", &line])
        .env_clear()
        .envs(environment.variables())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    #[cfg(unix)]
    command.process_group(0);
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let group = child.id();
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let work = async {
        if let Some(mut stdin) = stdin {
            // A command need not read its standard input.
            let _ = stdin.write_all(input.as_bytes()).await;
        }
        let mut said = Vec::new();
        if let Some(stdout) = stdout {
            let read = stdout.take(MOST_BYTES).read_to_end(&mut said).await;
            read.map_err(|error| error.to_string())?;
        }
        let status = child.wait().await.map_err(|error| error.to_string())?;
        Ok::<_, String>((said, status))
    };
    let done = tokio::time::timeout(LIMIT, work).await;
    if done.is_err() {
        end_group(group);
    }
    let (said, status) = done.map_err(|_| format!("it took longer than {} s", LIMIT.as_secs()))??;
    if !status.success() {
        return Err(format!("it ended with {status}"));
    }
    let said = String::from_utf8_lossy(&said);
    Ok(said.lines().next().unwrap_or_default().to_owned())
}

/// Ends a command and all processes that it started.
#[cfg(unix)]
pub(in crate::chat) fn end_group(group: Option<u32>) {
    use nix::sys::signal::{Signal, killpg};
    use nix::unistd::Pid;
    if let Some(pid) = group.and_then(|pid| i32::try_from(pid).ok()) {
        // It may have ended by itself meanwhile.
        let _ = killpg(Pid::from_raw(pid), Signal::SIGKILL);
    }
}

#[cfg(not(unix))]
pub(in crate::chat) fn end_group(_group: Option<u32>) {}

#[cfg(test)]
mod tests {
    use agentx::types::{NanoUsd, Usage};

    use super::*;
    use crate::session_status::summary::{CallDecisions, ModelFigures, SpendingFigures, SummaryPlace};

    fn stand() -> StatusSummary {
        StatusSummary {
            model: ModelFigures {
                name: "opus".into(),
                window: 200_000,
                filled: 24_000,
                ..ModelFigures::default()
            },
            spending: SpendingFigures {
                usage: Usage {
                    input_tokens: 30_000,
                    output_tokens: 500,
                    ..Usage::default()
                },
                cost: NanoUsd(120_000_000),
                iterations: 3,
                worked: Duration::from_secs(75),
                ..SpendingFigures::default()
            },
            place: SummaryPlace {
                session: "ses_1".into(),
                ..SummaryPlace::default()
            },
            ..StatusSummary::default()
        }
    }

    /// The same, with these settings for calls.
    fn deciding(decisions: CallDecisions) -> StatusSummary {
        StatusSummary { decisions, ..stand() }
    }

    fn row(status: &str, command: Option<&str>) -> StatusRow {
        let settings = ChatSettings {
            status: status.into(),
            status_command: command.map(str::to_owned),
            ..ChatSettings::default()
        };
        StatusRow::new(&settings, ProgramEnvironment::default(), Default::default())
    }

    #[tokio::test]
    async fn a_script_of_the_folder_that_was_changed_is_not_run() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("st.sh");
        std::fs::write(&script, "echo trusted\n").unwrap();
        let settings = ChatSettings {
            status: "{model}".into(),
            status_command: Some(format!("sh {}", script.display())),
            status_interval: Duration::ZERO,
            ..ChatSettings::default()
        };
        let named = NamedFile {
            key: "chat.status_command".into(),
            path: "st.sh".into(),
            bytes: b"echo trusted\n".to_vec(),
        };
        let files = (folder.path().to_owned(), vec![named]);
        let mut row = StatusRow::new(&settings, ProgramEnvironment::default(), files);
        row.tell(&stand());
        row.changed(None).await;
        assert_eq!(row.text(&stand()), "trusted");
        std::fs::write(&script, "echo planted\n").unwrap();
        let mut later = stand();
        later.spending.iterations = 4;
        row.tell(&later);
        assert_eq!(row.text(&later), "opus");
        let said = row.complaint().unwrap_or_default();
        assert!(said.contains("st.sh has changed and was not run"), "{said}");
    }

    #[test]
    fn a_template_is_filled_in() {
        let text = |template: &str| row(template, None).text(&stand());
        assert_eq!(
            text("{model} · {context} · {cost}"),
            "opus · 24.0k/200.0k (12 %) · $0.12"
        );
        assert_eq!(
            text("{{{session}}} {iterations}, {time}, {tokens}"),
            "{ses_1} 3 rounds, 1m 15s, 30.0k in, 500 out"
        );
    }

    #[test]
    fn a_row_says_when_nobody_is_asked() {
        let text = |template: &str, approval| {
            let decisions = CallDecisions {
                approval,
                ..CallDecisions::default()
            };
            row(template, None).text(&deciding(decisions))
        };
        assert_eq!(text("{model}", ApprovalMode::Auto), "auto · opus");
        assert_eq!(text("{model} {approval}", ApprovalMode::Auto), "opus auto");
        assert_eq!(text("{model}", ApprovalMode::Ask), "opus");
        assert_eq!(text("{approval}", ApprovalMode::Deny), "deny");
        assert_eq!(text("{model}", ApprovalMode::Deny), "deny · opus");
        let mut decisions = CallDecisions {
            approval: ApprovalMode::Auto,
            read_only: true,
            ..CallDecisions::default()
        };
        assert_eq!(
            row("{model}", None).text(&deciding(decisions)),
            "read-only · opus"
        );
        (decisions.read_only, decisions.auto_approve) = (false, true);
        assert_eq!(row("{model}", None).text(&deciding(decisions)), "auto-yes · opus");
        decisions.approval = ApprovalMode::Ask;
        assert_eq!(row("{model}", None).text(&deciding(decisions)), "opus");
    }

    #[tokio::test]
    async fn a_command_is_told_how_things_stand_and_says_the_row() {
        let script = "printf 'cost '; grep -o '\"cost_usd\":[0-9.]*'; echo more";
        let mut row = row("{model}", Some(script));
        row.tell(&stand());
        assert_eq!(row.text(&stand()), "opus", "until it has said something");
        row.changed(None).await;
        assert_eq!(row.text(&stand()), "cost \"cost_usd\":0.12");
        assert_eq!(row.complaint(), None);
    }

    #[tokio::test]
    async fn what_goes_wrong_is_said_once() {
        let mut row = row("{model}", Some("exit 3"));
        row.tell(&stand());
        row.changed(None).await;
        assert!(
            row.complaint()
                .is_some_and(|what| what.contains("exit status: 3"))
        );
        assert_eq!((row.text(&stand()).as_str(), row.complaint()), ("opus", None));
    }

    #[test]
    fn the_step_follows_the_approval_mode() {
        let mut row = row("{sandbox}", None);
        row.sandbox = SandboxWords {
            asked: "none".into(),
            unasked: "namespace".into(),
        };
        for (approval, step) in [
            (ApprovalMode::Ask, "none"),
            (ApprovalMode::AcceptEdits, "none"),
            (ApprovalMode::Auto, "namespace"),
            (ApprovalMode::Deny, "none"),
        ] {
            assert_eq!(row.sandbox(approval), step, "{approval:?}");
        }
    }

    #[test]
    fn a_template_shows_what_holds_commands() {
        let mut held = stand();
        held.place.sandbox = "namespace".into();
        assert_eq!(filled("{model} · {sandbox}", &held), "opus · namespace");
        assert_eq!(filled("{sandbox}", &stand()), "", "it is not known");
    }
}
