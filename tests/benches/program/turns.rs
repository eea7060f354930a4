//! 50 tool calls, then 2,000 words: the program beside the bare loop, in turn.

use crate::process::{Cost, Scratch, measured, median, run};
use crate::server::Server;

const RUNS: usize = 9;

pub(crate) fn measure() {
    let server = Server::start(50, 2_000, 0);
    let scratch = Scratch::new("turns");
    let me = std::env::current_exe().expect("this program");
    let ours = || run(&scratch, &server.url, &["run", "--yes", "go"]);
    let bare = || measured(&scratch, &server.url, &me, &["bare", &server.url]);
    ours();
    bare();
    let pairs: Vec<(Cost, Cost)> = (0..RUNS).map(|_| (ours(), bare())).collect();
    let show = |name: &str, pick: fn(&(Cost, Cost)) -> Cost| {
        println!(
            "{name:10} wall {:.3} s   CPU {:.3} s   peak {:.1} MiB",
            median(pairs.iter().map(|pair| pick(pair).wall_s)),
            median(pairs.iter().map(|pair| pick(pair).cpu_s)),
            median(pairs.iter().map(|pair| pick(pair).peak_mib)),
        );
    };
    show("agentx", |pair| pair.0);
    show("bare loop", |pair| pair.1);
    let ratio = |of: fn(&Cost) -> f64| median(pairs.iter().map(|(a, b)| of(a) / of(b)));
    println!(
        "ratio      wall {:.2}×   CPU {:.2}×   (median of {RUNS} pairs)",
        ratio(|c| c.wall_s),
        ratio(|c| c.cpu_s)
    );
}
