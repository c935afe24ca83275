//! The parts of a file that say how its dataset is asked and summed up.

use std::collections::HashSet;

use time::{Date, Duration, Month};

use super::{
    check::{CatalogueError, Checker},
    spec::{
        Fetch, Form, Layout, OrderBy, Part, RawMatch, RawOrder, RawSummary, RawWhere, SummaryOf,
    },
};
use crate::{
    FieldKind,
    matching::{KeyColumn, MatchRule},
    order::{Order, OrderKey},
    shape::Shape,
    summary::{Holds, Summary, Test},
};

impl Checker<'_> {
    /// The ways to ask, in order. One by BIN also knows how the lot is asked.
    pub(super) fn rules(
        &self,
        raw: &[RawMatch],
        fetch: Fetch,
        shape: Option<&Shape>,
    ) -> Result<Vec<MatchRule>, CatalogueError> {
        let mut rules = raw
            .iter()
            .enumerate()
            .map(|(at, rule)| self.rule(at, rule, fetch, shape))
            .collect::<Result<Vec<_>, _>>()?;
        let by_lot = rules
            .iter()
            .find(|rule| !rule.by_bin())
            .map(|rule| rule.columns.clone())
            .unwrap_or_default();
        for (at, rule) in rules.iter_mut().enumerate() {
            if rule.by_bin() {
                rule.by_lot.clone_from(&by_lot);
            }
            if rule.gaps && rule.by_lot.is_empty() {
                return self.fault(format!("match {}", at + 1), "gaps: of a BIN beside a lot");
            }
        }
        Ok(rules)
    }

    fn rule(
        &self,
        at: usize,
        raw: &RawMatch,
        fetch: Fetch,
        shape: Option<&Shape>,
    ) -> Result<MatchRule, CatalogueError> {
        let field = format!("match {}", at + 1);
        let mut parts: Vec<Part> = raw.columns.iter().map(|part| part.part).collect();
        parts.sort_by_key(|part| *part as u8);
        let whole = matches!(
            parts.as_slice(),
            [Part::Bin] | [Part::Bbl] | [Part::Borough, Part::Block, Part::Lot]
        );
        if !whole {
            return self.fault(
                field,
                "is neither a BIN, nor a BBL, nor borough, block and lot",
            );
        }
        let columns = raw
            .columns
            .iter()
            .map(|part| {
                let form_fits = match part.form {
                    Form::Digits => true,
                    Form::Dashed => part.part == Part::Bbl,
                    Form::NameUpper
                    | Form::NameTitle
                    | Form::NameShort
                    | Form::Letters
                    | Form::DigitOrName => part.part == Part::Borough,
                };
                if !form_fits {
                    return self.fault(&field, format!("{}: the form does not fit", part.column));
                }
                if part.listed && (fetch == Fetch::Newest || raw.columns.len() > 1) {
                    let why = "a list is looked through here: fetch = \"all\", one column";
                    return self.fault(&field, format!("{}: {why}", part.column));
                }
                Ok(KeyColumn {
                    column: match shape {
                        Some(shape) => self.known(&field, &part.column, shape)?,
                        None => self.column(&field, &part.column)?,
                    },
                    part: part.part,
                    literal: part.literal,
                    widths: if part.widths.is_empty() {
                        vec![0]
                    } else {
                        part.widths.clone()
                    },
                    form: part.form,
                    starts_with: part.starts_with,
                    listed: part.listed,
                })
            })
            .collect::<Result<Vec<_>, _>>()?;
        Ok(MatchRule {
            columns,
            by_lot: Vec::new(),
            gaps: raw.gaps,
        })
    }

    pub(super) fn order(
        &self,
        raw: &[RawOrder],
        fetch: Fetch,
        shape: &Shape,
    ) -> Result<Order, CatalogueError> {
        let mut keys = Vec::new();
        for order in raw {
            let field = format!("order {}", order.column);
            let layout = match (order.by, order.layout) {
                (OrderBy::Date, None) => return self.fault(field, "a date has a layout"),
                (OrderBy::Date, Some(Layout::Mixed)) if fetch == Fetch::Newest => {
                    return self.fault(
                        field,
                        "text order is not time order: only fetch = \"all\" can sort it",
                    );
                }
                (OrderBy::Date, Some(layout)) => layout,
                (_, Some(_)) => return self.fault(field, "only a date has a layout"),
                (_, None) => Layout::Mixed,
            };
            if order.doubtful && fetch == Fetch::Newest {
                return self.fault(
                    field,
                    "a doubtful column is never asked by: fetch = \"all\"",
                );
            }
            let oldest = Date::from_calendar_date(order.from_year, Month::January, 1)
                .or_else(|error| self.fault(&field, error.to_string()))?;
            keys.push(OrderKey {
                column: self.known(&field, &order.column, shape)?,
                by: order.by,
                layout,
                descending: order.descending,
                oldest,
                ahead: Duration::days(order.days_ahead.into()),
                doubtful: order.doubtful,
            });
        }
        Ok(Order { keys })
    }

    pub(super) fn summary(
        &self,
        raw: &RawSummary,
        fetch: Fetch,
        shape: &Shape,
        names: &mut HashSet<String>,
    ) -> Result<Summary, CatalogueError> {
        const GENERAL: [&str; 7] = [
            "records",
            "record_count",
            "records_truncated",
            "matched_by",
            "source_url",
            "source_updated_at",
            "stale",
        ];
        let field = format!("summary {}", raw.name);
        if GENERAL.contains(&raw.name.as_str()) || !names.insert(raw.name.clone()) {
            return self.fault(field, "the name is taken");
        }
        if raw.tells.trim().is_empty() {
            return self.fault(field, "tells nothing");
        }
        let needs_column = matches!(
            raw.of,
            SummaryOf::CountBy | SummaryOf::Sum | SummaryOf::Distinct | SummaryOf::First
        );
        let column = match (&raw.column, needs_column) {
            (Some(column), true) => self.known(&field, column, shape)?.as_str().to_owned(),
            (None, false) => String::new(),
            (Some(_), false) => return self.fault(field, "takes no column"),
            (None, true) => return self.fault(field, "needs a column"),
        };
        if raw.of == SummaryOf::Sum
            && !matches!(
                shape.kind(&column),
                Some(FieldKind::Money | FieldKind::Number)
            )
        {
            return self.fault(field, "adds up what is no number");
        }
        let takes_conditions = matches!(
            raw.of,
            SummaryOf::Count | SummaryOf::CountBy | SummaryOf::Sum | SummaryOf::Any
        ) || (fetch == Fetch::All
            && matches!(raw.of, SummaryOf::Distinct | SummaryOf::First));
        if !raw.conditions.is_empty() && !takes_conditions {
            return self.fault(field, "takes no conditions");
        }
        if raw.upto.is_some() && raw.of != SummaryOf::CountBy {
            return self.fault(field, "only count_by takes upto");
        }
        Ok(Summary {
            name: raw.name.clone(),
            of: raw.of,
            tells: raw.tells.clone(),
            column,
            upto: raw.upto.clone(),
            conditions: raw
                .conditions
                .iter()
                .map(|test| self.test(&field, test, fetch, shape))
                .collect::<Result<_, _>>()?,
        })
    }

    fn test(
        &self,
        field: &str,
        raw: &RawWhere,
        fetch: Fetch,
        shape: &Shape,
    ) -> Result<Test, CatalogueError> {
        self.known(field, &raw.column, shape)?;
        if raw.newest_fiscal_year.is_some() && fetch == Fetch::Newest {
            return self.fault(field, "the newest year is known of every row only");
        }
        let mut holds = [
            raw.one_of.clone().map(Holds::In),
            raw.not_in.clone().map(Holds::NotIn),
            raw.starts_with.clone().map(Holds::StartsWith),
            raw.contains.clone().map(Holds::Contains),
            raw.lacks.clone().map(Holds::Lacks),
            raw.null.map(Holds::Null),
            raw.to_come.map(|_| Holds::ToCome),
            raw.at_least
                .and_then(|least| least.to_string().parse().ok())
                .map(Holds::AtLeast),
            raw.newest_fiscal_year.map(|_| Holds::NewestFiscalYear),
        ]
        .into_iter()
        .flatten();
        match (holds.next(), holds.next()) {
            (Some(holds), None) => Ok(Test {
                column: raw.column.clone(),
                holds,
            }),
            _ => self.fault(field, format!("where {}: exactly one test", raw.column)),
        }
    }
}
