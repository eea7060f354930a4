//! The question which model of the user's own server a chat uses, if nothing names one and the server has
//! several. A run has nobody to ask: it ends with an error that lists them.

use agentx::config::{SettingOrigin, Settings, Sourced};
use agentx::node::model::models_of_server;

use crate::error::ChatError;
use crate::exit::exit_words::leaves;
use crate::models::default_model::{learn_window, own_server};
use crate::render::clean::visible;
use crate::terminal::console::Console;
use crate::terminal::question_line::answer;

/// Maximum number of models to print. Any other one can be typed by its name.
const LISTED: usize = 30;

/// The question below the list.
const QUESTION: &str = "Which model? [number or name, q to leave] ";

/// Asks which model to use, and puts it into the settings. Returns `false` if the person wants to leave. Does
/// nothing without a person at a terminal, or if there is nothing to choose.
///
/// # Errors
/// Returns an error if the terminal cannot be read or written.
pub async fn ask_for_model(settings: &mut Settings, console: &mut Console) -> Result<bool, ChatError> {
    let is_there = console.terminal.input && console.terminal.output;
    let Some(provider) = own_server(settings).filter(|_| is_there) else {
        return Ok(true);
    };
    // What is wrong with the server is reported when its model is settled.
    let Some(Ok(models)) = models_of_server(settings, &provider.name).await else {
        return Ok(true);
    };
    let usual = provider.default_model.as_ref();
    if models.len() < 2 || usual.is_some_and(|usual| models.contains(usual)) {
        return Ok(true);
    }
    console.out_lines(&list(&provider.base_url, &models))?;
    loop {
        let given = answer(QUESTION, console)?;
        if given == "q" || leaves(&given) {
            return Ok(false);
        }
        if let Some(id) = chosen(&given, &models) {
            let name = format!("{}/{id}", provider.name);
            console.say(&format!(
                "note: `agentx config set model {}` makes it the model of new sessions\n",
                visible(&name)
            ));
            settings.model = Some(Sourced::new(name, SettingOrigin::Default));
            learn_window(settings).await;
            return Ok(true);
        }
        console.out(&format!("`{}` is not one of the models.\n", visible(&given)))?;
    }
}

/// The models with their numbers.
fn list(address: &str, models: &[String]) -> String {
    let mut text = format!(
        "No model is set, and the server at {} has several:\n\n",
        visible(address)
    );
    for (index, id) in models.iter().take(LISTED).enumerate() {
        text.push_str(&format!("{:>3}  {}\n", index + 1, visible(id)));
    }
    if let Some(more @ 1..) = models.len().checked_sub(LISTED) {
        text.push_str(&format!("     and {more} more: `agentx models` lists them\n"));
    }
    text + "\n"
}

/// Returns the model that an answer names, by its name or its number in the list.
fn chosen<'a>(given: &str, models: &'a [String]) -> Option<&'a str> {
    let named = models.iter().find(|id| *id == given);
    let numbered = || {
        let number: usize = given.parse().ok()?;
        models.get(number.checked_sub(1)?)
    };
    named.or_else(numbered).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_chosen_by_its_number_or_its_name() {
        let models = ["one", "3", "two\u{1b}[2J"].map(str::to_owned);
        for (given, id) in [
            ("1", Some("one")),
            ("one", Some("one")),
            ("3", Some("3")),
            ("0", None),
            ("4", None),
            ("", None),
            ("On", None),
        ] {
            assert_eq!(chosen(given, &models), id, "{given}");
        }
        let shown = list("http://127.0.0.1:1/v1", &models);
        assert!(
            shown.contains("\n  1  one\n") && !shown.contains('\u{1b}'),
            "{shown}"
        );
        let many: Vec<String> = (0..40).map(|number| format!("m{number}")).collect();
        assert!(list("http://h", &many).contains("and 10 more: `agentx models`"));
    }
}
