//! Addresses, one a line on standard input, resolved on a release of the city's address files.
//!
//! `cargo run --release -p brownstone-address --example resolve FOLDER < addresses.txt`: the folder holds `bobaadr.txt`,
//! `bobabbl.txt` and, where there is one, `snd*cow.txt`. Prints the building, the line it has, how it stands to what was
//! typed, and the warnings; or why there is none.

// Its output is its purpose.
#![allow(clippy::print_stdout)]

use std::{error::Error, io::BufRead as _, sync::Arc};

use brownstone_address::{pad::PadIndex, resolver::Resolver};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args()
        .nth(1)
        .ok_or("the folder with the release is missing")?;
    let (index, _) = PadIndex::open_dir(folder)?;
    let resolver = Resolver::new(Arc::new(index));
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        match resolver.resolve(&line) {
            Ok(resolved) => println!(
                "{line}\t{}\t{}\t{:?}\t{}",
                resolved
                    .building
                    .bin
                    .map(|b| b.to_string())
                    .unwrap_or_default(),
                resolved.building.one_line(),
                resolved.matched,
                resolved.warnings.join(" ")
            ),
            Err(error) => println!("{line}\t-\t{error:?}\t\t"),
        }
    }
    Ok(())
}
