//! The tool `web_search`: it asks one search engine, chosen by the person, and returns titles, addresses and
//! excerpts.
//!
//! Four engines have one interface: Brave, Tavily and Exa, which need a key, and SearXNG, which needs the
//! address of an instance. Only the engine is asked: the pages that it finds are not fetched. Redirects are
//! not followed, so a key goes to no other address than the configured one.

mod engine;
mod results;
mod search_tool;

pub use engine::SearchEngine;
pub use results::{SearchResult, SearchResults};
pub use search_tool::{SearchKey, WebSearchInput, WebSearchOptions, WebSearchTool};
