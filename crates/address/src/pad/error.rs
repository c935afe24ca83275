//! What can be wrong with a release, and what was passed over.

use std::fmt;

/// Why no index could be built or opened.
#[derive(Debug, thiserror::Error)]
pub enum PadError {
    /// A file could not be read or written.
    #[error("the address files could not be read or written")]
    Io(#[from] std::io::Error),
    /// A file of the release is missing from the folder.
    #[error("{0} is missing from the address release")]
    Missing(&'static str),
    /// A file is not what its name says.
    #[error("{file} is not in the layout of the city's address files: {why}")]
    Layout {
        /// The file's name in a release.
        file: &'static str,
        /// What is missing.
        why: String,
    },
    /// More than one line in a thousand cannot be read.
    #[error("{bad} of {lines} lines of {file} cannot be read, the first of them: {first}")]
    TooManyBadLines {
        /// The file's name in a release.
        file: &'static str,
        /// How many.
        bad: u64,
        /// Of how many.
        lines: u64,
        /// The first of them.
        first: BadLine,
    },
    /// The index file is not one, or is damaged.
    #[error("the address index is damaged or of another version: {0}")]
    Damaged(&'static str),
}

/// A line that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadLine {
    /// The file's name in a release.
    pub file: &'static str,
    /// The line, from 1, the header included.
    pub line: u64,
    /// What is wrong with it.
    pub why: &'static str,
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} line {}: {}", self.file, self.line, self.why)
    }
}

/// What an import read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PadStats {
    /// Address rows kept.
    pub rows: u64,
    /// Lots.
    pub lots: u64,
    /// Buildings.
    pub buildings: u64,
    /// Streets.
    pub streets: u64,
    /// Street and place names, aliases included.
    pub names: u64,
    /// Lines that could not be read.
    pub bad_lines: u64,
    /// The first hundred of them.
    pub bad_line_samples: Vec<BadLine>,
}

/// Most bad lines that are named.
const NAMED: usize = 100;
/// Bad lines that are forgiven whatever their share: a small file has no thousand lines.
const FORGIVEN: u64 = 20;

impl PadStats {
    /// Counts a bad line, and names it while there are few.
    pub(super) fn bad(&mut self, file: &'static str, line: u64, why: &'static str) {
        self.bad_lines += 1;
        if self.bad_line_samples.len() < NAMED {
            self.bad_line_samples.push(BadLine { file, line, why });
        }
    }

    /// An error when more than one line in a thousand of a file was bad.
    pub(super) fn check(
        &self,
        file: &'static str,
        lines: u64,
        bad_before: u64,
    ) -> Result<(), PadError> {
        let bad = self.bad_lines - bad_before;
        if bad <= FORGIVEN || bad * 1000 <= lines {
            return Ok(());
        }
        let first = self
            .bad_line_samples
            .iter()
            .find(|b| b.file == file)
            .cloned()
            .unwrap_or(BadLine {
                file,
                line: 0,
                why: "see the lines before",
            });
        Err(PadError::TooManyBadLines {
            file,
            bad,
            lines,
            first,
        })
    }
}
