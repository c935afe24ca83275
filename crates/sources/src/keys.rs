//! Which of its keys a subject is asked by.

use brownstone_domain::{Bbl, Bin};
use brownstone_soda::SodaError;
use tokio::time::Instant;

use crate::{
    LotKind, Subject,
    catalogue::Entry,
    deps::Shared,
    matching::{Keys, MatchRule},
};

/// How a subject is asked for.
pub(crate) struct Choice<'a> {
    pub(crate) rule: &'a MatchRule,
    pub(crate) keys: Keys,
    /// Asked by where `keys` find nothing: rows of the lot that may be this building's, since they name none.
    pub(crate) otherwise: Option<Keys>,
}

impl<'a> Choice<'a> {
    const fn of(rule: &'a MatchRule, keys: Keys) -> Self {
        let otherwise = None;
        Self {
            rule,
            keys,
            otherwise,
        }
    }
}

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
) -> Result<Option<Choice<'a>>, SodaError> {
    let by_bin = entry.rules.iter().find(|rule| rule.by_bin());
    for rule in &entry.rules {
        if rule.by_bin() {
            if let Some(bin) = subject.bin {
                let choice = building(entry, rule, shared, subject, bin, deadline).await?;
                return Ok(Some(choice));
            }
        } else if let Some(Lots { keys, shared_too }) =
            lots(entry, shared, subject, deadline).await?
        {
            // Rows on a lot of two condominiums may be either's; a building is one's, and so are all other lots.
            if let (true, Some(by_bin)) = (shared_too, by_bin) {
                let bins = buildings(shared, subject, deadline).await?;
                if !bins.is_empty() {
                    let keys = Keys::Bins {
                        bins,
                        lots: lots_of(keys),
                        whole: true,
                    };
                    return Ok(Some(Choice::of(by_bin, keys)));
                }
            }
            return Ok(Some(Choice::of(rule, keys)));
        }
    }
    if let (Some(rule), None) = (by_bin, subject.bin) {
        let bins = buildings(shared, subject, deadline).await?;
        return Ok((!bins.is_empty()).then_some(Choice::of(rule, Keys::bins(bins))));
    }
    let by_lot = entry.rules.iter().find(|rule| !rule.by_bin());
    if let (Some(rule), Some(bin), None) = (by_lot, subject.bin, subject.bbl) {
        let building = shared.directory.building(bin, deadline).await?;
        return Ok(building
            .and_then(|building| building.bbl)
            .map(|lot| Choice::of(rule, Keys::lots(vec![lot]))));
    }
    Ok(None)
}

/// A building by its BIN. Of a set whose rows may lack it the lot's rows without one are this building's where no other
/// stands there. Where others do, they are asked for only when nothing else is found, and said to be the lot's.
async fn building<'a>(
    entry: &Entry,
    rule: &'a MatchRule,
    shared: &Shared,
    subject: &Subject,
    bin: Bin,
    deadline: Instant,
) -> Result<Choice<'a>, SodaError> {
    let own = Choice::of(rule, Keys::bins(vec![bin]));
    if !rule.gaps {
        return Ok(own);
    }
    let Some(Lots { keys, .. }) = lots(entry, shared, subject, deadline).await? else {
        return Ok(own);
    };
    let lots = lots_of(keys);
    Ok(if stands_alone(shared, subject, bin, deadline).await? {
        let keys = Keys::Bins {
            bins: vec![bin],
            lots,
            whole: false,
        };
        Choice::of(rule, keys)
    } else {
        Choice {
            otherwise: Some(Keys::Unnamed(lots)),
            ..own
        }
    })
}

/// The lots that are asked for beside buildings.
fn lots_of(keys: Keys) -> Vec<Bbl> {
    match keys {
        Keys::Lots { lots, .. } => lots,
        _ => Vec::new(),
    }
}

/// Whether no other building stands on the lot. Garages are none.
async fn stands_alone(
    shared: &Shared,
    subject: &Subject,
    bin: Bin,
    deadline: Instant,
) -> Result<bool, SodaError> {
    if !subject.lot_bins.is_empty() {
        return Ok(subject.lot_bins.iter().all(|other| *other == bin));
    }
    // A greater number may count garages: the footprints say which they are.
    if subject
        .buildings_on_lot
        .is_some_and(|buildings| buildings <= 1)
    {
        return Ok(true);
    }
    let Some(bbl) = subject.bbl else {
        return Ok(false);
    };
    let standing = shared.directory.buildings_on(bbl, deadline).await?;
    let of_its_own = |building: &&crate::Footprint| !building.garage || building.bin == bin;
    let mut standing = standing.iter().filter(of_its_own).peekable();
    // A lot on which the city draws nothing is one of which it is not known.
    Ok(standing.peek().is_some() && standing.all(|building| building.bin == bin))
}

/// The subject's building; where it has none, every building on its lot.
async fn buildings(
    shared: &Shared,
    subject: &Subject,
    deadline: Instant,
) -> Result<Vec<Bin>, SodaError> {
    if let Some(bin) = subject.bin {
        return Ok(vec![bin]);
    }
    let mut bins = subject.lot_bins.clone();
    if let (true, Some(bbl)) = (bins.is_empty(), subject.bbl) {
        let buildings = shared.directory.buildings_on(bbl, deadline).await?;
        bins.extend(buildings.iter().map(|building| building.bin));
    }
    Ok(bins)
}

/// The lots an entry wants, of those the subject has.
struct Lots {
    keys: Keys,
    /// Whether other lots of the condominium were left out, since another stands on them, too.
    shared_too: bool,
}

async fn lots(
    entry: &Entry,
    shared: &Shared,
    subject: &Subject,
    deadline: Instant,
) -> Result<Option<Lots>, SodaError> {
    let own = |keys| {
        Some(Lots {
            keys,
            shared_too: false,
        })
    };
    let Some(bbl) = subject.bbl else {
        return Ok(match (entry.info.lot, subject.unit_bbl) {
            (LotKind::Unit, Some(unit)) => own(unit_lot(unit)),
            _ => None,
        });
    };
    match (entry.info.lot, subject.unit_bbl) {
        (LotKind::Unit, Some(unit)) => return Ok(own(unit_lot(unit))),
        (LotKind::Base | LotKind::Building, _) if bbl.is_billing_lot() => {}
        _ => return Ok(own(Keys::lots(vec![bbl]))),
    }
    let condominium = shared.directory.condominium(bbl, deadline).await?;
    if entry.info.lot == LotKind::Building {
        let mut lots = vec![bbl];
        let alone = |base: &&Bbl| !condominium.shared.contains(base);
        lots.extend(condominium.bases.iter().filter(alone));
        return Ok(Some(Lots {
            keys: Keys::lots(lots),
            shared_too: !condominium.shared.is_empty(),
        }));
    }
    if condominium.bases.is_empty() {
        return Ok(own(Keys::lots(vec![bbl])));
    }
    let condominiums = match &entry.condominium {
        None => Vec::new(),
        Some(_) if !condominium.keys.is_empty() => condominium.keys.clone(),
        // Without its key its rows cannot be told from a neighbour's.
        Some(column) => {
            return Err(SodaError::NoSuchColumn {
                column: column.as_str().to_owned(),
            });
        }
    };
    Ok(own(Keys::Lots {
        lots: condominium.bases.clone(),
        unit: false,
        condominiums,
    }))
}

fn unit_lot(unit: Bbl) -> Keys {
    Keys::Lots {
        lots: vec![unit],
        unit: true,
        condominiums: Vec::new(),
    }
}
