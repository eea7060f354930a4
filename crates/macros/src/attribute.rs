//! Parses the arguments of `#[agentx::tool(…)]`.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};
use syn::meta::ParseNestedMeta;
use syn::parse::Parser as _;
use syn::{Error, LitStr, Result};

/// The maximum length of a tool's name that every model API accepts.
const LONGEST_NAME: usize = 64;

/// The properties of a tool in addition to its documentation.
#[derive(Default)]
pub(crate) struct About {
    /// The name for the model, if it differs from the function's.
    name: Option<LitStr>,
    /// The access that the tool needs.
    access: Option<Ident>,
    /// The parameter that holds a path.
    pub(crate) path: Option<Ident>,
    /// The parameter that holds a command line.
    pub(crate) command: Option<Ident>,
    idempotent: bool,
    quit: bool,
    waits: bool,
}

impl About {
    pub(crate) fn parse(arguments: TokenStream) -> Result<Self> {
        let mut about = Self::default();
        syn::meta::parser(|meta| about.take(&meta)).parse2(arguments)?;
        Ok(about)
    }

    fn take(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        let Some(word) = meta.path.get_ident() else {
            return Err(unknown(meta));
        };
        match word.to_string().as_str() {
            "internal" | "read" | "change" | "run" => match &self.access {
                Some(other) => {
                    return Err(meta.error(format!("it is `{other}` already: a tool has one access")));
                }
                None => self.access = Some(word.clone()),
            },
            "idempotent" => self.idempotent = true,
            "quit" => self.quit = true,
            "waits" => self.waits = true,
            "name" => self.name = Some(checked_name(meta.value()?.parse()?)?),
            "path" => self.path = Some(meta.value()?.parse()?),
            "command" => self.command = Some(meta.value()?.parse()?),
            _ => return Err(unknown(meta)),
        }
        Ok(())
    }

    /// Returns its name for the model.
    pub(crate) fn name(&self, function: &Ident) -> String {
        match &self.name {
            Some(name) => name.value(),
            None => function.to_string().trim_start_matches("r#").to_owned(),
        }
    }

    /// Returns the expression that describes this tool to the runtime. `argument_of` gives a parameter's name
    /// for the model.
    pub(crate) fn expression(
        &self,
        name: &str,
        description: &str,
        argument_of: impl Fn(&Ident) -> Result<String>,
    ) -> Result<TokenStream> {
        let access = match self.access.as_ref().map(Ident::to_string).as_deref() {
            Some("read") => "Read",
            Some("change") => "Change",
            Some("run") => "Run",
            _ => "Internal",
        };
        let access = format_ident!("{access}", span = Span::call_site());
        let path = self.path.as_ref().map(&argument_of).transpose()?;
        let path = path.map(|name| quote!(.path(#name)));
        let command = self.command.as_ref().map(&argument_of).transpose()?;
        let command = command.map(|name| quote!(.command(#name)));
        let idempotent = self.idempotent.then(|| quote!(.idempotent()));
        let quit = self.quit.then(|| quote!(.quit()));
        let waits = self.waits.then(|| quote!(.waits()));
        Ok(quote! {
            ::agentx::tools::ToolAbout::new(#name, #description, ::agentx::types::Access::#access)
                #path #command #idempotent #quit #waits
        })
    }
}

fn unknown(meta: &ParseNestedMeta<'_>) -> Error {
    meta.error("expected `name = \"…\"`, `read`, `change`, `run`, `path = parameter`, `command = parameter`, `idempotent`, `quit` or `waits`")
}

/// Model APIs take letters, digits, `_` and `-`.
fn checked_name(name: LitStr) -> Result<LitStr> {
    let text = name.value();
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if text.is_empty() || text.len() > LONGEST_NAME || !text.chars().all(fits) {
        let message =
            format!("a tool's name is 1 to {LONGEST_NAME} of the letters a–z, A–Z, 0–9, `_` and `-`");
        return Err(Error::new(name.span(), message));
    }
    Ok(name)
}
