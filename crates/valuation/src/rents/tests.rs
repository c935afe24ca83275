use proptest::prelude::*;

use super::*;

fn offer(id: u64, asking: f64, bedrooms: u32, miles: f64) -> Offer {
    Offer {
        id,
        asking,
        net_effective: None,
        home: Home {
            bedrooms: Some(bedrooms),
            bathrooms: Some(1.0),
            sqft: Some(700),
        },
        stabilized: false,
        same_building: miles == 0.0,
        miles: Some(miles),
        age_days: Some(5),
    }
}

fn one_bedroom() -> Home {
    Home {
        bedrooms: Some(1),
        bathrooms: Some(1.0),
        sqft: Some(700),
    }
}

#[test]
fn the_search_widens_until_three_are_alike() {
    let mut offers = vec![
        offer(1, 3000.0, 1, 0.0),
        offer(2, 3100.0, 1, 0.0),
        offer(3, 5000.0, 3, 0.0),
    ];
    offers.extend([
        offer(4, 3200.0, 1, 0.2),
        offer(5, 3300.0, 1, 0.4),
        offer(6, 3300.0, 1, 0.9),
    ]);
    let step = search(&one_bedroom(), &offers, SameBuilding::Prefer, None);
    assert_eq!((step.miles, step.number), (Some(0.25), 2));
    assert_eq!(
        step.offers.iter().map(|o| o.id).collect::<Vec<_>>(),
        [1, 2, 4],
        "and the three bedrooms are left out"
    );
    let only = search(&one_bedroom(), &offers, SameBuilding::Only, None);
    assert_eq!(
        (only.miles, only.offers.len()),
        (None, 3),
        "too few, so all of the step"
    );
    let away = search(&one_bedroom(), &offers, SameBuilding::Exclude, None);
    assert_eq!(
        (away.miles, away.number, away.offers.len()),
        (Some(1.0), 3, 3)
    );
    let asked = search(&one_bedroom(), &offers, SameBuilding::Exclude, Some(0.3));
    assert_eq!((asked.miles, asked.offers.len()), (Some(0.3), 1));
    assert_eq!(
        search(&one_bedroom(), &[], SameBuilding::Prefer, None).offers,
        []
    );
}

#[test]
fn figures_of_fewer_than_three_are_not_told() {
    let two = statistics(&[offer(1, 3000.0, 1, 0.0), offer(2, 3100.0, 2, 0.0)]);
    assert_eq!(
        (
            two.asking.sample_size,
            two.asking.median,
            two.median_per_sqft
        ),
        (2, None, None)
    );
    let mut offers: Vec<Offer> = (1..=5_u32)
        .map(|i| offer(i.into(), 1000.0 * f64::from(i), 1, 0.1))
        .collect();
    offers[0].net_effective = Some(900.0);
    offers[1].stabilized = true;
    let five = statistics(&offers);
    assert_eq!(
        (five.asking.median, five.asking.min, five.asking.max),
        (Some(3000.0), Some(1000.0), Some(5000.0))
    );
    assert_eq!(five.by_bedrooms.len(), 1);
    assert_eq!(five.by_bedrooms[0].rents.sample_size, 5);
    assert_eq!(five.median_per_sqft, Some(4.29));
    assert_eq!(
        (five.net_effective.sample_size, five.net_effective.median),
        (1, None)
    );
    assert_eq!(five.rent_stabilized_count, 1);
}

#[test]
fn a_stabilised_rent_moves_no_estimate() {
    let mut offers: Vec<Offer> = (1..=6_u32)
        .map(|i| offer(i.into(), 2900.0 + 50.0 * f64::from(i), 1, 0.1))
        .collect();
    let (shares, plain) = estimate(&one_bedroom(), &offers);
    let plain = plain.unwrap();
    assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    assert!((3050.0..3100.0).contains(&plain.rent), "{}", plain.rent);
    assert_eq!(plain.confidence, Confidence::Medium);
    let mut cheap = offer(7, 900.0, 1, 0.0);
    cheap.stabilized = true;
    offers.push(cheap);
    let (shares, with) = estimate(&one_bedroom(), &offers);
    assert_eq!(shares[6], 0.0);
    assert!((with.unwrap().rent - plain.rent).abs() < 1e-6);
    offers.truncate(2);
    assert_eq!(
        estimate(&one_bedroom(), &offers).1,
        Err(NoEstimateReason::TooFewRentals)
    );
    let apart: Vec<Offer> = [800.0, 900.0, 9000.0, 9500.0]
        .iter()
        .zip(1..)
        .map(|(a, i)| offer(i, *a, 1, 0.1))
        .collect();
    assert_eq!(
        estimate(&one_bedroom(), &apart).1,
        Err(NoEstimateReason::RentalsTooDispersed)
    );
}

proptest! {
    #[test]
    fn nearer_newer_and_more_alike_never_scores_lower(
        miles in 0.01_f64..1.0, farther in 0.0_f64..1.0,
        days in 0_u32..100, older in 0_u32..100,
        rooms in 1_u32..5, more in 0_u32..4,
        sqft in 700_u32..1500, larger in 0_u32..900,
    ) {
        let one = |miles, days, rooms, sqft| {
            let mut offer = offer(1, 3000.0, rooms, miles);
            offer.age_days = Some(days);
            offer.home.sqft = Some(sqft);
            similarity(&one_bedroom(), &offer)
        };
        let best = one(miles, days, rooms, sqft);
        prop_assert!((0.0..=1.0).contains(&best));
        prop_assert!(best >= one(miles + farther, days, rooms, sqft));
        prop_assert!(best >= one(miles, days + older, rooms, sqft));
        prop_assert!(best >= one(miles, days, rooms + more, sqft));
        prop_assert!(best >= one(miles, days, rooms, sqft + larger));
        prop_assert!(one(0.0, days, rooms, sqft) >= best, "and the building itself is nearest");
    }

    #[test]
    fn an_estimate_lies_between_its_rents_where_areas_are_equal(
        rents in prop::collection::vec(1500.0_f64..4000.0, 3..20),
    ) {
        let offers: Vec<Offer> = rents.iter().zip(1..).map(|(rent, id)| offer(id, *rent, 1, 0.2)).collect();
        if let Ok(found) = estimate(&one_bedroom(), &offers).1 {
            let (low, high) = rents.iter().fold((f64::MAX, f64::MIN), |(l, h), r| (l.min(*r), h.max(*r)));
            prop_assert!(low - 1e-6 <= found.rent && found.rent <= high + 1e-6);
            prop_assert!(found.low < found.rent && found.rent < found.high);
        }
    }
}
