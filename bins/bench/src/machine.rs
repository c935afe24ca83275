//! The machine a run was made on: what a reader needs to judge a figure, and nothing that names it.

use std::fs;

/// `2 cores, AMD EPYC, 8 GiB memory, load average 0.61 at the start`.
pub(crate) fn describe() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let model =
        value_of(&read("/proc/cpuinfo"), "model name").unwrap_or_else(|| "unknown CPU".to_owned());
    let memory = value_of(&read("/proc/meminfo"), "MemTotal")
        .and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok())
        .map_or_else(String::new, |kib| {
            format!(", {:.0} GiB memory", kib / 1_048_576.0)
        });
    let load = read("/proc/loadavg");
    let load = load.split_whitespace().next().unwrap_or("unknown");
    format!("{cores} cores, {model}{memory}, load average {load}")
}

/// The value of the first `name : value` line.
fn value_of(text: &str, name: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim().to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_by_its_name() {
        let text = "processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\nmodel name\t: Other\n";
        assert_eq!(
            value_of(text, "model name").as_deref(),
            Some("Some CPU @ 2 GHz")
        );
        assert_eq!(value_of(text, "model"), None);
    }
}
