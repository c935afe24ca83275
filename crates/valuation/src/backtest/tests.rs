use std::fmt::Write as _;

use super::*;
use crate::model::{ModelError, NoValue};

/// Houses of an invented corner of Queens: what a place, a square foot and a year are worth is known, and one sale in
/// twelve is at half price.
fn city(dearer_from: Option<i32>) -> Loaded {
    let mut text = String::from(
        "BOROUGH,NEIGHBORHOOD,BUILDING CLASS AT TIME OF SALE,BLOCK,LOT,ADDRESS,ZIP CODE,TOTAL UNITS,LAND SQUARE FEET,GROSS SQUARE FEET,YEAR BUILT,SALE PRICE,SALE DATE\n",
    );
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed >> 40) as f64 / f64::from(1 << 24)
    };
    for i in 0..2600_i32 {
        let day = 18_600 + i * 1100 / 2600;
        let block = 500 + (random() * 40.0) as u32;
        let lot = 1 + (random() * 60.0) as u32;
        let gross = 1000.0 + (random() * 1500.0).floor();
        let place = f64::from(block - 500) / 40.0;
        let mut price =
            300.0 * gross.powf(0.9) * (1.0 + place) * (f64::from(day - 18_600) * 0.0001).exp();
        price *= (0.12 * (random() + random() - 1.0)).exp();
        if i % 12 == 0 {
            price /= 2.0;
        }
        if dearer_from.is_some_and(|from| day >= from) {
            price *= 3.0;
        }
        let date = time::Date::from_julian_day(2_440_588 + day).unwrap();
        let _ = writeln!(
            text,
            "4,SOMEWHERE,A1,{block},{lot},{} {block} STREET,11361,1,2500,{gross},1940,{price:.0},{date}",
            lot * 2
        );
    }
    crate::read_text("sales.csv", text.as_bytes()).unwrap()
}

const CUT: i32 = 19_500;

fn quick() -> Settings {
    Settings {
        rounds: 3,
        trees: 10,
        step: 0.15,
        leaves: 8,
        ..Settings::default()
    }
}

#[test]
fn made_up_prices_are_found_again() {
    let test = Backtest::run(&city(None), CUT, 0, &quick()).unwrap();
    let pairs = test.pairs(Group::OneToThree);
    assert!(pairs.len() > 400, "{}", pairs.len());
    assert_eq!(pairs.len(), test.rows.len(), "every one has a value");
    let error = ratios::mdape(&pairs).unwrap();
    assert!(error < 8.0, "{error}");
    let held = test.rows.iter().filter(|row| row.holds()).count() as f64 / pairs.len() as f64;
    assert!((0.70..0.90).contains(&held), "{held}");
    for (at, name) in BASELINES.iter().enumerate() {
        let (mine, theirs) = test.beside(Group::OneToThree, at);
        assert!(ratios::mdape(&mine) < ratios::mdape(&theirs), "{name}");
    }
    let accuracy = test.model.accuracy(Group::OneToThree);
    assert!(accuracy.until <= CUT && accuracy.sample_size > 100);

    let table = test.table();
    for part in [
        "one_to_three_family",
        "Queens",
        "By tenth of the price",
        BASELINES[1],
    ] {
        assert!(table.contains(part), "{part}\n{table}");
    }

    let bytes = test.model.to_bytes();
    assert_eq!(Model::from_bytes(&bytes).as_ref(), Ok(&test.model));
    assert_eq!(
        Model::from_bytes(b"something else"),
        Err(ModelError::NotAModel)
    );
    assert_eq!(
        Model::from_bytes(&bytes[..bytes.len() - 1]),
        Err(ModelError::Damaged)
    );
    let mut other = bytes.clone();
    other[100] ^= 1;
    assert_eq!(Model::from_bytes(&other), Err(ModelError::Damaged));
    other = bytes;
    other[8] = 99;
    assert_eq!(
        Model::from_bytes(&other),
        Err(ModelError::OtherLayout { found: 99 })
    );
}

#[test]
fn nothing_that_is_sold_later_moves_a_value() {
    let later = CUT + 60;
    let plain = Backtest::run(&city(None), CUT, 0, &quick()).unwrap();
    let dearer = Backtest::run(&city(Some(later)), CUT, 0, &quick()).unwrap();
    assert_eq!(plain.model, dearer.model);
    let before = |test: &Backtest, loaded: &Loaded| -> Vec<Option<Value>> {
        let days = loaded
            .sales
            .iter()
            .filter(|s| s.is_usable() && s.date >= CUT && s.date <= later)
            .count();
        test.rows.iter().take(days).map(|row| row.value).collect()
    };
    let values = before(&plain, &city(None));
    assert!(values.len() > 100);
    assert_eq!(values, before(&dearer, &city(Some(later))));
    // With a delay, not even a month later.
    let delayed = Backtest::run(&city(None), CUT, 45, &quick()).unwrap();
    let delayed_dearer = Backtest::run(&city(Some(CUT - 44)), CUT, 45, &quick()).unwrap();
    assert_eq!(delayed.model, delayed_dearer.model);
    assert_eq!(delayed.rows[0].value, delayed_dearer.rows[0].value);
}

#[test]
fn without_sales_there_is_no_value() {
    let loaded = Loaded::default();
    let model = Model::train(&loaded, CUT, 0, &quick()).unwrap();
    let history = History::of(&loaded, model.hedonic());
    let mut subject = crate::estimate::Subject::new(
        "4005000001".parse().unwrap(),
        crate::BuildingClass::read(b"A1"),
    );
    let ask = |subject: &crate::estimate::Subject| {
        let evidence = evidence(&history, subject, CUT);
        model.value(&history, subject, &evidence, CUT)
    };
    assert_eq!(ask(&subject), Err(NoValue::TooFewComps));
    subject.kind = crate::Kind::Land;
    assert_eq!(ask(&subject), Err(NoValue::UnsupportedPropertyType));
}
