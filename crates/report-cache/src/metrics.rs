//! What is counted of reports.

use std::time::Duration;

use metrics::{Counter, Unit, describe_counter, describe_gauge, describe_histogram};

const READS: &str = "brownstone_report_reads_total";
const FLIGHTS: &str = "brownstone_report_flights_total";
const ASSEMBLY: &str = "brownstone_report_assembly_seconds";
const HOT: &str = "brownstone_report_hot";
const HOT_BYTES: &str = "brownstone_report_hot_bytes";

/// Tells the recorder what each metric of this crate is.
pub fn describe() {
    describe_counter!(
        READS,
        Unit::Count,
        "Reports that were asked for, by what was found: hot (ready in memory), joined (another call's flight), flight (a flight of its own)."
    );
    describe_counter!(
        FLIGHTS,
        Unit::Count,
        "Flights, by how they ended: kept (read from storage), assembled (every source asked), completed (only what had erred), and, without a report: nothing_answered, crowded (as many as may be were under way), busy, storage, broken."
    );
    describe_histogram!(
        ASSEMBLY,
        Unit::Seconds,
        "Time of an assembly, by kind: assembled, completed."
    );
    describe_gauge!(HOT, Unit::Count, "Reports ready in memory.");
    describe_gauge!(
        HOT_BYTES,
        Unit::Bytes,
        "Size of the reports ready in memory."
    );
}

/// Counters of the path that every warm lookup takes.
pub(crate) struct Reads {
    pub hot: Counter,
    pub joined: Counter,
    pub flight: Counter,
}

impl Reads {
    pub(crate) fn new() -> Self {
        let read = |found: &'static str| metrics::counter!(READS, "found" => found);
        Self {
            hot: read("hot"),
            joined: read("joined"),
            flight: read("flight"),
        }
    }
}

pub(crate) fn landed(end: &'static str) {
    metrics::counter!(FLIGHTS, "end" => end).increment(1);
}

pub(crate) fn assembled(kind: &'static str, took: Duration) {
    metrics::histogram!(ASSEMBLY, "kind" => kind).record(took);
}

pub(crate) fn hot(reports: usize, bytes: u64) {
    // Exact up to 2^53, far beyond any memory.
    metrics::gauge!(HOT).set(reports as f64);
    metrics::gauge!(HOT_BYTES).set(bytes as f64);
}
