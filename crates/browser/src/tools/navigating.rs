//! `browser_navigate` and `browser_back`.

use agentx_runtime::{ToolContext, ToolOutcome};
use agentx_tools::{ToolAbout, ToolFailure, TypedTool};
use agentx_types::Access;
use schemars::JsonSchema;
use serde::Deserialize;

use super::report::{ShownPart, page_result, unless_stopped};
use crate::browsers::{Browsers, NAVIGATE, URL};

/// The arguments of `browser_navigate`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BrowserNavigateInput {
    /// The whole address of the page: https://HOST/path.
    url: String,
    /// Whether to open it in another tab.
    #[serde(default)]
    new_tab: bool,
}

/// The tool `browser_navigate`.
pub(super) struct NavigateTool(pub(super) Browsers);

impl TypedTool for NavigateTool {
    type Input = BrowserNavigateInput;

    fn about(&self) -> ToolAbout {
        let description = "Opens a page in the browser of this session and shows it as an outline: roles, names, values, and \
                           the ids of elements ([e12]) that other browser tools take. Scripts of the page run. Links and \
                           redirects to another host are followed only if that host was opened with this tool or a rule \
                           allows it. For pages that need no browser, web_extract is cheaper.";
        ToolAbout::new(NAVIGATE, description, Access::Network).addresses(URL)
    }

    async fn run(
        &self,
        input: BrowserNavigateInput,
        context: ToolContext,
    ) -> Result<ToolOutcome, ToolFailure> {
        let mut lease = self.0.lease_or_start(&context).await?;
        let browser = lease.browser()?;
        unless_stopped(&context.cancel, async {
            let tab = browser.navigate(&input.url, input.new_tab).await?;
            page_result(browser, tab, "", ShownPart::Whole, &context).await
        })
        .await
    }
}

/// The arguments of `browser_back`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BrowserBackInput {
    /// The number of the tab; the one that is shown by default.
    tab: Option<u32>,
}

/// The tool `browser_back`.
pub(super) struct BackTool(pub(super) Browsers);

impl TypedTool for BackTool {
    type Input = BrowserBackInput;

    fn about(&self) -> ToolAbout {
        let description = "Goes back to the page before, and shows it.";
        ToolAbout::new("browser_back", description, Access::Internal)
    }

    async fn run(&self, input: BrowserBackInput, context: ToolContext) -> Result<ToolOutcome, ToolFailure> {
        let mut lease = self.0.lease(&context).await?;
        let browser = lease.browser()?;
        unless_stopped(&context.cancel, async {
            let tab = browser.back(input.tab).await?;
            page_result(browser, tab, "", ShownPart::Whole, &context).await
        })
        .await
    }
}
