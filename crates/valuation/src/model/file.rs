//! A trained model as bytes: a mark, the layout's number, the content, and a sum over all of it.

use super::{
    Accuracy, Bin, Calibration, Group, Model,
    boost::{Booster, LEAF, Node},
    features::COUNT,
};
use crate::estimate::Hedonic;

const MARK: &[u8; 8] = b"BRNVALUE";
/// Raised when the layout or the meaning of a feature changes: an old file is not read, it is made anew.
const LAYOUT: u32 = 2;

/// Why bytes are no model.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ModelError {
    /// They are something else.
    #[error("this is no valuation model")]
    NotAModel,
    /// They were written by another version of the program; train again.
    #[error("the valuation model has layout {found}, this program reads {LAYOUT}: train it again")]
    OtherLayout {
        /// The layout they have.
        found: u32,
    },
    /// They were cut short or changed.
    #[error("the valuation model is damaged")]
    Damaged,
}

impl Model {
    /// The model as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer(Vec::with_capacity(1 << 20));
        out.0.extend_from_slice(MARK);
        out.u32(LAYOUT);
        out.u32(COUNT as u32);
        out.i32(self.trained_until);
        out.i32(self.delay_days);
        self.hedonic.values().for_each(|value| out.f64(value));
        for booster in &self.boosters {
            out.u32(booster.roots.len() as u32);
            booster.roots.iter().for_each(|root| out.u32(*root));
            out.u32(booster.nodes.len() as u32);
            for node in &booster.nodes {
                out.u32(u32::from(node.feature));
                out.f64(node.value);
                [node.left, node.right, node.missing]
                    .into_iter()
                    .for_each(|at| out.u32(at));
            }
        }
        for group in &self.calibrations {
            out.u32(u32::from(group.use_model));
            group.bounds.into_iter().for_each(|bound| out.f64(bound));
            for bin in &group.bins {
                [bin.low, bin.high, bin.fsd]
                    .into_iter()
                    .for_each(|value| out.f64(value));
            }
            let accuracy = &group.accuracy;
            [accuracy.mdape, accuracy.ppe10, accuracy.ppe20]
                .into_iter()
                .for_each(|v| out.f64(v));
            out.u32(accuracy.sample_size);
            out.i32(accuracy.from);
            out.i32(accuracy.until);
        }
        let sum = crc32fast::hash(&out.0);
        out.u32(sum);
        out.0
    }

    /// The version of a model's bytes, whatever their layout: two programs that read different layouts agree on it.
    /// `None` when the bytes are no model.
    pub fn version_of(bytes: &[u8]) -> Option<String> {
        let (content, sum) = bytes.split_last_chunk::<4>()?;
        let layout = Reader(content.strip_prefix(MARK)?).u32().ok()?;
        Some(version(layout, u32::from_le_bytes(*sum)))
    }

    /// A model back from its bytes.
    ///
    /// # Errors
    /// When they are no model, another layout's, or damaged.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ModelError> {
        let body = bytes.strip_prefix(MARK).ok_or(ModelError::NotAModel)?;
        let mut layout = Reader(body);
        let found = layout.u32()?;
        if found != LAYOUT {
            return Err(ModelError::OtherLayout { found });
        }
        let (content, sum) = bytes.split_last_chunk::<4>().ok_or(ModelError::Damaged)?;
        if crc32fast::hash(content) != u32::from_le_bytes(*sum) {
            return Err(ModelError::Damaged);
        }
        let mut from = Reader(content.get(MARK.len() + 4..).ok_or(ModelError::Damaged)?);
        if from.u32()? as usize != COUNT {
            return Err(ModelError::Damaged);
        }
        let trained_until = from.i32()?;
        let delay_days = from.i32()?;
        let elasticities = (0..Hedonic::COUNT)
            .map(|_| from.f64())
            .collect::<Result<Vec<_>, _>>()?;
        let mut boosters: [Booster; 4] = Default::default();
        for booster in &mut boosters {
            *booster = from.booster()?;
        }
        let mut calibrations: [Calibration; Group::ALL.len()] = Default::default();
        for group in &mut calibrations {
            *group = from.calibration()?;
        }
        if !from.0.is_empty() {
            return Err(ModelError::Damaged);
        }
        Ok(Self {
            trained_until,
            delay_days,
            hedonic: Hedonic::from_values(&elasticities),
            boosters,
            calibrations,
            version: version(LAYOUT, u32::from_le_bytes(*sum)),
        })
    }
}

fn version(layout: u32, sum: u32) -> String {
    format!("v{layout}-{sum:08x}")
}

struct Writer(Vec<u8>);

impl Writer {
    fn u32(&mut self, value: u32) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }
    fn i32(&mut self, value: i32) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }
    fn f64(&mut self, value: f64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], ModelError> {
        let (head, rest) = self.0.split_first_chunk::<N>().ok_or(ModelError::Damaged)?;
        self.0 = rest;
        Ok(*head)
    }
    fn u32(&mut self) -> Result<u32, ModelError> {
        Ok(u32::from_le_bytes(self.take()?))
    }
    fn i32(&mut self) -> Result<i32, ModelError> {
        Ok(i32::from_le_bytes(self.take()?))
    }
    fn f64(&mut self) -> Result<f64, ModelError> {
        Ok(f64::from_le_bytes(self.take()?))
    }

    /// Every question leads further on, so that an answer is always reached.
    fn booster(&mut self) -> Result<Booster, ModelError> {
        let roots = self.u32()?;
        let roots = (0..roots)
            .map(|_| self.u32())
            .collect::<Result<Vec<_>, _>>()?;
        let count = self.u32()?;
        let mut nodes = Vec::new();
        for at in 0..count {
            let feature = u16::try_from(self.u32()?).map_err(|_| ModelError::Damaged)?;
            let value = self.f64()?;
            let (left, right, missing) = (self.u32()?, self.u32()?, self.u32()?);
            let onward = |next: u32| next > at && next < count;
            let asks =
                usize::from(feature) < COUNT && [left, right, missing].into_iter().all(onward);
            if feature != LEAF && !asks {
                return Err(ModelError::Damaged);
            }
            nodes.push(Node {
                feature,
                value,
                left,
                right,
                missing,
            });
        }
        if roots.iter().any(|root| *root >= count) {
            return Err(ModelError::Damaged);
        }
        Ok(Booster { nodes, roots })
    }

    fn calibration(&mut self) -> Result<Calibration, ModelError> {
        let use_model = self.u32()? != 0;
        let mut out = Calibration {
            use_model,
            ..Calibration::default()
        };
        for bound in &mut out.bounds {
            *bound = self.f64()?;
        }
        for bin in &mut out.bins {
            *bin = Bin {
                low: self.f64()?,
                high: self.f64()?,
                fsd: self.f64()?,
            };
        }
        out.accuracy = Accuracy {
            mdape: self.f64()?,
            ppe10: self.f64()?,
            ppe20: self.f64()?,
            sample_size: self.u32()?,
            from: self.i32()?,
            until: self.i32()?,
        };
        Ok(out)
    }
}
