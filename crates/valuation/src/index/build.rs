//! An index file made of sales and lots.

use super::{
    format::{COLD, Hot, LOT, Layout, SECTIONS, Section, put, write_cold, write_lot},
    grid,
};
use crate::{Loaded, Sale, lots::Lots};

/// Puts the file together. Sales stand in the order of their cells, newest first in each.
pub(super) fn build(loaded: &Loaded, lots: &Lots) -> Vec<u8> {
    let sales = &loaded.sales;
    let mut order: Vec<(u32, i32, u32)> = (0_u32..)
        .zip(sales)
        .map(|(at, sale)| (grid::cell(sale.place), -sale.date, at))
        .collect();
    order.sort_unstable();

    let mut sections: [Vec<u8>; SECTIONS] = Default::default();
    let mut hot = Vec::with_capacity(sales.len() * Hot::BYTES);
    let mut cold = Vec::with_capacity(sales.len() * COLD);
    let mut cells = Vec::with_capacity((grid::CELLS as usize + 2) * 4);
    let mut next_cell = 0;
    for (place, (cell, _, at)) in (0_u32..).zip(&order) {
        while next_cell <= *cell {
            put(&mut cells, u64::from(place), 4);
            next_cell += 1;
        }
        if let Some(sale) = sales.get(*at as usize) {
            Hot::write(sale, &mut hot);
            write_cold(sale, &mut cold);
        }
    }
    while next_cell <= grid::CELLS + 1 {
        put(&mut cells, sales.len() as u64, 4);
        next_cell += 1;
    }

    let mut postings = Vec::with_capacity(sales.len() * 16);
    let mut group = |key: &dyn Fn(&Sale) -> Option<u64>| {
        let mut keyed: Vec<(u64, i32, u32)> = (0_u32..)
            .zip(&order)
            .filter_map(|(place, (_, _, at))| {
                let sale = sales.get(*at as usize)?;
                Some((key(sale)?, -sale.date, place))
            })
            .collect();
        keyed.sort_unstable();
        let mut groups = Vec::new();
        for same in keyed.chunk_by(|a, b| a.0 == b.0) {
            if let Some((key, _, _)) = same.first() {
                put(&mut groups, *key, 8);
                put(&mut groups, (postings.len() / 4) as u64, 4);
                put(&mut groups, same.len() as u64, 4);
            }
            for (_, _, place) in same {
                put(&mut postings, u64::from(*place), 4);
            }
        }
        groups
    };
    let buildings = group(&|sale| Some(sale.building.0));
    let blocks = group(&|sale| Some(sale.block()));
    let neighborhoods = group(&|sale| Some(u64::from(sale.neighborhood)));
    let zips = group(&|sale| sale.zip.map(u64::from));

    let mut lot_bytes = Vec::with_capacity(lots.len() * LOT);
    for (lot, street) in lots.with_streets() {
        write_lot(lot, street, &mut lot_bytes);
    }
    let mut stats = Vec::new();
    put(&mut stats, loaded.rows, 8);
    for (_, _, count) in loaded.exclusions.iter() {
        put(&mut stats, count, 8);
    }

    let mut set = |section: Section, bytes: Vec<u8>| {
        if let Some(slot) = sections.get_mut(section as usize) {
            *slot = bytes;
        }
    };
    set(Section::Hot, hot);
    set(Section::Cold, cold);
    set(Section::Cells, cells);
    set(Section::Buildings, buildings);
    set(Section::Blocks, blocks);
    set(Section::Neighborhoods, neighborhoods);
    set(Section::Zips, zips);
    set(Section::Postings, postings);
    set(Section::Text, loaded.texts.0.clone());
    set(Section::Names, loaded.neighborhoods.join("\n").into_bytes());
    set(Section::Lots, lot_bytes);
    set(Section::Stats, stats);
    Layout::write(&sections)
}
