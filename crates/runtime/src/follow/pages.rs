//! Earlier events from the log, and a log that another process writes, which is polled.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use agentx_session::{PastRequest, SessionReader, SourceItem, SourceStart};
use agentx_types::SessionId;

use super::{EventSource, FollowError, PastEvents};
use crate::api::RuntimeError;
use crate::log::SessionLog;
use crate::log::folding::fold_on;
use agentx_session::SessionFold;

/// Number of facts in a page.
const PAGE: usize = 1024;
/// Interval at which a session of another process is polled.
const POLL: Duration = Duration::from_millis(100);

/// A session in its log.
#[derive(Clone)]
pub(crate) struct Pages {
    pub(crate) session: SessionId,
    pub(crate) log: Arc<dyn SessionLog>,
    /// A fold to begin with, if it is not later than the requested place.
    pub(crate) remembered: Option<Arc<SessionFold>>,
}

impl Pages {
    /// Returns the `seq` of the last fact.
    pub(crate) async fn head(&self) -> Result<u64, FollowError> {
        let info = self.log.info(&self.session).await;
        Ok(info.map_err(RuntimeError::from)?.last_seq)
    }

    /// Reads the past that a reader requests: a fold, from the remembered one or the beginning on, or a page
    /// of facts.
    pub(crate) async fn read(&self, wanted: PastRequest) -> Result<PastEvents, FollowError> {
        let upto = match wanted {
            PastRequest::Fold(upto) => upto,
            PastRequest::Facts(after) => {
                let facts = self.log.read(&self.session, after, PAGE).await;
                return Ok(PastEvents::Facts(facts.map_err(RuntimeError::from)?));
            }
        };
        let remembered = self.remembered.as_deref().filter(|fold| fold.last_seq() <= upto);
        let fold = remembered.map_or_else(|| SessionFold::new(self.session.clone()), SessionFold::clone);
        if fold.last_seq() == upto {
            return Ok(PastEvents::Fold(Box::new(fold)));
        }
        let fold = fold_on(self.log.as_ref(), fold, upto).await?;
        Ok(PastEvents::Fold(Box::new(fold)))
    }
}

/// A session that any process may write. It never ends on its own, because another process may continue with
/// it.
pub(super) struct LogPollSource(pub(super) Pages);

impl EventSource for LogPollSource {
    async fn begin(&mut self, _: &SessionReader) -> Result<SourceStart, FollowError> {
        Ok(SourceStart::Log(self.0.head().await?))
    }

    async fn read(&mut self, wanted: PastRequest) -> Result<PastEvents, FollowError> {
        self.0.read(wanted).await
    }

    async fn receive(
        &mut self,
        reading: &SessionReader,
        heard: &mut VecDeque<SourceItem>,
    ) -> Result<bool, FollowError> {
        tokio::time::sleep(POLL).await;
        let head = self.0.head().await?;
        if head > reading.position().whole() {
            heard.push_back(SourceItem::Log(head));
        }
        Ok(true)
    }
}
