//! The tests of this crate as one binary, because each one links the whole of what it uses.

mod auto_approval;
mod connections;
mod embedded;
mod foreign;
mod http_api;
mod keyed;
mod load;
mod members;
mod page;
mod people;
mod proxied;
mod queue;
mod readers;
mod repeated;
mod strangers;
mod subscriptions;
mod tls;
mod unreadable;
mod waiting;
mod widening;

mod support;
