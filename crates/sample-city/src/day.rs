//! The ways in which the publishers write a day, by name.

use time::Date;

use crate::seed::Seed;

/// Writes a day; what is not of the day is drawn.
pub(crate) type WriteDay = fn(Date, &mut Seed) -> String;

/// The ways in which the publishers write a day.
pub(crate) const FORMATS: [(&str, WriteDay); 11] = [
    ("iso", |day, _| format!("{day}T00:00:00.000")),
    ("isotime", |day, seed| {
        let (hour, minute, second) = (8 + seed.below(10), seed.below(60), seed.below(60));
        format!("{day}T{hour:02}:{minute:02}:{second:02}.000")
    }),
    ("day", |day, _| day.to_string()),
    ("ymd", |day, _| {
        format!("{}{:02}{:02}", day.year(), day.month() as u8, day.day())
    }),
    ("mdy", |day, _| {
        format!(
            "{:02}{:02}{:02}",
            day.month() as u8,
            day.day(),
            day.year() % 100
        )
    }),
    ("us", |day, _| us(day)),
    // One text column, two formats: one row in five is ISO with a blank behind.
    ("mixed", |day, seed| match seed.below(5) {
        0 => format!("{day} "),
        _ => us(day),
    }),
    ("us2", |day, seed| {
        let (hour, minute, second) = (1 + seed.below(12), seed.below(60), seed.below(60));
        let half = if seed.below(2) == 0 { "AM" } else { "PM" };
        format!(
            "{:02}/{:02}/{:02} {hour:02}:{minute:02}:{second:02} {half}",
            day.month() as u8,
            day.day(),
            day.year() % 100
        )
    }),
    ("year", |day, _| day.year().to_string()),
    ("month", |day, _| {
        format!("{}-{:02}-01T00:00:00.000", day.year(), day.month() as u8)
    }),
    // The order of the documents of the City Register.
    ("acris", |day, seed| {
        format!(
            "{}{:02}{:02}00{:03}00{}",
            day.year(),
            day.month() as u8,
            day.day(),
            seed.below(1000),
            1 + seed.below(9)
        )
    }),
];

fn us(day: Date) -> String {
    format!("{:02}/{:02}/{}", day.month() as u8, day.day(), day.year())
}

#[cfg(test)]
mod tests {
    use time::macros::date;

    use super::*;

    #[test]
    fn each_publisher_s_way() {
        let write = |name: &str| {
            let format = FORMATS.iter().find(|(known, _)| *known == name);
            let (_, write) = format.unwrap_or_else(|| panic!("{name} is a format"));
            write(date!(2024 - 03 - 09), &mut Seed::new(&[b"day"]))
        };
        assert_eq!(write("iso"), "2024-03-09T00:00:00.000");
        assert_eq!(write("day"), "2024-03-09");
        assert_eq!(write("ymd"), "20240309");
        assert_eq!(write("mdy"), "030924");
        assert_eq!(write("us"), "03/09/2024");
        assert_eq!(write("month"), "2024-03-01T00:00:00.000");
        assert_eq!(write("acris").len(), 16);
        assert!(write("us2").starts_with("03/09/24 "));
        assert!(write("isotime").starts_with("2024-03-09T"));
    }
}
