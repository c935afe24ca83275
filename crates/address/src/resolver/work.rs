//! How much one text can cost, counted in names looked up and in walks over names, so that a busy machine changes nothing:
//! no text of up to 200 characters makes many more than a common one.

use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;
use crate::pad::traps::traps;

static TRAPS: LazyLock<Resolver> = LazyLock::new(|| Resolver::new(Arc::new(traps().build())));

/// Texts that were made to cost much: long lists, many digits and commas, near misses.
const NASTY: &str = include_str!("../../tests/data/nasty.txt");

/// Names looked up at most. A look-up takes less than a microsecond.
const LOOKUPS: usize = 2_500;

/// Walks over a borough's names at most. A walk takes about a tenth of a millisecond in the whole city.
const WALKS: usize = 16;

fn cost(text: &str) -> (usize, usize) {
    let (lookups, walks) = PadIndex::work();
    let _ = TRAPS.resolve(text);
    let after = PadIndex::work();
    (after.0 - lookups, after.1 - walks)
}

fn is_cheap(text: &str) -> Result<(), TestCaseError> {
    let (lookups, walks) = cost(text);
    prop_assert!(
        lookups <= LOOKUPS && walks <= WALKS,
        "{text}: {lookups} look-ups, {walks} walks"
    );
    Ok(())
}

#[test]
fn texts_made_to_cost_much_do_not() {
    let mut most = (0, 0);
    for text in NASTY.lines() {
        is_cheap(text).unwrap();
        let (lookups, walks) = cost(text);
        most = (most.0.max(lookups), most.1.max(walks));
    }
    // They do try: the bounds are those of the worst.
    assert!(most.0 > 100 && most.1 > 4, "{most:?}");
}

#[test]
fn a_common_text_costs_little() {
    let (lookups, walks) = cost("350 5th Ave Apt 4C, New York, NY 10118");
    assert!(
        lookups <= 8 && walks == 0,
        "{lookups} look-ups, {walks} walks"
    );
}

proptest! {
    #[test]
    fn any_text_is_cheap(text in "\\PC{0,200}") {
        is_cheap(&text)?;
    }

    #[test]
    fn any_list_of_words_is_cheap(words in proptest::collection::vec(
        prop_oneof![
            Just("ST"), Just("E"), Just("W"), Just("5"), Just("120"), Just("AVE"), Just(","), Just("-"), Just("#"), Just("&"),
            Just("APT"), Just("43-06"), Just("NY"), Just("NEW YORK"), Just("BROOKLYN"), Just("10463"), Just("CHINATOWN"),
            Just("ONE"), Just("HUNDRED"), Just("A"), Just("12E"), Just("SOUTH"), Just("PARK"), Just("NO"), Just("AT"),
            Just("ABCDEFGHIJKL"), Just("BRAODWAYS"), Just("MIDWOOOD"), Just("TERRACE"), Just("FLOOR"), Just("WING"),
        ],
        0..40,
    )) {
        let text: String = words.join(" ").chars().take(200).collect();
        is_cheap(&text)?;
    }
}
