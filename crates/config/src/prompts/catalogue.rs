//! The list of skills that a model gets when its session begins: names and descriptions. It takes at most a
//! small share of the model's window, so long descriptions are cut if there are many.

use agentx_agent::estimate_text;
use agentx_types::Instructions;

use super::PromptFile;
use super::prompt_file::cut;

/// The share of the window that the list may take, in percent.
const PERCENT: u64 = 2;
/// Lengths of descriptions, in characters, of which the largest that fits is used.
const LENGTHS: [usize; 5] = [1_024, 400, 160, 80, 0];
/// The text in place of a path, because the list comes from many files.
const PLACE: &str = "skills";

/// The heading of the list.
const HEAD: &str = "\
Skills hold instructions for certain tasks. If one fits your task, read it with the tool `skill` before you begin. \
A skill gives you no permissions.\n";

/// Returns the list, in the order of `skills`; `None` if there are none.
pub(super) fn catalogue(skills: &[&PromptFile], window: u64) -> Option<Instructions> {
    if skills.is_empty() {
        return None;
    }
    let most = window.saturating_mul(PERCENT) / 100;
    let fits = |text: &String| estimate_text(text) <= most;
    let whole = LENGTHS.iter().map(|length| list(skills, *length)).find(fits);
    let text = whole.unwrap_or_else(|| names_within(skills, most));
    Some(Instructions {
        path: PLACE.to_owned(),
        text: text.into(),
    })
}

/// The list with descriptions of at most so many characters.
fn list(skills: &[&PromptFile], length: usize) -> String {
    let rows = skills.iter().map(|skill| match length {
        0 => format!("\n- {}", skill.name),
        length => format!("\n- {}: {}", skill.name, cut(&skill.description, length)),
    });
    std::iter::once(HEAD.to_owned()).chain(rows).collect()
}

/// As many names as fit, and how many others there are.
fn names_within(skills: &[&PromptFile], most: u64) -> String {
    let with_note = |count: usize| {
        let note = format!(
            "\n- and {} more; `skill` with the name `?` lists all",
            skills.len() - count
        );
        list(&skills[..count], 0) + &note
    };
    let counts = (1..skills.len()).rev().map(with_note);
    let mut fitting = counts.filter(|text| estimate_text(text) <= most);
    fitting.next().unwrap_or_else(|| with_note(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompts::PromptKind;

    fn skill(name: String) -> PromptFile {
        PromptFile {
            kind: PromptKind::Skill,
            description: format!("Does {name}. {}", "Use it for many things. ".repeat(40)),
            argument_hint: String::new(),
            text: "text".to_owned(),
            file: "SKILL.md".into(),
            of_folder: false,
            is_for_person: true,
            is_for_model: true,
            name,
        }
    }

    #[test]
    fn the_list_takes_at_most_two_percent_of_the_window() {
        let skills: Vec<PromptFile> = (0..50)
            .map(|number| skill(format!("skill-{number:02}")))
            .collect();
        let skills: Vec<&PromptFile> = skills.iter().collect();
        let told = |window: u64| catalogue(&skills, window).expect("there are skills").text;
        for window in [1_000_000, 200_000, 32_000, 8_000] {
            let text = told(window);
            assert!(estimate_text(&text) <= window * 2 / 100, "{window}: {text}");
            assert!(text.contains("- skill-00"), "{window}: {text}");
        }
        assert!(
            told(1_000_000).contains("skill-49: Does skill-49"),
            "all of them fit"
        );
        assert!(told(200_000).contains("skill-49: Does"), "they are cut");
        assert!(told(8_000).contains("more; `skill` with the name `?`"));
        assert_eq!(told(200_000), told(200_000));
        assert!(catalogue(&[], 200_000).is_none());
    }
}
