//! Clouds: which credentials, regions and projects count, from variables, settings and files.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test that cannot go on fails, and tests write files"
)]

use std::collections::BTreeMap;
use std::path::Path;

use agentx_config::{CloudSettings, ConfigPaths, LoadRequest, Loaded, ProviderSettings, load};
use agentx_llm::CloudCredentials;
use tempfile::TempDir;

/// A home with files of clouds, and variables.
struct Home {
    folder: TempDir,
    variables: BTreeMap<String, String>,
}

impl Home {
    fn new(variables: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = ("HOME".to_owned(), folder.path().display().to_string());
        let own = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Self {
            variables: own.chain([home]).collect(),
            folder,
        }
    }

    fn file(self, path: &str, text: &str) -> Self {
        let path = self.folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    fn load(&self) -> Loaded {
        self.try_load("").unwrap()
    }

    fn try_load(&self, settings: &str) -> Result<Loaded, agentx_config::ConfigError> {
        let user_file = self.folder.path().join("config.yaml");
        std::fs::write(&user_file, settings).unwrap();
        let lookup = |name: &str| match name {
            "AGENTX_CONFIG" => Some(user_file.display().to_string()),
            "AGENTX_DATA" => Some(self.folder.path().join("data").display().to_string()),
            name => self.variables.get(name).cloned(),
        };
        let places = ConfigPaths::find(self.folder.path(), &lookup).unwrap();
        load(LoadRequest {
            places,
            lookup: &lookup,
            flags: Vec::new(),
        })
    }
}

fn provider<'a>(loaded: &'a Loaded, name: &str) -> &'a ProviderSettings {
    loaded.settings.provider(name).unwrap()
}

/// The id of the access key, and the secret.
fn aws(cloud: Option<&CloudSettings>) -> Option<(String, String)> {
    match cloud?.credentials.as_ref().ok()? {
        CloudCredentials::Aws(aws) => Some((
            aws.access_key_id.clone(),
            aws.secret_access_key.expose().to_owned(),
        )),
        CloudCredentials::Google(_) => None,
    }
}

/// Made up.
const KEYS: [(&str, &str); 2] = [
    ("AWS_ACCESS_KEY_ID", "AKIAMADEUP"),
    ("AWS_SECRET_ACCESS_KEY", "made-up-secret-1"),
];
const FILE: &str = "[default]\naws_access_key_id = AKIAFILE\naws_secret_access_key = made-up-secret-2\n\
                    [work]\naws_access_key_id = AKIAWORK\naws_secret_access_key = made-up-secret-3\n";

#[test]
fn variables_of_aws_come_before_its_files_and_a_key_of_bedrock_before_both() {
    let home = |variables: &[(&str, &str)]| Home::new(variables).file(".aws/credentials", FILE).load();
    let id = |loaded: &Loaded| aws(provider(loaded, "bedrock").cloud.as_ref()).map(|(id, _)| id);
    assert_eq!(id(&home(&KEYS)).as_deref(), Some("AKIAMADEUP"));
    assert_eq!(id(&home(&[])).as_deref(), Some("AKIAFILE"));
    assert_eq!(id(&home(&[("AWS_PROFILE", "work")])).as_deref(), Some("AKIAWORK"));
    let with_key = home(&[("AWS_BEARER_TOKEN_BEDROCK", "made-up-key"), KEYS[0], KEYS[1]]);
    assert_eq!(id(&with_key), None, "the key is used");
    let connected = provider(&with_key, "bedrock");
    assert!(connected.is_connected() && connected.missing_variable().is_none());

    let none = Home::new(&[]).load();
    let missing = provider(&none, "bedrock");
    assert_eq!(missing.missing_variable(), Some("AWS_BEARER_TOKEN_BEDROCK"));
    assert!(missing.cloud.is_none() && !missing.is_connected());
}

#[test]
fn credentials_that_cannot_be_used_say_why_without_their_secret() {
    let half = Home::new(&[KEYS[0]]).load();
    let other = Home::new(&[("AWS_PROFILE", "nobody")])
        .file(".aws/credentials", FILE)
        .load();
    for (loaded, why) in [
        (half, "AWS_ACCESS_KEY_ID is set, and AWS_SECRET_ACCESS_KEY is not"),
        (other, "the profile nobody has no access key"),
    ] {
        let bedrock = provider(&loaded, "bedrock");
        let said = bedrock.cloud_problem().unwrap();
        assert!(said.starts_with(why) && !said.contains("made-up"), "{said}");
        assert!(bedrock.missing_variable().is_some());
    }
}

#[test]
fn the_address_of_bedrock_follows_from_the_region() {
    let url = |variables: &[(&str, &str)], settings: &str| {
        let home = Home::new(variables).file(".aws/config", "[default]\nregion = sa-east-1\n");
        let loaded = home.try_load(settings).unwrap();
        provider(&loaded, "bedrock").base_url.clone()
    };
    let of = |region: &str| format!("https://bedrock-runtime.{region}.amazonaws.com");
    let both = [("AWS_REGION", "eu-west-1"), ("AWS_DEFAULT_REGION", "eu-west-2")];
    assert_eq!(url(&[], ""), of("sa-east-1"));
    assert_eq!(url(&both[1..], ""), of("eu-west-2"));
    assert_eq!(url(&both, ""), of("eu-west-1"));
    let setting = "providers:\n  bedrock: {region: ap-south-1}\n";
    assert_eq!(url(&both, setting), of("ap-south-1"));
    let address = "http://127.0.0.1:9";
    let endpoint = ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", address);
    assert_eq!(url(&[both[0], endpoint], ""), address);
    let own = ("BEDROCK_BASE_URL", "http://127.0.0.1:10");
    assert_eq!(url(&[endpoint, own], ""), own.1);
    let set = "providers:\n  bedrock: {base_url: 'http://127.0.0.1:11'}\n";
    assert_eq!(url(&both, set), "http://127.0.0.1:11");
}

#[test]
fn a_region_that_would_change_the_host_is_refused_and_a_wrong_variable_stops_nobody() {
    let home = Home::new(&[("AWS_REGION", "x.evil.example/")]);
    let loaded = home.load();
    assert_eq!(
        provider(&loaded, "bedrock").base_url,
        "\"x.evil.example/\" is not a region"
    );
    let refused = home.try_load("providers:\n  bedrock: {region: x.evil.example/}\n");
    let said = refused.err().unwrap().to_string();
    assert!(said.contains("is not a region"), "{said}");
}

#[test]
fn what_is_in_files_of_clouds_is_a_key_of_this_program() {
    let home = Home::new(&[])
        .file(".aws/credentials", FILE)
        .file(".config/gcloud/application_default_credentials.json", PERSON);
    let settings = home.load().settings;
    for secret in [
        "made-up-secret-2",
        "made-up-client-secret",
        "made-up-refresh-token",
    ] {
        assert!(settings.holds_key(&format!("x {secret} y")), "{secret}");
    }
    for name in ["AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ACCESS_KEY_ID"] {
        assert!(settings.key_variables().contains(name), "{name}");
    }
    let shown = format!("{settings:?}");
    assert!(!shown.contains("made-up-secret") && !shown.contains("made-up-refresh"));
}

/// Made up.
const PERSON: &str = r#"{"type": "authorized_user", "client_id": "c", "client_secret": "made-up-client-secret",
    "refresh_token": "made-up-refresh-token"}"#;
const ACCOUNT: &str = r#"{"type": "service_account", "project_id": "of-file", "client_email": "a@b.example",
    "private_key": "made-up-private-key"}"#;

fn named(path: &Path) -> String {
    path.join("key.json").display().to_string()
}

#[test]
fn an_account_of_google_is_used_for_vertex_and_names_its_project() {
    let home = Home::new(&[]).file("key.json", ACCOUNT);
    let mut home = home;
    let file = named(home.folder.path());
    home.variables
        .insert("GOOGLE_APPLICATION_CREDENTIALS".to_owned(), file);
    let loaded = home.load();
    // The file may be anywhere, also in the folder that the agent works in.
    let place = home.folder.path().canonicalize().unwrap().join("key.json");
    assert!(loaded.settings.is_guarded(&place));
    let urls = ["vertex", "vertex-anthropic"].map(|name| {
        let found = provider(&loaded, name);
        assert!(
            found.cloud.as_ref().is_some_and(CloudSettings::is_usable),
            "{name}"
        );
        assert_eq!(found.missing_variable(), None, "{name}");
        found.base_url.clone()
    });
    let place = "https://aiplatform.googleapis.com/v1/projects/of-file/locations/global/publishers";
    assert_eq!(urls, [format!("{place}/google"), format!("{place}/anthropic")]);
    assert!(
        provider(&loaded, "google").cloud.is_none(),
        "Google AI takes keys alone"
    );
    let settings =
        "providers:\n  vertex: {project: mine, region: europe-west4}\n  vertex-anthropic: {region: eu}\n";
    let loaded = home.try_load(settings).unwrap();
    assert_eq!(
        provider(&loaded, "vertex").base_url,
        "https://europe-west4-aiplatform.googleapis.com/v1/projects/mine/locations/europe-west4/publishers/google"
    );
    assert_eq!(
        provider(&loaded, "vertex-anthropic").base_url,
        "https://aiplatform.eu.rep.googleapis.com/v1/projects/of-file/locations/eu/publishers/anthropic"
    );
}

#[test]
fn a_token_comes_before_a_file_and_a_key_keeps_the_address_without_a_project() {
    let home = |variables: &[(&str, &str)]| {
        let file = ".config/gcloud/application_default_credentials.json";
        Home::new(variables).file(file, PERSON).load()
    };
    let project = ("GOOGLE_CLOUD_PROJECT", "p1");
    let with_file = home(&[project, ("GOOGLE_CLOUD_LOCATION", "us-east5")]);
    assert_eq!(
        provider(&with_file, "vertex").base_url,
        "https://us-east5-aiplatform.googleapis.com/v1/projects/p1/locations/us-east5/publishers/google"
    );
    let token = home(&[project, ("VERTEX_ACCESS_TOKEN", "made-up-token")]);
    assert!(
        provider(&token, "vertex").cloud.is_none() && provider(&token, "vertex-anthropic").cloud.is_none()
    );
    assert!(
        provider(&token, "vertex-anthropic")
            .base_url
            .contains("/projects/p1/")
    );
    let key = home(&[project, ("VERTEX_API_KEY", "made-up-key")]);
    let express = "https://aiplatform.googleapis.com/v1/publishers/google";
    assert_eq!(provider(&key, "vertex").base_url, express);
    let broken = Home::new(&[("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere/key.json")]).load();
    let said = provider(&broken, "vertex").cloud_problem().unwrap().to_owned();
    assert!(
        said.starts_with("GOOGLE_APPLICATION_CREDENTIALS: /nowhere/key.json: "),
        "{said}"
    );
}
