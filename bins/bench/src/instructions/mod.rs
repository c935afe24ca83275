//! Instructions of the hot paths, counted by callgrind, beside a committed baseline.
//!
//! A count does not know what else the machine is doing: the same program takes the same instructions within a few per mille. So a
//! path that got dearer fails a check, where a time would only raise an eyebrow.

mod paths;
mod rig;

use std::{
    collections::BTreeMap, fmt::Write as _, fs, hint::black_box, path::Path, process::Command,
};

use anyhow::{Context as _, bail, ensure};

use self::paths::PATHS;

/// How often a path is run before it is counted: what is made once is there by then.
const BEFORE: usize = 300;

/// How often it is run while it is counted.
const COUNTED: usize = 1_000;

/// How far above the baseline a count may be.
const ALLOWED: f64 = 1.10;

/// Where counting begins and ends: callgrind knows it by its name.
#[inline(never)]
fn counted_section(run: &mut dyn FnMut()) {
    for _ in 0..COUNTED {
        run();
    }
    // Keeps the loop in this function.
    black_box(());
}

/// Runs one path, for callgrind to watch.
pub(crate) fn one(name: &str) -> anyhow::Result<()> {
    let Some(path) = PATHS.iter().find(|path| path.name == name) else {
        bail!("there is no path {name:?}");
    };
    (path.with)(&mut |run| {
        for _ in 0..BEFORE {
            run();
        }
        counted_section(run);
    })
}

/// Counts every path and compares with `baseline`, or puts the counts there.
///
/// # Errors
/// When a path takes more than a tenth above its baseline, or has none.
pub(crate) fn check(baseline: &Path, accept: bool) -> anyhow::Result<()> {
    let known = if accept {
        BTreeMap::new()
    } else {
        read(&fs::read_to_string(baseline).with_context(|| baseline.display().to_string())?)?
    };
    let mut found = Vec::new();
    let mut dearer = Vec::new();
    for path in PATHS {
        let count = count(path.name)?;
        found.push((path, count));
        let Some(&before) = known.get(path.name) else {
            println!("{:<20} {count:>9} instructions", path.name);
            ensure!(accept, "{} has no baseline", path.name);
            continue;
        };
        let share = count as f64 / before as f64;
        println!(
            "{:<20} {count:>9} instructions, {share:.3} of {before}",
            path.name
        );
        if share > ALLOWED {
            dearer.push(path.name);
        }
    }
    if accept {
        fs::write(baseline, write(&found))?;
    }
    ensure!(
        dearer.is_empty(),
        "dearer than the baseline allows: {}. Find out why (docs/performance.md says how); accept what must be by `make instructions ACCEPT=1`",
        dearer.join(", ")
    );
    Ok(())
}

fn count(name: &str) -> anyhow::Result<u64> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("counts");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--collect-atstart=no"])
        .arg("--toggle-collect=*counted_section*")
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(std::env::current_exe()?)
        .args(["--count", name])
        .output()
        .context("valgrind is needed: install the package valgrind")?;
    ensure!(
        output.status.success(),
        "{name}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let counts = fs::read_to_string(&file)?;
    let total = counts
        .lines()
        .find_map(|line| {
            line.strip_prefix("totals: ")
                .or_else(|| line.strip_prefix("summary: "))
        })
        .and_then(|text| text.trim().parse::<u64>().ok())
        .context("callgrind gives no total")?;
    ensure!(total > 0, "{name}: nothing was counted");
    Ok(total / COUNTED as u64)
}

/// `name = count`, one a line; what begins with `#` is for people.
fn read(text: &str) -> anyhow::Result<BTreeMap<String, u64>> {
    text.lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| {
            let (name, count) = line.split_once(" = ").with_context(|| line.to_owned())?;
            Ok((
                name.to_owned(),
                count.parse().with_context(|| line.to_owned())?,
            ))
        })
        .collect()
}

fn write(found: &[(&paths::Path, u64)]) -> String {
    let mut text = "# Instructions of one run of each hot path. Written by `make instructions ACCEPT=1`; `make instructions` fails where a path\n\
                    # takes more than a tenth above this.\n"
        .to_owned();
    for (path, count) in found {
        // Writing to a String cannot fail.
        let _ = write!(text, "\n# {}\n{} = {count}\n", path.tells, path.name);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_baseline_that_was_written_is_read() {
        let found: Vec<(&paths::Path, u64)> = PATHS.iter().zip(7..).collect();
        let read = read(&write(&found)).unwrap();
        assert_eq!(read.len(), PATHS.len());
        assert!(
            found
                .iter()
                .all(|(path, count)| read.get(path.name) == Some(count))
        );
    }

    #[test]
    fn a_line_that_is_none_is_named() {
        let error = read("a = 1\nb is 2\n").unwrap_err();
        assert_eq!(error.to_string(), "b is 2");
    }

    #[test]
    fn every_path_runs() {
        for path in PATHS {
            let mut runs = 0;
            (path.with)(&mut |run| {
                for _ in 0..3 {
                    run();
                    runs += 1;
                }
            })
            .unwrap();
            assert_eq!(runs, 3, "{}", path.name);
        }
    }
}
