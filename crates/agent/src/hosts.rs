//! Hosts that a tool reaches, in rules and in the question to a person.
//!
//! A rule names one instead of arguments: `deny *: to evil.example`. What a tool may reach stands in its
//! file (`ToolReach`) and is known before any call; a host with a `*` in it is left open by the file. A rule
//! that denies or asks counts if it may be meant (`may_reach`), one that allows only if it names everything
//! (`reaches_only`). From version 3 of the rules on.

use agentx_types::{ToolReach, since};

use crate::call_subject::CallSubject;
use crate::pattern::fits;

/// The beginning of a rule's argument that is about hosts. Arguments of a call are JSON, so none is mistaken
/// for it.
const TO: &str = "to ";

impl CallSubject<'_> {
    /// The hosts, variables and tools that the tool's file lets it reach; `None` for a tool that runs command
    /// lines, and before version 3 of the rules.
    pub(crate) fn reach(&self) -> Option<&ToolReach> {
        let reach = self.tool.reach.as_deref();
        reach.filter(|_| self.version >= since::RULES_NAME_HOSTS && self.tool.command_argument.is_none())
    }

    /// Describes the reach of the tool; `None` if it reaches nothing.
    pub(crate) fn reach_description(&self) -> Option<String> {
        self.reach().and_then(describe_reach)
    }

    /// Returns whether the pattern names a host that the tool may reach.
    pub(crate) fn may_reach(&self, pattern: &str) -> bool {
        let Some((wanted, reach)) = pattern.strip_prefix(TO).zip(self.reach()) else {
            return false;
        };
        let wanted = wanted.to_lowercase();
        // Of a host that is not known before the call, nobody can say that it is another.
        let may = |host: &String| host.contains('*') || fits(&wanted, host);
        reach.hosts.iter().any(may)
    }

    /// Returns whether the pattern names all that the tool may reach: every host, and no other tools.
    pub(crate) fn reaches_only(&self, pattern: &str) -> bool {
        let Some((wanted, reach)) = pattern.strip_prefix(TO).zip(self.reach()) else {
            return false;
        };
        let wanted = wanted.to_lowercase();
        let known = |host: &String| wanted == "*" || (!host.contains('*') && fits(&wanted, host));
        !reach.hosts.is_empty() && reach.tools.is_empty() && reach.hosts.iter().all(known)
    }

    /// The one host that the tool reaches, if it is known and the tool does nothing else.
    pub(crate) fn only_host(&self) -> Option<&str> {
        let reach = self.reach()?;
        match &reach.hosts[..] {
            [host] if !host.contains('*') && reach.tools.is_empty() => Some(host),
            _ => None,
        }
    }
}

/// Describes the reach of a tool for a question: hosts, variables, tools, and a replaced name. `None` if it
/// reaches nothing.
pub(crate) fn describe_reach(reach: &ToolReach) -> Option<String> {
    let open = |host: &String| match host.as_str() {
        "*" => "any host".to_owned(),
        host => host.to_owned(),
    };
    let hosts: Vec<String> = reach.hosts.iter().map(open).collect();
    let mut says = Vec::new();
    if let Some(name) = &reach.mcp {
        let (server, tool) = name.split_once('/').unwrap_or((name, ""));
        let whose = if reach.of_folder { "this folder's" } else { "the" };
        says.push(format!("is `{tool}` of {whose} MCP server {server}"));
    }
    if !hosts.is_empty() {
        says.push(format!("sends to {}", hosts.join(", ")));
    }
    if !reach.variables.is_empty() {
        says.push(format!("gets the variables {}", reach.variables.join(", ")));
    }
    if !reach.tools.is_empty() {
        says.push(format!("calls {}", reach.tools.join(", ")));
    }
    if reach.replaces {
        says.push("replaces a tool of the same name that is not this folder's".to_owned());
    }
    let changed = reach.changed.as_ref().map(|difference| {
        let server = reach.mcp.as_deref().and_then(|name| name.split('/').next()).unwrap_or_default();
        format!(
            "; the server describes it in another way than the one that was accepted (`agentx mcp show {server}` shows how, `agentx mcp try {server} --accept` accepts it):\n{difference}"
        )
    });
    (!says.is_empty()).then(|| format!("it {}{}", says.join(", "), changed.unwrap_or_default()))
}
