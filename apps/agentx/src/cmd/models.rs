//! `agentx models`: the models that can be asked, and what is missing for the others.

use agentx::config::Loaded;
use agentx::runtime::ModelInfo;

use crate::compose::Place;
use crate::console::Console;
use crate::error::CliError;
use crate::exit::Exit;
use crate::render::table::table;
use crate::render::units;

/// Lists the models.
pub(crate) async fn run(
    place: &Place,
    loaded: &Loaded,
    json: bool,
    console: &mut Console,
) -> Result<Exit, CliError> {
    let models = place.runtime().models();
    if json {
        console.out_pretty(&models)?;
        return Ok(Exit::Ok);
    }
    let chosen = match place.default_agent().await? {
        Some(agent) => agent.model.id,
        None => loaded.settings.model_or_default().value,
    };
    console.out(&render(&models, &chosen, console.out_width()))?;
    Ok(Exit::Ok)
}

/// Below this a terminal has no room for all that there is to say.
const WIDE: usize = 100;
/// The column of other names.
const ALIASES: usize = 5;

/// The list; the model that is asked by default is marked with `*`.
pub(crate) fn render(models: &[ModelInfo], chosen: &str, width: usize) -> String {
    let heads = [
        "",
        "MODEL",
        "PROVIDER",
        "WINDOW",
        "IN/OUT PER M",
        "ALIASES",
        "NEEDS",
    ];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    for info in models {
        let spec = &info.spec;
        let price = |nano: u64| nano as f64 / 1e3;
        let is_chosen = spec.id == chosen || info.aliases.iter().any(|alias| alias == chosen);
        rows.push(vec![
            if is_chosen { "*" } else { "" }.to_owned(),
            spec.id.clone(),
            spec.provider.clone(),
            units::count(spec.context_window),
            format!("${} / ${}", price(spec.prices.input), price(spec.prices.output)),
            info.aliases.join(" "),
            info.missing.clone().unwrap_or_default(),
        ]);
    }
    if width < WIDE {
        // Which variable is missing is what matters most; other names are in the configuration's documents.
        for row in &mut rows {
            row.remove(ALIASES);
            let needs = row.pop().unwrap_or_default();
            let short = needs.strip_prefix("set ").and_then(|needs| needs.split_once(','));
            row.push(short.map_or(&*needs, |(variable, _)| variable).to_owned());
        }
        return table(&rows, width);
    }
    table(&rows, width.max(120))
}
