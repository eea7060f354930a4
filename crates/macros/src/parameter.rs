//! The parameters of the function: arguments from the model, and the context from the runtime.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::{Attribute, Error, Expr, FnArg, LitStr, Pat, PatType, Result, Token, Type};

use crate::docs;

/// A parameter of the function.
pub(crate) enum Parameter {
    /// The call's context: `&ToolContext`.
    Context,
    /// An argument that the model passes.
    Argument(Box<Argument>),
}

/// An argument of the tool.
pub(crate) struct Argument {
    pub(crate) ident: Ident,
    ty: Type,
    description: String,
    rename: Option<LitStr>,
    default: Default,
}

/// The value of an argument that the model leaves out.
enum Default {
    /// None: the argument is required, unless it is an `Option`.
    None,
    OfType,
    Expression(Box<Expr>),
}

impl Parameter {
    pub(crate) fn of(input: &FnArg) -> Result<Self> {
        let FnArg::Typed(typed) = input else {
            let message =
                "a tool is a free function: give what it needs through `&ToolContext` (`context.get::<T>()`)";
            return Err(Error::new_spanned(input, message));
        };
        match &*typed.ty {
            Type::Reference(reference) if is_context(&reference.elem) => Ok(Self::Context),
            Type::Reference(_) => Err(Error::new_spanned(
                &typed.ty,
                "arguments come from the model and are owned: take `String`, not `&str` (only `&ToolContext` is borrowed)",
            )),
            ty if is_context(ty) => Err(Error::new_spanned(ty, "take it as `&ToolContext`")),
            _ => Ok(Self::Argument(Box::new(Argument::of(typed)?))),
        }
    }
}

fn is_context(ty: &Type) -> bool {
    matches!(ty, Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == "ToolContext"))
}

impl Argument {
    fn of(typed: &PatType) -> Result<Self> {
        let Pat::Ident(pattern) = &*typed.pat else {
            return Err(Error::new_spanned(
                &typed.pat,
                "a parameter of a tool is a plain name, which the model reads",
            ));
        };
        let mut argument = Self {
            ident: pattern.ident.clone(),
            ty: Type::clone(&typed.ty),
            description: docs::text(&typed.attrs),
            rename: None,
            default: Default::None,
        };
        for attribute in &typed.attrs {
            argument.take(attribute)?;
        }
        if argument.description.is_empty() {
            let name = &argument.ident;
            let message = format!(
                "say what `{name}` is, for the model: a doc comment (`/// …`) before the parameter, or `#[arg(\"…\")]`"
            );
            return Err(Error::new(name.span(), message));
        }
        Ok(argument)
    }

    fn take(&mut self, attribute: &Attribute) -> Result<()> {
        if attribute.path().is_ident("doc") {
            return Ok(());
        }
        if !attribute.path().is_ident("arg") {
            let message = "a parameter of a tool takes `/// …` and `#[arg(…)]`";
            return Err(Error::new_spanned(attribute, message));
        }
        if let Ok(description) = attribute.parse_args::<LitStr>() {
            self.description = description.value();
            return Ok(());
        }
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("default") {
                self.default = if meta.input.peek(Token![=]) {
                    Default::Expression(Box::new(meta.value()?.parse()?))
                } else {
                    Default::OfType
                };
            } else if meta.path.is_ident("name") {
                self.rename = Some(meta.value()?.parse()?);
            } else {
                return Err(meta
                    .error("expected `default`, `default = …`, `name = \"…\"` or the description, `\"…\"`"));
            }
            Ok(())
        })
    }

    /// Returns its name for the model.
    pub(crate) fn name(&self) -> String {
        match &self.rename {
            Some(name) => name.value(),
            None => self.ident.to_string().trim_start_matches("r#").to_owned(),
        }
    }

    /// Returns the field of the arguments' struct for this argument.
    pub(crate) fn field(&self) -> TokenStream {
        let Self {
            ident,
            ty,
            description,
            ..
        } = self;
        let name = self.name();
        let default = match &self.default {
            Default::None => None,
            Default::OfType => Some(quote!(#[serde(default)])),
            Default::Expression(_) => {
                let function = self.default_function().to_string();
                Some(quote!(#[serde(default = #function)]))
            }
        };
        quote! {
            #[doc = #description]
            #[serde(rename = #name)]
            #default
            #ident: #ty
        }
    }

    /// Returns the function that returns its default.
    pub(crate) fn default_item(&self) -> Option<TokenStream> {
        let Default::Expression(expression) = &self.default else {
            return None;
        };
        let (name, ty) = (self.default_function(), &self.ty);
        Some(quote! {
            fn #name() -> #ty {
                ::core::convert::Into::into(#expression)
            }
        })
    }

    fn default_function(&self) -> Ident {
        format_ident!("default_of_{}", self.ident)
    }
}
