//! What is counted of sources.

use std::time::Duration;

use brownstone_domain::SourceStatus;
use metrics::{Unit, describe_counter, describe_histogram};

const ANSWERS: &str = "brownstone_source_answers_total";
const SECONDS: &str = "brownstone_source_seconds";

/// Tells the recorder what each metric of this crate is.
pub fn describe() {
    describe_counter!(
        ANSWERS,
        Unit::Count,
        "Answers of sources that were asked for a report, by source and status: ok, not_found, error, gated (for this building)."
    );
    describe_histogram!(
        SECONDS,
        Unit::Seconds,
        "Time from the beginning of an assembly to a source's answer, by source."
    );
}

pub(crate) fn answered(source: &str, status: SourceStatus, took: Duration) {
    let source = source.to_owned();
    metrics::counter!(ANSWERS, "source" => source.clone(), "status" => status.as_str())
        .increment(1);
    metrics::histogram!(SECONDS, "source" => source).record(took);
}
