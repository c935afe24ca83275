//! Sales files, whatever form they are published in, read into one cleaned list.
//!
//! Files are read side by side, one thread a core; cells are looked at in place, and only the texts a sale keeps are
//! copied, into one buffer a file.

pub(crate) mod columns;
#[cfg(test)]
mod real_tests;
pub(crate) mod split;
pub(crate) mod table;
pub(crate) mod value;
mod workbook;

use std::{
    io::Read,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
};

use self::{
    columns::Columns,
    split::{Fields, Records},
    table::Table,
};
use crate::{
    Sale, Texts,
    clean::{self, Exclusions, print},
};

/// Why sales could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file could not be opened or ended early.
    #[error("{file}: {source}")]
    Io {
        /// Its name.
        file: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is no table of sales.
    #[error("{file}: {why}")]
    NotSales {
        /// Its name.
        file: String,
        /// What it lacks.
        why: &'static str,
    },
}

/// Sales of one or more files, cleaned, sorted by day, then lot.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The sales; those with a flag that forbids it are in the list but not [`Sale::is_usable`].
    pub sales: Vec<Sale>,
    /// Their texts.
    pub texts: Texts,
    /// The city's names of neighbourhoods, by [`Sale::neighborhood`].
    pub neighborhoods: Vec<String>,
    /// How many rows each rule left out or marked.
    pub exclusions: Exclusions,
    /// Data rows read, blank ones included.
    pub rows: u64,
}

/// Reads sales files: CSV, plain or gzip, and workbooks. A folder stands for all such files in it.
///
/// The order of the files matters only where two releases hold the same sale: it is taken from the one that holds it
/// oftener, else from the later path.
///
/// # Errors
/// When a file cannot be read or is no table of sales.
pub fn load<P: AsRef<Path>>(paths: &[P]) -> Result<Loaded, ReadError> {
    let files = expand(paths)?;
    let next = AtomicUsize::new(0);
    let workers = std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(files.len());
    // The biggest files first, so that no thread is left with one at the end.
    let mut order: Vec<usize> = (0..files.len()).collect();
    order.sort_by_key(|at| {
        std::cmp::Reverse(
            files
                .get(*at)
                .and_then(|file| std::fs::metadata(file).ok())
                .map_or(0, |meta| meta.len()),
        )
    });
    let mut tables: Vec<(usize, Result<Table, ReadError>)> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..workers)
            .map(|_| {
                scope.spawn(|| {
                    let mut out = Vec::new();
                    while let Some(at) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
                        if let Some(file) = files.get(*at) {
                            out.push((*at, read_file(file)));
                        }
                    }
                    out
                })
            })
            .collect();
        handles
            .into_iter()
            .flat_map(|handle| match handle.join() {
                Ok(tables) => tables,
                Err(panic) => std::panic::resume_unwind(panic),
            })
            .collect()
    });
    tables.sort_by_key(|(at, _)| *at);
    let tables = tables
        .into_iter()
        .map(|(_, table)| table)
        .collect::<Result<Vec<_>, _>>()?;
    Ok(clean::merge(tables))
}

/// Reads one delimited text, as [`load`] does a file of it; for tests and for answers that came over the network.
///
/// # Errors
/// When it is no table of sales.
pub fn read_text(name: &str, bytes: &[u8]) -> Result<Loaded, ReadError> {
    Ok(clean::merge(vec![delimited(name, bytes)?]))
}

/// Reads several delimited texts as releases of one table, in their order: as [`load`] does files.
///
/// # Errors
/// When one of them is no table of sales.
pub fn read_texts(texts: &[(&str, &[u8])]) -> Result<Loaded, ReadError> {
    let tables = texts
        .iter()
        .map(|(name, bytes)| delimited(name, bytes))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(clean::merge(tables))
}

fn expand<P: AsRef<Path>>(paths: &[P]) -> Result<Vec<PathBuf>, ReadError> {
    let mut files = Vec::new();
    for path in paths {
        let path = path.as_ref();
        let failed = |source| ReadError::Io {
            file: name_of(path),
            source,
        };
        if path.is_dir() {
            let mut inside = Vec::new();
            for entry in std::fs::read_dir(path).map_err(failed)? {
                let file = entry.map_err(failed)?.path();
                if is_table(&file) {
                    inside.push(file);
                }
            }
            inside.sort();
            files.extend(inside);
        } else {
            files.push(path.to_path_buf());
        }
    }
    Ok(files)
}

fn is_table(path: &Path) -> bool {
    let name = name_of(path).to_ascii_lowercase();
    [".csv", ".csv.gz", ".xlsx", ".xls"]
        .iter()
        .any(|end| name.ends_with(end))
}

fn name_of(path: &Path) -> String {
    path.file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

fn read_file(path: &Path) -> Result<Table, ReadError> {
    let file = name_of(path);
    let failed = |source| ReadError::Io {
        file: file.clone(),
        source,
    };
    let mut bytes = std::fs::read(path).map_err(failed)?;
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut plain = Vec::with_capacity(bytes.len() * 8);
        flate2::read::MultiGzDecoder::new(bytes.as_slice())
            .read_to_end(&mut plain)
            .map_err(failed)?;
        bytes = plain;
    }
    if workbook::is_workbook(&bytes) {
        bytes = workbook::to_text(&bytes).ok_or_else(|| ReadError::NotSales {
            file: file.clone(),
            why: "it is no workbook that can be read, or has no rows",
        })?;
    }
    delimited(&file, &bytes)
}

/// How many lines may stand before the header.
const MOST_PREAMBLE: usize = 30;

fn delimited(file: &str, bytes: &[u8]) -> Result<Table, ReadError> {
    let not_sales = |why| ReadError::NotSales {
        file: file.to_owned(),
        why,
    };
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(not_sales("it is empty"));
    }
    if bytes.starts_with(b"version https://git-lfs") {
        return Err(not_sales(
            "it is a pointer to a file in Git's large file storage, not the file",
        ));
    }
    if u32::try_from(bytes.len()).is_err() {
        return Err(not_sales("it is larger than 4 GiB"));
    }
    let mut records = Records::new(bytes);
    let mut fields = Fields::default();
    let mut table = Table::default();
    let mut columns = None;
    for _ in 0..MOST_PREAMBLE {
        let Some(raw) = records.next(&mut fields) else {
            break;
        };
        let cells: Vec<&[u8]> = (0..fields.len()).map(|at| fields.get(bytes, at)).collect();
        columns = Columns::of_header(cells.iter().copied());
        if columns.is_none() {
            columns = Columns::of_row(&cells);
            if let Some(columns) = &columns {
                table.push(columns, bytes, &fields, print(raw));
            }
        }
        if columns.is_some() {
            break;
        }
    }
    let columns = columns.ok_or_else(|| {
        not_sales("no line names the columns of a sales table, and none is one of its rows")
    })?;
    while let Some(raw) = records.next(&mut fields) {
        table.push(&columns, bytes, &fields, print(raw));
    }
    Ok(table)
}
