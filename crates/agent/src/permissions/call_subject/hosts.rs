//! The hosts that a tool reaches, in rules and in the question to a person.
//!
//! A rule may name a host in place of arguments: `deny *: to evil.example`. The file of a tool lists the
//! hosts that the tool may reach (`ToolReach`), so they are known before any call; a host with a `*` may be
//! any host. A rule that denies or asks applies if the tool may reach its host (`may_reach`). A rule that
//! allows applies only if it names all hosts of the tool (`reaches_only`). From version 3 of the rules on.
//!
//! A tool with an argument for addresses (`web_extract`) sends to other hosts with each call: then the hosts
//! are those that the call names.
//!
//! Both the rule's pattern and the tool's hosts are compared in the form of [`host_name`]: `to localhost` is
//! about `http://LOCALHOST./` too. A host in another script is known only in Punycode: a tool's host in
//! another script may be any host, and so may that of a rule that denies or asks.

use agentx_types::{ToolReach, ToolSpec, host_name, since};
use serde_json::Value;

use super::CallSubject;
use crate::pattern::fits;

/// The beginning of a rule's argument that is about hosts. Arguments of a call are JSON, so none is mistaken
/// for it.
const TO: &str = "to ";

impl CallSubject<'_> {
    /// The hosts that the call names, or everything that the tool's file grants; `None` for a tool that runs
    /// command lines, and before version 3 of the rules.
    pub(crate) fn reach(&self) -> Option<&ToolReach> {
        let reach = self.named_hosts.as_ref().or(self.tool.reach.as_deref());
        reach.filter(|_| self.version >= since::RULES_NAME_HOSTS && self.tool.command_argument.is_none())
    }

    /// The hosts that the call names; `None` if the tool has no argument for addresses.
    pub(crate) fn named_hosts(&self) -> Option<&ToolReach> {
        self.named_hosts.as_ref()
    }

    /// Describes the reach of the tool; `None` if it reaches nothing.
    pub(crate) fn reach_description(&self) -> Option<String> {
        self.reach().and_then(|reach| describe_reach(reach, self.version))
    }

    /// Returns whether the pattern names a host that the tool may reach.
    pub(crate) fn may_reach(&self, pattern: &str) -> bool {
        let Some((wanted, reach)) = pattern.strip_prefix(TO).zip(self.reach()) else {
            return false;
        };
        let wanted = self.wanted(wanted);
        // A name in another script is some unknown host.
        if !wanted.is_ascii() && self.version >= since::HOSTS_HAVE_ONE_FORM {
            return !reach.hosts.is_empty();
        }
        // A host that is unknown before the call may be any host.
        let may = |host: &String| {
            let host = self.compared(host);
            host.contains('*') || fits(&wanted, &host)
        };
        reach.hosts.iter().any(may)
    }

    /// Returns whether the pattern covers everything that the tool may reach: every host, and no other tools
    /// or agents.
    pub(crate) fn reaches_only(&self, pattern: &str) -> bool {
        let Some((wanted, reach)) = pattern.strip_prefix(TO).zip(self.reach()) else {
            return false;
        };
        let wanted = self.wanted(wanted);
        let known = |host: &String| {
            let host = self.compared(host);
            wanted == "*" || (!host.contains('*') && fits(&wanted, &host))
        };
        !reach.hosts.is_empty() && !self.acts_through_others(reach) && reach.hosts.iter().all(known)
    }

    /// The one host that the tool reaches, if it is known and the tool does nothing else.
    pub(crate) fn only_host(&self) -> Option<String> {
        let reach = self.reach()?;
        match &reach.hosts[..] {
            [host] if !host.contains('*') && !self.acts_through_others(reach) => Some(self.compared(host)),
            _ => None,
        }
    }

    /// Returns whether it also makes other tools or agents do something, about which no host says anything.
    fn acts_through_others(&self, reach: &ToolReach) -> bool {
        let makes_agents = !reach.agents.is_empty() && self.version >= since::ALL_GRANTS_ARE_SAID;
        makes_agents || !reach.tools.is_empty()
    }

    /// A host of a tool in the form for comparisons. One without such a form may be any host.
    fn compared(&self, host: &str) -> String {
        if self.version < since::HOSTS_HAVE_ONE_FORM {
            return host.to_owned();
        }
        host_name(host).unwrap_or_else(|| "*".to_owned())
    }

    /// The host of a rule in the form for comparisons.
    fn wanted(&self, pattern: &str) -> String {
        if self.version < since::HOSTS_HAVE_ONE_FORM {
            return pattern.to_lowercase();
        }
        pattern_of_hosts(pattern)
    }
}

/// The hosts that the addresses of a call name, each once; `None` if the tool has no argument for addresses.
/// An address that cannot be read may be of any host.
pub(crate) fn named_by(tool: &ToolSpec, input: &Value) -> Option<ToolReach> {
    let named = input.get(tool.address_argument.as_ref()?).unwrap_or(&Value::Null);
    let addresses = match named {
        Value::Array(all) => &all[..],
        one => std::slice::from_ref(one),
    };
    let mut reach = ToolReach::default();
    for address in addresses {
        let host = address
            .as_str()
            .and_then(host_of)
            .unwrap_or_else(|| "*".to_owned());
        if !reach.hosts.contains(&host) {
            reach.hosts.push(host);
        }
    }
    Some(reach)
}

/// The host of an address. Spaces, backslashes and control characters are read differently by different
/// programs, so an address with one of them has no known host.
fn host_of(address: &str) -> Option<String> {
    let is_odd = |c: char| c.is_whitespace() || c.is_control() || c == '\\';
    let host = host_name(address).filter(|_| !address.contains(is_odd))?;
    (!host.contains('*')).then_some(host)
}

/// The placeholder for a star while a pattern is parsed, because `10.*.1` is not a valid host name.
const STAR: &str = "agentxstar";

/// Returns a pattern of hosts in the form of the hosts that it is compared with. A pattern that has no such
/// form stays as it is, in lower case.
fn pattern_of_hosts(pattern: &str) -> String {
    let pattern = pattern.trim();
    let read = host_name(&pattern.replace('*', STAR)).map(|name| name.replace(STAR, "*"));
    read.unwrap_or_else(|| pattern.trim_end_matches('.').to_lowercase())
}

/// Describes the reach of a tool for a question: everything that its file grants, and a replaced name. `None`
/// if it reaches nothing. The reach is taken apart by all of its fields, so that no new one is left out.
pub(crate) fn describe_reach(reach: &ToolReach, version: u32) -> Option<String> {
    let ToolReach {
        hosts,
        variables,
        tools,
        models,
        key_spaces,
        agents,
        file: _,
        replaces,
        mcp,
        of_folder,
        changed,
    } = reach;
    let mut says = Vec::new();
    if let Some(name) = mcp {
        let (server, tool) = name.split_once('/').unwrap_or((name, ""));
        let whose = if *of_folder { "this folder's" } else { "the" };
        says.push(format!("is `{tool}` of {whose} MCP server {server}"));
    }
    says.extend(granted("sends to", hosts, Some("any host")));
    says.extend(granted("gets the variables", variables, None));
    says.extend(granted("calls", tools, None));
    if version >= since::ALL_GRANTS_ARE_SAID {
        says.extend(granted("asks models:", models, Some("any")));
        says.extend(granted("keeps values in the key spaces", key_spaces, None));
        says.extend(granted("creates agents:", agents, Some("any")));
    }
    if *replaces {
        says.push("replaces a tool of the same name that is not this folder's".to_owned());
    }
    let changed = changed.as_ref().map(|difference| {
        let server = mcp.as_deref().and_then(|name| name.split('/').next()).unwrap_or_default();
        format!(
            "; the server describes it in another way than the one that was accepted (`agentx mcp show {server}` shows how, `agentx mcp try {server} --accept` accepts it):\n{difference}"
        )
    });
    (!says.is_empty()).then(|| format!("it {}{}", says.join(", "), changed.unwrap_or_default()))
}

/// Describes one kind of grant; `None` if nothing of that kind is granted. `any` stands for the name `*`.
fn granted(verb: &str, names: &[String], any: Option<&str>) -> Option<String> {
    let name = |name: &String| match any {
        Some(any) if name == "*" => any.to_owned(),
        _ => name.clone(),
    };
    let names: Vec<String> = names.iter().map(name).collect();
    (!names.is_empty()).then(|| format!("{verb} {}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_has_the_form_of_the_hosts() {
        for (pattern, read) in [
            ("*", "*"),
            ("127.1", "127.0.0.1"),
            ("127.*", "127.*"),
            ("10.*.1", "10.*.1"),
            ("LOCALHOST.", "localhost"),
            ("*.Example.", "*.example"),
            ("api*.example", "api*.example"),
            ("[::1]", "::1"),
            ("::ffff:127.0.0.1", "127.0.0.1"),
            ("https://api.example:8443/v1", "api.example"),
        ] {
            assert_eq!(pattern_of_hosts(pattern), read, "{pattern}");
        }
    }
}
