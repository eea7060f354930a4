//! A tool whose calls an exec server performs, each at most once.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agentx_runtime::{BoxFuture, Tool, ToolContext, ToolOutcome, blob_id};
use agentx_types::{AgentConfig, ToolSpec, ToolStatus};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::exec_link::{ExecLink, LinkAnswer, ServerPlace};
use crate::action_result::ActionResult;
use crate::actions::RemoteAction;
use crate::exec_state::random_name;

/// The time in which a server that was lost has to be there again.
const LOST: Duration = Duration::from_secs(60);
/// The time between two attempts to reach it.
const AGAIN: Duration = Duration::from_millis(500);
/// The time in which a cancelled action has to end.
const ENDING: Duration = Duration::from_secs(10);
/// Fields of details that name states of files for going back, which is not possible at a server. Those of a
/// command name files by paths of the server, which a rewind would take for files of this machine.
const IMAGES: [&str; 5] = [
    "changes",
    "changes_not_kept",
    "changes_unknown",
    "pre_image",
    "post_image",
];

/// A tool that runs at an exec server.
pub(super) struct RemoteTool {
    /// The same tool here, for calls that are not about files.
    local: Arc<dyn Tool>,
    spec: ToolSpec,
    link: Arc<ExecLink>,
}

impl RemoteTool {
    pub(super) fn new(local: Arc<dyn Tool>, link: Arc<ExecLink>) -> Self {
        Self {
            spec: local.spec(),
            local,
            link,
        }
    }
}

impl Tool for RemoteTool {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    fn call(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutcome> {
        // Blobs are those of the session, which is here.
        if input.get("blob").is_some_and(|blob| !blob.is_null()) {
            return self.local.call(input, context);
        }
        let (spec, link) = (self.spec.clone(), Arc::clone(&self.link));
        Box::pin(async move {
            let call = CallAtServer {
                link: &link,
                context: &context,
                may_have_begun: false,
                lost: None,
                ends: None,
            };
            call.perform(&spec, input).await
        })
    }
}

/// A call that an exec server performs.
struct CallAtServer<'a> {
    link: &'a ExecLink,
    context: &'a ToolContext,
    /// Whether the server may have begun the action.
    may_have_begun: bool,
    /// When the server was lost.
    lost: Option<Instant>,
    /// When to stop waiting for a cancelled action.
    ends: Option<Instant>,
}

impl CallAtServer<'_> {
    async fn perform(mut self, spec: &ToolSpec, input: Value) -> ToolOutcome {
        let mut other_instances = 0;
        loop {
            let place = match self.link.place().await {
                LinkAnswer::Done(place) => place,
                LinkAnswer::Refused { code, detail } => return self.refused(&code, &detail),
                LinkAnswer::NotSent(why) | LinkAnswer::Cut(why) => return self.unreachable(&why),
                LinkAnswer::Running => return self.unreachable("it gave no answer"),
            };
            let action = self.action(spec, input.clone(), place);
            if let Some(outcome) = self.until_done(&action).await {
                return outcome;
            }
            // Another process is there, and this action never began.
            self.link.forget_place();
            other_instances += 1;
            if other_instances > 3 {
                return self.unreachable("it starts again and again");
            }
        }
    }

    /// Requests the action until there is an outcome. `None` if another process is there and did nothing.
    async fn until_done(&mut self, action: &RemoteAction) -> Option<ToolOutcome> {
        loop {
            let Some(answer) = self.answer(action).await else {
                return Some(self.unknown("it was cancelled, and the server did not say how it ended"));
            };
            match answer {
                LinkAnswer::Done(result) => return Some(self.outcome(result).await),
                LinkAnswer::Running => {
                    self.may_have_begun = true;
                    self.lost = None;
                    continue;
                }
                LinkAnswer::Refused { code, .. } if code == "other_instance" => {
                    if self.may_have_begun {
                        self.link.forget_place();
                        return Some(self.unknown("the exec server was started anew meanwhile"));
                    }
                    return None;
                }
                LinkAnswer::Refused { code, detail } => {
                    let passes = ["paused", "full"].contains(&code.as_str());
                    if !(self.may_have_begun && passes) {
                        return Some(self.refused(&code, &detail));
                    }
                }
                LinkAnswer::NotSent(why) if !self.may_have_begun => return Some(self.unreachable(&why)),
                LinkAnswer::NotSent(_) | LinkAnswer::Cut(_) => self.may_have_begun = true,
            }
            let lost = *self.lost.get_or_insert_with(Instant::now);
            if lost.elapsed() > LOST {
                return Some(self.unknown("the connection to the exec server was lost"));
            }
            tokio::time::sleep(AGAIN).await;
        }
    }

    /// Sends a request. `None` if the action was cancelled, and its time to end is over.
    async fn answer(&mut self, action: &RemoteAction) -> Option<LinkAnswer<ActionResult>> {
        if self.ends.is_none() {
            let requested = self.link.request(action);
            tokio::select! {
                biased;
                () = self.context.cancel.cancelled() => {}
                answer = requested => return Some(answer),
            }
            // The request was cut off here, and may have arrived.
            self.may_have_begun = true;
            self.ends = Some(Instant::now() + ENDING);
            self.link.cancel(&action.id).await;
        }
        let ends = self.ends?;
        tokio::time::timeout_at(ends, self.link.request(action))
            .await
            .ok()
    }

    fn action(&self, spec: &ToolSpec, input: Value, place: ServerPlace) -> RemoteAction {
        let context = self.context;
        let config = context.journal.config_now();
        let config = config.map(|config| Box::new(rules_there(&config, spec, &place.directory)));
        RemoteAction {
            id: format!(
                "{}/{}/{}",
                context.session_id,
                context.tool_call_id,
                random_name()
            ),
            instance: place.instance,
            session: context.session_id.clone(),
            call: context.tool_call_id.clone(),
            tool: spec.name.clone(),
            input: paths_there(spec, input, &context.workspace),
            outside: context.outside_workspace,
            config,
        }
    }

    /// Stores the blobs that an outcome names, and completes it.
    async fn outcome(&self, mut result: ActionResult) -> ToolOutcome {
        if let Some(Value::Object(details)) = &mut result.details {
            details.retain(|name, _| !IMAGES.contains(&name.as_str()));
            details.insert("exec_server".to_owned(), json!(self.link.name()));
        }
        let named = json!([result.content, result.details]).to_string();
        result.blobs.retain(|blob| {
            let bytes = STANDARD.decode(blob).unwrap_or_default();
            named.contains(blob_id(&bytes).as_str())
        });
        match result.into_outcome(self.context.blobs.as_ref()).await {
            Ok(outcome) => outcome,
            Err(error) => ToolOutcome::failed(
                ToolStatus::Unknown,
                format!("The exec server performed it, but its output could not be stored: {error}."),
            ),
        }
    }

    fn refused(&self, code: &str, detail: &str) -> ToolOutcome {
        if self.may_have_begun {
            return self.unknown(detail);
        }
        let words = match code {
            "paused" => "The exec server is paused. Nothing was done; it has to be resumed first.".to_owned(),
            "deleted" => {
                "The workspace of the exec server was deleted. Nothing was done, and it will not come back."
                    .to_owned()
            }
            _ => format!("The exec server refused it: {detail}."),
        };
        self.failed(code, words)
    }

    fn unreachable(&self, why: &str) -> ToolOutcome {
        if self.may_have_begun {
            return self.unknown(why);
        }
        let words = format!("The exec server cannot be reached. Nothing was done: {why}.");
        self.failed("unreachable", words)
    }

    fn failed(&self, code: &str, words: String) -> ToolOutcome {
        let details = json!({ "exec_server": self.link.name(), "exec_server_error": code });
        ToolOutcome::failed(ToolStatus::Failed, words).with_details(details)
    }

    fn unknown(&self, why: &str) -> ToolOutcome {
        let words = format!("It is unknown whether the exec server has done it: {why}. It was not repeated.");
        let details = json!({ "exec_server": self.link.name() });
        ToolOutcome::failed(ToolStatus::Unknown, words).with_details(details)
    }
}

/// Returns the arguments with a path below the workspace as a relative one: the server's directory has
/// another name.
fn paths_there(spec: &ToolSpec, mut input: Value, workspace: &Path) -> Value {
    let name = spec.path_argument.as_deref().unwrap_or_default();
    let inside = input.get(name).and_then(Value::as_str).and_then(|path| {
        let inside = Path::new(path).strip_prefix(workspace).ok()?;
        Some(inside.to_string_lossy().into_owned())
    });
    if let Some(inside) = inside {
        input[name] = json!(if inside.is_empty() { "." } else { &inside });
    }
    input
}

/// Returns the parts of the configuration that the tool needs to keep the rules, for the server's directory.
fn rules_there(config: &AgentConfig, spec: &ToolSpec, directory: &str) -> AgentConfig {
    let mut there = config.clone();
    there.system_prompt = "".into();
    there.instructions.clear();
    there.agents.clear();
    there.tools = [spec.clone()].into();
    let workspace = std::mem::replace(&mut there.workspace, directory.to_owned());
    let of_server = there.server_rules.take().map(|mut server| {
        let rules = &mut Arc::make_mut(&mut server).rules;
        rules
            .iter_mut()
            .for_each(|rule| move_rule(rule, &workspace, directory));
        server
    });
    there.server_rules = of_server;
    there
        .rules
        .iter_mut()
        .for_each(|rule| move_rule(rule, &workspace, directory));
    there
}

/// Lets a rule of a workspace hold in the server's directory.
fn move_rule(rule: &mut agentx_types::Rule, workspace: &str, directory: &str) {
    let holds_here = |place: &String| Path::new(workspace).starts_with(place);
    if rule.workspace.as_ref().is_some_and(holds_here) {
        rule.workspace = Some(directory.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use agentx_types::{Access, Rule, RuleEffect};

    use super::*;

    #[test]
    fn paths_below_the_workspace_become_relative() {
        let spec = ToolSpec::new("read", "", json!({}), Access::Read).with_path_argument("path");
        for (path, expected) in [
            ("/ws/a/b", "a/b"),
            ("/ws", "."),
            ("a", "a"),
            ("/other", "/other"),
            ("/ws2/a", "/ws2/a"),
        ] {
            let there = paths_there(&spec, json!({ "path": path }), Path::new("/ws"));
            assert_eq!(there, json!({ "path": expected }));
        }
        let none = json!({ "command": "/ws" });
        assert_eq!(paths_there(&spec, none.clone(), Path::new("/ws")), none);
    }

    #[test]
    fn a_rule_of_the_workspace_holds_in_the_directory_of_the_server() {
        for (place, expected) in [
            (Some("/home/me"), Some("/srv")),
            (Some("/home/me/ws"), Some("/srv")),
            (Some("/elsewhere"), Some("/elsewhere")),
            (None, None),
        ] {
            let mut rule = Rule {
                effect: RuleEffect::Deny,
                tool: "bash".to_owned(),
                argument: None,
                path: None,
                workspace: place.map(str::to_owned),
                origin: None,
            };
            move_rule(&mut rule, "/home/me/ws", "/srv");
            assert_eq!(rule.workspace.as_deref(), expected);
        }
    }
}
