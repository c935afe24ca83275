//! A copy of an SQLite database, whole and of one moment, while others write.

use std::path::Path;

use crate::error::BackupError;
use crate::pool::Database;
use crate::store::Store;

/// Longest backup.
#[cfg(feature = "sqlite")]
const WITHIN: std::time::Duration = std::time::Duration::from_secs(3_600);

impl Store {
    /// Copies an SQLite database into a new file, for this user only. The copy is of one moment, whatever is written
    /// meanwhile, and nobody waits for it. It is on the disk when this returns.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # #[cfg(feature = "sqlite")] {
    /// # let folder = tempfile::tempdir()?;
    /// # let url = format!("sqlite://{}/brownstone.db", folder.path().display());
    /// let store = brownstone_store::Store::open(&url)?;
    /// store.migrate().await?;
    /// let copy = folder.path().join("backup.db");
    /// store.backup(&copy).await?;
    /// assert!(store.backup(&copy).await.is_err(), "a file that is there is left alone");
    /// # }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the file is there already, or cannot be written; nothing is left behind then. On PostgreSQL always:
    /// `pg_dump` is the tool.
    pub async fn backup(&self, to: &Path) -> Result<(), BackupError> {
        match self.database() {
            #[cfg(feature = "sqlite")]
            Database::Sqlite(sqlite) => {
                let (from, to) = (sqlite.path.clone(), to.to_owned());
                let copied = crate::migrate::on_thread(move || sqlite::copy(&from, &to));
                self.runner()
                    .run(WITHIN, copied)
                    .await
                    .map_err(|fault| BackupError::Failed(fault.to_string()))?
            }
            #[cfg(feature = "postgres")]
            Database::Postgres(_) => {
                let _ = to;
                Err(BackupError::UsePgDump)
            }
        }
    }
}

#[cfg(feature = "sqlite")]
mod sqlite {
    use std::ffi::OsString;
    use std::fs::{self, File, OpenOptions};
    use std::io;
    use std::path::{Path, PathBuf};

    use diesel::connection::SimpleConnection;
    use diesel::sql_types::Text;
    use diesel::{Connection, RunQueryDsl, SqliteConnection, sql_query};

    use crate::error::{BackupError, Fault};

    /// The file's name is taken first, with an empty file; the copy is made beside it and takes that file's place when it
    /// is whole and on the disk. A copy that was cut off never bears the name.
    pub(super) fn copy(from: &str, to: &Path) -> Result<(), BackupError> {
        let fault = |source: io::Error| match source.kind() {
            io::ErrorKind::AlreadyExists => BackupError::Exists {
                path: to.display().to_string(),
            },
            _ => BackupError::File {
                path: to.display().to_string(),
                source,
            },
        };
        // Absolute, so that no path reads as a URI.
        let to_file = std::path::absolute(to).map_err(fault)?;
        let mut partial: OsString = to_file.clone().into_os_string();
        partial.push(".partial");
        let partial = PathBuf::from(partial);

        make(&to_file).map_err(fault)?;
        let copied = (|| {
            // Left by a copy that was cut off; the name that was taken keeps all others from here.
            match fs::remove_file(&partial) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(fault(error)),
                _ => {}
            }
            make(&partial).map_err(fault)?;
            let path = partial
                .to_str()
                .ok_or_else(|| fault(io::Error::other("the path is not UTF-8")))?;
            vacuum(from, path).map_err(|error| BackupError::Failed(error.to_string()))?;
            File::open(&partial)
                .and_then(|file| file.sync_all())
                .map_err(fault)?;
            fs::rename(&partial, &to_file).map_err(fault)?;
            match to_file.parent() {
                Some(folder) => File::open(folder)
                    .and_then(|folder| folder.sync_all())
                    .map_err(fault),
                None => Ok(()),
            }
        })();
        if copied.is_err() {
            // Both are ours: nobody else could have made them.
            let _ = fs::remove_file(&partial);
            let _ = fs::remove_file(&to_file);
        }
        copied
    }

    /// A new and empty file, for this user only.
    fn make(path: &Path) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(path).map(drop)
    }

    /// Reads the database as it is at one moment: in WAL mode a reader keeps nobody from writing.
    fn vacuum(from: &str, to: &str) -> Result<(), Fault> {
        let mut connection = SqliteConnection::establish(from)
            .map_err(|error| Fault::Connection(error.to_string()))?;
        connection.batch_execute("PRAGMA busy_timeout = 5000; PRAGMA trusted_schema = OFF")?;
        sql_query("VACUUM INTO ?")
            .bind::<Text, _>(to)
            .execute(&mut connection)?;
        Ok(())
    }
}
