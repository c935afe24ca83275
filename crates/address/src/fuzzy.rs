//! Names within a small distance of a typed one: a walk over the map of names that gives up as soon as no name can follow.

use fst::Automaton;

/// Longest name that is corrected.
const MAX_NAME: usize = 48;

/// Accepts names at most `most` letters away: one put in, left out, changed, or two neighbours exchanged.
#[derive(Debug, Clone)]
pub(crate) struct Within {
    pattern: Vec<u8>,
    most: u8,
}

impl Within {
    /// For keys of the map: the borough's digit and the folded name. `None` for names that are too long.
    pub(crate) fn new(borough_digit: u8, key: &str, most: u8) -> Option<Self> {
        if key.is_empty() || key.len() >= MAX_NAME {
            return None;
        }
        let mut pattern = Vec::with_capacity(key.len() + 1);
        pattern.push(b'0' + borough_digit);
        pattern.extend_from_slice(key.as_bytes());
        Some(Self { pattern, most })
    }
}

/// Two rows of the distance table, for what was read so far.
#[derive(Debug, Clone)]
pub(crate) struct Rows {
    before: [u8; MAX_NAME + 1],
    row: [u8; MAX_NAME + 1],
    last: u8,
}

impl Automaton for Within {
    type State = Rows;

    fn start(&self) -> Rows {
        let mut row = [u8::MAX; MAX_NAME + 1];
        for (cell, distance) in row.iter_mut().zip(0..=self.pattern.len()) {
            *cell = u8::try_from(distance).unwrap_or(u8::MAX);
        }
        Rows {
            before: [u8::MAX; MAX_NAME + 1],
            row,
            last: 0,
        }
    }

    fn is_match(&self, state: &Rows) -> bool {
        state
            .row
            .get(self.pattern.len())
            .is_some_and(|distance| *distance <= self.most)
    }

    fn can_match(&self, state: &Rows) -> bool {
        state
            .row
            .iter()
            .take(self.pattern.len() + 1)
            .any(|distance| *distance <= self.most)
    }

    fn accept(&self, state: &Rows, byte: u8) -> Rows {
        let mut next = Rows {
            before: state.row,
            row: [u8::MAX; MAX_NAME + 1],
            last: byte,
        };
        let mut left = state.row.first().copied().unwrap_or(0).saturating_add(1);
        if let Some(first) = next.row.first_mut() {
            *first = left;
        }
        let above = state.row.iter().zip(state.row.iter().skip(1));
        let mut typed_before = 0;
        for (at, ((diagonal, above), typed)) in above.zip(&self.pattern).enumerate() {
            let changed = diagonal.saturating_add(u8::from(*typed != byte));
            let mut best = changed
                .min(above.saturating_add(1))
                .min(left.saturating_add(1));
            if at > 0 && *typed == state.last && typed_before == byte {
                let exchanged = state.before.get(at - 1).copied().unwrap_or(u8::MAX);
                best = best.min(exchanged.saturating_add(1));
            }
            if let Some(cell) = next.row.get_mut(at + 1) {
                *cell = best;
            }
            left = best;
            typed_before = *typed;
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn accepts(pattern: &str, text: &str, most: u8) -> bool {
        let automaton = Within::new(1, pattern, most).unwrap();
        let mut state = automaton.accept(&automaton.start(), b'1');
        for byte in text.bytes() {
            if !automaton.can_match(&state) {
                return false;
            }
            state = automaton.accept(&state, byte);
        }
        automaton.is_match(&state)
    }

    #[test]
    fn neighbours_may_be_exchanged() {
        assert!(accepts("BRAODWAY", "BROADWAY", 1));
        assert!(!accepts("BRAODWAY", "BROADWAYS", 1));
        assert!(accepts("BEDFORDPARK", "BREDFORDPORK", 2));
    }

    proptest! {
        #[test]
        fn the_walk_agrees_with_the_plain_distance(a in "[A-D]{1,9}", b in "[A-D]{1,9}", most in 0u8..4) {
            let distance = strsim::osa_distance(&a, &b);
            prop_assert_eq!(accepts(&a, &b, most), distance <= usize::from(most));
        }
    }
}
