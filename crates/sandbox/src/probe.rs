//! Finds the steps that work on this machine.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::helper_words::{PROBE, PROBE_LIMITS};
use crate::landlock_version::NEEDED_ABI;
use crate::{HELPER, SandboxError, SandboxMode, SandboxStep};

/// The reason why nothing works in a program that cannot be its own helper.
pub(crate) const NO_HELPER: &str =
    "this program cannot be the helper, because its `main` does not begin with `act_as_helper`";

/// The sandbox support of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxSupport {
    /// The version of Landlock's interface; 0 if there is none.
    pub landlock_abi: u32,
    /// The reason why Landlock cannot be used although the kernel has it.
    pub no_landlock: Option<String>,
    /// Whether namespaces can be made, else why not.
    pub namespaces: Result<(), String>,
}

impl SandboxSupport {
    /// Looks at this machine. Starts the helper once, which takes some milliseconds.
    pub fn of_machine(helper: &Path) -> Self {
        if !cfg!(all(
            target_os = "linux",
            any(target_arch = "x86_64", target_arch = "aarch64")
        )) {
            return Self::none(0, "there is a sandbox on Linux alone, on x86-64 and 64-bit ARM");
        }
        Self {
            landlock_abi: landlock_abi(),
            no_landlock: None,
            namespaces: namespaces(helper),
        }
    }

    /// A program that cannot be its own helper.
    pub(crate) fn without_helper() -> Self {
        Self::none(landlock_abi(), NO_HELPER)
    }

    fn none(landlock_abi: u32, why: &str) -> Self {
        Self {
            landlock_abi,
            no_landlock: Some(why.to_owned()),
            namespaces: Err(why.to_owned()),
        }
    }

    /// Returns why a step does not work; `None` if it works.
    pub fn why_not(&self, step: SandboxStep) -> Option<String> {
        match step {
            SandboxStep::None => None,
            SandboxStep::Landlock if self.no_landlock.is_some() => self.no_landlock.clone(),
            SandboxStep::Landlock if self.landlock_abi >= NEEDED_ABI => None,
            SandboxStep::Landlock => Some(missing_landlock(self.landlock_abi)),
            SandboxStep::Namespace => self.namespaces.clone().err(),
        }
    }

    /// Chooses the step for a setting.
    ///
    /// # Errors
    /// Returns an error if the wanted step does not work, or with `auto` if none does, unless it is best
    /// effort: then the strongest step below it is chosen, which may be none.
    pub fn choose(&self, mode: SandboxMode, best_effort: bool) -> Result<SandboxStep, SandboxError> {
        let wanted = match mode {
            SandboxMode::None => return Ok(SandboxStep::None),
            SandboxMode::Everyday => return Ok(self.everyday()),
            SandboxMode::Step(step) => step,
            SandboxMode::Auto => SandboxStep::Namespace,
        };
        let Some(why) = self.why_not(wanted) else {
            return Ok(wanted);
        };
        let weaker = SandboxStep::ALL.into_iter().rev().filter(|step| *step < wanted);
        let may_be = |step: &SandboxStep| match mode {
            SandboxMode::Auto => best_effort || *step > SandboxStep::None,
            SandboxMode::None | SandboxMode::Everyday | SandboxMode::Step(_) => best_effort,
        };
        weaker
            .filter(may_be)
            .find(|step| self.why_not(*step).is_none())
            .ok_or(SandboxError::Unsupported { step: wanted, why })
    }

    /// The step that disturbs no everyday work. `landlock` is none: programs can open no Unix sockets, no
    /// terminals and no files in `/tmp`.
    fn everyday(&self) -> SandboxStep {
        if self.namespaces.is_ok() {
            SandboxStep::Namespace
        } else {
            SandboxStep::None
        }
    }
}

/// Says what a kernel with this version of Landlock lacks.
pub(crate) fn missing_landlock(abi: u32) -> String {
    if abi == 0 {
        return "the kernel has no Landlock, or it is not switched on (`lsm=` on the kernel's command line)"
            .into();
    }
    format!(
        "Landlock has version {abi}; {NEEDED_ABI} (Linux 6.12) is needed to hold signals and abstract sockets"
    )
}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
fn landlock_abi() -> u32 {
    crate::linux::landlock_abi().unwrap_or(0)
}

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
fn landlock_abi() -> u32 {
    0
}

fn namespaces(helper: &Path) -> Result<(), String> {
    tried_by(helper, PROBE)
}

/// Returns why commands cannot be held to limits of memory and processes.
pub(crate) fn limits(helper: &Path) -> Result<(), String> {
    if !cfg!(all(
        target_os = "linux",
        any(target_arch = "x86_64", target_arch = "aarch64")
    )) {
        return Err("there is a sandbox on Linux alone, on x86-64 and 64-bit ARM".into());
    }
    tried_by(helper, PROBE_LIMITS)
}

/// Has the helper try something, which says `ok` or why it does not work.
fn tried_by(helper: &Path, word: &str) -> Result<(), String> {
    let tried = Command::new(helper)
        .args([HELPER, word])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    match tried {
        Ok(output) => match String::from_utf8_lossy(&output.stdout).trim() {
            "ok" => Ok(()),
            "" => Err("the helper said nothing".into()),
            why => Err(why.to_owned()),
        },
        Err(error) => Err(format!("the helper could not be started: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_weaker_is_chosen_in_silence() {
        use SandboxMode::{Auto, Everyday, Step};
        use SandboxStep::{Landlock, Namespace, None};
        let machine = |landlock_abi, namespaces: bool| SandboxSupport {
            landlock_abi,
            no_landlock: Option::None,
            namespaces: if namespaces { Ok(()) } else { Err("made up".into()) },
        };
        for (abi, namespaces, mode, best_effort, chosen) in [
            (7, true, Auto, false, Some(Namespace)),
            (7, false, Auto, false, Some(Landlock)),
            (5, false, Auto, false, Option::None),
            (5, false, Auto, true, Some(None)),
            (7, true, Step(Landlock), false, Some(Landlock)),
            (5, true, Step(Landlock), false, Option::None),
            (7, false, Step(Namespace), false, Option::None),
            (7, false, Step(Namespace), true, Some(Landlock)),
            (0, false, SandboxMode::None, false, Some(None)),
            (7, true, Everyday, false, Some(Namespace)),
            (7, false, Everyday, false, Some(None)),
        ] {
            let found = machine(abi, namespaces).choose(mode, best_effort).ok();
            assert_eq!(found, chosen, "{abi} {namespaces} {mode:?} {best_effort}");
        }
    }
}
