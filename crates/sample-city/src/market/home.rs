//! Apartments: what a unit's designation says of it.

use crate::seed::Seed;

/// An apartment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Home {
    pub(crate) floor: u64,
    /// 0 is a studio.
    pub(crate) bedrooms: u64,
    pub(crate) full_baths: u64,
    pub(crate) half_baths: u64,
    pub(crate) rooms: u64,
    pub(crate) sqft: u64,
}

/// A line of apartments, one above the other: bedrooms, full baths, half baths, square feet.
const LINES: [(char, u64, u64, u64, u64); 6] = [
    ('A', 2, 2, 0, 1_080),
    ('B', 1, 1, 0, 730),
    ('C', 2, 1, 1, 960),
    ('D', 0, 1, 0, 490),
    ('E', 3, 2, 1, 1_460),
    ('F', 1, 1, 0, 650),
];

/// The letters of a building's lines.
pub(crate) fn lines(floors: u64, units: u64) -> &'static [(char, u64, u64, u64, u64)] {
    let many = (units / floors.max(1)).clamp(1, LINES.len() as u64);
    LINES.get(..many as usize).unwrap_or(&LINES)
}

/// The apartment of this designation in a building (`4C`: the fourth floor, the line C); `None` for a shop or a lobby.
/// The apartments of a line are alike.
pub(crate) fn home(building: &str, designation: &str) -> Option<Home> {
    let line = designation.chars().last()?;
    let floor: u64 = designation.strip_suffix(line)?.parse().ok()?;
    let (_, bedrooms, full_baths, half_baths, sqft) =
        LINES.into_iter().find(|known| known.0 == line)?;
    let scale = 86 + Seed::new(&[b"scale", building.as_bytes()]).below(30);
    Some(Home {
        floor,
        bedrooms,
        full_baths,
        half_baths,
        rooms: bedrooms + 2 + u64::from(bedrooms > 1),
        sqft: sqft * scale / 100 / 5 * 5,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_alike_on_every_floor() {
        let (fourth, fifth) = (home("1", "4C"), home("1", "5C"));
        let (fourth, fifth) = (fourth.expect("a home"), fifth.expect("a home"));
        assert_eq!((fourth.floor, fifth.floor), (4, 5));
        assert_eq!(fourth.sqft, fifth.sqft);
        for shop in ["STORE", "LOBBY", "1600", ""] {
            assert_eq!(home("1", shop), None, "{shop}");
        }
    }
}
