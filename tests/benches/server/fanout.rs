//! 500 mirrors of one session that streams 2,000 deltas a second, beside a bare broadcast of the same bytes.

use std::time::Duration;

use crate::host::{Host, threads};
use crate::pace::Stream;
use crate::process::{Role, median, number};
use crate::readers::{Readers, Seen};

/// More than can be streamed while it is watched.
const ENDLESS: u64 = 1_000_000;

struct Figure {
    seen: Seen,
    /// Seconds of CPU for a million events.
    cpu: f64,
    client_cpu: f64,
    resident_mib: f64,
}

pub(crate) fn measure() {
    let mirrors = usize::try_from(number("AGENTX_BENCH_MIRRORS", 500)).expect("a number");
    let stream = Stream {
        rate: number("AGENTX_BENCH_RATE", 2_000),
        count: ENDLESS,
        bytes: 24,
    };
    let runs = number("AGENTX_BENCH_RUNS", 3);
    println!(
        "{mirrors} mirrors, {} deltas/s: {} wanted",
        stream.rate,
        mirrors as u64 * stream.rate
    );
    let pairs: Vec<(Figure, Figure)> = (0..runs)
        .map(|_| {
            let pair = (ours(mirrors, stream), bare(mirrors, stream));
            show("agentx", &pair.0);
            show("bare", &pair.1);
            pair
        })
        .collect();
    let of = |pick: fn(&(Figure, Figure)) -> f64| median(pairs.iter().map(pick));
    println!(
        "delivered: agentx {:.0}/s   bare {:.0}/s   ratio {:.2}x   CPU of the server for an event {:.2}x  (median of {runs})",
        of(|pair| pair.0.seen.events_per_s),
        of(|pair| pair.1.seen.events_per_s),
        of(|pair| pair.0.seen.events_per_s / pair.1.seen.events_per_s),
        of(|pair| pair.0.cpu / pair.1.cpu),
    );
}

fn show(name: &str, figure: &Figure) {
    let Figure {
        seen,
        cpu,
        client_cpu,
        resident_mib,
    } = figure;
    println!(
        "{name:7} {:>9.0} events/s  {:>4.0} MB/s  late p50 {:.1} p99 {:.1} most {:.1} ms  cut off {}  missing {}  \
         CPU {cpu:.2} s/M (clients {client_cpu:.2})  resident {resident_mib:.0} MiB",
        seen.events_per_s,
        seen.bytes_per_s / 1e6,
        seen.p50,
        seen.p99,
        seen.most,
        seen.cuts,
        seen.wrong,
    );
    if seen.cuts > 0 {
        println!("        {}", seen.reasons);
    }
}

fn ours(mirrors: usize, stream: Stream) -> Figure {
    let host = Host::start(1);
    let mut reading = Readers::of(&host.url, mirrors, &host.sessions).start();
    host.desk().stream(&host.sessions[0], stream);
    watched(&host.role, &mut reading)
}

fn bare(mirrors: usize, stream: Stream) -> Figure {
    let args = [stream.rate, stream.count, stream.bytes as u64, threads()].map(|number| number.to_string());
    let mut role = Role::start("bare", &args);
    let url = role.hear();
    let readers = Readers {
        bare: true,
        ..Readers::of(&url, mirrors, &[])
    };
    let mut reading = readers.start();
    role.tell("go");
    watched(&role, &mut reading)
}

/// Some seconds, once it runs evenly.
fn watched(server: &Role, reading: &mut crate::readers::Reading) -> Figure {
    std::thread::sleep(Duration::from_secs(2));
    let before = (server.cpu(), reading.role.cpu());
    let seen = reading.watch(Duration::from_secs(number("AGENTX_BENCH_SECONDS", 8)));
    let millions = seen.events_per_s * number("AGENTX_BENCH_SECONDS", 8) as f64 / 1e6;
    Figure {
        cpu: (server.cpu() - before.0) / millions,
        client_cpu: (reading.role.cpu() - before.1) / millions,
        resident_mib: server.peak() / 1_048_576.0,
        seen,
    }
}
