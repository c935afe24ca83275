//! Records of a delimited text, as ranges of its bytes: nothing is copied.
//!
//! Line ends are CR, LF or both; a field may be quoted, and a quoted field may hold line ends.

/// The fields of one record. A quoted field is given without its outer quotes; doubled quotes inside stay doubled.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    ranges: Vec<(u32, u32)>,
}

impl Fields {
    pub(crate) fn len(&self) -> usize {
        self.ranges.len()
    }

    /// A field with its blanks trimmed; nothing past the last.
    pub(crate) fn get<'a>(&self, bytes: &'a [u8], at: usize) -> &'a [u8] {
        self.ranges
            .get(at)
            .and_then(|&(start, end)| bytes.get(start as usize..end as usize))
            .unwrap_or_default()
            .trim_ascii()
    }

    pub(crate) fn is_blank(&self, bytes: &[u8]) -> bool {
        (0..self.len()).all(|at| self.get(bytes, at).is_empty())
    }
}

/// A walk over the records of a text.
#[derive(Debug)]
pub(crate) struct Records<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Records<'a> {
    /// `bytes` must be shorter than 4 GiB: places are kept in 32 bits.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        let at = if bytes.starts_with(b"\xef\xbb\xbf") {
            3
        } else {
            0
        };
        Self { bytes, at }
    }

    /// Reads the next record into `fields`; gives its raw bytes, `None` at the end.
    pub(crate) fn next(&mut self, fields: &mut Fields) -> Option<&'a [u8]> {
        let bytes = self.bytes;
        // Empty lines, and the LF of a CR LF.
        while matches!(bytes.get(self.at), Some(b'\r' | b'\n')) {
            self.at += 1;
        }
        if self.at >= bytes.len() {
            return None;
        }
        fields.ranges.clear();
        let first = self.at;
        let mut at = self.at;
        loop {
            let blanks = bytes.get(at..)?.iter().take_while(|b| **b == b' ').count();
            if bytes.get(at + blanks) == Some(&b'"') {
                let start = at + blanks + 1;
                let end = quoted_end(bytes, start);
                push(fields, start, end);
                // Whatever stands between the closing quote and the comma is not the publisher's.
                at = plain_end(bytes, (end + 1).min(bytes.len()));
            } else {
                let end = plain_end(bytes, at);
                push(fields, at, end);
                at = end;
            }
            if bytes.get(at) == Some(&b',') {
                at += 1;
            } else {
                break;
            }
        }
        self.at = at;
        bytes.get(first..at)
    }
}

fn push(fields: &mut Fields, start: usize, end: usize) {
    let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    fields.ranges.push((place(start), place(end)));
}

/// Where the plain field that starts here ends.
fn plain_end(bytes: &[u8], start: usize) -> usize {
    let rest = bytes.get(start..).unwrap_or_default();
    start
        + rest
            .iter()
            .position(|b| matches!(b, b',' | b'\r' | b'\n'))
            .unwrap_or(rest.len())
}

/// Where the closing quote is of the quoted field whose text starts here; the end of the text when there is none.
fn quoted_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    while let Some(byte) = bytes.get(at) {
        if *byte == b'"' {
            if bytes.get(at + 1) != Some(&b'"') {
                return at;
            }
            at += 1;
        }
        at += 1;
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(text: &str) -> Vec<Vec<String>> {
        let mut records = Records::new(text.as_bytes());
        let mut fields = Fields::default();
        let mut out = Vec::new();
        while records.next(&mut fields).is_some() {
            out.push(
                (0..fields.len())
                    .map(|at| String::from_utf8_lossy(fields.get(text.as_bytes(), at)).into_owned())
                    .collect(),
            );
        }
        out
    }

    #[test]
    fn three_line_ends_and_quotes() {
        for end in ["\r", "\n", "\r\n"] {
            let text = format!("\u{feff}a, b ,\" 4,750 \"{end}{end}c,,\"d\"\"e\nf\"{end}");
            assert_eq!(
                all(&text),
                vec![vec!["a", "b", "4,750"], vec!["c", "", "d\"\"e\nf"]]
            );
        }
        assert_eq!(
            all("a,\"open\nto the end"),
            vec![vec!["a", "open\nto the end"]]
        );
        assert_eq!(all("a,"), vec![vec!["a", ""]]);
        assert!(all("\r\n\r\n").is_empty());
    }

    proptest! {
        #[test]
        fn agrees_with_the_csv_crate(rows in prop::collection::vec(
            prop::collection::vec("[a-z,\"\n 0-9]{0,8}", 2..5), 1..6)) {
            let mut writer = csv::WriterBuilder::new().flexible(true).from_writer(Vec::new());
            for row in &rows {
                writer.write_record(row).unwrap();
            }
            let text = String::from_utf8(writer.into_inner().unwrap()).unwrap();
            let expected: Vec<Vec<String>> = rows
                .iter()
                .map(|row| row.iter().map(|cell| cell.trim_matches([' ', '\n']).replace('"', "\"\"")).collect())
                .collect();
            prop_assert_eq!(all(&text), expected);
        }

        #[test]
        fn any_bytes_come_to_an_end(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut records = Records::new(&bytes);
            let mut fields = Fields::default();
            let mut count = 0;
            while records.next(&mut fields).is_some() {
                count += 1;
                prop_assert!(fields.len() > 0 && count <= bytes.len());
            }
        }
    }
}
