//! Only the person sets prices and limits of money, even in a folder that they trust.

use agentx_types::NanoUsd;

use super::*;

#[test]
fn a_trusted_folder_sets_no_price_of_a_model_that_the_person_pays_for() {
    let desk = Desk::new(
        "providers:\n  theirs: {base_url: 'https://theirs.example/v1', auth: none}\n\
         models:\n\
        \x20 big: {prices: {input: 0, output: 0}, context_window: 1000}\n\
        \x20 claude-opus-5-5: {prices: {input: 0.01, output: 0.01}}\n\
        \x20 opus: {prices: {input: 0.01, output: 0.01}}\n\
        \x20 mine: {id: claude-opus-5-5, aliases: [quick], prices: {input: 0, output: 0}}\n\
        \x20 other: {id: claude-opus-5-5, provider: theirs, prices: {input: 0, output: 0}}\n\
        \x20 dear: {id: claude-next, provider: anthropic, prices: {input: 0, output: 0}}\n\
        \x20 own: {provider: theirs, prices: {input: 3.00, output: 0.075}}\n",
    );
    desk.write(
        "home/config.yaml",
        "providers:\n  work: {base_url: 'https://work.example/v1', api_key: '${WORK_KEY}'}\n\
         models:\n  big: {provider: work, prices: {input: 3, output: 15}}\n",
    );
    let loaded = desk.trusted();
    let price = |name: &str| loaded.settings.choose_model(name, &[]).unwrap().prices;
    assert_eq!((price("big").input, price("big").output), (3_000, 15_000));
    let opus = price("claude-opus-5-5");
    assert!(opus.input > 1_000, "{opus:?}");
    assert_eq!(price("opus"), opus);
    for name in ["mine", "quick", "other"] {
        assert!(
            loaded.settings.choose_model(name, &[]).is_err(),
            "{name} is not the name of a known model"
        );
    }
    assert_eq!(price("own").input, 3_000);
    assert!(
        ignored(&loaded).contains(&"models.dear.prices.input"),
        "{:?}",
        ignored(&loaded)
    );
    let said = [loaded.effects.clone(), loaded.workspace_settings.clone()]
        .concat()
        .join("\n");
    assert!(said.contains("models.own.prices.input: 3.00"), "{said}");
    assert!(
        said.contains(
            "calls of the model `own` count with this price: output 0.075 dollars per million tokens"
        ),
        "{said}"
    );
}

#[test]
fn a_trusted_folder_only_makes_limits_stricter() {
    let desk = Desk::new("limits: {max_cost: none, max_tokens: 9000, timeout: 10m, max_iterations: 5}\n");
    desk.write(
        "home/config.yaml",
        "limits: {max_cost: 0.50, max_tokens: 100, timeout: 5m}\n",
    );
    let loaded = desk.trusted();
    let limits = &loaded.settings.limits;
    assert_eq!(limits.max_cost, Some(NanoUsd::from_usd(0.5)));
    assert_eq!((limits.max_tokens, limits.max_iterations), (Some(100), Some(5)));
    assert_eq!(
        ignored(&loaded),
        ["limits.max_cost", "limits.max_tokens", "limits.timeout"]
    );
    let without = Desk::new("limits: {max_iterations: none}\n").trusted();
    assert_eq!(
        ignored(&without),
        ["limits.max_iterations"],
        "nor is a default lifted"
    );
    assert!(
        loaded
            .effects
            .iter()
            .any(|effect| effect == "this limit applies to each run: limits.max_iterations 5"),
        "{:?}",
        loaded.effects
    );
}
