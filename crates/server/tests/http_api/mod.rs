//! The server's HTTP, asked as clients ask it: every route with every kind of caller, lists, tags, ranges,
//! streams, and the description that is made of the same table.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod acts;
mod calls_that_ran;
mod deciders;
mod described;
mod desk;
mod files;
mod foreign;
mod lists;
mod lost;
mod mcp;
mod mcp_agents;
mod mcp_headers;
mod mcp_offers;
mod mcp_tokens;
mod members;
mod memories;
mod pages;
mod parts;
mod person_config;
mod push;
mod quotas;
mod schemas;
mod sequences;
mod sizes;
mod streams;
mod values;
mod walk;
mod webhooks;
