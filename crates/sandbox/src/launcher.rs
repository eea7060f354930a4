//! Starts commands through the helper: which program and which arguments to start instead.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::caches::FirstUse;
use crate::command_place::CommandPlace;
use crate::helper::can_be_helper;
use crate::helper_words::{RUN, RUN_LOCKED};
use crate::probe::{NO_HELPER, limits};
use crate::probe_failure::ProbeFailure;
use crate::temporary::{directory_of, occupy};
use crate::{HELPER, SandboxError, SandboxMode, SandboxPolicy, SandboxProfile, SandboxStep, SandboxSupport};

/// Starts commands in a sandbox. Clones share what was found out about the machine for good.
#[derive(Clone, Debug)]
pub struct SandboxLauncher {
    inner: Arc<LauncherInner>,
}

#[derive(Debug)]
struct LauncherInner {
    helper: PathBuf,
    is_own: bool,
    mode: SandboxMode,
    profile: SandboxProfile,
    support: OnceLock<SandboxSupport>,
    limits: OnceLock<Result<(), String>>,
    first_use: FirstUse,
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    templates: crate::linux::Templates,
}

/// The process to start instead of a command. Start it without the variables of
/// [`hidden_variables`](crate::hidden_variables), because the command can read those of its helper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxedCommand {
    /// The policy of the command, with the step that enforces it.
    pub policy: SandboxPolicy,
    /// The program to start.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

impl SandboxedCommand {
    /// Lets the command itself lock its directory for temporary files until it ends. A process that becomes
    /// the command by `exec` needs this, because its own lock ends there, and another process may then remove
    /// the directory.
    #[must_use]
    pub fn locked_by_itself(mut self) -> Self {
        if let Some(word) = self.arguments.get_mut(1) {
            *word = RUN_LOCKED.into();
        }
        self
    }
}

impl SandboxedCommand {
    /// Lets the command have no network in place of single hosts, whose proxy somebody would have to serve.
    ///
    /// # Errors
    /// Returns an error if the policy cannot be written down.
    pub fn without_proxy(mut self) -> Result<Self, SandboxError> {
        self.policy.proxy = false;
        let policy = self.policy.to_argument()?;
        if let Some(word) = self.arguments.get_mut(2) {
            *word = policy.into();
        }
        Ok(self)
    }
}

impl SandboxLauncher {
    /// Creates a launcher for this setting. `helper` is a program whose `main` begins with
    /// [`act_as_helper`](crate::act_as_helper), such as `agentx` or the program `agentx-held` of this crate.
    pub fn new(helper: impl Into<PathBuf>, mode: SandboxMode, profile: SandboxProfile) -> Self {
        Self::of(helper.into(), false, mode, profile)
    }

    /// Creates a launcher whose helper is this very program, even if its file is replaced meanwhile. Its
    /// `main` has to begin with [`act_as_helper`](crate::act_as_helper); if it does not, no step but `none`
    /// works.
    pub fn of_this_program(mode: SandboxMode, profile: SandboxProfile) -> Self {
        Self::of("/proc/self/exe".into(), true, mode, profile)
    }

    fn of(helper: PathBuf, is_own: bool, mode: SandboxMode, profile: SandboxProfile) -> Self {
        Self {
            inner: Arc::new(LauncherInner {
                helper,
                is_own,
                mode,
                profile,
                support: OnceLock::new(),
                limits: OnceLock::new(),
                first_use: FirstUse::default(),
                #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
                templates: crate::linux::Templates::default(),
            }),
        }
    }

    /// The profile of all commands.
    pub fn profile(&self) -> &SandboxProfile {
        &self.inner.profile
    }

    /// Returns the support of this machine. The first call starts the helper once, and so does each one until
    /// the answer is one for good.
    pub fn support(&self) -> SandboxSupport {
        let known = &self.inner.support;
        if let Some(known) = known.get() {
            return known.clone();
        }
        let found = if self.inner.is_own && !can_be_helper() {
            SandboxSupport::without_helper()
        } else {
            SandboxSupport::of_machine(&self.inner.helper)
        };
        if found.is_passing {
            return found;
        }
        known.get_or_init(|| found).clone()
    }

    /// Returns why commands cannot be held to limits of memory and processes, if they cannot. The first call
    /// starts the helper once.
    ///
    /// # Errors
    /// Returns the reason.
    pub fn limits_support(&self) -> Result<(), String> {
        let known = &self.inner.limits;
        if let Some(known) = known.get() {
            return known.clone();
        }
        let found = if self.inner.is_own && !can_be_helper() {
            Err(ProbeFailure::lasting(NO_HELPER.to_owned()))
        } else {
            limits(&self.inner.helper)
        };
        let is_passing = found.as_ref().is_err_and(|failure| failure.is_passing);
        let found = found.map_err(|failure| failure.why);
        if is_passing {
            return found;
        }
        known.get_or_init(|| found).clone()
    }

    /// The step that holds the next command.
    ///
    /// # Errors
    /// Returns an error if the wanted step does not work here, or cannot hold commands to the limits of the
    /// profile.
    pub fn step(&self) -> Result<SandboxStep, SandboxError> {
        if self.inner.mode == SandboxMode::None {
            return Ok(SandboxStep::None);
        }
        let profile = &self.inner.profile;
        let step = self.support().choose(self.inner.mode, profile.best_effort)?;
        let wants_limits = profile.limits().has_group() && step > SandboxStep::None;
        if wants_limits
            && !profile.best_effort
            && let Err(why) = self.limits_support()
        {
            return Err(SandboxError::Limits {
                why,
                from: profile.limits_from.clone(),
            });
        }
        Ok(step)
    }

    /// The step that holds the next command in this directory. In the mode `everyday`, nothing holds commands
    /// in the home directory and above it, where no sandbox can.
    ///
    /// # Errors
    /// Returns an error if the wanted step does not work here.
    pub fn step_in(&self, workspace: &Path) -> Result<SandboxStep, SandboxError> {
        if self.inner.mode == SandboxMode::Everyday && self.inner.profile.is_around_home(workspace) {
            return Ok(SandboxStep::None);
        }
        self.step()
    }

    /// Returns why nothing holds the next command in this directory although the setting asks for a sandbox;
    /// `None` if something holds it, if it will not run, or if the setting asks for none.
    pub fn why_not_held(&self, workspace: &Path) -> Option<String> {
        if self.inner.mode == SandboxMode::None || self.step_in(workspace).ok()? != SandboxStep::None {
            return None;
        }
        let profile = &self.inner.profile;
        if self.inner.mode == SandboxMode::Everyday && profile.is_around_home(workspace) {
            return Some("this is your home directory, or one above it".to_owned());
        }
        self.support().why_not(SandboxStep::Namespace)
    }

    /// The policy of a command.
    ///
    /// # Errors
    /// Returns an error if the wanted step does not work here, or cannot hold a command in this directory.
    pub fn policy(&self, place: CommandPlace<'_>) -> Result<SandboxPolicy, SandboxError> {
        let temporary = directory_of(place)?;
        self.inner
            .profile
            .policy(self.step()?, place.workspace, temporary)
    }

    /// Returns what to start instead of `program`; `None` if nothing holds commands. Makes the directory for
    /// temporary files, which [`remove_temporary_directories`](crate::remove_temporary_directories) removes.
    ///
    /// # Errors
    /// Returns an error if the command cannot be held as it has to be.
    pub fn command(
        &self,
        program: &Path,
        words: &[&OsStr],
        place: CommandPlace<'_>,
    ) -> Result<Option<SandboxedCommand>, SandboxError> {
        if self.step_in(place.workspace)? == SandboxStep::None {
            return Ok(None);
        }
        self.inner.profile.make_missing(&self.inner.first_use);
        let policy = self.policy(place)?;
        occupy(&policy.paths.temporary)?;
        if policy.step == SandboxStep::Namespace && !policy.paths.private.is_empty() {
            occupy(&policy.paths.layers())?;
        }
        let mut arguments: Vec<OsString> = vec![HELPER.into(), RUN.into(), policy.to_argument()?.into()];
        arguments.push(program.into());
        arguments.extend(words.iter().map(|word| (*word).to_owned()));
        Ok(Some(SandboxedCommand {
            policy,
            program: self.inner.helper.clone(),
            arguments,
        }))
    }

    /// Starts a command by a process that keeps the root directory of its policy, which is faster than a
    /// helper for each command. `None` if the command has to be started as it says itself: for single hosts
    /// and limits, and where no such process can be made. Then nothing was started.
    ///
    /// # Errors
    /// Returns an error if it is not known whether the command was started.
    #[cfg(unix)]
    pub fn start_from_template(
        &self,
        sandboxed: &SandboxedCommand,
        start: &crate::TemplateStart<'_>,
    ) -> Result<Option<crate::HeldProcess>, SandboxError> {
        #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
        return {
            let words = [
                &[sandboxed.program.clone().into()],
                sandboxed.arguments.as_slice(),
            ]
            .concat();
            self.inner.templates.start(&sandboxed.policy, &words, start)
        };
        #[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
        {
            let _ = (sandboxed, start);
            Ok(None)
        }
    }
}
