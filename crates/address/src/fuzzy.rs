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

/// Two rows of the distance table, for what was read so far. Only the cells within the allowed distance of the diagonal
/// are kept up; the others are out of reach.
#[derive(Debug, Clone)]
pub(crate) struct Rows {
    before: [u8; MAX_NAME + 1],
    row: [u8; MAX_NAME + 1],
    last: u8,
    /// How many letters were read.
    read: usize,
}

const FAR: u8 = u8::MAX;

impl Within {
    /// The cells of a row that can hold a small distance.
    fn band(&self, read: usize) -> std::ops::RangeInclusive<usize> {
        let most = usize::from(self.most);
        read.saturating_sub(most)..=(read + most).min(self.pattern.len())
    }
}

fn cell(row: &[u8; MAX_NAME + 1], at: usize) -> u8 {
    row.get(at).copied().unwrap_or(FAR)
}

impl Automaton for Within {
    type State = Rows;

    fn start(&self) -> Rows {
        let mut row = [FAR; MAX_NAME + 1];
        for (cell, distance) in row.iter_mut().zip(0..=self.most) {
            *cell = distance;
        }
        Rows {
            before: [FAR; MAX_NAME + 1],
            row,
            last: 0,
            read: 0,
        }
    }

    fn is_match(&self, state: &Rows) -> bool {
        cell(&state.row, self.pattern.len()) <= self.most
    }

    fn can_match(&self, state: &Rows) -> bool {
        self.band(state.read)
            .any(|at| cell(&state.row, at) <= self.most)
    }

    fn accept(&self, state: &Rows, byte: u8) -> Rows {
        let read = state.read + 1;
        let mut next = Rows {
            before: state.row,
            row: [FAR; MAX_NAME + 1],
            last: byte,
            read,
        };
        let mut left = FAR;
        for at in self.band(read) {
            let best = match at.checked_sub(1) {
                None => u8::try_from(read).unwrap_or(FAR),
                Some(before) => {
                    let typed = self.pattern.get(before).copied().unwrap_or(0);
                    let changed = cell(&state.row, before).saturating_add(u8::from(typed != byte));
                    let mut best = changed
                        .min(cell(&state.row, at).saturating_add(1))
                        .min(left.saturating_add(1));
                    let typed_before = before
                        .checked_sub(1)
                        .and_then(|at| self.pattern.get(at))
                        .copied();
                    if typed == state.last && typed_before == Some(byte) && read >= 2 {
                        let exchanged = cell(&state.before, before - 1);
                        best = best.min(exchanged.saturating_add(1));
                    }
                    best
                }
            };
            if let Some(cell) = next.row.get_mut(at) {
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
