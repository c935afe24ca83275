//! SQLite: the file and its connections.

use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::path::Path;
use std::time::Duration;

use diesel::ConnectionResult;
use diesel_async::AsyncConnection;

use crate::error::StoreOpenError;
use crate::pool::{SqliteConn, prepare};

/// Shortest wait for another process's lock.
const BUSY_AT_LEAST: Duration = Duration::from_secs(5);

/// The busy timeout comes first, so that the change to WAL waits for another process too. A commit is on the disk when it is
/// answered.
pub(crate) fn settings(answer_within: Duration) -> String {
    let busy = answer_within.max(BUSY_AT_LEAST).as_millis();
    format!(
        "PRAGMA busy_timeout = {busy}; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; \
         PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF;"
    )
}

/// A commit is in the system's hands when it is answered: a power cut may lose the last moments, whole transactions at a
/// time.
const RELAXED: &str = "PRAGMA synchronous = NORMAL;";

/// Opens a connection whose commits outlive a power cut.
pub(crate) async fn connect(path: &str, answer_within: Duration) -> ConnectionResult<SqliteConn> {
    let mut connection = SqliteConn::establish(path).await?;
    prepare(&mut connection, &settings(answer_within)).await?;
    Ok(connection)
}

/// Opens a connection for reading, and for what can be done again.
pub(crate) async fn connect_relaxed(
    path: &str,
    answer_within: Duration,
) -> ConnectionResult<SqliteConn> {
    let mut connection = connect(path, answer_within).await?;
    prepare(&mut connection, RELAXED).await?;
    Ok(connection)
}

/// Makes the file and its folder where they are missing, for the program's own user only, and returns the absolute path.
///
/// SQLite gives its side files (`-wal`, `-shm`) the rights of the file itself.
pub(crate) fn make_file(path: &Path) -> Result<String, StoreOpenError> {
    let fault = |source| StoreOpenError::SqliteFile {
        path: path.display().to_string(),
        source,
    };
    // Absolute, so that a later change of folder does not open another file, and so that no path reads as a URI.
    let absolute = std::path::absolute(path).map_err(fault)?;
    if let Some(folder) = absolute.parent() {
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder).map_err(fault)?;
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(&absolute).map_err(fault)?;
    if !file.metadata().map_err(fault)?.is_file() {
        return Err(fault(io::Error::other("is not a file")));
    }
    absolute.into_os_string().into_string().map_err(|_| {
        fault(io::Error::other(
            "the path of the working folder is not UTF-8",
        ))
    })
}
