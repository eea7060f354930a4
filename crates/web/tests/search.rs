//! `web_search` against servers that answer as the engines do. The answers are made up in the engines' forms.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use agentx_runtime::{Tool, ToolContext, ToolOutcome};

use agentx_testing::{Gate, ServerReply, TestServer, fixture};
use agentx_tools::Typed;
use agentx_types::ToolStatus;
use agentx_web::{SearchEngine, SearchKey, WebSearchOptions, WebSearchTool};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

fn context(cancel: CancellationToken) -> ToolContext {
    ToolContext {
        cancel,
        ..fixture::tool_context(std::env::temp_dir())
    }
}

fn tool(engine: SearchEngine, address: &str, key: SearchKey) -> Typed<WebSearchTool> {
    Typed::new(WebSearchTool::new(WebSearchOptions {
        engine,
        address: Some(address.to_owned()),
        key,
    }))
}

fn key() -> SearchKey {
    SearchKey::Known("made-up-key".into())
}

/// The result of a search whose engine answers like this, and the request to it.
async fn searched(engine: SearchEngine, reply: ServerReply, input: Value) -> (ToolOutcome, TestServer) {
    let server = TestServer::accepting([reply]).await;
    let outcome = tool(engine, &server.url(), key())
        .call(input, context(CancellationToken::new()))
        .await;
    (outcome, server)
}

fn text(outcome: &ToolOutcome) -> String {
    outcome.content.iter().filter_map(|part| part.as_text()).collect()
}

#[tokio::test]
async fn each_engine_is_asked_in_its_way_and_gives_the_same() {
    let page = |excerpt: &str, value: Value| {
        let mut page = json!({"title": "A <b>page</b> &amp; more", "url": "https://example.org/a"});
        page[excerpt] = value;
        page
    };
    let words = || json!("What\nit <strong>says</strong>");
    let answers = [
        (
            SearchEngine::Brave,
            json!({"type": "search", "web": {"results": [page("description", words())]}}),
            ("x-subscription-token", "made-up-key"),
        ),
        (
            SearchEngine::Tavily,
            json!({"answer": null, "results": [page("content", words())]}),
            ("authorization", "Bearer made-up-key"),
        ),
        (
            SearchEngine::Exa,
            json!({"results": [page("highlights", json!([words()]))]}),
            ("x-api-key", "made-up-key"),
        ),
        (
            SearchEngine::Searxng,
            json!({"results": [page("content", words())], "answers": []}),
            ("authorization", "Bearer made-up-key"),
        ),
    ];
    for (engine, answer, (header, value)) in answers {
        let input = json!({"query": "rust & tokio", "max_results": 3});
        let (outcome, server) = searched(engine, ServerReply::json(200, &answer), input).await;
        let said = text(&outcome);
        assert_eq!(outcome.status, ToolStatus::Success, "{engine:?}: {said}");
        assert!(
            said.ends_with("\n1. A page & more\n   https://example.org/a\n   What it says\n"),
            "{engine:?}: {said}"
        );
        let request = server.requests().remove(0);
        assert_eq!(request.header(header), Some(value), "{engine:?}");
        let asked = format!("{} {}", request.path, String::from_utf8_lossy(&request.body));
        assert!(
            asked.contains("q=rust+%26+tokio") || asked.contains("\"query\":\"rust & tokio\""),
            "{engine:?}: {asked}"
        );
    }
}

#[tokio::test]
async fn the_engines_own_answer_comes_first_and_other_peoples_words_are_marked() {
    let answer = json!({"answer": "Forty-two.", "results": [
        {"title": "T", "url": "https://example.org", "content": "x".repeat(5_000)},
        {"title": "no address"},
    ]});
    let input = json!({"query": "q", "include_answer": true});
    let (outcome, server) = searched(SearchEngine::Tavily, ServerReply::json(200, &answer), input).await;
    let said = text(&outcome);
    assert!(
        said.starts_with("Found on the web. These are other people's words"),
        "{said}"
    );
    assert!(said.contains("own answer: Forty-two.\n\n1. T\n"), "{said}");
    assert!(said.len() < 1_200 && !said.contains("2. "), "{said}");
    assert_eq!(server.requests()[0].json()["include_answer"], true);
    assert_eq!(
        outcome.details.unwrap()["found"]["results"][0]["url"],
        "https://example.org"
    );
}

#[tokio::test]
async fn an_engines_own_answer_that_nobody_asked_for_is_left_out() {
    let page = json!({"title": "T", "url": "https://example.org", "content": "words"});
    for (engine, answer) in [
        (
            SearchEngine::Searxng,
            json!({"answers": ["Forty-two."], "results": [page]}),
        ),
        (
            SearchEngine::Searxng,
            json!({"answers": [{"answer": "Forty-two."}], "results": [page]}),
        ),
        (
            SearchEngine::Tavily,
            json!({"answer": "Forty-two.", "results": [page]}),
        ),
    ] {
        for (input, is_wanted) in [
            (json!({"query": "q"}), false),
            (json!({"query": "q", "include_answer": false}), false),
            (json!({"query": "q", "include_answer": true}), true),
        ] {
            let (outcome, _server) = searched(engine, ServerReply::json(200, &answer), input).await;
            let told = format!("{} {}", text(&outcome), outcome.details.clone().unwrap());
            assert_eq!(told.contains("Forty-two."), is_wanted, "{engine:?}: {told}");
            assert!(told.contains("https://example.org"), "{engine:?}: {told}");
        }
    }
}

#[tokio::test]
async fn what_goes_wrong_is_said_without_the_key() {
    let huge = format!("[\"{}\"]", "x".repeat(3 << 20));
    let cases = [
        (
            ServerReply::json(401, &json!({"error": "bad token"})),
            "401 Unauthorized. The key may be wrong",
        ),
        (ServerReply::status(429), "too many searches"),
        (
            ServerReply::status(301).header("location", "http://127.0.0.1:1/"),
            "set `web_search.url`",
        ),
        (ServerReply::body(200, "text/html", "<html>"), "is not JSON"),
        (
            ServerReply::json(200, &json!({"hits": []})),
            "no results in the usual form",
        ),
        (
            ServerReply::body(200, "application/json", huge),
            "longer than 2097152 bytes",
        ),
    ];
    for (reply, what) in cases {
        let (outcome, server) = searched(SearchEngine::Exa, reply, json!({"query": "q"})).await;
        let said = text(&outcome);
        assert_eq!(outcome.status, ToolStatus::Failed, "{said}");
        assert!(
            said.contains(what) && !said.contains("made-up-key"),
            "{what}: {said}"
        );
        assert_eq!(server.requests().len(), 1, "{what}: nothing is asked twice");
    }
    let nobody = agentx_testing::refusing_address().await;
    let outcome = tool(SearchEngine::Brave, &format!("http://{nobody}"), key())
        .call(json!({"query": "secret plan"}), context(CancellationToken::new()))
        .await;
    let said = text(&outcome);
    assert!(
        said.contains("cannot be reached") && !said.contains("secret"),
        "{said}"
    );
}

#[tokio::test]
async fn a_missing_key_or_address_and_wrong_arguments_ask_nobody() {
    let missing = SearchKey::Missing {
        variable: "SEARCH_KEY".into(),
    };
    for (engine, key, what) in [
        (SearchEngine::Brave, missing, "set the variable SEARCH_KEY"),
        (SearchEngine::Exa, SearchKey::None, "set `web_search.api_key`"),
    ] {
        let outcome = tool(engine, "http://127.0.0.1:1", key)
            .call(json!({"query": "q"}), context(CancellationToken::new()))
            .await;
        assert!(text(&outcome).contains(what), "{}", text(&outcome));
    }
    let without = WebSearchTool::new(WebSearchOptions {
        engine: SearchEngine::Searxng,
        address: None,
        key: SearchKey::None,
    });
    let outcome = Typed::new(without)
        .call(json!({"query": "q"}), context(CancellationToken::new()))
        .await;
    assert!(text(&outcome).contains("`web_search.url`"), "{}", text(&outcome));
    for wrong in [
        json!({"query": " "}),
        json!({"query": "x".repeat(401)}),
        json!({"query": "q", "max_results": 0}),
        json!({"query": "q", "max_results": 21}),
        json!({"query": "q", "engine": "x"}),
    ] {
        let outcome = tool(SearchEngine::Brave, "http://127.0.0.1:1", key())
            .call(wrong.clone(), context(CancellationToken::new()))
            .await;
        assert_eq!(outcome.status, ToolStatus::Invalid, "{wrong}: {}", text(&outcome));
    }
}

#[tokio::test]
async fn a_search_that_is_cancelled_ends_at_once() {
    let gate = Gate::closed();
    let server = TestServer::accepting([ServerReply::stream().wait_at(&gate)]).await;
    let cancel = CancellationToken::new();
    let tool = tool(SearchEngine::Searxng, &server.url(), SearchKey::None);
    let (outcome, ()) = tokio::join!(tool.call(json!({"query": "q"}), context(cancel.clone())), async {
        gate.reached().await;
        cancel.cancel();
    });
    assert_eq!(outcome.status, ToolStatus::Interrupted);
}
