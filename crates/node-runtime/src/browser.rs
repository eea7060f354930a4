//! The tools `browser_*`, if the person wants them (`tools.browser`) and there is a browser.

use std::path::PathBuf;

use agentx_browser::{BrowserOptions, Browsers, find_chromium, usable_chromium, with_browser_tools};
use agentx_config::Settings;
use agentx_tools::Toolbox;

/// The directory of profiles in the data directory, which no tool may open.
const PROFILES: &str = "browser";

/// Adds the tools if the settings offer them and the program is there.
pub(crate) fn with_browser(tools: Toolbox, settings: &Settings) -> Toolbox {
    match options(settings) {
        Some(options) if find_chromium(options.program.as_deref()).is_some() => {
            added(tools, Browsers::new(options))
        }
        _ => tools,
    }
}

/// Adds the tools for their descriptions alone: nothing is started without a call.
pub(crate) fn with_browser_descriptions(tools: Toolbox) -> Toolbox {
    added(tools, Browsers::new(BrowserOptions::new(PROFILES)))
}

fn added(tools: Toolbox, browsers: Browsers) -> Toolbox {
    match with_browser_tools(tools.clone(), browsers) {
        Ok(tools) => tools,
        // No built-in tool has one of these names, so there is nothing to replace.
        Err(taken) => {
            tracing::warn!(tool = taken.name, "there are two tools of one name");
            tools
        }
    }
}

/// Returns the program of the browser, or why there is none that starts; `None` if the settings offer no
/// browser.
pub fn browser_program(settings: &Settings) -> Option<Result<PathBuf, String>> {
    options(settings).map(|options| usable_chromium(&options))
}

fn options(settings: &Settings) -> Option<BrowserOptions> {
    let browser = settings.browser.as_ref()?;
    Some(BrowserOptions {
        program: browser.program.clone(),
        local_hosts: browser.local_hosts.clone(),
        without_sandbox: !browser.sandbox,
        ..BrowserOptions::new(settings.data_dir.join(PROFILES))
    })
}
