//! False alarms: the detector runs over all available recorded sessions, none of which contains a loop.

use std::path::{Path, PathBuf};

use agentx_agent::stuck::{LoopLevel, LoopPlace, StuckDetector};
use agentx_types::{ContentPart, StuckSettings};
use serde_json::{Value, json};

use crate::data;

/// A call as it was recorded, with its result.
struct Recorded {
    id: String,
    name: String,
    input: Value,
    result: Option<(String, bool)>,
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Arguments, which some APIs send as text.
fn arguments(value: &Value) -> Value {
    let read = value.as_str().and_then(|text| serde_json::from_str(text).ok());
    read.unwrap_or_else(|| value.clone())
}

/// Collects the calls and results of a JSON document, whichever API it is of, in their order.
fn collect(value: &Value, calls: &mut Vec<Recorded>) {
    let call = |id: &Value, name: &Value, input: Value| Recorded {
        id: text(id),
        name: text(name),
        input,
        result: None,
    };
    match value["type"].as_str() {
        Some("tool_use" | "server_tool_use") => {
            calls.push(call(&value["id"], &value["name"], value["input"].clone()));
        }
        Some("function_call") => {
            calls.push(call(
                &value["call_id"],
                &value["name"],
                arguments(&value["arguments"]),
            ));
        }
        Some("function") if value["function"]["arguments"].is_string() => {
            let function = &value["function"];
            calls.push(call(
                &value["id"],
                &function["name"],
                arguments(&function["arguments"]),
            ));
        }
        Some("tool_result") => {
            let failed = value["is_error"].as_bool().unwrap_or_default();
            answer(calls, &value["tool_use_id"], text(&value["content"]), failed);
        }
        Some("function_call_output") => answer(calls, &value["call_id"], text(&value["output"]), false),
        _ if value["role"] == "tool" => answer(calls, &value["tool_call_id"], text(&value["content"]), false),
        _ => {}
    }
    if value["functionCall"].is_object() {
        let made = &value["functionCall"];
        calls.push(call(&made["name"], &made["name"], made["args"].clone()));
    }
    if value["functionResponse"].is_object() {
        let response = &value["functionResponse"];
        answer(calls, &response["name"], text(&response["response"]), false);
    }
    match value {
        Value::Array(values) => values.iter().for_each(|value| collect(value, calls)),
        Value::Object(fields) => {
            for key in [
                "body",
                "messages",
                "input",
                "contents",
                "content",
                "parts",
                "tool_calls",
            ] {
                if let Some(inner) = fields.get(key) {
                    collect(inner, calls);
                }
            }
        }
        _ => {}
    }
}

fn answer(calls: &mut [Recorded], id: &Value, result: String, failed: bool) {
    let id = text(id);
    let open = calls
        .iter_mut()
        .find(|call| call.id == id && call.result.is_none());
    if let Some(call) = open {
        call.result = Some((result, failed));
    }
}

/// The calls of a recorded stream of driver events.
fn of_driver_events(events: &[Value]) -> Vec<Recorded> {
    let mut calls: Vec<Recorded> = Vec::new();
    let mut json_of_call = String::new();
    for event in events {
        let data = &event["data"];
        match event["type"].as_str().unwrap_or_default() {
            "tool_use_start" => {
                json_of_call.clear();
                calls.push(Recorded {
                    id: text(&data["toolCallId"]),
                    name: text(&data["toolName"]),
                    input: json!({}),
                    result: None,
                });
            }
            "input_json_delta" => json_of_call.push_str(data["partialJson"].as_str().unwrap_or_default()),
            "tool_use_stop" => {
                if let Some(call) = calls.last_mut() {
                    call.input = serde_json::from_str(&json_of_call).unwrap_or_default();
                }
            }
            "tool_result" => {
                let failed = data["isError"].as_bool().unwrap_or_default();
                answer(&mut calls, &data["toolCallId"], text(&data["result"]), failed);
            }
            _ => {}
        }
    }
    calls
}

/// The actions and observations of a log of OpenHands.
fn of_openhands(events: &[Value]) -> Vec<Recorded> {
    let mut calls: Vec<Recorded> = Vec::new();
    for event in events {
        if let (Some(action), "agent") = (
            event["action"].as_str(),
            event["source"].as_str().unwrap_or("agent"),
        ) {
            let input = if event["args"].is_object() {
                event["args"].clone()
            } else {
                event.clone()
            };
            calls.push(Recorded {
                id: text(&event["id"]),
                name: action.into(),
                input,
                result: None,
            });
        } else if let (Some(observed), Some(call)) = (event["observation"].as_str(), calls.last_mut()) {
            let code = &event["extras"]["metadata"]["exit_code"];
            let failed = observed == "error" || code.as_i64().is_some_and(|code| code != 0);
            call.result.get_or_insert((text(&event["content"]), failed));
        }
    }
    calls
}

fn files(folder: &Path, fits: &dyn Fn(&str) -> bool, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, fits, found);
        } else if path.file_name().is_some_and(|name| fits(&name.to_string_lossy())) {
            found.push(path);
        }
    }
}

/// All sessions of a folder of the data.
fn sessions(folder: &str) -> Option<Vec<(PathBuf, Vec<Recorded>)>> {
    let fits: &dyn Fn(&str) -> bool = match folder {
        "agentx-recordings" => &|name| name.ends_with(".json") && !name.ends_with(".expected.json"),
        "openhands-logs" => &|name| name.ends_with(".json") || name.ends_with(".jsonl"),
        _ => &|name| name.ends_with(".request.json"),
    };
    let mut paths = Vec::new();
    files(
        &data::find(folder, "false alarms of the stuck detector")?,
        fits,
        &mut paths,
    );
    let mut all = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        let documents = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
        for document in documents.map(Result::unwrap) {
            let calls = match folder {
                "agentx-recordings" => of_driver_events(array(&document["events"])),
                "openhands-logs" if document["history"].is_array() => {
                    of_openhands(array(&document["history"]))
                }
                "openhands-logs" => of_openhands(array(&document)),
                _ => {
                    let mut calls = Vec::new();
                    collect(&document, &mut calls);
                    calls
                }
            };
            all.push((path.clone(), calls));
        }
    }
    Some(all)
}

#[test]
fn recorded_sessions_raise_no_false_alarm() {
    let settings = StuckSettings::default();
    let mut counts = [0_usize; 4];
    let mut alarms = Vec::new();
    for folder in ["agentx-recordings", "openhands-logs", "recordings"] {
        let Some(sessions) = sessions(folder) else {
            continue;
        };
        for (path, calls) in sessions.into_iter().filter(|(_, calls)| !calls.is_empty()) {
            counts[0] += 1;
            let mut detector = StuckDetector::default();
            let mut worst = None;
            for call in calls {
                counts[1] += 1;
                let (result, failed) = call.result.unwrap_or_default();
                detector.on_call(
                    &settings,
                    &call.name,
                    &call.input,
                    &[ContentPart::text(result)],
                    failed,
                );
                worst = worst.max(
                    detector
                        .found(&settings, LoopPlace::Calls)
                        .map(|found| found.level),
                );
            }
            if let Some(level) = worst {
                counts[if level == LoopLevel::Stop { 3 } else { 2 }] += 1;
                alarms.push((path, level));
            }
        }
    }
    let [sessions, calls, nudged, stopped] = counts;
    println!("{sessions} sessions with {calls} calls: {nudged} nudged, {stopped} stopped");
    assert!(alarms.len() * 100 <= sessions, "{alarms:#?}");
}
