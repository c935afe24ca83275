//! Workbooks (XLSX, XLS), turned into the delimited text that their makers would export.

use std::io::{Cursor, Write as _};

use calamine::{Data, Reader as _, Sheets};

/// Whether these bytes are a workbook: a zip archive or an OLE container.
pub(super) fn is_workbook(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"\xd0\xcf\x11\xe0")
}

/// The first sheet that has rows; `None` when the bytes are no workbook that can be read.
pub(super) fn to_text(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut workbook: Sheets<_> = calamine::open_workbook_auto_from_rs(Cursor::new(bytes)).ok()?;
    let names = workbook.sheet_names();
    names.iter().find_map(|name| {
        let range = workbook.worksheet_range(name).ok()?;
        (!range.is_empty()).then(|| {
            let mut text = Vec::with_capacity(bytes.len() * 4);
            for row in range.rows() {
                for (at, cell) in row.iter().enumerate() {
                    if at > 0 {
                        text.push(b',');
                    }
                    put(&mut text, cell);
                }
                text.push(b'\n');
            }
            text
        })
    })
}

fn put(text: &mut Vec<u8>, cell: &Data) {
    // Writing to a vector does not fail.
    let _ = match cell {
        Data::Int(number) => write!(text, "{number}"),
        Data::Float(number) => write!(text, "{number}"),
        // The spreadsheet's day number: its fraction is the time of day.
        Data::DateTime(when) => write!(text, "{}", when.as_f64().trunc()),
        Data::String(words) | Data::DateTimeIso(words) | Data::DurationIso(words) => {
            quote(text, words);
            Ok(())
        }
        Data::Bool(_) | Data::Error(_) | Data::Empty => Ok(()),
    };
}

fn quote(text: &mut Vec<u8>, words: &str) {
    if !words.contains(['"', ',', '\r', '\n']) {
        text.extend_from_slice(words.as_bytes());
        return;
    }
    text.push(b'"');
    for byte in words.bytes() {
        if byte == b'"' {
            text.push(b'"');
        }
        text.push(byte);
    }
    text.push(b'"');
}
