//! Every sale there is, found by what it shares with a subject, and only those from before a day.

use std::collections::HashMap;

use super::{Hedonic, Observation, Subject, Trend, subject::mix};
use crate::{Kind, Loaded, Segment};

/// What sales are found by. Sales of one segment are never found for another, but for [`Shares::Lot`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum Shares {
    /// The same lot, or the same apartment of a co-operative: its own earlier sales, of any segment.
    Lot = 1,
    /// The same line of the same building.
    Line,
    /// The same building.
    Building,
    /// The same tax block.
    Block,
    /// The same street of the same ZIP.
    Street,
    /// The same neighbourhood.
    Neighborhood,
    /// The same ZIP.
    Zip,
    /// The same borough.
    Borough,
}

impl Shares {
    const ALL: [Self; 8] = [
        Self::Lot,
        Self::Line,
        Self::Building,
        Self::Block,
        Self::Street,
        Self::Neighborhood,
        Self::Zip,
        Self::Borough,
    ];

    /// What is shared, as a number; nothing when the subject does not say.
    fn of(self, subject: &Subject) -> Option<u64> {
        let known = |value: u64| (value != 0).then_some(value);
        let value = match self {
            Self::Lot => match subject.segment() {
                Segment::Coop => known(subject.unit.key).map(|_| subject.ownership()),
                _ => Some(subject.lot),
            },
            Self::Line => known(subject.unit.line).map(|line| mix(subject.building.0, line)),
            Self::Building => Some(subject.building.0),
            Self::Block => Some(subject.block()),
            Self::Street => {
                known(subject.street).map(|street| mix(street, u64::from(subject.zip.unwrap_or(0))))
            }
            Self::Neighborhood => known(subject.neighborhood),
            Self::Zip => subject.zip.map(u64::from),
            Self::Borough => Some(subject.borough()),
        }?;
        let segment = match self {
            Self::Lot => 0,
            _ => subject.segment() as u64 + 1,
        };
        Some(mix(value, segment << 8 | self as u64))
    }

    /// What houses of three dwellings are also found by, among themselves.
    const OF_NEIGHBOURS: [Self; 3] = [Self::Block, Self::Street, Self::Neighborhood];

    /// As [`Shares::of`], for the houses of three dwellings alone.
    fn three_families(self, subject: &Subject) -> Option<u64> {
        let mut house = *subject;
        house.kind = Kind::ThreeFamily;
        self.of(&house).map(|key| mix(key, 3))
    }

    fn of_block(segment: Segment, block: u64) -> u64 {
        mix(block, (segment as u64 + 1) << 8 | Self::Block as u64)
    }
}

/// Sales sorted by day, and who shares what.
#[derive(Debug, Default)]
pub struct History {
    pub(crate) observations: Vec<Observation>,
    groups: HashMap<u64, Vec<u32>>,
    /// Days of transfers without money, by what changed hands.
    transfers: HashMap<u64, Vec<i32>>,
    /// The neighbourhood of a block, as its last sale has it.
    neighborhoods: HashMap<u64, u64>,
    pub(crate) hedonic: Hedonic,
    pub(crate) trend: Trend,
}

impl History {
    /// Takes the evidence of a list of sales.
    pub fn of(loaded: &Loaded, hedonic: Hedonic) -> Self {
        let observations = Observation::all(loaded).into_iter().map(|(_, o)| o);
        let transfers = loaded
            .sales
            .iter()
            .filter(|sale| sale.flags.has(crate::Flags::NON_ARMS_LENGTH))
            .map(|sale| {
                let subject = Subject::of_sale(sale, &loaded.texts, &loaded.neighborhoods);
                (subject.ownership(), sale.date)
            });
        Self::build(observations.collect(), transfers, hedonic)
    }

    /// Takes sales, and the days on which something changed hands without money.
    pub fn build(
        mut observations: Vec<Observation>,
        transfers: impl IntoIterator<Item = (u64, i32)>,
        hedonic: Hedonic,
    ) -> Self {
        observations.sort_by(|a, b| {
            (a.date, a.subject.lot, a.subject.unit.key)
                .cmp(&(b.date, b.subject.lot, b.subject.unit.key))
                .then(a.log_price.total_cmp(&b.log_price))
        });
        let mut out = Self {
            hedonic,
            ..Self::default()
        };
        for (id, observation) in (0_u32..).zip(&observations) {
            let subject = &observation.subject;
            for shares in Shares::ALL {
                if let Some(key) = shares.of(subject) {
                    out.groups.entry(key).or_default().push(id);
                }
            }
            if subject.kind == Kind::ThreeFamily {
                for shares in Shares::OF_NEIGHBOURS {
                    if let Some(key) = shares.three_families(subject) {
                        out.groups.entry(key).or_default().push(id);
                    }
                }
            }
            if subject.neighborhood != 0 {
                out.neighborhoods
                    .insert(subject.block(), subject.neighborhood);
            }
        }
        for (ownership, date) in transfers {
            out.transfers.entry(ownership).or_default().push(date);
        }
        for days in out.transfers.values_mut() {
            days.sort_unstable();
        }
        out.observations = observations;
        out.trend = Trend::of(&out);
        out
    }

    /// How many sales there are.
    pub fn len(&self) -> usize {
        self.observations.len()
    }

    /// Whether there is no sale.
    pub fn is_empty(&self) -> bool {
        self.observations.is_empty()
    }

    /// The sales, by day.
    pub fn observations(&self) -> &[Observation] {
        &self.observations
    }

    /// The subject with the neighbourhood of its block, where it does not say its own.
    pub fn placed(&self, mut subject: Subject) -> Subject {
        if subject.neighborhood == 0
            && let Some(name) = self.neighborhoods.get(&subject.block())
        {
            subject.neighborhood = *name;
        }
        subject
    }

    /// The last `most` sales dated before `cutoff` that share this with the subject, oldest first.
    pub(crate) fn before(
        &self,
        shares: Shares,
        subject: &Subject,
        cutoff: i32,
        most: usize,
    ) -> &[u32] {
        shares
            .of(subject)
            .map_or(&[], |key| self.group_before(key, cutoff, most))
    }

    /// As [`History::before`], for the block `steps` further.
    pub(crate) fn block_before(
        &self,
        subject: &Subject,
        steps: i64,
        cutoff: i32,
        most: usize,
    ) -> &[u32] {
        let Some(block) = subject.block().checked_add_signed(steps) else {
            return &[];
        };
        // Block 1 of a borough has no block before it.
        if block / 100_000 != subject.borough() {
            return &[];
        }
        self.group_before(Shares::of_block(subject.segment(), block), cutoff, most)
    }

    /// As [`History::before`], for the houses of three dwellings, which are bought for their rents, too.
    pub(crate) fn three_families_before(
        &self,
        shares: Shares,
        subject: &Subject,
        cutoff: i32,
        most: usize,
    ) -> &[u32] {
        shares
            .three_families(subject)
            .map_or(&[], |key| self.group_before(key, cutoff, most))
    }

    /// The last `most` sales of houses in the subject's neighbourhood, or on its block: what four dwellings are worth
    /// is not far from what three are.
    pub(crate) fn houses_before(
        &self,
        shares: Shares,
        subject: &Subject,
        cutoff: i32,
        most: usize,
    ) -> &[u32] {
        let mut house = *subject;
        house.kind = Kind::ThreeFamily;
        self.before(shares, &house, cutoff, most)
    }

    fn group_before(&self, key: u64, cutoff: i32, most: usize) -> &[u32] {
        let Some(ids) = self.groups.get(&key) else {
            return &[];
        };
        let end = ids.partition_point(|id| self.at(*id).is_some_and(|o| o.date < cutoff));
        ids.get(end.saturating_sub(most)..end).unwrap_or_default()
    }

    pub(crate) fn at(&self, id: u32) -> Option<&Observation> {
        self.observations.get(id as usize)
    }

    /// Days of transfers without money before the cutoff, oldest first.
    pub(crate) fn transfers_before(&self, subject: &Subject, cutoff: i32) -> &[i32] {
        self.transfers
            .get(&subject.ownership())
            .map_or(&[], |days| {
                days.get(..days.partition_point(|day| *day < cutoff))
                    .unwrap_or_default()
            })
    }

    /// The logarithm of a sale's price as of just before the cutoff; what was sold stays as it is.
    pub(crate) fn moved(&self, sale: &Observation, cutoff: i32) -> f64 {
        sale.log_price + self.trend.between(&sale.subject, sale.date, cutoff)
    }

    /// As [`History::moved`], as if the subject had been sold.
    pub(crate) fn adjusted(&self, subject: &Subject, sale: &Observation, cutoff: i32) -> f64 {
        self.moved(sale, cutoff) + self.hedonic.difference(subject, &sale.subject)
    }
}
