//! A model server on a real socket that refuses the same requests as a vendor, and answers others with the
//! test's answers.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::vendors::{
    Anthropic, BedrockServer, ChatServer, ConverseServer, GeminiServer, GoogleTokenServer,
    InteractionsServer, ModelAnswer, ResponsesServer, VendorRefusal, VertexServer,
};
use crate::{HttpRequest, ServerReply, TestServer};

/// The server. It stops when it is dropped.
#[derive(Debug)]
pub struct StrictServer {
    server: TestServer,
    refused: Arc<Mutex<Vec<VendorRefusal>>>,
}

impl StrictServer {
    /// Starts a server for Anthropic Messages. `answers` returns the model's answer to an accepted request.
    ///
    /// # Panics
    /// Panics if no port is free.
    pub async fn anthropic(
        vendor: Anthropic,
        answers: impl Fn(&Value) -> ModelAnswer + Send + Sync + 'static,
    ) -> Self {
        let vendor = Mutex::new(vendor);
        Self::start(move |request| {
            let beta = request.header("anthropic-beta").unwrap_or_default();
            let accepted = locked(&vendor).check(&request.body, beta)?;
            Ok(accepted.stream(&answers(&request.json())))
        })
        .await
    }

    /// Starts a server for Chat Completions. `answers` returns the model's answer to an accepted request.
    ///
    /// # Panics
    /// Panics if no port is free.
    pub async fn chat(
        vendor: ChatServer,
        answers: impl Fn(&Value) -> ModelAnswer + Send + Sync + 'static,
    ) -> Self {
        let vendor = Mutex::new(vendor);
        Self::start(move |request| {
            let accepted = locked(&vendor).check(&request.body)?;
            Ok(accepted.stream(&answers(&request.json())))
        })
        .await
    }

    /// Starts a server for Responses. `answers` returns the model's answer to an accepted request.
    ///
    /// # Panics
    /// Panics if no port is free.
    pub async fn responses(
        vendor: ResponsesServer,
        answers: impl Fn(&Value) -> ModelAnswer + Send + Sync + 'static,
    ) -> Self {
        let vendor = Mutex::new(vendor);
        Self::start(move |request| {
            let accepted = locked(&vendor).check(&request.body)?;
            Ok(accepted.stream(&answers(&request.json())))
        })
        .await
    }

    /// Starts a server for Gemini. `answers` returns the model's answer to an accepted request.
    ///
    /// # Panics
    /// Panics if no port is free.
    pub async fn gemini(
        vendor: GeminiServer,
        answers: impl Fn(&Value) -> ModelAnswer + Send + Sync + 'static,
    ) -> Self {
        let vendor = Mutex::new(vendor);
        Self::start(move |request| {
            let accepted = locked(&vendor).check(&request.path, &request.body)?;
            Ok(accepted.stream(&answers(&request.json())))
        })
        .await
    }

    /// Starts a server for Gemini's Interactions. `answers` returns the model's answer to an accepted
    /// request.
    ///
    /// # Panics
    /// Panics if no port is free.
    pub async fn interactions(
        vendor: InteractionsServer,
        answers: impl Fn(&Value) -> ModelAnswer + Send + Sync + 'static,
    ) -> Self {
        let vendor = Mutex::new(vendor);
        Self::start(move |request| {
            let accepted = locked(&vendor).check(&request.body)?;
            Ok(accepted.stream(&answers(&request.json())))
        })
        .await
    }

    /// Starts a server for Anthropic's models at Amazon Bedrock. `answers` returns the model's answer to an
    /// accepted request, whose signature has to be of the last five minutes.
    ///
    /// # Panics
    /// Panics if no port is free.
    pub async fn bedrock(
        vendor: BedrockServer,
        answers: impl Fn(&Value) -> ModelAnswer + Send + Sync + 'static,
    ) -> Self {
        let vendor = Mutex::new(vendor);
        let answer = move |request: &HttpRequest| {
            let accepted = locked(&vendor).check(request, unix_seconds())?;
            Ok(ServerReply::frames().then(accepted.stream(&answers(&request.json()))))
        };
        Self::replying(answer, |refusal| {
            ServerReply::json(refusal.status, &refusal.body)
                .header("x-amzn-errortype", BedrockServer::exception(refusal))
        })
        .await
    }

    /// Starts a server for Amazon Bedrock's Converse; `bedrock` knows who may ask. `answers` returns the
    /// model's answer to an accepted request.
    ///
    /// # Panics
    /// Panics if no port is free.
    pub async fn converse(
        bedrock: BedrockServer,
        vendor: ConverseServer,
        answers: impl Fn(&Value) -> ModelAnswer + Send + Sync + 'static,
    ) -> Self {
        let vendor = Mutex::new(vendor);
        let answer = move |request: &HttpRequest| {
            let model = bedrock.model_of_converse(request, unix_seconds())?;
            let accepted = locked(&vendor).check(&model, &request.body)?;
            Ok(ServerReply::frames().then(accepted.stream(&answers(&request.json()))))
        };
        Self::replying(answer, |refusal| {
            ServerReply::json(refusal.status, &refusal.body)
                .header("x-amzn-errortype", BedrockServer::exception(refusal))
        })
        .await
    }

    /// Starts a server for Anthropic's models at Vertex AI, which is Google's server of tokens, too
    /// (`/token`). `answers` returns the model's answer to an accepted request.
    ///
    /// # Panics
    /// Panics if no port is free.
    pub async fn vertex(
        vendor: VertexServer,
        tokens: GoogleTokenServer,
        answers: impl Fn(&Value) -> ModelAnswer + Send + Sync + 'static,
    ) -> Self {
        let (vendor, tokens) = (Mutex::new(vendor), Mutex::new(tokens));
        let answer = move |request: &HttpRequest| {
            if request.path == "/token" {
                let host = request.header("host").unwrap_or_default();
                let address = format!("http://{host}/token");
                let token = locked(&tokens).token(&address, request, unix_seconds())?;
                return Ok(ServerReply::json(200, &token));
            }
            let accepted = locked(&vendor).check(request)?;
            Ok(ServerReply::stream().then(accepted.stream(&answers(&request.json()))))
        };
        Self::replying(answer, |refusal| ServerReply::json(refusal.status, &refusal.body)).await
    }

    async fn start(
        answer: impl Fn(&HttpRequest) -> Result<String, VendorRefusal> + Send + Sync + 'static,
    ) -> Self {
        let answer = move |request: &HttpRequest| Ok(ServerReply::stream().then(answer(request)?));
        Self::replying(answer, |refusal| ServerReply::json(refusal.status, &refusal.body)).await
    }

    async fn replying(
        answer: impl Fn(&HttpRequest) -> Result<ServerReply, VendorRefusal> + Send + Sync + 'static,
        refusing: fn(&VendorRefusal) -> ServerReply,
    ) -> Self {
        let refused = Arc::new(Mutex::new(Vec::new()));
        let list = refused.clone();
        let server = TestServer::answering(move |request| match answer(request) {
            // A list of models, which a server need not have.
            Ok(reply) => reply,
            Err(_) if request.method == "GET" => ServerReply::json(404, &serde_json::json!({})),
            Err(refusal) => {
                let reply = refusing(&refusal);
                locked(&list).push(refusal);
                reply
            }
        })
        .await;
        Self { server, refused }
    }

    /// `http://` and its address.
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Returns the received requests, in order, including refused ones.
    pub fn requests(&self) -> Vec<HttpRequest> {
        self.server.requests()
    }

    /// Returns the refusals until now.
    pub fn refused(&self) -> Vec<VendorRefusal> {
        locked(&self.refused).clone()
    }

    /// Fails the test if a request was refused for its form. A full window does not count.
    ///
    /// # Panics
    /// With the refusals.
    #[track_caller]
    pub fn refused_nothing(&self) {
        let refused = self.refused();
        let wrong: Vec<&VendorRefusal> = refused
            .iter()
            .filter(|refusal| !refusal.is_full_window())
            .collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}

/// The present, in seconds since 1970.
pub(crate) fn unix_seconds() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |since| since.as_secs())
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
