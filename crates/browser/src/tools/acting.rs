//! The tools that act on a page: `browser_click`, `browser_type`, `browser_select` and `browser_dialog`.

use agentx_runtime::{ToolContext, ToolOutcome};
use agentx_tools::{ToolAbout, ToolFailure, TypedTool};
use agentx_types::Access;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::report::{ShownPart, check_named_page, page_result, unless_stopped};
use crate::browsers::Browsers;
use crate::open_browser::OpenBrowser;
use crate::page::{FieldText, PageElement};
use crate::tabs::OpenTab;

/// The argument that names the page, for rules and for people.
pub(super) const PAGE: &str = "page";

/// The element that a call names, if it is on the page that the call names; its tab is shown.
pub(super) async fn named_element(
    browser: &OpenBrowser,
    page: &str,
    element: &str,
) -> Result<(PageElement, OpenTab), ToolFailure> {
    let (element, tab) = browser.element(element)?;
    check_named_page(page, &tab, &element.frame)?;
    browser.bring_to_front(&tab).await?;
    Ok((element, tab))
}

/// The arguments of `browser_click`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BrowserClickInput {
    /// The address of the page or frame that has the element: https://HOST/…
    page: String,
    /// The id of the element, such as e12.
    element: String,
    /// Whether to click twice.
    #[serde(default)]
    double: bool,
}

/// The tool `browser_click`.
pub(super) struct ClickTool(pub(super) Browsers);

impl TypedTool for ClickTool {
    type Input = BrowserClickInput;

    fn about(&self) -> ToolAbout {
        let description = "Clicks an element of a page and shows the lines that are new, or the page that it leads to. \
                           Options of a field are chosen with browser_select.";
        ToolAbout::new("browser_click", description, Access::Network).addresses(PAGE)
    }

    async fn run(&self, input: BrowserClickInput, context: ToolContext) -> Result<ToolOutcome, ToolFailure> {
        let mut lease = self.0.lease(&context).await?;
        let browser = lease.browser()?;
        unless_stopped(&context.cancel, async {
            let (element, tab) = named_element(browser, &input.page, &input.element).await?;
            let count = if input.double { 2 } else { 1 };
            browser.actions(&tab).click(&element, count).await?;
            browser.settle(tab.number).await;
            let done = format!("Clicked {}.", element.description);
            page_result(browser, tab.number, &done, ShownPart::Changes, &context).await
        })
        .await
    }
}

/// The arguments of `browser_type`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BrowserTypeInput {
    /// The address of the page or frame that has the field: https://HOST/…
    page: String,
    /// The id of the field, such as e12.
    element: String,
    /// The text. It replaces what is there; empty, it clears the field.
    text: String,
    /// Whether to add the text to what is there.
    #[serde(default)]
    append: bool,
    /// Whether to press Enter then, which usually sends a form.
    #[serde(default)]
    submit: bool,
}

/// The tool `browser_type`.
pub(super) struct TypeTool(pub(super) Browsers);

impl TypedTool for TypeTool {
    type Input = BrowserTypeInput;

    fn about(&self) -> ToolAbout {
        let description = "Writes text into a field of a page, and shows the lines that are new. Dates are written as \
                           2026-12-31.";
        ToolAbout::new("browser_type", description, Access::Network).addresses(PAGE)
    }

    async fn run(&self, input: BrowserTypeInput, context: ToolContext) -> Result<ToolOutcome, ToolFailure> {
        let mut lease = self.0.lease(&context).await?;
        let browser = lease.browser()?;
        unless_stopped(&context.cancel, async {
            let (element, tab) = named_element(browser, &input.page, &input.element).await?;
            let typed = FieldText {
                text: input.text,
                is_added: input.append,
                submits: input.submit,
            };
            browser.actions(&tab).type_text(&element, &typed).await?;
            browser.settle(tab.number).await;
            let done = format!("Wrote into {}.", element.description);
            page_result(browser, tab.number, &done, ShownPart::Changes, &context).await
        })
        .await
    }
}

/// The arguments of `browser_select`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BrowserSelectInput {
    /// The address of the page or frame that has the field: https://HOST/…
    page: String,
    /// The id of the field with the options, such as e12.
    element: String,
    /// The words or values of the options to choose; all others are not chosen then.
    options: Vec<String>,
}

/// The tool `browser_select`.
pub(super) struct SelectTool(pub(super) Browsers);

impl TypedTool for SelectTool {
    type Input = BrowserSelectInput;

    fn about(&self) -> ToolAbout {
        let description = "Chooses options of a field of a page, and shows the lines that are new.";
        ToolAbout::new("browser_select", description, Access::Network).addresses(PAGE)
    }

    async fn run(&self, input: BrowserSelectInput, context: ToolContext) -> Result<ToolOutcome, ToolFailure> {
        let mut lease = self.0.lease(&context).await?;
        let browser = lease.browser()?;
        unless_stopped(&context.cancel, async {
            let (element, tab) = named_element(browser, &input.page, &input.element).await?;
            let chosen = browser.actions(&tab).select(&element, &input.options).await?;
            browser.settle(tab.number).await;
            let done = format!("Chose {} in {}.", chosen.join(", "), element.description);
            page_result(browser, tab.number, &done, ShownPart::Changes, &context).await
        })
        .await
    }
}

/// The arguments of `browser_dialog`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BrowserDialogInput {
    /// The address of the page that shows the dialog: https://HOST/…
    page: String,
    /// Whether to accept it; otherwise it is dismissed.
    accept: bool,
    /// The answer to a dialog that asks for one.
    text: Option<String>,
    /// The number of the tab; the one that is shown by default.
    tab: Option<u32>,
}

/// The tool `browser_dialog`.
pub(super) struct DialogTool(pub(super) Browsers);

impl TypedTool for DialogTool {
    type Input = BrowserDialogInput;

    fn about(&self) -> ToolAbout {
        let description =
            "Answers the dialog of a page (alert, confirm, prompt), and shows the lines that are new.";
        ToolAbout::new("browser_dialog", description, Access::Network).addresses(PAGE)
    }

    async fn run(&self, input: BrowserDialogInput, context: ToolContext) -> Result<ToolOutcome, ToolFailure> {
        let mut lease = self.0.lease(&context).await?;
        let browser = lease.browser()?;
        unless_stopped(&context.cancel, async {
            let tab = browser.tab(input.tab)?;
            check_named_page(&input.page, &tab, &tab.target)?;
            let Some(dialog) = &tab.dialog else {
                return Err(ToolFailure::failed(format!(
                    "Tab {} shows no dialog.",
                    tab.number
                )));
            };
            let answer = json!({"accept": input.accept, "promptText": input.text.unwrap_or_default()});
            browser.answer_dialog(&tab, answer).await?;
            browser.settle(tab.number).await;
            let verb = if input.accept { "Accepted" } else { "Dismissed" };
            let done = format!("{verb} {}.", dialog.description());
            page_result(browser, tab.number, &done, ShownPart::Changes, &context).await
        })
        .await
    }
}
