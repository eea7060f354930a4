//! Reading a page, and what is new on it since it was read.

use std::collections::BTreeSet;
use std::time::Duration;

use agentx_tools::ToolFailure;

use super::OpenBrowser;
use crate::page::{PageOutline, outline, read_frames};

/// The time between two looks for a text.
const LOOK: Duration = Duration::from_millis(300);
/// The time for reading one page.
const LONGEST_READING: Duration = Duration::from_secs(60);

/// A page as it is now.
#[derive(Clone, Debug)]
pub(crate) struct PageReading {
    /// The tab.
    pub(crate) tab: u32,
    /// The address.
    pub(crate) url: String,
    /// The document, as the browser identifies each loading of one.
    pub(crate) document: String,
    /// All of it.
    pub(crate) outline: PageOutline,
    /// The lines that are new since the last reading; `None` if it is another page.
    pub(crate) new_lines: Option<Vec<String>>,
}

impl PageReading {
    /// The lines that an earlier reading of the page does not have; `None` if that was another page.
    pub(crate) fn lines_beside(&self, before: &Self) -> Option<Vec<String>> {
        let known: BTreeSet<&String> = before.outline.lines.iter().collect();
        let new = self.outline.lines.iter().filter(|line| !known.contains(line));
        (self.document == before.document).then(|| new.cloned().collect())
    }
}

impl OpenBrowser {
    /// Reads the page of a tab. A dialog has to be answered first.
    ///
    /// # Errors
    /// Returns a failure if the page shows a dialog, or cannot be read.
    pub(crate) async fn read(&mut self, number: u32) -> Result<PageReading, ToolFailure> {
        let tab = self.tab(Some(number))?;
        if let Some(dialog) = &tab.dialog {
            return Err(ToolFailure::failed(format!(
                "Tab {number} shows {} and stands still until browser_dialog answers it.",
                dialog.description()
            )));
        }
        let shows_dialog = self.tabs.wait_for(LONGEST_READING, |tabs| {
            tabs.tab(Some(number))
                .is_none_or(|tab| tab.dialog.is_some())
                .then_some(())
        });
        let frames = tokio::select! {
            biased;
            frames = read_frames(&self.client, &tab.session) => frames?,
            _ = shows_dialog => {
                return Err(ToolFailure::failed(format!(
                    "Tab {number} was closed, shows a dialog, or took too long to be read; browser_tabs lists the tabs."
                )));
            }
        };
        let documents: BTreeSet<&str> = frames.iter().map(|frame| frame.document.as_str()).collect();
        let open: BTreeSet<u32> = self.tabs.all().iter().map(|tab| tab.number).collect();
        self.read.retain(|tab, _| open.contains(tab));
        self.elements.begin_reading(number, &documents, &open);
        let outline = outline(&frames, number, &mut self.elements);
        self.elements.end_reading(number);
        let main = frames.into_iter().next().unwrap_or_default();
        let mut reading = PageReading {
            tab: number,
            url: main.url,
            document: main.document,
            outline,
            new_lines: None,
        };
        let before = self.read.insert(number, reading.clone());
        reading.new_lines = before.and_then(|before| reading.lines_beside(&before));
        Ok(reading)
    }

    /// Reads a page until a text is on it, or with `gone` until it is not. Returns the last reading, and
    /// whether the wait was successful.
    ///
    /// # Errors
    /// Returns a failure if the page cannot be read.
    pub(crate) async fn wait_for_text(
        &mut self,
        number: u32,
        text: &str,
        gone: bool,
        patience: Duration,
    ) -> Result<(PageReading, bool), ToolFailure> {
        let until = tokio::time::Instant::now() + patience;
        loop {
            let reading = self.read(number).await?;
            if reading.outline.has_text(text) != gone {
                return Ok((reading, true));
            }
            if tokio::time::Instant::now() >= until {
                return Ok((reading, false));
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}
