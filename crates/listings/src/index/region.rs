//! A borough's listings in every order that does not change with the day, so that a page is found by walking.

use std::{collections::BTreeMap, sync::Arc};

use brownstone_domain::{AreaQuery, Borough, ListingSort, ListingType, Zip};

use super::{
    Snapshot,
    entry::{Entry, Ready},
};
use crate::{ListingKey, area};

/// The orders that are kept. Days on the market of what has left it do not grow with those of the rest.
const KEPT: [ListingSort; 5] = [
    ListingSort::Newest,
    ListingSort::PriceAsc,
    ListingSort::PriceDesc,
    ListingSort::PricePerSqftAsc,
    ListingSort::LivingAreaDesc,
];

/// Bits of a place that count within its area: eight million listings in a ZIP, five hundred ZIPs.
const WITHIN: u32 = 23;

/// One borough.
#[derive(Debug, Default)]
pub(super) struct Region {
    /// Every ZIP of the borough, with listings or without.
    zips: Vec<Zip>,
    areas: Vec<Arc<Snapshot>>,
    /// By listing type and kept order: area and place in it.
    orders: [[Box<[u32]>; KEPT.len()]; 2],
}

impl Region {
    pub(super) fn new(borough: Borough, all: &BTreeMap<Zip, Arc<Snapshot>>) -> Self {
        let query = AreaQuery::Location(borough.name().to_owned());
        let zips = area::resolve(&query)
            .map(|area| area.zips)
            .unwrap_or_default();
        let areas: Vec<Arc<Snapshot>> = zips
            .iter()
            .filter_map(|zip| all.get(zip).cloned())
            .collect();
        let mut orders: [[Box<[u32]>; KEPT.len()]; 2] = Default::default();
        let mut ranked: Vec<(u64, u64, u32)> = Vec::new();
        for (listing_type, orders) in [ListingType::Sale, ListingType::Rental]
            .iter()
            .zip(&mut orders)
        {
            for (sort, order) in KEPT.into_iter().zip(orders) {
                ranked.clear();
                for (number, snapshot) in (0_u32..).zip(&areas) {
                    let entries = (0_u32..).zip(&snapshot.entries);
                    ranked.extend(
                        entries
                            .filter(|(_, entry)| entry.listing_type == *listing_type)
                            // No kept order depends on the day.
                            .map(|(at, entry)| {
                                (entry.rank(sort, 0), entry.key, number << WITHIN | at)
                            }),
                    );
                }
                ranked.sort_unstable();
                *order = ranked.iter().map(|(_, _, place)| *place).collect();
            }
        }
        Self {
            zips,
            areas,
            orders,
        }
    }

    /// Whether these ZIPs are the whole borough.
    pub(super) fn covers(&self, zips: &[Zip]) -> bool {
        !zips.is_empty() && self.zips == zips
    }

    fn entry(&self, place: u32) -> Option<&Entry> {
        let area = self.areas.get((place >> WITHIN) as usize)?;
        area.entries.get((place & ((1 << WITHIN) - 1)) as usize)
    }

    /// The first `wanted` that the filter takes; `None` where the order is not kept.
    pub(super) fn ordered(
        &self,
        ready: &Ready,
        sort: ListingSort,
        wanted: usize,
    ) -> Option<Vec<ListingKey>> {
        let kept = KEPT.iter().position(|kept| *kept == sort)?;
        let mut order: &[u32] = self.orders.get(ready.listing_type as usize)?.get(kept)?;
        // Bounds on what the order is by are a stretch of it.
        let rank = |place: &u32| self.entry(*place).map_or(u64::MAX, |entry| entry.price);
        let (low, high) = ready.price;
        match sort {
            ListingSort::PriceAsc => {
                let from = order.partition_point(|place| rank(place) < low);
                let to = order.partition_point(|place| rank(place) <= high);
                order = order.get(from..to).unwrap_or_default();
            }
            ListingSort::PriceDesc if high < u64::MAX => {
                // What is not known stands last and is not looked for.
                let from =
                    order.partition_point(|place| (high + 1..u64::MAX).contains(&rank(place)));
                let to = order.partition_point(|place| (low..u64::MAX).contains(&rank(place)));
                order = order.get(from..to).unwrap_or_default();
            }
            _ => {}
        }
        let mut keys = Vec::with_capacity(wanted.min(order.len()).min(1_024));
        for place in order {
            if let Some(entry) = self.entry(*place)
                && ready.takes(entry)
            {
                keys.push(ListingKey(entry.key));
                if keys.len() == wanted {
                    break;
                }
            }
        }
        Some(keys)
    }

    pub(super) fn resident_bytes(&self) -> usize {
        let places: usize = self.orders.iter().flatten().map(|order| order.len()).sum();
        places * size_of::<u32>()
    }
}
