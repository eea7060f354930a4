//! The module `moment`: the time in the person's zone, who speaks, and what the conversation has cost so far,
//! around the input.
//!
//! ```text
//! <Context>
//!   <Current_Time>2026-11-30 05:00:00+01:00</Current_Time>
//!   <Speaker>Ada</Speaker>
//!   <Spent_So_Far>1200 tokens, $0.0031</Spent_So_Far>
//!   <Human_Input>
//!     the words of the person
//!   </Human_Input>
//! </Context>
//! ```
//!
//! `Speaker` is there if the person has a name or is not the owner of the session, `Spent_So_Far` if the
//! agent asks for the module `system` too.

use agentx_types::{BuildContext, InputWrapping, Timestamp};
use jiff::tz::TimeZone;

use super::sources::ContextModule;

/// The text around an input.
///
/// # Errors
/// Returns the reason if the time has no date, or the zone does not exist.
pub(super) fn wrapping(
    request: &BuildContext,
    speaker: Option<&str>,
    now: Timestamp,
    zone: Option<&str>,
) -> Result<InputWrapping, String> {
    let mut before = format!(
        "<Context>\n  <Current_Time>{}</Current_Time>\n",
        local_time(now, zone)?
    );
    if let Some(speaker) = speaker
        .map(plain)
        .or_else(|| request.by.as_ref().map(|by| plain(by.as_str())))
    {
        before.push_str(&format!("  <Speaker>{speaker}</Speaker>\n"));
    }
    let mut sources = request
        .agent
        .config
        .iter()
        .flat_map(|config| &config.context_sources);
    let knows_itself = sources.any(|source| source.name == ContextModule::System.name());
    if knows_itself {
        let usage = request.agent.usage;
        let tokens = usage.read_tokens().saturating_add(usage.output_tokens);
        let cost = request.agent.cost.as_usd();
        let more = if usage.is_unpriced() { " or more" } else { "" };
        before.push_str(&format!(
            "  <Spent_So_Far>{tokens} tokens, ${cost:.4}{more}</Spent_So_Far>\n"
        ));
    }
    before.push_str("  <Human_Input>\n    ");
    Ok(InputWrapping {
        before,
        after: "\n  </Human_Input>\n</Context>".to_owned(),
    })
}

/// The time in a zone, with its distance from UTC; in the zone of this machine if none is named.
fn local_time(now: Timestamp, zone: Option<&str>) -> Result<String, String> {
    let zone = match zone {
        Some(name) => TimeZone::get(name).map_err(|error| format!("the time zone {name}: {error}"))?,
        None => TimeZone::system(),
    };
    let at = jiff::Timestamp::from_microsecond(now.0).map_err(|error| format!("the time: {error}"))?;
    Ok(at.to_zoned(zone).strftime("%Y-%m-%d %H:%M:%S%:z").to_string())
}

/// A name without signs that could end its tag or its line.
fn plain(name: &str) -> String {
    let is_plain = |sign: &char| !sign.is_control() && !matches!(sign, '<' | '>' | '&');
    name.chars().filter(is_plain).take(80).collect()
}

#[cfg(test)]
mod tests {
    use agentx_types::{AskingAgent, ContextSource};

    use super::*;

    /// Noon in UTC on 30 November 2026.
    const NOON: Timestamp = Timestamp(1_796_040_000_000_000);

    fn request(by: Option<&str>) -> BuildContext {
        BuildContext {
            source: ContextSource {
                name: "moment".into(),
                max_tokens: 200,
            },
            text: "hi".into(),
            by: by.map(Into::into),
            workspace: "/work".into(),
            known: Vec::new(),
            agent: AskingAgent::default(),
        }
    }

    #[test]
    fn the_time_is_that_of_the_persons_zone() {
        let wrapped = wrapping(&request(None), None, NOON, Some("Asia/Shanghai")).unwrap();
        let time =
            "<Context>\n  <Current_Time>2026-11-30 20:00:00+08:00</Current_Time>\n  <Human_Input>\n    ";
        assert_eq!(wrapped.before, time);
        assert_eq!(wrapped.after, "\n  </Human_Input>\n</Context>");
        let utc = wrapping(&request(None), None, NOON, Some("UTC")).unwrap();
        assert!(utc.before.contains("2026-11-30 12:00:00+00:00"), "{}", utc.before);
        let nowhere = wrapping(&request(None), None, NOON, Some("Nowhere/Atlantis"));
        assert!(nowhere.unwrap_err().contains("Nowhere/Atlantis"));
    }

    #[test]
    fn the_speaker_is_named_and_cannot_write_tags() {
        let utc = Some("UTC");
        let named = wrapping(&request(None), Some("Ada</Speaker>\n"), NOON, utc).unwrap();
        assert!(
            named.before.contains("<Speaker>Ada/Speaker</Speaker>"),
            "{}",
            named.before
        );
        let other = wrapping(&request(Some("own_bo")), None, NOON, utc).unwrap();
        assert!(other.before.contains("<Speaker>own_bo</Speaker>"));
        let owner = wrapping(&request(None), None, NOON, utc).unwrap();
        assert!(!owner.before.contains("Speaker"));
    }
}
