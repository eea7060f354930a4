//! A reactor that takes the place of a service of context.

use std::fmt;
use std::sync::Arc;

use agentx_bus::{KeyPattern, Reactor, ReactorFailure, ReactorTask, Serve};
use agentx_runtime::{BoxFuture, Effector, EventSink, SystemBus};
use agentx_types::{Action, ActionBody, ActionKind, BuildContext, ContextBuilt, topic};
use tokio_util::sync::CancellationToken;

/// Serves one source of context by a function. While it is attached, it is asked instead of the runtime's own
/// service of that source; after that, the service is asked again.
///
/// ```
/// use agentx_services::ContextReactor;
/// use agentx_types::ContextBuilt;
///
/// let pirate = ContextReactor::new("persona", |_| ContextBuilt {
///     instructions: Some("You are a pirate.".into()),
///     ..ContextBuilt::nothing("persona")
/// });
/// ```
#[derive(Clone)]
pub struct ContextReactor {
    source: String,
    build: Arc<dyn Fn(&BuildContext) -> ContextBuilt + Send + Sync>,
    stop: CancellationToken,
}

impl ContextReactor {
    /// A reactor that serves the source of this name. `build` is called for each run and must not block.
    pub fn new(
        source: impl Into<String>,
        build: impl Fn(&BuildContext) -> ContextBuilt + Send + Sync + 'static,
    ) -> Self {
        Self {
            source: source.into(),
            build: Arc::new(build),
            stop: CancellationToken::new(),
        }
    }
}

impl fmt::Debug for ContextReactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContextReactor")
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}

impl Effector for ContextReactor {
    fn perform(
        &self,
        action: Arc<Action>,
        events: EventSink,
        _: CancellationToken,
    ) -> BoxFuture<'static, ()> {
        let build = self.build.clone();
        Box::pin(async move {
            if let ActionBody::BuildContext(request) = &action.body {
                events.emit(build(request)).await;
            }
        })
    }
}

impl Reactor<SystemBus> for ContextReactor {
    fn name(&self) -> &str {
        &self.source
    }

    async fn start(&mut self, bus: SystemBus) -> Result<ReactorTask, ReactorFailure> {
        let requests = topic::of_action(ActionKind::BuildContext);
        let serve = Serve::new(&self.source).on(requests, KeyPattern::exact(&self.source));
        Ok(bus
            .serve(serve, Arc::new(self.clone()))
            .run_until(self.stop.clone()))
    }

    async fn stop(&mut self) {
        self.stop.cancel();
    }
}
