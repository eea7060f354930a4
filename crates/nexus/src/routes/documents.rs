//! The requests with one answer: commands, settings, texts and messages.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, Request, State};
use axum::http::Method;
use axum::http::request::Parts;
use serde::Deserialize;
use serde_json::{Value, json};

use super::bodies::json_body;
use crate::frames::commands::{NexusResult, command_line};
use crate::frames::history::NexusDocument;
use crate::frames::requests::NexusCommand;
use crate::frames::settings::{
    NexusOverrides, config_change, config_document, prompts_change, prompts_document,
};
use crate::gateway::caller::NexusCaller;
use crate::gateway::refusal::ApiRefusal;
use crate::gateway::{Gateway, command_runs};

/// The most messages of one answer.
const MESSAGES: usize = 100;

/// The query of `GET /messages`.
#[derive(Deserialize)]
pub(super) struct HistoryQuery {
    #[serde(default = "usual_limit")]
    limit: usize,
}

fn usual_limit() -> usize {
    20
}

pub(super) async fn commands(
    State(gateway): State<Gateway>,
    parts: Parts,
) -> Result<Json<Value>, ApiRefusal> {
    let caller = gateway.caller(&parts);
    Ok(Json(command_runs::definitions(&caller).await?))
}

pub(super) async fn execute(
    State(gateway): State<Gateway>,
    request: Request,
) -> Result<Json<NexusResult>, ApiRefusal> {
    let (parts, body) = request.into_parts();
    let caller = gateway.caller(&parts);
    let person = caller.person().await?;
    let command: NexusCommand = json_body(body, gateway.server().options().limits.body).await?;
    let line = command_line(&command);
    let outcome = command_runs::run(&caller, gateway.conversations(), &person, &line).await;
    Ok(Json(outcome))
}

pub(super) async fn config(State(gateway): State<Gateway>, parts: Parts) -> Result<Json<Value>, ApiRefusal> {
    let own = settings(&gateway.caller(&parts)).await?;
    Ok(Json(config_document(&own)))
}

pub(super) async fn prompts(State(gateway): State<Gateway>, parts: Parts) -> Result<Json<Value>, ApiRefusal> {
    let own = settings(&gateway.caller(&parts)).await?;
    Ok(Json(prompts_document(&own)))
}

pub(super) async fn set_config(
    State(gateway): State<Gateway>,
    request: Request,
) -> Result<Json<Value>, ApiRefusal> {
    change(&gateway, request, "Configuration", |sent| {
        config_change(sent.overrides)
    })
    .await
}

pub(super) async fn set_prompts(
    State(gateway): State<Gateway>,
    request: Request,
) -> Result<Json<Value>, ApiRefusal> {
    change(&gateway, request, "Prompts", |sent| {
        prompts_change(sent.overrides)
    })
    .await
}

pub(super) async fn messages(
    State(gateway): State<Gateway>,
    query: Result<Query<HistoryQuery>, QueryRejection>,
    parts: Parts,
) -> Result<Json<Vec<NexusDocument>>, ApiRefusal> {
    let caller = gateway.caller(&parts);
    let person = caller.person().await?;
    let Query(query) = query?;
    if !(1..=MESSAGES).contains(&query.limit) {
        let what = format!("a limit is from 1 to {MESSAGES}");
        return Err(ApiRefusal::bad_request(what));
    }
    let found = gateway
        .conversations()
        .latest(&caller, &person, query.limit)
        .await?;
    Ok(Json(found.documents(person.person.as_str())))
}

async fn settings(caller: &NexusCaller) -> Result<Value, ApiRefusal> {
    caller.ask(Method::GET, "/v1/config", None).await
}

/// Changes settings or texts of the caller.
async fn change(
    gateway: &Gateway,
    request: Request,
    what: &str,
    wish: impl FnOnce(NexusOverrides) -> Value,
) -> Result<Json<Value>, ApiRefusal> {
    let (parts, body) = request.into_parts();
    let caller = gateway.caller(&parts);
    if caller.person().await?.visitor {
        return Err(ApiRefusal::of_visitor());
    }
    let sent = json_body(body, gateway.server().options().limits.body).await?;
    caller.ask(Method::POST, "/v1/config", Some(&wish(sent))).await?;
    let message = format!("{what} updated");
    Ok(Json(json!({"status": "success", "message": message})))
}
