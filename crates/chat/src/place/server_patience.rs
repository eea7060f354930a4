//! Bounds the time for which a program waits for a server, when it begins and later, and reports the first
//! wait. A program that says nothing for a minute looks as if it hung.

use std::time::Duration;

use agentx::remote::ConnectOptions;

use crate::render::clean::visible;
use crate::render::units;

/// The delay before AgentX tells the person what it is waiting for.
const SILENCE: Duration = Duration::from_secs(2);

/// The shortest limit for a wait that the time limit of a run sets: signing in takes several answers.
const LEAST: Duration = Duration::from_secs(5);

/// The time for which a program tries to reach a server that does not answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct ServerPatience {
    /// The time for all attempts; zero, the default, for a few attempts in half a second.
    pub within: Duration,
    /// The maximum time for any answer, if a run limits it.
    pub answer: Option<Duration>,
    /// Whether to print nothing while waiting.
    pub is_silent: bool,
}

impl ServerPatience {
    /// The patience of an unattended program: a minute.
    pub fn unattended(is_silent: bool) -> Self {
        Self {
            within: Duration::from_secs(60),
            answer: None,
            is_silent,
        }
    }

    /// Bounds each wait by the time limit of a run, in milliseconds: who limits the run to five seconds does
    /// not want to wait a minute for its server.
    #[must_use]
    pub fn bounded_by(self, limit_ms: Option<u64>) -> Self {
        let limit = limit_ms.map(|ms| Duration::from_millis(ms).max(LEAST));
        Self {
            within: self.within.min(limit.unwrap_or(self.within)),
            answer: limit,
            ..self
        }
    }

    /// Sets the waits of a connection.
    pub fn apply(self, options: &mut ConnectOptions) {
        options.reach_within = self.within;
        // A line that went silent is noticed after 30 seconds: what was sent over it is then sent again, and
        // answered.
        options.answer_within = options.answer_within.max(self.within);
        if let Some(answer) = self.answer {
            options.answer_within = options.answer_within.min(answer);
            options.longest_answer = options.longest_answer.min(answer);
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

#[cfg(test)]
mod tests {
    use agentx::remote::Credentials;

    use super::*;

    #[test]
    fn no_wait_is_longer_than_the_run_may_take() {
        let waits = |patience: ServerPatience| {
            let mut options = ConnectOptions::new("http://server", Credentials::Visitor, "test");
            patience.apply(&mut options);
            let waits = [
                options.reach_within,
                options.answer_within,
                options.longest_answer,
            ];
            waits.map(|wait| wait.as_secs())
        };
        let run = ServerPatience::unattended(false);
        assert_eq!(waits(run), [60, 60, 90]);
        assert_eq!(waits(run.bounded_by(None)), [60, 60, 90]);
        assert_eq!(waits(run.bounded_by(Some(600_000))), [60, 60, 90]);
        assert_eq!(waits(run.bounded_by(Some(20_000))), [20, 20, 20]);
        assert_eq!(
            waits(run.bounded_by(Some(1))),
            [5, 5, 5],
            "signing in takes a while"
        );
        assert_eq!(waits(ServerPatience::default()), [0, 30, 90]);
    }
}
