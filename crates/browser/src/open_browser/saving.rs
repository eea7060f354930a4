//! Pictures of pages, and downloads.

use std::time::Duration;

use agentx_tools::{ToolFailure, quoted_address};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::OpenBrowser;
use crate::cdp::{CdpClient, CdpCommand};
use crate::options::{DOWNLOADING, LARGEST_DOWNLOAD, LARGEST_PICTURE};
use crate::page::PageElement;
use crate::tabs::{DownloadState, OpenTab, PageDownload, TabTable, cancel_download};

/// The time within which a download begins.
const BEGINNING: Duration = Duration::from_secs(20);
/// The time within which another one begins after one that was cancelled: that may be a download that was
/// refused before this call, and of which the browser tells late.
const BEGINNING_AFTER_ANOTHER: Duration = Duration::from_secs(5);

/// A picture of a page.
pub(crate) struct PagePicture {
    /// The type, such as `image/png`.
    pub(crate) media_type: &'static str,
    /// The file.
    pub(crate) bytes: Vec<u8>,
}

/// A file that a page offered.
pub(crate) struct DownloadedFile {
    /// The download in words.
    pub(crate) description: String,
    /// The file.
    pub(crate) bytes: Vec<u8>,
}

/// Takes back at its end that downloads are let through: a call that is stopped ends in the middle.
struct DownloadPermit<'a> {
    client: &'a CdpClient,
    tabs: &'a TabTable,
}

impl Drop for DownloadPermit<'_> {
    fn drop(&mut self) {
        self.client.send_at_once(&downloads_denied());
        let downloads = self.tabs.downloads().into_iter();
        for running in downloads.filter(|download| !download.has_ended()) {
            self.client.send_at_once(&cancel_download(&running.id));
        }
    }
}

/// The command that refuses downloads.
pub(super) fn downloads_denied() -> CdpCommand {
    let denied = json!({"behavior": "deny", "eventsEnabled": true});
    CdpCommand::to_browser("Browser.setDownloadBehavior", denied)
}

impl OpenBrowser {
    /// Takes a picture of the part of a page that is in sight.
    ///
    /// # Errors
    /// Returns a failure if the page cannot be shown, or the picture is too large.
    pub(crate) async fn picture(&self, tab: &OpenTab) -> Result<PagePicture, ToolFailure> {
        self.bring_to_front(tab).await?;
        let actions = self.actions(tab);
        for (media_type, format) in [("image/png", "png"), ("image/jpeg", "jpeg")] {
            let taken = actions
                .call("Page.captureScreenshot", json!({"format": format}))
                .await?;
            let data = taken["data"].as_str().unwrap_or_default();
            let bytes = STANDARD
                .decode(data)
                .map_err(|_| ToolFailure::failed("The browser gave no picture."))?;
            if bytes.len() <= LARGEST_PICTURE && !bytes.is_empty() {
                return Ok(PagePicture { media_type, bytes });
            }
        }
        Err(ToolFailure::failed(format!(
            "The picture has more than {LARGEST_PICTURE} bytes."
        )))
    }

    /// Downloads the file that an element leads to, or the one at an address, whose host this call approves.
    ///
    /// # Errors
    /// Returns a failure if no download begins, or it does not end well.
    pub(crate) async fn download(
        &self,
        tab: &OpenTab,
        element: Option<&PageElement>,
        address: &str,
    ) -> Result<DownloadedFile, ToolFailure> {
        let folder = self.profile.downloads();
        let allowed = json!({
            "behavior": "allowAndName", "downloadPath": folder.to_string_lossy(), "eventsEnabled": true,
        });
        self.tabs.forget_downloads();
        let _permit = DownloadPermit {
            client: &self.client,
            tabs: &self.tabs,
        };
        self.command("Browser.setDownloadBehavior", allowed).await?;
        let downloaded = self.downloaded(tab, element, address).await;
        self.deny_downloads().await?;
        let downloaded = downloaded?;
        let file = folder.join(&downloaded.id);
        let bytes = tokio::fs::read(&file).await;
        // The profile is removed with the browser anyway.
        let _ = tokio::fs::remove_file(&file).await;
        let bytes = bytes.map_err(|error| ToolFailure::failed(format!("The download was lost: {error}.")))?;
        Ok(DownloadedFile {
            description: downloaded.description(),
            bytes,
        })
    }

    async fn downloaded(
        &self,
        tab: &OpenTab,
        element: Option<&PageElement>,
        address: &str,
    ) -> Result<PageDownload, ToolFailure> {
        self.bring_to_front(tab).await?;
        let actions = self.actions(tab);
        match element {
            Some(element) => actions.click(element, 1).await?,
            None => {
                let url = self.gate.approve(address);
                let url =
                    url.map_err(|why| ToolFailure::failed(format!("{}: {why}.", quoted_address(address))))?;
                actions
                    .until_dialog("Page.navigate", json!({"url": url.as_str()}))
                    .await?;
            }
        }
        self.ended_download().await
    }

    /// Waits for the end of the first download that is not cancelled.
    async fn ended_download(&self) -> Result<PageDownload, ToolFailure> {
        let mut patience = BEGINNING;
        loop {
            let begun = self.tabs.wait_for(patience, |tabs| {
                tabs.downloads()
                    .into_iter()
                    .find(|download| !download.is_canceled())
            });
            let Some(begun) = begun.await else {
                return Err(no_download(self.tabs.downloads().last()));
            };
            let ended = self.tabs.wait_for(DOWNLOADING, |tabs| {
                let mut all = tabs.downloads().into_iter();
                all.find(|download| download.id == begun.id && download.has_ended())
            });
            let ended = ended.await.ok_or_else(|| {
                ToolFailure::failed(format!("The download did not end within {DOWNLOADING:?}."))
            })?;
            match ended.state {
                DownloadState::Complete => return Ok(ended),
                DownloadState::TooLarge => {
                    return Err(ToolFailure::failed(format!(
                        "{} has more than {LARGEST_DOWNLOAD} bytes.",
                        ended.description()
                    )));
                }
                // It is passed over from now on, and the number of downloads has a bound.
                DownloadState::Running | DownloadState::Canceled => patience = BEGINNING_AFTER_ANOTHER,
            }
        }
    }
}

/// The failure of a call without a download, of which `canceled` is the last one.
fn no_download(canceled: Option<&PageDownload>) -> ToolFailure {
    ToolFailure::failed(match canceled {
        Some(canceled) => format!("The download of {} broke off.", canceled.description()),
        None => "No download began; browser_read shows whether a page was opened.".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::Value;
    use tokio::io::{AsyncBufReadExt as _, BufReader};

    use super::*;
    use crate::cdp::CdpEvent;
    use crate::network::PageHostGate;

    #[tokio::test]
    async fn a_stopped_call_takes_back_that_downloads_are_let_through() {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (input, output) = tokio::io::split(ours);
        let client = CdpClient::start(input, output, Box::new(|_| Vec::new()));
        let tabs = TabTable::new(Arc::new(PageHostGate::new(&[])));
        for (id, state) in [("done", "completed"), ("running", "inProgress")] {
            for (method, params) in [
                ("Browser.downloadWillBegin", json!({"guid": id})),
                ("Browser.downloadProgress", json!({"guid": id, "state": state})),
            ] {
                tabs.apply(&CdpEvent {
                    method: method.to_owned(),
                    params,
                    session: None,
                });
            }
        }
        drop(DownloadPermit {
            client: &client,
            tabs: &tabs,
        });
        let mut sent = BufReader::new(theirs);
        for expected in [
            (
                "Browser.setDownloadBehavior",
                json!({"behavior": "deny", "eventsEnabled": true}),
            ),
            ("Browser.cancelDownload", json!({"guid": "running"})),
        ] {
            let mut bytes = Vec::new();
            sent.read_until(0, &mut bytes).await.unwrap();
            bytes.pop();
            let command: Value = serde_json::from_slice(&bytes).unwrap();
            assert_eq!(
                (&command["method"], &command["params"]),
                (&json!(expected.0), &expected.1)
            );
        }
    }
}
