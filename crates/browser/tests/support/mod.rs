//! A scripted agent: it reads a page, finds elements by role and name, and calls the tools. All names lead to
//! this machine.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::sync::Arc;

use agentx_browser::{BrowserOptions, Browsers, find_chromium, with_browser_tools};
use agentx_http::{LookupFuture, NameLookup};
use agentx_runtime::{Journal, ToolContext, ToolOutcome};
use agentx_testing::{HttpRequest, ServerReply, TestServer, fixture};
use agentx_tools::{ToolOptions, Toolbox};
use agentx_types::{AgentConfig, CallingAgent, ContentPart, ToolStatus};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The hosts that the settings of the scripted agent name.
pub const HOSTS: [&str; 2] = ["shop.test", "frames.test"];

/// Returns whether there is a browser; says so if there is none.
pub fn has_browser() -> bool {
    let is_there = find_chromium(None).is_some();
    if !is_there {
        eprintln!("chromium is not installed: not run: the tests that drive it");
    }
    is_there
}

/// Every name leads to this machine.
struct ToThisMachine;

impl NameLookup for ToThisMachine {
    fn lookup(&self, _host: String) -> LookupFuture {
        Box::pin(std::future::ready(Ok(vec![IpAddr::V4(Ipv4Addr::LOCALHOST)])))
    }
}

/// The pages of a server by path.
pub type Pages = BTreeMap<&'static str, String>;

/// A server with pages. `PORT` in a page is its port. `/echo` shows what was sent, `/file` is a download, and
/// `/away` leads to another host.
pub async fn serve(pages: Pages) -> TestServer {
    TestServer::answering(move |request| answer(&pages, request)).await
}

fn answer(pages: &Pages, request: &HttpRequest) -> ServerReply {
    let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
    let host = request.header("host").unwrap_or_default();
    let port = host.rsplit_once(':').map_or("", |(_, port)| port);
    match path {
        "/echo" => {
            let sent = format!("{query}{}", String::from_utf8_lossy(&request.body));
            let words = sent.replace('+', " ").replace('&', "; ").replace("%40", "@");
            html(&format!("<title>Echo</title><p>sent {words}</p>"))
        }
        "/file" => ServerReply::body(200, "application/octet-stream", "the bytes of a file")
            .header("content-disposition", "attachment; filename=\"report.bin\""),
        "/away" => ServerReply::status(302).header("location", &format!("http://other.test:{port}/")),
        _ => match pages.get(path) {
            Some(page) => html(&page.replace("PORT", port)),
            None => ServerReply::status(404),
        },
    }
}

fn html(page: &str) -> ServerReply {
    ServerReply::body(200, "text/html; charset=utf-8", format!("<!doctype html>{page}"))
}

/// An agent that does what its script says.
pub struct ScriptedHand {
    pub tools: Toolbox,
    pub workspace: TempDir,
    pub profiles: TempDir,
    /// The address that acts name as their page.
    pub page: String,
    config: Option<Arc<AgentConfig>>,
}

impl ScriptedHand {
    /// An agent with a browser that has not started yet. Pages at these hosts may be opened.
    pub fn new(hosts: &[&str]) -> Self {
        let profiles = tempfile::tempdir().unwrap();
        let mut options = BrowserOptions::new(profiles.path().join("profiles"));
        // The pages are our own, and root cannot have the sandbox.
        options.without_sandbox = true;
        options.local_hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
        let browsers = Browsers::with_lookup(options, Arc::new(ToThisMachine));
        Self {
            tools: with_browser_tools(Toolbox::builtin(ToolOptions::default()), browsers).unwrap(),
            workspace: tempfile::tempdir().unwrap(),
            profiles,
            page: String::new(),
            config: None,
        }
    }

    /// The same with the rules of this configuration.
    pub fn with_config(self, config: AgentConfig) -> Self {
        Self {
            config: Some(Arc::new(config)),
            ..self
        }
    }

    pub fn context(&self) -> ToolContext {
        let context = fixture::tool_context(self.workspace.path());
        match &self.config {
            Some(config) => ToolContext {
                journal: Journal::discard_for(Arc::new(CallingAgent {
                    config: Some(config.clone()),
                    ..CallingAgent::default()
                })),
                ..context
            },
            None => context,
        }
    }

    /// Calls a tool. Returns its status and text.
    pub async fn call(&self, tool: &str, input: Value) -> (ToolStatus, String) {
        let outcome = self.outcome(tool, input).await;
        let text = outcome.content.iter().filter_map(ContentPart::as_text).collect();
        (outcome.status, text)
    }

    pub async fn outcome(&self, tool: &str, input: Value) -> ToolOutcome {
        self.tools.call(tool, input, self.context()).await
    }

    /// Calls a tool that has to succeed.
    pub async fn done(&self, tool: &str, input: Value) -> String {
        let (status, text) = self.call(tool, input.clone()).await;
        assert_eq!(status, ToolStatus::Success, "{tool} {input}: {text}");
        text
    }

    /// Calls a tool that has to fail.
    pub async fn fails(&self, tool: &str, input: Value) -> String {
        let (status, text) = self.call(tool, input.clone()).await;
        assert_ne!(status, ToolStatus::Success, "{tool} {input}: {text}");
        text
    }

    /// Opens a page, and names it in the acts from then on.
    pub async fn open(&mut self, address: &str) -> String {
        self.page = address.to_owned();
        self.done("browser_navigate", json!({"url": address})).await
    }

    /// The id of the first element whose line begins with this role and name.
    pub async fn find(&self, line: &str) -> String {
        let page = self.done("browser_read", json!({})).await;
        let found = page.lines().find(|shown| shown.trim_start().starts_with(line));
        let found = found.unwrap_or_else(|| panic!("{line} is not on the page: {page}"));
        let id = found.rsplit_once('[').and_then(|(_, rest)| rest.split_once(']'));
        id.unwrap_or_else(|| panic!("{found} has no id")).0.to_owned()
    }

    /// Acts on an element.
    pub async fn act(&self, tool: &str, line: &str, more: Value) -> String {
        let mut input = json!({"page": self.page, "element": self.find(line).await});
        for (name, value) in more.as_object().unwrap() {
            input[name.as_str()] = value.clone();
        }
        self.done(tool, input).await
    }

    /// Waits until words are on the page.
    pub async fn sees(&self, words: &str) {
        self.done("browser_wait", json!({"text": words})).await;
    }

    pub fn saved(&self, name: &str) -> PathBuf {
        self.workspace.path().join(name)
    }

    /// The directories of profiles that are there.
    pub fn profiles(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.profiles.path().join("profiles"));
        let paths = entries.into_iter().flatten().map(|entry| entry.unwrap().path());
        paths.filter(|path| path.is_dir()).collect()
    }
}
