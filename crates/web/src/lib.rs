//! The tools of the web: `web_search` asks one search engine, chosen by the person, and returns titles,
//! addresses and excerpts; `web_extract` fetches pages and returns their main text.
//!
//! For searches, four engines have one interface: Brave, Tavily and Exa, which need a key, and SearXNG, which
//! needs the address of an instance. Only the engine is asked: the pages that it finds are not fetched.
//! Redirects are not followed, so a key goes to no other address than the configured one.
//!
//! Pages are fetched only from the public internet, and read by a helper in a separate process
//! ([`DocumentHelper`]). The helper also reads PDFs for `read` and for files that a person attaches.

mod documents;
mod engine;
mod pages;
mod results;
mod search_tool;

pub use documents::{DocumentFormat, DocumentHelper, DocumentText, act_as_document_helper};
pub use engine::SearchEngine;
pub use pages::{WebExtractInput, WebExtractOptions, WebExtractTool};
pub use results::{SearchResult, SearchResults};
pub(crate) use search_tool::cause;
pub use search_tool::{SearchKey, WebSearchInput, WebSearchOptions, WebSearchTool};
