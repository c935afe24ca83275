//! Index files by name and version.

use brownstone_store::{IndexFileError, IndexVersion};

use crate::harness::Held;

/// Bytes of more than one part, no two parts the same.
fn bytes(seed: u32, length: usize) -> Vec<u8> {
    (0..length)
        .map(|at| {
            (at as u32 / 977)
                .wrapping_mul(2_654_435_761)
                .wrapping_add(seed) as u8
        })
        .collect()
}

async fn put(store: &Held, version: &str, bytes: &[u8]) {
    store
        .put_index_file("pad", version, bytes)
        .await
        .expect("kept");
}

async fn latest(store: &Held) -> IndexVersion {
    let latest = store.latest_index("pad").await.expect("an answer");
    latest.expect("a version")
}

async fn fetch(store: &Held, of: &IndexVersion) -> Result<Vec<u8>, IndexFileError> {
    let mut into = Vec::new();
    store.fetch_index(of, &mut into).await.map(|()| into)
}

pub(crate) async fn a_file_of_several_parts_comes_back_byte_for_byte(store: &Held) {
    assert_eq!(store.latest_index("pad").await.expect("an answer"), None);
    let long = bytes(1, 9_000_001);
    put(store, "a", &long).await;
    let version = latest(store).await;
    assert_eq!((version.version.as_str(), version.length), ("a", 9_000_001));
    assert!(fetch(store, &version).await.expect("the bytes") == long);
    assert_eq!(store.latest_index("sales").await.expect("an answer"), None);
}

pub(crate) async fn the_last_two_versions_stay(store: &Held) {
    let mut seen = Vec::new();
    for (seed, version) in ["a", "b", "c"].into_iter().enumerate() {
        put(store, version, &bytes(seed as u32, 5_000_000)).await;
        seen.push(latest(store).await);
        if version == "a" {
            store
                .put_index_file("sales", "a", b"of another name")
                .await
                .expect("kept");
        }
    }
    assert_eq!(latest(store).await.version, "c");
    assert!(matches!(
        fetch(store, &seen[0]).await,
        Err(IndexFileError::Gone)
    ));
    for (kept, seed) in [(&seen[1], 1), (&seen[2], 2)] {
        assert!(fetch(store, kept).await.expect("the bytes") == bytes(seed, 5_000_000));
    }
    assert!(
        store
            .latest_index("sales")
            .await
            .expect("an answer")
            .is_some()
    );
}

pub(crate) async fn a_version_put_again_is_the_newest_again(store: &Held) {
    put(store, "a", b"first").await;
    put(store, "b", b"second").await;
    put(store, "a", b"first").await;
    let version = latest(store).await;
    assert_eq!(version.version, "a");
    assert_eq!(fetch(store, &version).await.expect("the bytes"), b"first");
}

pub(crate) async fn a_changed_byte_is_noticed(store: &Held) {
    put(store, "a", b"first").await;
    store
        .sql("update index_parts set body = substr(body, 2)")
        .await;
    let version = latest(store).await;
    assert!(fetch(store, &version).await.is_err());
}
