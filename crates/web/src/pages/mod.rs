//! The tool `web_extract`: pages are fetched within limits, kept as they were fetched, and shown as Markdown.
//!
//! `address` decides which addresses may be asked for, `guard` which addresses of the network are connected
//! to, `fetch` sends the requests, `response` reads parts of answers, `robots` reads the rules of
//! `robots.txt` files, `robots_files` keeps these rules for a while, `content` identifies the content, and
//! `extract_tool` is the tool.

mod address;
mod content;
mod extract_tool;
mod fetch;
mod guard;
mod response;
mod robots;
mod robots_files;

pub use extract_tool::{WebExtractInput, WebExtractOptions, WebExtractTool};
