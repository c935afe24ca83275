//! Which accounts are asked for, and in which order, made before anything is timed.

use crate::measure::{Random, mix};

/// Decisions in one repetition.
const DECISIONS: usize = 1 << 20;
/// How steep the third order is: rank `r` is asked for in proportion to `r^-0.99`.
const EXPONENT: f64 = 0.99;

/// How keys are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Hot,
    Uniform,
    Zipf,
}

impl Order {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Hot => "one hot key",
            Self::Uniform => "a million keys, uniform",
            Self::Zipf => "a million keys, Zipf 0.99",
        }
    }
}

/// Keys in the order they are asked for, in both forms.
#[derive(Debug)]
pub(super) struct Keys {
    pub(super) numbers: Vec<u64>,
    texts: Vec<[u8; 16]>,
}

impl Keys {
    fn of(places: impl Iterator<Item = usize>) -> Self {
        let numbers: Vec<u64> = places.map(|place| mix(place as u64)).collect();
        let texts = numbers.iter().map(|number| hex(*number)).collect();
        Self { numbers, texts }
    }

    /// Each of the accounts, once.
    pub(super) fn each_once(accounts: usize) -> Self {
        Self::of(0..accounts)
    }

    /// A repetition's worth.
    pub(super) fn ordered(order: Order, accounts: usize) -> Self {
        let mut random = Random::new(7);
        let mut uniform = || random.below(accounts as u64) as usize;
        match order {
            Order::Hot => Self::of(std::iter::repeat_n(0, DECISIONS)),
            Order::Uniform => Self::of(std::iter::repeat_with(&mut uniform).take(DECISIONS)),
            Order::Zipf => {
                let zipf = Zipf::new(accounts);
                Self::of(std::iter::repeat_with(|| zipf.draw(&mut random)).take(DECISIONS))
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.numbers.len()
    }

    /// The keys as texts. (Checking that 16 bytes are UTF-8 costs a nanosecond or two; it counts against us.)
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        (self.texts.iter()).map(|text| std::str::from_utf8(text).unwrap_or_default())
    }
}

/// 16 lower-case hexadecimal digits.
fn hex(number: u64) -> [u8; 16] {
    std::array::from_fn(|place| {
        let nibble = (number >> (60 - 4 * place)) & 0xf;
        b"0123456789abcdef"[nibble as usize]
    })
}

/// Draws ranks by the inverse of the exact distribution. A rank's key is a mixed number, so that neighbours in rank are
/// none in memory.
struct Zipf(Vec<f64>);

impl Zipf {
    fn new(ranks: usize) -> Self {
        let mut sum = 0.0;
        let upto = (1..=ranks).map(|rank| {
            sum += (rank as f64).powf(-EXPONENT);
            sum
        });
        Self(upto.collect())
    }

    fn draw(&self, random: &mut Random) -> usize {
        let whole = self.0.last().copied().unwrap_or(0.0);
        let at = random.unit() * whole;
        self.0.partition_point(|upto| *upto <= at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_the_numbers() {
        let keys = Keys::each_once(100);
        for (number, text) in keys.numbers.iter().zip(keys.texts()) {
            assert_eq!(text, format!("{number:016x}"));
        }
    }

    #[test]
    fn the_first_rank_has_its_share() {
        let zipf = Zipf::new(1_000);
        let share = 1.0 / zipf.0.last().unwrap();
        let mut random = Random::new(3);
        let draws: Vec<usize> = (0..100_000).map(|_| zipf.draw(&mut random)).collect();
        assert!(draws.iter().all(|rank| *rank < 1_000));
        let first = draws.iter().filter(|rank| **rank == 0).count() as f64 / 100_000.0;
        assert!((first - share).abs() < 0.01, "{first} of {share}");
    }
}
