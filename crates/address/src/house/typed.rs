//! House numbers as people type them, and the readings that one may have.

use std::fmt;

use super::{HouseKey, Suffix};

/// A house number as typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TypedNumber {
    pub(crate) left: u32,
    pub(crate) left_suffix: Suffix,
    /// What stands after a dash, and with how many digits.
    pub(crate) dash: Option<Dash>,
    /// The end of a range of hyphenated numbers, as in `43-06 - 43-12`.
    pub(crate) to: Option<(u32, Dash)>,
}

/// The part right of a dash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dash {
    pub(crate) value: u32,
    pub(crate) digits: u8,
    pub(crate) suffix: Suffix,
    /// A blank was typed, and no dash: that divides no range.
    pub(crate) blank: bool,
}

/// One way to read a typed number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reading {
    pub(crate) kind: ReadingKind,
    /// The number, or the low end of the range.
    pub(crate) low: HouseKey,
    /// The high end; `low` again for a single number.
    pub(crate) high: HouseKey,
}

/// What a reading does to what was typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadingKind {
    /// The number as typed.
    AsTyped,
    /// The dash divides the ends of a range.
    Range,
    /// The dash is dropped: `10-22` for 1022.
    DashDropped,
    /// A hyphen is put in: `6603` for 66-03.
    HyphenAdded,
}

impl TypedNumber {
    pub(crate) const fn plain(left: u32, left_suffix: Suffix) -> Self {
        Self {
            left,
            left_suffix,
            dash: None,
            to: None,
        }
    }

    /// The readings in the order in which they are tried: the first that exists is meant.
    pub(crate) fn readings(&self) -> Readings {
        let mut out = Readings::default();
        match (self.dash, self.to) {
            (None, _) => {
                out.single(ReadingKind::AsTyped, self.left, None, self.left_suffix);
                // The right part has two digits, or three.
                for tens in [100, 1000] {
                    let right = self.left % tens;
                    if self.left >= tens && (tens == 100 || right >= 100) {
                        out.single(
                            ReadingKind::HyphenAdded,
                            self.left / tens,
                            Some(right),
                            self.left_suffix,
                        );
                    }
                }
            }
            (Some(dash), Some((left, end))) => {
                out.range(
                    (self.left, Some(dash.value), dash.suffix),
                    (left, Some(end.value), end.suffix),
                );
            }
            (Some(dash), None) => self.dash_readings(dash, &mut out),
        }
        out
    }

    fn dash_readings(&self, dash: Dash, out: &mut Readings) {
        if self.left_suffix.is_none() && dash.digits <= 3 {
            out.single(
                ReadingKind::AsTyped,
                self.left,
                Some(dash.value),
                dash.suffix,
            );
        }
        // `338-50` is 338 to 350.
        let mut end = dash.value;
        if end < self.left {
            let place = 10_u32.saturating_pow(u32::from(dash.digits));
            end = end.saturating_add(self.left - self.left % place);
        }
        let later = end > self.left || (end == self.left && dash.suffix > self.left_suffix);
        if later && !dash.blank {
            out.range(
                (self.left, None, self.left_suffix),
                (end, None, dash.suffix),
            );
        }
        if self.left_suffix.is_none() && dash.digits <= 3 {
            let shift = if dash.value < 100 { 100 } else { 1000 };
            let joined = self.left.saturating_mul(shift).saturating_add(dash.value);
            out.single(ReadingKind::DashDropped, joined, None, dash.suffix);
        }
    }
}

impl fmt::Display for TypedNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn suffix(f: &mut fmt::Formatter<'_>, suffix: Suffix) -> fmt::Result {
            match suffix.text() {
                "" => Ok(()),
                letter if letter.len() == 1 => f.write_str(letter),
                words => write!(f, " {words}"),
            }
        }
        write!(f, "{}", self.left)?;
        suffix(f, self.left_suffix)?;
        if let Some(dash) = self.dash {
            let width = usize::from(dash.digits.min(2));
            write!(f, "-{:0width$}", dash.value)?;
            suffix(f, dash.suffix)?;
        }
        if let Some((left, dash)) = self.to {
            write!(f, " - {left}-{:02}", dash.value)?;
            suffix(f, dash.suffix)?;
        }
        Ok(())
    }
}

/// At most three readings, without an allocation.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Readings {
    list: [Option<Reading>; 3],
}

impl Readings {
    pub(crate) fn iter(&self) -> impl Iterator<Item = Reading> + '_ {
        self.list.iter().copied().flatten()
    }

    fn push(&mut self, reading: Reading) {
        if let Some(free) = self.list.iter_mut().find(|slot| slot.is_none()) {
            *free = Some(reading);
        }
    }

    fn single(&mut self, kind: ReadingKind, left: u32, right: Option<u32>, suffix: Suffix) {
        if let Some(key) = HouseKey::new(left, right, suffix) {
            self.push(Reading {
                kind,
                low: key,
                high: key,
            });
        }
    }

    fn range(&mut self, low: (u32, Option<u32>, Suffix), high: (u32, Option<u32>, Suffix)) {
        let low = HouseKey::new(low.0, low.1, low.2);
        let high = HouseKey::new(high.0, high.1, high.2);
        if let (Some(low), Some(high)) = (low, high) {
            self.push(Reading {
                kind: ReadingKind::Range,
                low,
                high,
            });
        }
    }
}
