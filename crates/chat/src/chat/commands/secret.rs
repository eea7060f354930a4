//! `/secret`: marks a value as secret from now on, typed without being shown. It goes into no line, no
//! history and no event. A value that was typed behind the name was visible, so it is marked too, and the
//! line is not stored.

use agentx::llm::Secret;
use agentx::node::known_secrets;
use agentx::runtime::Redactor;

use crate::chat::Chat;
use crate::error::ChatError;
use crate::render::clean::visible;
use crate::secrets::{self, kept_files};
use crate::terminal::passphrase;

/// The arguments of `/secret`.
const USAGE: &str = "/secret NAME marks a value, /secret remove NAME forgets one, /secret lists the names";

/// The note about a value that was typed behind its name.
const WAS_VISIBLE: &str = "the value was visible in the line, so the terminal may still show it; next time type \
                           only the name. The line is not in the history";

/// The result of typing without an echo.
enum TypedValue {
    Given(Secret),
    /// Esc, Ctrl-C, or an empty line.
    Cancelled,
    /// The terminal cannot hide it.
    NotHidden,
}

impl Chat<'_> {
    /// Runs `/secret`.
    pub(super) async fn secret(&mut self, words: Option<&str>) -> Result<String, ChatError> {
        if self.place.remote().is_some() {
            return Ok(
                "the server knows its own secrets; `agentx secrets` on its machine marks one".to_owned(),
            );
        }
        let Some(words) = words else {
            return Ok(match secrets::names(self.settings) {
                names if names.is_empty() => "nothing is marked; /secret NAME marks a value".to_owned(),
                names => format!("marked as secret: {}", visible(&names.join(", "))),
            });
        };
        let mut given = words.split_whitespace();
        match (given.next(), given.next(), given.next()) {
            (Some("remove"), Some(name), None) => {
                secrets::forget(self.settings, name)?;
                self.learn();
                Ok(format!("forgotten: {}", visible(name)))
            }
            (Some(name), Some(value), None) if name != "remove" => {
                secrets::check_name(name)?;
                let said = self.mark_value(name, &Secret::new(value.to_owned())).await?;
                Ok(format!("{said}\n{WAS_VISIBLE}"))
            }
            (Some("remove"), _, _) | (_, Some(_), _) => {
                Err(ChatError::usage("one name is needed, without blanks", USAGE))
            }
            _ => self.mark_secret(words.trim()).await,
        }
    }

    /// Asks for a value, and marks it.
    async fn mark_secret(&mut self, name: &str) -> Result<String, ChatError> {
        secrets::check_new_name(self.settings, name)?;
        let value = match self.ask_unseen(&format!("Value of {name}: ")).await? {
            TypedValue::Given(value) => value,
            TypedValue::Cancelled => return Ok("nothing was marked".to_owned()),
            TypedValue::NotHidden => {
                return Ok(format!(
                    "this terminal cannot hide what is typed; `agentx secrets add {name}` marks a value"
                ));
            }
        };
        self.mark_value(name, &value).await
    }

    /// Marks a value, and takes it out of what was typed before.
    async fn mark_value(&mut self, name: &str, value: &Secret) -> Result<String, ChatError> {
        let is_new = secrets::mark(self.settings, name, value)?;
        let marked = if is_new { "marked" } else { "marked already" };
        if !self.learn() {
            return Ok(format!(
                "{marked}: {name}; it is not replaced while `secrets.redact` is off"
            ));
        }
        // The draft of this chat is open, so nobody else can change it.
        self.rewrite_draft();
        let redactor = Redactor::of_values(&secrets::set_of(name, value)?);
        let settings = self.settings.clone();
        let taken = tokio::task::spawn_blocking(move || kept_files::take_out(&settings, &redactor)).await;
        let notes = taken.map(|taken| taken.notes()).unwrap_or_default();
        let recorded = match self.connection.session() {
            Some(session) => format!("until `agentx sessions redact {} --found`", session.id()),
            None => "until `agentx sessions scan` finds it and you take it out".to_owned(),
        };
        Ok(format!(
            "{marked}: {name} is replaced from now on\nwhat the terminal shows already stays there; the chat replaces \
             it when it prints it again\nwhat was recorded before stays {recorded}\n{notes}"
        )
        .trim_end()
        .to_owned())
    }

    /// Lets open sessions know the present values. Returns whether they replace them.
    fn learn(&self) -> bool {
        let known = known_secrets(self.settings);
        self.display.hidden.learn(&known);
        self.place.runtime().learn_secrets(&known)
    }

    /// Asks for a value without showing it; keys that came right behind the command are its beginning. Takes
    /// events meanwhile, to show them when the terminal is back.
    async fn ask_unseen(&mut self, prompt: &str) -> Result<TypedValue, ChatError> {
        let Some((lent, typed)) = self.lend_hidden()? else {
            return Ok(TypedValue::NotHidden);
        };
        let prompt = prompt.to_owned();
        let mut asking = tokio::task::spawn_blocking(move || {
            passphrase::ask_hidden_after(typed, &prompt, secrets::PATIENCE)
        });
        let asked = loop {
            tokio::select! {
                biased;
                asked = &mut asking => break asked,
                delivery = self.connection.site.next_delivery() => match delivery? {
                    Some(delivery) => self.delivery(&delivery).await,
                    None => break (&mut asking).await,
                },
                news = self.connection.company.news() => self.display.tell_participants_update(news),
            }
        };
        drop(lent);
        self.measure_terminal().await?;
        let asked = asked.unwrap_or_else(|lost| Err(lost.to_string()));
        let value = asked.map_err(|what| ChatError::Input { what })?;
        Ok(value.map_or(TypedValue::Cancelled, |value| {
            TypedValue::Given(Secret::new(value))
        }))
    }
}
