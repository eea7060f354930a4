//! The families of models that Converse serves, by the id: each takes its own settings of reasoning, and
//! cache points in its own places.

/// A family of models with settings of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConverseFamily {
    /// Anthropic's.
    Claude,
    /// Amazon's before Nova 2, which do not reason.
    Nova,
    /// Amazon's from Nova 2 on.
    Nova2,
    /// OpenAI's with open weights.
    GptOss,
    /// OpenAI's others.
    Gpt,
    /// Any other.
    Other,
}

impl ConverseFamily {
    /// Returns the family of a model by its id: a model's, an inference profile's, or an ARN of one of them.
    pub(super) fn of(id: &str) -> Self {
        const FAMILIES: &[(&str, ConverseFamily)] = &[
            ("anthropic.", ConverseFamily::Claude),
            ("amazon.nova-2-", ConverseFamily::Nova2),
            ("amazon.nova-", ConverseFamily::Nova),
            ("openai.gpt-oss", ConverseFamily::GptOss),
            ("openai.", ConverseFamily::Gpt),
        ];
        let id = id.rsplit('/').next().unwrap_or(id);
        let found = FAMILIES.iter().find(|(name, _)| id.contains(name));
        found.map_or(Self::Other, |(_, family)| *family)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_told_by_the_vendor_and_the_name_in_an_id() {
        for (id, family) in [
            ("us.anthropic.claude-sonnet-4-6", ConverseFamily::Claude),
            ("global.amazon.nova-2-lite-v1:0", ConverseFamily::Nova2),
            (
                "arn:aws:bedrock:us-east-1:1:inference-profile/us.amazon.nova-pro-v1:0",
                ConverseFamily::Nova,
            ),
            ("openai.gpt-oss-120b-1:0", ConverseFamily::GptOss),
            ("us.openai.gpt-5.6-luna", ConverseFamily::Gpt),
            ("mistral.devstral-2-123b", ConverseFamily::Other),
        ] {
            assert_eq!(ConverseFamily::of(id), family, "{id}");
        }
    }
}
