//! Acts on a page: clicks, text, options and scrolling, with the input events of a person.
//!
//! A dialog stops its page in the middle of the act that opened it. So an act ends at its answer or at a
//! dialog, whichever comes first.

use std::time::Duration;

use agentx_tools::{ToolFailure, page_line};
use serde_json::{Value, json};

use super::elements::PageElement;
use super::scripts::{CHOOSE_OPTIONS, COVERED_BY, PREPARE_FIELD, SET_VALUE};
use crate::cdp::{CdpClient, CdpCommand, CdpFailure};
use crate::tabs::TabTable;

/// The longest words of a page in a failure, in characters.
const SHOWN: usize = 2_000;
/// The wait for a dialog: longer than any command waits for its answer.
const BESIDE_A_COMMAND: Duration = Duration::from_secs(60);
/// The part of the window that one step scrolls, in percent: some lines stay in sight.
const SCROLLED_PERCENT: f64 = 85.0;

/// Text for a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FieldText {
    /// The text.
    pub(crate) text: String,
    /// Whether it is added to what is there, in place of replacing it.
    pub(crate) is_added: bool,
    /// Whether Enter is pressed then.
    pub(crate) submits: bool,
}

/// Acts on the page of one tab.
pub(crate) struct PageActions<'a> {
    /// The connection.
    pub(crate) client: &'a CdpClient,
    /// The tabs.
    pub(crate) tabs: &'a TabTable,
    /// The number of the tab.
    pub(crate) tab: u32,
    /// Its session.
    pub(crate) session: &'a str,
}

impl From<CdpFailure> for ToolFailure {
    fn from(failure: CdpFailure) -> Self {
        let mut words = failure.to_string();
        if let Some(first) = words.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        Self::failed(format!("{}.", page_line(&words, SHOWN)))
    }
}

impl PageActions<'_> {
    /// Sends a command. `None` if the page shows a dialog or is closed before the answer comes.
    pub(crate) async fn until_dialog(
        &self,
        method: &'static str,
        params: Value,
    ) -> Result<Option<Value>, CdpFailure> {
        let stands_still = |tabs: &TabTable| match tabs.tab(Some(self.tab)) {
            Some(tab) => tab.dialog.map(|_| ()),
            None => Some(()),
        };
        tokio::select! {
            biased;
            answer = self.client.call(CdpCommand::to_tab(self.session, method, params)) => answer.map(Some),
            Some(()) = self.tabs.wait_for(BESIDE_A_COMMAND, stands_still) => Ok(None),
        }
    }

    /// Sends a command and waits for its result.
    pub(crate) async fn call(&self, method: &'static str, params: Value) -> Result<Value, ToolFailure> {
        let answer = self.until_dialog(method, params).await?;
        answer.ok_or_else(|| {
            ToolFailure::failed(
                "The page shows a dialog or was closed; browser_tabs lists the tabs, and browser_dialog answers a \
                 dialog.",
            )
        })
    }

    /// Clicks the middle of an element, `count` times in a row.
    pub(crate) async fn click(&self, element: &PageElement, count: u32) -> Result<(), ToolFailure> {
        let (x, y) = self.place_of(element).await?;
        if let Some(above) = self.run_on(element, COVERED_BY, json!([])).await?.as_str() {
            return Err(ToolFailure::failed(format!(
                "{} was not clicked: {} lies above it.",
                element.description,
                page_line(above, SHOWN)
            )));
        }
        let moved = json!({"type": "mouseMoved", "x": x, "y": y, "button": "none"});
        self.until_dialog("Input.dispatchMouseEvent", moved).await?;
        for number in 1..=count {
            for (kind, buttons) in [("mousePressed", 1), ("mouseReleased", 0)] {
                let event = json!({
                    "type": kind, "x": x, "y": y, "button": "left", "buttons": buttons, "clickCount": number,
                });
                if self
                    .until_dialog("Input.dispatchMouseEvent", event)
                    .await?
                    .is_none()
                {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Writes into a field.
    pub(crate) async fn type_text(
        &self,
        element: &PageElement,
        typed: &FieldText,
    ) -> Result<(), ToolFailure> {
        self.call(
            "DOM.scrollIntoViewIfNeeded",
            json!({"backendNodeId": element.node}),
        )
        .await
        .map_err(|_| element_gone(element))?;
        let prepared = self
            .run_on(element, PREPARE_FIELD, json!([!typed.is_added]))
            .await?;
        match prepared.as_str().unwrap_or_default() {
            "text" => self.insert(typed).await?,
            "set" => {
                let taken = self.run_on(element, SET_VALUE, json!([typed.text])).await?;
                if taken.as_str() != Some(typed.text.as_str()) {
                    return Err(ToolFailure::failed(format!(
                        "{} did not take {:?}; it is {:?} now. Dates are written as 2026-12-31, times as 17:30.",
                        element.description,
                        typed.text,
                        page_line(taken.as_str().unwrap_or_default(), SHOWN)
                    )));
                }
            }
            why => {
                return Err(ToolFailure::failed(format!(
                    "Nothing was written into {}: {}.",
                    element.description,
                    page_line(why, SHOWN)
                )));
            }
        }
        if typed.submits {
            self.press("Enter", 13, Some("\r")).await?;
        }
        Ok(())
    }

    async fn insert(&self, typed: &FieldText) -> Result<(), ToolFailure> {
        if !typed.text.is_empty() {
            self.until_dialog("Input.insertText", json!({"text": typed.text}))
                .await?;
        } else if !typed.is_added {
            self.press("Delete", 46, None).await?;
        }
        Ok(())
    }

    async fn press(&self, key: &str, code: u32, text: Option<&str>) -> Result<(), ToolFailure> {
        for kind in ["keyDown", "keyUp"] {
            let mut event = json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code});
            if let Some(text) = text.filter(|_| kind == "keyDown") {
                event["text"] = text.into();
            }
            if self
                .until_dialog("Input.dispatchKeyEvent", event)
                .await?
                .is_none()
            {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Chooses options of a field. Returns their words.
    pub(crate) async fn select(
        &self,
        element: &PageElement,
        options: &[String],
    ) -> Result<Vec<String>, ToolFailure> {
        let chosen = self.run_on(element, CHOOSE_OPTIONS, json!([options])).await?;
        if let Some(problem) = chosen["problem"].as_str() {
            return Err(ToolFailure::failed(format!(
                "Nothing was chosen in {}: {}.",
                element.description,
                page_line(problem, SHOWN)
            )));
        }
        let words = chosen["chosen"].as_array().into_iter().flatten();
        Ok(words
            .filter_map(Value::as_str)
            .map(|word| page_line(word, SHOWN))
            .collect())
    }

    /// Turns the mouse wheel by one step, above an element or the middle of the window.
    pub(crate) async fn scroll(&self, element: Option<&PageElement>, up: bool) -> Result<(), ToolFailure> {
        let window = self.window().await?;
        let (x, y) = match element {
            Some(element) => self.place_of(element).await?,
            None => (window.width / 2.0, window.height / 2.0),
        };
        let step = window.height * SCROLLED_PERCENT / 100.0;
        let down = if up { -step } else { step };
        let event = json!({"type": "mouseWheel", "x": x, "y": y, "deltaX": 0, "deltaY": down});
        self.until_dialog("Input.dispatchMouseEvent", event).await?;
        Ok(())
    }

    /// Moves an element into sight.
    pub(crate) async fn show(&self, element: &PageElement) -> Result<(), ToolFailure> {
        self.place_of(element).await.map(|_| ())
    }

    /// The part of the page that is in sight.
    pub(crate) async fn window(&self) -> Result<VisibleWindow, ToolFailure> {
        let metrics = self.call("Page.getLayoutMetrics", json!({})).await?;
        let number = |part: &str, key: &str| metrics[part][key].as_f64().unwrap_or_default();
        Ok(VisibleWindow {
            width: number("cssVisualViewport", "clientWidth"),
            height: number("cssVisualViewport", "clientHeight"),
            top: number("cssVisualViewport", "pageY"),
            page_height: number("cssContentSize", "height"),
        })
    }

    /// Moves an element into sight and returns its middle.
    async fn place_of(&self, element: &PageElement) -> Result<(f64, f64), ToolFailure> {
        let node = json!({"backendNodeId": element.node});
        self.call("DOM.scrollIntoViewIfNeeded", node.clone())
            .await
            .map_err(|_| element_gone(element))?;
        let found = self.call("DOM.getContentQuads", node).await;
        let found = found.map_err(|_| element_gone(element))?;
        middle(&found["quads"][0]).ok_or_else(|| element_gone(element))
    }

    /// Runs a function of `scripts` with an element as `this`.
    async fn run_on(
        &self,
        element: &PageElement,
        function: &'static str,
        arguments: Value,
    ) -> Result<Value, ToolFailure> {
        let node = json!({"backendNodeId": element.node});
        let resolved = self.call("DOM.resolveNode", node).await;
        let resolved = resolved.map_err(|_| element_gone(element))?;
        let arguments = arguments.as_array().into_iter().flatten();
        let arguments: Vec<Value> = arguments.map(|value| json!({"value": value})).collect();
        let run = json!({
            "objectId": resolved["object"]["objectId"],
            "functionDeclaration": function,
            "arguments": arguments,
            "returnByValue": true,
            "userGesture": true,
        });
        let done = self.call("Runtime.callFunctionOn", run).await?;
        if done.get("exceptionDetails").is_some() {
            return Err(ToolFailure::failed(format!(
                "The scripts of the page failed at {}.",
                element.description
            )));
        }
        Ok(done["result"]["value"].clone())
    }
}

/// The part of a page that is in sight, in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct VisibleWindow {
    /// Its width.
    pub(crate) width: f64,
    /// Its height.
    pub(crate) height: f64,
    /// The pixels above it.
    pub(crate) top: f64,
    /// The height of the whole page.
    pub(crate) page_height: f64,
}

/// The middle of four corners.
fn middle(quad: &Value) -> Option<(f64, f64)> {
    let corners: Vec<f64> = quad.as_array()?.iter().filter_map(Value::as_f64).collect();
    let [left, top, _, _, right, bottom, ..] = corners[..] else {
        return None;
    };
    Some(((left + right) / 2.0, (top + bottom) / 2.0))
}

fn element_gone(element: &PageElement) -> ToolFailure {
    ToolFailure::failed(format!(
        "{} has no place on the page any more, or is hidden; browser_read shows the page as it is. Options of a \
         field are chosen with browser_select.",
        element.description
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_a_quad_is_between_opposite_corners() {
        assert_eq!(middle(&json!([8, 8, 90, 8, 90, 26, 8, 26])), Some((49.0, 17.0)));
        for odd in [json!(null), json!([]), json!([1, 2, 3]), json!("x")] {
            assert_eq!(middle(&odd), None, "{odd}");
        }
    }

    #[test]
    fn a_failure_of_the_protocol_is_a_sentence() {
        let failure = ToolFailure::from(CdpFailure::Refused("No node\nfound".to_owned()));
        assert_eq!(failure.text, "The browser refused it: No node found.");
    }
}
