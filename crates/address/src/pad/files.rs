//! The comma-separated files: quoted, padded with blanks, columns found by their name.

use std::io::Read;

use csv::{ByteRecord, ReaderBuilder};

use super::{PadError, PadStats};

/// A column's place in each record.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column(usize);

/// One line of a file.
pub(super) struct Line<'r> {
    record: &'r ByteRecord,
}

impl Line<'_> {
    /// The value without its padding; empty where the line is short or the value no text.
    pub(super) fn text(&self, column: Column) -> &str {
        self.record
            .get(column.0)
            .and_then(|bytes| std::str::from_utf8(bytes).ok())
            .unwrap_or_default()
            .trim()
    }

    /// A number of digits; 0 where there is none.
    pub(super) fn number(&self, column: Column) -> Option<u32> {
        match self.text(column) {
            "" => Some(0),
            text if text.bytes().all(|b| b.is_ascii_digit()) => text.parse().ok(),
            _ => None,
        }
    }
}

/// The columns of a file.
pub(super) struct Header {
    file: &'static str,
    names: Vec<String>,
}

impl Header {
    /// The column with this name.
    pub(super) fn column(&self, name: &str) -> Result<Column, PadError> {
        self.names
            .iter()
            .position(|n| n == name)
            .map(Column)
            .ok_or_else(|| PadError::Layout {
                file: self.file,
                why: format!("no column {name}"),
            })
    }
}

/// Reads a file line by line. `columns` finds what `line` needs; `line` says what is wrong with a line, if anything.
pub(super) fn read<C>(
    file: &'static str,
    input: impl Read,
    stats: &mut PadStats,
    columns: impl FnOnce(&Header) -> Result<C, PadError>,
    mut line: impl FnMut(&C, &Line<'_>) -> Result<(), &'static str>,
) -> Result<(), PadError> {
    let mut reader = ReaderBuilder::new()
        .flexible(true)
        .buffer_capacity(1 << 16)
        .from_reader(input);
    let header = Header {
        file,
        names: reader
            .byte_headers()
            .map_err(|e| csv_error(file, e))?
            .iter()
            .map(|name| String::from_utf8_lossy(name).trim().to_ascii_lowercase())
            .collect(),
    };
    let columns = columns(&header)?;
    let bad_before = stats.bad_lines;
    let mut record = ByteRecord::new();
    let mut lines = 0;
    loop {
        match reader.read_byte_record(&mut record) {
            Ok(false) => break,
            Ok(true) => {
                lines += 1;
                if record.len() < header.names.len() {
                    stats.bad(file, lines + 1, "fewer columns than the header has");
                } else if let Err(why) = line(&columns, &Line { record: &record }) {
                    stats.bad(file, lines + 1, why);
                }
            }
            Err(error) => return Err(csv_error(file, error)),
        }
    }
    stats.check(file, lines, bad_before)
}

fn csv_error(file: &'static str, error: csv::Error) -> PadError {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => PadError::Io(error),
        other => PadError::Layout {
            file,
            why: format!("{other:?}"),
        },
    }
}
