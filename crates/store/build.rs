//! The migrations are embedded by a macro, which does not tell cargo which files it read.

fn main() {
    println!("cargo::rerun-if-changed=migrations");
}
