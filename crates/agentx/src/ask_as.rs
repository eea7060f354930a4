//! A question whose answer is a type: the schema of the type goes with the question, and the answer is read
//! as the type.

use std::future::IntoFuture;
use std::marker::PhantomData;

use agentx_runtime::{BoxFuture, read_json_answer};
use agentx_types::{ANSWER_REPAIRS, AnswerSchema};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::ask::Ask;
use crate::error::AgentError;
use crate::handle::AgentHandle;

/// A question whose answer is a `T`. Await it to send it.
///
/// Objects of the schema allow only the properties of the type, so that the APIs of models can enforce it.
#[must_use = "nothing is sent until it is awaited"]
pub struct AskAs<T> {
    ask: Ask,
    repairs: u32,
    answer: PhantomData<fn() -> T>,
}

impl AgentHandle {
    /// Asks the agent and waits for an answer that is a `T`. The model gets the JSON Schema of `T`. The
    /// answer is validated, and if it does not fit, the model gets the problems, [twice at
    /// most](AskAs::repairs).
    ///
    /// ```
    /// use agentx::{schemars::JsonSchema, serde::Deserialize};
    ///
    /// #[derive(Debug, Deserialize, JsonSchema)]
    /// #[serde(crate = "agentx::serde")]
    /// #[schemars(crate = "agentx::schemars")]
    /// struct Place {
    ///     city: String,
    ///     people: u64,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), agentx::AgentError> {
    /// let agent = agentx::agent("You know cities.").scripted(["Rome.", r#"{"city": "Rome", "people": 2755309}"#]).start().await?;
    /// let place = agent.ask_as::<Place>("Which city is eternal?").await?;
    /// assert_eq!((place.city.as_str(), place.people), ("Rome", 2_755_309));
    /// # Ok(())
    /// # }
    /// ```
    pub fn ask_as<T: DeserializeOwned + JsonSchema>(&self, text: impl Into<String>) -> AskAs<T> {
        AskAs::new(self.ask(text))
    }
}

impl<T: DeserializeOwned + JsonSchema> AskAs<T> {
    pub(crate) fn new(ask: Ask) -> Self {
        Self {
            ask,
            repairs: ANSWER_REPAIRS,
            answer: PhantomData,
        }
    }

    /// Maximum number of times that the model is asked again after an answer that does not fit. The default
    /// is 2.
    pub fn repairs(self, repairs: u32) -> Self {
        Self { repairs, ..self }
    }

    /// Adds options of the question: values for tools, a token that stops it.
    pub fn and(self, with: impl FnOnce(Ask) -> Ask) -> Self {
        Self {
            ask: with(self.ask),
            ..self
        }
    }
}

impl<T: DeserializeOwned + JsonSchema + 'static> IntoFuture for AskAs<T> {
    type Output = Result<T, AgentError>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    /// Asks.
    ///
    /// # Errors
    /// Returns the errors of [`Ask`]: [`AgentError::Ended`] if no answer fitted; and
    /// [`AgentError::Unreadable`] if an answer fits the schema of `T` but cannot be read as a `T`.
    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let schema = AnswerSchema {
                repairs: self.repairs,
                ..AnswerSchema::new(schema_of::<T>())
            };
            let text = self.ask.answer_schema(schema).await?.text;
            let value = read_json_answer(&text);
            let read =
                value.and_then(|value| serde_json::from_value(value).map_err(|error| error.to_string()));
            read.map_err(|reason| AgentError::Unreadable { reason, text })
        })
    }
}

/// Returns the schema of a type, with its objects closed if that changes nothing else.
fn schema_of<T: JsonSchema>() -> Value {
    let mut schema = schemars::schema_for!(T).to_value();
    close(&mut schema);
    schema
}

/// Forbids other properties in each object whose properties stand in one place. If alternatives stand beside
/// properties, both together describe the object, and it stays open.
fn close(schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else {
        return;
    };
    let combined = ["oneOf", "anyOf", "allOf", "$ref"]
        .iter()
        .any(|key| fields.contains_key(*key));
    let has_properties = fields.get("properties").is_some_and(Value::is_object);
    if has_properties && !combined && !fields.contains_key("additionalProperties") {
        fields.insert("additionalProperties".into(), json!(false));
    }
    for (key, value) in fields {
        match (key.as_str(), value) {
            ("items" | "additionalProperties", value) => close(value),
            ("properties" | "$defs", Value::Object(schemas)) => close_all(schemas),
            ("oneOf" | "anyOf", Value::Array(schemas)) if !has_properties => {
                schemas.iter_mut().for_each(close)
            }
            _ => {}
        }
    }
}

fn close_all(schemas: &mut Map<String, Value>) {
    schemas.values_mut().for_each(close);
}
