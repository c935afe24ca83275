//! The small language in which a dataset's file says how its values are made.
//!
//! A value is text with slots in braces. Before it may stand conditions, ended by a colon: `closed:`, `open:`, `30%:`,
//! `unit:`, `condo:`; where one does not hold, or a slot has nothing to say, the value is absent.
//!
//! | slot | what it says |
//! |---|---|
//! | `{bin}`, `{bbl}`, `{street}` ... | a fact of the building, a variable of the file, or a value of the series |
//! | `{parent NAME}` | a value of the record this one belongs to |
//! | `{seq N}` | N plus the record's number |
//! | `{int A..B}`, `{int A..B/STEP}` | a whole number |
//! | `{digits N}`, `{letter}`, `{apt}`, `{company}` | what the name says |
//! | `{pick a\|b\|c}` | one of them |
//! | `{date FORMAT}`, `{date+A..B FORMAT}`, `{date-A..B FORMAT}` | the record's day, or one some days later or before |
//! | `{= a - b * c}` | sums over variables and numbers, from left to right |
//!
//! A slot may end in a format: `:05` pads with zeros, `:<30` with blanks behind, `:.8` prints so many decimals.

use rust_decimal::Decimal;
use time::{Date, Duration};

use crate::{day::FORMATS, seed::Seed};

/// A value's template.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Template {
    conditions: Vec<Condition>,
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq)]
enum Condition {
    Closed,
    Open,
    /// In so many of a hundred records.
    Percent(u64),
    /// Where the record is of a condominium unit.
    Unit,
    /// Where the building is a condominium.
    Condo,
}

#[derive(Debug, Clone, PartialEq)]
enum Piece {
    Literal(String),
    Slot(Slot, Format),
}

#[derive(Debug, Clone, PartialEq)]
enum Slot {
    Name(String),
    Parent(String),
    Seq(u64),
    Int { from: i64, to: i64, step: i64 },
    Digits(usize),
    Letter,
    Apartment,
    Company,
    Pick(Vec<String>),
    Date { from: i64, to: i64, format: String },
    Sum(Vec<String>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Plain,
    Zeros(usize),
    Blanks(usize),
    Decimals(u32),
}

/// A template that does not read, or that asks for what is not there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("in {template:?}: {why}")]
pub(crate) struct TemplateError {
    pub(crate) template: String,
    pub(crate) why: String,
}

/// What a template may ask of its record.
pub(crate) trait Context {
    /// The record's own number in its dataset.
    fn ordinal(&self) -> u64;
    /// The record's day.
    fn day(&self) -> Date;
    fn closed(&self) -> bool;
    fn is_unit(&self) -> bool;
    fn is_condo(&self) -> bool;
    /// A fact or a variable: `None` is no such name, `Some(None)` a name with nothing to say.
    fn name(&self, name: &str) -> Option<Option<String>>;
    /// A value of the record this one belongs to.
    fn parent(&self, name: &str) -> Option<Option<String>>;
}

impl Template {
    pub(crate) fn parse(text: &str) -> Result<Self, TemplateError> {
        let fail = |why: String| TemplateError {
            template: text.to_owned(),
            why,
        };
        let (conditions, rest) = conditions(text);
        let mut pieces = Vec::new();
        let mut rest = rest;
        while let Some((before, after)) = rest.split_once('{') {
            if !before.is_empty() {
                pieces.push(Piece::Literal(before.to_owned()));
            }
            let (inside, after) =
                (after.split_once('}')).ok_or_else(|| fail("a brace is not closed".into()))?;
            let (body, format) = format_of(inside);
            let slot = slot(body).ok_or_else(|| fail(format!("{inside:?} is no slot")))?;
            pieces.push(Piece::Slot(slot, format));
            rest = after;
        }
        if !rest.is_empty() {
            pieces.push(Piece::Literal(rest.to_owned()));
        }
        Ok(Self { conditions, pieces })
    }

    /// The value; `None` where it is absent.
    pub(crate) fn fill(
        &self,
        context: &impl Context,
        seed: &mut Seed,
    ) -> Result<Option<String>, TemplateError> {
        for condition in &self.conditions {
            let holds = match condition {
                Condition::Closed => context.closed(),
                Condition::Open => !context.closed(),
                Condition::Percent(percent) => seed.below(100) < *percent,
                Condition::Unit => context.is_unit(),
                Condition::Condo => context.is_condo(),
            };
            if !holds {
                return Ok(None);
            }
        }
        let mut value = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Literal(text) => value.push_str(text),
                Piece::Slot(slot, format) => {
                    let filled = slot.fill(context, seed).map_err(|why| TemplateError {
                        template: format!("{slot:?}"),
                        why,
                    })?;
                    match filled {
                        Some(text) => format.push(&text, &mut value),
                        None => return Ok(None),
                    }
                }
            }
        }
        Ok((!value.is_empty()).then_some(value))
    }
}

fn conditions(text: &str) -> (Vec<Condition>, &str) {
    let Some((before, after)) = text.split_once(':') else {
        return (Vec::new(), text);
    };
    let read: Option<Vec<Condition>> = (before.split_whitespace())
        .map(|word| match word {
            "closed" => Some(Condition::Closed),
            "open" => Some(Condition::Open),
            "unit" => Some(Condition::Unit),
            "condo" => Some(Condition::Condo),
            _ => word.strip_suffix('%')?.parse().ok().map(Condition::Percent),
        })
        .collect();
    match read {
        Some(conditions) if !conditions.is_empty() => (conditions, after.trim_start()),
        _ => (Vec::new(), text),
    }
}

fn format_of(inside: &str) -> (&str, Format) {
    let Some((body, format)) = inside.rsplit_once(':') else {
        return (inside, Format::Plain);
    };
    let number = |text: &str| text.parse().ok();
    let read = if let Some(width) = format.strip_prefix('<') {
        number(width).map(Format::Blanks)
    } else if let Some(decimals) = format.strip_prefix('.') {
        decimals.parse().ok().map(Format::Decimals)
    } else if let Some(width) = format.strip_prefix('0') {
        number(width).map(Format::Zeros)
    } else {
        None
    };
    match read {
        Some(format) => (body, format),
        None => (inside, Format::Plain),
    }
}

fn slot(body: &str) -> Option<Slot> {
    let (head, rest) = body.split_once(' ').unwrap_or((body, ""));
    Some(match head {
        "=" => Slot::Sum(rest.split_whitespace().map(str::to_owned).collect()),
        "seq" => Slot::Seq(rest.parse().ok()?),
        "int" => {
            let (range, step) = rest.split_once('/').unwrap_or((rest, "1"));
            let (from, to) = range.split_once("..")?;
            let (from, to): (i64, i64) = (from.parse().ok()?, to.parse().ok()?);
            let step: i64 = step.parse().ok()?;
            if to < from || step < 1 {
                return None;
            }
            Slot::Int { from, to, step }
        }
        "digits" => Slot::Digits(rest.parse().ok()?),
        "letter" => Slot::Letter,
        "apt" => Slot::Apartment,
        "company" => Slot::Company,
        "pick" => Slot::Pick(rest.split('|').map(str::to_owned).collect()),
        "parent" if !rest.is_empty() => Slot::Parent(rest.to_owned()),
        _ if head.starts_with("date") && FORMATS.iter().any(|(name, _)| *name == rest) => {
            let shift = head.strip_prefix("date")?;
            let (from, to) = match (shift.strip_prefix('+'), shift.strip_prefix('-')) {
                (Some(range), _) => {
                    let (from, to) = range.split_once("..")?;
                    (from.parse().ok()?, to.parse().ok()?)
                }
                (_, Some(range)) => {
                    let (from, to) = range.split_once("..")?;
                    (-to.parse::<i64>().ok()?, -from.parse::<i64>().ok()?)
                }
                _ if shift.is_empty() => (0, 0),
                _ => return None,
            };
            Slot::Date {
                from,
                to,
                format: rest.to_owned(),
            }
        }
        _ if rest.is_empty() && !head.is_empty() => Slot::Name(head.to_owned()),
        _ => return None,
    })
}

impl Slot {
    fn fill(&self, context: &impl Context, seed: &mut Seed) -> Result<Option<String>, String> {
        let unknown = |name: &str| format!("nothing is called {name:?}");
        Ok(match self {
            Self::Name(name) => context.name(name).ok_or_else(|| unknown(name))?,
            Self::Parent(name) => context.parent(name).ok_or_else(|| unknown(name))?,
            Self::Seq(from) => Some((from + context.ordinal()).to_string()),
            Self::Int { from, to, step } => {
                let steps = (to - from) / step + 1;
                Some((from + seed.below(steps.unsigned_abs()) as i64 * step).to_string())
            }
            Self::Digits(count) => Some(
                (0..*count)
                    .map(|_| char::from(b'0' + seed.below(10) as u8))
                    .collect(),
            ),
            Self::Letter => Some(char::from(b'A' + seed.below(26) as u8).to_string()),
            Self::Apartment => Some(format!(
                "{}{}",
                1 + seed.below(9),
                char::from(b'A' + seed.below(8) as u8)
            )),
            Self::Company => Some(company(seed)),
            Self::Pick(choices) => choices
                .get(seed.below(choices.len() as u64) as usize)
                .cloned(),
            Self::Date { from, to, format } => {
                let shift = from + seed.below((to - from + 1).unsigned_abs()) as i64;
                let day = context.day().saturating_add(Duration::days(shift));
                (FORMATS.iter().find(|(name, _)| name == format)).map(|(_, write)| write(day, seed))
            }
            Self::Sum(terms) => sum(terms, context)?,
        })
    }
}

/// `a - b * c`, from left to right.
fn sum(terms: &[String], context: &impl Context) -> Result<Option<String>, String> {
    let value = |term: &str| -> Result<Option<Decimal>, String> {
        if let Ok(number) = term.parse() {
            return Ok(Some(number));
        }
        let named = (context.name(term)).ok_or_else(|| format!("nothing is called {term:?}"))?;
        match named {
            Some(text) => (text.parse().map(Some)).map_err(|_| format!("{term} is no number")),
            None => Ok(None),
        }
    };
    let [first, rest @ ..] = terms else {
        return Err("a sum of nothing".to_owned());
    };
    let Some(mut total) = value(first)? else {
        return Ok(None);
    };
    for pair in rest.chunks(2) {
        let [op, term] = pair else {
            return Err("a sum with a loose end".to_owned());
        };
        let Some(term) = value(term)? else {
            return Ok(None);
        };
        let result = match op.as_str() {
            "+" => total.checked_add(term),
            "-" => total.checked_sub(term),
            "*" => total.checked_mul(term),
            "/" => total.checked_div(term).map(|result| result.round_dp(2)),
            _ => None,
        };
        total = result.ok_or_else(|| format!("{op} {term} cannot be done"))?;
    }
    Ok(Some(total.normalize().to_string()))
}

/// A company that does not exist.
pub(crate) fn company(seed: &mut Seed) -> String {
    const FIRST: [&str; 24] = [
        "HARBOR LANTERN",
        "COBBLE & STOOP",
        "NORTH CORNICE",
        "TALL ELM",
        "IRON GATE",
        "BLUE AWNING",
        "FIFTH LANDING",
        "GRANITE STEP",
        "QUIET COURT",
        "RIVER LINTEL",
        "EAST PARAPET",
        "OLD CISTERN",
        "BRASS KNOCKER",
        "SLATE ROOF",
        "GREEN TRANSOM",
        "WEST MEWS",
        "COPPER EAVE",
        "LONG HALL",
        "WHITE GABLE",
        "BRICK & MORTISE",
        "SOUTH AREAWAY",
        "HIGH DORMER",
        "STONE BALUSTER",
        "THIRD RAIL YARD",
    ];
    const LAST: [&str; 8] = [
        "REALTY LLC",
        "HOLDINGS LLC",
        "PROPERTIES INC",
        "ASSOCIATES LP",
        "MANAGEMENT CORP",
        "ESTATES LLC",
        "BUILDING CO INC",
        "HOUSING FUND CORP",
    ];
    let first = FIRST.get(seed.below(FIRST.len() as u64) as usize);
    let last = LAST.get(seed.below(LAST.len() as u64) as usize);
    format!("{} {}", first.unwrap_or(&"SAMPLE"), last.unwrap_or(&"LLC"))
}

impl Format {
    fn push(self, text: &str, value: &mut String) {
        match self {
            Self::Plain => value.push_str(text),
            Self::Zeros(width) => value.push_str(&format!("{text:0>width$}")),
            Self::Blanks(width) => value.push_str(&format!("{text:<width$}")),
            Self::Decimals(places) => match text.parse::<Decimal>() {
                Ok(mut number) => {
                    number.rescale(places);
                    value.push_str(&number.to_string());
                }
                Err(_) => value.push_str(text),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use time::macros::date;

    use super::*;

    struct Fixed;

    impl Context for Fixed {
        fn ordinal(&self) -> u64 {
            7
        }
        fn day(&self) -> Date {
            date!(2024 - 02 - 28)
        }
        fn closed(&self) -> bool {
            true
        }
        fn is_unit(&self) -> bool {
            false
        }
        fn is_condo(&self) -> bool {
            true
        }
        fn name(&self, name: &str) -> Option<Option<String>> {
            match name {
                "lot" => Some(Some("41".into())),
                "penalty" => Some(Some("500.25".into())),
                "paid" => Some(Some("600".into())),
                "bin" => Some(None),
                _ => None,
            }
        }
        fn parent(&self, name: &str) -> Option<Option<String>> {
            (name == "id").then(|| Some("9".into()))
        }
    }

    fn fill(text: &str) -> Result<Option<String>, TemplateError> {
        Template::parse(text)?.fill(&Fixed, &mut Seed::new(&[b"test"]))
    }

    #[test]
    fn slots_and_formats() {
        for (template, value) in [
            ("{lot:05}", Some("00041")),
            ("{lot:.3}", Some("41.000")),
            ("{lot:<5}|", Some("41   |")),
            ("V{seq 100}", Some("V107")),
            ("{= penalty - paid}", Some("-99.75")),
            ("{date us}", Some("02/28/2024")),
            ("{date+2..2 ymd}", Some("20240301")),
            ("{date-28..28 day}", Some("2024-01-31")),
            ("{parent id}", Some("9")),
            ("closed: yes", Some("yes")),
            ("open: yes", None),
            ("closed unit: yes", None),
            ("0%: yes", None),
            ("100% condo: yes", Some("yes")),
            ("{bin}", None),
            ("at 08:30: {lot}", Some("at 08:30: 41")),
            ("{pick CLASS - 1}", Some("CLASS - 1")),
        ] {
            assert_eq!(
                fill(template).as_ref().map(Option::as_deref),
                Ok(value),
                "{template}"
            );
        }
    }

    #[test]
    fn what_does_not_read_is_refused() {
        for template in [
            "{lot",
            "{int 5..1}",
            "{int a..b}",
            "{date nowhere}",
            "{nothing here}",
            "{unheard_of}",
        ] {
            assert!(fill(template).is_err(), "{template}");
        }
    }
}
