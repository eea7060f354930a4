//! Web Push: the key of the server, and the subscription of the caller's page. A page gets short messages
//! about calls that wait while it is closed; `push_notices.rs` sends them.

use agentx_types::wire::Problem;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::http::handlers::tokens::on_disk;
use crate::http::requests::body::JsonBody;
use crate::http::requests::signed_in::SignedIn;
use crate::http::responses::{DoneResponse, JsonResponse};
use crate::http::{ApiError, HandlerState};
use crate::problems::problem;
use crate::push::{PushSubscription, SubscriptionError};

/// The state of Web Push for the caller.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PushStatus {
    /// The key of the server, as a browser takes it (`applicationServerKey`): 65 bytes in base64url.
    public_key: String,
    /// Whether the caller's page is subscribed.
    subscribed: bool,
}

/// A subscription, as the browser of the page made it.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct PushWish {
    /// The address of the browser's push service: `https`, on the public internet.
    #[schemars(length(max = 1024))]
    endpoint: String,
    /// The keys of the page.
    keys: PushKeys,
}

/// The keys of a page.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct PushKeys {
    /// Its public key: 65 bytes in base64url.
    #[schemars(length(max = 128))]
    p256dh: String,
    /// Its secret: 16 bytes in base64url.
    #[schemars(length(max = 64))]
    auth: String,
}

pub(crate) async fn status(
    app: HandlerState,
    SignedIn(owner): SignedIn,
) -> Result<JsonResponse<PushStatus>, ApiError> {
    let push = app.state.push.clone();
    let key = on_disk(move || {
        push.key().map_err(|error| {
            tracing::warn!(%error, "the server has no key for Web Push");
            kept_nowhere()
        })
    });
    let subscriptions = app.state.push.subscriptions();
    Ok(JsonResponse(PushStatus {
        public_key: key.await?.public(),
        subscribed: owner.page_login().is_some_and(|login| subscriptions.has(login)),
    }))
}

pub(crate) async fn subscribe(
    app: HandlerState,
    SignedIn(owner): SignedIn,
    JsonBody(wish): JsonBody<PushWish>,
) -> Result<DoneResponse, ApiError> {
    let Some(login) = owner.page_login() else {
        let what =
            "only a page gets messages: sign in in a browser, by the address that `agentx serve` prints";
        return Err(ApiError::new("refused", what));
    };
    let subscription = PushSubscription {
        login: login.to_owned(),
        person: owner.person.clone(),
        endpoint: wish.endpoint,
        p256dh: wish.keys.p256dh,
        auth: wish.keys.auth,
    };
    let push = app.state.push.clone();
    let put = on_disk(move || {
        let checked = push.check_subscription(&subscription);
        checked.map_err(|what| problem("bad_request", &what))?;
        push.subscriptions()
            .put(subscription)
            .map_err(|error| refusal(&error))
    });
    put.await?;
    Ok(DoneResponse)
}

pub(crate) async fn unsubscribe(
    app: HandlerState,
    SignedIn(owner): SignedIn,
) -> Result<DoneResponse, ApiError> {
    if let Some(login) = owner.page_login() {
        let (push, logins) = (app.state.push.clone(), [login.to_owned()]);
        let removed = on_disk(move || {
            let removed = push.subscriptions().remove(&logins);
            removed.map_err(|error| refusal(&error))
        });
        removed.await?;
    }
    Ok(DoneResponse)
}

/// Returns why a subscription is not changed. The path of the file is for the operator alone.
fn refusal(error: &SubscriptionError) -> Box<Problem> {
    match error {
        SubscriptionError::Full => problem("too_many", &error.to_string()),
        SubscriptionError::File { .. } => {
            tracing::warn!(%error, "cannot keep the subscription of a page");
            kept_nowhere()
        }
    }
}

fn kept_nowhere() -> Box<Problem> {
    let what = "the server cannot keep what it needs for messages to pages; its log says why";
    problem("unavailable", what)
}
