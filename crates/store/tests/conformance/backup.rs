//! Copies of a database: of SQLite a file, of PostgreSQL never.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use brownstone_store::{BackupError, DatabaseKind, Store};

use crate::harness::Held;

/// PostgreSQL says what to use instead.
async fn is_refused(held: &Held, to: &Path) {
    let refused = held.backup(to).await;
    assert!(
        matches!(refused, Err(BackupError::UsePgDump)),
        "{refused:?}"
    );
    assert!(refused.unwrap_err().to_string().contains("pg_dump"));
    assert!(!to.exists());
}

fn in_folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let to = folder.path().join("backup.db");
    (folder, to)
}

fn names(folder: &tempfile::TempDir) -> Vec<String> {
    std::fs::read_dir(folder.path())
        .expect("readable")
        .map(|entry| {
            entry
                .expect("readable")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect()
}

/// Two rows are written anew in one transaction, over and over: a copy of one moment holds both alike, or neither.
pub(crate) async fn a_copy_holds_everything_and_is_whole_while_others_write(held: &Held) {
    let (folder, to) = in_folder();
    if held.database_name() != "SQLite" {
        return is_refused(held, &to).await;
    }
    held.stamp(DatabaseKind::Real).await.expect("it is new");
    let stop = Arc::new(AtomicBool::new(false));
    let (writer_stops, ledger) = (stop.clone(), held.spent_ledger());
    let writer = tokio::spawn(async move {
        let mut round = 0_u32;
        while !writer_stops.load(Ordering::Relaxed) {
            round += 1;
            let row = |account: &str| brownstone_quota::LedgerRow {
                account: account.to_owned(),
                day: 20_784,
                spent: round,
                minute: None,
            };
            ledger.settle(&[row("a"), row("b")]).await.expect("written");
        }
        round
    });
    for n in 0..5 {
        let to = folder.path().join(format!("{n}.db"));
        held.backup(&to).await.expect("copied");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::metadata(&to)
                .expect("it is there")
                .permissions()
                .mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        let copy = Store::open(&format!("sqlite://{}", to.display())).expect("a file");
        assert_eq!(copy.migrate().await.expect("up to date"), 0);
        assert_eq!(
            copy.kind().await.expect("an answer"),
            Some(DatabaseKind::Real)
        );
        let rows = copy.spent_ledger().load(0).await.expect("an answer");
        let spent: Vec<u32> = rows.iter().map(|row| row.spent).collect();
        assert!(
            matches!(spent[..], [] | [_, _]) && spent.first() == spent.last(),
            "of one moment: {spent:?}"
        );
    }
    stop.store(true, Ordering::Relaxed);
    assert!(writer.await.expect("no panic") > 0);
    assert!(!names(&folder).iter().any(|name| name.contains("partial")));
}

pub(crate) async fn a_file_that_is_there_is_left_alone(held: &Held) {
    let (folder, to) = in_folder();
    if held.database_name() != "SQLite" {
        return is_refused(held, &to).await;
    }
    std::fs::write(&to, "mine").expect("ours");
    let refused = held.backup(&to).await;
    let Err(error @ BackupError::Exists { .. }) = refused else {
        panic!("{refused:?}");
    };
    assert!(error.to_string().contains("backup.db"), "{error}");
    assert_eq!(std::fs::read_to_string(&to).expect("readable"), "mine");
    assert_eq!(names(&folder), ["backup.db"]);
    // Nor is the database itself.
    #[cfg(feature = "sqlite")]
    {
        let itself = held.path().expect("a file");
        assert!(matches!(
            held.backup(itself).await,
            Err(BackupError::Exists { .. })
        ));
        held.ping().await.expect("it is well");
    }
}

pub(crate) async fn what_cannot_be_written_leaves_nothing(held: &Held) {
    let (folder, to) = in_folder();
    if held.database_name() != "SQLite" {
        return is_refused(held, &to).await;
    }
    let refused = held
        .backup(&folder.path().join("no such folder").join("b.db"))
        .await;
    assert!(
        matches!(refused, Err(BackupError::File { .. })),
        "{refused:?}"
    );
    // Where the copy is made something else is in the way.
    std::fs::create_dir(folder.path().join("backup.db.partial")).expect("ours");
    let refused = held.backup(&to).await;
    assert!(
        matches!(refused, Err(BackupError::File { .. })),
        "{refused:?}"
    );
    assert_eq!(names(&folder), ["backup.db.partial"]);
    // What a copy left that was cut off is in nobody's way.
    std::fs::remove_dir(folder.path().join("backup.db.partial")).expect("ours");
    std::fs::write(folder.path().join("backup.db.partial"), "half").expect("ours");
    held.backup(&to).await.expect("copied");
    assert_eq!(names(&folder), ["backup.db"]);
}
