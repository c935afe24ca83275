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
use brownstone_store::Store;

use crate::{
    config::{Config, GeocoderKind},
    parts,
};

/// The name of the address index among those that a shared database keeps.
pub(crate) const INDEX_NAME: &str = "pad";

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

    /// The version of the index that answers now; `None` where none does.
    pub(crate) fn version(&self) -> Option<String> {
        self.pad.get().map(|pad| pad.resolver().version())
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

    fn suggest(&self, text: &str) -> Vec<String> {
        match self.pad.get() {
            Some(pad) => pad.suggest(text),
            None => self.otherwise.suggest(text),
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
pub(crate) struct Stamp {
    modified: SystemTime,
    length: u64,
    inode: u64,
}

impl Stamp {
    /// `None` where there is no file.
    pub(crate) fn of(path: &Path) -> std::io::Result<Option<Self>> {
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

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
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

/// Whether the database is one that other instances use, too, and so keeps the indexes for them.
pub(crate) fn is_shared(config: &Config) -> bool {
    config.database_url.starts_with("postgres")
}

/// Fetches the newest address index that a shared database keeps, where this instance's own file is another. Says whether
/// it did; the file is then in its place.
///
/// # Errors
/// When the database, or the file, cannot be used; what was in place stays.
pub(crate) async fn fetch_newest(store: &Store, place: &Path) -> anyhow::Result<bool> {
    let Some(newest) = store.latest_index(INDEX_NAME).await? else {
        return Ok(false);
    };
    // Opening reads the header alone. A file that cannot be used is replaced.
    if PadIndex::open(place).is_ok_and(|index| index.version() == newest.version) {
        return Ok(false);
    }
    if let Some(folder) = place.parent() {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    }
    let beside = place.with_extension(format!("index.{}.fetched", std::process::id()));
    let fetched = async {
        let mut file = std::fs::File::create(&beside)?;
        store.fetch_index(&newest, &mut file).await?;
        file.sync_all()?;
        let (from, to) = (beside.clone(), place.to_owned());
        tokio::task::spawn_blocking(move || {
            PadIndex::open(&from)?.verify()?;
            std::fs::rename(&from, &to)?;
            anyhow::Ok(())
        })
        .await
        .context("the check broke off")?
    }
    .await;
    if fetched.is_err() {
        // The first error is the one that matters.
        let _ = std::fs::remove_file(&beside);
    }
    fetched.with_context(|| format!("the address index {} cannot be fetched", newest.version))?;
    tracing::info!(version = newest.version, "fetched the address index");
    Ok(true)
}

/// Before the geocoder is made: this instance's own copy of what a shared database keeps. A failure is a warning, since
/// what is in place may serve, and a running server tries again.
pub(crate) async fn bring_up_to_date(config: &Config, store: &Store) {
    if !is_shared(config) || config.geocoder == GeocoderKind::GeoSearch {
        return;
    }
    if let Err(error) = fetch_newest(store, &parts::pad_index(config)).await {
        tracing::warn!("{error:#}");
    }
}
