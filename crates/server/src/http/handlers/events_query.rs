//! The request for the events of a session, and the form of the answer: a page or a stream.

use agentx_types::wire::WireView;
use agentx_types::{AgentStateId, Envelope, EnvironmentEvent, Medium, RuntimeEvent, UiEvent};
use axum::response::{IntoResponse, Response};
use schemars::{JsonSchema, SchemaGenerator};
use serde::Deserialize;
use serde_json::json;

use crate::feed::SubscriptionFilter;
use crate::http::ApiError;
use crate::http::description::describe::{HandlerResponse, Operation};
use crate::http::requests::query::{CommaList, PageLimit};

/// The requested events.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct EventsQuery {
    /// Events after this one.
    #[serde(default)]
    pub(crate) after_seq: u64,
    /// In which view.
    #[serde(default)]
    #[schemars(extend("default" = "runtime"))]
    pub(crate) view: WireView,
    /// For pages: at most about so many; the events of one fact stay together.
    #[serde(default)]
    pub(crate) limit: PageLimit<1000, 10_000>,
    /// Only events of these agents, and those of no agent: ids, with commas between them.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    agents: CommaList<AgentStateId>,
    /// The media of agent streams to include: names, separated by commas.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    media: CommaList<Medium>,
}

impl EventsQuery {
    /// Returns the filter of the request.
    pub(crate) fn only(&self) -> Result<Option<SubscriptionFilter>, ApiError> {
        Ok(SubscriptionFilter::of(
            self.agents.0.clone(),
            self.media.0.clone(),
        )?)
    }
}

/// A page of events.
#[derive(JsonSchema)]
#[allow(
    dead_code,
    reason = "it is written by hand, so that events are not written twice"
)]
pub(crate) struct EventPage {
    /// The events, in order, all of one view.
    items: Vec<AnyFrame>,
    /// The `after_seq` of the next page; absent at the end.
    next_after_seq: Option<u64>,
}

/// An event, in any view.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[allow(dead_code, reason = "see `EventPage`")]
enum AnyFrame {
    Environment(Box<Envelope<EnvironmentEvent>>),
    Runtime(Box<Envelope<RuntimeEvent>>),
    Ui(Box<Envelope<UiEvent>>),
}

/// Events, as a page or a stream.
pub(crate) struct EventsResponse(pub(crate) Response);

impl IntoResponse for EventsResponse {
    fn into_response(self) -> Response {
        self.0
    }
}

impl HandlerResponse for EventsResponse {
    fn describe(operation: &mut Operation, schemas: &mut SchemaGenerator) {
        let page = schemas.subschema_for::<EventPage>();
        let what = "A page or, with `Accept: text/event-stream`, the stored events and then new ones: `id:` \
                    is the position of the event (`seq`, or `seq.index`), `event:` its tag, `data:` the \
                    frame; `event: ping` is a keep-alive.";
        let stream = json!({"schema": {"type": "string"}});
        operation.answer(
            200,
            what,
            json!({"application/json": {"schema": page}, "text/event-stream": stream}),
        );
    }
}
