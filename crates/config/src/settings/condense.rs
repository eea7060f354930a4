//! Reads the settings of condensing.

use agentx_llm::Catalog;
use agentx_types::Condensing;

use crate::layers::getter::{SettingsGetter, mistake};
use crate::mistake::ConfigMistake;
use crate::settings::condensers::choose_condensers;

pub(crate) fn condensing(
    get: &SettingsGetter<'_>,
    catalog: &Catalog,
    mistakes: &mut Vec<ConfigMistake>,
) -> Condensing {
    let usual = Condensing::of_new_agent();
    // `none` is a set value that is not a number.
    let percent = get.count("condense.at").unwrap_or(0).min(100);
    let model = get.merged.sourced("condense.model").and_then(|named| {
        let name = named.value.to_string();
        match catalog.resolve(&name) {
            Ok(spec) => Some(Box::new(spec)),
            Err(error) => {
                let near = error.nearest().first().cloned();
                let what = format!("condense.model: unknown model {name:?}");
                mistakes.push(mistake(&named.origin, "condense.model", what, near));
                None
            }
        }
    });
    let mut condensing = Condensing {
        at_percent: u8::try_from(percent).unwrap_or(usual.at_percent),
        tail: get
            .count("condense.keep")
            .map_or(usual.tail, |tail| u32::try_from(tail).unwrap_or(u32::MAX)),
        model,
        ..usual
    };
    if let Some(names) = get.merged.sourced("condense.condensers")
        && let Err(what) = choose_condensers(&mut condensing, &get.name_list("condense.condensers"))
    {
        let what = format!("condense.condensers: {what}");
        mistakes.push(mistake(&names.origin, "condense.condensers", what, None));
    }
    condensing
}
