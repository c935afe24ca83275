//! What is written, and what is not.

use brownstone_domain::{Limits, Units};
use brownstone_quota::{Decision, QuotaStore, Receipt};

use crate::places::{Place, fresh, patient};

async fn admit(store: &dyn QuotaStore, account: &str, cost: u32, limits: Limits) -> Receipt {
    let decision = store.charge(account, Units::new(cost), limits).await;
    match decision.expect("an answer") {
        Decision::Admitted { receipt, .. } => receipt,
        other => panic!("{cost} units should have been admitted: {other:?}"),
    }
}

pub(crate) async fn whatever_is_not_charged_leaves_the_stored_bytes_alone(place: &Place) {
    let store = place.instance_with(&patient(), None);
    let account = fresh("bytes");
    let none = place.bytes(&account).await;
    let refuse = async |cost: u32, per_minute: u32, per_day: u32| {
        let limits = Limits::new(per_minute, per_day).expect("within range");
        let decision = store.charge(&account, Units::new(cost), limits).await;
        let decision = decision.expect("an answer");
        let zero = cost == 0;
        assert_eq!(
            matches!(decision, Decision::Admitted { .. }),
            zero,
            "{decision:?}"
        );
    };
    // An account that was never charged gets no record.
    refuse(0, 240, 10_000).await;
    refuse(10, 8, 10_000).await;
    refuse(10, 240, 9).await;
    store
        .peek(&account, Limits::default())
        .await
        .expect("an answer");
    assert_eq!(place.bytes(&account).await, none);

    admit(
        &*store,
        &account,
        10,
        Limits::new(10, 10_000).expect("within range"),
    )
    .await;
    let before = place.bytes(&account).await;
    assert_ne!(before, none);
    // Short in the minute, short in the day, too large for either, nothing, a look.
    refuse(10, 10, 10_000).await;
    refuse(10, 10_000, 19).await;
    refuse(11, 10, 10_000).await;
    refuse(11, 240, 10).await;
    refuse(0, 240, 10_000).await;
    store
        .peek(&account, Limits::default())
        .await
        .expect("an answer");
    assert_eq!(place.bytes(&account).await, before);
}

pub(crate) async fn a_refund_of_nothing_leaves_the_stored_bytes_alone(place: &Place) {
    let store = place.instance_with(&patient(), None);
    let account = fresh("bytes");
    let limits = Limits::default();
    let nothing = admit(&*store, &account, 0, limits).await;
    let none = place.bytes(&account).await;
    store.refund(nothing).await.expect("an answer");
    assert_eq!(place.bytes(&account).await, none);

    let nothing = admit(&*store, &account, 0, limits).await;
    let something = admit(&*store, &account, 10, limits).await;
    let before = place.bytes(&account).await;
    store.refund(nothing).await.expect("an answer");
    assert_eq!(place.bytes(&account).await, before);
    store.refund(something).await.expect("an answer");
    assert_ne!(place.bytes(&account).await, before);
    let view = store.peek(&account, limits).await.expect("an answer");
    assert_eq!((view.day_used(), view.minute_remaining()), (0, 240));
}
