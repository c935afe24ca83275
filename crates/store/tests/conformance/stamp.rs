//! What a database was made for.

use brownstone_store::{DatabaseKind, StampError};
use tokio::task::JoinSet;

use crate::harness::Held;

pub(crate) async fn a_new_database_is_of_no_kind(store: &Held) {
    assert_eq!(store.kind().await.expect("an answer"), None);
}

pub(crate) async fn a_stamp_stays(store: &Held) {
    store.stamp(DatabaseKind::Sample).await.expect("it is new");
    store
        .stamp(DatabaseKind::Sample)
        .await
        .expect("it is of this kind");
    let refused = store.stamp(DatabaseKind::Real).await;
    let Err(error @ StampError::OtherKind { is, wanted }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!((is, wanted), (DatabaseKind::Sample, DatabaseKind::Real));
    let text = error.to_string();
    assert!(text.contains("sample") && text.contains("real"), "{text}");
    assert_eq!(
        store.kind().await.expect("an answer"),
        Some(DatabaseKind::Sample)
    );
}

pub(crate) async fn starts_of_both_kinds_at_once_leave_one_kind(store: &Held) {
    let mut starts = JoinSet::new();
    for n in 0..20 {
        let store = (**store).clone();
        let kind = [DatabaseKind::Sample, DatabaseKind::Real][n % 2];
        starts.spawn(async move { (kind, store.stamp(kind).await) });
    }
    let outcomes = starts.join_all().await;
    let kind = store.kind().await.expect("an answer").expect("a kind");
    for (wanted, outcome) in outcomes {
        match outcome {
            Ok(()) => assert_eq!(wanted, kind),
            Err(StampError::OtherKind { is, .. }) => {
                assert_eq!(is, kind);
                assert_ne!(wanted, kind);
            }
            Err(other) => panic!("{other}"),
        }
    }
}
