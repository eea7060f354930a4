//! The credentials and addresses of clouds, which have no single key and fixed address: access keys,
//! accounts, projects and regions, from the variables and files that the programs of AWS and Google read.
//!
//! AWS's files are read only for keys that a person wrote there. Roles, single sign-on and the metadata of
//! machines would need further requests; `aws configure export-credentials --format env` prints variables for
//! them.

use std::path::{Path, PathBuf};

use agentx_llm::bedrock::{self, AwsCredentials};
use agentx_llm::google_auth::{GoogleCredentials, vertex_base_url};
use agentx_llm::{Catalog, CloudCredentials, ProviderEntry, Secret};
use agentx_types::Api;

use crate::api_key_source::ApiKeySource;
use crate::layers::getter::{SettingsGetter, mistake};
use crate::layers::keys::SettingPath;
use crate::layers::variable::{Lookup, set};
use crate::mistake::ConfigMistake;
use crate::models::api_names::api_called;
use crate::models::aws_files::{Profile, profile_of};
use crate::origin::SettingOrigin;
use crate::text_file::read_text;

/// The variables with files of credentials.
const GOOGLE_FILE: &str = "GOOGLE_APPLICATION_CREDENTIALS";
const AWS_CREDENTIALS_FILE: &str = "AWS_SHARED_CREDENTIALS_FILE";
const AWS_CONFIG_FILE: &str = "AWS_CONFIG_FILE";

/// The credentials of a cloud for one provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CloudSettings {
    /// The credentials, or the reason why they cannot be used, without anything secret.
    pub credentials: Result<CloudCredentials, String>,
    /// The region in which requests are signed, if the address does not name it.
    pub region: Option<String>,
    /// The source of the credentials, for people: a variable, or a profile in a file.
    pub source: String,
}

impl CloudSettings {
    /// Returns whether the credentials are complete enough for a request.
    pub fn is_usable(&self) -> bool {
        self.credentials.is_ok()
    }
}

/// Returns the files with credentials that the environment names, absolute.
pub(crate) fn named_files(lookup: Lookup<'_>, cwd: &Path) -> Vec<PathBuf> {
    let variables = [GOOGLE_FILE, AWS_CREDENTIALS_FILE, AWS_CONFIG_FILE];
    let named = variables.iter().filter_map(|name| set(lookup, name));
    named.map(|path| cwd.join(path)).collect()
}

/// Returns the alternatives to the key in this variable, for advice; `None` if there are none.
pub fn in_place_of_key(variable: &str) -> Option<&'static str> {
    match variable {
        "AWS_BEARER_TOKEN_BEDROCK" => {
            Some("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE with a profile that has them")
        }
        "VERTEX_API_KEY" | "VERTEX_ACCESS_TOKEN" => {
            Some("GOOGLE_APPLICATION_CREDENTIALS, or log in with `gcloud auth application-default login`")
        }
        _ => None,
    }
}

/// The clouds as settings, variables and files describe them.
pub(crate) struct Clouds<'a> {
    get: &'a SettingsGetter<'a>,
    lookup: Lookup<'a>,
}

impl<'a> Clouds<'a> {
    pub(crate) fn new(get: &'a SettingsGetter<'a>, lookup: Lookup<'a>) -> Self {
        Self { get, lookup }
    }

    /// Returns the address of a provider in the region that a person chose; `None` if the provider has
    /// a configured address, or nobody chose a region.
    pub(crate) fn base_url(
        &self,
        catalog: &Catalog,
        name: &str,
        mistakes: &mut Vec<ConfigMistake>,
    ) -> Option<String> {
        let path = |key: &str| SettingPath::dotted("providers").child(name).child(key);
        let origin = self.get.merged.origin(&path("base_url"));
        if origin.is_some_and(|origin| *origin != SettingOrigin::Default) {
            return None;
        }
        let word = self.get.text_at(&path("api"));
        let api = word.map(|word| api_called(&word));
        let entry = catalog.provider(name);
        let api = api.or_else(|| Some(entry?.api))?;
        let region = self.region(api, name);
        let is_wrong =
            |region: &String| !is_name(region) || (api.is_at_bedrock() && !bedrock::is_region(region));
        if let Some(wrong) = region.as_ref().filter(|region| is_wrong(region)) {
            if let Some(origin) = self.get.merged.origin(&path("region")) {
                let what = format!("{wrong:?} is not a region, such as `us-east-1`");
                mistakes.push(mistake(origin, "region", what, None));
            }
            // A call says so. A wrong variable must not stop a program that asks another provider.
            return (api.is_at_bedrock() || self.project(name).is_some())
                .then(|| format!("{wrong:?} is not a region"));
        }
        match api {
            Api::Bedrock | Api::BedrockConverse => Some(bedrock::base_url(&region?)),
            _ if is_vertex(api, entry) && set(self.lookup, "VERTEX_API_KEY").is_none() => {
                let project = self.project(name).filter(|project| is_name(project))?;
                Some(vertex_base_url(
                    api,
                    &project,
                    region.as_deref().unwrap_or("global"),
                ))
            }
            _ => None,
        }
    }

    /// Returns the credentials for a provider; `None` if it takes none, or there are none.
    pub(crate) fn of(&self, entry: &ProviderEntry) -> Option<CloudSettings> {
        let (credentials, source) = if entry.api.is_at_bedrock() {
            let (credentials, source) = aws_credentials(self.lookup)?;
            (credentials.map(CloudCredentials::Aws), source)
        } else if is_vertex(entry.api, Some(entry)) {
            let (credentials, source) = google_credentials(self.lookup)?;
            (credentials.map(CloudCredentials::Google), source)
        } else {
            return None;
        };
        Some(CloudSettings {
            credentials,
            region: self
                .region(entry.api, &entry.name)
                .filter(|region| is_name(region)),
            source,
        })
    }

    /// The region: the provider's setting, the variables of the cloud's programs, AWS's profile.
    fn region(&self, api: Api, name: &str) -> Option<String> {
        let path = SettingPath::dotted("providers").child(name).child("region");
        let variables = match api {
            Api::Bedrock | Api::BedrockConverse => ["AWS_REGION", "AWS_DEFAULT_REGION"],
            // The first is that of Google's own client for models, the second that of Anthropic's client for
            // Vertex AI.
            _ => ["GOOGLE_CLOUD_LOCATION", "CLOUD_ML_REGION"],
        };
        let of_profile = || {
            api.is_at_bedrock()
                .then(|| read_profile(self.lookup).1?.region)
                .flatten()
        };
        self.get
            .text_at(&path)
            .or_else(|| variables.iter().find_map(|variable| set(self.lookup, variable)))
            .or_else(of_profile)
    }

    /// The project of Google Cloud: the provider's setting, the variables, the file of a service account.
    fn project(&self, name: &str) -> Option<String> {
        let path = SettingPath::dotted("providers").child(name).child("project");
        let of_file = || google_credentials(self.lookup)?.0.ok()?.project;
        self.get
            .text_at(&path)
            .or_else(|| set(self.lookup, "GOOGLE_CLOUD_PROJECT"))
            .or_else(|| set(self.lookup, "ANTHROPIC_VERTEX_PROJECT_ID"))
            .or_else(of_file)
    }
}

/// Returns whether a provider is Vertex AI, which also has the API of Gemini at Google.
fn is_vertex(api: Api, entry: Option<&ProviderEntry>) -> bool {
    let own = entry
        .and_then(|entry| entry.own_url.as_deref())
        .unwrap_or_default();
    api == Api::VertexAnthropic || (api == Api::Gemini && own.starts_with(VERTEX))
}

/// The global address of Vertex AI.
const VERTEX: &str = "https://aiplatform.googleapis.com/";

/// Returns whether a text can be a part of an address without changing its meaning. Projects of organizations
/// contain a colon and a dot (`example.com:my-project`).
fn is_name(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
    !text.is_empty() && text.bytes().all(is_part) && !text.starts_with('.')
}

/// The secrets in files of clouds, which commands and folders get no more than keys in variables.
pub(crate) fn secrets_of_files(lookup: Lookup<'_>) -> Vec<ApiKeySource> {
    let of_aws = aws_of_file(lookup).and_then(|(credentials, _)| credentials.ok());
    let of_google = google_credentials(lookup).and_then(|(credentials, _)| credentials.ok());
    let all = [
        of_aws.map(CloudCredentials::Aws),
        of_google.map(CloudCredentials::Google),
    ];
    let all: Vec<CloudCredentials> = all.into_iter().flatten().collect();
    let secrets = all.iter().flat_map(CloudCredentials::secrets);
    secrets
        .map(|secret| ApiKeySource::Literal(secret.clone()))
        .collect()
}

/// Google's file: the one that a variable names, or that of `gcloud auth application-default login`
/// (<https://cloud.google.com/docs/authentication/application-default-credentials>). A file that is named and
/// cannot be used is a mistake; the usual one need not exist.
fn google_credentials(lookup: Lookup<'_>) -> Option<(Result<GoogleCredentials, String>, String)> {
    let named = set(lookup, GOOGLE_FILE).map(PathBuf::from);
    let is_named = named.is_some();
    let file = named.or_else(|| usual_google_file(lookup))?;
    let read = read_text(&file).and_then(|text| GoogleCredentials::parse(&text));
    if read.is_err() && !is_named {
        return None;
    }
    let place = file.display().to_string();
    let source = if is_named {
        format!("{GOOGLE_FILE}: {place}")
    } else {
        place
    };
    Some((read.map_err(|why| format!("{source}: {why}")), source))
}

fn usual_google_file(lookup: Lookup<'_>) -> Option<PathBuf> {
    let below_home = || match set(lookup, "APPDATA") {
        Some(data) => Some(Path::new(&data).join("gcloud")),
        None => Some(Path::new(&set(lookup, "HOME")?).join(".config").join("gcloud")),
    };
    let folder = set(lookup, "CLOUDSDK_CONFIG")
        .map(PathBuf::from)
        .or_else(below_home)?;
    Some(folder.join("application_default_credentials.json"))
}

/// Credentials, or why they cannot be used, and where they come from.
type Found = (Result<AwsCredentials, String>, String);

/// Variables take precedence over files, as in AWS's own programs (botocore, `botocore/credentials.py`).
fn aws_credentials(lookup: Lookup<'_>) -> Option<Found> {
    let Some(access_key_id) = set(lookup, "AWS_ACCESS_KEY_ID") else {
        return aws_of_file(lookup);
    };
    let secret = set(lookup, "AWS_SECRET_ACCESS_KEY");
    let credentials = secret.map(|secret| AwsCredentials {
        access_key_id,
        secret_access_key: Secret::new(secret),
        session_token: set(lookup, "AWS_SESSION_TOKEN").map(Secret::new),
    });
    let missing = || "AWS_ACCESS_KEY_ID is set, and AWS_SECRET_ACCESS_KEY is not".to_owned();
    Some((credentials.ok_or_else(missing), "AWS_ACCESS_KEY_ID".to_owned()))
}

/// The credentials of the profile. A profile that is named and has none is a mistake; the usual one need not
/// exist.
fn aws_of_file(lookup: Lookup<'_>) -> Option<Found> {
    let (name, of_config) = read_profile(lookup);
    let file = aws_file(lookup, AWS_CREDENTIALS_FILE, "credentials")?;
    let of_file = read_text(&file).ok().and_then(|text| profile_of(&text, &name));
    let source = format!("the profile {name} in {}", file.display());
    // Keys may be in either file.
    let keys = [of_file, of_config]
        .into_iter()
        .flatten()
        .find_map(Profile::credentials);
    match keys {
        Some(credentials) => Some((Ok(credentials), source)),
        None if set(lookup, "AWS_PROFILE").is_some() => {
            let why = format!("the profile {name} has no access key in {}", file.display());
            Some((Err(why), source))
        }
        None => None,
    }
}

/// The name of the profile, and its section in the configuration file.
fn read_profile(lookup: Lookup<'_>) -> (String, Option<Profile>) {
    let name = set(lookup, "AWS_PROFILE").unwrap_or_else(|| "default".to_owned());
    let file = aws_file(lookup, AWS_CONFIG_FILE, "config");
    let text = file.and_then(|file| read_text(&file).ok());
    let profile = text.and_then(|text| profile_of(&text, &name));
    (name, profile)
}

/// A file of AWS: where a variable says, or below the home directory.
fn aws_file(lookup: Lookup<'_>, variable: &str, name: &str) -> Option<PathBuf> {
    let named = set(lookup, variable).map(PathBuf::from);
    let home = || set(lookup, "HOME").or_else(|| set(lookup, "USERPROFILE"));
    named.or_else(|| Some(Path::new(&home()?).join(".aws").join(name)))
}
