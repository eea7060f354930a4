//! The connection behind a request of another protocol that is answered by requests to the API: they are
//! authenticated, counted and bounded as if the client had sent them itself.

use std::sync::Arc;

use agentx_identity::AuthChallenge;
use agentx_types::wire::{CommandFrame, Problem};
use axum::extract::ConnectInfo;
use axum::http::{Extensions, HeaderMap};
use serde_json::Value;

use crate::actions::session_actions::to_problem;
use crate::auth::caller::Caller;
use crate::auth::issued_tokens::TokenClient;
use crate::connections::channel::ConnectionChannel;
use crate::connections::connection_limits::{Permit, address_of};
use crate::quotas::{ConnectionSlot, QuotaGuard};
use crate::state::ServerState;

/// A client's connection, as requests in its name need it.
#[derive(Clone)]
pub struct ApiConnection {
    client: Option<ConnectInfo<std::net::SocketAddr>>,
    channel: ConnectionChannel,
    permit: Option<Permit>,
    address: String,
}

/// A long connection of another protocol. It counts for its person, or for its address, until it is dropped.
pub struct CountedConnection {
    _guard: QuotaGuard,
}

impl ApiConnection {
    /// Takes the connection from the extensions of a request that this server received.
    pub fn new(extensions: &Extensions) -> Self {
        Self {
            client: extensions.get().copied(),
            channel: extensions.get().copied().unwrap_or_default(),
            permit: extensions.get::<Permit>().cloned(),
            address: address_of(extensions),
        }
    }

    /// Returns the extensions of a request to the API in the name of this client.
    pub fn extensions(&self) -> Extensions {
        let mut extensions = Extensions::new();
        extensions.insert(self.channel);
        if let Some(client) = self.client {
            extensions.insert(client);
        }
        if let Some(permit) = &self.permit {
            extensions.insert(permit.clone());
        }
        extensions
    }

    /// Returns who sends requests with these headers over this connection.
    ///
    /// # Errors
    /// Returns an error if [`ServerState::caller_of`] does.
    pub fn caller(&self, state: &ServerState, headers: &HeaderMap) -> Result<Caller, Box<Problem>> {
        state.caller_of(headers, &self.channel, &self.address)
    }

    /// Keeps a challenge that the API gave this client for this connection alone: the API takes no answer to
    /// it any more. `None` if it is unknown, was used or has expired.
    pub fn keep_challenge(&self, state: &ServerState, nonce: &str) -> Option<AuthChallenge> {
        state.auth().withdraw(nonce, state.now_ms())
    }

    /// Answers a challenge that was kept for this connection. Returns the token of whoever signed it.
    ///
    /// # Errors
    /// Returns an error if the signature is not of that key over that challenge, or the key is not known
    /// here.
    pub fn sign_in(
        &self,
        state: &ServerState,
        challenge: &AuthChallenge,
        public_key: &str,
        signature: &str,
    ) -> Result<String, Box<Problem>> {
        let client = TokenClient {
            channel: &self.channel,
            address: &self.address,
            now_ms: state.now_ms(),
        };
        let issued = state
            .auth()
            .token_of_kept(public_key, challenge, signature, &client);
        issued.map(|issued| issued.token)
    }

    /// Carries out a command in a session in the name of the client, as its frame on a WebSocket would;
    /// returns its outcome.
    ///
    /// # Errors
    /// Returns an error if the caller is not known or may not, or if the command fails.
    pub async fn command(
        &self,
        state: &Arc<ServerState>,
        headers: &HeaderMap,
        frame: CommandFrame,
    ) -> Result<Value, Box<Problem>> {
        let caller = self.caller(state, headers)?;
        let done = state.command(&caller, frame).await;
        done.map(|(_, outcome)| outcome)
            .map_err(|error| to_problem(&error))
    }

    /// Counts the connection, as a WebSocket or a stream of events of this caller. `None` if they have too
    /// many.
    pub fn count(&self, state: &ServerState, caller: &Caller) -> Option<CountedConnection> {
        let slot = ConnectionSlot {
            person: &caller.person,
            operator: caller.operator,
            visitor: caller.visitor,
            address: &self.address,
        };
        state
            .count_in(&slot)
            .map(|guard| CountedConnection { _guard: guard })
    }
}
