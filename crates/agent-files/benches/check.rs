//! Measures the check of 200 files: agents, tools of every kind, rules. Prints only: `cargo bench -p
//! agentx-agent-files`.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a benchmark reads the clock and prints"
)]

use std::path::PathBuf;
use std::time::Instant;

use agentx_agent_files::jq::JqFilter;
use agentx_agent_files::{FileOrigin, Library, LibraryOptions, MemoryFiles, Root, RootLayout};

const FILES: usize = 200;
const ROUNDS: usize = 20;

fn agent(n: usize) -> String {
    format!(
        "name: agent_{n}\nprompt: |\n  You are number {n}.\n  Be kind.\ncontext_layers:\n  - $this: .prompt\n  - $env: PROMPT\n\
         generator:\n  model: gpt-4o\n  temperature: 0.5\ntools:\n  - $ref: tool:tool_{n}\n    quit: true\nlimits: {{max_iterations: 5, timeout: 90s}}\n"
    )
}

fn script(n: usize) -> String {
    let body =
        "    local response = ctx.http.get(\"https://api.weather.com\", {city = args.city})\n".repeat(20);
    format!(
        "name: tool_{n}\ndescription: number {n}\nparams:\n  city: {{type: string, description: 城市名}}\n\
         capabilities:\n  http: [api.weather.com]\nlua: |\n  function invoke(ctx, args)\n{body}  end\n"
    )
}

fn http(n: usize) -> String {
    format!(
        "type: http\nname: http_{n}\nmethod: POST\nendpoint: https://api.example.com/v1\nauth: {{type: bearer, token: \"${{T}}\"}}\n\
         req_body_jq: '{{data: .input, n: {n}}}'\nresp_body_jq: '.result | map(select(.ok)) | {{items: .}}'\n"
    )
}

fn rule(n: usize) -> String {
    let patterns: String = (0..10).map(|i| format!("  - 我想听 [title] {i}\n")).collect();
    format!("name: rule_{n}\nvars:\n  title: {{label: 故事名, type: string}}\npatterns:\n{patterns}")
}

fn files() -> MemoryFiles {
    let file = |n: usize| {
        let (folder, text) = match n % 4 {
            0 => ("agents", agent(n + 1)),
            1 => ("tools", script(n)),
            2 => ("tools", http(n)),
            _ => ("rules", rule(n)),
        };
        (PathBuf::from(format!(".agentx/{folder}/f{n}.yaml")), text)
    };
    (0..FILES).map(file).collect()
}

fn main() {
    let (files, roots) = (
        files(),
        [Root {
            path: ".agentx".into(),
            origin: FileOrigin::Workspace,
            layout: RootLayout::AgentX,
        }],
    );
    let mut times: Vec<f64> = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let library = Library::load(&roots, &files, LibraryOptions::default());
        times.push(start.elapsed().as_secs_f64() * 1e3);
        assert!(library.check().is_empty(), "{}", library.check()[0]);
        assert_eq!(library.files().count(), FILES);
    }
    let first = times[0];
    times.sort_by(f64::total_cmp);
    println!(
        "check of {FILES} files: {first:.1} ms at first, {:.1} ms median, {:.1} ms worst",
        times[ROUNDS / 2],
        times[ROUNDS - 1]
    );
    let start = Instant::now();
    let filter = JqFilter::compile("{data: .input} | .data | map(select(.ok))");
    println!(
        "one jq filter compiled: {:.2} ms",
        start.elapsed().as_secs_f64() * 1e3
    );
    if let Ok(filter) = filter {
        let input = serde_json::json!({"input": [{"ok": true}, {"ok": false}]});
        let start = Instant::now();
        let runs = (0..200).filter(|_| filter.run(&input).is_ok()).count();
        println!(
            "one jq filter run: {:.3} ms",
            start.elapsed().as_secs_f64() * 1e3 / runs as f64
        );
    }
}
