//! The browsers of all sessions, one for each.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentx_http::{NameLookup, SystemLookup};
use agentx_runtime::{BoxFuture, ToolContext};
use agentx_tools::{SessionResources, ToolFailure};
use agentx_types::{Access, SessionId, ToolSpec, since};
use serde_json::json;
use tokio::sync::OwnedMutexGuard;

use crate::network::NavigationRules;
use crate::open_browser::OpenBrowser;
use crate::options::{BrowserOptions, MOST_BROWSERS};

/// The name of the tool that opens pages: rules about it decide about every page that a tab shows.
pub(crate) const NAVIGATE: &str = "browser_navigate";
/// Its argument with the address.
pub(crate) const URL: &str = "url";

/// The browser of a session, once there is one. Its calls take turns.
type BrowserSlot = Arc<tokio::sync::Mutex<Option<OpenBrowser>>>;

/// The turn with a slot.
type BrowserTurn = OwnedMutexGuard<Option<OpenBrowser>>;

/// The browsers of a process, by session. Dropping the last clone ends all of them.
#[derive(Clone)]
pub struct Browsers(Arc<BrowserTable>);

struct BrowserTable {
    options: BrowserOptions,
    lookup: Arc<dyn NameLookup>,
    /// The description that rules are about.
    navigate: Arc<ToolSpec>,
    slots: Mutex<HashMap<SessionId, BrowserSlot>>,
}

/// The turn of a call with the browser of its session.
pub(crate) struct BrowserLease(BrowserTurn);

impl BrowserLease {
    /// The browser.
    pub(crate) fn browser(&mut self) -> Result<&mut OpenBrowser, ToolFailure> {
        self.0.as_mut().ok_or_else(no_page)
    }
}

fn no_page() -> ToolFailure {
    ToolFailure::failed("No page is open; browser_navigate opens one.")
}

impl Browsers {
    /// No browser yet: the first call that opens a page starts one.
    pub fn new(options: BrowserOptions) -> Self {
        Self::with_lookup(options, Arc::new(SystemLookup))
    }

    /// The same with another way to look up names.
    pub fn with_lookup(options: BrowserOptions, lookup: Arc<dyn NameLookup>) -> Self {
        let mut navigate = ToolSpec::new(NAVIGATE, "", json!({"type": "object"}), Access::Network);
        navigate.address_argument = Some(URL.to_owned());
        Self(Arc::new(BrowserTable {
            options,
            lookup,
            navigate: Arc::new(navigate),
            slots: Mutex::default(),
        }))
    }

    fn slots(&self) -> MutexGuard<'_, HashMap<SessionId, BrowserSlot>> {
        self.0.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The slot of a session: its own, or a new one if there is room.
    fn slot_of(&self, session: &SessionId) -> Result<BrowserSlot, ToolFailure> {
        let mut slots = self.slots();
        if slots.len() >= MOST_BROWSERS && !slots.contains_key(session) {
            return Err(ToolFailure::failed(format!(
                "{MOST_BROWSERS} sessions have a browser already; one of them has to end first."
            )));
        }
        Ok(slots.entry(session.clone()).or_default().clone())
    }

    /// The turn of a call with the slot of its session. No later call finds a browser in a slot that left the
    /// table while this call waited, so the call takes the next slot then.
    async fn turn(&self, context: &ToolContext) -> Result<BrowserTurn, ToolFailure> {
        loop {
            let turn = turn_of(self.slot_of(&context.session_id)?, context).await?;
            if self.is_in_table(&context.session_id, &turn) {
                return Ok(turn);
            }
        }
    }

    fn is_in_table(&self, session: &SessionId, turn: &BrowserTurn) -> bool {
        let slots = self.slots();
        let kept = slots.get(session);
        kept.is_some_and(|kept| Arc::ptr_eq(kept, OwnedMutexGuard::mutex(turn)))
    }

    /// The turn of a call that opens a page; starts a browser if the session has none.
    pub(crate) async fn lease_or_start(&self, context: &ToolContext) -> Result<BrowserLease, ToolFailure> {
        let mut turn = self.turn(context).await?;
        if turn.as_ref().is_some_and(OpenBrowser::has_ended) {
            self.end(turn.take()).await;
        }
        if turn.is_none() {
            let started = tokio::select! {
                biased;
                () = context.cancel.cancelled() => Err(None),
                started = OpenBrowser::start(&self.0.options, self.0.lookup.clone()) => started.map_err(Some),
            };
            match started {
                Ok(started) => *turn = Some(started),
                Err(why) => {
                    self.slots().remove(&context.session_id);
                    return Err(why.map_or_else(ToolFailure::interrupted, |why| {
                        ToolFailure::failed(format!("The browser did not start: {why}."))
                    }));
                }
            }
        }
        Ok(self.with_rules(BrowserLease(turn), context))
    }

    /// The turn of a call about a page that is open.
    pub(crate) async fn lease(&self, context: &ToolContext) -> Result<BrowserLease, ToolFailure> {
        let slot = self.slots().get(&context.session_id).cloned();
        let mut turn = turn_of(slot.ok_or_else(no_page)?, context).await?;
        if turn.as_ref().is_some_and(OpenBrowser::has_ended) {
            self.end(turn.take()).await;
            self.slots().remove(&context.session_id);
            return Err(ToolFailure::failed(
                "The browser has ended, and its pages with it; browser_navigate starts another one.",
            ));
        }
        if !may_see_pages(context) {
            return Err(ToolFailure::denied(
                "Another agent of this session opened the pages; open one yourself with browser_navigate first.",
            ));
        }
        Ok(self.with_rules(BrowserLease(turn), context))
    }

    /// Gives the gate the rules of the agent that calls now.
    fn with_rules(&self, mut lease: BrowserLease, context: &ToolContext) -> BrowserLease {
        let rules = context.journal.config_now().map(|config| NavigationRules {
            config,
            tool: self.0.navigate.clone(),
        });
        if let Ok(browser) = lease.browser() {
            browser.gate().set_rules(rules);
        }
        lease
    }

    async fn end(&self, browser: Option<OpenBrowser>) {
        if let Some(browser) = browser {
            browser.stop().await;
        }
    }
}

/// Waits for the turn of a call.
async fn turn_of(slot: BrowserSlot, context: &ToolContext) -> Result<BrowserTurn, ToolFailure> {
    tokio::select! {
        biased;
        () = context.cancel.cancelled() => Err(ToolFailure::interrupted()),
        turn = slot.lock_owned() => Ok(turn),
    }
}

/// Whether the calling agent has got text from the web already. Only the tools that reach a host note that
/// ([`agentx_types::TextOrigin`]), so an agent that opened no page may not read those of another one.
fn may_see_pages(context: &ToolContext) -> bool {
    context
        .journal
        .config_now()
        .is_none_or(|config| config.rules_version < since::WEB_TEXT_IS_SEEN || config.web_text)
}

impl SessionResources for Browsers {
    fn release<'a>(&'a self, session: &'a SessionId) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let slot = self.slots().remove(session);
            if let Some(slot) = slot {
                let browser = slot.lock().await.take();
                self.end(browser).await;
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use agentx_testing::fixture;

    use super::*;

    #[tokio::test]
    async fn a_call_that_waited_for_a_slot_that_is_gone_takes_the_next_one() {
        let browsers = Browsers::new(BrowserOptions::new("/made-up"));
        let context = fixture::tool_context("/made-up");
        let session = &context.session_id;
        let first = browsers.turn(&context).await.unwrap();
        let ending = async {
            // The browser of the first call did not start.
            browsers.slots().remove(session);
            drop(first);
        };
        let (second, ()) = tokio::join!(browsers.turn(&context), ending);
        assert!(browsers.is_in_table(session, &second.unwrap()));
    }
}
