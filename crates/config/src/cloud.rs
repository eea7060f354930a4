//! What clouds have in place of a key and a fixed address: access keys and regions of AWS, from the variables and files
//! that AWS's own programs read.
//!
//! Of the files, only what a person wrote down as keys is read. Roles, single sign-on and the metadata of machines need
//! requests of their own; `aws configure export-credentials --format env` prints variables for them.

use std::path::{Path, PathBuf};

use agentx_llm::bedrock::{self, AwsCredentials};
use agentx_llm::{Catalog, CloudCredentials, ProviderEntry};
use agentx_types::Api;

use crate::assemble::{SettingsGetter, mistake, read_text};
use crate::aws_files::{Profile, profile_of};
use crate::keys::SettingPath;
use crate::models::api_called;
use crate::{ApiKeySource, ConfigMistake, Secret, SettingOrigin};

/// The variable of AWS's own programs for the address of Bedrock
/// (<https://docs.aws.amazon.com/sdkref/latest/guide/feature-ss-endpoints.html>).
pub(crate) const AWS_ENDPOINT: &str = "AWS_ENDPOINT_URL_BEDROCK_RUNTIME";

/// Returns the address of Bedrock that AWS's variable names, if the variable of AgentX names none.
pub(crate) fn own_address(lookup: Lookup<'_>) -> Option<String> {
    set(lookup, AWS_ENDPOINT).filter(|_| set(lookup, "BEDROCK_BASE_URL").is_none())
}

/// Reads the environment.
type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The credentials of a cloud for one provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CloudSettings {
    /// The credentials, or the reason why they cannot be used, without anything secret.
    pub credentials: Result<CloudCredentials, String>,
    /// The region in which requests are signed, if the address does not name it.
    pub region: Option<String>,
    /// Where the credentials come from, for people: a variable, or a profile in a file.
    pub source: String,
}

impl CloudSettings {
    /// Returns whether requests can be made with them.
    pub fn is_usable(&self) -> bool {
        self.credentials.is_ok()
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

    /// Returns the address of a provider in the region that a person chose; `None` if it has an address of its own,
    /// or nobody chose one.
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
        let api = api.or_else(|| Some(catalog.provider(name)?.api))?;
        if api != Api::Bedrock {
            return None;
        }
        let region = self.region(name)?;
        if bedrock::is_region(&region) {
            return Some(bedrock::base_url(&region));
        }
        if let Some(origin) = self.get.merged.origin(&path("region")) {
            let what = format!("{region:?} is not a region, such as `us-east-1`");
            mistakes.push(mistake(origin, "region", what, None));
        }
        // A call says so. A wrong variable must not stop a program that asks another provider.
        Some(format!("{region:?} is not a region of AWS"))
    }

    /// Returns the credentials for a provider; `None` if it takes none, or there are none.
    pub(crate) fn of(&self, entry: &ProviderEntry) -> Option<CloudSettings> {
        if entry.api != Api::Bedrock {
            return None;
        }
        let (credentials, source) = aws_credentials(self.lookup)?;
        Some(CloudSettings {
            credentials: credentials.map(CloudCredentials::Aws),
            region: self
                .region(&entry.name)
                .filter(|region| bedrock::is_region(region)),
            source,
        })
    }

    /// The region of AWS: the provider's setting, the variables of AWS's programs, the profile.
    fn region(&self, name: &str) -> Option<String> {
        let path = SettingPath::dotted("providers").child(name).child("region");
        self.get
            .text_at(&path)
            .or_else(|| set(self.lookup, "AWS_REGION"))
            .or_else(|| set(self.lookup, "AWS_DEFAULT_REGION"))
            .or_else(|| read_profile(self.lookup).1?.region)
    }
}

/// The secrets in files of clouds, which commands and folders get no more than keys in variables.
pub(crate) fn secrets_of_files(lookup: Lookup<'_>) -> Vec<ApiKeySource> {
    let of_aws = aws_of_file(lookup).and_then(|(credentials, _)| credentials.ok());
    let of_aws = of_aws.map(CloudCredentials::Aws);
    let secrets = of_aws.iter().flat_map(CloudCredentials::secrets);
    secrets
        .map(|secret| ApiKeySource::Literal(secret.clone()))
        .collect()
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

/// The credentials of the profile. A profile that is named and has none is a mistake; the usual one need not exist.
fn aws_of_file(lookup: Lookup<'_>) -> Option<Found> {
    let (name, of_config) = read_profile(lookup);
    let file = aws_file(lookup, "AWS_SHARED_CREDENTIALS_FILE", "credentials")?;
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

/// The name of the profile, and what the configuration file says about it.
fn read_profile(lookup: Lookup<'_>) -> (String, Option<Profile>) {
    let name = set(lookup, "AWS_PROFILE").unwrap_or_else(|| "default".to_owned());
    let file = aws_file(lookup, "AWS_CONFIG_FILE", "config");
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

/// The value of a variable that is set and not empty.
fn set(lookup: Lookup<'_>, name: &str) -> Option<String> {
    let value = lookup(name)?;
    let value = value.trim();
    (!value.is_empty()).then(|| value.to_owned())
}
