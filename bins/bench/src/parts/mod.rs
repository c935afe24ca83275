//! The registry of parts. A new one is a file here and a row below.

pub(crate) mod address;
mod city;
mod fan_out;
mod listings;
mod overload;
mod quota;
mod report_page;
mod sales;
mod shared_quota;
pub(crate) mod warm;

use anyhow::bail;

use crate::row::Row;

/// Something that can be measured beside an anchor.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) name: &'static str,
    /// One line for the list.
    pub(crate) tells: &'static str,
    /// How it is measured, for the file of results.
    pub(crate) about: &'static str,
    pub(crate) run: fn() -> anyhow::Result<Vec<Row>>,
}

/// All parts, in the order they run.
pub(crate) const PARTS: &[Part] = &[
    fan_out::PART,
    quota::PART,
    shared_quota::PART,
    address::PART,
    listings::PART,
    warm::PART,
    city::PART,
    overload::PART,
    report_page::PART,
    sales::PART,
];

/// The parts of these names, in the order they run; all without a name.
pub(crate) fn choose(names: &[String]) -> anyhow::Result<Vec<&'static Part>> {
    for name in names {
        if !PARTS.iter().any(|part| part.name == name) {
            let known: Vec<&str> = PARTS.iter().map(|part| part.name).collect();
            bail!("there is no part {name:?}; there are: {}", known.join(", "));
        }
    }
    let chosen = PARTS
        .iter()
        .filter(|part| names.is_empty() || names.iter().any(|name| part.name == name))
        .collect();
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_an_unknown_one_is_said() {
        let mut names: Vec<&str> = PARTS.iter().map(|part| part.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), PARTS.len());
        assert_eq!(choose(&[]).unwrap().len(), PARTS.len());
        assert_eq!(choose(&["fan-out".to_owned()]).unwrap()[0].name, "fan-out");
        let error = choose(&["nothing".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("\"nothing\"") && error.contains("fan-out"));
    }
}
