//! The tools.
//!
//! `browser_navigate` opens pages, and rules and people decide about it by its host. What only looks at a
//! page that is open (`reading`) needs no further approval. What acts on a page (`acting`, `downloading`)
//! names the page, so that rules and people decide about it by its host too; the tool refuses the call if the
//! element is on a page of another host. `report` has the form of all results.

mod acting;
mod downloading;
mod navigating;
mod reading;
mod report;

use std::sync::Arc;

use agentx_tools::{DuplicateTool, SavedFiles, Toolbox};

use crate::browsers::Browsers;

/// Adds the tools of a browser to a toolbox. The browser of a session ends when the toolbox is told that the
/// session has ended.
///
/// ```
/// use agentx_browser::{BrowserOptions, Browsers, with_browser_tools};
/// use agentx_tools::{ToolOptions, Toolbox};
///
/// let browsers = Browsers::new(BrowserOptions::new("/var/lib/profiles"));
/// let tools = with_browser_tools(Toolbox::builtin(ToolOptions::default()), browsers).unwrap();
/// assert_eq!(tools.get("browser_click").unwrap().spec().address_argument.as_deref(), Some("page"));
/// ```
///
/// # Errors
/// Returns an error if one of the names is taken.
pub fn with_browser_tools(mut tools: Toolbox, browsers: Browsers) -> Result<Toolbox, DuplicateTool> {
    tools.add(navigating::NavigateTool(browsers.clone()))?;
    tools.add(navigating::BackTool(browsers.clone()))?;
    tools.add(reading::PageReadTool(browsers.clone()))?;
    tools.add(reading::ScreenshotTool(browsers.clone()))?;
    tools.add(reading::ScrollTool(browsers.clone()))?;
    tools.add(reading::WaitForTextTool(browsers.clone()))?;
    tools.add(reading::TabsTool(browsers.clone()))?;
    tools.add(acting::ClickTool(browsers.clone()))?;
    tools.add(acting::TypeTool(browsers.clone()))?;
    tools.add(acting::SelectTool(browsers.clone()))?;
    tools.add(acting::DialogTool(browsers.clone()))?;
    tools.add(downloading::DownloadTool {
        browsers: browsers.clone(),
        saved: SavedFiles::default(),
    })?;
    Ok(tools.with_resources(Arc::new(browsers)))
}
