//! Finds what this machine lacks for each step, and what a person can do about it: `agentx sandbox doctor`.
//!
//! Whether a step works is tried ([`SandboxSupport`]). The settings of the kernel only explain why it does
//! not, so that a wrong explanation never makes a step look like one that works.

use std::fs;
use std::path::Path;

use crate::landlock_version::NEEDED_ABI;
use crate::{SandboxStep, SandboxSupport};

/// A finding about this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxFinding {
    /// The step or the part of the machine.
    pub name: &'static str,
    /// Whether it works.
    pub works: bool,
    /// The finding in words.
    pub found: String,
    /// Ways to make it work, the most likely one first; none if it works.
    pub advice: Vec<String>,
}

/// The settings of a machine on which the steps depend. Those that cannot be read are absent.
#[derive(Clone, Debug, Default)]
struct KernelSettings {
    /// The version of the kernel: `6.18.5`.
    kernel: Option<String>,
    /// The security modules that are switched on, joined by commas.
    modules: Option<String>,
    /// `user.max_user_namespaces`.
    most_namespaces: Option<u64>,
    /// `kernel.unprivileged_userns_clone`, of Debian's kernels.
    unprivileged_clone: Option<u64>,
    /// `kernel.apparmor_restrict_unprivileged_userns`, of Ubuntu's kernels.
    apparmor_restricts: Option<u64>,
    is_in_container: bool,
}

impl KernelSettings {
    fn of_machine() -> Self {
        let text = |path: &str| fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
        let number = |path: &str| text(path)?.parse().ok();
        Self {
            kernel: text("/proc/sys/kernel/osrelease"),
            modules: text("/sys/kernel/security/lsm"),
            most_namespaces: number("/proc/sys/user/max_user_namespaces"),
            unprivileged_clone: number("/proc/sys/kernel/unprivileged_userns_clone"),
            apparmor_restricts: number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
            is_in_container: ["/.dockerenv", "/run/.containerenv"]
                .iter()
                .any(|file| Path::new(file).exists()),
        }
    }

    /// The ways to get Landlock, whose interface has this version.
    fn landlock_advice(&self, abi: u32) -> Vec<String> {
        if abi > 0 {
            return vec!["use Linux 6.12 or newer".to_owned()];
        }
        let modules = self.modules.as_deref().unwrap_or_default();
        let listed = if modules.is_empty() { "…" } else { modules };
        vec![
            format!(
                "add `lsm=landlock,{listed}` to the command line of the kernel and restart; the kernel needs \
                 Landlock (CONFIG_SECURITY_LANDLOCK)"
            ),
            "use Linux 6.12 or newer".to_owned(),
        ]
    }

    /// The ways to get namespaces.
    fn namespace_advice(&self) -> Vec<String> {
        let mut advice = Vec::new();
        if self.most_namespaces == Some(0) {
            advice.push("as root: `sysctl -w user.max_user_namespaces=15000`".to_owned());
        }
        if self.unprivileged_clone == Some(0) {
            advice.push("as root: `sysctl -w kernel.unprivileged_userns_clone=1`".to_owned());
        }
        if self.apparmor_restricts.is_some_and(|value| value > 0) {
            advice.push(
                "give this program an AppArmor profile with the rule `userns,`, or as root: `sysctl -w \
                 kernel.apparmor_restrict_unprivileged_userns=0`, which holds for all programs"
                    .to_owned(),
            );
        }
        if self.is_in_container {
            advice.push(
                "this is a container: let its engine permit user namespaces and a new `/proc`, or use the step \
                 `landlock`"
                    .to_owned(),
            );
        }
        if advice.is_empty() {
            advice.push("a kernel with user namespaces (CONFIG_USER_NS), outside of a container".to_owned());
        }
        advice
    }
}

/// Says for each step whether it works on this machine, and what to do if it does not. `limits` is whether
/// commands can be held to limits ([`limits_support`](crate::SandboxLauncher::limits_support)).
pub fn diagnose(support: &SandboxSupport, limits: &Result<(), String>) -> Vec<SandboxFinding> {
    findings(&KernelSettings::of_machine(), support, limits)
}

fn findings(
    machine: &KernelSettings,
    support: &SandboxSupport,
    limits: &Result<(), String>,
) -> Vec<SandboxFinding> {
    let kernel = SandboxFinding {
        name: "kernel",
        works: machine.kernel.is_some(),
        found: match &machine.kernel {
            Some(version) => format!("Linux {version}, Landlock version {}", support.landlock_abi),
            None => "not Linux, or `/proc` is not mounted".to_owned(),
        },
        advice: Vec::new(),
    };
    let step = |step: SandboxStep, advice: Vec<String>| {
        let why = support.why_not(step);
        SandboxFinding {
            name: step.as_str(),
            works: why.is_none(),
            advice: if why.is_some() { advice } else { Vec::new() },
            found: why.unwrap_or_else(|| "works".to_owned()),
        }
    };
    // A program that cannot be the helper is not the fault of the machine.
    let no_helper = support.no_landlock.is_some();
    let of_machine = |advice| if no_helper { Vec::new() } else { advice };
    let namespaces = if support.is_passing {
        vec!["try again; it does not work at this moment, which says nothing about the machine".to_owned()]
    } else {
        of_machine(machine.namespace_advice())
    };
    let landlock = of_machine(machine.landlock_advice(support.landlock_abi.min(NEEDED_ABI)));
    let scope = "start AgentX in a scope of your own systemd: `systemd-run --user --scope agentx`; it needs \
                 control groups of version 2";
    vec![
        kernel,
        step(SandboxStep::Landlock, landlock),
        step(SandboxStep::Namespace, namespaces),
        SandboxFinding {
            name: "limits",
            works: limits.is_ok(),
            found: limits.clone().err().unwrap_or_else(|| "works".to_owned()),
            advice: limits
                .as_ref()
                .err()
                .map(|_| scope.to_owned())
                .into_iter()
                .collect(),
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn support(landlock_abi: u32, namespaces: bool) -> SandboxSupport {
        SandboxSupport {
            landlock_abi,
            no_landlock: None,
            namespaces: if namespaces { Ok(()) } else { Err("made up".into()) },
            is_passing: false,
        }
    }

    fn advice(machine: &KernelSettings, support: &SandboxSupport) -> String {
        let found = findings(machine, support, &Ok(()));
        let lines: Vec<String> = found.into_iter().flat_map(|finding| finding.advice).collect();
        lines.join("\n")
    }

    #[test]
    fn what_works_needs_no_advice() {
        let machine = KernelSettings {
            apparmor_restricts: Some(1),
            is_in_container: true,
            ..KernelSettings::default()
        };
        assert_eq!(advice(&machine, &support(7, true)), "");
        let found = findings(&machine, &support(7, false), &Err("made up".into()));
        let works: Vec<(&str, bool)> = found.iter().map(|found| (found.name, found.works)).collect();
        let expected = [
            ("kernel", false),
            ("landlock", true),
            ("namespace", false),
            ("limits", false),
        ];
        assert_eq!(works, expected);
        assert!(found[3].advice[0].contains("systemd-run"));
    }

    #[test]
    fn what_does_not_work_at_this_moment_is_no_reason_to_change_the_machine() {
        let machine = KernelSettings {
            apparmor_restricts: Some(1),
            ..KernelSettings::default()
        };
        let full = SandboxSupport {
            is_passing: true,
            ..support(7, false)
        };
        let said = advice(&machine, &full);
        assert!(said.contains("try again") && !said.contains("AppArmor"), "{said}");
    }

    #[test]
    fn what_does_not_work_is_explained_by_the_settings_of_the_kernel() {
        let none = KernelSettings::default();
        for (machine, abi, expected) in [
            (none.clone(), 7, "CONFIG_USER_NS"),
            (none.clone(), 5, "Linux 6.12"),
            (none.clone(), 0, "lsm=landlock,…"),
            (
                KernelSettings {
                    modules: Some("capability,apparmor".into()),
                    ..none.clone()
                },
                0,
                "lsm=landlock,capability,apparmor",
            ),
            (
                KernelSettings {
                    most_namespaces: Some(0),
                    ..none.clone()
                },
                7,
                "user.max_user_namespaces",
            ),
            (
                KernelSettings {
                    unprivileged_clone: Some(0),
                    ..none.clone()
                },
                7,
                "unprivileged_userns_clone=1",
            ),
            (
                KernelSettings {
                    apparmor_restricts: Some(1),
                    ..none.clone()
                },
                7,
                "AppArmor profile",
            ),
            (
                KernelSettings {
                    is_in_container: true,
                    ..none
                },
                7,
                "this is a container",
            ),
        ] {
            let said = advice(&machine, &support(abi, false));
            assert!(said.contains(expected), "{machine:?}: {said}");
        }
    }
}
