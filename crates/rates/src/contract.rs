//! What every implementation of [`RateStore`] must pass, and a macro that stamps a test of each.
//!
//! A case may have the store to itself: it starts empty.

use brownstone_domain::PublishedDate;
use time::{Duration, OffsetDateTime, macros::datetime};

use crate::{
    observation::Observation,
    store::{Kept, RateStore},
};

const AT: OffsetDateTime = datetime!(2026-11-27 12:00:00.123456 UTC);

fn observation(date: &str, rate_percent: f64, points: Option<f64>) -> Observation {
    Observation {
        date: PublishedDate::from(date),
        rate_percent,
        points,
    }
}

fn kept(id: &str, rate_percent: f64, fetched_at: OffsetDateTime) -> Kept {
    Kept {
        series_id: id.to_owned(),
        latest: observation("2026-11-26", rate_percent, None),
        previous: Some(observation("2026-11-25", 6.9, None)),
        fetched_at,
    }
}

async fn load(store: &impl RateStore) -> Vec<Kept> {
    store.load().await.expect("an answer")
}

async fn save(store: &impl RateStore, values: &[Kept]) {
    store.save(values).await.expect("kept");
}

/// A store that was never written holds nothing.
pub async fn a_new_store_is_empty(store: &impl RateStore) {
    assert_eq!(load(store).await, []);
    save(store, &[]).await;
    assert_eq!(load(store).await, []);
}

/// Values come back whole, by id: dates as published, every digit, what is absent absent.
pub async fn values_come_back_whole(store: &impl RateStore) {
    let survey = Kept {
        latest: observation("11/26/2026", 7.1, Some(-0.25)),
        previous: None,
        ..kept("pmms30", 7.1, AT)
    };
    let index = Kept {
        latest: observation("2026-11-26", 6.951, None),
        previous: Some(observation("2026-11-25", 0.1 + 0.2, Some(0.7))),
        ..kept("OBMMIC30YF", 6.951, AT)
    };
    save(store, &[survey.clone(), index.clone()]).await;
    assert_eq!(load(store).await, [index, survey]);
}

/// A later reading replaces the one before, and its neighbours stay.
pub async fn a_later_reading_replaces_the_one_before(store: &impl RateStore) {
    save(store, &[kept("a", 6.1, AT), kept("b", 6.2, AT)]).await;
    let later = Kept {
        previous: None,
        ..kept("a", 6.3, AT + Duration::HOUR)
    };
    save(store, std::slice::from_ref(&later)).await;
    assert_eq!(load(store).await, [later, kept("b", 6.2, AT)]);
}

/// An instance that was slower does not undo what another one read since.
pub async fn an_earlier_reading_changes_nothing(store: &impl RateStore) {
    save(store, &[kept("a", 6.3, AT)]).await;
    let earlier = [
        kept("a", 6.1, AT - Duration::microseconds(1)),
        kept("b", 6.2, AT - Duration::HOUR),
    ];
    save(store, &earlier).await;
    let [_, other] = earlier;
    assert_eq!(load(store).await, [kept("a", 6.3, AT), other]);
}

/// Stamps one test for each case. Takes an expression that makes a future of `Option<impl Deref<Target = impl RateStore>>`;
/// `None` where the back end cannot be had.
#[macro_export]
macro_rules! rate_store_contract {
    ($store:expr) => {
        $crate::rate_store_contract! {
            @ $store,
            a_new_store_is_empty
            values_come_back_whole
            a_later_reading_replaces_the_one_before
            an_earlier_reading_changes_nothing
        }
    };
    (@ $store:expr, $($case:ident)+) => {
        mod rate_store {
            #[allow(unused_imports)]
            use super::*;

            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    if let Some(store) = $store.await {
                        $crate::contract::$case(&*store).await;
                    }
                }
            )+
        }
    };
}
