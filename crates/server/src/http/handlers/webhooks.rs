//! Webhooks: another program delivers something with a signature, and a watch runs the prompt of the settings
//! for it, once.

use agentx_config::{Settings, WebhookSettings};
use agentx_schedule::{DeliveryInbox, ScheduleError, WebhookDelivery};
use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde_json::json;

use crate::http::description::describe::{HandlerInput, HandlerResponse, Operation};
use crate::http::handlers::tokens::on_disk;
use crate::http::requests::body::RawBody;
use crate::http::requests::extract::{AnonymousCaller, PathId};
use crate::http::responses::JsonResponse;
use crate::http::{ApiError, HandlerState};
use crate::problems::problem;
use crate::webhooks::{AnnouncedSignature, check_signature, prompt_of};

/// The pause before a sender tries again if too many deliveries wait, in milliseconds.
const PAUSE_MS: u64 = 60_000;

/// The headers of a delivery.
pub(crate) struct WebhookHeaders(HeaderMap);

/// The delivery was taken in; a watch runs its prompt.
#[derive(Serialize, JsonSchema)]
pub(crate) struct TakenDelivery {
    /// The identity of the delivery; the title of its session has the beginning of it.
    delivery: String,
    /// Whether it was taken in now. Otherwise it was before, and is not run again.
    new: bool,
}

/// The answer to a delivery: the work is done later.
pub(crate) struct DeliveryResponse(JsonResponse<TakenDelivery>);

pub(crate) async fn deliver(
    app: HandlerState,
    _caller: AnonymousCaller,
    PathId(name): PathId,
    WebhookHeaders(headers): WebhookHeaders,
    RawBody(body): RawBody,
) -> Result<DeliveryResponse, ApiError> {
    let settings = app.state.settings();
    let webhook = webhook_of(&settings, &name)?;
    let Some(secret) = webhook.secret.value() else {
        let what = "the variable with the secret of this webhook is not set on the server";
        return Err(ApiError::new("unavailable", what));
    };
    let now = app.state.now();
    let signed = check_signature(&name, secret.expose(), &headers, &body, now.unix_millis() / 1_000)
        .map_err(|what| ApiError::new("bad_signature", what))?;
    let workspace = webhook.workspace.as_ref().unwrap_or(&settings.workspace);
    let delivery = WebhookDelivery {
        prompt: prompt_of(webhook, &headers, &body, &signed.key),
        key: signed.key.clone(),
        webhook: name,
        agent: webhook.agent.clone(),
        model: webhook.model.clone(),
        workspace: workspace.to_string_lossy().into_owned(),
        session: webhook.session.clone(),
        received_at: now,
        begun_at: None,
    };
    let inbox = DeliveryInbox::at(&settings.data_dir);
    let taken = on_disk(move || {
        inbox.take_in(&delivery).map_err(|error| match error {
            ScheduleError::FullInbox(_) => {
                let mut full = problem("too_many", &error.to_string());
                full.retry_after_ms = Some(PAUSE_MS);
                full
            }
            error => problem("store", &error.to_string()),
        })
    });
    Ok(DeliveryResponse(JsonResponse(TakenDelivery {
        new: taken.await?,
        delivery: signed.key,
    })))
}

fn webhook_of<'a>(settings: &'a Settings, name: &str) -> Result<&'a WebhookSettings, ApiError> {
    let found = settings.webhooks.iter().find(|webhook| webhook.name == name);
    found.ok_or_else(|| ApiError::new("not_found", format!("there is no webhook {name:?}")))
}

/// Refuses a delivery to no webhook, and one without a signature, before its body is read.
impl FromRequestParts<HandlerState> for WebhookHeaders {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &HandlerState) -> Result<Self, ApiError> {
        let PathId(name) = PathId::from_request_parts(parts, app).await?;
        webhook_of(&app.state.settings(), &name)?;
        AnnouncedSignature::of(&parts.headers, app.state.now_ms() / 1_000)
            .map_err(|what| ApiError::new("bad_signature", what))?;
        Ok(Self(parts.headers.clone()))
    }
}

impl HandlerInput for WebhookHeaders {
    fn describe(operation: &mut Operation, _: &mut SchemaGenerator) {
        for (name, what) in [
            ("webhook-id", "The id of the delivery, as in Standard Webhooks."),
            (
                "webhook-timestamp",
                "The time of the delivery, in seconds since 1970.",
            ),
            (
                "webhook-signature",
                "The signatures: `v1,` and base64, separated by blanks.",
            ),
            (
                "x-hub-signature-256",
                "The signature of GitHub: `sha256=` and hexadecimal digits.",
            ),
        ] {
            operation.header(name, what, json!({"type": "string"}));
        }
        operation.add_failures(&[401, 404, 409, 429, 500]);
    }
}

impl IntoResponse for DeliveryResponse {
    fn into_response(self) -> Response {
        let mut response = self.0.into_response();
        *response.status_mut() = axum::http::StatusCode::ACCEPTED;
        response
    }
}

impl HandlerResponse for DeliveryResponse {
    fn describe(operation: &mut Operation, schemas: &mut SchemaGenerator) {
        operation.json_answer::<TakenDelivery>(schemas, 202);
    }
}
