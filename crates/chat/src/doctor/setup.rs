//! Checks the configuration, the model that would be asked, and its key.

use agentx::config::{
    ApiKeySource, FolderTrust, Loaded, PromptKind, ProviderSettings, SettingOrigin, Settings, Sourced,
    claude_files,
};

use agentx::mcp::McpServerState;
use agentx::node::browser_program;
use agentx::sandbox::{SandboxMode, SandboxStep};

use super::DoctorCheck;
use crate::configuration::{check_tools, to_use_ignored};
use crate::demo::is_demo;
use crate::error::ChatError;
use crate::exit::Exit;
use crate::mcp;
use crate::mcp::last_use::state_when_last_used;
use crate::models::default_model;
use crate::render::approval_mode_word::mode_sentence;
use crate::render::clean::visible;
use crate::render::units::counted;
use crate::tools::command_sandbox::{shown_launcher, summary};

/// Reports the sandbox for commands, and whether it works on this machine.
pub(super) fn sandbox(settings: &Settings) -> DoctorCheck {
    let name = "sandbox";
    let launcher = shown_launcher(settings);
    let found = summary(settings, &launcher);
    match (settings.sandbox.mode, launcher.step_in(&settings.workspace)) {
        (SandboxMode::None, _) | (SandboxMode::Everyday, Ok(SandboxStep::None)) => {
            DoctorCheck::note(name, found)
        }
        (_, Ok(SandboxStep::None)) => DoctorCheck::warn(
            name,
            found,
            "remove `sandbox.best_effort` if commands must not run without a sandbox",
        ),
        (_, Ok(_)) => DoctorCheck::ok(name, found),
        (_, Err(_)) => DoctorCheck::bad(
            name,
            Exit::Config,
            found,
            "set `sandbox.mode` to a step that works here, or `sandbox.best_effort: true`",
        ),
    }
}

/// Reports the browser; `None` if the settings offer none.
pub(super) fn browser(settings: &Settings) -> Option<DoctorCheck> {
    let name = "browser";
    Some(match browser_program(settings)? {
        Ok(program) => DoctorCheck::ok(name, program.display().to_string()),
        Err(why) => DoctorCheck::warn(name, why, "do that, or remove `tools.browser` from your settings"),
    })
}

/// Checks whether the configuration can be read, and names what should be corrected.
pub(super) fn configuration(loaded: Result<&Loaded, &ChatError>) -> DoctorCheck {
    let name = "configuration";
    let loaded = match loaded {
        Ok(loaded) => loaded,
        Err(error) => return DoctorCheck::failed(name, error),
    };
    let misnamed = match check_tools(loaded) {
        Ok(misnamed) => misnamed,
        Err(error) => return DoctorCheck::failed(name, &error),
    };
    let warnings = loaded
        .warnings
        .iter()
        .chain(&loaded.workspace_mistakes)
        .map(ToString::to_string);
    let misnamed = misnamed
        .lines()
        .map(|line| line.trim_start_matches("warning: ").to_owned());
    if let Some(warning) = warnings.chain(misnamed).next() {
        return DoctorCheck::warn(
            name,
            warning,
            "correct it; `agentx config check` lists everything that is wrong",
        );
    }
    if let Some(before) = loaded.settings.folder.previous_trust {
        return DoctorCheck::warn(
            name,
            format!(
                "another folder is at {} now; your decision about the previous one ({}) does not apply to it",
                loaded.places.workspace_root.display(),
                before.word()
            ),
            "`agentx config trust --show` lists what the folder contains, `agentx config trust` trusts it",
        );
    }
    if let Some(ignored) = loaded.ignored.first() {
        return DoctorCheck::warn(
            name,
            format!(
                "`{}` of this workspace is ignored: {} ({})",
                ignored.key, ignored.why, ignored.origin
            ),
            if ignored.waits_for_trust {
                to_use_ignored(loaded.settings.folder.trust)
            } else {
                "remove it from the folder's file, or put it into your own settings"
            },
        );
    }
    let files: Vec<String> = loaded
        .files
        .iter()
        .filter(|file| file.exists)
        .map(|file| file.path.display().to_string())
        .collect();
    if files.is_empty() {
        DoctorCheck::ok(name, "no configuration file; defaults apply")
    } else {
        DoctorCheck::ok(name, files.join(", "))
    }
}

/// Reports who decides about calls that no rule covers, and whether commands that only read are asked about.
pub(super) fn approvals(settings: &Settings) -> DoctorCheck {
    let name = "approvals";
    let guard = settings.guard();
    let mode = mode_sentence(settings.approval);
    let reading = match settings.folder.trust {
        FolderTrust::ReadOnly => {
            return DoctorCheck::ok(name, "changes and commands are refused (read-only folder)");
        }
        _ if guard.reading_commands && !guard.git.is_empty() => format!(
            "commands that only read run without a question, except those of Git, because it runs what this \
             repository names ({}) and nobody accepted",
            guard.git.join(", ")
        ),
        _ if guard.reading_commands => "commands that only read run without a question".to_owned(),
        FolderTrust::Trusted => {
            "commands that only read are decided like others (`tools.reading_commands: ask`)".to_owned()
        }
        FolderTrust::Unknown | FolderTrust::Restricted => {
            "commands that only read are decided like others, because this folder is not trusted".to_owned()
        }
    };
    DoctorCheck::ok(name, visible(&format!("{mode}; {reading}")))
}

/// Finds the model that a new session would ask, as `agentx run` does, and its provider; `None` for the
/// offline demo. With `offline`, asks no server for its models.
pub(super) async fn model(
    loaded: &Loaded,
    offline: bool,
) -> (DoctorCheck, Settings, Option<ProviderSettings>) {
    let name = "model";
    let mut settings = loaded.settings.clone();
    let own = default_model::own_server(&settings);
    if let Some(own) = own.as_ref().filter(|_| offline) {
        let found = format!(
            "no model is named, and the server of {} was not asked for its models (--offline)",
            own.name
        );
        return (DoctorCheck::ok(name, found), settings, Some(own.clone()));
    }
    match default_model::only_model(&settings).await {
        Ok(Some(only)) => settings.model = Some(Sourced::new(only.name(), SettingOrigin::Default)),
        Ok(None) => {}
        Err(error) => return (DoctorCheck::failed(name, &error), settings, own),
    }
    if let Err(error) = default_model::check_configured(loaded) {
        return (DoctorCheck::failed(name, &error), settings, None);
    }
    let (check, provider) = named_model(&settings);
    (check, settings, provider)
}

/// The commands and skills in files, and their mistakes; `None` if there are none.
pub(super) fn prompts(settings: &Settings) -> Option<DoctorCheck> {
    let name = "commands";
    let files = settings.prompt_files();
    let count = |kind: PromptKind| {
        let of_kind = files.files.iter().filter(|file| file.kind == kind);
        counted(of_kind.count(), kind.word())
    };
    let (commands, skills) = (count(PromptKind::Command), count(PromptKind::Skill));
    let found = format!("{commands} and {skills} of files");
    let wrong = files
        .mistakes
        .iter()
        .chain(&files.remarks)
        .map(ToString::to_string);
    let mut taken = files.commands();
    taken.retain(|file| crate::slash_names::NAMES.contains(&file.name.as_str()));
    let taken = taken.into_iter().map(|file| {
        let (file, name) = (file.file.display(), &file.name);
        format!("{file}: a command of AgentX has this name, so /{name} does not send it")
    });
    let wrong: Vec<String> = wrong.chain(taken).collect();
    if wrong.is_empty() {
        return (!files.files.is_empty()).then(|| DoctorCheck::ok(name, found));
    }
    let found = format!("{found}\n{}", wrong.join("\n"));
    Some(DoctorCheck::warn(
        name,
        found,
        "correct these files, or remove them",
    ))
}

/// The files of Claude Code in this folder that have no effect; `None` if there are none.
pub(super) fn left_out(settings: &Settings) -> Option<DoctorCheck> {
    let files = claude_files(&settings.workspace_root);
    let told: Vec<String> = files
        .iter()
        .map(|file| visible(&format!("{}: {} are not read", file.path.display(), file.what)))
        .collect();
    let to_do: Vec<String> = files.iter().map(|file| visible(&file.instead)).collect();
    let check = || DoctorCheck::warn("Claude Code", told.join("\n"), to_do.join("; "));
    (!told.is_empty()).then(check)
}

/// The MCP servers, with the state of each.
pub(super) fn mcp_servers(settings: &Settings) -> DoctorCheck {
    let name = "MCP servers";
    let servers = mcp::changes::servers(settings, &[]);
    let (mut told, mut to_do) = (Vec::new(), Vec::new());
    for environment in servers.iter() {
        let server = &environment.server().name;
        let state = McpServerState::of(&environment.known());
        told.push(format!("{server} {}", state_when_last_used(environment)));
        let left_out = environment.server().values_left_out();
        if !left_out.is_empty() {
            told.push(visible(&format!("{server}: {}", left_out.join("; "))));
            to_do.push(format!(
                "set the variables of {server}, or take them out of its settings"
            ));
        }
        if matches!(state, McpServerState::Failed(_) | McpServerState::Configured) {
            to_do.push(format!(
                "`agentx mcp try {server}` starts it once and says what is wrong"
            ));
        }
        if state == McpServerState::NeedsLogin {
            to_do.push(format!("`agentx mcp login {server}` logs in"));
        }
    }
    match (told.is_empty(), to_do.is_empty()) {
        (true, _) => DoctorCheck::ok(name, "no server is configured"),
        (false, true) => DoctorCheck::ok(name, told.join("\n")),
        (false, false) => DoctorCheck::warn(name, told.join("\n"), to_do.join("; ")),
    }
}

/// Returns the model that the settings name, or the default model.
fn named_model(settings: &Settings) -> (DoctorCheck, Option<ProviderSettings>) {
    let name = "model";
    let wanted = settings.model_or_default().value;
    if is_demo(&wanted) {
        let check = match settings.model {
            Some(_) => DoctorCheck::ok(name, "the offline demo"),
            None => DoctorCheck::warn(
                name,
                "no model is connected: chats use the offline demo",
                "set ANTHROPIC_API_KEY or OPENAI_API_KEY, or add your own server to the configuration",
            ),
        };
        return (check, None);
    }
    let spec = match settings.choose_model(&wanted, &[]) {
        Ok(spec) => spec,
        Err(error) => {
            let check = DoctorCheck::bad(
                name,
                Exit::Config,
                error.to_string(),
                "choose a model that `agentx models` lists: `agentx config set model NAME`",
            );
            return (check, None);
        }
    };
    let Some(provider) = settings.provider(&spec.provider) else {
        let found = format!(
            "{} is served by `{}`, which is not configured",
            spec.id, spec.provider
        );
        let advice = format!(
            "describe it as `providers.{}`, or choose a model that `agentx models` lists",
            spec.provider
        );
        return (DoctorCheck::bad(name, Exit::Config, found, advice), None);
    };
    let check = match provider.missing_variable() {
        None => DoctorCheck::ok(name, format!("{} of {}", spec.id, provider.name)),
        Some(variable) => DoctorCheck::bad(
            name,
            Exit::Credentials,
            format!("{} needs an API key, and {variable} is not set", spec.id),
            format!("set {variable}, or choose another model: `agentx models`"),
        ),
    };
    (check, Some(provider.clone()))
}

/// Checks which keys are set, by name.
pub(super) fn keys(settings: &Settings) -> Vec<DoctorCheck> {
    let name = "keys";
    let mut there = Vec::new();
    let clouds = settings
        .providers
        .iter()
        .filter_map(|provider| provider.cloud.as_ref());
    there.extend(clouds.map(|cloud| match &cloud.credentials {
        Ok(_) => format!("credentials of a cloud: {}", cloud.source),
        Err(why) => format!("credentials of a cloud cannot be used: {why}"),
    }));
    for provider in &settings.providers {
        match &provider.key {
            ApiKeySource::Env { name, value: Some(_) } => there.push(format!("{name} is set")),
            ApiKeySource::Literal(_) => {
                return vec![DoctorCheck::warn(
                    "keys",
                    format!("the API key of {} is written in a file", provider.name),
                    "keep it in an environment variable and refer to it: `api_key: ${NAME}`",
                )];
            }
            ApiKeySource::Env { .. } | ApiKeySource::None => {}
        }
    }
    there.sort();
    there.dedup();
    let found = if there.is_empty() {
        "no API key is set".to_owned()
    } else {
        there.join(", ")
    };
    vec![DoctorCheck::ok(name, found)]
}
