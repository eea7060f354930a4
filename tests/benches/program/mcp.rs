//! The cost of configured MCP servers that no call needs: runs of the offline demo with ten servers whose
//! tools are known, beside runs without any, in turn.

use std::path::Path;

use crate::process::{Scratch, median, run};

const RUNS: usize = 31;
const SERVERS: usize = 10;

/// A server of the protocol that lists so many tools, and does nothing else.
const SERVER: &str = r#"
list() {
  n=0
  while [ $n -lt "$1" ]; do
    [ $n -gt 0 ] && printf ,
    printf '{"name":"tool_%s","description":"%s","inputSchema":{"type":"object","properties":{' $n "$about"
    for name in first second third fourth fifth sixth; do
      printf '"%s":{"type":"string","description":"What is wanted of this argument, in a few words."},' $name
    done
    printf '"last":{"type":"integer"}},"required":["first"]}}'
    n=$((n + 1))
  done
}
about='Looks for something and returns what it finds, in order, with a line for each of the things that fit.'
while read -r line; do
  id=${line#*\"id\":}; id=${id%%[,\}]*}
  case $line in
    *'"server/discover"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"none"}}\n' "$id" ;;
    *'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"made-up","version":"1"}}}\n' "$id" ;;
    *'"tools/list"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s]}}\n' "$id" "$(list "$1")" ;;
  esac
done
"#;

pub(crate) fn measure() {
    println!(
        "run of the demo with {SERVERS} servers that nobody uses, beside one without (medians of {RUNS})"
    );
    for tools in [2, 5] {
        let (without, with) = (Scratch::new("mcp-without"), Scratch::new("mcp-with"));
        configure(&without.0, 0, 0);
        configure(&with.0, SERVERS, tools);
        for server in 0..SERVERS {
            run(&with, "http://127.0.0.1:9", &["mcp", "try", &name(server)]);
        }
        let (mut wall, mut cpu) = (Vec::new(), Vec::new());
        for _ in 0..RUNS {
            let [plain, served] = [&without, &with]
                .map(|scratch| run(scratch, "http://127.0.0.1:9", &["run", "--quiet", "hi"]));
            wall.push((served.wall_s - plain.wall_s) * 1e3);
            cpu.push((served.cpu_s - plain.cpu_s) * 1e3);
        }
        println!(
            "{:>3} tools in all            {:+.2} ms, {:+.2} ms of CPU",
            SERVERS * tools,
            median(wall),
            median(cpu)
        );
    }
}

fn name(server: usize) -> String {
    format!("made-up-{server}")
}

/// Writes the settings of a home with so many servers, each of so many tools.
fn configure(home: &Path, servers: usize, tools: usize) {
    let folder = home.join(".config/agentx");
    std::fs::create_dir_all(&folder).expect("a folder");
    let script = home.join("server.sh");
    std::fs::write(&script, SERVER).expect("a script");
    let mut settings = "model: demo\n".to_owned();
    for server in 0..servers {
        let header = if server == 0 { "mcp:\n" } else { "" };
        // The second argument tells the servers apart, each of which has a file of its own.
        settings.push_str(&format!(
            "{header}  {}:\n    command: sh\n    args: [{script:?}, \"{tools}\", \"{server}\"]\n",
            name(server)
        ));
    }
    std::fs::write(folder.join("config.yaml"), settings).expect("the settings");
}
