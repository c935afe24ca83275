//! `snd*cow.txt`: the street name dictionary, records of 200 bytes without separators.

use std::io::{BufRead, BufReader, Read};

use super::{PadError, PadStats, rows::StreetCode};

pub(super) const FILE: &str = "snd";

/// One spelling of a street's or place's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StreetSpelling {
    pub(super) street: StreetCode,
    pub(super) group: u8,
    pub(super) name: Box<str>,
    /// The primary spelling, not a variant.
    pub(super) primary: bool,
    /// The principal name of its local group, not a secondary one.
    pub(super) principal: bool,
    /// One of several streets of the same name.
    pub(super) duplicate: bool,
}

pub(super) fn read(
    input: impl Read,
    stats: &mut PadStats,
) -> Result<Vec<StreetSpelling>, PadError> {
    let mut reader = BufReader::with_capacity(1 << 16, input);
    let bad_before = stats.bad_lines;
    let mut out = Vec::new();
    let mut line = Vec::with_capacity(256);
    let mut lines = 0;
    loop {
        line.clear();
        // A line without an end is no dictionary; it is not read into memory whole.
        let taken = (&mut reader).take(4096).read_until(b'\n', &mut line)?;
        if taken == 0 {
            break;
        }
        lines += 1;
        while matches!(line.last(), Some(b'\n' | b'\r')) {
            line.pop();
        }
        if line.is_empty() || (lines == 1 && line.first() != Some(&b'1')) {
            continue;
        }
        match spelling(&line) {
            Ok(Some(spelling)) => out.push(spelling),
            Ok(None) => {}
            Err(why) => stats.bad(FILE, lines, why),
        }
    }
    stats.check(FILE, lines, bad_before)?;
    if out.is_empty() && lines > 1 {
        return Err(PadError::Layout {
            file: FILE,
            why: "no line is a street's".to_owned(),
        });
    }
    Ok(out)
}

/// The record's fields by their place, from 1, as the city counts them.
fn field(line: &[u8], from: usize, to: usize) -> &str {
    line.get(from - 1..to)
        .and_then(|bytes| std::str::from_utf8(bytes).ok())
        .unwrap_or_default()
        .trim()
}

fn spelling(line: &[u8]) -> Result<Option<StreetSpelling>, &'static str> {
    if line.first() != Some(&b'1') {
        return Err("not a street record");
    }
    let code = field(line, 37, 42);
    let street: StreetCode = code
        .parse()
        .ok()
        .filter(|_| code.len() == 6 && matches!(code.as_bytes().first(), Some(b'1'..=b'5')))
        .ok_or("no street code")?;
    let name = field(line, 54, 85);
    if name.is_empty() {
        return Err("no name");
    }
    let feature = line.get(50).copied().unwrap_or(b' ');
    // `146 STREET` for WEST 146 STREET is no name of its own: the resolver adds a direction where only one has the number.
    if feature == b'S' {
        return Ok(None);
    }
    Ok(Some(StreetSpelling {
        street,
        group: field(line, 43, 44).parse().unwrap_or(0),
        name: name.into(),
        primary: line.get(34) == Some(&b'P'),
        principal: line.get(35) == Some(&b'F'),
        duplicate: feature == b'D',
    }))
}
