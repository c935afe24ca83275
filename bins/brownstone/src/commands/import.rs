//! `brownstone import`: a release of the city's address files becomes the index file that servers use.

use std::{
    fs::File,
    io::{BufReader, IsTerminal as _, Read},
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, bail};
use brownstone_address::pad::{PadIndex, PadStats};
use brownstone_store::DatabaseKind;
use clap::Subcommand;
use indicatif::{ProgressBar, ProgressStyle};
use zip::ZipArchive;

use super::{complain, say};
use crate::{addresses, config::Config, parts};

/// What can be imported.
#[derive(Debug, Subcommand)]
pub(crate) enum ImportCommand {
    /// A release of the city's Property Address Directory; a running server takes it up within two seconds
    Pad {
        /// The release's ZIP, the folder with its files, or its bobaadr.txt
        path: PathBuf,
    },
}

/// Bad lines that are named.
const NAMED: usize = 5;

impl ImportCommand {
    /// Carries the command out.
    pub(crate) async fn run(self, config: &Config) -> anyhow::Result<()> {
        let Self::Pad { path } = self;
        let store = parts::open_store(config).await?;
        store.stamp(DatabaseKind::Real).await?;
        let data_dir = config.data_dir.clone();
        let place = parts::pad_index(config);
        let prepared = tokio::task::spawn_blocking(move || {
            std::fs::create_dir_all(&data_dir)
                .with_context(|| format!("cannot make the folder {}", data_dir.display()))?;
            Prepared::make(&path, place)
        })
        .await
        .context("the import broke off")??;
        if addresses::is_shared(config) {
            // Before this instance's own file is replaced: a server on it would fetch the old one back.
            let bytes = std::fs::read(&prepared.beside)?;
            store
                .put_index_file(addresses::INDEX_NAME, &prepared.version, &bytes)
                .await
                .context("the index cannot be kept in the database")?;
        }
        prepared.put_in_place()
    }
}

/// A checked index beside its place. Dropped before it is put there, it goes.
struct Prepared {
    beside: PathBuf,
    place: PathBuf,
    version: String,
    /// What to say when it is in place.
    said: String,
}

impl Prepared {
    /// Builds the index of the release at `path`, writes it beside its place, and checks what was written. Until it is put
    /// in place the old one stays.
    fn make(path: &Path, place: PathBuf) -> anyhow::Result<Self> {
        let bar = bar();
        let read =
            read(path, &bar).with_context(|| format!("{} cannot be imported", path.display()));
        bar.finish_and_clear();
        let (index, stats) = read?;
        let prepared = Self {
            beside: place.with_extension(format!("index.{}.checked", std::process::id())),
            place,
            version: index.version(),
            said: format!(
                "imported {} address rows, {} buildings, {} lots, {} streets; the index has {:.1} MB",
                stats.rows,
                stats.buildings,
                stats.lots,
                stats.streets,
                index.size() as f64 / 1e6,
            ),
        };
        let written = (|| {
            index.save(&prepared.beside)?;
            PadIndex::open(&prepared.beside)?.verify()
        })();
        written.with_context(|| prepared.unwritable())?;
        name_bad_lines(&stats);
        Ok(prepared)
    }

    fn unwritable(&self) -> String {
        format!("the index {} cannot be written", self.place.display())
    }

    /// Moves it to its place in one step.
    fn put_in_place(self) -> anyhow::Result<()> {
        std::fs::rename(&self.beside, &self.place).with_context(|| self.unwritable())?;
        say(&self.said);
        Ok(())
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        // It is gone already where it was put in its place.
        let _ = std::fs::remove_file(&self.beside);
    }
}

fn name_bad_lines(stats: &PadStats) {
    if stats.bad_lines == 0 {
        return;
    }
    complain(&format!("{} lines could not be read:", stats.bad_lines));
    for line in stats.bad_line_samples.iter().take(NAMED) {
        complain(&format!("  {line}"));
    }
    if stats.bad_lines > NAMED as u64 {
        complain("  and more");
    }
}

/// Progress on a terminal; elsewhere nothing.
fn bar() -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(0);
    if let Ok(style) =
        ProgressStyle::with_template("{spinner} {wide_bar} {bytes} of {total_bytes} {elapsed}")
    {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

/// The files of a release.
struct Release<T> {
    addresses: T,
    lots: T,
    dictionary: Option<T>,
}

impl<T> Release<T> {
    /// Picks them out by the start of their names, whatever their case and folder.
    fn pick(named: impl IntoIterator<Item = (String, T)>) -> anyhow::Result<Self> {
        let (mut addresses, mut lots, mut dictionary) = (None, None, None);
        for (name, file) in named {
            let name = name.to_ascii_lowercase();
            let own = name.rsplit(['/', '\\']).next().unwrap_or(&name);
            let slot = match own {
                _ if !own.ends_with(".txt") => continue,
                _ if own.starts_with("bobaadr") => &mut addresses,
                _ if own.starts_with("bobabbl") => &mut lots,
                _ if own.starts_with("snd") => &mut dictionary,
                _ => continue,
            };
            if slot.replace(file).is_some() {
                bail!("there are two files like {own}; one release is expected");
            }
        }
        Ok(Self {
            addresses: addresses.context("there is no bobaadr.txt")?,
            lots: lots.context("there is no bobabbl.txt")?,
            dictionary,
        })
    }
}

fn read(path: &Path, bar: &ProgressBar) -> anyhow::Result<(PadIndex, PadStats)> {
    if path.is_dir() {
        return read_folder(path, None, bar);
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if !name.to_ascii_lowercase().starts_with("bobaadr") {
        return read_zip(path, bar);
    }
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    read_folder(folder, Some(path), bar)
}

/// Reads the files in a folder; of the address files the one that was named, where one was.
fn read_folder(
    folder: &Path,
    addresses: Option<&Path>,
    bar: &ProgressBar,
) -> anyhow::Result<(PadIndex, PadStats)> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let other = name.to_ascii_lowercase().starts_with("bobaadr");
        if addresses.is_none() || !other {
            files.push((name, entry.path()));
        }
    }
    if let Some(path) = addresses {
        files.push(("bobaadr.txt".to_owned(), path.to_owned()));
    }
    let release = Release::pick(files)?;
    let open = |path: &PathBuf| -> anyhow::Result<_> {
        let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
        bar.inc_length(file.metadata()?.len());
        Ok(bar.wrap_read(BufReader::new(file)))
    };
    build(
        open(&release.addresses)?,
        open(&release.lots)?,
        release.dictionary.as_ref().map(open).transpose()?,
    )
}

fn read_zip(path: &Path, bar: &ProgressBar) -> anyhow::Result<(PadIndex, PadStats)> {
    let archive = || -> anyhow::Result<_> {
        let file = BufReader::new(File::open(path)?);
        ZipArchive::new(file).context("it is neither a folder, nor bobaadr.txt, nor a ZIP")
    };
    // Three readers of one file, since the index is built from three streams.
    let (mut first, mut second, mut third) = (archive()?, archive()?, archive()?);
    let names: Vec<(String, usize)> = (0..first.len())
        .filter_map(|at| Some((first.name_for_index(at)?.to_owned(), at)))
        .collect();
    let release = Release::pick(names)?;
    let addresses = first.by_index(release.addresses)?;
    let lots = second.by_index(release.lots)?;
    let dictionary = match release.dictionary {
        Some(at) => Some(third.by_index(at)?),
        None => None,
    };
    for size in [
        addresses.size(),
        lots.size(),
        dictionary.as_ref().map_or(0, zip::read::ZipFile::size),
    ] {
        bar.inc_length(size);
    }
    build(
        bar.wrap_read(addresses),
        bar.wrap_read(lots),
        dictionary.map(|file| bar.wrap_read(file)),
    )
}

fn build(
    addresses: impl Read,
    lots: impl Read,
    dictionary: Option<impl Read>,
) -> anyhow::Result<(PadIndex, PadStats)> {
    Ok(PadIndex::read(addresses, lots, dictionary)?)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use zip::write::SimpleFileOptions;

    use super::*;

    /// The sample city's release as a ZIP with a folder and names in capitals.
    fn release_zip(path: &Path) {
        let mut zip = zip::ZipWriter::new(File::create(path).unwrap());
        for (name, text) in brownstone_sample_city::pad_files() {
            let name = format!("pad26c/{}", name.to_uppercase());
            zip.start_file(name, SimpleFileOptions::default()).unwrap();
            zip.write_all(text.as_bytes()).unwrap();
        }
        zip.finish().unwrap();
    }

    #[test]
    fn a_zip_a_folder_and_a_file_give_the_same_index() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        for (name, text) in brownstone_sample_city::pad_files() {
            std::fs::write(place(name), text).unwrap();
        }
        release_zip(&place("release.zip"));
        let imported = |path: &Path| {
            let index = place("pad.index");
            let prepared = Prepared::make(path, index.clone()).unwrap();
            assert!(!index.exists(), "not before it is put in place");
            prepared.put_in_place().unwrap();
            let bytes = std::fs::read(&index).unwrap();
            std::fs::remove_file(index).unwrap();
            bytes
        };
        let from_folder = imported(folder.path());
        assert_eq!(from_folder, imported(&place("bobaadr.txt")));
        assert_eq!(from_folder, imported(&place("release.zip")));
    }

    #[test]
    fn what_is_no_release_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let index = folder.path().join("pad.index");
        let why = |path: &Path| {
            let made = Prepared::make(path, index.clone());
            format!("{:#}", made.err().expect("it is refused"))
        };
        assert!(why(folder.path()).contains("there is no bobaadr.txt"));
        let text = folder.path().join("notes.txt");
        std::fs::write(&text, "no archive").unwrap();
        assert!(why(&text).contains("nor a ZIP"));
        assert!(!index.exists());
    }
}
