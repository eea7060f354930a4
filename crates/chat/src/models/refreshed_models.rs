//! Newer windows, limits and prices of models, from a list that a person names.

use std::collections::BTreeMap;
use std::path::Path;

use agentx::config::{
    Loaded, RefreshedModels, catalog_of, forget_refreshed_models, refreshed_models, write_refreshed_models,
};
use agentx::llm::Catalog;
use agentx::llm::catalog::models_dev::{self, ModelsDev};
use agentx::node::model::published_list;
use agentx::types::{ModelSpec, Prices};
use serde_json::json;

use crate::error::ChatError;
use crate::exit::Exit;
use crate::render::clean::visible;
use crate::render::units;
use crate::terminal::console::Console;

/// The largest file that is read, in bytes.
const MOST_BYTES: u64 = 16 << 20;
/// Maximum number of invalid descriptions to show.
const SHOWN_INVALID: usize = 5;

/// The difference that a list makes.
#[derive(Default)]
struct Differences {
    added: Vec<String>,
    changed: Vec<String>,
}

/// A person's wish to read a list of models.
#[derive(Clone, Debug)]
pub struct ModelRefreshRequest {
    /// The file or address of the list.
    pub from: String,
    /// Whether to show the differences only, and keep nothing.
    pub dry_run: bool,
    /// Whether to delete the stored list instead of reading a new one.
    pub forget: bool,
    /// Whether to print JSON.
    pub json: bool,
}

/// Reads a list, shows the differences and keeps it.
///
/// # Errors
/// Returns an error if the list cannot be read or used, or cannot be kept.
pub async fn refresh(
    loaded: &Loaded,
    args: &ModelRefreshRequest,
    console: &mut Console,
) -> Result<Exit, ChatError> {
    if args.forget {
        let had = forget_refreshed_models(&loaded.trust_dir)?;
        let words = if had {
            "the built-in list is used again"
        } else {
            "no list was read before"
        };
        console.out(&format!("{words}\n"))?;
        return Ok(Exit::Ok);
    }
    // The old list may be unreadable; it is replaced.
    let before = refreshed_models(&loaded.trust_dir).ok().flatten();
    let known = catalog_of(before.as_ref());
    let text = text_of(&args.from, &loaded.settings.workspace).await?;
    let read = models_dev::read(&text, &known).map_err(|error| refused(&args.from, &error.to_string()))?;
    if read.models.is_empty() {
        return Err(refused(
            &args.from,
            "it has no model of a provider that AgentX knows",
        ));
    }
    let kept = RefreshedModels::of_today(args.from.clone(), read.models.clone());
    let differences = differences(&known, &catalog_of(Some(&kept)));
    if !args.dry_run {
        write_refreshed_models(&loaded.trust_dir, &kept)?;
    }
    tell(&kept, &read, &differences, args, console)?;
    Ok(Exit::Ok)
}

/// A list that cannot be used.
fn refused(from: &str, why: &str) -> ChatError {
    ChatError::usage(
        format!("cannot use the list {}: {}", visible(from), visible(why)),
        "the list has to be in the format of https://models.dev/api.json; nothing was changed",
    )
}

async fn text_of(from: &str, directory: &Path) -> Result<String, ChatError> {
    if from.contains("://") {
        return published_list(from).await.map_err(|why| refused(from, &why));
    }
    let path = directory.join(from);
    let failed = |why: &str| refused(from, why);
    let found = std::fs::metadata(&path).map_err(|error| failed(&error.to_string()))?;
    if !found.is_file() {
        return Err(failed("it is not a file"));
    }
    if found.len() > MOST_BYTES {
        return Err(failed("it is larger than 16 MiB"));
    }
    std::fs::read_to_string(&path).map_err(|error| failed(&error.to_string()))
}

fn differences(before: &Catalog, after: &Catalog) -> Differences {
    let name = |spec: &ModelSpec| format!("{}/{}", spec.provider, spec.id);
    let specs = before
        .models()
        .iter()
        .map(|entry| (name(&entry.spec), &entry.spec));
    let known: BTreeMap<String, &ModelSpec> = specs.collect();
    let mut found = Differences::default();
    for entry in after.models() {
        let name = name(&entry.spec);
        match known.get(&name) {
            None => found.added.push(format!("{name}: {}", figures(&entry.spec))),
            Some(spec) if **spec != entry.spec => {
                found
                    .changed
                    .push(format!("{name}: {}", changes(spec, &entry.spec)));
            }
            Some(_) => {}
        }
    }
    found
}

fn figures(spec: &ModelSpec) -> String {
    let prices = match &spec.prices {
        none if *none == Prices::default() => "price unknown".to_owned(),
        prices if prices.free => "free".to_owned(),
        prices => format!(
            "${} in, ${} out per million",
            dollars(prices.input),
            dollars(prices.output)
        ),
    };
    format!("window {}, {prices}", units::count(spec.context_window))
}

/// Returns dollars per million tokens.
pub(crate) fn dollars(nano_per_token: u64) -> f64 {
    nano_per_token as f64 / 1e3
}

/// Returns what differs: `window 200,000 → 1,000,000, output $15 → $10`.
fn changes(before: &ModelSpec, after: &ModelSpec) -> String {
    let mut words = Vec::new();
    for (what, before, after) in [
        ("window", before.context_window, after.context_window),
        (
            "longest answer",
            before.max_output_tokens,
            after.max_output_tokens,
        ),
    ] {
        if before != after {
            words.push(format!(
                "{what} {} → {}",
                units::count(before),
                units::count(after)
            ));
        }
    }
    let (old, new) = (&before.prices, &after.prices);
    for (what, before, after) in [
        ("input", old.input, new.input),
        ("output", old.output, new.output),
        ("cache reads", old.cache_read, new.cache_read),
        ("cache writes", old.cache_write, new.cache_write),
    ] {
        if before != after {
            words.push(format!("{what} ${} → ${}", dollars(before), dollars(after)));
        }
    }
    if old.long != new.long {
        words.push("prices of long requests".to_owned());
    }
    if before.input != after.input {
        words.push("media".to_owned());
    }
    words.join(", ")
}

fn tell(
    kept: &RefreshedModels,
    read: &ModelsDev,
    found: &Differences,
    wish: &ModelRefreshRequest,
    console: &mut Console,
) -> Result<(), ChatError> {
    if wish.json {
        return console.out_pretty(&json!({
            "source": kept.source,
            "day": kept.day,
            "kept": !wish.dry_run,
            "added": found.added,
            "changed": found.changed,
            "of_other_providers": read.of_other_providers,
            "unsuitable": read.unsuitable,
            "invalid": read.invalid,
        }));
    }
    let rows = |sign: char, lines: &[String]| -> String {
        lines
            .iter()
            .map(|line| format!("{sign} {}\n", visible(line)))
            .collect()
    };
    console.out(&rows('~', &found.changed))?;
    console.out(&rows('+', &found.added))?;
    for line in read.invalid.iter().take(SHOWN_INVALID) {
        console.say(&format!("warning: left out {}\n", visible(line)));
    }
    let done = if wish.dry_run {
        "would be changed"
    } else {
        "changed"
    };
    console.out(&format!(
        "{} {done}, {} added; left out: {} of other providers, {} that an agent cannot use, {} invalid\n",
        units::counted(found.changed.len(), "model"),
        found.added.len(),
        read.of_other_providers,
        read.unsuitable,
        read.invalid.len(),
    ))
}
