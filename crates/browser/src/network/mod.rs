//! The network of a browser: a gate that decides about hosts, and a proxy that Chromium sends everything
//! through.
//!
//! `host_gate` decides, `guarded_proxy` connects.

mod guarded_proxy;
mod host_gate;

pub(crate) use guarded_proxy::GuardedProxy;
pub(crate) use host_gate::{NavigationRules, PageHostGate};
