//! `/usage`: the cost of this session, by model and by cause; or the cost of all sessions, grouped as
//! requested.

use agentx::runtime::{UsageBy, UsageQuery, UsageRow};

use crate::chat::{Chat, ConversationSite};
use crate::error::ChatError;
use crate::render::spending::{has_unpriced, legend, render, table_of, total};
use crate::render::units;
use crate::session_opening;

impl Chat<'_> {
    /// Returns the spending as text.
    pub(in crate::chat) async fn usage(&mut self, by: Option<UsageBy>) -> Result<String, ChatError> {
        if let Some(by) = by {
            let rows = self.spent(by, false).await?;
            return Ok(if rows.is_empty() {
                "nothing was spent yet".to_owned()
            } else {
                render(by, &rows, &total(&rows), self.display.width())
            });
        }
        let Some(session) = self.connection.session() else {
            return Ok("nothing was spent yet".to_owned());
        };
        let session = session.clone();
        let state = self.wait_for(async { session.state().await }).await?;
        // An older server does not report the parts of the sum; the sum is still right.
        let by_model = self.spent(UsageBy::Model, true).await.unwrap_or_default();
        let by_cause = self.spent(UsageBy::Cause, true).await.unwrap_or_default();
        let has_unpriced = by_model.iter().any(has_unpriced)
            || (by_model.is_empty() && session_opening::has_no_price(&state.config));
        let mut text = format!(
            "{} · {}\n",
            units::usage(&state.usage),
            units::sum(state.cost, &state.usage, has_unpriced)
        );
        let legend = legend(&by_model);
        for (by, rows) in [(UsageBy::Model, by_model), (UsageBy::Cause, by_cause)] {
            if !rows.is_empty() {
                text.push_str(&format!(
                    "\n{}",
                    table_of(by, &rows, &total(&rows), self.display.width())
                ));
            }
        }
        Ok(text + &legend)
    }

    async fn spent(&mut self, by: UsageBy, here: bool) -> Result<Vec<UsageRow>, ChatError> {
        let session = match &self.connection.site {
            ConversationSite::Open { session, .. } if here => Some(session.id().clone()),
            _ => None,
        };
        let runtime = self.place.shared();
        let query = UsageQuery {
            owner: runtime.owner().clone(),
            by,
            since: None,
            session,
        };
        self.wait_for(async { runtime.usage(query).await }).await
    }
}
