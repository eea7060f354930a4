//! Every variable from which a provider reads a key is a key of the person's, whether it is the one that is
//! used today or not.

use super::*;

/// All variables with keys that the data of the catalog names, whatever their entries are called.
fn variables() -> Vec<&'static str> {
    let text = include_str!("../../../llm/src/catalog.json");
    let mut names: Vec<&str> = Vec::new();
    for (at, _) in text.match_indices("_env\":") {
        let key = text[..at].rsplit('"').next().unwrap();
        let value = text[at + 6..].split('"').nth(1).unwrap();
        if key != "base_url" {
            names.push(value);
        }
    }
    names
}

#[test]
fn no_file_of_a_trusted_folder_gets_what_a_provider_reads_under_any_name() {
    let variables = variables();
    for name in [
        "ANTHROPIC_AUTH_TOKEN",
        "VERTEX_ACCESS_TOKEN",
        "GOOGLE_API_KEY",
        "OPENAI_API_KEY",
    ] {
        assert!(variables.contains(&name), "{name}");
    }
    for variable in variables {
        let desk = Desk::new(&format!(
            "providers:\n  theirs: {{base_url: 'https://t.example/v1', api_key: '${{{variable}}}', headers: {{A: '${{COPY}}'}}}}\n"
        ));
        desk.write(
            "ws/.mcp.json",
            &format!(
                "{{\"mcpServers\": {{\"a\": {{\"url\": \"https://a.example\", \"headers\": {{\"A\": \"${{{variable}}}\"}}}},\
                 \"b\": {{\"url\": \"https://b.example\", \"headers\": {{\"A\": \"${{COPY}}\"}}}}}}}}"
            ),
        );
        let env = BTreeMap::from([
            (variable, "made-up-value-of-a-key"),
            ("COPY", "Bearer made-up-value-of-a-key"),
        ]);
        let loaded = Desk { env, ..desk }.trusted();
        let settings = &loaded.settings;
        assert_eq!(
            ignored(&loaded),
            ["providers.theirs.api_key", "providers.theirs.headers.A"],
            "{variable}"
        );
        assert!(settings.mcp.is_empty(), "{variable}: {:?}", settings.mcp);
        assert!(settings.key_variables().contains(variable), "{variable}");
        assert!(settings.holds_key("Bearer made-up-value-of-a-key"), "{variable}");
    }
}
