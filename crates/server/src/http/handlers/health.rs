//! The health of the server, and its metrics.

use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde_json::json;

use crate::http::description::describe::{HandlerResponse, Operation};
use crate::http::requests::extract::Operator;
use crate::http::responses::JsonResponse;
use crate::http::{ApiError, HandlerState, HandlerStateInner};
use crate::settings::options::PROGRAM;

/// The server is well.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Health {
    /// `ok`.
    status: &'static str,
    /// The program, with its version.
    server: &'static str,
    /// The version of the protocol.
    protocol: u32,
}

/// The format of Prometheus.
pub(crate) struct Metrics(String);

pub(crate) async fn health(app: HandlerState) -> Result<JsonResponse<Health>, ApiError> {
    app.state.runtime().check_log()?;
    Ok(JsonResponse(Health {
        status: "ok",
        server: PROGRAM,
        protocol: agentx_types::wire::PROTOCOL,
    }))
}

pub(crate) async fn metrics(app: HandlerState, _: Operator) -> Result<Metrics, ApiError> {
    let mut text = String::new();
    let runs = app.state.counts().runs.figures();
    for (name, what, value) in figures(&app).into_iter().chain(runs) {
        // By convention, names of counters end in `_total`.
        let kind = if name.ends_with("_total") {
            "counter"
        } else {
            "gauge"
        };
        text.push_str(&format!(
            "# HELP agentx_{name} {what}\n# TYPE agentx_{name} {kind}\nagentx_{name} {value}\n"
        ));
    }
    Ok(Metrics(text))
}

/// Returns the metrics: name, help, value.
fn figures(app: &HandlerStateInner) -> [(&'static str, &'static str, u64); 12] {
    let counts = app.state.counts();
    let open = app.state.rooms().open_rooms() as u64;
    [
        ("sessions_open", "Sessions that are open.", open),
        (
            "connections",
            "TCP connections that are open.",
            counts.connections.get(),
        ),
        ("sockets", "WebSockets that are open.", counts.sockets.get()),
        (
            "subscriptions",
            "Subscriptions that are open.",
            counts.subscriptions.get(),
        ),
        (
            "turned_away_total",
            "TCP connections rejected because of the limit.",
            counts.turned_away.get(),
        ),
        ("requests_total", "HTTP requests.", app.requests()),
        (
            "frames_received_total",
            "Frames of clients.",
            counts.received.get(),
        ),
        (
            "frames_refused_total",
            "Frames of clients that were refused.",
            counts.refused.get(),
        ),
        ("frames_sent_total", "Frames that were sent.", counts.sent.get()),
        (
            "bytes_sent_total",
            "Bytes of frames that were sent.",
            counts.sent_bytes.get(),
        ),
        (
            "readers_overrun_total",
            "Readers that were too slow.",
            counts.overrun.get(),
        ),
        (
            "sessions_opened_total",
            "Sessions that were opened.",
            counts.opened.get(),
        ),
    ]
}

impl IntoResponse for Metrics {
    fn into_response(self) -> Response {
        let mut response = self.0.into_response();
        let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
        response.headers_mut().insert(CONTENT_TYPE, kind);
        response
    }
}

impl HandlerResponse for Metrics {
    fn describe(operation: &mut Operation, _: &mut SchemaGenerator) {
        let content = json!({"text/plain": {"schema": {"type": "string"}}});
        operation.answer(200, "Metrics in the Prometheus format.", content);
    }
}
