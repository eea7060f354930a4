//! A script as a tool.

use std::sync::Arc;
use std::time::Duration;

use agentx_agent_files::definition::{LuauTool, ToolDefinition, ToolLimits};
use agentx_luau_tools::{Reason, Script, ScriptError, ScriptLimits};
use agentx_runtime::{BoxFuture, Tool, ToolContext, ToolOutcome};
use agentx_types::{ToolSpec, ToolStatus};
use serde_json::{Value, json};

use super::run::SharedToolParts;
use super::spec::spec;
use crate::grants::Grants;
use crate::world::network::{AllowedHosts, MAX_ANSWER};
use crate::world::{CallOrigin, Network, ToolsShared};

struct Luau {
    spec: ToolSpec,
    script: Script,
    limits: ScriptLimits,
    /// The number of lines before the script in its file.
    before: u32,
    ground: Arc<SharedToolParts>,
}

pub(super) fn tool(
    shared: &Arc<ToolsShared>,
    definition: &ToolDefinition,
    luau: &LuauTool,
) -> Result<Arc<dyn Tool>, String> {
    let source = luau.lua.as_deref().ok_or("its script was not read")?;
    // Its name and offset make its line numbers those of the file.
    let (name, before) = match (&luau.lua_file, &luau.place) {
        (Some(file), _) => (file, 0),
        (None, Some(place)) => (&place.file, place.line.saturating_sub(1)),
        (None, None) => (&definition.name, 0),
    };
    let (owner, libraries) = if definition.of_folder {
        (&shared.folder_owner, &shared.parts.folder_libraries)
    } else {
        (&shared.owner, &shared.parts.libraries)
    };
    let script = owner.compile(name, source, libraries.clone());
    let script = script.map_err(|error| in_file(error, before).to_string())?;
    let may = &luau.capabilities;
    let ground = SharedToolParts {
        name: definition.name.clone(),
        hash: script.hash().to_owned(),
        grants: Arc::new(Grants {
            http: may.http.clone(),
            env: may.env.clone(),
            models: may.models.clone(),
            tools: may.tools.clone(),
            kv: may.kv.clone(),
            agents: may.agents.clone(),
            of_folder: definition.of_folder,
        }),
        network: Arc::new(Network::new(
            AllowedHosts::new(&may.http),
            shared.parts.lookup.clone(),
            MAX_ANSWER,
            shared.answers.clone(),
        )),
        shared: shared.clone(),
        origin: CallOrigin::Script {
            file: name.clone(),
            before,
        },
    };
    Ok(Arc::new(Luau {
        spec: spec(definition),
        script,
        limits: limits(luau.limits, definition.of_folder),
        before,
        ground: Arc::new(ground),
    }))
}

/// The largest memory limit of a folder's file: a larger script delays other scripts for longer, and the
/// limit is the folder's own claim.
const FOLDER_MEMORY: usize = 64 << 20;
const FOLDER_CPU: Duration = Duration::from_secs(10);

fn limits(set: ToolLimits, of_folder: bool) -> ScriptLimits {
    let usual = ScriptLimits::default();
    let (most_memory, most_cpu) = if of_folder {
        (FOLDER_MEMORY, FOLDER_CPU)
    } else {
        (usize::MAX, Duration::MAX)
    };
    let size =
        |set: Option<u64>, usual: usize| set.map_or(usual, |set| usize::try_from(set).unwrap_or(usize::MAX));
    ScriptLimits {
        memory: size(set.memory, usual.memory).min(most_memory),
        cpu: set
            .cpu_time
            .map_or(usual.cpu, |time| time.duration())
            .min(most_cpu),
        wall: set.wall_time.map_or(usual.wall, |time| time.duration()),
        output: size(set.output, usual.output),
        requests: set.requests.unwrap_or(usual.requests),
        agents: set.agents.unwrap_or(usual.agents),
        depth: set
            .depth
            .map_or(usual.depth, |depth| u32::try_from(depth).unwrap_or(u32::MAX)),
        ..usual
    }
}

/// Returns the limits of one call. However many calls one person of a server makes, they take turns as one.
fn of_call(limits: &ScriptLimits, context: &ToolContext) -> ScriptLimits {
    ScriptLimits {
        at_depth: context.journal.depth(),
        spent: Duration::from_millis(context.journal.all().spent_ms),
        person: Some(context.slots.number()),
        ..limits.clone()
    }
}

impl Tool for Luau {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    fn waits(&self) -> bool {
        true
    }

    /// This includes the tools and agents that it calls.
    fn may_call_models(&self) -> bool {
        let grants = &self.ground.grants;
        [&grants.models, &grants.tools, &grants.agents]
            .iter()
            .any(|granted| !granted.is_empty())
    }

    fn call(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutcome> {
        let (ground, script, before) = (self.ground.clone(), self.script.clone(), self.before);
        let limits = of_call(&self.limits, &context);
        Box::pin(async move {
            let running = match ground.begin(&context) {
                Ok(running) => running,
                Err(outcome) => return outcome,
            };
            let host = Arc::new(running.host.clone());
            let came_to = script.invoke(input, host, limits, running.stop.clone()).await;
            running
                .end(&context, came_to.map_err(|error| failed(&in_file(error, before))))
                .await
        })
    }
}

/// Moves the line of an error from the script to its file.
fn in_file(mut error: ScriptError, before: u32) -> ScriptError {
    if error.library.is_none() {
        error.line = error.line.map(|line| line.saturating_add(before));
    }
    error
}

/// Returns the outcome of a failed script: the error, the line, the limit.
fn failed(error: &ScriptError) -> ToolOutcome {
    let status = match &error.reason {
        Reason::Cancelled => ToolStatus::Interrupted,
        Reason::Limit(agentx_luau_tools::LimitExceeded::Wall(_)) => ToolStatus::TimedOut,
        Reason::Arguments(_) => ToolStatus::Invalid,
        // If a script does not catch a refusal, the call itself counts as refused.
        Reason::Failed(text) if text.starts_with("denied: ") => ToolStatus::Denied,
        _ => ToolStatus::Failed,
    };
    let details = json!({"code": error.code(), "script": error.script, "line": error.line});
    ToolOutcome::failed(status, error.to_string()).with_details(details)
}

#[cfg(test)]
mod tests {
    use agentx_agent_files::definition::Millis;
    use agentx_runtime::CallSlots;
    use agentx_testing::fixture;

    use super::*;

    fn context(slots: &CallSlots) -> ToolContext {
        ToolContext {
            slots: slots.clone(),
            ..fixture::tool_context(std::env::temp_dir())
        }
    }

    #[test]
    fn all_calls_of_one_person_take_turns_as_one() {
        let all = CallSlots::default();
        let (hers, his) = (all.part(16), all.part(16));
        let of = |slots: &CallSlots| of_call(&ScriptLimits::default(), &context(slots)).person;
        assert!(of(&hers).is_some());
        assert_eq!(of(&hers), of(&hers));
        assert_ne!(of(&hers), of(&his));
    }

    #[test]
    fn a_file_of_a_folder_sets_no_limit_as_high_as_it_likes() {
        let set = ToolLimits {
            memory: Some(1 << 40),
            cpu_time: Some(Millis(3_600_000)),
            ..ToolLimits::default()
        };
        let own = limits(set, false);
        assert_eq!((own.memory, own.cpu), (1 << 40, Duration::from_secs(3_600)));
        let folder = limits(set, true);
        assert_eq!((folder.memory, folder.cpu), (FOLDER_MEMORY, FOLDER_CPU));
        assert_eq!(limits(ToolLimits::default(), true), ScriptLimits::default());
    }
}
