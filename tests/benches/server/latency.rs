//! The delay of an event at 100 mirrors: from the sequencer's clock in the event, which is read before the
//! commit, to the moment at which a mirror has the frame. So the figure has the commit in it, and what was
//! waited to commit several together.

use std::time::Duration;

use crate::host::Host;
use crate::pace::Stream;
use crate::process::{median, number};
use crate::readers::Readers;

const MIRRORS: usize = 100;

pub(crate) fn measure() {
    let runs = number("AGENTX_BENCH_RUNS", 3);
    for rate in [50, 500, 2_000] {
        let seen: Vec<_> = (0..runs).map(|_| once(rate)).collect();
        println!(
            "{MIRRORS} mirrors, {rate:>5} deltas/s: p50 {:.2} ms   p99 {:.2} ms   most {:.1} ms   (median of {runs})",
            median(seen.iter().map(|seen| seen.p50)),
            median(seen.iter().map(|seen| seen.p99)),
            median(seen.iter().map(|seen| seen.most)),
        );
    }
}

fn once(rate: u64) -> crate::readers::Seen {
    let host = Host::start(1);
    let mut reading = Readers::of(&host.url, MIRRORS, &host.sessions).start();
    let stream = Stream {
        rate,
        count: rate * 60,
        bytes: 24,
    };
    host.desk().stream(&host.sessions[0], stream);
    std::thread::sleep(Duration::from_secs(1));
    reading.watch(Duration::from_secs(number("AGENTX_BENCH_SECONDS", 6)))
}
