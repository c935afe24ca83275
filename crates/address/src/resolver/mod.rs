//! The offline geocoder: what was typed against the rows of an address index.
//!
//! A reading of the text counts when rows of the city's files agree with it. A wrong building is worse than no answer:
//! what does not agree is refused, or said.

pub(crate) mod answer;
pub(crate) mod area;
mod building;
pub(crate) mod choose;
pub(crate) mod ids;
mod place;
pub(crate) mod say;
pub(crate) mod search;
pub mod suggest;

use std::{
    path::Path,
    sync::{Arc, PoisonError, RwLock},
};

use async_trait::async_trait;

use crate::{
    geocoder::{Geocoder, ResolveError, Resolved},
    pad::{PadError, PadIndex},
    parse::{Kind, parse},
};

/// Resolves addresses on an index; no network, no async.
#[derive(Debug, Clone)]
pub struct Resolver {
    index: Arc<PadIndex>,
}

impl Resolver {
    /// A resolver on this index.
    pub const fn new(index: Arc<PadIndex>) -> Self {
        Self { index }
    }

    /// A resolver on an index file that [`PadIndex::save`] wrote.
    ///
    /// # Errors
    /// When the file cannot be opened or is no index.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, PadError> {
        Ok(Self::new(Arc::new(PadIndex::open(path)?)))
    }

    /// What tells its index from others.
    pub fn version(&self) -> String {
        self.index.version()
    }

    /// Addresses that go on as a text begins, one line each, the likeliest first, at most [`suggest::MOST`]: a house number and the
    /// beginning of a street's name, or the beginning of a place's name of at least three letters. Each line can be resolved.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use brownstone_address::{pad::PadIndex, resolver::Resolver};
    /// # let addresses = "boro,block,lot,bin,lhnd,lhns,hhnd,hhns,scboro,sc5,sclgc,stname,addrtype,validlgcs,dapsflag,zipcode
    /// # 1,00835,0041,1015862,350,000350000AA,350,000350000AA,1,10410,01,5 AVENUE,,01,,10118
    /// # ";
    /// # let lots = "loboro,loblock,lolot,hiboro,hiblock,hilot,boro,block,lot,billboro,billblock,billlot
    /// # 1,00835,0041,1,00835,0041,1,00835,0041,,,
    /// # ";
    /// # let (index, _) = PadIndex::read(addresses.as_bytes(), lots.as_bytes(), None::<&[u8]>)?;
    /// let resolver = Resolver::new(Arc::new(index));
    /// assert_eq!(resolver.suggest("350 5th a"), ["350 5 AVENUE, New York, NY 10118"]);
    /// # Ok::<(), brownstone_address::pad::PadError>(())
    /// ```
    pub fn suggest(&self, text: &str) -> Vec<String> {
        suggest::suggest(&self.index, text)
    }

    /// The one building that a text names.
    ///
    /// # Errors
    /// See [`ResolveError`]; never [`ResolveError::Unavailable`].
    pub fn resolve(&self, text: &str) -> Result<Resolved, ResolveError> {
        let typed = parse(text).map_err(|why| ResolveError::Invalid(why.to_owned()))?;
        let index = &*self.index;
        if let Some(place) = typed.place.outside() {
            return Err(ResolveError::OutsideCoverage(say::outside(place)));
        }
        let named = match &typed.kind {
            Kind::Address(readings) => return choose::address(index, &typed, readings),
            Kind::Place(names) => return place::place(index, &typed, names),
            Kind::Bbl(bbl) => ids::by_bbl(index, *bbl),
            Kind::Bin(bin) => ids::by_bin(index, *bin),
            Kind::BlockLot(block, lot) => {
                let boroughs = area::scope(&typed.place).boroughs;
                ids::by_block_and_lot(index, *block, *lot, boroughs)
            }
            Kind::BadIdentifier(why) => Err(ResolveError::NotFound((*why).to_owned())),
            other => Err(ResolveError::NotFound(say::no_building(other).to_owned())),
        };
        named.map(|resolved| answer::of_identifier(resolved, &typed))
    }
}

/// The resolver as a [`Geocoder`]; its index can be exchanged while it is used.
#[derive(Debug)]
pub struct PadGeocoder {
    index: RwLock<Arc<PadIndex>>,
}

impl PadGeocoder {
    /// A geocoder on this index.
    pub const fn new(index: Arc<PadIndex>) -> Self {
        Self {
            index: RwLock::new(index),
        }
    }

    /// Puts another index in place; calls that run go on with the one they have. Returns the old one.
    pub fn swap(&self, index: Arc<PadIndex>) -> Arc<PadIndex> {
        // Nothing can panic while the lock is held, and an `Arc` is whole at any time.
        let mut current = self.index.write().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *current, index)
    }

    /// A resolver on the index that is in place now.
    pub fn resolver(&self) -> Resolver {
        let current = self.index.read().unwrap_or_else(PoisonError::into_inner);
        Resolver::new(Arc::clone(&current))
    }
}

#[async_trait]
impl Geocoder for PadGeocoder {
    async fn resolve(&self, text: &str) -> Result<Resolved, ResolveError> {
        self.resolver().resolve(text)
    }

    fn is_live(&self) -> bool {
        false
    }

    fn suggest(&self, text: &str) -> Vec<String> {
        self.resolver().suggest(text)
    }
}

#[cfg(test)]
mod classes;
#[cfg(test)]
mod quality;
#[cfg(test)]
mod said;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod work;
