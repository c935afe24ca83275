//! Made-up values without chance: everything is drawn from a hash of what it is for.

/// A hash of some parts, the same on every machine and in every version of the compiler.
pub(crate) fn hash(parts: &[&[u8]]) -> u64 {
    let mut state = 0xcbf2_9ce4_8422_2325_u64;
    for part in parts {
        for byte in *part {
            state = (state ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        // A mark between the parts, so that "ab", "c" is not "a", "bc".
        state = (state ^ 0x1f).wrapping_mul(0x0100_0000_01b3);
    }
    mix(state)
}

/// The finaliser of SplitMix64: neighbours in, strangers out.
fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// A stream of numbers from one start.
#[derive(Debug, Clone)]
pub(crate) struct Seed(u64);

impl Seed {
    pub(crate) fn new(parts: &[&[u8]]) -> Self {
        Self(hash(parts))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number from 0 up to, not including, `bound`; 0 when `bound` is 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { self.next() % bound }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_the_same_everywhere() {
        let mut seed = Seed::new(&[b"a", b"b"]);
        let drawn: Vec<u64> = (0..3).map(|_| seed.below(1000)).collect();
        let mut again = Seed::new(&[b"a", b"b"]);
        assert_eq!(drawn, (0..3).map(|_| again.below(1000)).collect::<Vec<_>>());
        assert_ne!(hash(&[b"ab", b"c"]), hash(&[b"a", b"bc"]));
    }
}
