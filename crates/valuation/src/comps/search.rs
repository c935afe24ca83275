//! The search: wider step by step until three usable sales are found.

use brownstone_domain::comps::{
    CompsRequest, ExcludedCounts, SameBuilding, SearchStep, SearchUsed,
};

use super::{Difference, Subject, outliers::without_outliers, similarity::ratio};
use crate::{Flags, Kind, Sale, SalesIndex, Segment, index::format::Hot};

/// A step that has this many usable sales is wide enough.
pub const ENOUGH: usize = 3;
/// How old a sale may be where nothing is asked for: the larger a building, the rarer its like is sold.
const LOOKBACK_MONTHS: u32 = 24;
const LOOKBACK_MONTHS_LARGE: u32 = 36;
/// The last step of a larger building, in miles: a part of a borough.
const BOROUGH_PART_MILES: f64 = 3.0;
/// Distances that stand for a place that is not known, in miles.
const BLOCK_MILES: f64 = 0.1;
const NEIGHBORHOOD_MILES: f64 = 0.5;
const BOROUGH_MILES: f64 = 2.0;
/// So many sales are at most handed on, the most alike first.
const MOST: usize = 200;

/// A usable sale.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The sale.
    pub sale: Sale,
    /// Distance in miles; `None` when a place is not known.
    pub miles: Option<f64>,
    /// In the subject's building.
    pub same_building: bool,
    /// 0 to 1.
    pub similarity: f64,
}

/// What a search found.
#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    /// Usable sales of the step that won, the most alike first, at most 200.
    pub found: Vec<Found>,
    /// The step.
    pub used: SearchUsed,
    /// What was left out.
    pub excluded: ExcludedCounts,
    /// How old a sale might be.
    pub lookback_months: u32,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Area {
    Building,
    Radius(f64),
    Block,
    Neighborhood,
    Zip,
    BoroughPart(Option<f64>),
}

impl Area {
    const fn step(self) -> SearchStep {
        match self {
            Self::Building => SearchStep::SameBuilding,
            Self::Radius(_) => SearchStep::Radius,
            Self::Block => SearchStep::Block,
            Self::Neighborhood => SearchStep::Neighborhood,
            Self::Zip => SearchStep::ZipCode,
            Self::BoroughPart(_) => SearchStep::BoroughPart,
        }
    }

    const fn miles(self) -> Option<f64> {
        match self {
            Self::Radius(miles) => Some(miles),
            Self::BoroughPart(miles) => miles,
            Self::Building | Self::Block | Self::Neighborhood | Self::Zip => None,
        }
    }
}

/// The steps for a subject, narrowest first.
fn ladder(subject: &Subject, request: &CompsRequest) -> Vec<Area> {
    let is_unit = subject.kind.is_unit();
    let mut steps = Vec::with_capacity(5);
    if request.same_building == SameBuilding::Only {
        return vec![Area::Building];
    }
    if is_unit && request.same_building == SameBuilding::Prefer {
        steps.push(Area::Building);
    }
    let known = subject.place.is_some();
    match (known, request.radius_miles, subject.kind.segment()) {
        (true, Some(miles), _) => steps.push(Area::Radius(miles)),
        (true, None, Segment::Condo | Segment::Coop) => {
            steps.extend([0.25, 0.5, 1.0].map(Area::Radius));
        }
        (true, None, Segment::OneToThree) => {
            steps.extend([0.25, 0.5, 1.0, 2.0].map(Area::Radius));
        }
        (true, None, Segment::FourAndMore | Segment::Other) => {
            steps.extend([0.5, 1.0].map(Area::Radius));
            steps.push(Area::BoroughPart(Some(BOROUGH_PART_MILES)));
        }
        (false, _, _) => {
            steps.push(Area::Block);
            if subject.neighborhood.is_some() {
                steps.push(Area::Neighborhood);
            } else if subject.zip.is_some() {
                steps.push(Area::Zip);
            }
            steps.push(Area::BoroughPart(None));
        }
    }
    steps
}

/// Whether a sale of one kind can speak for a subject of another.
fn alike(subject: Kind, sale: Kind) -> bool {
    match subject.segment() {
        Segment::Other => subject == sale,
        segment => segment == sale.segment(),
    }
}

/// A bit for each kind that can speak for the subject.
fn kinds(subject: Kind) -> u16 {
    [
        Kind::SingleFamily,
        Kind::TwoFamily,
        Kind::ThreeFamily,
        Kind::MultiFamily,
        Kind::Condo,
        Kind::Coop,
        Kind::Condop,
        Kind::MixedUse,
        Kind::Land,
        Kind::Other,
    ]
    .into_iter()
    .filter(|kind| alike(subject, *kind))
    .fold(0, |bits, kind| bits | 1 << kind as u16)
}

/// What is asked of every sale, as numbers.
struct Rules {
    kinds: u16,
    /// Days: sales from the first on and before the last.
    oldest: i32,
    cutoff: i32,
    least: u64,
    most: u64,
    any_length: bool,
    needs_size: bool,
}

/// A rule that a sale broke.
type Count = fn(&mut ExcludedCounts) -> &mut u32;

impl Rules {
    fn broken(&self, sale: &Hot) -> Option<Count> {
        let price = u64::from(sale.price);
        if sale.flags.has(Flags::DUPLICATE) {
            Some(|counts| &mut counts.duplicate_recording)
        } else if price < self.least || price > self.most {
            Some(|counts| &mut counts.below_price_floor)
        } else if !self.any_length && sale.flags.has(Flags::NON_ARMS_LENGTH) {
            Some(|counts| &mut counts.non_arms_length)
        } else if sale.flags.has(Flags::PACKAGE) {
            Some(|counts| &mut counts.package_sale)
        } else if self.kinds >> sale.kind & 1 == 0 {
            Some(|counts| &mut counts.different_type)
        } else if sale.date < self.oldest {
            Some(|counts| &mut counts.too_old)
        } else if self.needs_size && !sale.has_size {
            Some(|counts| &mut counts.no_size)
        } else {
            None
        }
    }
}

/// A usable sale, before it is read whole.
#[derive(Clone, Copy)]
struct Candidate {
    at: u32,
    /// The narrowest step it is in.
    step: usize,
    miles: Option<f64>,
    same_building: bool,
}

/// Looks for sales like the subject that were recorded before `cutoff`, a day counted from 1970-01-01. Nothing of what
/// was recorded on it or later is looked at, counts included.
pub fn search(
    index: &SalesIndex,
    subject: &Subject,
    request: &CompsRequest,
    cutoff: i32,
) -> Search {
    let steps = ladder(subject, request);
    let large = matches!(
        subject.kind.segment(),
        Segment::FourAndMore | Segment::Other
    );
    let lookback_months = request.lookback_months.unwrap_or(if large {
        LOOKBACK_MONTHS_LARGE
    } else {
        LOOKBACK_MONTHS
    });
    let rules = Rules {
        kinds: kinds(subject.kind),
        // Months of 30.44 days; the cast is exact, for a request is at most 60.
        oldest: cutoff - (f64::from(lookback_months) * 30.436_875).round() as i32,
        cutoff,
        least: request.min_sale_price,
        most: request.max_sale_price.unwrap_or(u64::MAX),
        any_length: request.include_non_arms_length,
        needs_size: subject.sqft.is_some()
            && matches!(
                subject.kind.segment(),
                Segment::OneToThree | Segment::FourAndMore
            ),
    };
    let mut gathered = Gathered {
        rules,
        excluded: vec![ExcludedCounts::default(); steps.len()],
        usable: Vec::new(),
    };
    gathered.walk(index, subject, &steps, request.same_building);
    gathered.choose(index, subject, &steps, lookback_months)
}

struct Gathered {
    rules: Rules,
    /// By the narrowest step that a sale is in.
    excluded: Vec<ExcludedCounts>,
    usable: Vec<Candidate>,
}

impl Gathered {
    fn take(&mut self, candidate: Candidate, sale: &Hot) {
        if sale.date >= self.rules.cutoff {
            return;
        }
        match self.rules.broken(sale) {
            None => self.usable.push(candidate),
            Some(rule) => {
                if let Some(counts) = self.excluded.get_mut(candidate.step) {
                    *rule(counts) += 1;
                }
            }
        }
    }

    fn walk(
        &mut self,
        index: &SalesIndex,
        subject: &Subject,
        steps: &[Area],
        same_building: SameBuilding,
    ) {
        let mut own: Vec<u32> = subject
            .buildings
            .iter()
            .flat_map(|key| index.in_building(*key))
            .collect();
        own.sort_unstable();
        own.dedup();
        let distance = |sale: &Hot| Some(subject.place?.miles_to(sale.place?));
        if same_building != SameBuilding::Exclude {
            // In the first step: every area has the subject's own building in it.
            for at in &own {
                let sale = index.hot(*at);
                let candidate = Candidate {
                    at: *at,
                    step: 0,
                    miles: distance(&sale),
                    same_building: true,
                };
                self.take(candidate, &sale);
            }
        }
        let borough = subject.bbl.borough().digit();
        let widest = steps
            .iter()
            .filter_map(|area| area.miles())
            .fold(0.0, f64::max);
        if let Some(place) = subject.place
            && widest > 0.0
        {
            index.within(place, widest, |at, sale, miles| {
                // A part of a borough ends where the borough does.
                let within = |area: &Area| match area {
                    Area::BoroughPart(_) => sale.borough == borough,
                    _ => true,
                };
                let step = steps.iter().position(|area| {
                    area.miles().is_some_and(|most| miles <= most) && within(area)
                });
                if let Some(step) = step
                    && own.binary_search(&at).is_err()
                {
                    let candidate = Candidate {
                        at,
                        step,
                        miles: Some(miles),
                        same_building: false,
                    };
                    self.take(candidate, sale);
                }
            });
            return;
        }
        let mut seen = own;
        for (step, area) in steps.iter().enumerate() {
            let mut each = |at: u32, sale: &Hot| {
                let candidate = Candidate {
                    at,
                    step,
                    miles: distance(sale),
                    same_building: false,
                };
                self.take(candidate, sale);
            };
            let places: Vec<u32> = match area {
                Area::Block => index.in_block(subject.block).collect(),
                Area::Neighborhood => subject
                    .neighborhood
                    .map(|number| index.in_neighborhood(number).collect())
                    .unwrap_or_default(),
                Area::Zip => subject
                    .zip
                    .map(|zip| index.in_zip(zip).collect())
                    .unwrap_or_default(),
                Area::BoroughPart(_) => {
                    let mut all = Vec::new();
                    index.in_borough(borough, |at, _| all.push(at));
                    all
                }
                Area::Building | Area::Radius(_) => continue,
            };
            let fresh: Vec<u32> = places
                .into_iter()
                .filter(|at| seen.binary_search(at).is_err())
                .collect();
            for at in &fresh {
                each(*at, &index.hot(*at));
            }
            seen.extend(fresh);
            seen.sort_unstable();
        }
    }

    /// The first step with enough usable sales, outliers apart; else the last.
    fn choose(
        mut self,
        index: &SalesIndex,
        subject: &Subject,
        steps: &[Area],
        lookback_months: u32,
    ) -> Search {
        self.usable
            .sort_unstable_by_key(|candidate| (candidate.step, candidate.at));
        let mut chosen = (0, Vec::new(), 0);
        for (number, _) in steps.iter().enumerate() {
            let until = self
                .usable
                .partition_point(|candidate| candidate.step <= number);
            let sales: Vec<(Candidate, Sale)> = self
                .usable
                .get(..until)
                .unwrap_or_default()
                .iter()
                .filter_map(|candidate| Some((*candidate, index.sale(candidate.at)?)))
                .collect();
            let before = sales.len();
            let kept = without_outliers(sales);
            let outliers = before - kept.len();
            let enough = kept.len() >= ENOUGH;
            chosen = (number, kept, outliers);
            if enough {
                break;
            }
        }
        let (number, sales, outliers) = chosen;
        let far = self.usable.len()
            - self
                .usable
                .partition_point(|candidate| candidate.step <= number);
        let mut excluded = ExcludedCounts::default();
        for counts in self.excluded.iter().take(number + 1) {
            add(&mut excluded, counts);
        }
        excluded.price_outlier = count(outliers);
        excluded.too_far = count(far);
        let area = steps.get(number).copied().unwrap_or(Area::Building);
        let usable_sales = count(sales.len());
        let mut found: Vec<Found> = sales
            .into_iter()
            .map(|(candidate, sale)| {
                let stand_in = match steps.get(candidate.step) {
                    Some(Area::Block) => BLOCK_MILES,
                    Some(Area::Neighborhood | Area::Zip) => NEIGHBORHOOD_MILES,
                    Some(Area::BoroughPart(_)) => BOROUGH_MILES,
                    Some(Area::Building | Area::Radius(_)) | None => 0.0,
                };
                let miles = if candidate.same_building {
                    Some(0.0)
                } else {
                    candidate.miles
                };
                let difference = Difference {
                    units_of_buildings: subject.kind.is_unit(),
                    same_building: candidate.same_building,
                    miles: miles.unwrap_or(stand_in),
                    days: u32::try_from(self.rules.cutoff - sale.date).unwrap_or(0),
                    other_kind: sale.kind() != subject.kind,
                    size_ratio: ratio(subject.sqft, sale.unit_safe_sqft()),
                    years: subject
                        .year_built
                        .zip(sale.year_built)
                        .map(|(a, b)| a.abs_diff(u32::from(b))),
                    dwellings_ratio: ratio(subject.dwellings, sale.residential_units),
                };
                Found {
                    similarity: difference.similarity(),
                    miles,
                    same_building: candidate.same_building,
                    sale,
                }
            })
            .collect();
        found.sort_unstable_by(|a, b| {
            b.similarity
                .total_cmp(&a.similarity)
                .then(b.sale.date.cmp(&a.sale.date))
                .then(a.sale.id.cmp(&b.sale.id))
        });
        found.truncate(MOST);
        Search {
            found,
            used: SearchUsed {
                step: area.step(),
                radius_miles: area.miles(),
                step_number: count(number + 1),
                usable_sales,
            },
            excluded,
            lookback_months,
        }
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn add(to: &mut ExcludedCounts, from: &ExcludedCounts) {
    to.below_price_floor += from.below_price_floor;
    to.non_arms_length += from.non_arms_length;
    to.package_sale += from.package_sale;
    to.duplicate_recording += from.duplicate_recording;
    to.different_type += from.different_type;
    to.too_old += from.too_old;
    to.no_size += from.no_size;
}
