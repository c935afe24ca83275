//! Which of its keys a subject is asked by.

use brownstone_domain::Bbl;
use brownstone_soda::SodaError;
use tokio::time::Instant;

use crate::{
    LotKind, Subject,
    catalogue::Entry,
    deps::Shared,
    matching::{Keys, MatchRule},
};

/// The first rule, in the catalogue's order, for which the subject has a key, and those keys.
///
/// Where the subject lacks the key (a lot's report has no BIN, a building without a lot no BBL), the city's building
/// footprints say which buildings stand on the lot or on which lot a building stands. `None`: they answered, and there
/// is none, so the publisher, who knows nothing but that key, can have nothing.
pub(crate) async fn choose<'a>(
    entry: &'a Entry,
    shared: &Shared,
    subject: &Subject,
    deadline: Instant,
) -> Result<Option<(&'a MatchRule, Keys)>, SodaError> {
    for rule in &entry.rules {
        if rule.by_bin() {
            if let Some(bin) = subject.bin {
                return Ok(Some((rule, Keys::Bins(vec![bin]))));
            }
        } else if let Some(keys) = lots(entry, shared, subject, deadline).await? {
            return Ok(Some((rule, keys)));
        }
    }
    let by_bin = entry.rules.iter().find(|rule| rule.by_bin());
    if let (Some(rule), None) = (by_bin, subject.bin) {
        let mut bins = subject.lot_bins.clone();
        if let (true, Some(bbl)) = (bins.is_empty(), subject.bbl) {
            let buildings = shared.directory.buildings_on(bbl, deadline).await?;
            bins.extend(buildings.iter().map(|building| building.bin));
        }
        return Ok((!bins.is_empty()).then_some((rule, Keys::Bins(bins))));
    }
    let by_lot = entry.rules.iter().find(|rule| !rule.by_bin());
    if let (Some(rule), Some(bin), None) = (by_lot, subject.bin, subject.bbl) {
        let building = shared.directory.building(bin, deadline).await?;
        return Ok(building.and_then(|building| building.bbl).map(|lot| {
            let lots = vec![lot];
            (rule, Keys::Lots { lots, unit: false })
        }));
    }
    Ok(None)
}

/// The lots an entry wants, of those the subject has.
async fn lots(
    entry: &Entry,
    shared: &Shared,
    subject: &Subject,
    deadline: Instant,
) -> Result<Option<Keys>, SodaError> {
    let one = |lot: Bbl, unit| Keys::Lots {
        lots: vec![lot],
        unit,
    };
    Ok(match (entry.info.lot, subject.bbl, subject.unit_bbl) {
        (LotKind::Unit, _, Some(unit)) => Some(one(unit, true)),
        (LotKind::Base, Some(bbl), _) if bbl.is_billing_lot() => {
            let lots = shared.directory.base_lots(bbl, deadline).await?;
            Some(if lots.is_empty() {
                one(bbl, false)
            } else {
                Keys::Lots { lots, unit: false }
            })
        }
        (_, Some(bbl), _) => Some(one(bbl, false)),
        (_, None, _) => None,
    })
}
