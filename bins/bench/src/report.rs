//! The file of results: one section a part, so that a run of one part leaves the others as they are.

use std::{fs, io, path::Path};

use anyhow::Context as _;
use time::{OffsetDateTime, macros::format_description};

use crate::{
    machine,
    parts::Part,
    row::{Row, table},
};

const HEAD: &str = "# Benchmarks

Written by `make bench` (`make bench PARTS=\"quota\"` for some of the parts; `cargo run -p brownstone-bench -- --list` names
them). Machines are noisy and shared: what counts is the ratio of two figures of one run. A figure is the median of its
alternating rounds unless its row says otherwise.
";

/// What one part measured, and how.
#[derive(Debug)]
pub(crate) struct Section {
    name: &'static str,
    about: &'static str,
    machine: String,
    date: String,
    pub(crate) rows: Vec<Row>,
}

impl Section {
    /// Runs the part.
    pub(crate) fn measure(part: &Part) -> anyhow::Result<Self> {
        let machine = machine::describe();
        let date = OffsetDateTime::now_utc().format(format_description!(
            "[year]-[month]-[day] [hour]:[minute] UTC"
        ))?;
        let rows = (part.run)().with_context(|| format!("the part {} failed", part.name))?;
        Ok(Self {
            name: part.name,
            about: part.about,
            machine,
            date,
            rows,
        })
    }

    fn heading(&self) -> String {
        format!("## {}", self.name)
    }

    fn to_markdown(&self) -> String {
        format!(
            "{}\n\n{}\n\n`make bench PARTS=\"{}\"` on {}; {} at the start.\n\n{}",
            self.heading(),
            self.about.trim(),
            self.name,
            self.date,
            self.machine,
            table(&self.rows, false),
        )
    }
}

/// Puts the section into the file, in place of its older self.
pub(crate) fn put(path: &Path, section: &Section) -> anyhow::Result<()> {
    let old = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error).context("the file of results cannot be read"),
    };
    let new = replace(&old, &section.heading(), &section.to_markdown());
    fs::write(path, new).context("the file of results cannot be written")
}

/// `old` with `section` in place of the one under `heading`, or behind the others.
fn replace(old: &str, heading: &str, section: &str) -> String {
    let mut sections: Vec<String> = Vec::new();
    for line in old.lines() {
        if line.starts_with("## ") {
            sections.push(String::new());
        }
        if let Some(current) = sections.last_mut() {
            current.push_str(line);
            current.push('\n');
        }
    }
    match sections
        .iter_mut()
        .find(|text| text.lines().next() == Some(heading))
    {
        Some(place) => section.clone_into(place),
        None => sections.push(section.to_owned()),
    }
    let mut text = HEAD.to_owned();
    for section in sections {
        text.push('\n');
        text.push_str(section.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_takes_the_place_of_its_older_self_and_leaves_the_others() {
        let first = replace("", "## one", "## one\n\nold\n");
        let both = replace(&first, "## two", "## two\n\nstays\n");
        let new = replace(&both, "## one", "## one\n\nnew\n");
        assert_eq!(new, format!("{HEAD}\n## one\n\nnew\n\n## two\n\nstays\n"));
        assert_eq!(replace(&new, "## two", "## two\n\nstays\n"), new);
    }
}
