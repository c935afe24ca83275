//! The sales index: made of what the city publishes, put in its place, and taken up by a running server.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::Context as _;
use brownstone_domain::Clock;
use brownstone_report_cache::Lease;
use brownstone_service::{Comps, Market};
use brownstone_soda::Soda;
use brownstone_store::{IndexVersion, Store};
use brownstone_valuation::{
    Loaded, Lots, SalesIndex, comps,
    model::{Model, Settings},
    sync,
};

use crate::{
    addresses::{self, Stamp},
    config::Config,
};

/// The name of the sales index among the files that a shared database keeps.
const INDEX_NAME: &str = "sales";

/// The name of the model that was learned from it.
const MODEL_NAME: &str = "valuation";

/// How often a finished sync is looked for.
const LOOK: Duration = Duration::from_secs(1);

/// How often it is asked whether the index is due.
const ASK: Duration = Duration::from_secs(900);

/// An index older than this is made anew by a server; the city adds sales about once a month.
const DUE: Duration = Duration::from_secs(86_400);

/// The lease under which one instance at a time makes an index, and how long it lasts.
const LEASE: &str = "sync-sales";
const LEASE_LASTS: Duration = Duration::from_secs(3_600);

/// The file that a sync puts in place.
pub(crate) fn sales_index(config: &Config) -> PathBuf {
    config.data_dir.join("sales.index")
}

/// The index that is in place; `None` where there is none. One that cannot be read is as good as none: it is made anew.
pub(crate) fn in_place(path: &Path) -> Option<SalesIndex> {
    match SalesIndex::open(path) {
        Ok(index) => Some(index),
        Err(error) => {
            if path.exists() {
                tracing::warn!(%error, "the sales index cannot be used");
            }
            None
        }
    }
}

/// Both tables of sales and the lots, fetched whole.
pub(crate) async fn fetch(soda: &dyn Soda) -> anyhow::Result<SalesIndex> {
    let loaded = sync::fetch_sales(soda, &mut |_| {}).await?;
    let lots = sync::fetch_lots(soda, &mut |_| {}).await?;
    build(loaded, lots).await
}

/// Makes an index; some seconds of work, so not on a thread that serves.
pub(crate) async fn build(loaded: Loaded, lots: Lots) -> anyhow::Result<SalesIndex> {
    tokio::task::spawn_blocking(move || SalesIndex::build(loaded, &lots))
        .await
        .context("making the sales index broke off")
}

fn make_folder(place: &Path) -> anyhow::Result<()> {
    let Some(folder) = place.parent() else {
        return Ok(());
    };
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))
}

/// Writes the index beside its place, checks what was written, and moves it there in one step.
pub(crate) fn put_in_place(index: &SalesIndex, place: &Path) -> anyhow::Result<()> {
    make_folder(place)?;
    let beside = place.with_extension(format!("index.{}.checked", std::process::id()));
    let placed = (|| {
        index.save(&beside)?;
        SalesIndex::open(&beside)?.verify()?;
        std::fs::rename(&beside, place)?;
        anyhow::Ok(())
    })();
    if placed.is_err() {
        // The first error is the one that matters.
        let _ = std::fs::remove_file(&beside);
    }
    placed.with_context(|| format!("the index {} cannot be written", place.display()))
}

/// The model beside an index file.
fn model_beside(path: &Path) -> PathBuf {
    path.with_file_name("valuation.model")
}

/// Learns from an index's sales. Minutes of work for a city, so not on a thread that serves.
pub(crate) async fn train(index: &SalesIndex) -> anyhow::Result<Vec<u8>> {
    let index = index.clone();
    tokio::task::spawn_blocking(move || {
        let loaded = index.to_loaded();
        let until = loaded.sales.last().map_or(0, |sale| sale.date + 1);
        Model::train(&loaded, until, 0, &Settings::default())
            .map(|model| model.to_bytes())
            .map_err(|error| anyhow::anyhow!("the model cannot be trained: {error}"))
    })
    .await
    .context("the training broke off")?
}

/// Writes a model beside the index's place in one step.
fn put_model_in_place(model: &[u8], place: &Path) -> anyhow::Result<()> {
    make_folder(place)?;
    let path = model_beside(place);
    let beside = path.with_extension(format!("model.{}.new", std::process::id()));
    std::fs::write(&beside, model)
        .and_then(|()| std::fs::rename(&beside, &path))
        .with_context(|| format!("{} cannot be written", path.display()))
}

/// Puts an index in its place, the model before it where there is a new one, since a server takes both up when the index
/// is there; and into a database that other instances share before that: a server beside this program would fetch the old
/// ones back.
pub(crate) async fn publish(
    shared: Option<&Store>,
    index: SalesIndex,
    model: Option<Vec<u8>>,
    place: &Path,
) -> anyhow::Result<()> {
    if let Some(store) = shared {
        if let Some(model) = &model {
            let version = Model::version_of(model).unwrap_or_default();
            store
                .put_index_file(MODEL_NAME, &version, model)
                .await
                .context("the model cannot be kept in the database")?;
        }
        store
            .put_index_file(INDEX_NAME, &index.version(), index.bytes())
            .await
            .context("the sales index cannot be kept in the database")?;
    }
    let place = place.to_owned();
    tokio::task::spawn_blocking(move || {
        if let Some(model) = &model {
            put_model_in_place(model, &place)?;
        }
        put_in_place(&index, &place)
    })
    .await
    .context("writing the sales index broke off")?
}

/// The database where it keeps the sales for other instances, too.
pub(crate) fn shared_store<'a>(config: &Config, store: &'a Store) -> Option<&'a Store> {
    addresses::is_shared(config).then_some(store)
}

/// This instance's copy of the sales that a shared database keeps.
pub(crate) struct Copy {
    store: Store,
    place: PathBuf,
    /// The model in place: a file is read once.
    model: Option<(Stamp, Option<String>)>,
    /// Versions that this program could not use: another program's. They are not fetched again.
    refused: Option<(String, Option<String>)>,
}

impl Copy {
    /// Of the index at this place.
    pub(crate) const fn of(store: Store, place: PathBuf) -> Self {
        Self {
            store,
            place,
            model: None,
            refused: None,
        }
    }

    /// Fetches the newest index and its model, where this instance's own files are others. Says whether it did; the files
    /// are then in their places.
    ///
    /// # Errors
    /// When the database or the files cannot be used; what was in place stays.
    pub(crate) async fn fetch_newest(&mut self) -> anyhow::Result<bool> {
        let Some(index) = self.store.latest_index(INDEX_NAME).await? else {
            return Ok(false);
        };
        let model = self.store.latest_index(MODEL_NAME).await?;
        let versions = (
            index.version.clone(),
            model.as_ref().map(|model| model.version.clone()),
        );
        // Opening reads the header alone. A file that cannot be used is replaced.
        let has_index =
            SalesIndex::open(&self.place).is_ok_and(|own| own.version() == index.version);
        let has_model = model.is_none() || self.model_in_place()? == versions.1;
        if (has_index && has_model) || self.refused.as_ref() == Some(&versions) {
            return Ok(false);
        }
        let model = match &model {
            Some(version) if !has_model => Some(self.fetch(version).await?),
            _ => None,
        };
        let bytes = self.fetch(&index).await?;
        let place = self.place.clone();
        let placed = tokio::task::spawn_blocking(move || {
            let index = SalesIndex::from_bytes(bytes)?;
            if let Some(model) = &model {
                put_model_in_place(model, &place)?;
            }
            // Also when it is the same: it is the index that says that there is something new.
            put_in_place(&index, &place)
        })
        .await
        .context("the check broke off")?;
        if placed.is_err() {
            self.refused = Some(versions);
        }
        placed.with_context(|| format!("the sales index {} cannot be used", index.version))?;
        tracing::info!(version = index.version, "fetched the sales index");
        Ok(true)
    }

    /// The version of the model in place; `None` where there is none.
    fn model_in_place(&mut self) -> anyhow::Result<Option<String>> {
        let path = model_beside(&self.place);
        let Some(stamp) = Stamp::of(&path)? else {
            return Ok(None);
        };
        if let Some((seen, version)) = &self.model
            && *seen == stamp
        {
            return Ok(version.clone());
        }
        let version = Model::version_of(&std::fs::read(&path)?);
        self.model = Some((stamp, version.clone()));
        Ok(version)
    }

    async fn fetch(&self, version: &IndexVersion) -> anyhow::Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(usize::try_from(version.length).unwrap_or(0));
        self.store
            .fetch_index(version, &mut bytes)
            .await
            .with_context(|| format!("{} {} cannot be fetched", version.name, version.version))?;
        Ok(bytes)
    }
}

/// Takes an index file's sales up, with the model beside them where there is one.
pub(crate) async fn take_up(comps: &Comps, index: SalesIndex, place: &Path) {
    let (known, path) = (index.clone(), model_beside(place));
    let valuer = tokio::task::spawn_blocking(move || {
        let model = std::fs::read(&path).ok().and_then(|bytes| {
            Model::from_bytes(&bytes)
                .inspect_err(|error| tracing::warn!(%error, "the valuation model cannot be used"))
                .ok()
        });
        if model.is_none() {
            tracing::warn!(
                "no valuation model: values rest on comparable sales alone until a sync trains one"
            );
        }
        comps::valuer(&known, model)
    });
    match valuer.await {
        Ok(valuer) => comps.take_up(Market {
            index,
            valuer: Some(valuer),
        }),
        Err(error) => {
            tracing::error!(%error, "no values can be made of the sales");
            comps.take_up(Market {
                index,
                valuer: None,
            });
        }
    }
}

/// Takes the sample's sales up. They are few: the model is trained when the first value is asked for.
pub(crate) fn take_up_sample(comps: &Comps, index: SalesIndex) {
    let valuer = Some(comps::learning_valuer(&index));
    comps.take_up(Market { index, valuer });
}

/// The index file that syncs put in place.
pub(crate) struct SalesFile {
    path: PathBuf,
    seen: Option<Stamp>,
}

impl SalesFile {
    /// Not looked at yet.
    pub(crate) const fn at(path: PathBuf) -> Self {
        Self { path, seen: None }
    }

    /// The index, where there is one that was not seen before.
    pub(crate) fn look(&mut self) -> anyhow::Result<Option<SalesIndex>> {
        let unusable = || format!("the sales index {} cannot be used", self.path.display());
        let stamp = Stamp::of(&self.path).with_context(unusable)?;
        if stamp.is_none() || stamp == self.seen {
            return Ok(None);
        }
        let index = SalesIndex::open(&self.path).with_context(unusable);
        self.seen = stamp;
        index.map(Some)
    }
}

/// Takes up each finished sync: this machine's, and where the database is shared another's.
pub(crate) async fn watch(mut file: SalesFile, comps: Comps, mut copy: Option<Copy>) {
    let mut next = tokio::time::interval(LOOK);
    let mut last_fault = None;
    loop {
        next.tick().await;
        if let Some(copy) = &mut copy {
            let fault = copy.fetch_newest().await.err();
            let fault = fault.map(|error| format!("{error:#}"));
            if let Some(fault) = fault.as_ref().filter(|_| fault != last_fault) {
                tracing::warn!("{fault}; sales are answered as before");
            }
            last_fault = fault;
        }
        match file.look() {
            Ok(None) => {}
            Ok(Some(index)) => {
                let sales = index.len();
                take_up(&comps, index, &file.path).await;
                tracing::info!(sales, "a sales index is in use");
            }
            Err(error) => tracing::warn!("{error:#}; sales are answered as before"),
        }
    }
}

/// Makes the index anew once a day. A deployment that never synced has none, and fetches none by itself: a million rows
/// are the operator's to ask for.
pub(crate) async fn refresh_daily(
    path: PathBuf,
    soda: Arc<dyn Soda>,
    lease: Arc<dyn Lease>,
    clock: Arc<dyn Clock>,
    shared: Option<Store>,
) {
    let holder = format!("{}-{}", std::process::id(), uuid::Uuid::now_v7());
    let mut next = tokio::time::interval(ASK);
    loop {
        next.tick().await;
        if !is_due(&path, &clock) {
            continue;
        }
        match lease.acquire(LEASE, &holder, LEASE_LASTS, None).await {
            Ok(true) => {}
            Ok(false) => continue,
            Err(error) => {
                tracing::warn!(%error, "whether the sales are due could not be asked");
                continue;
            }
        }
        let outcome = async {
            let index = fetch(soda.as_ref()).await?;
            let model = train(&index).await?;
            publish(shared.as_ref(), index, Some(model), &path).await
        };
        let outcome = outcome.await;
        brownstone_service::metrics::job("sales", outcome.is_ok());
        match outcome {
            Ok(()) => tracing::info!("the sales index was made anew"),
            Err(error) => tracing::warn!("{error:#}; the sales stay as they were"),
        }
        if let Err(error) = lease.release(LEASE, &holder).await {
            tracing::debug!(%error, "the lease on the sales ends by itself");
        }
    }
}

fn is_due(path: &Path, clock: &Arc<dyn Clock>) -> bool {
    let modified = std::fs::metadata(path).and_then(|about| about.modified());
    modified.is_ok_and(|modified| {
        let age = clock.now() - time::OffsetDateTime::from(modified);
        // One of another program's version is of no use, however new it is.
        age > DUE || SalesIndex::open(path).is_err()
    })
}

#[cfg(test)]
mod tests {
    use brownstone_domain::SystemClock;

    use super::*;

    fn empty() -> SalesIndex {
        SalesIndex::build(Loaded::default(), &Lots::default())
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_version_that_this_program_cannot_use_is_fetched_once_and_what_is_in_place_stays() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", folder.path().join("shared.db").display());
        let store = Store::open(&url).unwrap();
        store.migrate().await.unwrap();
        let place = folder.path().join("sales.index");
        let mut copy = Copy::of(store.clone(), place.clone());
        assert!(!copy.fetch_newest().await.unwrap(), "nothing was ever put");

        let good = empty();
        let put = async |version: &str, bytes: &[u8]| {
            store
                .put_index_file(INDEX_NAME, version, bytes)
                .await
                .unwrap();
        };
        put(&good.version(), good.bytes()).await;
        assert!(copy.fetch_newest().await.unwrap());
        assert!(!copy.fetch_newest().await.unwrap(), "it is in place");
        let in_place = std::fs::read(&place).unwrap();

        // Another program's layout: the same file with another number behind its name.
        let mut other = good.bytes().to_vec();
        other[7] = other[7].wrapping_add(1);
        // And a file that lost its end.
        let cut = good.bytes().get(..good.bytes().len() / 2).unwrap();
        for (version, bytes) in [("other-layout", other.as_slice()), ("cut-short", cut)] {
            put(version, bytes).await;
            let fault = copy.fetch_newest().await.unwrap_err();
            assert!(
                format!("{fault:#}").contains(&format!("the sales index {version} cannot be used")),
                "{fault:#}"
            );
            assert!(
                !copy.fetch_newest().await.unwrap(),
                "refused, and not fetched again"
            );
            assert_eq!(std::fs::read(&place).unwrap(), in_place);
        }

        put(&good.version(), good.bytes()).await;
        assert!(
            !copy.fetch_newest().await.unwrap(),
            "the newest again is what is in place"
        );
        std::fs::remove_file(&place).unwrap();
        assert!(
            copy.fetch_newest().await.unwrap(),
            "what was lost is fetched"
        );
        assert!(SalesIndex::open(&place).is_ok());
    }

    #[test]
    fn an_index_of_another_program_is_due_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sales.index");
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        assert!(!is_due(&path, &clock), "none was ever made");
        put_in_place(&empty(), &path).unwrap();
        assert!(!is_due(&path, &clock));
        std::fs::write(&path, "another program's").unwrap();
        assert!(is_due(&path, &clock));
    }

    #[test]
    fn an_index_in_place_is_seen_once_and_a_damaged_one_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new").join("sales.index");
        let mut file = SalesFile::at(path.clone());
        assert!(file.look().unwrap().is_none());
        assert!(in_place(&path).is_none());
        put_in_place(&empty(), &path).unwrap();
        assert!(file.look().unwrap().is_some());
        assert!(file.look().unwrap().is_none(), "seen already");
        assert!(in_place(&path).is_some());
        std::fs::write(&path, "no index").unwrap();
        assert!(file.look().is_err());
        assert!(file.look().unwrap().is_none(), "said once");
        assert!(in_place(&path).is_none());
    }
}
