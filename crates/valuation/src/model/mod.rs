//! The estimate that is learned: what the comparables' own estimate is off by, and how far off the result is.

mod boost;
mod calibrate;
mod features;
mod file;

use brownstone_domain::comps::Confidence;

pub use boost::{BoostError, Booster, Settings};
pub use calibrate::{Accuracy, INTERVAL_PROBABILITY};
pub use features::{COUNT, Features, NAMES, features};
pub use file::ModelError;

use calibrate::{Bin, Calibration, Held};

use crate::{
    Loaded, Segment,
    estimate::{Evidence, Hedonic, History, Observation, Subject, evidence},
};

/// Kinds of subject whose errors are measured apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Group {
    /// A condominium unit in whose building others were sold.
    CondoSameBuilding = 0,
    /// Any other condominium unit.
    CondoOther,
    /// An apartment of a co-operative.
    Coop,
    /// A dwelling of one to three families.
    OneToThree,
    /// A rental building of four dwellings and more.
    FourAndMore,
}

impl Group {
    /// All.
    pub const ALL: [Self; 5] = [
        Self::CondoSameBuilding,
        Self::CondoOther,
        Self::Coop,
        Self::OneToThree,
        Self::FourAndMore,
    ];

    /// The group's word in answers and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CondoSameBuilding => "condo_same_building",
            Self::CondoOther => "condo_other",
            Self::Coop => "coop",
            Self::OneToThree => "one_to_three_family",
            Self::FourAndMore => "four_family_and_more",
        }
    }

    /// The group of a subject with this evidence; nothing when its kind is not valued.
    pub fn of(subject: &Subject, evidence: &Evidence) -> Option<Self> {
        Some(match subject.segment() {
            Segment::Condo if evidence.same_building > 0 => Self::CondoSameBuilding,
            Segment::Condo => Self::CondoOther,
            Segment::Coop => Self::Coop,
            Segment::OneToThree => Self::OneToThree,
            Segment::FourAndMore => Self::FourAndMore,
            Segment::Other => return None,
        })
    }
}

/// How a value was come by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// The weighted median of comparable sales.
    Comparables,
    /// The same, corrected by what was learned.
    Model,
}

impl Method {
    /// The word in answers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Comparables => "comparable_sales",
            Self::Model => "comparable_sales_and_gradient_boosting",
        }
    }
}

/// What a property is worth, in dollars.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Value {
    /// The value.
    pub value: f64,
    /// The value by comparable sales alone.
    pub by_comparables: f64,
    /// Low end of the interval that holds the price with [`INTERVAL_PROBABILITY`].
    pub low: f64,
    /// Its high end.
    pub high: f64,
    /// Forecast standard deviation, a share of the value.
    pub fsd: f64,
    /// How far it is to be trusted.
    pub confidence: Confidence,
    /// How it was come by.
    pub method: Method,
    /// Whose errors it has.
    pub group: Group,
    /// What the last hold-out measured for that group.
    pub accuracy: Accuracy,
    /// How many sales it rests on.
    pub comparables: usize,
}

/// Why there is no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum NoValue {
    /// Fewer than [`FEWEST_COMPARABLES`] comparable sales.
    #[error("there are too few comparable sales")]
    TooFewComps,
    /// Comparable sales disagree by more than [`MOST_SPREAD`].
    #[error("comparable sales differ too much from each other")]
    CompsTooDispersed,
    /// Properties of this kind are not valued.
    #[error("this kind of property is not valued")]
    UnsupportedPropertyType,
}

/// Sales a value rests on at least.
pub const FEWEST_COMPARABLES: usize = 3;
/// Half the distance of the weighted quartiles of the comparables' logarithms above which there is no value: the middle
/// half of them lies between a fifth and four and a half times the value.
pub const MOST_SPREAD: f64 = 1.5;

/// Days before `until` whose sales measure the errors: a whole year, since no season is like another.
const HOLD_OUT_DAYS: i32 = 365;
/// Rows before the model has seen enough to be used.
const FEWEST_ROWS: usize = 300;
/// Days of history that a row needs before it to be learned from.
const WARM_UP_DAYS: i32 = 180;

/// The segments that are valued, in the order of their boosters.
const VALUED: [Segment; 4] = [
    Segment::Condo,
    Segment::Coop,
    Segment::OneToThree,
    Segment::FourAndMore,
];

/// A trained model: what moves prices, what was learned, and how wrong it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    pub(crate) version: String,
    pub(crate) trained_until: i32,
    pub(crate) delay_days: i32,
    pub(crate) hedonic: Hedonic,
    boosters: [Booster; 4],
    calibrations: [Calibration; 5],
}

/// A row to learn from.
struct Row {
    date: i32,
    group: Group,
    spread: f64,
    numbers: [f64; COUNT],
    /// Logarithm of price over the comparables' value.
    target: f64,
}

impl Model {
    /// Learns from the sales dated before `until`, each valued with what was known `delay_days` before it.
    ///
    /// The last year is held out first, elasticities included, to measure errors and to choose between the comparables
    /// alone and the model for each group; then everything is learned from.
    ///
    /// # Errors
    /// When the trees cannot be grown.
    pub fn train(
        loaded: &Loaded,
        until: i32,
        delay_days: i32,
        settings: &Settings,
    ) -> Result<Self, BoostError> {
        let until = until - delay_days;
        let hold_out = until - HOLD_OUT_DAYS;
        let all: Vec<Observation> = Observation::all(loaded)
            .into_iter()
            .map(|(_, o)| o)
            .collect();
        let fitted = |day: i32| {
            let known = all.partition_point(|o| o.date < day);
            Hedonic::fit(all.get(..known).unwrap_or_default())
        };
        let rows_by =
            |hedonic: Hedonic| learn_from(&History::of(loaded, hedonic), until, delay_days);
        let rows = rows_by(fitted(hold_out));
        let mut held: Vec<Held> = Vec::new();
        for segment in VALUED {
            let mine = |row: &&Row| segment_of(row.group) == segment;
            let known = grow(
                rows.iter().filter(mine).filter(|row| row.date < hold_out),
                settings,
            )?;
            held.extend(
                rows.iter()
                    .filter(mine)
                    .filter(|row| row.date >= hold_out)
                    .map(|row| Held {
                        group: row.group,
                        spread: row.spread,
                        comparables: row.target,
                        model: row.target - known.predict(&row.numbers),
                    }),
            );
        }
        let hedonic = fitted(until);
        let rows = rows_by(hedonic);
        let mut boosters: [Booster; 4] = Default::default();
        for (segment, slot) in VALUED.into_iter().zip(&mut boosters) {
            let mine = rows.iter().filter(|row| segment_of(row.group) == segment);
            *slot = grow(mine, settings)?;
        }
        let mut calibrations: [Calibration; 5] = Default::default();
        for (group, slot) in Group::ALL.into_iter().zip(&mut calibrations) {
            let mine: Vec<Held> = held.iter().copied().filter(|h| h.group == group).collect();
            *slot = Calibration::of(&mine, hold_out, until);
        }
        let mut model = Self {
            version: String::new(),
            trained_until: until,
            delay_days,
            hedonic,
            boosters,
            calibrations,
        };
        // Its version is the sum of its own bytes.
        if let Ok(read) = Self::from_bytes(&model.to_bytes()) {
            model.version = read.version;
        }
        Ok(model)
    }

    /// Which model this is: the layout and a sum of what it holds.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The day before which all it learned from was sold, counted from 1970-01-01.
    pub const fn trained_until(&self) -> i32 {
        self.trained_until
    }

    /// The elasticities a [`History`] for it is built with.
    pub const fn hedonic(&self) -> Hedonic {
        self.hedonic
    }

    /// What was measured for a group.
    pub fn accuracy(&self, group: Group) -> Accuracy {
        self.calibrations
            .get(group as usize)
            .map_or_else(Accuracy::default, |c| c.accuracy)
    }

    /// What the subject is worth to one who knows the sales dated before `cutoff`, and what says so.
    ///
    /// # Errors
    /// When there is no value: see [`NoValue`].
    pub fn value(
        &self,
        history: &History,
        subject: &Subject,
        evidence: &Evidence,
        cutoff: i32,
    ) -> Result<Value, NoValue> {
        let group = Group::of(subject, evidence).ok_or(NoValue::UnsupportedPropertyType)?;
        if evidence.comparables.len() < FEWEST_COMPARABLES {
            return Err(NoValue::TooFewComps);
        }
        if evidence.spread > MOST_SPREAD {
            return Err(NoValue::CompsTooDispersed);
        }
        let features = features(history, subject, evidence, cutoff).ok_or(NoValue::TooFewComps)?;
        let calibration = self
            .calibrations
            .get(group as usize)
            .ok_or(NoValue::UnsupportedPropertyType)?;
        let booster = self
            .boosters
            .get(subject.segment() as usize)
            .filter(|booster| calibration.use_model && booster.trees() > 0);
        let step = booster.map_or(0.0, |booster| booster.predict(&features.values));
        let bin = calibration.bin(evidence.spread);
        let value = (features.base + step).exp();
        Ok(Value {
            value,
            by_comparables: features.base.exp(),
            low: value * bin.low.min(0.0).exp(),
            high: value * bin.high.max(0.0).exp(),
            fsd: bin.fsd,
            confidence: confidence(bin.fsd, evidence),
            method: if booster.is_some() {
                Method::Model
            } else {
                Method::Comparables
            },
            group,
            accuracy: calibration.accuracy,
            comparables: evidence.comparables.len(),
        })
    }
}

/// High up to an error of about an eighth, low from a quarter on.
fn confidence(fsd: f64, evidence: &Evidence) -> Confidence {
    if fsd <= 0.0 || fsd > 0.28 || evidence.effective < 3.0 {
        Confidence::Low
    } else if fsd <= 0.17 && evidence.effective >= 5.0 {
        Confidence::High
    } else {
        Confidence::Medium
    }
}

const fn segment_of(group: Group) -> Segment {
    match group {
        Group::CondoSameBuilding | Group::CondoOther => Segment::Condo,
        Group::Coop => Segment::Coop,
        Group::OneToThree => Segment::OneToThree,
        Group::FourAndMore => Segment::FourAndMore,
    }
}

fn grow<'a>(
    rows: impl Iterator<Item = &'a Row>,
    settings: &Settings,
) -> Result<Booster, BoostError> {
    let (numbers, target): (Vec<[f64; COUNT]>, Vec<f64>) =
        rows.map(|row| (row.numbers, row.target)).unzip();
    if numbers.len() < FEWEST_ROWS {
        return Ok(Booster::default());
    }
    Booster::train(&numbers, &target, &settings.for_rows(numbers.len()))
}

/// Every sale before `until` that has a past, as it would have been seen then; two threads share the work.
fn learn_from(history: &History, until: i32, delay_days: i32) -> Vec<Row> {
    let observations = history.observations();
    let end = observations.partition_point(|o| o.date < until);
    let observations = observations.get(..end).unwrap_or_default();
    let first = observations.first().map_or(0, |o| o.date) + WARM_UP_DAYS;
    spread_over_cores(observations, |sale| {
        if sale.date < first {
            return None;
        }
        let subject = history.placed(sale.subject);
        let cutoff = sale.date - delay_days;
        let evidence = evidence(history, &subject, cutoff);
        let group = Group::of(&subject, &evidence)?;
        if evidence.comparables.len() < FEWEST_COMPARABLES {
            return None;
        }
        let features = features(history, &subject, &evidence, cutoff)?;
        Some(Row {
            date: sale.date,
            group,
            spread: evidence.spread,
            numbers: features.values,
            target: sale.log_price - features.base,
        })
    })
}

/// Does the same to each of many, on all cores, and keeps the order.
pub(crate) fn spread_over_cores<T: Sync, R: Send>(
    all: &[T],
    work: impl Fn(&T) -> Option<R> + Sync,
) -> Vec<R> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let share = all.len().div_ceil(cores).max(1);
    std::thread::scope(|scope| {
        let threads: Vec<_> = all
            .chunks(share)
            .map(|chunk| scope.spawn(|| chunk.iter().filter_map(&work).collect::<Vec<R>>()))
            .collect();
        threads
            .into_iter()
            .flat_map(|thread| match thread.join() {
                Ok(done) => done,
                Err(panic) => std::panic::resume_unwind(panic),
            })
            .collect()
    })
}
