//! Clocks and the little statistics that the parts share.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, Timespec, clock_gettime};

/// How many alternating rounds a ratio stands on.
pub(crate) const ROUNDS: usize = 5;

/// Wall time and CPU time of one measurement.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Spent {
    pub(crate) wall: Duration,
    pub(crate) cpu: Duration,
}

impl Spent {
    pub(crate) fn cpu_ns(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e9
    }

    pub(crate) fn wall_ms(&self) -> f64 {
        self.wall.as_secs_f64() * 1e3
    }

    pub(crate) fn cpu_ms(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e3
    }
}

/// A measurement that has begun.
#[derive(Debug)]
pub(crate) struct Stopwatch {
    clock: ClockId,
    wall: Instant,
    cpu: Duration,
}

impl Stopwatch {
    /// With the CPU time of this thread: what neighbours on the machine do hardly shows in it.
    pub(crate) fn of_thread() -> Self {
        Self::new(ClockId::ThreadCPUTime)
    }

    /// With the CPU time of all threads of this process.
    pub(crate) fn of_process() -> Self {
        Self::new(ClockId::ProcessCPUTime)
    }

    fn new(clock: ClockId) -> Self {
        Self {
            clock,
            wall: Instant::now(),
            cpu: read(clock),
        }
    }

    pub(crate) fn stop(&self) -> Spent {
        let cpu = read(self.clock);
        Spent {
            wall: self.wall.elapsed(),
            cpu: cpu.saturating_sub(self.cpu),
        }
    }
}

fn read(clock: ClockId) -> Duration {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(clock);
    let seconds = u64::try_from(tv_sec).unwrap_or(0);
    Duration::from_secs(seconds) + Duration::from_nanos(u64::try_from(tv_nsec).unwrap_or(0))
}

/// The middle one, of an even number the mean of the two in the middle; NaN of none.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        len if len % 2 == 1 => sorted[len / 2],
        len => f64::midpoint(sorted[len / 2 - 1], sorted[len / 2]),
    }
}

/// The lowest: for CPU time, the repetition that was disturbed least.
pub(crate) fn lowest(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().fold(f64::NAN, f64::min)
}

/// Numbers without an end that look random and are the same in every run (SplitMix64).
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// One of `0..below`; 0 when there is none. (By multiplying: not off by more than 2^-40 for the sizes here.)
    pub(crate) const fn below(&mut self, below: u64) -> u64 {
        ((self.next() as u128 * below as u128) >> 64) as u64
    }

    /// In `[0, 1)`.
    pub(crate) const fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// A bijection of 64 bits that leaves no pattern.
pub(crate) const fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median([3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median([4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median([]).is_nan());
        assert_eq!(lowest([3.0, 1.0, 2.0]), 1.0);
    }

    #[test]
    fn work_takes_cpu_time_and_waiting_does_not() {
        let watch = Stopwatch::of_thread();
        let mut sum = 0_u64;
        while watch.stop().cpu < Duration::from_millis(2) {
            sum = mix(sum + 1);
        }
        assert_ne!(sum, 0);
        let spent = watch.stop();
        assert!(spent.wall >= Duration::from_millis(2), "{spent:?}");
    }

    #[test]
    fn numbers_stay_below_and_fill_the_range() {
        let mut random = Random::new(1);
        let mut seen = [0_u32; 10];
        for _ in 0..1_000 {
            seen[usize::try_from(random.below(10)).unwrap()] += 1;
        }
        assert!(
            seen.iter().all(|count| (60..150).contains(count)),
            "{seen:?}"
        );
        assert!((0..1_000).all(|_| (0.0..1.0).contains(&random.unit())));
        assert_eq!(random.below(0), 0);
    }
}
