//! Which sales of a day are evidence of nothing: tokens, packages, and deeds of a share. No rule looks at what a property
//! is thought to be worth: only at the deeds of its day, its dwellings and fixed amounts.

use super::{Exclusions, Reason, TOKEN_PRICE, TOKEN_PRICE_A_DWELLING};
use crate::{Flags, Kind, Sale, Segment, estimate::UnitPlace, sale::lot_number};

/// So many equal prices of one day in a borough are one deed, wherever its lots are.
const PACKAGE_LOTS: usize = 10;
/// So many lots may come with a dwelling: two parking spaces and a storage unit.
const MOST_EXTRAS: usize = 3;
/// Lots whose numbers lie so near each other are neighbours.
const NEXT_LOTS: u64 = 3;
/// Rental buildings are few, and dear: one price on two of them in one day is one deed, but for a round price on which
/// strangers agree by chance too.
const ROUND_PRICE: u64 = 50_000;
/// From this price on they don't.
const NEVER_BY_CHANCE: u64 = 3_000_000;

/// Whether a house or rental building was sold: the lot, with what stands on it.
fn is_building(sale: &Sale) -> bool {
    matches!(sale.segment(), Segment::OneToThree | Segment::FourAndMore)
}

/// Below this a price is a token, in dollars.
pub(super) fn lowest_price(sale: &Sale) -> u64 {
    let dwellings = sale.total_units.or(sale.residential_units);
    match dwellings {
        Some(dwellings) if is_building(sale) => {
            TOKEN_PRICE.max(u64::from(dwellings).saturating_mul(TOKEN_PRICE_A_DWELLING))
        }
        _ => TOKEN_PRICE,
    }
}

/// Whether an apartment of a rental building was sold, and not the building: see [`Kind::with_unit`]. A bare number is
/// one when the building has more units than that: where it is the number of its units or dwellings, or greater, the table
/// writes how many there are.
pub(super) fn is_apartment(sale: &Sale, unit: &str) -> bool {
    let kind = sale.class_at_sale.kind();
    if kind.with_unit(unit) != kind {
        return true;
    }
    kind == Kind::MultiFamily
        && UnitPlace::read(unit).key != 0
        && unit.trim().parse::<u32>().is_ok_and(|number| {
            sale.total_units.is_some_and(|all| number < all)
                && sale.residential_units != Some(number)
        })
}

/// Marks the sales of one day.
pub(super) fn mark(day: &mut [Sale]) {
    mark_packages(day);
    mark_portfolios(day);
    mark_with_neighbours(day);
    mark_several_deeds(day);
}

/// Marks the sales of one day that carry one total: two lots or more of a block at one price, two apartments or more of a
/// co-operative's lot, or ten lots of a borough.
///
/// Two flats sold together are two lots of a block at one total each, and so are a house and its garage; two strangers'
/// equal prices on one block and day are rarer than either.
fn mark_packages(day: &mut [Sale]) {
    let mut at: Vec<(u64, u64, usize)> = day
        .iter()
        .enumerate()
        .filter(|(_, sale)| sale.price >= TOKEN_PRICE && !sale.flags.has(Flags::DUPLICATE))
        .map(|(at, sale)| (sale.price, lot_number(sale.bbl), at))
        .collect();
    at.sort_unstable();
    for price in at.chunk_by(|a, b| a.0 == b.0) {
        if price.len() < 2 {
            continue;
        }
        for borough in price.chunk_by(|a, b| a.1 / 1_000_000_000 == b.1 / 1_000_000_000) {
            let many = lots(borough) >= PACKAGE_LOTS;
            for block in borough.chunk_by(|a, b| a.1 / 10_000 == b.1 / 10_000) {
                // Different units of one lot, too: repeats of one unit were left out above.
                if many || block.len() >= 2 {
                    let main = if many { None } else { with_extras(day, block) };
                    for (_, _, at) in block {
                        if let Some(sale) = day.get_mut(*at) {
                            sale.flags.set(if main == Some(*at) {
                                Flags::WITH_EXTRAS
                            } else {
                                Flags::PACKAGE
                            });
                        }
                    }
                }
            }
        }
    }
}

/// Parking, storage, a terrace, the ground beside: what comes with a dwelling.
fn is_extra(sale: &Sale) -> bool {
    sale.kind() == Kind::Land
        || matches!(
            sale.class_at_sale.as_str(),
            "RG" | "RP" | "RS" | "RT" | "G0"
        )
}

/// The one dwelling of a package whose other lots come with it: parking, storage, a terrace, the ground beside.
fn with_extras(day: &[Sale], package: &[(u64, u64, usize)]) -> Option<usize> {
    let mut mains = package.iter().filter_map(|(_, _, at)| {
        let sale = day.get(*at)?;
        (!is_extra(sale)).then_some((*at, sale))
    });
    let (at, main) = mains.next()?;
    let alone = mains.next().is_none() && package.len() <= MOST_EXTRAS + 1;
    (alone && main.segment() != Segment::Other).then_some(at)
}

/// Different lots of sorted rows.
fn lots(rows: &[(u64, u64, usize)]) -> usize {
    rows.chunk_by(|a, b| a.1 == b.1).count()
}

/// Marks rental buildings of different blocks that carry one total.
fn mark_portfolios(day: &mut [Sale]) {
    let mut at: Vec<(u64, u64, usize)> = day
        .iter()
        .enumerate()
        .filter(|(_, sale)| {
            sale.kind() == Kind::MultiFamily
                && sale.price >= TOKEN_PRICE
                && !sale.flags.has(Flags::DUPLICATE)
                && (sale.price % ROUND_PRICE != 0 || sale.price >= NEVER_BY_CHANCE)
        })
        .map(|(at, sale)| (sale.price, lot_number(sale.bbl), at))
        .collect();
    at.sort_unstable();
    for price in at.chunk_by(|a, b| a.0 == b.0) {
        if lots(price) < 2 {
            continue;
        }
        for (_, _, at) in price {
            if let Some(sale) = day.get_mut(*at) {
                sale.flags.set(Flags::PACKAGE);
            }
        }
    }
}

/// Marks buildings whose neighbouring lot changed hands the same day without money: the total of both stands on one.
fn mark_with_neighbours(day: &mut [Sale]) {
    let mut free: Vec<(u64, bool)> = day
        .iter()
        .filter(|sale| sale.price < TOKEN_PRICE)
        .map(|sale| (lot_number(sale.bbl), is_extra(sale)))
        .collect();
    free.sort_unstable();
    for sale in day {
        if !is_building(sale) || sale.price < TOKEN_PRICE {
            continue;
        }
        let lot = lot_number(sale.bbl);
        let from = free.partition_point(|(other, _)| other + NEXT_LOTS < lot);
        let near = free.get(from..).unwrap_or_default().iter();
        let mut beside = near
            .take_while(|(other, _)| *other <= lot + NEXT_LOTS)
            .filter(|(other, _)| *other != lot && *other / 10_000 == lot / 10_000)
            .peekable();
        if beside.peek().is_some() {
            sale.flags.set(if beside.all(|(_, extra)| *extra) {
                Flags::WITH_EXTRAS
            } else {
                Flags::PACKAGE
            });
        }
    }
}

/// Marks buildings of which another deed was recorded the same day: each is of a share, or one of two hands it passed
/// through, and none has the price of the whole. The same price once more is a second recording, and marked before.
fn mark_several_deeds(day: &mut [Sale]) {
    let mut at: Vec<(u64, usize)> = day
        .iter()
        .enumerate()
        .filter(|(_, sale)| is_building(sale) && !sale.flags.has(Flags::DUPLICATE))
        .map(|(at, sale)| (lot_number(sale.bbl), at))
        .collect();
    at.sort_unstable();
    for lot in at.chunk_by(|a, b| a.0 == b.0).filter(|lot| lot.len() > 1) {
        for (_, at) in lot {
            if let Some(sale) = day.get_mut(*at) {
                sale.flags.set(Flags::NON_ARMS_LENGTH);
            }
        }
    }
}

/// Counts what was marked.
pub(super) fn count(sales: &[Sale], exclusions: &mut Exclusions) {
    for sale in sales {
        let marks = [
            (Flags::DUPLICATE, Reason::DuplicateRecording),
            (Flags::PACKAGE, Reason::PackageSale),
            (Flags::YEAR_IMPOSSIBLE, Reason::ImpossibleYear),
            (Flags::SIZE_IMPOSSIBLE, Reason::ImpossibleSize),
        ];
        for (flag, reason) in marks {
            if sale.flags.has(flag) {
                exclusions.add(reason);
            }
        }
        match sale.price {
            0 => exclusions.add(Reason::ZeroPrice),
            1..TOKEN_PRICE => exclusions.add(Reason::TokenPrice),
            price if price < lowest_price(sale) => exclusions.add(Reason::TokenPriceADwelling),
            _ if sale.flags.has(Flags::NON_ARMS_LENGTH) => {
                exclusions.add(Reason::OneOfSeveralDeeds);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Flags, Loaded, Reason, Segment, read_text};

    /// Lines of lot, class, unit, dwellings, price and day, in block 3100 of Brooklyn unless the lot has a stroke.
    fn loaded(lines: &[(&str, &str, &str, u32, u64, u32)]) -> Loaded {
        let mut text = String::from(
            "BOROUGH,BLOCK,LOT,BUILDING CLASS AT TIME OF SALE,ADDRESS,APARTMENT NUMBER,RESIDENTIAL UNITS,TOTAL UNITS,\
             SALE PRICE,SALE DATE\n",
        );
        for (lot, class, unit, units, price, day) in lines {
            let (block, lot) = lot.split_once('/').unwrap_or(("3100", lot));
            text.push_str(&format!(
                "3,{block},{lot},{class},{lot} SOME STREET,{unit},{units},{units},{price},3/{day}/2021\n"
            ));
        }
        read_text("sales.csv", text.as_bytes()).unwrap()
    }

    /// Lots that are evidence, smallest first.
    fn usable(loaded: &Loaded) -> Vec<u32> {
        let mut lots: Vec<u32> = loaded
            .sales
            .iter()
            .filter(|sale| sale.is_usable())
            .map(|sale| sale.bbl.lot().into())
            .collect();
        lots.sort_unstable();
        lots
    }

    #[test]
    fn a_price_too_low_for_so_many_dwellings_is_a_token() {
        let loaded = loaded(&[
            ("1", "C2", "", 6, 119_999, 20),
            ("11", "C2", "", 6, 120_000, 21),
            ("21", "B1", "", 2, 39_000, 22),
            ("31", "A1", "", 1, 20_000, 23),
            // An apartment has its building's number of units in some releases.
            ("41", "D4", "4C", 80, 90_000, 24),
            ("51", "C2", "", 6, 5_000, 25),
        ]);
        assert_eq!(usable(&loaded), [11, 31, 41]);
        assert_eq!(loaded.exclusions.get(Reason::TokenPriceADwelling), 2);
        assert_eq!(loaded.exclusions.get(Reason::TokenPrice), 1);
        assert_eq!(loaded.exclusions.get(Reason::OneOfSeveralDeeds), 0);
    }

    #[test]
    fn two_deeds_of_a_building_on_one_day_are_of_shares() {
        let loaded = loaded(&[
            ("1", "C2", "", 6, 700_000, 20),
            ("1", "C2", "", 6, 0, 20),
            ("11", "A1", "", 1, 405_000, 20),
            ("11", "A1", "", 1, 300_000, 20),
            ("21", "A1", "", 1, 400_000, 20),
            ("21", "A1", "", 1, 450_000, 21),
            // Two apartments of a co-operative.
            ("31", "D4", "4C", 80, 410_000, 20),
            ("31", "D4", "5C", 80, 500_000, 20),
        ]);
        assert_eq!(usable(&loaded), [21, 21, 31, 31]);
        assert_eq!(loaded.exclusions.get(Reason::OneOfSeveralDeeds), 3);
        assert_eq!(loaded.exclusions.get(Reason::ZeroPrice), 1);
    }

    #[test]
    fn a_neighbour_without_a_price_was_paid_for_too() {
        let loaded = loaded(&[
            ("1", "C2", "", 6, 3_100_000, 20),
            ("3", "C2", "", 6, 0, 20),
            ("21", "A1", "", 1, 700_000, 20),
            ("22", "V0", "", 0, 0, 20),
            ("41", "A1", "", 1, 800_000, 20),
            ("45", "A1", "", 1, 0, 20),
            ("61", "A1", "", 1, 810_000, 20),
            ("62", "A1", "", 1, 0, 21),
        ]);
        assert_eq!(usable(&loaded), [21, 41, 61]);
        let with_ground = loaded.sales.iter().find(|sale| sale.bbl.lot() == 21);
        assert!(with_ground.unwrap().flags.has(Flags::WITH_EXTRAS));
        assert_eq!(loaded.exclusions.get(Reason::PackageSale), 1);
    }

    #[test]
    fn one_price_on_rental_buildings_of_different_blocks_is_a_package_unless_it_is_round() {
        let loaded = loaded(&[
            ("1", "C2", "", 6, 1_337_500, 20),
            ("3200/2", "C2", "", 6, 1_337_500, 20),
            ("3", "C2", "", 6, 1_300_000, 20),
            ("3200/14", "C2", "", 6, 1_300_000, 20),
            ("5", "C2", "", 6, 4_000_000, 20),
            ("3200/26", "C2", "", 6, 4_000_000, 20),
            ("37", "A1", "", 1, 837_500, 20),
            ("3200/38", "A1", "", 1, 837_500, 20),
        ]);
        assert_eq!(usable(&loaded), [3, 14, 37, 38]);
        assert_eq!(loaded.exclusions.get(Reason::PackageSale), 4);
    }

    #[test]
    fn a_number_smaller_than_the_number_of_units_is_an_apartment() {
        let loaded = loaded(&[
            ("1", "C1", "8", 24, 178_500, 20),
            ("11", "C1", "24", 24, 4_000_000, 20),
            ("21", "C1", "30", 24, 4_100_000, 20),
            ("31", "C1", "2B", 24, 600_000, 20),
            ("41", "B1", "1", 2, 700_000, 20),
        ]);
        let segments: Vec<Segment> = [1, 11, 21, 31, 41]
            .into_iter()
            .filter_map(|lot| loaded.sales.iter().find(|s| u32::from(s.bbl.lot()) == lot))
            .map(crate::Sale::segment)
            .collect();
        use Segment::{Coop, FourAndMore, OneToThree};
        assert_eq!(segments, [Coop, FourAndMore, FourAndMore, Coop, OneToThree]);
        assert!(loaded.sales.iter().all(crate::Sale::is_usable));
    }
}
