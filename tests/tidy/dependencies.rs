//! What we lean on: under which licence, from where, and whether at all.

use std::{collections::BTreeSet, path::Path};

use cargo_metadata::{DependencyKind, MetadataCommand, Package};

use crate::{metadata, root};

/// The licences of `deny.toml`.
fn allowed_licences() -> BTreeSet<String> {
    let text = std::fs::read_to_string(root().join("deny.toml")).expect("deny.toml");
    let list = text
        .split_once("allow = [")
        .and_then(|(_, rest)| rest.split_once(']'))
        .map(|(list, _)| list)
        .expect("the list of licences");
    list.split('"')
        .skip(1)
        .step_by(2)
        .map(ToOwned::to_owned)
        .collect()
}

/// Libraries that must not come in: TLS is rustls alone.
const BANNED: &[&str] = &["openssl-sys", "native-tls"];

/// Packages that name a file and no licence; read by a person.
const READ: &[(&str, &str)] = &[("forust-ml", "Apache-2.0")];

fn all_packages() -> Vec<Package> {
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let options = ["--locked", "--filter-platform", &target].map(ToOwned::to_owned);
    MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .other_options(options)
        .exec()
        .expect("cargo describes what we lean on")
        .packages
}

#[test]
fn licences_are_allowed_and_nothing_comes_from_elsewhere() {
    let allowed = allowed_licences();
    assert!(allowed.contains("MIT"), "{allowed:?}");
    let packages = all_packages();
    let mut wrong = Vec::new();
    for package in &packages {
        let name = &package.name;
        if BANNED.iter().any(|banned| name.as_str() == *banned) {
            wrong.push(format!("{name} is banned"));
        }
        let Some(source) = &package.source else {
            continue;
        };
        if !source.repr.starts_with("registry+") && !source.repr.starts_with("sparse+") {
            wrong.push(format!("{name} comes from {source}"));
        }
        let read = READ.iter().find(|(read, _)| name.as_str() == *read);
        let named = package.license.as_deref();
        let text = named.or(read.map(|(_, text)| *text)).unwrap_or_default();
        let parsed = spdx::Expression::parse_mode(text, spdx::ParseMode::LAX);
        let fits = parsed.is_ok_and(|terms| {
            terms.evaluate(|term| {
                let text = term.to_string();
                allowed.contains(&text)
            })
        });
        if !fits {
            wrong.push(format!("{name}: licence {text:?}"));
        }
    }
    assert!(packages.len() > 100, "{}", packages.len());
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Named for its features or its linking alone, never in the code.
const UNNAMED: &[(&str, &str)] = &[
    ("store", "libsqlite3-sys"),
    ("bench", "libsqlite3-sys"),
    ("brownstone", "actix-web"),
];

fn names(folder: &Path, ident: &str) -> bool {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return false;
    };
    entries.filter_map(Result::ok).any(|entry| {
        let path = entry.path();
        if path.is_dir() {
            return names(&path, ident);
        }
        path.extension().is_some_and(|kind| kind == "rs")
            && std::fs::read_to_string(&path).is_ok_and(|text| {
                text.match_indices(ident).any(|(at, _)| {
                    let before = text[..at].chars().next_back();
                    let after = text[at + ident.len()..].chars().next();
                    let word = |c: char| c.is_alphanumeric() || c == '_';
                    !before.is_some_and(word) && !after.is_some_and(word)
                })
            })
    })
}

#[test]
fn every_dependency_is_used() {
    let mut unused = Vec::new();
    for package in metadata().workspace_packages() {
        let folder = package.manifest_path.parent().expect("a folder");
        for dependency in &package.dependencies {
            let ident = dependency.rename.as_ref().unwrap_or(&dependency.name);
            let ident = ident.replace('-', "_");
            let places: &[&str] = match dependency.kind {
                DependencyKind::Development => &["src", "tests", "it", "tidy", "examples"],
                _ => &["src", "it", "tidy"],
            };
            let used = places
                .iter()
                .any(|place| names(folder.join(place).as_std_path(), &ident));
            let short = crate::short(package.name.as_str());
            let excused = UNNAMED
                .iter()
                .any(|(owner, name)| *owner == short && *name == dependency.name);
            if !used && !excused {
                unused.push(format!("{}: {}", package.name, dependency.name));
            }
        }
    }
    assert!(unused.is_empty(), "{unused:#?}");
}

/// What an optional feature brings stays out of the program that most people build.
#[test]
fn the_default_program_has_no_telemetry() {
    let tree = |more: &[&str]| {
        let output = std::process::Command::new(env!("CARGO"))
            .args(["tree", "--locked", "--offline", "--package", "brownstone"])
            .args(["--edges", "normal", "--prefix", "none"])
            .args(more)
            .current_dir(root())
            .output()
            .expect("cargo runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        String::from_utf8(output.stdout).expect("text")
    };
    assert!(!tree(&[]).contains("opentelemetry"));
    let with = tree(&["--features", "otel"]);
    assert!(with.contains("opentelemetry-otlp") && !with.contains("tonic v"));
}
