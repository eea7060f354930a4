//! Bounds the time in which a program tries to reach a server when it begins, and reports the wait. A program
//! that says nothing for a minute looks as if it hung.

use std::time::Duration;

use crate::render::clean::visible;
use crate::render::units;

/// The delay before AgentX tells the person what it is waiting for.
const SILENCE: Duration = Duration::from_secs(2);

/// The time for which a program tries to reach a server that does not answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct ServerPatience {
    /// The time for all attempts; zero, the default, for one attempt.
    pub within: Duration,
    /// Whether to print nothing while waiting.
    pub is_silent: bool,
}

impl ServerPatience {
    /// The patience of an unattended program: a minute.
    pub fn unattended(is_silent: bool) -> Self {
        Self {
            within: Duration::from_secs(60),
            is_silent,
        }
    }

    /// Waits until `reaching` is done. If that takes longer than two seconds, says once which server is
    /// waited for, and for how long. `address` is `None` if there is no server.
    pub async fn reach<T>(
        self,
        address: Option<&str>,
        reaching: impl Future<Output = T>,
        say: impl FnOnce(&str),
    ) -> T {
        let mut reaching = std::pin::pin!(reaching);
        let Some(address) = address.filter(|_| !self.is_silent) else {
            return reaching.await;
        };
        tokio::select! {
            biased;
            reached = &mut reaching => reached,
            () = tokio::time::sleep(SILENCE) => {
                say(&self.words(address));
                reaching.await
            }
        }
    }

    fn words(self, address: &str) -> String {
        let limit = match self.within {
            Duration::ZERO => String::new(),
            within => format!(
                " for up to {}",
                units::short_limit(u64::try_from(within.as_millis()).unwrap_or(u64::MAX))
            ),
        };
        format!(
            "waiting for the server at {}{limit}; Ctrl-C ends this\n",
            visible(address)
        )
    }
}
