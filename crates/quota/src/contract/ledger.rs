//! The contract of a ledger. Each function wants an empty one.

use crate::ledger::{LedgerMinute, LedgerRow, SpentLedger};

const DAY: u32 = 20_784;

async fn rows(ledger: &dyn SpentLedger, from_day: u32) -> Vec<LedgerRow> {
    let mut rows = ledger.load(from_day).await.expect("the ledger answers");
    rows.sort_by(|a, b| a.account.cmp(&b.account));
    rows
}

async fn reserve(ledger: &dyn SpentLedger, account: &str, day: u32, spent_up_to: u32) {
    ledger
        .reserve(account, day, spent_up_to)
        .await
        .expect("the ledger answers");
}

fn row(account: &str, day: u32, spent: u32, minute: Option<(u64, u64)>) -> LedgerRow {
    LedgerRow {
        account: account.to_owned(),
        day,
        spent,
        minute: minute.map(|(deficit, last_us)| LedgerMinute { deficit, last_us }),
    }
}

/// What was reserved is there, from its day on.
pub async fn a_reservation_is_read_back(ledger: &dyn SpentLedger) {
    assert_eq!(rows(ledger, 0).await, []);
    reserve(ledger, "a", DAY, 50).await;
    reserve(ledger, "b'--", DAY - 1, 100).await;
    assert_eq!(rows(ledger, DAY).await, [row("a", DAY, 50, None)]);
    let both = [row("a", DAY, 50, None), row("b'--", DAY - 1, 100, None)];
    assert_eq!(rows(ledger, DAY - 1).await, both);
    assert_eq!(rows(ledger, DAY + 1).await, []);
}

/// A note that comes late or twice takes nothing back.
pub async fn a_reservation_never_goes_down_within_a_day(ledger: &dyn SpentLedger) {
    for spent in [100, 50, 100] {
        reserve(ledger, "a", DAY, spent).await;
        assert_eq!(rows(ledger, DAY).await, [row("a", DAY, 100, None)]);
    }
}

/// A new day starts from its own value, and the old one does not come back.
pub async fn a_later_day_replaces_an_earlier_one(ledger: &dyn SpentLedger) {
    reserve(ledger, "a", DAY, 1_000).await;
    reserve(ledger, "a", DAY + 1, 50).await;
    reserve(ledger, "a", DAY, 2_000).await;
    assert_eq!(rows(ledger, 0).await, [row("a", DAY + 1, 50, None)]);
}

/// Exact values are taken as they are, lower ones too; whoever is not named is gone.
pub async fn settling_replaces_everything(ledger: &dyn SpentLedger) {
    reserve(ledger, "a", DAY, 100).await;
    reserve(ledger, "gone", DAY, 100).await;
    let exact = [
        row("a", DAY, 61, Some((3_000_000, 77))),
        row("new", DAY, 7, None),
    ];
    ledger.settle(&exact).await.expect("the ledger answers");
    assert_eq!(rows(ledger, 0).await, exact);
    ledger.settle(&[]).await.expect("the ledger answers");
    assert_eq!(rows(ledger, 0).await, []);
}

/// Once spending goes on, what the bucket was at the stop says nothing any more.
pub async fn a_reservation_makes_a_settled_bucket_unknown(ledger: &dyn SpentLedger) {
    let exact = [row("a", DAY, 61, Some((3_000_000, 77)))];
    ledger.settle(&exact).await.expect("the ledger answers");
    reserve(ledger, "a", DAY, 61).await;
    assert_eq!(rows(ledger, 0).await, [row("a", DAY, 61, None)]);
}

/// The greatest ceilings and moments are kept exactly.
pub async fn the_greatest_values_fit(ledger: &dyn SpentLedger) {
    // 150,000,000 units a minute in sub-units; the last microsecond of the year 9999.
    let minute = Some((9_000_000_000_000_000, 253_402_300_799_999_999));
    let exact = [row("a", 2_932_896, 4_000_000_000, minute)];
    ledger.settle(&exact).await.expect("the ledger answers");
    assert_eq!(rows(ledger, 0).await, exact);
    reserve(ledger, "b", 2_932_896, 4_000_000_000).await;
    assert_eq!(
        rows(ledger, 0).await[1],
        row("b", 2_932_896, 4_000_000_000, None)
    );
}
