//! House rules as tests: which crate may lean on which, and what must not be in the tree.

mod dependencies;
mod routes;
mod security;

use std::{collections::BTreeMap, path::PathBuf, process::Command};

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand};

/// What each crate may use of ours, `domain` aside, which all may use. The floors of `docs/ARCHITECTURE.md`.
const ARROWS: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("quota", &[]),
    ("accounts", &[]),
    ("upstream", &[]),
    ("report-cache", &[]),
    ("soda", &["upstream"]),
    ("address", &["upstream"]),
    ("sources", &["soda", "upstream"]),
    ("listings", &["address", "upstream"]),
    ("rates", &["upstream"]),
    ("valuation", &["listings", "address", "soda"]),
    (
        "store",
        &[
            "quota",
            "accounts",
            "report-cache",
            "listings",
            "rates",
            "valuation",
        ],
    ),
    (
        "service",
        &[
            "quota",
            "accounts",
            "upstream",
            "report-cache",
            "soda",
            "address",
            "sources",
            "listings",
            "rates",
            "valuation",
        ],
    ),
    ("edge", &[]),
    ("http", &["edge", "service", "quota"]),
    ("mcp", &["edge", "service", "quota"]),
    ("web", &["edge", "service", "accounts"]),
    ("telemetry", &[]),
    ("sample-city", &[]),
    ("client", &[]),
];

/// Libraries that belong to one place.
const KEPT_IN: &[(&str, &[&str])] = &[
    (
        "actix-web",
        &[
            "edge",
            "http",
            "mcp",
            "sample-city",
            "web",
            "brownstone",
            "bench",
        ],
    ),
    ("diesel", &["store"]),
    ("diesel-async", &["store"]),
    ("reqwest", &["upstream", "client", "bench", "tests"]),
];

fn metadata() -> Metadata {
    MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .no_deps()
        .exec()
        .expect("cargo describes the workspace")
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("tests/ stands in the workspace")
        .to_owned()
}

/// Our name of a package: `brownstone-soda` is `soda`, the binary is `brownstone`.
fn short(name: &str) -> &str {
    name.strip_prefix("brownstone-").unwrap_or(name)
}

/// Normal dependencies of each of our packages.
fn dependencies(metadata: &Metadata) -> BTreeMap<String, Vec<String>> {
    metadata
        .workspace_packages()
        .into_iter()
        .map(|package| {
            let normal = package
                .dependencies
                .iter()
                .filter(|dependency| dependency.kind == DependencyKind::Normal)
                .map(|dependency| dependency.name.clone())
                .collect();
            (short(&package.name).to_owned(), normal)
        })
        .collect()
}

#[test]
fn arrows_point_down() {
    let mut wrong = Vec::new();
    for (package, uses) in dependencies(&metadata()) {
        let ours = uses
            .iter()
            .filter(|name| name.starts_with("brownstone"))
            .map(|name| short(name));
        let Some((_, allowed)) = ARROWS.iter().find(|(name, _)| *name == package) else {
            assert!(
                matches!(package.as_str(), "brownstone" | "bench" | "tests"),
                "{package} is in no floor: give it a row"
            );
            continue;
        };
        for used in ours {
            if used != "domain" && !allowed.contains(&used) {
                wrong.push(format!("{package} leans on {used}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn dev_dependencies_add_only_lower_crates_and_the_sample_city() {
    let metadata = metadata();
    let mut wrong = Vec::new();
    for package in metadata.workspace_packages() {
        let name = short(&package.name);
        let Some((_, allowed)) = ARROWS.iter().find(|(row, _)| *row == name) else {
            continue;
        };
        for dependency in &package.dependencies {
            let used = short(&dependency.name);
            let ours = dependency.name.starts_with("brownstone");
            let fine = used == "domain"
                || used == "sample-city"
                || used == name
                || allowed.contains(&used);
            if ours && dependency.kind == DependencyKind::Development && !fine {
                wrong.push(format!("{name} tests with {used}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn libraries_stay_where_they_belong() {
    let all = dependencies(&metadata());
    let mut wrong = Vec::new();
    for (library, homes) in KEPT_IN {
        for (package, uses) in &all {
            if uses.iter().any(|name| name == library) && !homes.contains(&package.as_str()) {
                wrong.push(format!("{package} uses {library}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// What the default build must bring, since the workspace's own test build unites the features of all packages.
#[test]
fn the_default_binary_has_every_store() {
    let metadata = metadata();
    let binary = metadata
        .workspace_packages()
        .into_iter()
        .find(|package| package.name.as_str() == "brownstone")
        .expect("the binary is in the workspace");
    let default = binary.features.get("default").expect("default features");
    for store in ["sqlite", "postgres", "redis"] {
        assert!(default.iter().any(|name| name == store), "{store}");
        let brings = binary.features.get(store).expect("a feature of that name");
        assert_eq!(*brings, [format!("brownstone-store/{store}")]);
    }
}

#[test]
fn every_crate_says_what_it_must_not_know() {
    for (name, _) in ARROWS {
        let readme = root().join("crates").join(name).join("README.md");
        let text = std::fs::read_to_string(&readme).expect("every crate has a README");
        assert!(text.starts_with(&format!("# brownstone-{name}")), "{name}");
        assert!(
            text.to_lowercase().contains("must not know"),
            "{name}'s README says what it must not know"
        );
    }
}

/// Tracked files, as git lists them.
fn tracked() -> Vec<PathBuf> {
    let output = Command::new("git")
        .args(["ls-files", "-z"])
        .current_dir(root())
        .output()
        .expect("git lists the files");
    assert!(output.status.success());
    String::from_utf8(output.stdout)
        .expect("names are text")
        .split_terminator('\0')
        .map(|name| root().join(name))
        .filter(|path| path.exists())
        .collect()
}

#[test]
fn the_top_level_holds_what_it_should_and_nothing_else() {
    const ALLOWED: &[&str] = &[
        "Cargo.toml",
        "Cargo.lock",
        "crates",
        "bins",
        "docs",
        "tests",
        "Makefile",
        "rust-toolchain.toml",
        "README.md",
        "CHANGELOG.md",
        "LICENSE",
        "LICENSE-APACHE",
        "LICENSE-MIT",
        "CONTRIBUTING.md",
        "SECURITY.md",
        ".editorconfig",
        "deny.toml",
        "typos.toml",
        "packaging",
        "clippy.toml",
        "rustfmt.toml",
        ".gitignore",
        ".ci",
        ".config",
        "fuzz",
    ];
    for path in tracked() {
        let inside = path.strip_prefix(root()).expect("tracked files are inside");
        let top = inside.components().next().expect("a name").as_os_str();
        assert!(
            ALLOWED.iter().any(|name| top == *name),
            "{}",
            inside.display()
        );
    }
}

#[test]
fn no_source_file_holds_a_stub_an_ignored_test_or_more_than_its_share() {
    /// A file that passes this wants to be two.
    const MOST_LINES: usize = 700;
    // Written apart, so that this file does not hold them.
    let banned = ["todo", "unimplemented", "dbg"].map(|name| format!("{name}!("));
    let ignored = format!("#[{}", "ignore");
    let mut unsafe_allowed = 0;
    let mut wrong = Vec::new();
    for path in tracked()
        .iter()
        .filter(|path| path.extension().is_some_and(|e| e == "rs"))
    {
        let text = std::fs::read_to_string(path).expect("sources are text");
        let name = path
            .strip_prefix(root())
            .expect("inside")
            .display()
            .to_string();
        for line in text.lines() {
            let stub = banned.iter().any(|mark| line.contains(mark)) || line.contains(&ignored);
            if stub && !line.trim_start().starts_with("//") {
                wrong.push(format!("{name}: {line}"));
            }
            if line.trim_end() != line {
                wrong.push(format!("{name}: blanks at the end of {line:?}"));
            }
            unsafe_allowed += usize::from(line.contains("allow(unsafe_code)"));
        }
        if text.lines().count() > MOST_LINES {
            wrong.push(format!("{name}: {} lines", text.lines().count()));
        }
        let first = text.lines().next().unwrap_or_default();
        let is_tests = name.ends_with("/tests.rs") || name.ends_with("_tests.rs");
        let says = is_tests || first.starts_with("//!") || first.starts_with("#![doc");
        if !says {
            wrong.push(format!("{name}: no first line that says what it is for"));
        }
    }
    // This file names it once; the two memory-mapped indexes have one each.
    assert!(
        unsafe_allowed <= 3,
        "{unsafe_allowed} places allow unsafe code"
    );
    assert!(wrong.is_empty(), "{wrong:#?}");
}
