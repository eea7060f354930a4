//! Reads the two files in which AWS's programs keep profiles: `~/.aws/credentials` and `~/.aws/config`
//! (<https://docs.aws.amazon.com/sdkref/latest/guide/file-format.html>).

use agentx_llm::bedrock::AwsCredentials;

use agentx_llm::Secret;

/// The settings of a profile in a file.
#[derive(Default)]
pub(crate) struct Profile {
    pub(crate) region: Option<String>,
    access_key_id: Option<String>,
    secret_access_key: Option<String>,
    session_token: Option<String>,
}

impl Profile {
    /// Returns the access key, if the profile has both of its parts.
    pub(crate) fn credentials(self) -> Option<AwsCredentials> {
        Some(AwsCredentials {
            access_key_id: self.access_key_id?,
            secret_access_key: Secret::new(self.secret_access_key?),
            session_token: self.session_token.map(Secret::new),
        })
    }
}

/// Returns the profile of this name; `None` if the file has none. The configuration file writes
/// `[profile NAME]`, the file of credentials `[NAME]`. Indented lines belong to nested settings, which do not
/// matter here.
pub(crate) fn profile_of(text: &str, name: &str) -> Option<Profile> {
    let mut found: Option<Profile> = None;
    let mut is_here = false;
    for line in text.lines() {
        let is_nested = line.starts_with([' ', '\t']);
        let line = line.trim();
        if let Some(section) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            let mut words = section.split_whitespace();
            let first = words.next().unwrap_or_default();
            let second = words.next().filter(|_| first == "profile");
            is_here = second.unwrap_or(first) == name;
            if is_here {
                found.get_or_insert_default();
            }
        } else if let (true, false, Some((key, value))) = (is_here, is_nested, line.split_once('='))
            && let Some(profile) = &mut found
        {
            set(profile, key.trim(), value.trim());
        }
    }
    found
}

fn set(profile: &mut Profile, key: &str, value: &str) {
    let place = match key {
        "region" => &mut profile.region,
        "aws_access_key_id" => &mut profile.access_key_id,
        "aws_secret_access_key" => &mut profile.secret_access_key,
        "aws_session_token" => &mut profile.session_token,
        _ => return,
    };
    *place = Some(value.to_owned()).filter(|value| !value.is_empty());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made up.
    const TEXT: &str = "# mine\n[default]\naws_access_key_id = AKIAMADEUP\naws_secret_access_key=made/up+secret=\n\
                        s3 =\n  region = not-this-one\n[profile work]\nregion = eu-west-1\n; no key\n[other]\n\
                        aws_access_key_id =\naws_session_token = t\n";

    #[test]
    fn a_profile_is_found_by_its_name_in_either_form() {
        let usual = profile_of(TEXT, "default").expect("it is there");
        assert_eq!(usual.region, None);
        let keys = usual.credentials().expect("both parts");
        assert_eq!(keys.access_key_id, "AKIAMADEUP");
        assert_eq!(keys.secret_access_key.expose(), "made/up+secret=");
        let work = profile_of(TEXT, "work").expect("it is there");
        assert_eq!(work.region.as_deref(), Some("eu-west-1"));
        assert!(work.credentials().is_none(), "it has no key");
        assert!(
            profile_of(TEXT, "other")
                .expect("it is there")
                .credentials()
                .is_none()
        );
        assert!(
            profile_of(TEXT, "profile").is_none(),
            "a word of the form is not a name"
        );
    }
}
