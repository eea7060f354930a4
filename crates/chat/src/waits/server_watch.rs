//! The thread of the watch beside a server: a signal ends both, and the server's end ends a watch that heard
//! none.

use std::future::Future;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::oneshot;

/// The time that the end of a watch, and of a run that it began, may take when the server has ended.
const LONGEST_END: Duration = Duration::from_secs(5);

/// The watch beside a server.
#[derive(Debug)]
pub struct ServerWatch {
    server_ended: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

/// Tells the watch that its server has ended. A signal that came before the watch listened to signals ended
/// the server alone.
#[derive(Debug)]
pub struct ServerEnd(oneshot::Receiver<()>);

impl ServerWatch {
    /// Starts the thread.
    ///
    /// # Errors
    /// Returns an error if the system has no thread for it.
    pub fn start(watching: impl FnOnce(ServerEnd) + Send + 'static) -> std::io::Result<Self> {
        let (server_ended, ended) = oneshot::channel();
        let thread = std::thread::Builder::new()
            .name("waits".into())
            .spawn(move || watching(ServerEnd(ended)))?;
        Ok(Self { server_ended, thread })
    }

    /// Waits for its end, when the server has ended.
    pub async fn end(self) {
        // Whoever does not listen any more has ended.
        let _ = self.server_ended.send(());
        let _ = tokio::task::spawn_blocking(move || self.thread.join()).await;
    }
}

impl ServerEnd {
    /// Returns what a future returns, or `None` if the server ended some seconds ago and the future did not.
    pub async fn or_end<T>(self, future: impl Future<Output = T>) -> Option<T> {
        self.or_end_after(LONGEST_END, future).await
    }

    async fn or_end_after<T>(self, time: Duration, future: impl Future<Output = T>) -> Option<T> {
        let unheard = async {
            let _ = self.0.await;
            tokio::time::sleep(time).await;
        };
        tokio::select! {
            biased;
            end = future => Some(end),
            () = unheard => None,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_watch_that_heard_no_signal_ends_with_its_server() {
        let (sender, ended) = oneshot::channel();
        sender.send(()).unwrap();
        let for_ever = std::future::pending::<()>();
        let end = ServerEnd(ended).or_end_after(Duration::ZERO, for_ever);
        assert_eq!(end.await, None);
        let (_server, ended) = oneshot::channel();
        assert_eq!(ServerEnd(ended).or_end(async { 7 }).await, Some(7));
    }
}
