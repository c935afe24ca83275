//! From the index's records to a building in its canonical form.

use brownstone_domain::{Borough, Building};

use crate::{
    area,
    house::HouseKey,
    pad::{AddressKind, BuildingRecord, NO_ROW, PadIndex, RowRecord},
};

/// The building at this place of the index, in its canonical form.
///
/// A record without a BIN stands for its lot: it has an address only where the lot has no building, so that a lot has
/// one form however it was asked for.
pub(super) fn at(index: &PadIndex, place: u32) -> Building {
    let record = index.building(place);
    let on_lot = index.buildings_beside(place);
    let shown = (record.row != NO_ROW && (record.bin != 0 || on_lot == 0))
        .then(|| (record.street, index.row(record.row)));
    let number = shown.and_then(|(_, row)| house_number(&row));
    let street = shown.map(|(street, row)| index.street_name(street, row.group).to_owned());
    form(record, number, street, on_lot)
}

/// A lot as a whole: no building, no address.
pub(super) fn lot(index: &PadIndex, bbl: u64) -> Building {
    let mut zip = 0;
    let mut on_lot = 0;
    let mut alone = None;
    for (place, record) in index.buildings_of(bbl) {
        if record.bin == 0 {
            alone = Some(place);
        } else {
            on_lot += 1;
        }
        if zip == 0 {
            zip = record.zip;
        }
    }
    match alone {
        Some(place) if on_lot == 0 => at(index, place),
        _ => form(
            BuildingRecord {
                bbl,
                bin: 0,
                row: NO_ROW,
                street: 0,
                zip,
            },
            None,
            None,
            on_lot,
        ),
    }
}

fn form(
    record: BuildingRecord,
    house_number: Option<String>,
    street: Option<String>,
    on_lot: u32,
) -> Building {
    let bbl = crate::pad::bbl_of(record.bbl);
    let borough = bbl.map_or(Borough::Manhattan, brownstone_domain::Bbl::borough);
    let zip = u32::from(record.zip);
    Building {
        bbl,
        bin: crate::pad::bin_of(record.bin),
        house_number,
        street,
        borough,
        city: area::city(borough, (zip != 0).then_some(zip)).to_owned(),
        zip: area::zip(zip),
        neighborhood: area::neighborhood(zip).map(str::to_owned),
        latitude: None,
        longitude: None,
        buildings_on_lot: Some(on_lot),
    }
}

/// A row's numbers as displayed: one number, `327-337`, or `43-06 - 43-12`.
pub(super) fn house_number(row: &RowRecord) -> Option<String> {
    if row.kind.is_place() || row.kind == AddressKind::None {
        return None;
    }
    Some(range(row.low, row.high))
}

/// A range of numbers as displayed.
pub(super) fn range(low: HouseKey, high: HouseKey) -> String {
    if low == high {
        low.to_string()
    } else if low.is_hyphenated() || low.to_string().contains(' ') || high.to_string().contains(' ')
    {
        format!("{low} - {high}")
    } else {
        format!("{low}-{high}")
    }
}

/// One row's address on one line, as a candidate that a caller can send back.
pub(super) fn candidate(index: &PadIndex, street: u32, row: &RowRecord) -> String {
    line(index, street, row, house_number(row))
}

/// A row's address on one line, with this number.
pub(super) fn line(
    index: &PadIndex,
    street: u32,
    row: &RowRecord,
    number: Option<String>,
) -> String {
    let building = index.building(row.building);
    let borough = crate::pad::bbl_of(building.bbl)
        .map_or(Borough::Manhattan, brownstone_domain::Bbl::borough);
    let zip = zip_of(index, row);
    let city = area::city(borough, (zip != 0).then_some(zip));
    let name = index.street_name(street, row.group);
    let mut line = match number {
        Some(number) => format!("{number} {name}, {city}, NY"),
        None => format!("{name}, {city}, NY"),
    };
    if zip != 0 {
        line.push_str(&format!(" {zip:05}"));
    }
    line
}

/// A row's ZIP code, else its building's; 0 for none.
pub(super) fn zip_of(index: &PadIndex, row: &RowRecord) -> u32 {
    let zip = if row.zip == 0 {
        index.building(row.building).zip
    } else {
        row.zip
    };
    u32::from(zip)
}
