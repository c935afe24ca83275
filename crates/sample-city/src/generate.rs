//! A dataset's file to its records.

use std::collections::HashMap;

use time::{Date, Duration};

use crate::{
    buildings::{Building, BuildingKind, Unit, buildings},
    market,
    seed::Seed,
    spec::{Block, Each, Spec, Value as Templates, Which},
    template::{Context, TemplateError, company},
};

/// A record: its cells in column order, and what else is known of it.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    subject: Subject,
    day: Date,
    closed: bool,
    pub(crate) cells: Vec<Option<String>>,
    /// The cells by column, and the variables.
    values: HashMap<String, Option<String>>,
}

impl Record {
    /// Whether it is of this building.
    #[cfg(test)]
    pub(crate) fn is_of(&self, building: &Building) -> bool {
        (self.subject.building).is_some_and(|of| of.bbl == building.bbl && of.bin == building.bin)
    }
}

/// What a record is of.
#[derive(Debug, Clone, Copy)]
struct Subject {
    building: Option<&'static Building>,
    unit: Option<&'static Unit>,
    /// Which of the condominium's base lots.
    base: Option<usize>,
}

/// The records of a dataset. `parent` are those they belong to.
pub(crate) fn records(spec: &Spec, parent: &[Record]) -> Result<Vec<Record>, TemplateError> {
    let mut maker = Maker {
        spec,
        records: Vec::new(),
    };
    for (at, block) in spec.records.iter().enumerate() {
        maker.block(at, block, parent)?;
    }
    Ok(maker.records)
}

struct Maker<'a> {
    spec: &'a Spec,
    records: Vec<Record>,
}

impl Maker<'_> {
    fn block(&mut self, at: usize, block: &Block, parent: &[Record]) -> Result<(), TemplateError> {
        match block.each {
            Each::Row => {
                for row in &block.data {
                    self.row(row);
                }
                Ok(())
            }
            Each::Parent => {
                for (number, record) in parent.iter().enumerate() {
                    let seed = self.seed(at, &[number as u64]);
                    self.times(block, record.subject, seed, Some(record))?;
                }
                Ok(())
            }
            _ => self.subjects(at, block),
        }
    }

    fn seed(&self, block: usize, parts: &[u64]) -> Seed {
        let mut all = vec![
            self.spec.id.as_bytes().to_vec(),
            block.to_le_bytes().to_vec(),
        ];
        all.extend(parts.iter().map(|part| part.to_le_bytes().to_vec()));
        Seed::new(&all.iter().map(Vec::as_slice).collect::<Vec<_>>())
    }

    fn subjects(&mut self, at: usize, block: &Block) -> Result<(), TemplateError> {
        let subjects: Vec<Subject> = (subjects(block).into_iter())
            .filter(|subject| {
                let known = |need: &String| matches!(fact(subject, need), Some(Some(_)));
                self.spec.needs.iter().all(known)
            })
            .collect();
        match block.total {
            Some(total) if !subjects.is_empty() => {
                for number in 0..total {
                    let mut seed = self.seed(at, &[number]);
                    let drawn = seed.below(subjects.len() as u64) as usize;
                    if let Some(subject) = subjects.get(drawn) {
                        self.one(block, *subject, &mut seed, None)?;
                    }
                }
            }
            Some(_) => {}
            None => {
                for (number, subject) in subjects.into_iter().enumerate() {
                    let seed = self.seed(at, &[number as u64]);
                    self.times(block, subject, seed, None)?;
                }
            }
        }
        Ok(())
    }

    fn times(
        &mut self,
        block: &Block,
        subject: Subject,
        mut seed: Seed,
        parent: Option<&Record>,
    ) -> Result<(), TemplateError> {
        let (from, to) = block.rows;
        for _ in 0..from + seed.below(to - from + 1) {
            self.one(block, subject, &mut seed, parent)?;
        }
        Ok(())
    }

    /// One record, once for each value of the series.
    fn one(
        &mut self,
        block: &Block,
        subject: Subject,
        seed: &mut Seed,
        parent: Option<&Record>,
    ) -> Result<(), TemplateError> {
        let (from, to) = block.dates.unwrap_or(self.spec.dates);
        let days = (to - from).whole_days().unsigned_abs();
        // What belongs to a record has its day and its state.
        let day = parent.map_or_else(
            || from.saturating_add(Duration::days(seed.below(days + 1) as i64)),
            |parent| parent.day,
        );
        let closed = parent.map_or_else(
            || seed.below(100) < self.spec.closed,
            |parent| parent.closed,
        );
        let start = seed.next();
        for series in combinations(&block.series) {
            let mut context = Filled {
                ordinal: self.records.len() as u64,
                day,
                closed,
                subject,
                parent,
                values: series
                    .into_iter()
                    .map(|(name, value)| (name.to_owned(), Some(value.to_owned())))
                    .collect(),
            };
            let set = |name: &str| {
                (block.set.iter().find(|(known, _)| known == name)).map(|(_, value)| value)
            };
            for (name, value) in &self.spec.vars {
                let value = fill(set(name).unwrap_or(value), &context, start, name)?;
                context.values.entry(name.clone()).or_insert(value);
            }
            let mut cells = Vec::with_capacity(self.spec.columns.len());
            for column in &self.spec.columns {
                let templates = set(&column.name).unwrap_or(&column.value);
                let cell = fill(templates, &context, start, &column.name)?;
                cells.push(cell);
            }
            let mut values = context.values;
            for (column, cell) in self.spec.columns.iter().zip(&cells) {
                values
                    .entry(column.name.clone())
                    .or_insert_with(|| cell.clone());
            }
            self.records.push(Record {
                subject,
                day,
                closed,
                cells,
                values,
            });
        }
        Ok(())
    }

    fn row(&mut self, row: &[String]) {
        let cells: Vec<Option<String>> = (0..self.spec.columns.len())
            .map(|at| row.get(at).filter(|text| !text.is_empty()).cloned())
            .collect();
        self.records.push(Record {
            subject: Subject {
                building: None,
                unit: None,
                base: None,
            },
            day: self.spec.dates.0,
            closed: true,
            values: (self.spec.columns.iter().zip(&cells))
                .map(|(column, cell)| (column.name.clone(), cell.clone()))
                .collect(),
            cells,
        });
    }
}

/// The first of the templates that says anything.
fn fill(
    templates: &Templates,
    context: &Filled<'_>,
    start: u64,
    name: &str,
) -> Result<Option<String>, TemplateError> {
    for (at, template) in templates.iter().enumerate() {
        let ordinal = context.ordinal.to_le_bytes();
        let mut seed = Seed::new(&[&start.to_le_bytes(), &ordinal, name.as_bytes(), &[at as u8]]);
        if let Some(value) = template.fill(context, &mut seed)? {
            return Ok(Some(value));
        }
    }
    Ok(None)
}

/// Every choice of one value from each series.
fn combinations(series: &[(String, Vec<String>)]) -> Vec<Vec<(&str, &str)>> {
    let mut all: Vec<Vec<(&str, &str)>> = vec![Vec::new()];
    for (name, values) in series {
        all = (all.into_iter())
            .flat_map(|before| {
                values.iter().map(move |value| {
                    let mut with = before.clone();
                    with.push((name.as_str(), value.as_str()));
                    with
                })
            })
            .collect();
    }
    all
}

fn subjects(block: &Block) -> Vec<Subject> {
    let wanted = |building: &&'static Building| match &block.which {
        Which::Everything => true,
        Which::All => building.kind != BuildingKind::PlutoOnly,
        Which::Named => building.kind == BuildingKind::Named,
        Which::Others => building.kind == BuildingKind::Ordinary,
        Which::These(ids) => {
            let bin = building.bin.map(|bin| bin.to_string());
            ids.iter()
                .any(|id| Some(id) == bin.as_ref() || *id == building.bbl.to_string())
        }
    };
    let of = |building| Subject {
        building: Some(building),
        unit: None,
        base: None,
    };
    let chosen: Vec<&'static Building> = (buildings().iter())
        .filter(wanted)
        .filter(|building| block.condominiums || building.condominium.is_none())
        .collect();
    if block.each == Each::Building {
        return chosen.into_iter().map(of).collect();
    }
    // A lot is asked once, however many buildings stand on it.
    let mut lots: Vec<&'static Building> = Vec::new();
    for building in chosen {
        if lots.iter().all(|known| known.bbl != building.bbl) {
            lots.push(building);
        }
    }
    let condominiums = lots
        .iter()
        .filter_map(|lot| Some((*lot, lot.condominium.as_ref()?)));
    match block.each {
        Each::Unit => condominiums
            .flat_map(|(lot, condominium)| {
                (condominium.units.iter()).map(move |unit| Subject {
                    unit: Some(unit),
                    ..of(lot)
                })
            })
            .collect(),
        Each::Base => condominiums
            .flat_map(|(lot, condominium)| {
                (0..condominium.base.len()).map(move |base| Subject {
                    base: Some(base),
                    ..of(lot)
                })
            })
            .collect(),
        _ => lots.into_iter().map(of).collect(),
    }
}

/// A fact of what a record is of: `None` is no such fact, `Some(None)` one that it has not.
fn fact(subject: &Subject, name: &str) -> Option<Option<String>> {
    let Some(building) = subject.building else {
        return Some(None);
    };
    let borough = building.borough();
    let condominium = building.condominium.as_ref();
    let base = condominium.and_then(|condominium| condominium.base.get(subject.base.unwrap_or(0)));
    // The lot a record is of: the unit's, where it is of one.
    let lot = subject.unit.map_or(building.bbl, |unit| unit.bbl);
    let mut of_lot = Seed::new(&[b"lot", building.bbl.to_string().as_bytes()]);
    let stable = |what: &str, from: u64, span: u64| {
        let id = building
            .bin
            .map_or(building.bbl.to_string(), |bin| bin.to_string());
        from + Seed::new(&[what.as_bytes(), id.as_bytes()]).below(span)
    };
    Some(match name {
        "bin" => building.bin.map(|bin| bin.to_string()),
        "bbl" => Some(lot.to_string()),
        "billing_bbl" => Some(building.bbl.to_string()),
        "boro" => Some(borough.digit().to_string()),
        "borough" => Some(borough.name().to_owned()),
        "BOROUGH" => Some(borough.name().to_uppercase()),
        // The hearings' own spelling.
        "BOROUGH_OATH" => Some(
            borough
                .name()
                .to_uppercase()
                .replace("STATEN ISLAND", "STATEN IS"),
        ),
        "boro_letters" => Some(borough.letters().to_owned()),
        "block" => Some(lot.block().to_string()),
        "lot" => Some(lot.lot().to_string()),
        "billing_block" => Some(building.bbl.block().to_string()),
        "billing_lot" => Some(building.bbl.lot().to_string()),
        "house" => Some(building.house_number.clone()),
        "street" => Some(building.street.clone()),
        "zip" => Some(building.zip.clone()),
        "lat" => Some(building.latitude.clone()),
        "lon" => Some(building.longitude.clone()),
        "cd" => Some(building.community_district.clone()),
        "cb" => (building.community_district.get(1..))
            .map(|board| board.trim_start_matches('0').to_owned()),
        "council" => Some(building.council_district.clone()),
        "tract" => Some(building.census_tract.clone()),
        "nta" => Some(building.neighborhood.clone()),
        "NTA" => Some(building.neighborhood.to_uppercase()),
        "floors" => Some(building.floors.to_string()),
        "units" => Some(building.units.to_string()),
        "buildings_on_lot" => Some(
            (buildings().iter())
                .filter(|other| other.bbl == building.bbl && other.bin.is_some())
                .count()
                .to_string(),
        ),
        "year_built" => Some(building.year_built.to_string()),
        "class" => Some(building.class.clone()),
        "owner" => Some(company(&mut of_lot)),
        "lot_area" => Some(market::lot_area(market::area(building), building.floors).to_string()),
        "floor_area" => Some(market::area(building).to_string()),
        "tax_class" => Some(market::tax_class(&building.class).to_owned()),
        "sale_category" => Some(market::category(&building.class).to_owned()),
        "building_id" => Some(stable("building", 10_000, 900_000).to_string()),
        "registration_id" => Some(stable("registration", 100_000, 300_000).to_string()),
        "condo_number" => condominium.map(|condominium| condominium.number.to_string()),
        "condo_name" => condominium.map(|condominium| condominium.name.clone()),
        "base_bbl" => Some(base.copied().unwrap_or(building.bbl).to_string()),
        "base_block" => Some(base.copied().unwrap_or(building.bbl).block().to_string()),
        "base_lot" => Some(base.copied().unwrap_or(building.bbl).lot().to_string()),
        "unit_bbl" => subject.unit.map(|unit| unit.bbl.to_string()),
        "unit" => subject.unit.map(|unit| unit.designation.clone()),
        _ => return None,
    })
}

/// What a template sees of the record in the making.
struct Filled<'a> {
    ordinal: u64,
    day: Date,
    closed: bool,
    subject: Subject,
    parent: Option<&'a Record>,
    values: HashMap<String, Option<String>>,
}

impl Context for Filled<'_> {
    fn ordinal(&self) -> u64 {
        self.ordinal
    }

    fn day(&self) -> Date {
        self.day
    }

    fn closed(&self) -> bool {
        self.closed
    }

    fn is_unit(&self) -> bool {
        self.subject.unit.is_some()
    }

    fn is_condo(&self) -> bool {
        (self.subject.building).is_some_and(|building| building.condominium.is_some())
    }

    fn name(&self, name: &str) -> Option<Option<String>> {
        if name == "market_price" {
            let building = self.subject.building;
            return Some(
                building.map(|building| {
                    market::value(building, self.subject.unit, self.day).to_string()
                }),
            );
        }
        (self.values.get(name).cloned()).or_else(|| fact(&self.subject, name))
    }

    fn parent(&self, name: &str) -> Option<Option<String>> {
        self.parent?.values.get(name).cloned()
    }
}
