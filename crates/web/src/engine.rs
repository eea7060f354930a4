//! The search engines: the request and the answer of each. No I/O happens here.

use serde_json::{Value, json};

use crate::results::{SearchResult, SearchResults, plain};

/// A search engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchEngine {
    /// Brave's Web Search API (<https://api-dashboard.search.brave.com/docs>).
    Brave,
    /// Tavily's search, which can answer a question besides
    /// (<https://docs.rs/crate/lc-tools/latest/source/src/hosted_search/tavily.rs> names its fields).
    Tavily,
    /// Exa's search (<https://docs.rs/lc-tools/latest/src/lc_tools/hosted_search/exa.rs.html> names its
    /// fields).
    Exa,
    /// An instance of SearXNG whose settings allow the format `json`
    /// (<https://docs.searxng.org/dev/search_api>).
    Searxng,
}

/// The request to an engine, without its key.
pub(crate) struct EngineRequest {
    /// The address below the engine's own.
    pub(crate) path: &'static str,
    /// Parameters of the address.
    pub(crate) parameters: Vec<(&'static str, String)>,
    /// The body of a POST; `None` for a GET.
    pub(crate) body: Option<Value>,
}

impl SearchEngine {
    /// All engines.
    pub const ALL: [Self; 4] = [Self::Brave, Self::Tavily, Self::Exa, Self::Searxng];

    /// Returns the name of the engine in the settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Brave => "brave",
            Self::Tavily => "tavily",
            Self::Exa => "exa",
            Self::Searxng => "searxng",
        }
    }

    /// Returns the engine of this name.
    ///
    /// ```
    /// use agentx_web::SearchEngine;
    /// assert_eq!(SearchEngine::named("searxng"), Some(SearchEngine::Searxng));
    /// assert_eq!(SearchEngine::named("altavista"), None);
    /// ```
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|engine| engine.name() == name)
    }

    /// Returns the address of the engine; `None` for SearXNG, which everybody runs at their own.
    pub fn address(self) -> Option<&'static str> {
        match self {
            Self::Brave => Some("https://api.search.brave.com/res/v1"),
            Self::Tavily => Some("https://api.tavily.com"),
            Self::Exa => Some("https://api.exa.ai"),
            Self::Searxng => None,
        }
    }

    /// Returns whether the engine requires a key.
    pub fn needs_key(self) -> bool {
        self != Self::Searxng
    }

    /// Returns the header that carries a key.
    pub(crate) fn key_header(self, key: &str) -> (&'static str, String) {
        match self {
            Self::Brave => ("x-subscription-token", key.to_owned()),
            Self::Exa => ("x-api-key", key.to_owned()),
            Self::Tavily | Self::Searxng => ("authorization", format!("Bearer {key}")),
        }
    }

    pub(crate) fn request(self, query: &str, most: usize, with_answer: bool) -> EngineRequest {
        match self {
            Self::Brave => EngineRequest {
                path: "web/search",
                parameters: vec![("q", query.to_owned()), ("count", most.to_string())],
                body: None,
            },
            Self::Searxng => EngineRequest {
                path: "search",
                parameters: vec![("q", query.to_owned()), ("format", "json".to_owned())],
                body: None,
            },
            Self::Tavily => EngineRequest {
                path: "search",
                parameters: Vec::new(),
                body: Some(json!({"query": query, "max_results": most, "include_answer": with_answer})),
            },
            Self::Exa => EngineRequest {
                path: "search",
                parameters: Vec::new(),
                body: Some(json!({"query": query, "numResults": most, "contents": {"highlights": true}})),
            },
        }
    }

    /// Reads an answer. Entries without an address are left out, and the engine's own answer unless it is
    /// wanted: some engines send one with every search.
    pub(crate) fn read(self, answer: &Value, most: usize, with_answer: bool) -> Option<SearchResults> {
        let list = match self {
            Self::Brave if answer.get("type").is_some() || answer.get("web").is_some() => {
                answer.pointer("/web/results").unwrap_or(&Value::Null)
            }
            Self::Brave => return None,
            Self::Tavily | Self::Exa | Self::Searxng => answer.get("results")?,
        };
        let entries = list.as_array().map(Vec::as_slice).unwrap_or_default();
        let results = entries.iter().filter_map(|entry| self.result(entry)).take(most);
        Some(SearchResults {
            answer: self.answer(answer).filter(|_| with_answer),
            results: results.collect(),
        })
    }

    fn result(self, entry: &Value) -> Option<SearchResult> {
        let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
        let excerpt = match self {
            Self::Brave => text("description").to_owned(),
            Self::Tavily | Self::Searxng => text("content").to_owned(),
            Self::Exa => {
                let parts = entry.get("highlights").and_then(Value::as_array);
                let parts: Vec<&str> = parts.into_iter().flatten().filter_map(Value::as_str).collect();
                if parts.is_empty() {
                    text("text").to_owned()
                } else {
                    parts.join(" … ")
                }
            }
        };
        let date = ["publishedDate", "published_date", "page_age"].map(text);
        Some(SearchResult {
            title: plain(text("title")),
            url: Some(text("url")).filter(|url| !url.is_empty())?.to_owned(),
            excerpt: plain(&excerpt),
            date: date.into_iter().find(|date| !date.is_empty()).map(str::to_owned),
        })
    }

    fn answer(self, answer: &Value) -> Option<String> {
        let said = match self {
            Self::Tavily => answer.get("answer"),
            // Older versions have a list of texts, newer ones a list of objects.
            Self::Searxng => answer
                .pointer("/answers/0")
                .map(|first| first.get("answer").unwrap_or(first)),
            Self::Brave | Self::Exa => None,
        };
        let said = said?.as_str().map(plain)?;
        (!said.is_empty()).then_some(said)
    }
}
