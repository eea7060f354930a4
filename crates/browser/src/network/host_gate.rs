//! The hosts that a browser may reach.
//!
//! A tab shows a page only if a rule allows its host, or if its host was approved with a call of
//! `browser_navigate` and no rule denies it since. Parts of a page (pictures, scripts, frames) may come from
//! any host of the public internet that no rule denies. Refusals are kept for the result of the running call.

use std::collections::{BTreeSet, VecDeque};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentx_agent::approval::{Verdict, explain_decision};
use agentx_http::{LocalHosts, compared_host, read_page_address};
use agentx_tools::quoted_address;
use agentx_types::{AgentConfig, ToolSpec, host_name};
use serde_json::json;
use url::Url;

/// The setting that names local hosts.
pub(crate) const LOCAL_HOSTS: &str = "browser.local_hosts";
/// The maximum number of refusals that are kept.
const MOST_REFUSALS: usize = 10;

/// Hosts that Chromium asks for itself (updates, suggestions for forms), which no page needs.
const OF_CHROMIUM: [&str; 7] = [
    "clients2.google.com",
    "update.googleapis.com",
    "redirector.gvt1.com",
    "content-autofill.googleapis.com",
    "optimizationguide-pa.googleapis.com",
    "safebrowsing.googleapis.com",
    "android.clients.google.com",
];

/// Decides about hosts. The proxy, the tabs and the tools share it.
pub(crate) struct PageHostGate {
    local: LocalHosts,
    state: Mutex<GateState>,
}

#[derive(Default)]
struct GateState {
    approved: BTreeSet<String>,
    rules: Option<NavigationRules>,
    refusals: VecDeque<String>,
}

/// The rules of the agent that called last.
#[derive(Clone)]
pub(crate) struct NavigationRules {
    /// The agent's configuration.
    pub(crate) config: Arc<AgentConfig>,
    /// The description of `browser_navigate`, which rules are about.
    pub(crate) tool: Arc<ToolSpec>,
}

/// The words of rules about a host.
#[derive(Debug, PartialEq, Eq)]
enum HostRuling {
    /// A rule or the mode allows it.
    Allowed,
    /// A rule denies it: this is why.
    DeniedByRule(String),
    /// Only a person or the approval of an earlier call decides.
    Open,
}

impl NavigationRules {
    fn ruling(&self, url: &str) -> HostRuling {
        let judged = explain_decision(&self.config, &self.tool, &json!({ "url": url }));
        match judged.verdict {
            Verdict::Allow { .. } => HostRuling::Allowed,
            Verdict::Deny { .. } if !judged.rules.is_empty() => HostRuling::DeniedByRule(judged.reason),
            Verdict::Deny { .. } | Verdict::Ask(_) => HostRuling::Open,
        }
    }
}

impl PageHostGate {
    /// A gate that permits these local hosts.
    pub(crate) fn new(local_hosts: &[String]) -> Self {
        Self {
            local: LocalHosts::new(local_hosts, LOCAL_HOSTS),
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, GateState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the rules of the agent that calls now; `None` outside of a session.
    pub(crate) fn set_rules(&self, rules: Option<NavigationRules>) {
        self.state().rules = rules;
    }

    /// Approves the host of an address, which a call of `browser_navigate` named.
    ///
    /// # Errors
    /// Returns why the address cannot be opened.
    pub(crate) fn approve(&self, address: &str) -> Result<Url, String> {
        let url = read_page_address(address)?;
        self.local.check_port(&url)?;
        if let Some(host) = compared_host(&url) {
            self.state().approved.insert(host);
        }
        Ok(url)
    }

    /// Checks whether a tab may show the page at this address: a link or a redirect leads there.
    ///
    /// # Errors
    /// Returns why it may not.
    pub(crate) fn check_page(&self, address: &str) -> Result<(), String> {
        let url = read_page_address(address)?;
        self.local.check_port(&url)?;
        let (rules, is_approved) = {
            let state = self.state();
            let host = compared_host(&url).unwrap_or_default();
            (state.rules.clone(), state.approved.contains(&host))
        };
        match rules.map_or(HostRuling::Open, |rules| rules.ruling(url.as_str())) {
            HostRuling::Allowed => Ok(()),
            HostRuling::DeniedByRule(why) => Err(why),
            HostRuling::Open if is_approved => Ok(()),
            HostRuling::Open => Err(
                "its host was not approved; open it with browser_navigate if it is the right one".to_owned(),
            ),
        }
    }

    /// Checks whether a connection to a host may be made.
    ///
    /// # Errors
    /// Returns why it may not.
    pub(crate) fn check_connection(&self, host: &str, port: u16) -> Result<(), String> {
        let name = host_name(host).ok_or("its name cannot be read")?;
        if OF_CHROMIUM.contains(&name.as_str()) {
            return Err("it is a service of the browser's vendor".to_owned());
        }
        self.local.check_port_of(&name, port)?;
        let rules = self.state().rules.clone();
        let address = if name.contains(':') {
            format!("https://[{name}]/")
        } else {
            format!("https://{name}/")
        };
        match rules.map(|rules| rules.ruling(&address)) {
            Some(HostRuling::DeniedByRule(why)) => Err(why),
            _ => Ok(()),
        }
    }

    /// Checks an address to which a host leads.
    ///
    /// # Errors
    /// Returns why no connection may be made to it.
    pub(crate) fn check_address(&self, host: &str, address: IpAddr) -> Result<(), String> {
        self.local.check(host, address).map_err(|error| error.to_string())
    }

    /// Keeps a refusal for the result of the running call. The services of the vendor are not worth a word.
    pub(crate) fn note_refusal(&self, target: &str, why: &str) {
        if host_name(target).is_some_and(|host| OF_CHROMIUM.contains(&host.as_str())) {
            return;
        }
        let note = format!("{} was refused: {why}", quoted_address(target));
        let mut state = self.state();
        if !state.refusals.contains(&note) {
            if state.refusals.len() >= MOST_REFUSALS {
                state.refusals.pop_front();
            }
            state.refusals.push_back(note);
        }
    }

    /// Takes the refusals since the last call.
    pub(crate) fn take_refusals(&self) -> Vec<String> {
        self.state().refusals.drain(..).collect()
    }
}

#[cfg(test)]
mod tests {
    use agentx_types::{Access, ApprovalMode, Rule, RuleEffect, since};

    use super::*;

    fn rules(effects: &[(RuleEffect, &str)]) -> NavigationRules {
        let mut tool = ToolSpec::new("browser_navigate", "", json!({}), Access::Network);
        tool.address_argument = Some("url".to_owned());
        let mut config = agentx_testing::fixture::config();
        config.approval = ApprovalMode::Ask;
        config.rules_version = since::WEB_TEXT_IS_SEEN;
        config.rules = effects
            .iter()
            .map(|(effect, argument)| Rule {
                effect: *effect,
                tool: "browser_navigate".to_owned(),
                argument: Some((*argument).to_owned()),
                path: None,
                workspace: None,
                origin: None,
            })
            .collect();
        NavigationRules {
            config: Arc::new(config),
            tool: Arc::new(tool),
        }
    }

    #[test]
    fn a_page_needs_an_approved_host_or_a_rule() {
        let gate = PageHostGate::new(&[]);
        assert!(gate.check_page("https://a.example/").is_err());
        gate.approve("https://a.example/x").unwrap();
        assert!(gate.check_page("https://a.example/y?z").is_ok());
        assert!(gate.check_page("http://A.example./").is_ok(), "one host");
        for other in [
            "https://b.a.example/",
            "https://a.example.org/",
            "file:///etc/passwd",
            "data:,x",
        ] {
            assert!(gate.check_page(other).is_err(), "{other}");
        }
        gate.set_rules(Some(rules(&[
            (RuleEffect::Allow, "to *.docs.example"),
            (RuleEffect::Deny, "to a.example"),
        ])));
        assert!(gate.check_page("https://x.docs.example/").is_ok());
        assert!(
            gate.check_page("https://a.example/").is_err(),
            "a rule denies what was approved before"
        );
        assert!(gate.check_connection("a.example", 443).is_err());
        assert!(
            gate.check_connection("cdn.example", 443).is_ok(),
            "parts of pages"
        );
    }

    #[test]
    fn the_vendor_of_the_browser_is_not_asked_and_refusals_are_kept_in_bound() {
        let gate = PageHostGate::new(&[]);
        assert!(gate.check_connection("update.googleapis.com", 443).is_err());
        gate.note_refusal("update.googleapis.com", "no");
        assert!(gate.take_refusals().is_empty());
        for number in 0..20 {
            gate.note_refusal(&format!("https://h{number}.example/"), "no");
            gate.note_refusal(&format!("https://h{number}.example/"), "no");
        }
        let kept = gate.take_refusals();
        assert_eq!(kept.len(), MOST_REFUSALS);
        assert_eq!(kept[9], "https://h19.example/ was refused: no");
        assert!(gate.take_refusals().is_empty());
    }

    #[test]
    fn local_addresses_are_refused_unless_a_setting_names_the_host() {
        let gate = PageHostGate::new(&["127.0.0.1:8080".to_owned()]);
        let address = "127.0.0.1".parse().unwrap();
        assert!(gate.check_address("127.0.0.1", address).is_ok());
        let refused = gate.check_address("rebound.example", address).unwrap_err();
        assert!(refused.contains("`browser.local_hosts`"), "{refused}");
        assert!(gate.check_connection("127.0.0.1", 8080).is_ok());
        assert!(gate.check_connection("127.0.0.1", 8081).is_err());
        assert!(gate.approve("http://127.0.0.1:8081/").is_err());
    }
}
