//! A row of the table of routes: its handler as a route of axum, and as a description.

use axum::handler::Handler;
use axum::http::Method;
use axum::routing::{MethodFilter, MethodRouter, on};
use schemars::SchemaGenerator;

use crate::http::HandlerState;
use crate::http::description::describe::{DescribedHandler, Operation};

/// A row of the table of routes.
pub(crate) struct HttpRoute {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    /// The summary, one line.
    pub(crate) summary: &'static str,
    /// The module and the name of the handler.
    pub(crate) name: String,
    pub(crate) handler: MethodRouter<HandlerState>,
    describe: fn(&mut Operation, &mut SchemaGenerator),
}

impl HttpRoute {
    pub(crate) fn get<H, T>(path: &'static str, summary: &'static str, handler: H) -> Self
    where
        H: Handler<T, HandlerState> + DescribedHandler<T>,
        T: 'static,
    {
        Self::new((Method::GET, MethodFilter::GET), path, summary, handler)
    }

    pub(crate) fn post<H, T>(path: &'static str, summary: &'static str, handler: H) -> Self
    where
        H: Handler<T, HandlerState> + DescribedHandler<T>,
        T: 'static,
    {
        Self::new((Method::POST, MethodFilter::POST), path, summary, handler)
    }

    pub(crate) fn patch<H, T>(path: &'static str, summary: &'static str, handler: H) -> Self
    where
        H: Handler<T, HandlerState> + DescribedHandler<T>,
        T: 'static,
    {
        Self::new((Method::PATCH, MethodFilter::PATCH), path, summary, handler)
    }

    pub(crate) fn delete<H, T>(path: &'static str, summary: &'static str, handler: H) -> Self
    where
        H: Handler<T, HandlerState> + DescribedHandler<T>,
        T: 'static,
    {
        Self::new((Method::DELETE, MethodFilter::DELETE), path, summary, handler)
    }

    fn new<H, T>(
        (method, filter): (Method, MethodFilter),
        path: &'static str,
        summary: &'static str,
        handler: H,
    ) -> Self
    where
        H: Handler<T, HandlerState> + DescribedHandler<T>,
        T: 'static,
    {
        Self {
            method,
            path,
            summary,
            name: name_of::<H>(),
            handler: on(filter, handler),
            describe: <H as DescribedHandler<T>>::describe,
        }
    }

    /// Returns the description that its types give.
    pub(crate) fn operation(&self, schemas: &mut SchemaGenerator) -> Operation {
        let mut operation = Operation::default();
        (self.describe)(&mut operation, schemas);
        operation
    }
}

/// Returns the module of a handler and its name: `sessions_create`.
fn name_of<H>() -> String {
    let full = std::any::type_name::<H>();
    let mut parts = full.rsplit("::");
    let (name, module) = (parts.next().unwrap_or(full), parts.next().unwrap_or_default());
    format!("{module}_{name}")
}
