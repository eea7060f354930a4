//! The catalog: the embedded data is sound, names are found or explained, configuration adds and overrides.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

use agentx_llm::catalog::CatalogConfig;
use agentx_llm::openai_chat::ReasoningEcho;
use agentx_llm::{AuthStyle, Catalog, CatalogError, WireOptions};
use agentx_types::{Api, NanoUsd, Usage};

#[test]
fn the_embedded_catalog_is_sound() {
    let catalog = Catalog::builtin();
    let mut names: Vec<String> = Vec::new();
    for model in catalog.models() {
        let spec = &model.spec;
        assert!(
            catalog
                .provider(&spec.provider)
                .is_some_and(|provider| provider.api == spec.api),
            "{}",
            spec.id
        );
        assert!(
            spec.max_output_tokens > 0 && spec.max_output_tokens <= spec.context_window,
            "{}",
            spec.id
        );
        let prices = spec.prices;
        assert!(
            prices.output >= prices.input
                && prices.cache_read <= prices.input
                && (prices.input > 0) != prices.free,
            "{}",
            spec.id
        );
        names.push(spec.id.clone());
        names.extend(model.aliases.iter().chain(&model.snapshots).cloned());
        for name in model.aliases.iter().chain(&model.snapshots).chain([&spec.id]) {
            let found = catalog.resolve(name).expect("every name is found");
            assert_eq!(
                (found.prices, &found.provider),
                (prices, &spec.provider),
                "{name}"
            );
        }
    }
    let all = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), all, "no name stands for two models");
    for provider in catalog.providers() {
        assert!(provider.base_url.starts_with("http"), "{}", provider.name);
        assert_eq!(
            provider.needs_key,
            provider.key_env.is_some(),
            "{}",
            provider.name
        );
        if let Some(model) = &provider.default_model {
            assert!(
                catalog.models().iter().any(|entry| entry.spec.id == *model),
                "{}",
                provider.name
            );
        }
    }
}

#[test]
fn environment_variables_are_the_known_ones() {
    let catalog = Catalog::builtin();
    for provider in catalog.providers() {
        // Google's model has its own name in the variables of Google's programs.
        let prefix = match &*provider.name {
            "google" => "GEMINI".to_owned(),
            name => name.to_uppercase().replace('-', "_"),
        };
        let key = match &*provider.name {
            // Amazon's and Google's own programs have their names.
            "bedrock" | "bedrock-converse" => Some("AWS_BEARER_TOKEN_BEDROCK".to_owned()),
            "vertex-anthropic" => Some("VERTEX_ACCESS_TOKEN".to_owned()),
            _ => provider.needs_key.then(|| format!("{prefix}_API_KEY")),
        };
        assert_eq!(provider.key_env, key);
        assert_eq!(provider.base_url_env, Some(format!("{prefix}_BASE_URL")));
    }
    let headers = catalog
        .provider("anthropic")
        .expect("built in")
        .headers(Some("k"));
    assert!(
        headers.contains(&("x-api-key", "k".into()))
            && headers.contains(&("anthropic-version", "2023-06-01".into()))
    );
    let headers = catalog.provider("openai").expect("built in").headers(Some("k"));
    assert!(headers.contains(&("authorization", "Bearer k".into())));
    assert_eq!(
        catalog.provider("ollama").expect("built in").headers(None).len(),
        1
    );
}

#[test]
fn claudes_that_nobody_knows_are_asked_as_their_version_is() {
    use agentx_llm::anthropic::ThinkingMode as T;
    let catalog = Catalog::builtin();
    for (name, expected) in [
        ("claude-sonnet-6", (T::Adaptive, false, true, true)),
        (
            "us.anthropic.claude-sonnet-5-5-v1:0",
            (T::Adaptive, false, true, true),
        ),
        ("databricks-claude-opus-5-5", (T::Adaptive, false, true, true)),
        ("claude-opus-5@20260801", (T::Adaptive, false, true, false)),
        ("claude-mythos-6", (T::Adaptive, false, true, true)),
        ("claude-opus-4.7", (T::Adaptive, false, false, false)),
        ("claude-sonnet-4-6-20260101", (T::Adaptive, true, false, false)),
        ("claude-haiku-4-1-20250101", (T::Budget, true, false, false)),
        ("made-up", (T::Budget, true, false, false)),
    ] {
        let model = catalog.resolve(&format!("anthropic/{name}")).expect("any model");
        let asked = catalog.wire_options(&model).anthropic;
        let found = (
            asked.thinking,
            asked.temperature,
            asked.thinks_by_default,
            asked.binds_thinking,
        );
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn models_that_want_their_thinking_back_get_it_unsigned_by_the_messages_api() {
    let catalog = Catalog::builtin();
    let wants = |name: &str| {
        let model = catalog.resolve(&format!("anthropic/{name}")).expect("any model");
        catalog.wire_options(&model).anthropic.unsigned_thinking
    };
    assert!(wants("deepseek-v4-pro") && wants("kimi-k2.5"));
    assert!(!wants("claude-opus-5-5") && !wants("made-up"));
}

#[test]
fn models_of_openai_that_nobody_knows_are_asked_as_their_family_is() {
    use agentx_llm::openai_chat::EffortWithTools as E;
    let catalog = Catalog::builtin();
    let asked = |name: &str| {
        let chat = catalog
            .wire_options(&catalog.resolve(name).expect("any model of a provider"))
            .chat;
        (chat.effort_with_tools, chat.temperature)
    };
    for name in [
        "gpt-5.5-codex",
        "gpt-5.9",
        "gpt-6-astra",
        "gpt-6.2-sol",
        "gpt-7",
        "gpt-10.1-made-up",
    ] {
        assert_eq!(asked(&format!("openai/{name}")), (E::None, false), "{name}");
    }
    assert_eq!(asked("openai/gpt-5.4-made-up"), (E::Omitted, false));
    assert_eq!(asked("openai/gpt-5.3-codex"), (E::AsWished, false));
    assert_eq!(asked("openai/o9"), (E::AsWished, false));
    for name in ["gpt-4.5-made-up", "gpt-oss-120b", "made-up", "omni"] {
        assert_eq!(asked(&format!("openai/{name}")), (E::AsWished, true), "{name}");
    }
    assert_eq!(
        asked("openrouter/openai/gpt-6-made-up"),
        (E::AsWished, true),
        "a gateway knows its own way"
    );
    let sol = catalog.resolve("gpt-6-sol").expect("known");
    assert_eq!((sol.context_window, sol.prices.output), (1_050_000, 10_000));
}

#[test]
fn names_are_found_or_explained() {
    let catalog = Catalog::builtin();
    assert_eq!(catalog.resolve("sonnet").expect("an alias").api, Api::Anthropic);
    assert_eq!(
        catalog
            .resolve("claude-sonnet-4-5-20250929")
            .expect("a snapshot")
            .id,
        "claude-sonnet-4-5-20250929"
    );
    assert_eq!(
        catalog
            .resolve("openai/gpt-5.2")
            .expect("known there")
            .prices
            .input,
        1_750
    );
    let mock = catalog
        .resolve("openai/mock")
        .expect("any model of a named provider");
    assert_eq!((mock.id.as_str(), mock.prices.input), ("mock", 0));
    let routed = catalog
        .resolve("openrouter/anthropic/claude-sonnet-4.5")
        .expect("ids may have slashes");
    assert_eq!(
        (routed.id.as_str(), routed.provider.as_str()),
        ("anthropic/claude-sonnet-4.5", "openrouter")
    );
    for (wrong, near) in [
        ("claude-opus-4-55", "claude-opus-4-5"),
        ("gtp-5", "gpt-5"),
        ("sonet", "sonnet"),
        ("claude", "claude-"),
    ] {
        let error = catalog.resolve(wrong).expect_err(wrong);
        assert!(
            error.nearest().iter().any(|name| name.starts_with(near)),
            "{wrong}: {:?}",
            error.nearest()
        );
        assert!(error.to_string().contains(wrong));
    }
    assert!(
        catalog
            .resolve("xyzzy-9000")
            .expect_err("nothing near")
            .nearest()
            .is_empty()
    );
    let error = catalog.resolve_at("antropic", "m").expect_err("no such provider");
    assert_eq!(error.nearest(), ["anthropic"]);
}

#[test]
fn configuration_adds_and_overrides() {
    let config: CatalogConfig = serde_json::from_str(
        r#"{
            "providers": {
                "house": {"base_url": "http://house:8000/v1", "key_env": "HOUSE_KEY", "wire": {"chat": {"stream_options": false}}},
                "openai": {"context_window": 64000}
            },
            "models": [
                {"id": "house-large", "provider": "house", "aliases": ["large"], "context_window": 100000,
                 "prices": {"input": 0.5, "output": 2}},
                {"id": "gpt-5.2", "provider": "openai", "prices": {"input": 1, "output": 2, "cache_read": 0.25}}
            ]
        }"#,
    )
    .expect("valid");
    let catalog = Catalog::builtin().extended(&config).expect("complete");
    let large = catalog.resolve("large").expect("added");
    assert_eq!(
        (large.api, large.context_window, large.prices.cache_read),
        (Api::OpenaiChat, 100_000, 500)
    );
    assert!(!catalog.wire_options(&large).chat.stream_options);
    let house = catalog.provider("house").expect("added");
    assert_eq!((house.auth, house.needs_key), (AuthStyle::Bearer, true));
    let gpt = catalog.resolve("gpt-5.2").expect("still there");
    assert_eq!(
        (gpt.prices.input, gpt.context_window),
        (1_000, 400_000),
        "only what is said is changed"
    );
    assert_eq!(
        catalog.resolve("openai/other").expect("any").context_window,
        64_000
    );
    let usage = Usage {
        input_tokens: 1_000_000,
        ..Usage::default()
    };
    assert_eq!(gpt.prices.cost(&usage), NanoUsd::from_usd(1.0));
}

#[test]
fn a_name_means_what_the_configuration_says_before_what_is_built_in() {
    let config: CatalogConfig = serde_json::from_str(
        r#"{
            "providers": {"house": {"base_url": "http://house:8000/v1", "auth": "none"}},
            "models": [
                {"id": "gpt-5.2", "provider": "house"},
                {"id": "house-large", "provider": "house", "aliases": ["opus"]}
            ]
        }"#,
    )
    .expect("valid");
    let catalog = Catalog::builtin().extended(&config).expect("complete");
    let meant = |name: &str| {
        let spec = catalog.resolve(name).expect(name);
        (spec.provider.to_string(), spec.id)
    };
    assert_eq!(meant("gpt-5.2"), ("house".into(), "gpt-5.2".into()));
    assert_eq!(meant("opus"), ("house".into(), "house-large".into()));
    assert_eq!(meant("openai/gpt-5.2"), ("openai".into(), "gpt-5.2".into()));
    assert_eq!(meant("sonnet").0, "anthropic");
}

#[test]
fn the_id_of_a_model_with_another_name_is_no_name_before_that_of_a_built_in_one() {
    let config: CatalogConfig = serde_json::from_str(
        r#"{
            "providers": {"azure": {"base_url": "http://azure:8000/v1", "auth": "none"}},
            "models": [
                {"id": "gpt-5.2", "provider": "azure", "name": "work-gpt"},
                {"id": "my-deployment", "provider": "azure", "name": "work-small"}
            ]
        }"#,
    )
    .expect("valid");
    let catalog = Catalog::builtin().extended(&config).expect("complete");
    let meant = |name: &str| {
        let spec = catalog.resolve(name).expect(name);
        (spec.provider.to_string(), spec.id)
    };
    assert_eq!(meant("gpt-5.2"), ("openai".into(), "gpt-5.2".into()));
    assert_eq!(meant("work-gpt"), ("azure".into(), "gpt-5.2".into()));
    assert_eq!(meant("azure/gpt-5.2"), ("azure".into(), "gpt-5.2".into()));
    assert_eq!(
        meant("my-deployment"),
        ("azure".into(), "my-deployment".into()),
        "nobody else's"
    );
    assert_eq!(catalog.own("gpt-5.2"), None);
}

#[test]
fn what_the_configuration_speaks_of_is_listed_first() {
    let config: CatalogConfig = serde_json::from_str(
        r#"{"models": [
            {"id": "gpt-5.2", "provider": "openai", "aliases": ["gpt"]},
            {"id": "opus", "provider": "ollama"},
            {"id": "gpt-5.2", "provider": "openai", "context_window": 1000}
        ]}"#,
    )
    .expect("valid");
    let catalog = Catalog::builtin().extended(&config).expect("complete");
    let listed: Vec<&str> = catalog.models()[..3]
        .iter()
        .map(|entry| entry.spec.id.as_str())
        .collect();
    assert_eq!(
        listed,
        ["gpt-5.2", "opus", Catalog::builtin().models()[0].spec.id.as_str()]
    );
    assert_eq!(catalog.models().len(), Catalog::builtin().models().len() + 1);
    assert_eq!(
        catalog.own("opus").expect("of the configuration").provider,
        "ollama"
    );
    assert_eq!(catalog.own("gpt").expect("an alias").context_window, 1_000);
    assert_eq!(catalog.own("sonnet"), None);
}

#[test]
fn a_dated_id_is_the_model_of_that_name() {
    let catalog = Catalog::builtin();
    for (dated, model) in [
        ("gpt-5.4-2026-03-05", "gpt-5.4"),
        ("gpt-5.4-mini-2026-03-17", "gpt-5.4-mini"),
        ("claude-haiku-4-5-20251001", "claude-haiku-4-5"),
    ] {
        let spec = catalog.resolve(dated).expect("known");
        assert_eq!(spec.id, dated);
        let known = catalog.resolve(model).expect("known");
        assert_eq!(
            (spec.prices, spec.context_window),
            (known.prices, known.context_window)
        );
        assert_eq!(catalog.wire_options(&spec), catalog.wire_options(&known));
    }
    for other in ["gpt-5.4-pro", "gpt-5.4-2026", "gpt-5.4-12345678"] {
        assert!(catalog.resolve(other).is_err(), "{other}");
    }
}

#[test]
fn a_vendors_model_behind_a_server_of_ones_own_is_asked_as_at_home() {
    let config: CatalogConfig = serde_json::from_str(
        r#"{"providers": {
            "azure": {"base_url": "https://x.openai.azure.com/openai/v1", "key_env": "K"},
            "gateway": {"base_url": "https://gateway.example", "api": "anthropic"}
        }}"#,
    )
    .expect("valid");
    let catalog = Catalog::builtin().extended(&config).expect("complete");
    let wire = |name: &str| {
        let mut wire = catalog.wire_options(&catalog.resolve(name).expect(name));
        // The server decides that.
        wire.chat.prompt_cache_key = false;
        wire.answer_schema = false;
        wire
    };
    assert_eq!(wire("azure/gpt-5.6-terra"), wire("openai/gpt-5.6-terra"));
    assert_eq!(wire("azure/openai/gpt-5.2"), wire("openai/gpt-5.2"));
    assert_eq!(wire("gateway/claude-sonnet-5-5"), wire("sonnet"));
    assert_eq!(wire("azure/llama-4"), WireOptions::default());
    let router = catalog.provider("openrouter").expect("built in").wire.clone();
    assert_eq!(
        wire("openrouter/openai/gpt-5.6-terra"),
        router,
        "it says itself how it is asked"
    );
}

#[test]
fn configuration_that_makes_no_sense_is_refused() {
    let refused = |text: &str| {
        let config: CatalogConfig = serde_json::from_str(text).expect("valid JSON");
        Catalog::builtin().extended(&config).expect_err(text)
    };
    assert!(matches!(
        refused(r#"{"providers": {"new": {}}}"#),
        CatalogError::Incomplete {
            field: "base_url",
            ..
        }
    ));
    let error = refused(r#"{"models": [{"id": "m", "provider": "opnai"}]}"#);
    assert_eq!(error.nearest(), ["openai"]);
    for unknown in [
        r#"{"model": []}"#,
        r#"{"models": [{"id": "m", "provider": "openai", "price": 1}]}"#,
    ] {
        assert!(
            serde_json::from_str::<CatalogConfig>(unknown).is_err(),
            "{unknown}"
        );
    }
}

#[test]
fn models_that_take_tools_only_at_responses_are_asked_there_at_another_address_too() {
    let own: CatalogConfig = serde_json::from_value(serde_json::json!({
        "models": [{"id": "gpt-6.2-sol", "provider": "openai", "name": "mine"}],
    }))
    .expect("a valid configuration");
    let moved = |address: &str| {
        let moved = Catalog::builtin().with_base_url("openai", address);
        moved.and_then(|catalog| catalog.extended(&own)).expect("known")
    };
    let api = |catalog: &Catalog, name: &str| catalog.resolve(name).expect("known").api;
    let proxy = moved("http://localhost:4000/v1");
    for name in ["gpt-6.2-sol", "gpt-6-astra", "openai/gpt-6.1-made-up", "mine"] {
        assert_eq!(api(&proxy, name), Api::OpenaiResponses, "{name}");
    }
    for name in ["gpt-6-sol", "gpt-5.5", "gpt-4.1", "openai/llama"] {
        assert_eq!(api(&proxy, name), Api::OpenaiChat, "{name}");
    }
    for address in [
        "http://localhost:4000/v1/chat/completions",
        "https://r.openai.azure.com/openai/deployments?api-version=2024-10-21",
    ] {
        assert_eq!(api(&moved(address), "gpt-6.2-sol"), Api::OpenaiChat, "{address}");
    }
    let chosen: CatalogConfig =
        serde_json::from_value(serde_json::json!({"providers": {"openai": {"api": "openai-chat"}}}))
            .expect("a valid configuration");
    let chosen = proxy.extended(&chosen).expect("known");
    assert_eq!(api(&chosen, "gpt-6.2-sol"), Api::OpenaiChat, "a person chose it");
    assert_eq!(api(&Catalog::builtin(), "gpt-4.1"), Api::OpenaiResponses);
}

#[test]
fn openai_at_another_address_is_some_compatible_server() {
    let catalog = Catalog::builtin()
        .with_base_url("openai", "http://localhost:8080/v1")
        .expect("a known provider");
    let model = catalog.resolve("openai/llama").expect("any model");
    assert_eq!(catalog.wire_options(&model), WireOptions::default());
    assert!(!catalog.provider("openai").expect("built in").needs_key);
    let same = Catalog::builtin()
        .with_base_url("openai", "https://api.openai.com/v1/")
        .expect("a known provider");
    assert!(same.provider("openai").expect("built in").needs_key);
    assert!(Catalog::builtin().with_base_url("opnai", "x").is_err());
    let anthropic = Catalog::builtin()
        .with_base_url("anthropic", "http://localhost:1/v1")
        .expect("a known provider");
    assert_eq!(
        anthropic
            .provider("anthropic")
            .expect("built in")
            .url(Api::Anthropic, None),
        "http://localhost:1/v1/messages"
    );
}

/// The cost in dollars of a call that reads this many thousand tokens, from the cache too, and writes a
/// thousand.
fn dollars(model: &str, thousands_read: u64, thousands_cached: u64) -> f64 {
    let spec = Catalog::builtin().resolve(model).expect(model);
    let usage = Usage {
        input_tokens: thousands_read * 1_000,
        cache_read_tokens: thousands_cached * 1_000,
        output_tokens: 1_000,
        ..Usage::default()
    };
    spec.prices.cost(&usage).as_usd()
}

#[test]
fn calls_cost_what_the_price_lists_say() {
    // https://platform.claude.com/docs/en/about-claude/pricing and /models/haiku-5-5/overview, read
    // 2026-11-22: cache reads cost 5 % on Opus 5.5 and Sonnet 5.5 and 2.5 % on Fable 5.1; Haiku 5.5 has other
    // prices for prompts over 100,000 tokens, the cache's included, for each token of the call.
    for (model, read, cached, expected) in [
        ("claude-opus-5-5", 0, 1_000, 0.20 + 0.02),
        ("claude-sonnet-5-5", 0, 1_000, 0.10 + 0.01),
        ("claude-fable-5-1", 0, 1_000, 0.25 + 0.05),
        ("claude-fable-5-2", 0, 1_000, 0.2 + 0.04),
        ("claude-haiku-5-5", 100, 0, 0.01 + 0.0005),
        ("claude-haiku-5-5", 101, 0, 0.0505 + 0.0025),
        ("claude-haiku-5-5", 1, 100, 0.0005 + 0.005 + 0.0025),
        // https://developers.openai.com/api/docs/pricing: over 272,000 tokens twice the price of input, one
        // and a half times that of output.
        ("gpt-5.4", 272, 0, 0.68 + 0.015),
        ("gpt-5.4", 273, 0, 1.365 + 0.0225),
        ("gpt-5.6-terra", 0, 1_000, 0.4 + 0.018),
    ] {
        let cost = dollars(model, read, cached);
        assert!(
            (cost - expected).abs() < 1e-9,
            "{model} {read}k {cached}k: {cost}, not {expected}"
        );
    }
}

/// The prices that the books are kept by, in dollars for a million tokens: what is read, written, and read
/// from the cache. A change of the catalog changes this table too.
#[test]
fn deepseek_xai_and_mistral_cost_what_the_catalog_was_given() {
    for (model, input, output, cache_read) in [
        ("deepseek-v4-pro", 1.32, 3.96, 0.044),
        ("deepseek-flash", 0.3, 1.2, 0.006),
        ("grok-4.3", 1.25, 2.5, 0.2),
        ("grok-4.7", 2.0, 6.0, 0.5),
        ("grok-build-0.1", 1.0, 2.0, 0.2),
        ("kimi-k3.1-pro", 2.0, 10.0, 0.2),
        ("mistral-large-4", 0.7, 2.1, 0.07),
        ("mistral-large-2512", 0.5, 1.5, 0.05),
        ("mistral-medium-2604", 1.5, 7.5, 0.15),
        ("mistral-small-2603", 0.15, 0.6, 0.015),
    ] {
        let read = dollars(model, 100, 0) - dollars(model, 0, 0);
        let cached = dollars(model, 0, 100) - dollars(model, 0, 0);
        let found = [read * 10.0, dollars(model, 0, 0) * 1_000.0, cached * 10.0];
        for (found, expected) in found.into_iter().zip([input, output, cache_read]) {
            assert!(
                (found - expected).abs() < 1e-3,
                "{model}: {found}, not {expected}"
            );
        }
    }
}

/// Made up, in the format of <https://models.dev/api.json>.
const LIST: &str = r#"{
    "xai": {"name": "xAI", "models": {
        "grok-9": {"id": "grok-9", "tool_call": true, "release_date": "2026-11-01",
            "modalities": {"input": ["text", "image", "pdf", "video"], "output": ["text"]},
            "limit": {"context": 500000, "output": 30000},
            "cost": {"input": 1.25, "output": 2.5, "cache_read": 0.2,
                "tiers": [{"input": 2.5, "output": 5, "cache_read": 0.4, "tier": {"type": "context", "size": 200000}}]}},
        "grok-old": {"id": "grok-old", "tool_call": true, "status": "deprecated",
            "modalities": {"input": ["text"], "output": ["text"]}, "limit": {"context": 1000, "output": 100}},
        "grok-imagine": {"id": "grok-imagine", "tool_call": false,
            "modalities": {"input": ["text"], "output": ["image"]}, "limit": {"context": 1000, "output": 100}},
        "grok-negative": {"id": "grok-negative", "tool_call": true,
            "modalities": {"input": ["text"], "output": ["text"]}, "limit": {"context": 1000, "output": 100},
            "cost": {"input": -1, "output": 2}},
        "grok-empty": {"id": "grok-empty", "tool_call": true,
            "modalities": {"input": ["text"], "output": ["text"]}, "limit": {"context": 0, "output": 100}},
        "grok-odd": {"id": 5}}},
    "moonshotai": {"models": {
        "kimi-k9": {"id": "kimi-k9", "tool_call": true, "modalities": {"input": ["text"], "output": ["text"]},
            "limit": {"context": 256000, "output": 64000},
            "cost": {"input": 1, "output": 4, "context_over_200k": {"input": 2, "output": 8}}}}},
    "anthropic": {"models": {
        "claude-opus-5-5": {"id": "claude-opus-5-5", "tool_call": true,
            "modalities": {"input": ["text", "image"], "output": ["text"]},
            "limit": {"context": 2000000, "output": 128000}, "cost": {"input": 3, "output": 15}}}},
    "somebody": {"api": "https://other.test", "models": {"a": {"id": "a"}, "b": {"id": "b"}}}
}"#;

#[test]
fn a_list_of_models_dev_is_read_and_what_makes_no_sense_is_left_out() {
    use agentx_llm::catalog::models_dev;
    let read = models_dev::read(LIST, &Catalog::builtin()).unwrap();
    let names: Vec<String> = read
        .models
        .iter()
        .map(|model| format!("{}/{}", model.provider, model.id))
        .collect();
    assert_eq!(
        names,
        ["anthropic/claude-opus-5-5", "moonshot/kimi-k9", "xai/grok-9"]
    );
    assert_eq!((read.of_other_providers, read.unsuitable), (2, 2));
    let invalid: Vec<&str> = read
        .invalid
        .iter()
        .filter_map(|line| line.split(':').next())
        .collect();
    assert_eq!(invalid, ["xai/grok-empty", "xai/grok-negative", "xai/grok-odd"]);
    for text in ["", "[]", "{\"xai\": 5}", "<html>"] {
        assert!(models_dev::read(text, &Catalog::builtin()).is_err(), "{text}");
    }
}

#[test]
fn refreshed_models_have_newer_figures_and_give_way_to_the_configuration() {
    use agentx_llm::catalog::models_dev;
    let before = Catalog::builtin();
    let read = models_dev::read(LIST, &before).unwrap();
    let after = before.clone().refreshed(&read.models);
    let new = after.resolve("grok-9").unwrap();
    assert_eq!((new.context_window, new.max_output_tokens), (500_000, 30_000));
    let long = new.prices.long.expect("a tier");
    assert_eq!(
        (
            new.prices.cache_read,
            long.over_tokens,
            long.input,
            long.cache_write
        ),
        (200, 200_000, 2_500, 2_500)
    );
    assert_eq!(
        after
            .resolve("kimi-k9")
            .unwrap()
            .prices
            .long
            .map(|long| long.output),
        Some(8_000)
    );
    let (was, is) = (before.resolve("opus").unwrap(), after.resolve("opus").unwrap());
    assert_eq!(
        (is.id.as_str(), is.context_window, is.prices.input),
        ("claude-opus-5-5", 2_000_000, 3_000)
    );
    assert_eq!(
        before.wire_options(&was),
        after.wire_options(&is),
        "a list changes no protocol"
    );
    assert_eq!(after.own("claude-opus-5-5"), None, "it is not the person's own");
    let config: CatalogConfig = serde_json::from_value(serde_json::json!({
        "models": [{"id": "claude-opus-5-5", "provider": "anthropic", "context_window": 123456}]
    }))
    .unwrap();
    let own = after.extended(&config).unwrap();
    assert_eq!(own.resolve("opus").unwrap().context_window, 123_456);
    assert_eq!(own.resolve("opus").unwrap().prices.input, 3_000);
}

#[test]
fn azure_gets_the_key_in_a_header_of_its_own() {
    let mut provider = Catalog::builtin().provider("openai").expect("built in").clone();
    provider.auth = AuthStyle::ApiKey;
    let headers = provider.headers(Some("made-up"));
    assert!(
        headers.contains(&("api-key", "made-up".to_owned())),
        "{headers:?}"
    );
    assert!(!headers.iter().any(|(name, _)| *name == "authorization"));
    let v1 = Some("https://r.openai.azure.com/openai/v1?api-version=preview");
    assert_eq!(
        provider.request_url(Api::OpenaiResponses, "my-deployment", v1),
        "https://r.openai.azure.com/openai/v1/responses?api-version=preview"
    );
}

#[test]
fn models_that_want_their_reasoning_back_get_it_behind_any_server() {
    let config: CatalogConfig = serde_json::from_value(serde_json::json!({
        "providers": { "mine": { "base_url": "http://h/v1" } },
    }))
    .expect("a configuration");
    let catalog = Catalog::builtin().extended(&config).expect("a catalog");
    let echo = |name: &str| {
        let model = catalog.resolve_at("mine", name).expect(name);
        catalog.wire_options(&model).chat.reasoning_echo
    };
    for name in [
        "deepseek-v4-pro",
        "deepseek-v4-flash",
        "deepseek-ai/DeepSeek-V4.1-Flash",
        "deepseek-reasoner",
        "deepseek-flash",
        "moonshotai/Kimi-K2-Thinking",
        "kimi-k2.7-code",
        "accounts/fireworks/models/kimi-k2p5",
        "kimi-k3",
    ] {
        assert_eq!(echo(name), ReasoningEcho::ReasoningContent, "{name}");
    }
    for name in [
        "deepseek-r1-distill-qwen-32b",
        "deepseek-v3",
        "deepseek-coder-33b",
        "deepseek-chat",
        "kimi-k2-instruct",
        "qwen3",
    ] {
        assert_eq!(echo(name), ReasoningEcho::None, "{name}");
    }
    let router = catalog
        .resolve("openrouter/deepseek/deepseek-v4-pro")
        .expect("a model");
    assert_eq!(
        catalog.wire_options(&router).chat.reasoning_echo,
        ReasoningEcho::Reasoning
    );
}

#[test]
fn models_of_a_persons_own_with_the_same_id_are_told_apart_by_their_names() {
    let config: CatalogConfig = serde_json::from_value(serde_json::json!({
        "providers": { "mine": { "base_url": "http://h/v1" } },
        "models": [
            {"id": "gpt-6.2-sol", "provider": "openai", "name": "deep", "max_output_tokens": 9_000,
             "wire": {"chat": {"effort": "high"}}},
            {"id": "gpt-6.2-sol", "provider": "openai", "name": "quick", "wire": {"chat": {"effort": "low"}}},
            {"id": "m", "provider": "mine", "name": "one", "context_window": 1_000},
            {"id": "m", "provider": "mine", "name": "two", "context_window": 2_000},
        ],
    }))
    .expect("a configuration");
    let catalog = Catalog::builtin().extended(&config).expect("a catalog");
    let effort = |name: &str| {
        let model = catalog.resolve(name).expect(name);
        assert_eq!(model.id, "gpt-6.2-sol");
        let effort = catalog.wire_options(&model).chat.effort;
        effort.map(|effort| effort.as_str())
    };
    assert_eq!(effort("deep"), Some("high"));
    assert_eq!(effort("openai/deep"), Some("high"));
    assert_eq!(effort("quick"), Some("low"));
    assert_eq!(effort("gpt-6.2-sol"), None, "the built-in one stays");
    assert_eq!(effort("openai/gpt-6.2-sol"), None);
    let window = |name: &str| catalog.resolve(name).expect(name).context_window;
    assert_eq!((window("one"), window("two")), (1_000, 2_000));
    let known = catalog.resolve("gpt-6.2-sol").expect("known");
    let deep = catalog.resolve("deep").expect("known");
    assert_eq!(
        (deep.context_window, deep.prices),
        (known.context_window, known.prices)
    );
    assert_eq!(deep.max_output_tokens, 9_000);
    assert_eq!(deep.reference(), "openai/deep");
    assert!(!deep.is_same(&known));
    let own: Vec<&str> = catalog.models()[..4]
        .iter()
        .map(|entry| entry.spec.called())
        .collect();
    assert_eq!(own, ["deep", "quick", "one", "two"]);
}

/// Made up: what a person types by hand, who gives only what has changed.
#[test]
fn a_description_that_gives_a_price_alone_changes_only_the_price() {
    use agentx_llm::catalog::models_dev;
    let text = r#"{"anthropic": {"models": {"claude-opus-5-5": {"id": "claude-opus-5-5",
        "cost": {"input": 3, "output": 15}}, "claude-new": {"id": "claude-new"}}}}"#;
    let before = Catalog::builtin();
    let read = models_dev::read(text, &before).unwrap();
    assert_eq!(
        (read.models.len(), read.unsuitable, read.invalid.len()),
        (2, 0, 0)
    );
    let after = before.clone().refreshed(&read.models);
    let (old, new) = (
        before.resolve("claude-opus-5-5").unwrap(),
        after.resolve("claude-opus-5-5").unwrap(),
    );
    assert_eq!(new.context_window, old.context_window);
    assert_eq!((new.prices.input, new.prices.output), (3_000, 15_000));
    assert!(after.resolve("claude-new").unwrap().context_window > 0);
}

/// A missing price became that of the input: 25 times as much for what Opus reads from its cache. Later the
/// known ones stayed beside new prices: a long request to grok-4.3 then cost less than a short one.
#[test]
fn known_prices_stay_if_the_list_repeats_the_base_and_go_if_it_has_another() {
    use agentx_llm::catalog::models_dev;
    let text = r#"{"anthropic": {"models": {
        "claude-opus-5-5": {"id": "claude-opus-5-5", "cost": {"input": 4, "output": 20}},
        "claude-haiku-5-5": {"id": "claude-haiku-5-5", "cost": {"input": 0.1, "output": 0.5, "cache_read": 0.02}},
        "claude-sonnet-5-5": {"id": "claude-sonnet-5-5", "cost": {"input": 0, "output": 0}},
        "claude-new": {"id": "claude-new", "cost": {"input": 1, "output": 5}}}},
        "xai": {"models": {"grok-4.3": {"id": "grok-4.3", "cost": {"input": 9, "output": 18}}}}}"#;
    let before = Catalog::builtin();
    let read = models_dev::read(text, &before).unwrap();
    let after = before.clone().refreshed(&read.models);
    let prices = |catalog: &Catalog, id: &str| catalog.resolve(id).unwrap().prices;
    let opus = prices(&after, "claude-opus-5-5");
    assert_eq!(
        (opus.input, opus.cache_read, opus.cache_write),
        (4_000, 200, 5_000)
    );
    let (was, haiku) = (
        prices(&before, "claude-haiku-5-5"),
        prices(&after, "claude-haiku-5-5"),
    );
    assert_eq!((haiku.input, haiku.cache_read), (100, 20));
    assert_eq!((haiku.cache_write, haiku.long), (was.cache_write, was.long));
    let free = prices(&after, "claude-sonnet-5-5");
    assert_eq!((free.cache_read, free.cache_write, free.free), (0, 0, true));
    let grok = prices(&after, "grok-4.3");
    assert!(prices(&before, "grok-4.3").long.is_some());
    assert_eq!(
        (grok.input, grok.cache_read, grok.cache_write),
        (9_000, 9_000, 9_000)
    );
    assert_eq!(grok.long, None, "no long request is cheaper than a short one");
    assert_eq!(prices(&after, "claude-new").cache_read, 1_000);
}

#[test]
fn a_window_that_somebody_set_is_not_assumed_whatever_its_number() {
    let config: CatalogConfig = serde_json::from_value(serde_json::json!({
        "models": [
            {"id": "set", "provider": "ollama", "context_window": 32_768},
            {"id": "unset", "provider": "ollama", "prices": {"input": 1.0, "output": 1.0}},
            {"id": "other", "provider": "ollama", "name": "mine", "context_window": 32_768},
        ],
    }))
    .expect("a configuration");
    let catalog = Catalog::builtin().extended(&config).expect("a catalog");
    let is_assumed = |id: &str| catalog.assumes_window("ollama", id, 32_768);
    assert!(!is_assumed("set") && !is_assumed("other"));
    assert!(is_assumed("unset") && is_assumed("unknown"));
    assert!(
        !catalog.assumes_window("ollama", "unknown", 64_000),
        "a server named it"
    );
}

/// A price without a day cannot be doubted, so each built-in value says when and with what it was compared.
#[test]
fn every_model_says_when_and_with_which_lists_it_was_compared() {
    for model in Catalog::builtin().models() {
        let id = &model.spec.id;
        let checked = model
            .checked
            .as_ref()
            .unwrap_or_else(|| panic!("{id} has no check"));
        let numbers: Vec<&str> = checked.day.split('-').collect();
        let is_day = numbers.iter().map(|number| number.len()).eq([4, 2, 2])
            && numbers.iter().all(|number| number.parse::<u32>().is_ok());
        assert!(is_day && !checked.source.is_empty(), "{id}: {checked:?}");
    }
}

#[test]
fn the_models_that_people_ask_for_by_name_are_built_in() {
    let catalog = Catalog::builtin();
    for name in [
        "anthropic/claude-fable-5-2",
        "anthropic/claude-mythos-5-1",
        "anthropic/claude-mythos-5-2",
        "google/gemini-3.6-flash",
        "google/gemini-3.7-flash",
        "groq/qwen/qwen3.8-27b",
        "mistral/mistral-large-4",
        "moonshot/kimi-k3",
        "moonshot/kimi-k3.1-pro",
        "openrouter/google/gemma-4-31b-it:free",
        "xai/grok-4.5",
        "xai/grok-4.6",
        "xai/grok-4.7",
        "zai/glm-5.3",
    ] {
        let model = catalog.resolve(name).expect("a model");
        let is_known = catalog.models().iter().any(|entry| entry.spec.is_same(&model));
        assert!(is_known && !model.prices.is_unknown(), "{name}: {model:?}");
    }
    for (provider, model) in [
        ("mistral", "mistral-large-4"),
        ("moonshot", "kimi-k3.1-pro"),
        ("xai", "grok-4.7"),
        ("zai", "glm-5.3"),
    ] {
        let default = catalog
            .provider(provider)
            .and_then(|provider| provider.default_model.as_deref());
        assert_eq!(default, Some(model));
    }
}

/// Their calls were unpriced: a limit of costs did not know that they cost nothing.
#[test]
fn a_model_whose_prices_are_all_zero_is_free_and_one_without_prices_is_not() {
    let catalog = Catalog::builtin();
    let usage = Usage {
        input_tokens: 1_000,
        output_tokens: 100,
        ..Usage::default()
    };
    let free = catalog
        .resolve("openrouter/google/gemma-4-31b-it:free")
        .expect("built in")
        .prices;
    let unknown = catalog.resolve("openrouter/made-up").expect("any model").prices;
    assert_eq!(
        (free.cost(&usage), unknown.cost(&usage)),
        (NanoUsd(0), NanoUsd(0))
    );
    assert_eq!(free.marked(usage).unpriced_tokens, 0);
    assert!(unknown.marked(usage).unpriced_tokens > 0);
    let stored = serde_json::to_value(free).expect("JSON");
    assert_eq!(stored["free"], true);
    assert!(serde_json::to_value(unknown).expect("JSON").get("free").is_none());
}
