//! Masked credentials as settings name them: no command gets a value, whatever else the settings pass on.
#![cfg(feature = "settings")]
#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

use agentx_config::{ConfigPaths, LoadRequest, Settings, load};
use agentx_node_runtime::{masked_credentials, program_environment};

const VALUE: &str = "made-up-0123456789";

fn settings(dir: &tempfile::TempDir, file: &str) -> Settings {
    let root = std::fs::canonicalize(dir.path()).unwrap();
    std::fs::write(root.join("config.yaml"), file).unwrap();
    let request = LoadRequest {
        places: ConfigPaths {
            cwd: root.clone(),
            user_file: root.join("config.yaml"),
            user_file_named: true,
            workspace_file: root.join(".agentx/config.yaml"),
            data_dir: root.join("data"),
            workspace_root: root,
        },
        lookup: &|name| (name == "MADE_UP_SETTING").then(|| format!("{VALUE}\n")),
        flags: Vec::new(),
    };
    load(request).unwrap().settings
}

#[test]
fn no_command_gets_the_value_of_a_masked_variable() {
    let dir = tempfile::tempdir().unwrap();
    let settings = settings(
        &dir,
        "tools: {environment: [MADE_UP_SETTING, COPY]}\nsandbox:\n  credentials:\n    \
         MADE_UP_SETTING: {hosts: [api.example.com]}\n    NOT_SET: {hosts: [api.example.com]}\n",
    );
    let environment = program_environment(&settings);
    assert!(environment.withholds("MADE_UP_SETTING", VALUE));
    assert!(environment.withholds("COPY", &format!("Bearer {VALUE}")));
    assert!(!environment.withholds("COPY", "another value"));
    let masked = masked_credentials(&settings, &environment);
    assert_eq!(format!("{masked:?}"), "[\"MADE_UP_SETTING\"]");
    let place = tempfile::tempdir().unwrap();
    let variables = masked.variables(place.path()).unwrap();
    let shown = format!("{variables:?}");
    assert!(
        shown.contains("agentx-masked-") && !shown.contains(VALUE),
        "{shown}"
    );
    assert!(shown.contains("SSL_CERT_FILE"), "{shown}");
}
