//! `/secret`: marks a value as secret from now on, typed without being shown. It goes into no line, no history and
//! no event.

use agentx::llm::Secret;
use agentx::node::known_secrets;

use crate::chat::Chat;
use crate::error::ChatError;
use crate::render::clean::visible;
use crate::secrets;
use crate::terminal::passphrase;

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
        if let Some(name) = words.strip_prefix("remove ") {
            secrets::forget(self.settings, name.trim())?;
            self.learn();
            return Ok(format!("forgotten: {}", visible(name.trim())));
        }
        secrets::check_name(words)?;
        let Some(value) = self.ask_unseen(&format!("Value of {words}: ")).await? else {
            return Ok(format!(
                "this terminal cannot hide what is typed; `agentx secrets add {words}` marks a value"
            ));
        };
        secrets::mark(self.settings, words, &value)?;
        Ok(if self.learn() {
            format!(
                "marked: {words} is replaced from now on. What was recorded before stays until `agentx sessions \
                 redact ID --found`"
            )
        } else {
            format!("marked: {words}; it is not replaced while `secrets.redact` is off")
        })
    }

    /// Lets open sessions know the present values. Returns whether they replace them.
    fn learn(&self) -> bool {
        self.place.runtime().learn_secrets(&known_secrets(self.settings))
    }

    /// Asks for a value without showing it; `None` if the terminal cannot be lent. Takes events meanwhile, to show them
    /// when the terminal is back.
    async fn ask_unseen(&mut self, prompt: &str) -> Result<Option<Secret>, ChatError> {
        let Some(lent) = self.lend_terminal()? else {
            return Ok(None);
        };
        let prompt = prompt.to_owned();
        let mut asking =
            tokio::task::spawn_blocking(move || passphrase::ask_hidden(&prompt, secrets::PATIENCE));
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
        Ok(Some(Secret::new(value)))
    }
}
