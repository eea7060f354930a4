//! The start and the end of a browser.

use std::collections::HashMap;
use std::sync::Arc;

use agentx_http::NameLookup;
use serde_json::{Value, json};

use super::OpenBrowser;
use super::saving::downloads_denied;
use crate::cdp::{CdpClient, CdpCommand, CdpEvent, CdpFailure};
use crate::chromium::ChromiumProgram;
use crate::network::{GuardedProxy, PageHostGate};
use crate::options::{BrowserOptions, STARTING};
use crate::page::PageElements;
use crate::profile::BrowserProfile;
use crate::tabs::{TabTable, tab_set_up};

impl OpenBrowser {
    /// Starts a browser with an empty tab.
    ///
    /// # Errors
    /// Returns why it does not start, and what to do.
    pub(crate) async fn start(options: &BrowserOptions, lookup: Arc<dyn NameLookup>) -> Result<Self, String> {
        let gate = Arc::new(PageHostGate::new(&options.local_hosts));
        let proxy = GuardedProxy::start(gate.clone(), lookup)
            .await
            .map_err(|error| format!("its proxy cannot be started: {error}"))?;
        let parent = options.profiles.clone();
        let profile = tokio::task::spawn_blocking(move || BrowserProfile::create(&parent)).await;
        let profile = profile
            .map_err(|error| error.to_string())?
            .map_err(|error| format!("its profile cannot be created: {error}"))?;
        let (program, pipes) = ChromiumProgram::start(options, &profile, proxy.port())?;
        let tabs = Arc::new(TabTable::new(gate.clone()));
        let events = tabs.clone();
        let on_event = Box::new(move |event: &CdpEvent| events.apply(event));
        let client = CdpClient::start(pipes.answers, pipes.commands, on_event);
        let mut browser = Self {
            client,
            program,
            _proxy: proxy,
            profile,
            tabs,
            gate,
            elements: PageElements::default(),
            read: HashMap::new(),
        };
        let set_up = tokio::time::timeout(STARTING, browser.set_up()).await;
        match set_up {
            Ok(Ok(())) => Ok(browser),
            Ok(Err(failure)) => Err(browser.why_not_started(&failure.to_string()).await),
            Err(_) => Err(browser
                .why_not_started(&format!("it did not start within {STARTING:?}"))
                .await),
        }
    }

    async fn set_up(&self) -> Result<(), CdpFailure> {
        self.command("Browser.getVersion", json!({})).await?;
        self.deny_downloads().await?;
        let attach = json!({
            "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true, "filter": [{"type": "page"}],
        });
        self.command("Target.setAutoAttach", attach).await?;
        let first = self.tabs.wait_for(STARTING, |tabs| tabs.tab(None)).await;
        let first = first.ok_or(CdpFailure::Silent("Target.setAutoAttach"))?;
        self.set_up_tab(&first.session).await
    }

    /// Waits until a tab is set up. The commands for that follow the event of the tab, and nobody reads their
    /// answers; a page that is opened before the browser has answered them may come without its events. So
    /// they are sent again, and answered when this returns.
    pub(super) async fn set_up_tab(&self, session: &str) -> Result<(), CdpFailure> {
        for command in tab_set_up(session) {
            self.client.call(command).await?;
        }
        Ok(())
    }

    /// Refuses downloads: only a call that is about one lets it through.
    pub(super) async fn deny_downloads(&self) -> Result<(), CdpFailure> {
        self.client.call(downloads_denied()).await.map(|_| ())
    }

    /// Sends a command to the browser as a whole.
    pub(super) async fn command(&self, method: &'static str, params: Value) -> Result<Value, CdpFailure> {
        self.client.call(CdpCommand::to_browser(method, params)).await
    }

    async fn why_not_started(&mut self, why: &str) -> String {
        let status = self.program.exit_status().await;
        let ended = status.map_or_else(String::new, |status| format!(" ({status})"));
        let said = self.program.last_words();
        let said = if said.is_empty() {
            said
        } else {
            format!("; it said: {said}")
        };
        format!(
            "{why}{ended}{said}. If its sandbox does not work on this machine, `browser.sandbox: false` in your settings \
             turns it off"
        )
    }

    /// Ends the browser and removes its profile.
    pub(crate) async fn stop(self) {
        let Self {
            client,
            program,
            profile,
            ..
        } = self;
        drop(client);
        program.stop().await;
        // A profile that is not removed now is removed by the next browser.
        let _ = tokio::task::spawn_blocking(move || drop(profile)).await;
    }
}
