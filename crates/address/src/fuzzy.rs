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
        if key.is_empty() || key.len() >= MAX_NAME || usize::from(most) > MOST {
            return None;
        }
        let mut pattern = Vec::with_capacity(key.len() + 1);
        pattern.push(b'0' + borough_digit);
        pattern.extend_from_slice(key.as_bytes());
        Some(Self { pattern, most })
    }
}

/// Most letters by which a name may differ.
const MOST: usize = 3;
/// Cells of a row that can hold a distance that small: those beside the diagonal.
const BAND: usize = 2 * MOST + 1;

const FAR: u8 = u8::MAX;

/// Two rows of the distance table, for what was read so far.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows {
    before: [u8; BAND],
    row: [u8; BAND],
    last: u8,
    /// How many letters were read.
    read: u8,
}

/// The distance after `read` letters against the first `at` of the pattern.
fn cell(row: &[u8; BAND], read: usize, at: usize) -> u8 {
    (at + MOST)
        .checked_sub(read)
        .and_then(|place| row.get(place))
        .copied()
        .unwrap_or(FAR)
}

impl Within {
    /// The cells of a row that can hold a small distance.
    fn band(&self, read: usize) -> std::ops::RangeInclusive<usize> {
        let most = usize::from(self.most);
        read.saturating_sub(most)..=(read + most).min(self.pattern.len())
    }
}

impl Automaton for Within {
    type State = Rows;

    fn start(&self) -> Rows {
        let mut row = [FAR; BAND];
        for (cell, distance) in row.iter_mut().skip(MOST).zip(0..=self.most) {
            *cell = distance;
        }
        Rows {
            before: [FAR; BAND],
            row,
            last: 0,
            read: 0,
        }
    }

    fn is_match(&self, state: &Rows) -> bool {
        cell(&state.row, usize::from(state.read), self.pattern.len()) <= self.most
    }

    fn can_match(&self, state: &Rows) -> bool {
        state.row.iter().any(|distance| *distance <= self.most)
    }

    fn accept(&self, state: &Rows, byte: u8) -> Rows {
        let above = usize::from(state.read);
        let read = above + 1;
        let mut next = Rows {
            before: state.row,
            row: [FAR; BAND],
            last: byte,
            read: state.read.saturating_add(1),
        };
        let mut left = FAR;
        for at in self.band(read) {
            let best = match at.checked_sub(1) {
                None => next.read,
                Some(before) => {
                    let typed = self.pattern.get(before).copied().unwrap_or(0);
                    let changed = cell(&state.row, above, before);
                    let mut best = changed
                        .saturating_add(u8::from(typed != byte))
                        .min(cell(&state.row, above, at).saturating_add(1))
                        .min(left.saturating_add(1));
                    let typed_before = before
                        .checked_sub(1)
                        .and_then(|at| self.pattern.get(at))
                        .copied();
                    if typed == state.last && typed_before == Some(byte) && above >= 1 {
                        let exchanged = cell(&state.before, above - 1, before - 1);
                        best = best.min(exchanged.saturating_add(1));
                    }
                    best
                }
            };
            if let Some(cell) = (at + MOST)
                .checked_sub(read)
                .and_then(|place| next.row.get_mut(place))
            {
                *cell = best;
            }
            left = best;
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
