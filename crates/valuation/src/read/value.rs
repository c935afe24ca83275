//! Cells of the sales table: numbers as spreadsheets print them, dates in the forms seen.

/// A number cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Number {
    Blank,
    Is(u64),
    /// Not a whole number of zero or more.
    Bad,
}

impl Number {
    /// The number, in the width it is kept in; nothing when blank, bad or too big for it.
    pub(crate) fn narrow<T: TryFrom<u64>>(self) -> Option<T> {
        match self {
            Self::Is(number) => T::try_from(number).ok(),
            Self::Blank | Self::Bad => None,
        }
    }

    /// As [`Number::narrow`], and zero is "not known".
    pub(crate) fn size<T: TryFrom<u64>>(self) -> Option<T> {
        match self {
            Self::Is(0) => None,
            other => other.narrow(),
        }
    }
}

/// Reads `4750`, ` 4,750 `, `$4,750.00`, `4750.0`, and `-` for zero. Decimals are cut: the table has whole dollars.
pub(crate) fn number(text: &[u8]) -> Number {
    let mut whole: u64 = 0;
    let mut digits = 0;
    let mut bytes = text.trim_ascii().iter();
    let mut dashes = 0;
    for byte in &mut bytes {
        match byte {
            b'0'..=b'9' if dashes == 0 => {
                digits += 1;
                let Some(next) = whole
                    .checked_mul(10)
                    .and_then(|w| w.checked_add(u64::from(byte - b'0')))
                else {
                    return Number::Bad;
                };
                whole = next;
            }
            b',' | b' ' | b'$' => {}
            b'-' if digits == 0 && dashes == 0 => dashes = 1,
            b'.' => break,
            _ => return Number::Bad,
        }
    }
    if !bytes.all(u8::is_ascii_digit) {
        return Number::Bad;
    }
    match (digits, dashes) {
        (0, 0) if text.trim_ascii().is_empty() => Number::Blank,
        (0, 1) => Number::Is(0),
        (0, _) => Number::Bad,
        _ => Number::Is(whole),
    }
}

/// A date cell, before it is known which way round the file writes its days.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RawDate {
    /// Days since 1970-01-01.
    Day(i32),
    /// `a/b/year`: month and day, one way or the other.
    Slashed {
        a: u8,
        b: u8,
        year: u16,
    },
    Bad,
}

/// Which way round a file writes a date with slashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DayOrder {
    MonthFirst,
    DayFirst,
}

/// Days since 1970-01-01 of a day that exists, in years a sale can have.
pub(crate) fn days(year: u16, month: u8, day: u8) -> Option<i32> {
    if !(1900..=2100).contains(&year) {
        return None;
    }
    let month = time::Month::try_from(month).ok()?;
    let date = time::Date::from_calendar_date(i32::from(year), month, day).ok()?;
    Some(date.to_julian_day() - EPOCH)
}

/// Julian day of 1970-01-01.
pub(crate) const EPOCH: i32 = 2_440_588;

fn small(text: &[u8]) -> Option<u16> {
    if text.is_empty() || text.len() > 4 {
        return None;
    }
    text.iter().try_fold(0_u16, |n, b| {
        b.is_ascii_digit().then(|| n * 10 + u16::from(b - b'0'))
    })
}

/// Day number of 1970-01-01 in a spreadsheet, whose day 0 is 1899-12-30.
const SPREADSHEET_EPOCH: i32 = 25_569;

/// Reads `2019-07-23`, the same with a time behind it, `7/23/2019`, `23/07/19`, `20190723`, and a spreadsheet's day
/// number (`43669`).
pub(crate) fn date(text: &[u8]) -> RawDate {
    read_date(text.trim_ascii()).unwrap_or(RawDate::Bad)
}

fn read_date(text: &[u8]) -> Option<RawDate> {
    if let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2, rest @ ..] = text {
        if !rest.is_empty() && !matches!(rest.first(), Some(b'T' | b' ')) {
            return None;
        }
        let year = small(&[*y1, *y2, *y3, *y4])?;
        let month = u8::try_from(small(&[*m1, *m2])?).ok()?;
        let day = u8::try_from(small(&[*d1, *d2])?).ok()?;
        return days(year, month, day).map(RawDate::Day);
    }
    if text.len() == 8 && text.iter().all(u8::is_ascii_digit) {
        let part = |from: usize, to: usize| text.get(from..to).and_then(small);
        let month = u8::try_from(part(4, 6)?).ok()?;
        let day = u8::try_from(part(6, 8)?).ok()?;
        return days(part(0, 4)?, month, day).map(RawDate::Day);
    }
    if text.len() == 5 && text.iter().all(u8::is_ascii_digit) {
        let number = text.iter().fold(0_i32, |n, b| n * 10 + i32::from(b - b'0'));
        return Some(RawDate::Day(number - SPREADSHEET_EPOCH));
    }
    let text = text.split(|b| *b == b' ').next()?;
    let mut parts = text.split(|b| *b == b'/');
    let a = u8::try_from(small(parts.next()?)?).ok()?;
    let b = u8::try_from(small(parts.next()?)?).ok()?;
    let year_text = parts.next()?;
    let year = match (year_text.len(), small(year_text)?) {
        // The table starts in 2003.
        (2, year) => 2000 + year,
        (4, year) => year,
        _ => return None,
    };
    if parts.next().is_some() {
        return None;
    }
    Some(RawDate::Slashed { a, b, year })
}

impl RawDate {
    /// The day, with slashes read the file's way.
    pub(crate) fn day(self, order: DayOrder) -> Option<i32> {
        match (self, order) {
            (Self::Day(day), _) => Some(day),
            (Self::Slashed { a, b, year }, DayOrder::MonthFirst) => days(year, a, b),
            (Self::Slashed { a, b, year }, DayOrder::DayFirst) => days(year, b, a),
            (Self::Bad, _) => None,
        }
    }
}

/// Counts of the dates that can be read one way only: the evidence for a file's way.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Evidence {
    month_first: u32,
    day_first: u32,
}

impl Evidence {
    pub(crate) fn see(&mut self, date: RawDate) {
        if let RawDate::Slashed { a, b, .. } = date {
            self.month_first += u32::from(b > 12 && a <= 12);
            self.day_first += u32::from(a > 12 && b <= 12);
        }
    }

    /// The way most of those dates go; month first, the Department of Finance's own way, when none or as many.
    pub(crate) const fn order(self) -> DayOrder {
        if self.day_first > self.month_first {
            DayOrder::DayFirst
        } else {
            DayOrder::MonthFirst
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_as_spreadsheets_print_them() {
        let rows: [(&str, Number); 16] = [
            ("4750", Number::Is(4750)),
            (" 4,750 ", Number::Is(4750)),
            ("$ 4,750.00", Number::Is(4750)),
            ("4750.0", Number::Is(4750)),
            ("-", Number::Is(0)),
            (" -   ", Number::Is(0)),
            (" $-   ", Number::Is(0)),
            ("0", Number::Is(0)),
            ("", Number::Blank),
            ("   ", Number::Blank),
            ("-5", Number::Bad),
            ("5-7", Number::Bad),
            ("n/a", Number::Bad),
            ("$", Number::Bad),
            ("4750.x", Number::Bad),
            ("99999999999999999999999", Number::Bad),
        ];
        for (text, is) in rows {
            assert_eq!(number(text.as_bytes()), is, "{text:?}");
        }
        assert_eq!(Number::Is(70_000).narrow::<u16>(), None);
        assert_eq!(Number::Is(0).size::<u32>(), None);
    }

    #[test]
    fn dates_in_the_forms_seen() {
        let july = RawDate::Day(18_100);
        assert_eq!(days(2019, 7, 23), Some(18_100));
        for text in [
            "2019-07-23",
            "2019-07-23T00:00:00.000",
            "2019-07-23 00:00:00",
            "20190723",
            "43669",
        ] {
            assert_eq!(date(text.as_bytes()), july, "{text}");
        }
        let slashed = date(b"23/07/19");
        assert_eq!(
            slashed,
            RawDate::Slashed {
                a: 23,
                b: 7,
                year: 2019
            }
        );
        assert_eq!(slashed.day(DayOrder::DayFirst), Some(18_100));
        assert_eq!(slashed.day(DayOrder::MonthFirst), None);
        assert_eq!(
            date(b"7/23/2019 0:00").day(DayOrder::MonthFirst),
            Some(18_100)
        );
        for text in [
            "",
            "2019-02-30",
            "2019-7-1",
            "00010101",
            "1/2",
            "1/2/3/4",
            "1/2/203",
            "2019-07-23x",
            "x",
        ] {
            assert_eq!(date(text.as_bytes()), RawDate::Bad, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_printed_number_is_read_back(n in 0_u64..1_000_000_000_000) {
            prop_assert_eq!(number(n.to_string().as_bytes()), Number::Is(n));
            let mut text = n.to_string();
            let mut at = text.len();
            while at > 3 {
                at -= 3;
                text.insert(at, ',');
            }
            prop_assert_eq!(number(format!("\" {text} \"").trim_matches('"').as_bytes()), Number::Is(n));
        }

        #[test]
        fn any_cell_is_read_without_a_panic(text in prop::collection::vec(any::<u8>(), 0..24)) {
            let _ = number(&text);
            let _ = date(&text).day(DayOrder::DayFirst);
        }

        #[test]
        fn a_file_of_either_order_is_read_right(days in prop::collection::vec((1_u8..=12, 1_u8..=28), 40..80)) {
            // Forty dates without one day past the twelfth are no evidence; the property is about files that have some.
            prop_assume!(days.iter().any(|(_, day)| *day > 12));
            for order in [DayOrder::DayFirst, DayOrder::MonthFirst] {
                let mut evidence = Evidence::default();
                for (month, day) in &days {
                    let text = match order {
                        DayOrder::DayFirst => format!("{day:02}/{month:02}/17"),
                        DayOrder::MonthFirst => format!("{month}/{day}/2017"),
                    };
                    evidence.see(date(text.as_bytes()));
                }
                prop_assert_eq!(evidence.order(), order);
            }
        }
    }
}
