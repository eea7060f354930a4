//! The tool `web_extract`: pages are fetched within limits, kept as they were fetched, and shown as Markdown.
//!
//! `fetch` sends the requests, `response` reads parts of answers, `robots` reads the rules of `robots.txt`
//! files, `robots_files` keeps these rules for a while, `content` identifies the content, and `extract_tool`
//! is the tool. `agentx-http` decides which addresses may be asked for.

mod content;
mod extract_tool;
mod fetch;
mod response;
mod robots;
mod robots_files;

pub use extract_tool::{WebExtractInput, WebExtractOptions, WebExtractTool};
