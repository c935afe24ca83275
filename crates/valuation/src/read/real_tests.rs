//! Every fault that the published files are known to have, met on the files themselves. They are not ours to keep
//! here: the folder is named by `NYC_REAL_DATA`.

use brownstone_domain::Borough;

use super::{Loaded, ReadError, load};
use crate::{Flags, Reason, Segment, at_hand::real_data};

fn loaded(name: &str) -> Option<Loaded> {
    Some(load(&[real_data(name)?]).unwrap())
}

fn year_of(day: i32) -> i32 {
    time::Date::from_julian_day(day + super::value::EPOCH)
        .unwrap()
        .year()
}

#[test]
fn real_bronx_2015_has_padded_text_and_duplicates() {
    let Some(loaded) = loaded("sales/dof_sales_2015_bronx.csv.gz") else {
        return;
    };
    assert_eq!(loaded.rows, 5442);
    assert_eq!(loaded.exclusions.get(Reason::ExactDuplicate), 51);
    assert!(loaded.neighborhoods.iter().all(|name| name.trim() == name));
    assert!(loaded.sales.iter().all(|sale| {
        let address = loaded.texts.get(sale.address);
        sale.bbl.borough() == Borough::Bronx
            && year_of(sale.date) == 2015
            && address.trim() == address
    }));
}

#[test]
fn real_2019_has_duplicates_zeros_for_unknown_sizes_and_impossible_years() {
    let Some(loaded) = loaded("sales/dof_sales_2019.csv.gz") else {
        return;
    };
    assert_eq!(loaded.rows, 67_080);
    assert_eq!(loaded.exclusions.get(Reason::ExactDuplicate), 72);
    assert_eq!(
        loaded.exclusions.get(Reason::ImpossibleYear),
        2,
        "1018 and 1030"
    );
    assert!(loaded.sales.iter().all(|sale| sale.gross_sqft != Some(0)
        && sale.land_sqft != Some(0)
        && sale.year_built.is_none_or(|year| year >= 1650)));
    // Three of ten rows are transfers without money.
    let without_money = loaded.exclusions.get(Reason::ZeroPrice);
    assert!((18_000..24_000).contains(&without_money), "{without_money}");
    assert!(loaded.sales.iter().all(|sale| sale.price >= 10_000
        || (sale.flags.has(Flags::NON_ARMS_LENGTH) && !sale.is_usable())));
    // A price is kept whatever its size; the greatest is of an office tower.
    assert!(loaded.sales.iter().any(|sale| sale.price > 1_000_000_000));
}

#[test]
fn real_2022_has_blank_sizes_and_a_year_of_220() {
    let Some(loaded) = loaded("sales/dof_sales_2022.csv.gz") else {
        return;
    };
    assert_eq!(loaded.exclusions.dropped(), 0);
    assert_eq!(loaded.exclusions.get(Reason::ImpossibleYear), 1);
    let priced = |segment| {
        loaded
            .sales
            .iter()
            .filter(move |sale| sale.segment() == segment && sale.is_usable())
    };
    assert!(priced(Segment::Coop).all(|sale| sale.unit_safe_sqft().is_none()));
    assert!(
        priced(Segment::Coop)
            .filter(|sale| !sale.unit.is_empty())
            .count()
            > 10_000
    );
    // A co-operative apartment carries the building's lot, a condominium's unit its own.
    assert!(
        priced(Segment::Condo)
            .filter(|sale| sale.bbl.is_unit_lot())
            .count()
            > 9_000
    );
}

#[test]
fn real_units_stand_in_their_column_behind_the_address_or_in_both() {
    let Some(loaded) = loaded("sales/dof_sales_2021.csv.gz") else {
        return;
    };
    for sale in &loaded.sales {
        let address = loaded.texts.get(sale.address);
        assert!(!address.contains(','), "{address}");
    }
    assert!(loaded.exclusions.get(Reason::UnitInAddress) > 10_000);
    // Units of one condominium are one building, whoever's lot was sold.
    let units = loaded
        .sales
        .iter()
        .filter(|s| s.segment() == Segment::Condo)
        .count();
    let mut buildings: Vec<_> = loaded
        .sales
        .iter()
        .filter(|s| s.segment() == Segment::Condo)
        .map(|s| s.building)
        .collect();
    buildings.sort_unstable();
    buildings.dedup();
    assert!(
        buildings.len() * 2 < units,
        "{} buildings of {units} units",
        buildings.len()
    );
}

#[test]
fn real_releases_overlap() {
    let (Some(year), Some(rolling)) = (
        real_data("sales/dof_sales_2019.csv.gz"),
        real_data("sales/dof_sales_rolling_2019-11_2020-10.csv.gz"),
    ) else {
        return;
    };
    let apart: u64 = [&year, &rolling]
        .map(|file| load(&[file]).unwrap().sales.len() as u64)
        .iter()
        .sum();
    let both = load(&[&year, &rolling]).unwrap();
    let overlap = both.exclusions.get(Reason::ReleaseOverlap);
    assert_eq!(both.sales.len() as u64 + overlap, apart);
    assert!(
        overlap > 8_000,
        "November and December 2019 are in both: {overlap}"
    );
    let swapped = load(&[&rolling, &year]).unwrap();
    assert_eq!(both.sales.len(), swapped.sales.len());
    let ids = |loaded: &Loaded| -> Vec<_> {
        let mut ids: Vec<_> = loaded.sales.iter().map(|sale| sale.id).collect();
        ids.sort_unstable();
        ids
    };
    assert_eq!(
        ids(&both),
        ids(&swapped),
        "a sale's number does not depend on its release"
    );
    let mut distinct = ids(&both);
    distinct.dedup();
    assert_eq!(distinct.len(), both.sales.len());
}

#[test]
fn real_packages_repeat_one_total() {
    let Some(loaded) = loaded("sales/dof_sales_2023.csv.gz") else {
        return;
    };
    let mut priced: Vec<_> = loaded
        .sales
        .iter()
        .filter(|sale| sale.price >= 10_000)
        .map(|sale| {
            (
                sale.date,
                sale.price,
                sale.bbl.borough(),
                sale.is_usable(),
                sale.bbl,
            )
        })
        .collect();
    priced.sort_unstable();
    let mut large = 0;
    for deed in priced.chunk_by(|a, b| (a.0, a.1, a.2) == (b.0, b.1, b.2)) {
        let mut lots: Vec<_> = deed.iter().map(|sale| sale.4).collect();
        lots.dedup();
        if lots.len() >= 10 {
            large += 1;
            assert!(deed.iter().all(|sale| !sale.3), "{deed:?}");
        }
    }
    assert!((20..60).contains(&large), "{large}");
    assert!(loaded.exclusions.get(Reason::PackageSale) > 1_000);
    let with_extras = loaded
        .sales
        .iter()
        .filter(|s| s.flags.has(Flags::WITH_EXTRAS));
    assert!(with_extras.filter(|s| s.is_usable()).count() > 200);
}

#[test]
fn real_raw_exports_have_cr_ends_preambles_padding_dashes_and_days_first() {
    for (file, rows, blank, first, last) in [
        ("bronx_2015-08_2016-07", 18_820, 13_299, 2015, 2016),
        ("statenisland_2016", 18_553, 12_709, 2015, 2016),
        ("bronx_2017", 5_660, 0, 2016, 2017),
        ("statenisland_2017", 6_350, 0, 2016, 2017),
        ("manhattan_2017", 16_201, 0, 2016, 2017),
    ] {
        let Some(loaded) = loaded(&format!("sales/raw_cr/rollingsales_{file}.csv.gz")) else {
            return;
        };
        let blanks = loaded.exclusions.get(Reason::EmptyRow);
        assert_eq!((loaded.rows, blanks), (rows, blank), "{file}");
        assert_eq!(
            loaded.exclusions.dropped(),
            blanks + loaded.exclusions.get(Reason::ExactDuplicate),
            "{file}"
        );
        assert!(
            loaded.exclusions.get(Reason::ZeroPrice) > 0,
            "{file}: a dash is no money"
        );
        assert!(
            loaded
                .sales
                .iter()
                .all(|s| (first..=last).contains(&year_of(s.date))),
            "{file}"
        );
        // Twelve months, not the few that reading months as days would leave.
        let mut months: Vec<_> = loaded.sales.iter().map(|s| s.date / 30).collect();
        months.sort_unstable();
        months.dedup();
        assert!(months.len() >= 12, "{file}");
        assert!(
            loaded
                .sales
                .iter()
                .any(|s| s.gross_sqft.is_some_and(|sqft| sqft > 1_000))
        );
    }
}

#[test]
fn real_piece_of_a_raw_export_is_read() {
    let Some(loaded) = loaded("bad/rollingsales_cr_only_line_ends.csv") else {
        return;
    };
    assert!(loaded.sales.len() > 50 && loaded.exclusions.get(Reason::EmptyRow) > 0);
}

#[test]
fn real_workbooks_are_read_as_the_text_is() {
    let (Some(workbook), Some(text)) = (
        loaded("sales/rollingsales_bronx_2023-03_2024-02.xlsx"),
        loaded("sales/dof_sales_rolling_2023-03_2024-02.csv.gz"),
    ) else {
        return;
    };
    assert_eq!(
        workbook.rows, 4660,
        "4,676 rows less four of preamble, the header and eleven empty ones at the end"
    );
    let ids: std::collections::HashSet<_> = text.sales.iter().map(|sale| sale.id).collect();
    let known = workbook
        .sales
        .iter()
        .filter(|sale| ids.contains(&sale.id))
        .count();
    assert!(
        known * 100 >= workbook.sales.len() * 99,
        "{known} of {}",
        workbook.sales.len()
    );
    for (name, year) in [("2015_manhattan.xls", 2015), ("2020_manhattan.xlsx", 2020)] {
        let Some(loaded) = loaded(&format!("nycdb/dof_annual_sales_{name}")) else {
            return;
        };
        assert!(loaded.sales.len() > 15, "{name}");
        assert!(
            loaded
                .sales
                .iter()
                .all(|s| year_of(s.date) == year && s.bbl.borough() == Borough::Manhattan)
        );
    }
}

#[test]
fn real_table_of_the_open_data_portal_has_names_for_boroughs_and_commas() {
    let Some(loaded) = loaded("nycdb/dof_sales.csv") else {
        return;
    };
    assert_eq!(loaded.sales.len(), 10);
    assert!(loaded.sales.iter().any(|sale| sale.price == 2_385_000));
}

#[test]
fn real_table_joined_to_lots_is_read_by_the_sales_own_columns() {
    let Some(loaded) = loaded("sales/bronx_2010_sales_joined_pluto16v1.csv.gz") else {
        return;
    };
    assert_eq!(loaded.rows, 3842);
    assert!(
        loaded
            .sales
            .iter()
            .all(|s| s.bbl.borough() == Borough::Bronx && year_of(s.date) == 2010)
    );
    assert!(loaded.sales.iter().any(|s| s.bbl.is_unit_lot()));
}

#[test]
fn real_files_that_are_no_sales_are_refused() {
    for (name, why) in [
        ("bad/empty_file.csv", "empty"),
        (
            "bad/git_lfs_pointer_instead_of_csv.csv",
            "large file storage",
        ),
        (
            "bad/ecb_violations_invalid_header.csv",
            "no line names the columns",
        ),
        (
            "bad/nyc_zip_table_ragged_html_paste.csv",
            "no line names the columns",
        ),
    ] {
        let Some(path) = real_data(name) else {
            return;
        };
        let error = load(&[path]).unwrap_err();
        assert!(matches!(error, ReadError::NotSales { .. }));
        assert!(error.to_string().contains(why), "{error}");
    }
}
