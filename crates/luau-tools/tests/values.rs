//! Values on their way into a script and out of it: they arrive unchanged, and values that do not fit damage
//! nothing else.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::sync::Arc;

use crate::support::{Answers, world};
use agentx_luau_tools::{Lanes, Libraries, Owner, Script, ScriptLimits};
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-9_007_199_254_740_991_i64..=9_007_199_254_740_991).prop_map(Value::from),
        (-300_i64..300).prop_map(Value::from),
        (-1e9..1e9).prop_map(|number: f64| Value::from(number + 0.5)),
        any::<String>().prop_map(Value::from),
        "[\\PC\0]{250,260}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            prop::collection::btree_map(".{0,6}", inner, 0..8)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// Returns a value as a script sees it: a field that is null is absent.
fn seen(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(seen).collect(),
        Value::Object(fields) => {
            let there = fields.iter().filter(|(_, value)| !value.is_null());
            Value::Object(there.map(|(name, value)| (name.clone(), seen(value))).collect())
        }
        other => other.clone(),
    }
}

/// The value as arguments and result, as a request, as an outcome, and as JSON that the script encodes
/// itself.
async fn ways(value: &Value) -> Vec<Value> {
    let source = "function invoke(ctx, args)
      local echoed = ctx.invoke('echo', args)
      local again = ctx.json.decode(ctx.json.encode(args))
      return {args, echoed, again}
    end";
    let sent = json!({"value": value});
    let host = Answers::new(|effect| Ok(effect.request["args"].clone()));
    let script = Script::compile("values", source, Libraries::new()).unwrap();
    let result = script
        .invoke(sent, host, ScriptLimits::default(), CancellationToken::new())
        .await;
    match result.unwrap() {
        Value::Array(ways) => ways,
        other => panic!("{other}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn every_value_goes_in_and_comes_out_as_it_is(value in any_value()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let object = seen(&json!({"value": {"in": value}}));
        let ways = runtime.block_on(ways(&json!({"in": value})));
        for way in ways {
            prop_assert_eq!(&way, &object);
        }
    }
}

/// Runs it once more on its lane. Returns its arguments and memory.
async fn invoke(script: &Script, args: Value, memory: usize) -> Result<Value, String> {
    let limits = ScriptLimits {
        memory,
        ..ScriptLimits::default()
    };
    let run = script.invoke(args, Answers::new(world), limits, CancellationToken::new());
    run.await.map_err(|error| error.code())
}

#[tokio::test]
async fn a_value_for_which_there_is_no_memory_ends_its_run_and_nothing_else() {
    let owner = Owner::on(Lanes::new(1));
    let script = |source: &str| owner.compile("values", source, Libraries::new()).unwrap();
    let echoes = script("function invoke(ctx, args) return args end");
    let decodes = script("function invoke(ctx, args) return #ctx.json.decode(args.text) end");
    let many: Value = (0..20_000)
        .map(|index| json!({"index": index, "text": format!("text {index}")}))
        .collect();
    let text = json!({"text": many.to_string()});
    for round in 0..20 {
        let memory = (256 << 10) + 1_777 * round;
        assert_eq!(
            invoke(&echoes, many.clone(), memory).await,
            Err("limit_memory".to_owned())
        );
        assert_eq!(
            invoke(&decodes, text.clone(), 4 << 20).await,
            Err("limit_memory".to_owned())
        );
        assert_eq!(
            invoke(&echoes, json!({"a": [1]}), 32 << 20).await,
            Ok(json!({"a": [1]}))
        );
    }
    assert_eq!(invoke(&echoes, many.clone(), 32 << 20).await, Ok(many));
    assert_eq!(invoke(&decodes, text, 32 << 20).await, Ok(json!(20_000)));
}

#[tokio::test]
async fn a_run_for_which_all_was_made_ready_has_globals_of_its_own() {
    let lanes = Lanes::new(1);
    let owner = Owner::on(Arc::clone(&lanes));
    let script = |source: &str| owner.compile("values", source, Libraries::new()).unwrap();
    let counts = "count = (count or 0) + 1 function invoke(ctx, args) count += args return count end";
    let (one, mut other) = (script(counts), script(counts));
    for round in 0..30 {
        assert_eq!(invoke(&one, json!(round), 32 << 20).await, Ok(json!(round + 1)));
        if round % 3 == 0 {
            assert_eq!(invoke(&other, json!(round), 32 << 20).await, Ok(json!(round + 1)));
        }
        if round % 7 == 0 {
            other = script(&format!("{counts} -- {round}"));
        }
    }
    assert_eq!(lanes.runs(), 0);
}
