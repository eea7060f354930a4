//! `agentx approvals replay --sandbox`: the commands of past sessions that the sandbox of the settings would
//! have refused something, as far as their logs prove it.
//!
//! | evidence in the log | answer |
//! | --- | --- |
//! | a host that a command asked a proxy for | by `sandbox.network` and `sandbox.hosts` |
//! | a path that the sandbox of its time refused | by the paths of the policy |
//! | a file that a command changed | by the paths that may be written |
//! | a path in the command line that is not let in | "may": the log does not say whether it was opened |
//! | none of these | not known |

use std::collections::BTreeMap;
use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Component, Path, PathBuf};

use agentx::config::Settings;
use agentx::history::{CommandFate, CommandTrace, CommandTraces, TracedHost, command_traces};
use agentx::runtime::Runtime;
use agentx::sandbox::{
    CommandPlace, HostPattern, PathAccess, SandboxLauncher, SandboxNetwork, SandboxPolicy, SandboxStep,
    host_and_port,
};
use serde_json::{Value, json};

use super::arguments::TrialArgs;
use super::past_sessions::sessions_to_read;
use crate::error::ChatError;
use crate::render::call_summary::call_summary;
use crate::render::clean::visible;
use crate::render::table::table;
use crate::render::units;
use crate::terminal::console::Console;
use crate::tools::command_sandbox::{BY_HAND, launcher_of_settings, network_words};

/// The answer of a policy to an attempt, mildest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum TrialAnswer {
    LetIn,
    /// It would be refused if the command opens it, which the log does not say.
    MayRefuse,
    Asked,
    Refused,
}

impl TrialAnswer {
    fn as_str(self) -> &'static str {
        match self {
            Self::LetIn => "let in",
            Self::MayRefuse => "refused if opened",
            Self::Asked => "asked",
            Self::Refused => "refused",
        }
    }
}

/// An attempt that a log proves or a command line names, with the answer of the policy.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TrialFinding {
    what: String,
    /// The fate of the attempt then: `reached`, `refused`, `changed` or `named`.
    was: &'static str,
    would_be: TrialAnswer,
}

/// The sandbox on trial.
struct SandboxOnTrial {
    launcher: SandboxLauncher,
    /// The policies by workspace; `None` if there can be none, as in a folder that is gone.
    policies: BTreeMap<String, Option<SandboxPolicy>>,
}

impl SandboxOnTrial {
    fn new(launcher: SandboxLauncher) -> Self {
        Self {
            launcher,
            policies: BTreeMap::new(),
        }
    }

    /// The policy of commands in a folder.
    fn policy(&mut self, workspace: &str) -> Option<SandboxPolicy> {
        if let Some(policy) = self.policies.get(workspace) {
            return policy.clone();
        }
        let place = CommandPlace {
            workspace: Path::new(workspace),
            session: BY_HAND,
        };
        let policy = self.launcher.policy(place).ok();
        self.policies.insert(workspace.to_owned(), policy.clone());
        policy
    }

    /// Compares a command with the policy.
    fn findings(&mut self, trace: &CommandTrace) -> Vec<TrialFinding> {
        let Some(policy) = self.policy(&trace.workspace) else {
            return Vec::new();
        };
        let profile = self.launcher.profile();
        let network = match policy.step {
            SandboxStep::None => SandboxNetwork::On,
            SandboxStep::Landlock | SandboxStep::Namespace => profile.network,
        };
        let mut found: Vec<TrialFinding> = trace
            .hosts
            .iter()
            .filter_map(|host| of_host(host, network, &profile.hosts))
            .collect();
        found.extend(of_paths(trace, &policy));
        found
    }
}

/// Returns the answer about a host.
fn of_host(traced: &TracedHost, network: SandboxNetwork, hosts: &[HostPattern]) -> Option<TrialFinding> {
    let (host, port) = host_and_port(&traced.host)?;
    let address = match host.as_str() {
        "localhost" => Some(IpAddr::from(Ipv4Addr::LOCALHOST)),
        host => host.parse().ok(),
    };
    let names_address = |address| hosts.iter().any(|pattern| pattern.names_address(&host, address));
    let is_listed_address = address.is_some_and(names_address);
    // It led to an address that only the list can let in.
    let is_local = traced.decision == "local_address" && !is_listed_address;
    let is_named = hosts.iter().any(|pattern| pattern.fits(&host, port));
    let would_be = match network {
        SandboxNetwork::On => TrialAnswer::LetIn,
        SandboxNetwork::Off => TrialAnswer::Refused,
        SandboxNetwork::Hosts | SandboxNetwork::Ask if is_local => TrialAnswer::Refused,
        SandboxNetwork::Hosts | SandboxNetwork::Ask if is_named => TrialAnswer::LetIn,
        SandboxNetwork::Hosts => TrialAnswer::Refused,
        SandboxNetwork::Ask => TrialAnswer::Asked,
    };
    let was_reached = matches!(traced.decision.as_str(), "named" | "allowed");
    Some(TrialFinding {
        what: traced.host.clone(),
        was: if was_reached { "reached" } else { "refused" },
        would_be,
    })
}

/// Returns the answers about the paths of a command. A path about which the policy says nothing has none.
fn of_paths(trace: &CommandTrace, policy: &SandboxPolicy) -> Vec<TrialFinding> {
    let answer = |path: &Path, access| {
        let is_let_in = policy.lets_in(path, access)?;
        Some(if is_let_in {
            TrialAnswer::LetIn
        } else {
            TrialAnswer::Refused
        })
    };
    let mut found = Vec::new();
    let mut add = |path: &Path, was, would_be: Option<TrialAnswer>| {
        found.extend(would_be.map(|would_be| TrialFinding {
            what: path.display().to_string(),
            was,
            would_be,
        }));
    };
    if let Some(refused) = &trace.refused
        && let Some(access) = PathAccess::parse(&refused.access)
    {
        let path = Path::new(&refused.path);
        add(path, "refused", answer(path, access));
    }
    let workspace = Path::new(&trace.workspace);
    for changed in &trace.changed {
        let path = workspace.join(changed);
        add(&path, "changed", answer(&path, PathAccess::Write));
    }
    let refused = trace.refused.as_ref().map(|refused| PathBuf::from(&refused.path));
    for word in &trace.named {
        let Some(path) = named_path(word, workspace, policy) else {
            continue;
        };
        let is_refused = policy.lets_in(&path, PathAccess::Read) == Some(false);
        if is_refused && refused.as_ref() != Some(&path) {
            add(&path, "named", Some(TrialAnswer::MayRefuse));
        }
    }
    found
}

/// Returns the path that a word names, without symbolic links, if it is there now or is one that no command
/// reaches: other words need not be paths.
fn named_path(word: &str, workspace: &Path, policy: &SandboxPolicy) -> Option<PathBuf> {
    let path = match word.strip_prefix("~/") {
        Some(below) => policy.paths.home.as_ref()?.join(below),
        None => workspace.join(word),
    };
    if let Ok(real) = fs::canonicalize(&path) {
        return Some(real);
    }
    let leads_up = path.components().any(|part| part == Component::ParentDir);
    let is_hidden = policy.paths.hidden.iter().any(|hidden| path.starts_with(hidden));
    (is_hidden && !leads_up).then_some(path)
}

/// A command with findings that are worth a row.
struct TrialRow<'a> {
    traces: &'a CommandTraces,
    trace: &'a CommandTrace,
    findings: Vec<TrialFinding>,
}

/// The result of a trial over all sessions that were read.
struct SandboxTrial<'a> {
    rows: Vec<TrialRow<'a>>,
    ran: u64,
    refused: u64,
    asked: u64,
    may_refuse: u64,
    not_run: u64,
    elsewhere: u64,
}

impl<'a> SandboxTrial<'a> {
    fn of(sessions: &'a [CommandTraces], sandbox: &mut SandboxOnTrial) -> Self {
        let mut trial = Self {
            rows: Vec::new(),
            ran: sessions.iter().map(|traces| traces.not_kept).sum(),
            refused: 0,
            asked: 0,
            may_refuse: 0,
            not_run: 0,
            elsewhere: 0,
        };
        for traces in sessions {
            for trace in &traces.commands {
                match trace.fate {
                    CommandFate::NotRun => trial.not_run += 1,
                    CommandFate::Elsewhere => trial.elsewhere += 1,
                    CommandFate::Ran | CommandFate::Unknown => {
                        let findings = sandbox.findings(trace);
                        trial.add(traces, trace, findings);
                    }
                }
            }
        }
        trial
    }

    fn add(&mut self, traces: &'a CommandTraces, trace: &'a CommandTrace, mut findings: Vec<TrialFinding>) {
        self.ran += 1;
        match findings.iter().map(|finding| finding.would_be).max() {
            Some(TrialAnswer::Refused) => self.refused += 1,
            Some(TrialAnswer::Asked) => self.asked += 1,
            Some(TrialAnswer::MayRefuse) => self.may_refuse += 1,
            Some(TrialAnswer::LetIn) | None => {}
        }
        findings.retain(|finding| finding.would_be != TrialAnswer::LetIn || finding.was == "refused");
        if !findings.is_empty() {
            self.rows.push(TrialRow {
                traces,
                trace,
                findings,
            });
        }
    }

    /// The number of commands about which the log proves no refusal.
    fn not_known(&self) -> u64 {
        self.ran - self.refused - self.asked - self.may_refuse
    }

    fn as_value(&self, limit: usize) -> Value {
        let of_row = |row: &TrialRow<'_>| {
            let findings = row.findings.iter().map(|finding| {
                json!({ "what": finding.what, "was": finding.was, "would_be": finding.would_be.as_str() })
            });
            json!({
                "session_id": row.traces.session_id,
                "seq": row.trace.seq,
                "tool_call_id": row.trace.tool_call_id,
                "name": row.trace.name,
                "input": row.trace.input,
                "findings": findings.collect::<Vec<_>>(),
            })
        };
        json!({
            "ran": self.ran,
            "refused": self.refused,
            "asked": self.asked,
            "refused_if_opened": self.may_refuse,
            "not_known": self.not_known(),
            "not_run": self.not_run,
            "at_exec_servers": self.elsewhere,
            "commands": self.rows.iter().take(limit).map(of_row).collect::<Vec<_>>(),
        })
    }

    fn table(&self, limit: usize, width: usize) -> String {
        let heads = ["SESSION", "EVENT", "WHAT", "WAS", "WOULD BE", "CALL"];
        let mut rows = vec![heads.map(str::to_owned).to_vec()];
        for row in self.rows.iter().take(limit) {
            let call = call_summary(&row.trace.name, &row.trace.input);
            rows.extend(row.findings.iter().map(|finding| {
                vec![
                    row.traces.session_id.to_string(),
                    row.trace.seq.to_string(),
                    visible(&finding.what),
                    finding.was.to_owned(),
                    finding.would_be.as_str().to_owned(),
                    format!("{}  {call}", visible(&row.trace.name)),
                ]
            }));
        }
        let mut text = match rows.len() {
            1 => String::new(),
            _ => table(&rows, width),
        };
        if let Some(more) = self.rows.len().checked_sub(limit).filter(|more| *more > 0) {
            text.push_str(&format!("… and {}\n", units::counted(more, "more command")));
        }
        text
    }

    fn summary(&self, sessions: usize) -> String {
        let mut text = format!(
            "{} of {} in {} would have been refused something",
            self.refused,
            units::counted(self.ran, "command"),
            units::counted(sessions, "session"),
        );
        for (number, what) in [
            (self.asked, "would have asked you about a host"),
            (
                self.may_refuse,
                "would have been refused a path of the command line if it opens it",
            ),
        ] {
            if number > 0 {
                text.push_str(&format!("; {number} {what}"));
            }
        }
        text.push_str(&format!(
            "\nnot known for {}: the log does not show all that a program opens\n",
            self.not_known()
        ));
        for (number, what) in [
            (self.not_run, "did not run"),
            (self.elsewhere, "ran at an exec server"),
        ] {
            if number > 0 {
                text.push_str(&format!("not counted: {number} {what}\n"));
            }
        }
        text
    }
}

/// Prints the commands of past sessions that the sandbox of the settings would have refused something.
///
/// # Errors
/// Returns an error if no step of the sandbox works here, or a session cannot be read.
pub async fn print_sandbox_trial(
    runtime: &dyn Runtime,
    settings: &Settings,
    args: &TrialArgs,
    as_json: bool,
    console: &mut Console,
) -> Result<(), ChatError> {
    let launcher = launcher_of_settings(settings)?;
    let step = launcher.step();
    let step = step.map_err(|error| ChatError::usage(error.to_string(), "`agentx sandbox show`"))?;
    let sessions = sessions_to_read(runtime, args.session.as_deref(), args.sessions, console).await?;
    let mut all = Vec::new();
    for session in &sessions {
        all.push(command_traces(runtime, session).await?);
    }
    let network = launcher.profile().network;
    let mut sandbox = SandboxOnTrial::new(launcher);
    let trial = SandboxTrial::of(&all, &mut sandbox);
    if as_json {
        let mut value = trial.as_value(args.limit);
        value["step"] = json!(step);
        value["network"] = json!(network.as_str());
        return console.out_pretty(&value);
    }
    let network = network_words(network);
    let table = trial.table(args.limit, console.out_width());
    console.out(&format!("{table}{step}, {network}: {}", trial.summary(all.len())))
}

#[cfg(test)]
mod tests {
    use agentx::history::TracedPath;
    use agentx::sandbox::{SandboxLimits, SandboxPaths};

    use super::*;

    fn host(host: &str, decision: &str) -> TracedHost {
        TracedHost {
            host: host.into(),
            decision: decision.into(),
        }
    }

    #[test]
    fn a_host_is_answered_by_the_network_of_the_settings() {
        use SandboxNetwork::{Ask, Hosts, Off, On};
        use TrialAnswer::{Asked, LetIn, Refused};
        let named = ["crates.io", "intern.example", "localhost"];
        let hosts: Vec<HostPattern> = named.iter().filter_map(|text| HostPattern::parse(text)).collect();
        for (traced, network, was, would_be) in [
            (host("crates.io:443", "named"), Off, "reached", Refused),
            (host("crates.io:443", "refused"), On, "refused", LetIn),
            (host("crates.io:443", "refused"), Hosts, "refused", LetIn),
            (host("a.example:443", "allowed"), Hosts, "reached", Refused),
            (host("a.example:443", "allowed"), Ask, "reached", Asked),
            (
                host("intern.example:80", "local_address"),
                Hosts,
                "refused",
                Refused,
            ),
            (host("localhost:80", "local_address"), Hosts, "refused", LetIn),
            (host("10.0.0.1:80", "local_address"), Ask, "refused", Refused),
        ] {
            let found = of_host(&traced, network, &hosts).unwrap();
            assert_eq!(
                (found.was, found.would_be),
                (was, would_be),
                "{traced:?} {network:?}"
            );
        }
        assert_eq!(of_host(&host("made up", "named"), On, &hosts), None);
    }

    #[test]
    fn a_path_that_a_line_only_names_is_no_proof() {
        let policy = SandboxPolicy {
            step: SandboxStep::Namespace,
            best_effort: false,
            network: false,
            proxy: false,
            paths: SandboxPaths {
                write: vec!["/made-up/ws".into()],
                protected: vec!["/made-up/ws/.git/hooks".into()],
                hidden: vec!["/made-up/home/.ssh".into()],
                temporary: "/made-up/temporary".into(),
                home: Some("/made-up/home".into()),
                ..SandboxPaths::default()
            },
            limits: SandboxLimits::default(),
        };
        let trace = CommandTrace {
            seq: 3,
            tool_call_id: "c1".into(),
            name: "bash".into(),
            input: json!({}),
            workspace: "/made-up/ws".into(),
            fate: CommandFate::Ran,
            hosts: Vec::new(),
            refused: Some(TracedPath {
                path: "/made-up/ws/out".into(),
                access: "write".into(),
            }),
            changed: vec!["/made-up/ws/a".into(), "/made-up/ws/.git/hooks/x".into()],
            named: ["~/.ssh/key", "../home/.ssh/key", "s/a/b/", "/made-up/gone"]
                .map(str::to_owned)
                .into(),
        };
        let found = of_paths(&trace, &policy);
        let found: Vec<_> = found
            .iter()
            .map(|found| (found.what.as_str(), found.was, found.would_be))
            .collect();
        let expected = [
            ("/made-up/ws/out", "refused", TrialAnswer::LetIn),
            ("/made-up/ws/a", "changed", TrialAnswer::LetIn),
            ("/made-up/ws/.git/hooks/x", "changed", TrialAnswer::Refused),
            ("/made-up/home/.ssh/key", "named", TrialAnswer::MayRefuse),
        ];
        assert_eq!(found, expected);
    }
}
