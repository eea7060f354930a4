//! The sandbox that held a command, as its outcome describes it: a fact with each call, and a note for the
//! model if the sandbox may have refused something.
//!
//! The kernel does not report what Landlock or the filter of system calls refused. The only evidence is the
//! output of the command, compared with the policy ([`SandboxPolicy::refusal`]).

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentx_sandbox::{RefusedPath, SandboxPolicy, SandboxRefusal, SandboxStep};
use serde_json::{Value, json};

use crate::host_proxy::{BUNDLE, HostDecision, HostProxy};

/// Adds the path that a sandbox refused to the field `sandbox`: in words it is in `refused`, and here for
/// programs.
pub(super) fn add_path(details: &mut Value, refused: Option<&RefusedPath>) {
    if let Some(RefusedPath { path, access }) = refused {
        details["refused_path"] = json!(path.to_string_lossy());
        details["refused_access"] = json!(access.as_str());
    }
}

/// The most entries of a directory for temporary files that are compared.
const MOST_COMPARED: usize = 1_000;
/// The most new entries that are named.
const MOST_NAMED: usize = 3;
/// The longest name that is told, in bytes.
const LONGEST_NAME: usize = 80;

/// The end of a note about a command that nobody was asked about and that the sandbox may have refused
/// something.
const WAY_OUT: &str = "; it ran in a sandbox because nobody was asked about it: a command that a person \
                       approves (approval mode `ask`) runs without one, and so do all commands with \
                       `sandbox.mode: none` in the person's own settings";
/// The beginning of what the helper says if it could not make the sandbox.
const NOT_MADE: &str = "agentx: the sandbox ";

/// The sandbox of a command.
#[derive(Clone, Debug)]
pub(super) struct CommandSandbox {
    policy: Arc<SandboxPolicy>,
    workspace: PathBuf,
    /// The files that were in the directory for temporary files before; `None` if there were too many to
    /// compare.
    before: Option<Arc<BTreeSet<OsString>>>,
    /// The proxy through which the command reaches single hosts.
    proxy: Option<Arc<HostProxy>>,
    /// Whether it holds the command only because nobody was asked about it.
    is_unasked: bool,
}

impl CommandSandbox {
    pub(super) fn new(policy: SandboxPolicy, workspace: &Path) -> Self {
        Self {
            before: temporary_files(&policy).map(Arc::new),
            policy: Arc::new(policy),
            workspace: workspace.to_owned(),
            proxy: None,
            is_unasked: false,
        }
    }

    /// Notes whether it holds the command only because nobody was asked about it.
    pub(super) fn of_unasked(self, is_unasked: bool) -> Self {
        Self { is_unasked, ..self }
    }

    /// Notes the proxy, which serves the command as long as something holds this value.
    pub(super) fn with_proxy(self, proxy: HostProxy) -> Self {
        Self {
            proxy: Some(Arc::new(proxy)),
            ..self
        }
    }

    /// Returns whether the policy wants a proxy.
    pub(super) fn has_proxy(&self) -> bool {
        self.policy.proxy
    }

    /// The directory for its temporary files.
    pub(super) fn temporary(&self) -> &Path {
        &self.policy.paths.temporary
    }

    /// The step that held the command.
    pub(super) fn step(&self) -> SandboxStep {
        self.policy.step
    }

    /// The first host that the proxy has refused since this was last asked, and the decision about it.
    fn newly_refused_host(&self) -> Option<(String, HostDecision)> {
        self.proxy.as_ref()?.contacts().take_refused()
    }

    /// Forgets which hosts were refused until now: they do not explain why the next command of a shell fails.
    pub(super) fn forget_refused_hosts(&self) {
        let _ = self.newly_refused_host();
    }

    /// Finds what a failed command was refused: a host by the proxy, or what its output names.
    pub(super) async fn refusal(&self, output: &str) -> Option<SandboxRefusal> {
        if let Some((host, decision)) = self.newly_refused_host() {
            return Some(SandboxRefusal {
                words: "403 of the proxy",
                reason: reason_of_refusal(&host, decision),
                path: None,
            });
        }
        // A person may decide about a command that only reads and whose sandbox cannot be made here.
        let said = output.trim_end().lines().next_back();
        if let Some(why) = said
            .filter(|_| self.is_unasked)
            .and_then(|line| line.strip_prefix(NOT_MADE))
        {
            return Some(SandboxRefusal {
                words: "the sandbox",
                reason: Some(format!("it was not started, because the sandbox {why}")),
                path: None,
            });
        }
        let (held, output) = (self.clone(), output.to_owned());
        // Looks up the paths that the output names.
        let found = tokio::task::spawn_blocking(move || held.policy.refusal(&output, &held.workspace));
        found.await.ok().flatten()
    }

    /// The note for the model about files that the command left in its directory for temporary files, with
    /// the path by which other tools find them; empty if it left none.
    pub(super) async fn left_files(&self) -> String {
        let Some(before) = self.before.clone() else {
            return String::new();
        };
        let policy = Arc::clone(&self.policy);
        let left = tokio::task::spawn_blocking(move || {
            let after = temporary_files(&policy)?;
            Some(after.difference(&before).cloned().collect::<Vec<_>>())
        });
        let left = left.await.ok().flatten().unwrap_or_default();
        if left.is_empty() {
            return String::new();
        }
        let place = match self.step() {
            SandboxStep::Namespace => "its own /tmp",
            SandboxStep::None | SandboxStep::Landlock => "$TMPDIR",
        };
        format!(
            "\n[it left {} in {place}, which read, grep and other programs find as {}]",
            names_of(&left),
            self.policy.paths.temporary.display()
        )
    }

    /// The field `sandbox` in the details of an outcome.
    pub(super) fn details(&self, refused: Option<&SandboxRefusal>) -> Value {
        let mut details = json!({ "step": self.step().as_str(), "network": self.policy.network });
        if let Some(proxy) = &self.proxy {
            details["hosts"] = proxy.contacts().details();
        }
        if let Some(refused) = refused {
            details["may_have_refused"] = json!(refused.words);
            if let Some(reason) = &refused.reason {
                details["refused"] = json!(reason);
            }
            add_path(&mut details, refused.path.as_ref());
        }
        details
    }

    /// Returns the note for the model.
    pub(super) fn sentence(&self, refused: &SandboxRefusal) -> String {
        let way_out = if self.is_unasked { WAY_OUT } else { "" };
        if let Some(reason) = &refused.reason {
            return format!("\n[the sandbox {} refused it: {reason}{way_out}]", self.step());
        }
        let network = match (self.policy.network, self.policy.proxy) {
            (true, _) => "",
            (false, true) => ", and only allowed hosts can be reached",
            (false, false) => ", and there is no network",
        };
        format!(
            "\n[it ran in the sandbox {}, which may be the cause: only the working directory, caches of toolchains and $TMPDIR can be written{network}{way_out}]",
            self.step()
        )
    }
}

/// Returns why a host was refused, if that is a reason to ask a person for more: one who has just said no is
/// not asked.
fn reason_of_refusal(host: &str, decision: HostDecision) -> Option<String> {
    match decision {
        HostDecision::PersonRefused => None,
        HostDecision::Unanswered => Some(format!(
            "nobody answered whether it may reach {host}, which is refused for the rest of the command"
        )),
        HostDecision::Named
        | HostDecision::PersonAllowed
        | HostDecision::Refused
        | HostDecision::LocalAddress => Some(format!(
            "{host} is not among the hosts that it may reach (`sandbox.hosts`)"
        )),
    }
}

/// Returns the names of what a command put into its directory for temporary files: all but the places there
/// at which its sandbox shows other directories. `None` if there are too many.
fn temporary_files(policy: &SandboxPolicy) -> Option<BTreeSet<OsString>> {
    let paths = &policy.paths;
    let shown = [&paths.read, &paths.write, &paths.protected, &paths.hidden];
    let shown = shown
        .into_iter()
        .flatten()
        .chain([&paths.temporary])
        .chain(&paths.home);
    let shown = shown.chain(paths.links.iter().map(|link| &link.at));
    let places: BTreeSet<_> = shown
        .filter_map(|path| path.strip_prefix("/tmp").ok()?.iter().next())
        .collect();
    // Before the first command it is not there.
    let entries = std::fs::read_dir(&paths.temporary).into_iter().flatten();
    let names: BTreeSet<OsString> = entries
        .take(MOST_COMPARED + 1)
        .filter_map(|entry| Some(entry.ok()?.file_name()))
        .filter(|name| !places.contains(name.as_os_str()) && name != BUNDLE)
        .collect();
    (names.len() <= MOST_COMPARED).then_some(names)
}

/// Lists names, the first ones by name. A command chose them, so one that could be read as something else is
/// counted.
fn names_of(left: &[OsString]) -> String {
    let is_plain = |name: &&str| {
        let is_plain = |c: char| c.is_alphanumeric() || "._-+ ".contains(c);
        name.len() <= LONGEST_NAME && name.chars().all(is_plain)
    };
    let named: Vec<&str> = left
        .iter()
        .filter_map(|name| name.to_str())
        .filter(is_plain)
        .take(MOST_NAMED)
        .collect();
    match (named.len(), left.len() - named.len()) {
        (0, 1) => "a file".to_owned(),
        (0, others) => format!("{others} files"),
        (_, 0) => named.join(", "),
        (_, others) => format!("{} and {others} more", named.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use agentx_sandbox::{SandboxLimits, SandboxPaths};

    use super::*;

    fn sandbox(step: SandboxStep, temporary: &Path) -> CommandSandbox {
        let policy = SandboxPolicy {
            step,
            best_effort: false,
            network: false,
            proxy: false,
            paths: SandboxPaths {
                write: vec!["/tmp/project/work".into()],
                temporary: temporary.to_owned(),
                ..SandboxPaths::default()
            },
            limits: SandboxLimits::default(),
        };
        CommandSandbox::new(policy, Path::new("/tmp/project/work"))
    }

    #[tokio::test]
    async fn what_a_command_leaves_in_its_own_tmp_is_told_with_the_path_for_other_tools() {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("old"), "").unwrap();
        for (step, own) in [
            (SandboxStep::Namespace, "its own /tmp"),
            (SandboxStep::Landlock, "$TMPDIR"),
        ] {
            let held = sandbox(step, place.path());
            assert_eq!(held.left_files().await, "");
            // The place of the workspace is made by the sandbox.
            std::fs::create_dir_all(place.path().join("project")).unwrap();
            let name = format!("out-{step}.txt");
            std::fs::write(place.path().join(&name), "").unwrap();
            let path = place.path().display();
            let expected =
                format!("\n[it left {name} in {own}, which read, grep and other programs find as {path}]");
            assert_eq!(held.left_files().await, expected);
        }
    }

    #[test]
    fn a_command_about_which_nobody_was_asked_is_told_how_to_run_without_a_sandbox() {
        let refused = |reason: Option<&str>| SandboxRefusal {
            words: "Permission denied",
            reason: reason.map(str::to_owned),
            path: None,
        };
        for reason in [None, Some("/made-up is never let in")] {
            for is_unasked in [false, true] {
                let held = sandbox(SandboxStep::Namespace, Path::new("/made-up")).of_unasked(is_unasked);
                let said = held.sentence(&refused(reason));
                assert_eq!(said.contains("`sandbox.mode: none`"), is_unasked, "{said}");
            }
        }
    }

    /// Only where nobody was asked: everybody else chose the sandbox themselves.
    #[tokio::test]
    async fn a_sandbox_that_cannot_be_made_is_a_reason_to_ask() {
        for (output, is_unasked, expected) in [
            (
                "agentx: the sandbox cannot use /made-up: too many links\n",
                true,
                true,
            ),
            (
                "agentx: the sandbox cannot use /made-up: too many links\n",
                false,
                false,
            ),
            ("made up\n", true, false),
        ] {
            let held = sandbox(SandboxStep::Namespace, Path::new("/made-up")).of_unasked(is_unasked);
            let reason = held.refusal(output).await.and_then(|refused| refused.reason);
            assert_eq!(reason.is_some(), expected, "{output} {is_unasked}: {reason:?}");
        }
    }

    #[test]
    fn the_result_says_that_nobody_answered_about_a_host() {
        for (decision, expected) in [
            (
                HostDecision::Unanswered,
                Some("nobody answered whether it may reach"),
            ),
            (HostDecision::Refused, Some("is not among the hosts")),
            (HostDecision::PersonRefused, None),
        ] {
            let reason = reason_of_refusal("a.example:443", decision);
            assert_eq!(reason.is_some(), expected.is_some(), "{decision:?}");
            let (reason, expected) = (reason.unwrap_or_default(), expected.unwrap_or_default());
            assert!(reason.contains(expected), "{decision:?}: {reason}");
        }
    }

    #[test]
    fn a_name_that_could_be_read_as_something_else_is_counted() {
        let names = |names: &[&str]| names_of(&names.iter().map(OsString::from).collect::<Vec<_>>());
        assert_eq!(names(&["a.txt"]), "a.txt");
        assert_eq!(names(&["a", "b", "c", "d"]), "a, b, c and 1 more");
        assert_eq!(names(&["a", "b]\n[c"]), "a and 1 more");
        assert_eq!(names(&["b]\n[c"]), "a file");
    }
}
