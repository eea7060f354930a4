//! How long a program tries to reach a server when it begins, and what it says meanwhile. A program that says
//! nothing for a minute looks as if it hung.

use std::time::Duration;

use crate::render::clean::visible;
use crate::render::units;

/// The time after which the person is told what is waited for.
const SILENCE: Duration = Duration::from_secs(2);

/// How long a program tries to reach a server that does not answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct ServerPatience {
    /// The time for all attempts; zero, the default, for one attempt.
    pub within: Duration,
    /// Whether nothing is said meanwhile.
    pub is_silent: bool,
}

impl ServerPatience {
    /// The patience of a program that nobody watches: a minute.
    pub fn unattended(is_silent: bool) -> Self {
        Self {
            within: Duration::from_secs(60),
            is_silent,
        }
    }

    /// Waits until `reaching` is done. If that takes longer than two seconds, says once which server is waited
    /// for, and for how long. `address` is `None` if there is no server.
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

#[cfg(test)]
mod tests {
    use super::*;
    const ADDRESS: &str = "http://127.0.0.1:7777";

    async fn said(patience: ServerPatience, address: Option<&str>, seconds: u64) -> String {
        let mut said = String::new();
        let reaching = async {
            let never = std::future::pending::<()>();
            let _ = tokio::time::timeout(Duration::from_secs(seconds), never).await;
            seconds
        };
        let reached = patience.reach(address, reaching, |text| said.push_str(text));
        assert_eq!(reached.await, seconds);
        said
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_is_told_once_for_what_and_for_how_long() {
        let run = ServerPatience::unattended(false);
        assert_eq!(said(run, Some(ADDRESS), 1).await, "");
        assert_eq!(
            said(run, Some(ADDRESS), 59).await,
            "waiting for the server at http://127.0.0.1:7777 for up to 60s; Ctrl-C ends this\n"
        );
        assert_eq!(
            said(ServerPatience::default(), Some(ADDRESS), 3).await,
            "waiting for the server at http://127.0.0.1:7777; Ctrl-C ends this\n"
        );
        assert_eq!(
            said(ServerPatience::unattended(true), Some(ADDRESS), 59).await,
            ""
        );
        assert_eq!(said(run, None, 59).await, "");
    }
}
