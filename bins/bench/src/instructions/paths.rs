//! The paths that are counted.

use std::{hint::black_box, sync::Arc};

use brownstone_address::{pad::PadIndex, resolver::Resolver};
use brownstone_domain::{
    AreaQuery, Borough, Bounds, Limits, ListingFilter, ListingSort, ListingType, SystemClock, Units,
};
use brownstone_listings::{
    ListingIndex, Row, Snapshot, area,
    made_up::{NOW, any_row},
};
use brownstone_quota::MemoryQuota;

use super::rig;
use crate::{measure::Random, parts::address::City};

/// Is given one run of a path, made ready.
pub(super) type With = fn(&mut dyn FnMut(&mut dyn FnMut())) -> anyhow::Result<()>;

/// One of them.
pub(super) struct Path {
    pub(super) name: &'static str,
    /// What one run is.
    pub(super) tells: &'static str,
    pub(super) with: With,
}

/// All of them.
pub(super) const PATHS: &[Path] = &[
    Path {
        name: "warm-lookup",
        tells: "POST /v1/lookup of a report of 50 kB that is in memory, from the request's head to its body's last byte, no socket",
        with: rig::warm_lookup,
    },
    Path {
        name: "quota-decision",
        tells: "a charge of both budgets, one of 1,000 accounts; 1,280 to 1,433 as the secret of the hash falls: the middle",
        with: quota_decision,
    },
    Path {
        name: "address-resolution",
        tells: "a typed address in a city of 9,000 ranges",
        with: address_resolution,
    },
    Path {
        name: "search",
        tells: "a borough's sales or rentals with three filters and a sort by price, among 10,000 listings",
        with: search,
    },
];

fn quota_decision(measure: &mut dyn FnMut(&mut dyn FnMut())) -> anyhow::Result<()> {
    let quota = MemoryQuota::new(Arc::new(SystemClock));
    let limits = Limits::new(1_000_000, 100_000_000)?;
    let accounts: Vec<String> = (0..1_000).map(|number| format!("{number:016x}")).collect();
    let mut next = accounts.iter().cycle();
    measure(&mut || {
        if let Some(account) = next.next() {
            let _ = black_box(quota.try_charge(account, Units::new(10), limits));
        }
    });
    Ok(())
}

fn address_resolution(measure: &mut dyn FnMut(&mut dyn FnMut())) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let city = City::small();
    city.write(folder.path())?;
    let (index, _) = PadIndex::open_dir(folder.path())?;
    let resolver = Resolver::new(Arc::new(index));
    let mut texts = city.texts().cycle();
    measure(&mut || {
        if let Some(text) = texts.next() {
            let _ = black_box(resolver.resolve(text));
        }
    });
    Ok(())
}

fn search(measure: &mut dyn FnMut(&mut dyn FnMut())) -> anyhow::Result<()> {
    let zips = area::city_zips();
    let rows: Vec<Row> = (0..10_000)
        .map(|number| any_row(number, zips[number as usize % zips.len()]))
        .collect();
    let index = ListingIndex::default();
    index.put(zips.iter().enumerate().map(|(at, zip)| {
        let here: Vec<Row> = rows.iter().skip(at).step_by(zips.len()).cloned().collect();
        Snapshot::new(*zip, 1, &here)
    }));
    let boroughs = Borough::ALL
        .into_iter()
        .map(|borough| {
            let whole = AreaQuery::Location(borough.name().to_owned());
            Ok(area::resolve(&whole)?.zips)
        })
        .collect::<anyhow::Result<Vec<_>>>()?;
    let mut random = Random::new(6);
    measure(&mut || {
        let place = usize::try_from(random.below(5)).unwrap_or(0);
        let rental = random.below(2) == 0;
        let (kind, least) = match rental {
            true => (ListingType::Rental, 1_500 + random.below(4_000)),
            false => (ListingType::Sale, 200_000 + random.below(2_000_000)),
        };
        let mut filter = ListingFilter::active(kind);
        filter.price = Bounds {
            min: Some(least),
            max: Some(least * 2),
        };
        filter.bedrooms.min = Some(1);
        filter.living_area_sqft.min = Some(600);
        if let Some(zips) = boroughs.get(place) {
            let sort = ListingSort::PriceAsc;
            black_box(index.search(zips, &filter, sort, 25, 0, NOW.date()));
        }
    });
    Ok(())
}
