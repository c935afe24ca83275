//! What a test needs and may not find: a server, a tool, real rows. A test that finds none returns early, which looks like a pass;
//! so it says that it was skipped, and one that has real rows says that it read them. Both go to the process's own standard error:
//! the test harness keeps what `println!` and `eprintln!` of a passing test say to itself. Test code of several crates takes this
//! file in by its path.
#![allow(dead_code, reason = "no crate needs all of it")]

use std::{collections::BTreeSet, io::Write as _, path::PathBuf, sync::Mutex};

/// Lines that were written, each once.
static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

fn say(line: String) {
    let mut said = SAID
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    if !said.contains(&line) {
        // In one piece, so that lines of tests that run at once don't mix. Nothing hangs on it but what is read.
        let _ = std::io::stderr().write_all(line.as_bytes());
        said.insert(line);
    }
}

/// The harness names a test's thread by the test.
fn test() -> String {
    let thread = std::thread::current();
    thread.name().unwrap_or("a test").to_owned()
}

/// Says that this test was skipped, in whole or in part, and why.
pub(crate) fn skipped(why: &str) {
    say(format!("skipped: {}: {why}\n", test()));
}

/// The variable by which a script tells where a server or a tool is; `None` and a line where it is not set.
pub(crate) fn variable(name: &str, set_by: &str) -> Option<String> {
    let value = std::env::var(name).ok().filter(|value| !value.is_empty());
    if value.is_none() {
        skipped(&format!("{name} is not set ({set_by} sets it)"));
    }
    value
}

/// This file or folder of the real data; `None` and a line where `NYC_REAL_DATA` is not set. Where it is set, what is asked for must
/// be there: `.ci/run` counts the tests that say so.
pub(crate) fn real_data(within: &str) -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("NYC_REAL_DATA").filter(|path| !path.is_empty()) else {
        skipped("NYC_REAL_DATA is not set");
        return None;
    };
    let path = PathBuf::from(folder).join(within);
    assert!(path.exists(), "NYC_REAL_DATA has no {}", path.display());
    say(format!("real data: {}\n", test()));
    Some(path)
}
