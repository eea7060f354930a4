//! A browser that runs: its program, its connection, and its tabs.
//!
//! `start` starts and ends it, `visits` opens pages, `reading` reads them, `saving` takes pictures and
//! downloads.

mod reading;
mod saving;
mod start;
mod visits;

pub(crate) use reading::PageReading;
pub(crate) use saving::DownloadedFile;

use std::collections::HashMap;
use std::sync::Arc;

use agentx_tools::ToolFailure;

use crate::cdp::CdpClient;
use crate::chromium::ChromiumProgram;
use crate::network::{GuardedProxy, PageHostGate};
use crate::page::{PageActions, PageElement, PageElements};
use crate::profile::BrowserProfile;
use crate::tabs::{OpenTab, TabTable};

/// A browser. The order of the fields is the order in which they are dropped: the pipes close first, then the
/// program is killed, then its profile is removed.
pub(crate) struct OpenBrowser {
    client: CdpClient,
    program: ChromiumProgram,
    _proxy: GuardedProxy,
    profile: BrowserProfile,
    tabs: Arc<TabTable>,
    gate: Arc<PageHostGate>,
    elements: PageElements,
    /// The last reading of each tab.
    read: HashMap<u32, PageReading>,
}

impl OpenBrowser {
    /// The tabs.
    pub(crate) fn tabs(&self) -> &TabTable {
        &self.tabs
    }

    /// The gate that decides about hosts.
    pub(crate) fn gate(&self) -> &PageHostGate {
        &self.gate
    }

    /// Returns whether the program has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.client.has_ended()
    }

    /// The tab with this number, or the one that is shown.
    ///
    /// # Errors
    /// Returns a failure if there is none.
    pub(crate) fn tab(&self, number: Option<u32>) -> Result<OpenTab, ToolFailure> {
        self.tabs.tab(number).ok_or_else(|| match number {
            Some(number) => {
                ToolFailure::failed(format!("There is no tab {number}; browser_tabs lists the tabs."))
            }
            None => ToolFailure::failed("No tab is open; browser_navigate opens one."),
        })
    }

    /// The element that the model names, with its tab.
    ///
    /// # Errors
    /// Returns a failure if no page that is loaded has it.
    pub(crate) fn element(&self, name: &str) -> Result<(PageElement, OpenTab), ToolFailure> {
        let element = self.elements.named(name).cloned().ok_or_else(|| {
            let shown: String = name.chars().take(40).collect();
            ToolFailure::failed(format!(
                "No page has an element {shown:?} now. Elements are named as browser_read shows them, such as e12, and go \
                 with their page."
            ))
        })?;
        let tab = self.tab(Some(element.tab))?;
        Ok((element, tab))
    }

    /// The acts on the page of a tab.
    pub(crate) fn actions<'a>(&'a self, tab: &'a OpenTab) -> PageActions<'a> {
        PageActions {
            client: &self.client,
            tabs: &self.tabs,
            tab: tab.number,
            session: &tab.session,
        }
    }
}
