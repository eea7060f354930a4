//! The condensers that a setting or an agent's file names, also by the names that OpenHands V0 gives them.
//!
//! | name | of OpenHands V0 | does |
//! | --- | --- | --- |
//! | `summary` | – | a model writes a summary at `condense.at` |
//! | `summary N` | `llm`, `llm_attention`, `structured` (100) | the same, and at more than N messages |
//! | `recent N` | `recent`, `amortized` (100) | at more than N messages, the older half is left out |
//! | `mask N` | `observation_masking` (100) | results of tools before the latest N are masked |
//! | `mask-web N` | `browser_output_masking` (1) | the same for tools that read web pages |
//! | `window` | `noop`, `conversation_window` | nothing, until the conversation does not fit |
//!
//! A list of them is what OpenHands calls a `pipeline`. They apply in the order of the table from below,
//! whatever their order in the list is: the cheapest first.

use agentx_types::Condensing;

use crate::settings::bounds::MOST_TAIL;

/// Least number of messages that a condenser by count may be set to.
const LEAST_MESSAGES: u32 = 4;

/// The kinds of condensers.
#[derive(Clone, Copy)]
enum CondenserKind {
    Summary,
    Recent,
    Mask,
    MaskWeb,
    Window,
}

use CondenserKind::{Mask, MaskWeb, Recent, Summary, Window};

/// The names, each with its kind and the number that it has if none is written.
const CONDENSERS: [(&str, CondenserKind, Option<u32>); 14] = [
    ("summary", Summary, None),
    ("llm", Summary, Some(100)),
    ("llm_attention", Summary, Some(100)),
    ("structured", Summary, Some(100)),
    ("recent", Recent, Some(100)),
    ("amortized", Recent, Some(100)),
    ("mask", Mask, Some(100)),
    ("observation_masking", Mask, Some(100)),
    ("mask-web", MaskWeb, Some(1)),
    ("browser_output_masking", MaskWeb, Some(1)),
    ("window", Window, None),
    ("conversation_window", Window, None),
    ("noop", Window, None),
    ("none", Window, None),
];

/// Lets the settings of condensing have exactly these condensers. An empty list changes nothing.
///
/// # Errors
/// Returns the name that is unknown, or the number that is out of range.
pub fn choose_condensers(condensing: &mut Condensing, names: &[String]) -> Result<(), String> {
    if names.is_empty() {
        return Ok(());
    }
    let mut chosen = Condensing {
        masks: None,
        masks_web: None,
        recent: None,
        summary_after: None,
        no_summary: true,
        ..condensing.clone()
    };
    for name in names {
        let (kind, count) = read_condenser(name)?;
        match kind {
            Summary => {
                chosen.no_summary = false;
                chosen.summary_after = count;
            }
            Recent => chosen.recent = count,
            Mask => chosen.masks = count,
            MaskWeb => chosen.masks_web = count,
            Window => {}
        }
    }
    *condensing = chosen;
    Ok(())
}

/// Reads a condenser with its number: `recent`, `recent 50`, `recent(50)`.
fn read_condenser(written: &str) -> Result<(CondenserKind, Option<u32>), String> {
    let text = written.trim().trim_end_matches(')').replace('(', " ");
    let (name, number) = text
        .split_once(char::is_whitespace)
        .unwrap_or((text.as_str(), ""));
    let Some((_, kind, usual)) = CONDENSERS.iter().find(|(known, ..)| *known == name) else {
        let known: Vec<&str> = CONDENSERS.iter().map(|(name, ..)| *name).collect();
        return Err(format!(
            "unknown condenser {written:?}; known are {}",
            known.join(", ")
        ));
    };
    if number.trim().is_empty() {
        return Ok((*kind, *usual));
    }
    let least = match kind {
        Summary | Recent => LEAST_MESSAGES,
        Mask | MaskWeb => 0,
        Window => return Err(format!("{written:?}: `{name}` takes no number")),
    };
    let most = u32::try_from(MOST_TAIL).unwrap_or(u32::MAX);
    let count = number
        .trim()
        .parse()
        .ok()
        .filter(|count| (least..=most).contains(count));
    let count = count.ok_or_else(|| format!("{written:?}: the number may be {least} to {most}"))?;
    Ok((*kind, Some(count)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use super::*;

    fn chosen(names: &[&str]) -> Result<Condensing, String> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut condensing = Condensing::of_new_agent();
        choose_condensers(&mut condensing, &names).map(|()| condensing)
    }

    #[test]
    fn condensers_are_chosen_by_our_names_and_those_of_openhands() {
        assert_eq!(chosen(&[]).unwrap(), Condensing::of_new_agent());
        assert_eq!(chosen(&["summary"]).unwrap(), Condensing::of_new_agent());
        let none = Condensing {
            no_summary: true,
            ..Condensing::of_new_agent()
        };
        for name in ["noop", "none", "window", "conversation_window"] {
            assert_eq!(chosen(&[name]).unwrap(), none, "{name}");
        }
        for name in ["recent", "amortized", "recent 100", "recent(100)"] {
            let recent = Condensing {
                recent: Some(100),
                ..none.clone()
            };
            assert_eq!(chosen(&[name]).unwrap(), recent, "{name}");
        }
        let pipeline = chosen(&["browser_output_masking", "observation_masking 20", "llm"]).unwrap();
        let expected = Condensing {
            masks: Some(20),
            masks_web: Some(1),
            summary_after: Some(100),
            ..Condensing::of_new_agent()
        };
        assert_eq!(pipeline, expected);
    }

    #[test]
    fn what_is_no_condenser_is_named_with_those_that_are() {
        for (wrong, said) in [
            (
                "pipeline",
                "unknown condenser \"pipeline\"; known are summary, llm,",
            ),
            ("recent 3", "\"recent 3\": the number may be 4 to 100000"),
            ("mask -1", "\"mask -1\": the number may be 0 to 100000"),
            ("window 5", "\"window 5\": `window` takes no number"),
        ] {
            let refused = chosen(&[wrong]).unwrap_err();
            assert!(refused.starts_with(said), "{refused}");
        }
    }
}
