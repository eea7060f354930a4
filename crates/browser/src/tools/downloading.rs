//! `browser_download`: a file that a page offers, saved in the workspace.

use agentx_runtime::{ToolContext, ToolOutcome};
use agentx_tools::{SavedFiles, ToolAbout, ToolFailure, TypedTool};
use agentx_types::Access;
use schemars::JsonSchema;
use serde::Deserialize;

use super::acting::{PAGE, named_element};
use super::report::{unless_stopped, with_notes};
use crate::browsers::Browsers;
use crate::open_browser::{DownloadedFile, OpenBrowser};

/// The name of the tool.
const DOWNLOAD: &str = "browser_download";

/// The arguments of `browser_download`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BrowserDownloadInput {
    /// The address of the page or frame that has the element, or without an element that of the file itself.
    page: String,
    /// The id of the element whose click begins the download, such as e12.
    element: Option<String>,
    /// The new file: absolute, or relative to the working directory.
    path: String,
}

/// The tool `browser_download`.
pub(super) struct DownloadTool {
    /// The browsers.
    pub(super) browsers: Browsers,
    /// Saves the files.
    pub(super) saved: SavedFiles,
}

impl TypedTool for DownloadTool {
    type Input = BrowserDownloadInput;

    fn about(&self) -> ToolAbout {
        let description = "Downloads a file with the browser and saves it as a new file: the one that a click on an element of \
                           the page begins, or the one at an address.";
        ToolAbout::new(DOWNLOAD, description, Access::Change)
            .addresses(PAGE)
            .path("path")
    }

    async fn run(
        &self,
        input: BrowserDownloadInput,
        context: ToolContext,
    ) -> Result<ToolOutcome, ToolFailure> {
        let mut lease = self.browsers.lease(&context).await?;
        let browser = lease.browser()?;
        let downloaded = unless_stopped(&context.cancel, download(browser, &input)).await?;
        let size = downloaded.bytes.len();
        let text = format!(
            "{}Saved {} as {} ({size} bytes). It is other people's file.",
            with_notes(browser, ""),
            downloaded.description,
            input.path
        );
        let details = self
            .saved
            .save(DOWNLOAD, &input.path, downloaded.bytes, &context)
            .await?;
        Ok(ToolOutcome::success(text).with_details(details))
    }
}

async fn download(
    browser: &OpenBrowser,
    input: &BrowserDownloadInput,
) -> Result<DownloadedFile, ToolFailure> {
    match &input.element {
        Some(element) => {
            let (element, tab) = named_element(browser, &input.page, element).await?;
            browser.download(&tab, Some(&element), &input.page).await
        }
        None => {
            let tab = browser.tab(None)?;
            browser.download(&tab, None, &input.page).await
        }
    }
}
