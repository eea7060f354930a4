//! Opening pages, going back, and waiting until a page has loaded.

use agentx_tools::{ToolFailure, page_line, quoted_address};
use serde_json::{Value, json};

use super::OpenBrowser;
use crate::cdp::CdpCommand;
use crate::options::{LOADING, REACTING};
use crate::tabs::{OpenTab, PageDownload};

/// The longest words of an error, in characters.
const SHOWN: usize = 300;

impl OpenBrowser {
    /// Opens the page at an address, whose host this call approves. Returns the number of its tab.
    ///
    /// # Errors
    /// Returns a failure if the address is refused or the page cannot be loaded.
    pub(crate) async fn navigate(&self, address: &str, in_new_tab: bool) -> Result<u32, ToolFailure> {
        let url = self.gate.approve(address);
        let url = url.map_err(|why| ToolFailure::failed(format!("{}: {why}.", quoted_address(address))))?;
        let tab = match self.tabs.tab(None).filter(|_| !in_new_tab) {
            Some(tab) => tab,
            None => self.new_tab().await?,
        };
        self.bring_to_front(&tab).await?;
        self.tabs.forget_downloads();
        let actions = self.actions(&tab);
        let loaded = actions
            .until_dialog("Page.navigate", json!({"url": url.as_str()}))
            .await?;
        let Some(loaded) = loaded else {
            return Ok(tab.number);
        };
        if loaded["isDownload"] == true {
            // The browser refuses it after its answer: a call that lets downloads through has to come later.
            self.tabs
                .wait_for(LOADING, |tabs| {
                    tabs.downloads().pop().filter(PageDownload::has_ended)
                })
                .await;
            return Err(ToolFailure::failed(format!(
                "{} is a file and not a page; browser_download saves it.",
                quoted_address(address)
            )));
        }
        if let Some(error) = loaded["errorText"].as_str().filter(|error| !error.is_empty()) {
            let refusals = self.gate.take_refusals().join(" ");
            return Err(ToolFailure::failed(format!(
                "{} was not opened ({}). {}",
                quoted_address(address),
                page_line(error, SHOWN),
                page_line(&refusals, 4 * SHOWN)
            )));
        }
        self.loaded(tab.number).await;
        Ok(tab.number)
    }

    /// Opens an empty tab.
    async fn new_tab(&self) -> Result<OpenTab, ToolFailure> {
        let made = self
            .command("Target.createTarget", json!({"url": "about:blank"}))
            .await?;
        let target = made["targetId"].as_str().unwrap_or_default();
        let attached = self.tabs.wait_for(LOADING, |tabs| {
            tabs.all().into_iter().find(|tab| tab.target == target)
        });
        let tab = attached.await.ok_or_else(|| {
            ToolFailure::failed("No other tab could be opened; close one with browser_tabs.")
        })?;
        self.set_up_tab(&tab.session).await?;
        Ok(tab)
    }

    /// Shows a tab. Input reaches only the tab that is shown.
    pub(crate) async fn bring_to_front(&self, tab: &OpenTab) -> Result<(), ToolFailure> {
        self.tabs.show(tab.number);
        // The tab may stand still behind a dialog; the next act says so.
        self.actions(tab)
            .until_dialog("Page.bringToFront", json!({}))
            .await?;
        Ok(())
    }

    /// Closes a tab.
    ///
    /// # Errors
    /// Returns a failure if it is the only one.
    pub(crate) async fn close_tab(&self, number: u32) -> Result<(), ToolFailure> {
        let tab = self.tab(Some(number))?;
        if self.tabs.all().len() < 2 {
            return Err(ToolFailure::failed(
                "The last tab stays; it goes with the session.",
            ));
        }
        self.command("Target.closeTarget", json!({"targetId": tab.target}))
            .await?;
        self.tabs
            .wait_for(LOADING, |tabs| tabs.tab(Some(number)).is_none().then_some(()))
            .await;
        Ok(())
    }

    /// Goes back to the page before.
    ///
    /// # Errors
    /// Returns a failure if there is none, or if its host is not approved any more.
    pub(crate) async fn back(&self, number: Option<u32>) -> Result<u32, ToolFailure> {
        let tab = self.tab(number)?;
        self.bring_to_front(&tab).await?;
        let actions = self.actions(&tab);
        let history = actions.call("Page.getNavigationHistory", json!({})).await?;
        let entry = page_before(&history)
            .ok_or_else(|| ToolFailure::failed("There is no page before this one in its tab."))?;
        let address = entry["url"].as_str().unwrap_or_default();
        // A page that the browser has kept is shown without a request, so the gate is asked here.
        let checked = self.gate.check_page(address);
        checked.map_err(|why| {
            ToolFailure::denied(format!("{} was not shown again: {why}.", quoted_address(address)))
        })?;
        actions
            .until_dialog("Page.navigateToHistoryEntry", json!({"entryId": entry["id"]}))
            .await?;
        self.settle(tab.number).await;
        Ok(tab.number)
    }

    /// Answers the dialog of a tab.
    ///
    /// # Errors
    /// Returns a failure if the browser refuses it.
    pub(crate) async fn answer_dialog(&self, tab: &OpenTab, answer: Value) -> Result<(), ToolFailure> {
        let command = CdpCommand::to_tab(&tab.session, "Page.handleJavaScriptDialog", answer);
        self.client.call(command).await?;
        let closed = self.tabs.wait_for(REACTING, |tabs| {
            let now = tabs.tab(Some(tab.number)).and_then(|tab| tab.dialog);
            (now != tab.dialog).then_some(())
        });
        // A page may show the same dialog again; the result says so.
        closed.await;
        Ok(())
    }

    /// Waits until what an act caused is over: a page that it began to load has loaded, or nothing begins
    /// within a short time.
    pub(crate) async fn settle(&self, number: u32) {
        let begun = self.tabs.wait_for(REACTING, |tabs| {
            let tab = tabs.tab(Some(number));
            tab.is_none_or(|tab| tab.is_loading || tab.dialog.is_some())
                .then_some(())
        });
        if begun.await.is_some() {
            self.loaded(number).await;
        }
    }

    /// Waits until a tab does not load, shows a dialog, or is closed. A page that never ends to load is shown
    /// as it is then.
    async fn loaded(&self, number: u32) {
        self.tabs
            .wait_for(LOADING, |tabs| {
                let tab = tabs.tab(Some(number));
                tab.is_none_or(|tab| !tab.is_loading || tab.dialog.is_some())
                    .then_some(())
            })
            .await;
    }
}

/// The entry of a history before the current one; `None` if that is the empty page.
fn page_before(history: &Value) -> Option<&Value> {
    let current = usize::try_from(history["currentIndex"].as_u64()?).ok()?;
    let entry = history["entries"].as_array()?.get(current.checked_sub(1)?)?;
    (entry["url"] != "about:blank").then_some(entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_before_is_none_of_the_browser_itself() {
        let history = |current: u64| {
            json!({"currentIndex": current, "entries": [
                {"id": 1, "url": "about:blank"}, {"id": 2, "url": "https://a.example/"}, {"id": 3, "url": "https://b.example/"},
            ]})
        };
        assert_eq!(
            page_before(&history(2)).map(|entry| &entry["id"]),
            Some(&json!(2))
        );
        for none in [
            history(0),
            history(1),
            history(9),
            json!({}),
            json!({"currentIndex": -1}),
        ] {
            assert!(page_before(&none).is_none(), "{none}");
        }
    }
}
