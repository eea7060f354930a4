//! Expands a function to a function of the same name that makes the tool.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{Attribute, Error, FnArg, ItemFn, Result, ReturnType};

use crate::attribute::About;
use crate::docs;
use crate::parameter::{Argument, Parameter};

/// Returns the code instead of `function`.
pub(crate) fn expand(arguments: TokenStream, function: TokenStream) -> Result<TokenStream> {
    let about = About::parse(arguments)?;
    let function: ItemFn = syn::parse2(function)?;
    check(&function)?;
    let parameters = function.sig.inputs.iter().map(Parameter::of);
    let parameters = parameters.collect::<Result<Vec<Parameter>>>()?;
    let description = docs::text(&function.attrs);
    if description.is_empty() {
        let message = "say what the tool does and when to use it, for the model: a doc comment (`/// …`) above the function";
        return Err(Error::new(function.sig.ident.span(), message));
    }
    let known: Vec<&Argument> = parameters.iter().filter_map(Parameter::argument).collect();
    let name = about.name(&function.sig.ident);
    let about = about.expression(&name, &description, |wanted| named(&known, wanted))?;
    Ok(code(&function, &about, &parameters))
}

impl Parameter {
    fn argument(&self) -> Option<&Argument> {
        match self {
            Self::Context => None,
            Self::Argument(argument) => Some(argument),
        }
    }

    /// Returns the arguments that the original function is called with.
    fn passed(&self) -> TokenStream {
        match self {
            Self::Context => quote!(&context),
            Self::Argument(argument) => {
                let name = &argument.ident;
                quote!(input.#name)
            }
        }
    }
}

/// Returns the name that the model uses for the parameter `wanted`.
fn named(known: &[&Argument], wanted: &Ident) -> Result<String> {
    let found = known.iter().find(|argument| argument.ident == *wanted);
    found
        .map(|argument| argument.name())
        .ok_or_else(|| Error::new(wanted.span(), format!("the function has no argument `{wanted}`")))
}

fn check(function: &ItemFn) -> Result<()> {
    let signature = &function.sig;
    if signature.asyncness.is_none() {
        return Err(Error::new_spanned(signature.fn_token, "a tool is an `async fn`"));
    }
    if !signature.generics.params.is_empty() {
        let message = "a tool is one function: the model cannot choose types or lifetimes";
        return Err(Error::new_spanned(&signature.generics, message));
    }
    if matches!(signature.output, ReturnType::Default) {
        let message = "a tool returns `Result<T, E>`: `T` serialises to what the model reads, `E` says why it did not work";
        return Err(Error::new(signature.ident.span(), message));
    }
    Ok(())
}

fn code(function: &ItemFn, about: &TokenStream, parameters: &[Parameter]) -> TokenStream {
    let ItemFn {
        attrs,
        vis,
        sig,
        block,
        ..
    } = function;
    let (name, output) = (&sig.ident, &sig.output);
    let inputs = sig.inputs.iter().cloned().map(plain);
    let (outside, on_body): (Vec<&Attribute>, Vec<&Attribute>) =
        attrs.iter().partition(|attribute| stays_outside(attribute));
    let arguments = || parameters.iter().filter_map(Parameter::argument);
    let fields = arguments().map(Argument::field);
    let defaults = arguments().filter_map(Argument::default_item);
    let passed = parameters.iter().map(Parameter::passed);
    quote! {
        #(#outside)*
        #vis fn #name() -> ::agentx::tools::Typed<impl ::agentx::tools::TypedTool> {
            #[derive(::agentx::support::serde::Deserialize, ::agentx::support::schemars::JsonSchema)]
            #[serde(crate = "::agentx::support::serde", deny_unknown_fields)]
            #[schemars(crate = "::agentx::support::schemars")]
            struct Input { #(#fields),* }

            #(#defaults)*

            #(#on_body)*
            async fn #name(#(#inputs),*) #output #block

            struct FunctionTool;

            impl ::agentx::tools::TypedTool for FunctionTool {
                type Input = Input;

                fn about(&self) -> ::agentx::tools::ToolAbout {
                    #about
                }

                async fn run(
                    &self,
                    #[allow(unused_variables, reason = "a tool may take no arguments")] input: Input,
                    context: ::agentx::runtime::ToolContext,
                ) -> ::core::result::Result<::agentx::runtime::ToolOutcome, ::agentx::tools::ToolFailure> {
                    ::agentx::support::outcome(&context.cancel, #name(#(#passed),*)).await
                }
            }

            ::agentx::tools::Typed::new(FunctionTool)
        }
    }
}

/// Returns whether an attribute belongs to the outer function, not to the one that does the work.
fn stays_outside(attribute: &Attribute) -> bool {
    ["doc", "cfg", "deprecated"]
        .iter()
        .any(|name| attribute.path().is_ident(name))
}

/// Returns the parameter without its attributes, which are for the model.
fn plain(mut input: FnArg) -> FnArg {
    if let FnArg::Typed(typed) = &mut input {
        typed.attrs.clear();
    }
    input
}

#[cfg(test)]
#[path = "expand_tests.rs"]
mod tests;
