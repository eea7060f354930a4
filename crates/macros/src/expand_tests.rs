//! Each error has its own message, with a hint how to fix it.

use quote::quote;

use super::expand;

#[track_caller]
fn refused(arguments: proc_macro2::TokenStream, function: proc_macro2::TokenStream, says: &str) {
    let error = expand(arguments, function).unwrap_err().to_string();
    assert!(error.contains(says), "{says:?} is not in {error:?}");
}

#[test]
fn mistakes_of_the_function_say_what_to_do() {
    let none = || quote!();
    refused(
        none(),
        quote! { /// Says.
        async fn say(words: String) -> Result<String, String> { Ok(words) } },
        "say what `words` is",
    );
    refused(
        none(),
        quote! { async fn say() -> Result<String, String> { Ok(String::new()) } },
        "above the function",
    );
    refused(
        none(),
        quote! { fn say() -> Result<String, String> { panic!() } },
        "`async fn`",
    );
    refused(none(), quote! { async fn say() {} }, "`Result<T, E>`");
    refused(
        none(),
        quote! { async fn say<T>(t: T) -> Result<(), String> { Ok(()) } },
        "cannot choose types",
    );
    refused(
        none(),
        quote! { async fn say(&self) -> Result<(), String> { Ok(()) } },
        "a free function",
    );
    refused(
        none(),
        quote! { async fn say(words: &str) -> Result<(), String> { Ok(()) } },
        "take `String`",
    );
    refused(
        none(),
        quote! { async fn say(context: ToolContext) -> Result<(), String> { Ok(()) } },
        "take it as `&ToolContext`",
    );
    refused(
        none(),
        quote! { async fn say((a, b): (u8, u8)) -> Result<(), String> { Ok(()) } },
        "a plain name",
    );
    refused(none(), quote! { struct Say; }, "expected");
}

#[test]
fn mistakes_of_the_attributes_say_what_to_do() {
    let say = || {
        quote! { /// Says.
        async fn say(#[arg("What.")] words: String) -> Result<String, String> { Ok(words) } }
    };
    assert!(
        expand(
            quote!(name = "say-it", run, idempotent, quit, waits, command = words),
            say()
        )
        .is_ok()
    );
    refused(quote!(reads), say(), "expected `name");
    refused(quote!(read, change), say(), "it is `read` already");
    refused(quote!(name = "say it"), say(), "letters");
    refused(quote!(name = ""), say(), "letters");
    refused(quote!(path = file), say(), "no argument `file`");
    let odd = |attribute: proc_macro2::TokenStream| {
        quote! { /// Says.
        async fn say(#attribute words: String) -> Result<String, String> { Ok(words) } }
    };
    refused(quote!(), odd(quote!(#[arg(defaults)])), "expected `default`");
    refused(
        quote!(),
        odd(quote!(#[serde(default)])),
        "takes `/// …` and `#[arg(…)]`",
    );
    refused(quote!(), odd(quote!(#[arg(default)])), "say what `words` is");
}
