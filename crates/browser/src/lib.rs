//! A browser as tools: `browser_navigate`, `browser_read`, `browser_click` and others drive Chromium over the
//! Chrome DevTools Protocol (CDP).
//!
//! Chromium is started with the first `browser_navigate` of a session, with a profile of its own, and ends
//! with the session. The protocol goes over two pipes and not over a port, so no other program can join, and
//! Chromium ends by itself when this program is killed. Everything that it sends goes through a proxy in this
//! process (`network`), which looks names up itself, and refuses local networks and hosts that rules deny. A
//! tab shows a page only if its host was approved, by a rule or a person.
//!
//! Reading in the order of the layers: `cdp` speaks the protocol, `network` decides about hosts, `tabs` is
//! the state that the browser's events make, `page` reads and acts on a page, `open_browser` is a browser
//! that runs, `browsers` has those of all sessions, and `tools` are the tools.

mod browsers;
mod cdp;
mod chromium;
mod network;
mod open_browser;
mod options;
mod page;
mod profile;
mod tabs;
mod tools;

pub use browsers::Browsers;
pub use chromium::{find_chromium, usable_chromium};
pub use options::BrowserOptions;
pub use tools::with_browser_tools;
