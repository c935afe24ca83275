//! Values for the answer: the comparables' estimate, corrected by the trained model where there is one that knew no more
//! than the request may know.

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};

use brownstone_domain::comps::{Accuracy, Confidence, NoValueReason, Valuation, ValueBasis};
use time::Date;

use super::{Adjusted, Ask, Subject, Valued, Valuer, answer::day};
use crate::{
    BuildingKey, SalesIndex, Texts,
    estimate::{self, Evidence, Hedonic, History, Observation, evidence, weight},
    model::{
        FEWEST_COMPARABLES, INTERVAL_PROBABILITY, MOST_SPREAD, Method, Model, NoValue, Settings,
    },
};

/// What `model_version` says where no model was asked.
const NO_MODEL: &str = "comparables-1";
/// Standard deviations of the normal distribution between which 80 percent lie.
const EIGHTY_PERCENT: f64 = 1.2816;
/// The quartiles of a normal distribution are so many standard deviations from its middle.
const QUARTILE: f64 = 0.6745;
/// No estimate from comparables alone was ever measured to err by less.
const LEAST_ERROR: f64 = 0.12;

/// Values by an index's sales, and a model where there is one.
struct BySales {
    index: SalesIndex,
    texts: Texts,
    neighborhoods: Vec<String>,
    model: Option<(Model, History)>,
    /// For requests that may not know what the model learned from; made when the first one comes.
    plain: OnceLock<History>,
}

/// Who values by this index's sales. Without a model, values rest on the comparables alone and say nothing of their
/// accuracy. Takes about a second for a city's sales.
pub fn valuer(index: &SalesIndex, model: Option<Model>) -> Arc<dyn Valuer> {
    Arc::new(BySales::new(index, model))
}

/// As [`valuer`], with a model that is trained on the index's own sales once the first value is asked for. Until it is
/// ready, values rest on the comparables alone. For a few thousand sales; a city's take minutes.
pub fn learning_valuer(index: &SalesIndex) -> Arc<dyn Valuer> {
    Arc::new(Learning {
        index: index.clone(),
        meanwhile: OnceLock::new(),
        learned: Arc::default(),
    })
}

struct Learning {
    index: SalesIndex,
    meanwhile: OnceLock<BySales>,
    learned: Arc<OnceLock<BySales>>,
}

impl Learning {
    /// Learns beside the calls: none of them waits for it.
    fn start(&self) {
        let (index, learned) = (self.index.clone(), Arc::clone(&self.learned));
        std::thread::spawn(move || {
            let loaded = index.to_loaded();
            let until = loaded.sales.last().map_or(0, |sale| sale.date + 1);
            if let Ok(model) = Model::train(&loaded, until, 0, &Settings::default()) {
                learned.get_or_init(|| BySales::new(&index, Some(model)));
            }
        });
    }
}

impl Valuer for Learning {
    fn value(&self, ask: &Ask<'_>) -> Valued {
        if let Some(learned) = self.learned.get() {
            return learned.value(ask);
        }
        self.meanwhile
            .get_or_init(|| {
                self.start();
                BySales::new(&self.index, None)
            })
            .value(ask)
    }
}

impl BySales {
    fn new(index: &SalesIndex, model: Option<Model>) -> Self {
        let loaded = index.to_loaded();
        let model = model.map(|model| {
            let history = History::of(&loaded, model.hedonic());
            (model, history)
        });
        Self {
            index: index.clone(),
            model,
            plain: OnceLock::new(),
            texts: loaded.texts,
            neighborhoods: loaded.neighborhoods,
        }
    }

    fn plain(&self) -> &History {
        self.plain
            .get_or_init(|| History::of(&self.index.to_loaded(), Hedonic::typical()))
    }
}

impl Valuer for BySales {
    fn value(&self, ask: &Ask<'_>) -> Valued {
        // A model that learned from a day the request must not know would tell it of that day.
        let model = self
            .model
            .as_ref()
            .filter(|(model, _)| model.trained_until() <= ask.cutoff);
        let history = model.map_or_else(|| self.plain(), |(_, history)| history);
        let subject = history.placed(of(ask.index, ask.subject));
        let evidence = evidence(history, &subject, ask.cutoff);
        let found = match model {
            Some((model, _)) => with_model(model, history, &subject, &evidence, ask.cutoff),
            None => alone(&subject, &evidence),
        };
        let version = model.map_or(NO_MODEL, |(model, _)| model.version());
        let total: f64 = evidence.comparables.iter().map(|c| c.weight).sum();
        let mut adjusted = HashMap::new();
        for comp in &ask.search.found {
            let sale = Observation::of_sale(&comp.sale, &self.texts, &self.neighborhoods);
            let Some(sale) = sale else { continue };
            let price = history.moved(&sale, ask.cutoff).exp();
            let weight = weight(&subject, &sale, ask.cutoff);
            adjusted.insert(
                comp.sale.id,
                Adjusted {
                    weight: if total > 0.0 {
                        (weight / total).min(1.0)
                    } else {
                        0.0
                    },
                    price: dollars(price),
                },
            );
        }
        Valued {
            valuation: valuation(ask.subject, found, &evidence, version, ask.as_of),
            adjusted,
        }
    }
}

/// The subject as the estimate knows it.
fn of(index: &SalesIndex, subject: &Subject) -> estimate::Subject {
    let mut out = estimate::Subject::new(subject.lot, subject.class);
    // A condominium has two numbers until its sales say which one they carry.
    let carried = |key: &&BuildingKey| index.in_building(**key).next().is_some();
    let key = subject.buildings.iter().find(carried);
    out.building = key
        .or(subject.buildings.first())
        .copied()
        .unwrap_or(out.building);
    // Before the sizes: a unit has none of its building's. What the caller calls it counts more than its designation.
    out.set_unit(subject.unit.as_deref().unwrap_or_default());
    out.kind = subject.kind;
    out.set_street(
        subject.house_number.as_deref().unwrap_or_default(),
        subject.street.as_deref().unwrap_or_default(),
    );
    if let Some(number) = subject.neighborhood {
        out.set_neighborhood(index.neighborhood(number));
    }
    out.zip = subject.zip;
    out.set_units(subject.units, subject.dwellings);
    if !out.kind.is_unit() {
        out.gross_sqft = subject.sqft;
        out.land_sqft = subject.land_sqft;
    }
    out.year_built = subject.year_built.and_then(|year| u16::try_from(year).ok());
    out
}

/// A value before it is put into words.
struct Worth {
    value: f64,
    low: f64,
    high: f64,
    fsd: f64,
    confidence: Confidence,
    method: Method,
    accuracy: Option<Accuracy>,
}

fn with_model(
    model: &Model,
    history: &History,
    subject: &estimate::Subject,
    evidence: &Evidence,
    cutoff: i32,
) -> Result<Worth, NoValueReason> {
    let found = model.value(history, subject, evidence, cutoff);
    let value = found.map_err(|reason| match reason {
        NoValue::TooFewComps => NoValueReason::TooFewComps,
        NoValue::CompsTooDispersed => NoValueReason::CompsTooDispersed,
        NoValue::UnsupportedPropertyType => NoValueReason::UnsupportedPropertyType,
    })?;
    let measured = value.accuracy;
    let percent = |share: f64| (share * 1000.0).round() / 10.0;
    let accuracy = (measured.sample_size > 0).then(|| Accuracy {
        segment: value.group.name().to_owned(),
        mdape: percent(measured.mdape),
        ppe10: percent(measured.ppe10),
        ppe20: percent(measured.ppe20),
        sample_size: measured.sample_size,
        period: format!("{} to {}", day(measured.from), day(measured.until - 1)),
    });
    Ok(Worth {
        value: value.value,
        low: value.low,
        high: value.high,
        fsd: value.fsd,
        confidence: value.confidence,
        method: value.method,
        accuracy,
    })
}

/// The comparables' own estimate: its error is guessed from how much they disagree, and it is never more than a low
/// confidence.
fn alone(subject: &estimate::Subject, evidence: &Evidence) -> Result<Worth, NoValueReason> {
    if subject.segment() == crate::Segment::Other {
        return Err(NoValueReason::UnsupportedPropertyType);
    }
    let estimate = evidence
        .estimate
        .filter(|_| evidence.comparables.len() >= FEWEST_COMPARABLES)
        .ok_or(NoValueReason::TooFewComps)?;
    if evidence.spread > MOST_SPREAD {
        return Err(NoValueReason::CompsTooDispersed);
    }
    let fsd = (evidence.spread / QUARTILE).max(LEAST_ERROR);
    Ok(Worth {
        value: estimate.exp(),
        low: (estimate - fsd * EIGHTY_PERCENT).exp(),
        high: (estimate + fsd * EIGHTY_PERCENT).exp(),
        fsd,
        confidence: Confidence::Low,
        method: Method::Comparables,
        accuracy: None,
    })
}

fn valuation(
    subject: &Subject,
    found: Result<Worth, NoValueReason>,
    evidence: &Evidence,
    version: &str,
    as_of: Date,
) -> Valuation {
    let (worth, no_value_reason) = match found {
        Ok(worth) => (Some(worth), None),
        Err(reason) => (None, Some(reason)),
    };
    let amount = |part: fn(&Worth) -> f64| worth.as_ref().map(|worth| dollars(part(worth)));
    Valuation {
        value: amount(|worth| worth.value),
        low: amount(|worth| worth.low),
        high: amount(|worth| worth.high),
        interval_probability: INTERVAL_PROBABILITY,
        confidence: worth.as_ref().map(|worth| worth.confidence),
        fsd: worth.as_ref().map(|worth| (worth.fsd * 1e4).round() / 1e4),
        basis: if subject.kind.is_unit() {
            ValueBasis::Unit
        } else {
            ValueBasis::Building
        },
        method: worth
            .as_ref()
            .map_or("none", |worth| worth.method.name())
            .to_owned(),
        comp_count: u32::try_from(evidence.comparables.len()).unwrap_or(u32::MAX),
        valuation_date: as_of,
        model_version: version.to_owned(),
        accuracy: worth.and_then(|worth| worth.accuracy),
        no_value_reason,
    }
}

/// Whole dollars; the cast saturates, and no property is worth more than it can hold.
fn dollars(amount: f64) -> u64 {
    amount.round() as u64
}

#[cfg(test)]
mod tests {
    use brownstone_domain::comps::SubjectOverrides;

    use super::*;
    use crate::{Lots, comps::Target, read_text};

    const LOTS: &str = "\
bbl,address,bldgclass,latitude,longitude,zipcode,yearbuilt,bldgarea,lotarea,unitsres,unitstotal
1008350041,10 WEST 33 STREET,D4,40.7487,-73.9858,10001,1920,90000,8000,80,82
1008357501,12 WEST 33 STREET,R4,40.7488,-73.9859,10001,2005,120000,9000,120,121
1008360010,20 WEST 33 STREET,D8,40.7489,-73.9860,10001,1960,60000,5000,60,61
1008360020,24 WEST 33 STREET,C7,40.7490,-73.9861,10001,1910,9000,2500,8,10
3010770012,300 8 STREET,B1,40.6675,-73.9820,11215,1901,3000,2000,2,2
";

    const SALES: &str = "\
borough,block,lot,neighborhood,building_class_at_time_of_sale,address,apartment_number,zip_code,residential_units,\
total_units,land_square_feet,gross_square_feet,year_built,sale_price,sale_date
1,835,1003,MIDTOWN WEST,R4,\"12 WEST 33 STREET, 9A\",9A,10001,1,1,,,2005,900000,2023-05-01
1,835,41,MIDTOWN WEST,D4,\"10 WEST 33 STREET, 4C\",4C,10001,,,,,1920,650000,2023-05-02
1,836,10,MIDTOWN WEST,D8,\"20 WEST 33 STREET, 4A\",4A,10001,60,61,5000,60000,1960,600000,2023-05-03
1,836,20,MIDTOWN WEST,C7,24 WEST 33 STREET,,10001,8,10,2500,9000,1910,4000000,2023-05-04
3,1077,12,PARK SLOPE,B1,300 8 STREET,,11215,2,2,2000,3000,1901,2500000,2023-05-05
";

    /// A feature is made of such a subject alone, of the sales before a day, and of the day.
    #[test]
    fn what_was_sold_and_the_same_thing_asked_for_are_one_subject() {
        let lots = Lots::read("lots", LOTS.as_bytes()).unwrap();
        let index = SalesIndex::build(read_text("sales", SALES.as_bytes()).unwrap(), &lots);
        let loaded = index.to_loaded();
        let mut units = Vec::new();
        for sale in &loaded.sales {
            let trained = estimate::Subject::of_sale(sale, &loaded.texts, &loaded.neighborhoods);
            let text = |of| Some(index.text(of).to_owned()).filter(|text| !text.is_empty());
            let target = Target {
                bbl: Some(sale.building_bbl),
                unit_bbl: Some(sale.bbl).filter(|bbl| bbl.is_unit_lot()),
                unit: text(sale.unit),
                house_number: text(sale.house_number),
                street: text(sale.street),
                ..Target::default()
            };
            let cutoff = sale.date + 30;
            let asked = Subject::find(&index, &target, &SubjectOverrides::default(), cutoff);
            let served = of(&index, &asked.unwrap());
            assert_eq!(served, trained, "{}", index.text(sale.address));
            units.push(served.units);
        }
        assert_eq!(units, [Some(1), None, None, Some(10), Some(2)]);
    }

    #[test]
    fn what_the_caller_says_of_a_building_counts_for_the_building_alone() {
        let lots = Lots::read("lots", LOTS.as_bytes()).unwrap();
        let index = SalesIndex::build(read_text("sales", SALES.as_bytes()).unwrap(), &lots);
        let overrides = SubjectOverrides {
            units: Some(12),
            ..SubjectOverrides::default()
        };
        for (bbl, shown, served) in [
            ("1008357501", Some(12), Some(1)),
            ("1008350041", Some(12), None),
            ("1008360020", Some(12), Some(12)),
        ] {
            let target = Target {
                bbl: Some(bbl.parse().unwrap()),
                ..Target::default()
            };
            let asked = Subject::find(&index, &target, &overrides, 19_600).unwrap();
            assert_eq!(asked.dwellings, shown, "{bbl}");
            assert_eq!(of(&index, &asked).units, served, "{bbl}");
        }
    }
}
