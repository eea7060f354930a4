//! The tests of this crate as one binary, because each one links the whole of what it uses.

mod connections;
mod http_api;
mod people;
mod subscriptions;
mod tls;

mod support;
