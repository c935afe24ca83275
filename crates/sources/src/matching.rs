//! How a dataset names a building: from the keys of a subject to a condition.

use brownstone_domain::{Bbl, Bin, Borough, MatchedBy, Record};
use brownstone_soda::{Column, Condition, Literal};

use crate::catalogue::spec::{Form, LiteralType, Part};

/// The keys a query is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Keys {
    /// Buildings, and lots that are asked for beside them.
    Bins {
        bins: Vec<Bin>,
        lots: Vec<Bbl>,
        /// Whether every row of the lots is asked for; else those that name no building.
        whole: bool,
    },
    /// Rows of the lots that name no building.
    Unnamed(Vec<Bbl>),
    Lots {
        lots: Vec<Bbl>,
        unit: bool,
        /// Keys of the condominiums that the lots are asked for, where others may stand on them, too.
        condominiums: Vec<String>,
    },
}

impl Keys {
    pub(crate) const fn bins(bins: Vec<Bin>) -> Self {
        Self::Bins {
            bins,
            lots: Vec::new(),
            whole: false,
        }
    }

    pub(crate) const fn lots(lots: Vec<Bbl>) -> Self {
        Self::Lots {
            lots,
            unit: false,
            condominiums: Vec::new(),
        }
    }

    /// The keys in parts that one request can carry.
    pub(crate) fn in_parts(&self) -> Vec<Self> {
        match self {
            Self::Bins { bins, lots, whole } => bins
                .chunks(Condition::MAX_IN)
                .enumerate()
                .map(|(at, part)| Self::Bins {
                    bins: part.to_vec(),
                    // Asked for once, or they would count with every part.
                    lots: if at == 0 { lots.clone() } else { Vec::new() },
                    whole: *whole,
                })
                .collect(),
            Self::Unnamed(_) | Self::Lots { .. } => vec![self.clone()],
        }
    }

    pub(crate) fn matched_by(&self) -> MatchedBy {
        match self {
            Self::Bins { .. } => MatchedBy::Bin,
            Self::Lots { unit: true, .. } => MatchedBy::UnitBbl,
            Self::Unnamed(_) | Self::Lots { unit: false, .. } => MatchedBy::Bbl,
        }
    }
}

/// One column of a rule, and how the dataset writes its part of the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyColumn {
    pub(crate) column: Column,
    pub(crate) part: Part,
    pub(crate) literal: LiteralType,
    /// Zero-padded widths, 0 unpadded; never empty.
    pub(crate) widths: Vec<usize>,
    pub(crate) form: Form,
    pub(crate) starts_with: bool,
    /// Whether the column holds a list of values.
    pub(crate) listed: bool,
}

/// One way to ask: all of its columns together name a building or a lot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MatchRule {
    pub(crate) columns: Vec<KeyColumn>,
    /// How the lot is asked for beside the BIN; empty where the source has no such way.
    pub(crate) by_lot: Vec<KeyColumn>,
    /// Whether rows may lack the BIN.
    pub(crate) gaps: bool,
}

impl MatchRule {
    /// Whether the rule asks by BIN; the others ask by lot.
    pub(crate) fn by_bin(&self) -> bool {
        self.columns.iter().any(|column| column.part == Part::Bin)
    }

    /// The ways to write the key: a bit is a column that is written with the other type than the catalogue states. As
    /// stated first, then with as few changes as can be.
    pub(crate) fn writings(&self) -> Vec<u8> {
        let columns = self.columns.len() + self.by_lot.len();
        let columns = u32::try_from(columns).unwrap_or(u32::MAX).min(7);
        let mut all: Vec<u8> = (0..1 << columns).collect();
        all.sort_by_key(|writing| writing.count_ones());
        all
    }

    /// The condition for `keys`; `None` when the rule does not take such keys, or there are none.
    pub(crate) fn condition(&self, keys: &Keys, writing: u8) -> Option<Condition> {
        let other = |at: usize| writing & 1_u8.checked_shl(at as u32).unwrap_or(0) != 0;
        match keys {
            Keys::Bins { bins, lots, whole } if self.by_bin() => {
                let [part] = self.columns.as_slice() else {
                    return None;
                };
                let values = bins.iter().flat_map(|bin| part.bin(*bin, other(0)));
                let named = part.holds(values.collect())?;
                let beside = if *whole {
                    of_lots(&self.by_lot, lots, |at| other(at + 1))
                } else {
                    self.unnamed(lots, other)
                };
                Some(match beside {
                    Some(beside) => named.or(beside),
                    None => named,
                })
            }
            Keys::Unnamed(lots) if self.by_bin() => self.unnamed(lots, other),
            Keys::Lots { lots, .. } if !self.by_bin() => of_lots(&self.columns, lots, other),
            _ => None,
        }
    }

    /// Rows of the lots that name no building.
    fn unnamed(&self, lots: &[Bbl], other: impl Fn(usize) -> bool) -> Option<Condition> {
        let [bin] = self.columns.as_slice() else {
            return None;
        };
        let mut placeholders: Vec<Literal> = Vec::new();
        for lot in lots {
            for literal in bin.no_bin(lot.borough(), other(0)) {
                if !placeholders.contains(&literal) {
                    placeholders.push(literal);
                }
            }
        }
        let placeholder = Condition::any_of(bin.column.clone(), placeholders)?;
        let on_lots = of_lots(&self.by_lot, lots, |at| other(at + 1))?;
        Some(on_lots.and(Condition::Null(bin.column.clone()).or(placeholder)))
    }

    /// Whether a record is about one of the keys. The publisher's own comparison says so, but for a list, in which it
    /// finds the digits of one number inside another, too.
    pub(crate) fn admits(&self, record: &Record, keys: &Keys) -> bool {
        let [part] = self.columns.as_slice() else {
            return true;
        };
        if !part.listed {
            return true;
        }
        let wanted: Vec<Literal> = match keys {
            Keys::Bins { bins, .. } => bins.iter().flat_map(|bin| part.bin(*bin, false)).collect(),
            Keys::Lots { lots, .. } | Keys::Unnamed(lots) => lots
                .iter()
                .flat_map(|lot| part.of_lot(*lot, false))
                .collect(),
        };
        let list = record.text(part.column.as_str()).unwrap_or_default();
        list.split(|c: char| !c.is_ascii_alphanumeric())
            .any(|listed| wanted.contains(&Literal::from(listed)))
    }
}

/// The condition that names the lots by these columns.
fn of_lots(
    columns: &[KeyColumn],
    lots: &[Bbl],
    other: impl Fn(usize) -> bool,
) -> Option<Condition> {
    if let [part] = columns {
        let values = lots.iter().flat_map(|lot| part.of_lot(*lot, other(0)));
        return part.holds(values.collect());
    }
    if columns.is_empty() {
        return None;
    }
    let mut any = lots.iter().filter_map(|lot| {
        let all: Option<Vec<Condition>> = columns
            .iter()
            .enumerate()
            .map(|(at, part)| part.holds(part.of_lot(*lot, other(at))))
            .collect();
        all.map(Condition::And)
    });
    let first = any.next()?;
    Some(any.fold(first, Condition::or))
}

impl KeyColumn {
    /// `column = value`, or any of the values.
    fn holds(&self, mut values: Vec<Literal>) -> Option<Condition> {
        values.dedup();
        let part_of_text: Option<fn(Column, String) -> Condition> =
            match (self.starts_with, self.listed) {
                (true, _) => Some(Condition::StartsWith),
                (false, true) => Some(Condition::Contains),
                (false, false) => None,
            };
        if let Some(part_of_text) = part_of_text {
            let mut any = values.into_iter().filter_map(|value| match value {
                Literal::Text(text) => Some(part_of_text(self.column.clone(), text)),
                Literal::Number(_) | Literal::Bool(_) => None,
            });
            let first = any.next()?;
            return Some(any.fold(first, Condition::or));
        }
        if values.len() == 1 {
            return Some(Condition::Eq(self.column.clone(), values.pop()?));
        }
        Condition::any_of(self.column.clone(), values)
    }

    fn bin(&self, bin: Bin, other_types: bool) -> Vec<Literal> {
        self.number(u64::from(bin.get()), other_types)
    }

    /// What stands where no building is known: a borough's million, or zeros.
    fn no_bin(&self, borough: Borough, other_types: bool) -> Vec<Literal> {
        let million = u64::from(borough.digit()) * 1_000_000;
        let mut all = self.number(million, other_types);
        all.extend(self.number(0, other_types));
        if let Some(Literal::Text(_)) = all.last() {
            all.push(Literal::from("0000000"));
        }
        all
    }

    fn of_lot(&self, lot: Bbl, other_types: bool) -> Vec<Literal> {
        match self.part {
            // A BIN is no part of a lot; validation keeps such rules out.
            Part::Bin => Vec::new(),
            Part::Block => self.number(u64::from(lot.block()), other_types),
            Part::Lot => self.number(u64::from(lot.lot()), other_types),
            Part::Borough => match self.form {
                Form::Digits | Form::Dashed => {
                    self.number(u64::from(lot.borough().digit()), other_types)
                }
                Form::DigitOrName => {
                    let mut ways = self.number(u64::from(lot.borough().digit()), other_types);
                    if matches!(ways.as_slice(), [Literal::Text(_)]) {
                        ways.push(Literal::Text(borough_name(lot.borough(), self.form)));
                    }
                    ways
                }
                form => vec![Literal::Text(borough_name(lot.borough(), form))],
            },
            Part::Bbl => match self.form {
                Form::Dashed => vec![Literal::Text(format!(
                    "{}-{:05}-{:04}",
                    lot.borough().digit(),
                    lot.block(),
                    lot.lot()
                ))],
                _ => {
                    let digits = u64::from(lot.borough().digit()) * 1_000_000_000
                        + u64::from(lot.block()) * 10_000
                        + u64::from(lot.lot());
                    self.number(digits, other_types)
                }
            },
        }
    }

    fn number(&self, number: u64, other_types: bool) -> Vec<Literal> {
        let bare = (self.literal == LiteralType::Number) != other_types;
        match i64::try_from(number) {
            Ok(number) if bare => vec![Literal::Number(number)],
            _ => self
                .widths
                .iter()
                .map(|width| Literal::Text(format!("{number:0width$}")))
                .collect(),
        }
    }
}

fn borough_name(borough: Borough, form: Form) -> String {
    match form {
        Form::NameTitle => borough.name().to_owned(),
        Form::Letters => borough.letters().to_owned(),
        Form::NameShort if borough == Borough::StatenIsland => "STATEN IS".to_owned(),
        Form::NameUpper | Form::NameShort | Form::DigitOrName => borough.name().to_uppercase(),
        Form::Digits | Form::Dashed => borough.digit().to_string(),
    }
}
