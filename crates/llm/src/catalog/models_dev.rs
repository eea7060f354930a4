//! Reads the public format of models.dev (<https://models.dev/api.json>, described in its repository
//! `anomalyco/models.dev`, `packages/core/src/schema.ts`), so that a person can bring the catalog up to date
//! without a new version of the program.
//!
//! The contents of the file are claims: windows, limits, prices and media of models are used, for providers
//! that the catalog knows. Values that a description leaves out stay as the catalog has them. Prices belong
//! together: the known prices of the cache and of long inputs stay only if the prices of input and output are
//! the known ones. Addresses, names of variables and options of protocols are not used. A model with
//! impossible values is left out and counted.

use std::collections::BTreeMap;

use agentx_types::{InputMedium, LongPrices, Prices};
use serde::Deserialize;
use serde_json::Value;

use super::config::per_token;
use super::{Catalog, LongPricesConfig, ModelConfig, ModelEntry, PricesConfig};

/// The largest window or answer that is believed, in tokens.
const MOST_TOKENS: u64 = 100_000_000;
/// The highest price that is believed, in dollars per million tokens.
const HIGHEST_PRICE: f64 = 100_000.0;
/// The longest id that is taken, in bytes.
const LONGEST_ID: usize = 200;
/// Providers with different names: the one in models.dev and the catalog's.
const OTHER_NAMES: &[(&str, &str)] = &[("moonshotai", "moonshot")];

/// The models of a file, and how many were left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelsDev {
    /// The models at providers of the catalog, in the order of their providers and ids.
    pub models: Vec<ModelConfig>,
    /// Models at providers that the catalog does not know.
    pub of_other_providers: usize,
    /// Models that take no tools, answer with something else than text, or are deprecated.
    pub unsuitable: usize,
    /// Models whose description makes no sense, with the reason: `provider/id: reason`.
    pub invalid: Vec<String>,
}

#[derive(Deserialize)]
struct ListedProvider {
    models: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
struct ListedModel {
    id: String,
    #[serde(default)]
    tool_call: Option<bool>,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    structured_output: Option<bool>,
    #[serde(default)]
    modalities: Option<Modalities>,
    #[serde(default)]
    limit: Limit,
    #[serde(default)]
    cost: Option<Cost>,
}

#[derive(Deserialize)]
struct Modalities {
    input: Vec<String>,
    output: Vec<String>,
}

#[derive(Default, Deserialize)]
struct Limit {
    #[serde(default)]
    context: Option<u64>,
    #[serde(default)]
    output: Option<u64>,
}

#[derive(Deserialize)]
struct Cost {
    #[serde(flatten)]
    prices: TokenPrices,
    #[serde(default)]
    tiers: Vec<Tier>,
    #[serde(default)]
    context_over_200k: Option<TokenPrices>,
}

#[derive(Clone, Copy, Deserialize)]
struct TokenPrices {
    input: f64,
    output: f64,
    #[serde(default)]
    cache_read: Option<f64>,
    #[serde(default)]
    cache_write: Option<f64>,
}

#[derive(Deserialize)]
struct Tier {
    #[serde(flatten)]
    prices: TokenPrices,
    tier: TierSize,
}

#[derive(Deserialize)]
struct TierSize {
    size: u64,
}

/// Reads a file in the format of models.dev.
///
/// # Errors
/// Returns an error if the text is not a JSON object of providers that each have `models`.
///
/// ```
/// use agentx_llm::Catalog;
/// use agentx_llm::catalog::models_dev;
///
/// let text = r#"{"xai": {"models": {"grok-9": {"id": "grok-9", "tool_call": true,
///     "modalities": {"input": ["text"], "output": ["text"]},
///     "limit": {"context": 500000, "output": 30000}, "cost": {"input": 1, "output": 2}}}}}"#;
/// let read = models_dev::read(text, &Catalog::builtin())?;
/// assert_eq!(read.models[0].context_window, Some(500_000));
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn read(text: &str, catalog: &Catalog) -> Result<ModelsDev, serde_json::Error> {
    let providers: BTreeMap<String, ListedProvider> = serde_json::from_str(text)?;
    let mut read = ModelsDev::default();
    for (name, provider) in providers {
        let renamed = OTHER_NAMES.iter().find(|(theirs, _)| *theirs == name);
        let name = renamed.map_or(name.as_str(), |(_, ours)| ours);
        if catalog.provider(name).is_none() {
            read.of_other_providers += provider.models.len();
            continue;
        }
        for (key, model) in provider.models {
            match model_of(name, model, catalog) {
                Ok(Some(model)) => read.models.push(model),
                Ok(None) => read.unsuitable += 1,
                Err(reason) => read.invalid.push(format!("{name}/{key}: {reason}")),
            }
        }
    }
    Ok(read)
}

/// `None` if an agent cannot use the model.
fn model_of(provider: &str, model: Value, catalog: &Catalog) -> Result<Option<ModelConfig>, String> {
    let model: ListedModel = serde_json::from_value(model).map_err(|error| error.to_string())?;
    let has_text = model
        .modalities
        .as_ref()
        .is_none_or(|modalities| modalities.output.iter().any(|medium| medium == "text"));
    if model.tool_call == Some(false) || !has_text || model.status.as_deref() == Some("deprecated") {
        return Ok(None);
    }
    if model.id.is_empty() || model.id.len() > LONGEST_ID || model.id.contains(char::is_control) {
        return Err("the id is empty, too long or not printable".to_owned());
    }
    for (name, tokens) in [("context", model.limit.context), ("output", model.limit.output)] {
        if let Some(tokens) = tokens.filter(|tokens| *tokens == 0 || *tokens > MOST_TOKENS) {
            return Err(format!("`limit.{name}` is {tokens}"));
        }
    }
    let is_it = |entry: &&ModelEntry| {
        entry.spec.provider == provider && entry.spec.id == model.id && entry.spec.name.is_none()
    };
    let known = catalog.models().iter().find(is_it).map(|entry| entry.spec.prices);
    let known = known.unwrap_or_default();
    Ok(Some(ModelConfig {
        id: model.id,
        provider: provider.to_owned(),
        name: None,
        aliases: None,
        snapshots: None,
        context_window: model.limit.context,
        max_output_tokens: model.limit.output,
        prices: model.cost.map(|cost| cost.prices(&known)).transpose()?,
        input: model.modalities.map(|modalities| media(&modalities.input)),
        answer_schema: model.structured_output,
        default_effort: None,
        note: None,
        checked: None,
        wire: None,
    }))
}

fn media(input: &[String]) -> Vec<InputMedium> {
    let known = [
        ("image", InputMedium::Image),
        ("pdf", InputMedium::File),
        ("audio", InputMedium::Audio),
    ];
    let takes = |name: &str| input.iter().any(|medium| medium == name);
    known
        .iter()
        .filter(|(name, _)| takes(name))
        .map(|(_, medium)| *medium)
        .collect()
}

impl Cost {
    /// The prices of the list. If input and output cost what they are known to cost, the known prices stand
    /// for those that the list does not name; if they cost something else, no known price counts.
    fn prices(self, known: &Prices) -> Result<PricesConfig, String> {
        let over_200k = self.context_over_200k.map(|prices| (200_000, prices));
        let tiers = self.tiers.iter().map(|tier| (tier.tier.size, tier.prices));
        // The catalog knows one tier: the first one, as the file has them in the order of their sizes.
        let long = tiers.min_by_key(|(size, _)| *size).or(over_200k);
        let prices = self.prices;
        prices.check()?;
        if let Some((_, long)) = long {
            long.check()?;
        }
        let is_known = prices.are(known.input, known.output);
        let kept = |known: u64| prices.kept(known).filter(|_| is_known);
        let known_tier = known.long.filter(|_| is_known);
        Ok(PricesConfig {
            input: prices.input,
            output: prices.output,
            cache_read: prices.cache_read.or_else(|| kept(known.cache_read)),
            cache_write: prices.cache_write.or_else(|| kept(known.cache_write)),
            cache_write_1h: known.cache_write_1h.and_then(kept),
            long: long.map_or_else(
                || known_tier.filter(|_| prices.input > 0.0).map(known_long),
                |(over_tokens, long)| Some(long.long(over_tokens, known_tier)),
            ),
        })
    }
}

/// The known prices of a long input, as the list would name them.
fn known_long(long: LongPrices) -> LongPricesConfig {
    LongPricesConfig {
        over_tokens: long.over_tokens,
        input: per_million(long.input),
        output: per_million(long.output),
        cache_read: per_million(long.cache_read),
        cache_write: per_million(long.cache_write),
    }
}

/// A price in dollars per million tokens.
fn per_million(nano: u64) -> f64 {
    nano as f64 / 1e3
}

impl TokenPrices {
    /// Returns whether input and output have these prices, in nano-dollars per token.
    fn are(self, input: u64, output: u64) -> bool {
        (per_token(self.input), per_token(self.output)) == (input, output)
    }

    /// A known price of cached tokens, unless it is unknown or the model became free.
    fn kept(self, known: u64) -> Option<f64> {
        (known > 0 && self.input > 0.0).then(|| per_million(known))
    }

    /// These prices as those of a long input.
    fn long(self, over_tokens: u64, known: Option<LongPrices>) -> LongPricesConfig {
        let is_same =
            |known: &LongPrices| known.over_tokens == over_tokens && self.are(known.input, known.output);
        let known = known.filter(is_same);
        let cache = |named: Option<f64>, kept: Option<u64>| {
            let kept = || kept.and_then(|kept| self.kept(kept));
            named.or_else(kept).unwrap_or(self.input)
        };
        LongPricesConfig {
            over_tokens,
            input: self.input,
            output: self.output,
            cache_read: cache(self.cache_read, known.map(|known| known.cache_read)),
            cache_write: cache(self.cache_write, known.map(|known| known.cache_write)),
        }
    }

    fn check(&self) -> Result<(), String> {
        let all = [
            Some(self.input),
            Some(self.output),
            self.cache_read,
            self.cache_write,
        ];
        match all
            .into_iter()
            .flatten()
            .find(|price| !(0.0..=HIGHEST_PRICE).contains(price))
        {
            Some(price) => Err(format!("a price is {price}")),
            None => Ok(()),
        }
    }
}
