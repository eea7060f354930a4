//! Finds the steps that work on this machine. What fails for a reason that may be gone a moment later, such
//! as too many processes, says nothing about the machine: it is tried once more, then the command is refused,
//! and the next command tries again. A program inside of a sandbox could otherwise bring such a moment about,
//! and the next command would run without one.

use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use crate::helper_words::{PASSING, PROBE, PROBE_LIMITS};
use crate::landlock_version::NEEDED_ABI;
use crate::probe_failure::ProbeFailure;
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
    /// Whether the reason in `namespaces` may be gone at the next attempt, so that nothing is known yet.
    pub is_passing: bool,
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
        let namespaces = tried_by(helper, PROBE);
        Self {
            landlock_abi: landlock_abi(),
            no_landlock: None,
            is_passing: namespaces.as_ref().is_err_and(|failure| failure.is_passing),
            namespaces: namespaces.map_err(|failure| failure.why),
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
            is_passing: false,
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
    /// effort: then the strongest step below it is chosen, which may be none. Nothing weaker is chosen for a
    /// reason that may be gone at the next attempt.
    pub fn choose(&self, mode: SandboxMode, best_effort: bool) -> Result<SandboxStep, SandboxError> {
        let wanted = match mode {
            SandboxMode::None => return Ok(SandboxStep::None),
            SandboxMode::Everyday | SandboxMode::Auto => SandboxStep::Namespace,
            SandboxMode::Step(step) => step,
        };
        let Some(why) = self.why_not(wanted) else {
            return Ok(wanted);
        };
        if self.is_passing && wanted == SandboxStep::Namespace {
            return Err(SandboxError::NotNow { why });
        }
        if mode == SandboxMode::Everyday {
            // Not `landlock`: programs can open no Unix sockets, no terminals and no files in `/tmp`.
            return Ok(SandboxStep::None);
        }
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

/// Returns why commands cannot be held to limits of memory and processes.
pub(crate) fn limits(helper: &Path) -> Result<(), ProbeFailure> {
    if !cfg!(all(
        target_os = "linux",
        any(target_arch = "x86_64", target_arch = "aarch64")
    )) {
        let why = "there is a sandbox on Linux alone, on x86-64 and 64-bit ARM";
        return Err(ProbeFailure::lasting(why.to_owned()));
    }
    tried_by(helper, PROBE_LIMITS)
}

/// Has the helper try something, once more if the first attempt failed for a reason that may be gone.
fn tried_by(helper: &Path, word: &str) -> Result<(), ProbeFailure> {
    match attempt(helper, word) {
        Err(failure) if failure.is_passing => attempt(helper, word),
        tried => tried,
    }
}

/// Has the helper try something, which says `ok` or why it does not work.
fn attempt(helper: &Path, word: &str) -> Result<(), ProbeFailure> {
    let tried = Command::new(helper)
        .args([HELPER, word])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    match tried {
        Ok(output) => understood(String::from_utf8_lossy(&output.stdout).trim(), output.status),
        Err(error) => Err(ProbeFailure::of_error("the helper could not be started", &error)),
    }
}

/// Reads the answer of the helper. One that ended before it could answer says nothing about the machine: it
/// may have lacked memory, files or processes.
fn understood(said: &str, ended: ExitStatus) -> Result<(), ProbeFailure> {
    match said {
        "ok" => Ok(()),
        "" => Err(ProbeFailure {
            why: format!("the helper said nothing ({ended})"),
            is_passing: !ended.success(),
        }),
        why => match why.strip_prefix(PASSING) {
            Some(why) => Err(ProbeFailure {
                why: why.to_owned(),
                is_passing: true,
            }),
            None => Err(ProbeFailure::lasting(why.to_owned())),
        },
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
            is_passing: false,
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

    /// A full table of processes must not open what the sandbox holds.
    #[test]
    fn nothing_is_chosen_for_a_reason_that_may_be_gone() {
        use SandboxMode::{Auto, Everyday, Step};
        let machine = SandboxSupport {
            landlock_abi: 7,
            no_landlock: None,
            namespaces: Err("made up".into()),
            is_passing: true,
        };
        for best_effort in [false, true] {
            for mode in [Auto, Everyday, Step(SandboxStep::Namespace)] {
                let found = machine.choose(mode, best_effort);
                let why = "made up".to_owned();
                assert_eq!(found, Err(SandboxError::NotNow { why }), "{mode:?} {best_effort}");
            }
            let landlock = machine.choose(Step(SandboxStep::Landlock), best_effort);
            assert_eq!(landlock, Ok(SandboxStep::Landlock));
        }
    }

    #[test]
    fn errors_of_the_machine_at_this_moment_are_no_lasting_reason() {
        for (number, is_passing) in [
            (11, true),
            (12, true),
            (24, true),
            (28, true),
            (1, false),
            (38, false),
        ] {
            let error = std::io::Error::from_raw_os_error(number);
            let failure = ProbeFailure::of_error("made up", &error);
            assert_eq!(failure.is_passing, is_passing, "{}", failure.why);
        }
    }
}
