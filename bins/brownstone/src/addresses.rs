//! The geocoder that serves, and the address index it takes up when an import has put one in place.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    time::SystemTime,
};

use anyhow::Context as _;
use async_trait::async_trait;
use brownstone_address::{
    geocoder::{Geocoder, ResolveError, Resolved},
    pad::PadIndex,
    resolver::PadGeocoder,
};

/// PAD once there is an index; until then whatever else there is.
pub(crate) struct Addresses {
    pad: OnceLock<PadGeocoder>,
    otherwise: Arc<dyn Geocoder>,
    otherwise_name: &'static str,
}

impl Addresses {
    /// No index yet: `otherwise` answers.
    pub(crate) fn without_pad(otherwise: Arc<dyn Geocoder>, name: &'static str) -> Self {
        Self {
            pad: OnceLock::new(),
            otherwise,
            otherwise_name: name,
        }
    }

    /// On this index.
    pub(crate) fn on(index: Arc<PadIndex>) -> Self {
        let addresses = Self::none();
        addresses.take_up(index);
        addresses
    }

    /// Where PAD alone is asked for and was never imported.
    pub(crate) fn none() -> Self {
        Self::without_pad(Arc::new(NoAddresses), "none: PAD is not imported")
    }

    /// Answers from this index from now on; calls that run go on with what they have.
    pub(crate) fn take_up(&self, index: Arc<PadIndex>) {
        let mut first = false;
        let pad = self.pad.get_or_init(|| {
            first = true;
            PadGeocoder::new(Arc::clone(&index))
        });
        if !first {
            pad.swap(index);
        }
    }

    /// What answers now, for people.
    pub(crate) fn name(&self) -> &'static str {
        match self.pad.get() {
            Some(_) => "PAD",
            None => self.otherwise_name,
        }
    }
}

#[async_trait]
impl Geocoder for Addresses {
    async fn resolve(&self, text: &str) -> Result<Resolved, ResolveError> {
        match self.pad.get() {
            Some(pad) => pad.resolve(text).await,
            None => self.otherwise.resolve(text).await,
        }
    }

    fn is_live(&self) -> bool {
        match self.pad.get() {
            Some(pad) => pad.is_live(),
            None => self.otherwise.is_live(),
        }
    }
}

/// Nothing can be resolved, which is not "not found".
struct NoAddresses;

#[async_trait]
impl Geocoder for NoAddresses {
    async fn resolve(&self, _: &str) -> Result<Resolved, ResolveError> {
        Err(ResolveError::Unavailable(
            "no address index is imported".into(),
        ))
    }

    fn is_live(&self) -> bool {
        false
    }
}

/// What tells one index file from the one that took its place.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    modified: SystemTime,
    length: u64,
    inode: u64,
}

impl Stamp {
    /// `None` where there is no file.
    fn of(path: &Path) -> std::io::Result<Option<Self>> {
        use std::os::unix::fs::MetadataExt as _;
        match std::fs::metadata(path) {
            Ok(about) => Ok(Some(Self {
                modified: about.modified()?,
                length: about.len(),
                inode: about.ino(),
            })),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The index file that imports put in place.
#[derive(Debug, Clone)]
pub(crate) struct IndexFile {
    path: PathBuf,
    seen: Option<Stamp>,
}

impl IndexFile {
    /// Not looked at yet.
    pub(crate) const fn at(path: PathBuf) -> Self {
        Self { path, seen: None }
    }

    /// The index, where there is one that was not seen before. A file that cannot be used is an error once.
    pub(crate) fn look(&mut self) -> anyhow::Result<Option<Arc<PadIndex>>> {
        let unusable = || format!("the address index {} cannot be used", self.path.display());
        // Before it is opened: what comes later is seen at the next look.
        let stamp = Stamp::of(&self.path).with_context(unusable)?;
        if stamp.is_none() || stamp == self.seen {
            return Ok(None);
        }
        let index = PadIndex::open(&self.path).with_context(unusable);
        self.seen = stamp;
        Ok(Some(Arc::new(index?)))
    }
}
