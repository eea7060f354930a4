//! A server as analyzer: a request is sent to it as JSON by POST, and the answer has its verdict as JSON.
//! docs/APPROVALS.md has both forms. Redirects are not followed, because a header with a key would go along.
//!
//! The address and the headers come from the person's own settings, never from a folder. A status other than
//! 2xx, an answer of more than 64 KiB and anything that is not one JSON object are the verdict `UNKNOWN`,
//! with a reason that names neither the address nor a header, because both may hold a key.

use agentx_config::HeaderSetting;
use agentx_http::{Certificates, client_builder};
use agentx_runtime::{AnalyzerAnswer, BoxFuture, CallToAssess, SecurityAnalyzer, verdict_in};
use agentx_types::RiskVerdict;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

use crate::analyzer_program::{ANSWER_BYTES, document};

/// Asks a server for each call.
pub(crate) struct ServerAnalyzer {
    /// The address.
    pub(crate) url: String,
    /// Headers of each request.
    pub(crate) headers: Vec<HeaderSetting>,
}

impl SecurityAnalyzer for ServerAnalyzer {
    fn assess(&self, call: CallToAssess) -> BoxFuture<'static, AnalyzerAnswer> {
        let (url, headers) = (self.url.clone(), headers_of(&self.headers));
        Box::pin(async move {
            let name = call.request.analyzer.name.clone();
            let body = document(&call.request).to_string();
            let said = tokio::select! {
                biased;
                () = call.cancel.cancelled() => Err("stopped".to_owned()),
                said = post(url, headers, body) => said,
            };
            AnalyzerAnswer::free(match said {
                Ok(text) => verdict_in(&name, &text),
                Err(reason) => RiskVerdict::unknown(name, reason),
            })
        })
    }
}

/// The headers of a request; an error names one that no request can have.
fn headers_of(headers: &[HeaderSetting]) -> Result<HeaderMap, String> {
    let mut map = HeaderMap::new();
    map.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    for header in headers {
        let Some(value) = header.value.value() else {
            return Err(format!("the header {} has no value", header.name));
        };
        let wrong = || format!("no request can have the header {:?} with its value", header.name);
        let name = HeaderName::from_bytes(header.name.as_bytes()).map_err(|_| wrong())?;
        let mut value = HeaderValue::from_str(value.expose()).map_err(|_| wrong())?;
        value.set_sensitive(true);
        map.insert(name, value);
    }
    Ok(map)
}

/// Sends a request; returns the text of the answer, or the reason why there is none. Reasons have no address,
/// which may hold a key.
async fn post(url: String, headers: Result<HeaderMap, String>, body: String) -> Result<String, String> {
    let headers = headers?;
    let certificates = Certificates::for_scheme(url.split(':').next().unwrap_or_default());
    // Reading the root certificates of the machine blocks.
    let client = tokio::task::spawn_blocking(move || client_builder(certificates).build()).await;
    let failed = |error: reqwest::Error| format!("the server failed: {}", error.without_url());
    let client = client.map_err(|error| error.to_string())?.map_err(failed)?;
    let mut answer = client
        .post(&url)
        .headers(headers)
        .body(body)
        .send()
        .await
        .map_err(failed)?;
    if !answer.status().is_success() {
        return Err(format!("the server answered {}", answer.status()));
    }
    let mut text = Vec::new();
    while let Some(piece) = answer.chunk().await.map_err(failed)? {
        text.extend_from_slice(&piece);
        if text.len() as u64 > ANSWER_BYTES {
            return Err("the answer of the server is too long".to_owned());
        }
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

#[cfg(test)]
mod tests {
    use agentx_config::ApiKeySource;
    use agentx_testing::fixture;
    use agentx_types::{JudgeDecision, SecurityRisk};
    use serde_json::json;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;
    use tokio_util::sync::CancellationToken;

    use super::*;

    /// Answers one request with these bytes; returns the verdict and what was sent.
    async fn said(answer: &'static str) -> (RiskVerdict, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/assess", listener.local_addr().unwrap());
        let server = tokio::spawn(async move {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut read = Vec::new();
            while !read.ends_with(b"}") {
                let mut piece = [0; 4096];
                let count = socket.read(&mut piece).await.unwrap();
                assert!(count > 0, "the request ended early");
                read.extend_from_slice(&piece[..count]);
            }
            socket.write_all(answer.as_bytes()).await.unwrap();
            String::from_utf8(read).unwrap()
        });
        let analyzer = ServerAnalyzer {
            url,
            headers: vec![HeaderSetting {
                name: "x-team".into(),
                value: ApiKeySource::Literal(agentx_llm::Secret::new("blue-made-up")),
            }],
        };
        let call = CallToAssess {
            action: fixture::call_tool("call_1", "bash", json!({})),
            request: fixture::assess_risk("gate"),
            session: None,
            cancel: CancellationToken::new(),
        };
        let verdict = analyzer.assess(call).await.verdict;
        (verdict, server.await.unwrap())
    }

    #[tokio::test]
    async fn a_server_gets_the_call_and_says_its_verdict() {
        let body =
            "HTTP/1.1 200 OK\r\ncontent-length: 40\r\n\r\n{\"risk\": \"high\", \"decision\": \"refuse\"  }";
        let (verdict, sent) = said(body).await;
        assert_eq!(
            (verdict.risk, verdict.decision),
            (SecurityRisk::High, Some(JudgeDecision::Refuse))
        );
        assert!(
            sent.starts_with("POST /assess") && sent.contains("x-team: blue-made-up"),
            "{sent}"
        );
        assert!(sent.contains(r#""command":"ls""#), "{sent}");
    }

    #[tokio::test]
    async fn another_answer_is_an_unknown_risk() {
        for answer in [
            "HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 307 Temporary Redirect\r\nlocation: http://127.0.0.1:9/\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
        ] {
            let (verdict, _) = said(answer).await;
            assert_eq!(
                (verdict.risk, verdict.decision),
                (SecurityRisk::Unknown, None),
                "{answer}"
            );
        }
    }
}
