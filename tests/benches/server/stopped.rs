//! One reader among 100 that stops reading for ever: what the others notice, and what it costs.

use std::time::Duration;

use crate::host::Host;
use crate::pace::Stream;
use crate::process::{median, number};
use crate::readers::{Readers, Seen};

/// The counts of both readers in one run: with the stopped one, and without.
type Pair = ((Seen, f64), (Seen, f64));

const MIRRORS: usize = 100;
/// Long enough for what the kernel keeps to be full, and then what the server keeps.
const SECONDS: u64 = 20;

pub(crate) fn measure() {
    let runs = number("AGENTX_BENCH_RUNS", 3);
    let pairs: Vec<_> = (0..runs).map(|_| (once(0), once(1))).collect();
    let show = |name: &str, pick: &dyn Fn(&Pair) -> (Seen, f64)| {
        let of = |figure: fn(&(Seen, f64)) -> f64| median(pairs.iter().map(|pair| figure(&pick(pair))));
        println!(
            "{name:13} {:.0} events/s for each that reads   p50 {:.2} ms   p99 {:.2} ms   most {:.1} ms   server at most {:.1} MiB",
            of(|(seen, _)| seen.events_per_s),
            of(|(seen, _)| seen.p50),
            of(|(seen, _)| seen.p99),
            of(|(seen, _)| seen.most),
            of(|(_, mib)| *mib),
        );
    };
    show("all read", &|pair| pair.0.clone());
    show("one stopped", &|pair| pair.1.clone());
}

/// Returns the counts of each active reader, and the peak memory of the server.
fn once(stopped: usize) -> (Seen, f64) {
    let host = Host::start(1);
    let readers = Readers {
        stopped,
        ..Readers::of(&host.url, MIRRORS, &host.sessions)
    };
    let mut reading = readers.start();
    let before = host.role.open_files();
    let stream = Stream {
        rate: 1_000,
        count: 1_000 * (SECONDS + 20),
        bytes: 500,
    };
    host.desk().stream(&host.sessions[0], stream);
    std::thread::sleep(Duration::from_secs(1));
    let mut seen = reading.watch(Duration::from_secs(SECONDS));
    seen.events_per_s /= (MIRRORS - stopped) as f64;
    if seen.cuts > 0 || seen.wrong > 0 {
        println!("cut off {}, missing {}: {}", seen.cuts, seen.wrong, seen.reasons);
    }
    if stopped > 0 {
        let closed = before.saturating_sub(host.role.open_files());
        println!("connections that the server closed: {closed}");
    }
    (seen, host.role.peak() / 1_048_576.0)
}
