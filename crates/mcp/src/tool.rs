//! A tool of a server in the form for agents.

use std::sync::Arc;

use agentx_config::{McpServerSettings, McpTarget};
use agentx_runtime::{BoxFuture, Tool, ToolContext, ToolOutcome};
use agentx_types::{Access, ToolReach, ToolSpec, ToolStatus, host_name};
use serde_json::{Value, json};

use crate::described_tool::DescribedTool;
use crate::host::ServerHost;
use crate::server_tool::ServerTool;

/// A tool that is offered.
pub(crate) struct McpTool {
    host: Arc<ServerHost>,
    tool: Arc<ServerTool>,
    spec: ToolSpec,
}

impl McpTool {
    /// `spec` is what [`spec_of`] says about the tool.
    pub(crate) fn new(host: Arc<ServerHost>, tool: Arc<ServerTool>, spec: ToolSpec) -> Self {
        Self { host, tool, spec }
    }

    /// The refusal of a call that was judged by another description of the tool than this one.
    fn judged_by_another(&self, context: &ToolContext) -> Option<ToolOutcome> {
        let config = context.journal.caller().config.as_deref()?;
        let judged = config.tools.iter().find(|spec| spec.name == self.spec.name)?;
        let hash = |spec: &ToolSpec| spec.reach.as_ref().and_then(|reach| reach.file.clone());
        let text = format!(
            "The MCP server {} describes this tool in another way than when this run began, so it was not called. It is offered as it is now from the next run on.",
            self.host.server.name
        );
        (hash(judged) != hash(&self.spec)).then(|| ToolOutcome::failed(ToolStatus::Failed, text))
    }
}

impl Tool for McpTool {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    fn call(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutcome> {
        if let Some(refusal) = self.judged_by_another(&context) {
            return Box::pin(std::future::ready(refusal));
        }
        let (host, tool) = (self.host.clone(), self.tool.clone());
        Box::pin(async move { host.call(&tool, input, &context).await })
    }
}

/// Returns a tool as the model and the rules see it.
///
/// The claims of a server count only if the person trusts its annotations. Without that, a call runs a
/// program or leaves the machine, and is not repeated.
pub(crate) fn spec_of(server: &McpServerSettings, described: &DescribedTool, offered_as: &str) -> ToolSpec {
    let tool = &described.tool;
    let believed = |claim: Option<bool>| server.trust_annotations && claim == Some(true);
    let (access, hosts) = match &server.target {
        McpTarget::Program { .. } => (Access::Run, Vec::new()),
        McpTarget::Address { url, .. } => (
            Access::Network,
            vec![host_name(url).unwrap_or_else(|| "*".to_owned())],
        ),
    };
    let access = if believed(tool.read_only) {
        Access::Read
    } else {
        access
    };
    let mut schema = tool.schema.clone();
    // Vendors accept nothing else; servers of earlier versions leave it out.
    if schema.get("type") != Some(&json!("object")) {
        schema.insert("type".into(), json!("object"));
    }
    let description = match tool.description.as_str() {
        "" => format!("{} of the MCP server {}", tool.name, server.name),
        text => text.to_owned(),
    };
    let reach = ToolReach {
        hosts,
        variables: server.variables().into_iter().map(str::to_owned).collect(),
        file: Some(described.hash(&server.identity()).to_owned()),
        mcp: Some(format!("{}/{}", server.name, tool.name)),
        of_folder: server.of_folder,
        changed: described.changed.clone(),
        ..ToolReach::default()
    };
    ToolSpec::new(offered_as, description, Value::Object(schema), access)
        .with_idempotent(believed(tool.idempotent) || believed(tool.read_only))
        .with_reach(reach)
}
