//! The table of routes is what the sources register: a route that nobody wrote down is a route that nobody guards.

use std::collections::BTreeSet;

use brownstone_domain::OPERATIONS;
use brownstone_tests::{Host, ROUTES};

use crate::{root, tracked};

/// The files that register routes.
const REGISTER: &[&str] = &[
    "crates/http/src/app.rs",
    "crates/mcp/src/mount.rs",
    "crates/web/src/host.rs",
    "crates/web/src/pages/mod.rs",
];

/// Others that do, of servers that are no part of the service's surface: the metrics' own listener, and the sample city.
const APART: &[&str] = &["crates/http/src/metrics.rs", "crates/sample-city/"];

/// Paths behind a name: where they are, and whose name.
const NAMED: &[(&str, &str)] = &[
    ("crates/web/src/pages/oidc.rs", "pub(crate) const BEGIN"),
    ("crates/web/src/pages/oidc.rs", "pub const CALLBACK"),
    ("crates/mcp/src/mount.rs", "pub const PATH"),
];

/// What the web host answers for the API's paths, that they are elsewhere, and its own files.
const NO_PAGES: &[&str] = &[
    "/v1",
    "/v1/*",
    "/v1/{rest:.*}",
    "/mcp/{rest:.*}",
    "/assets/{name}-{short}.{ending}",
];

fn text(path: &str) -> String {
    let text = std::fs::read_to_string(root().join(path)).expect("a source");
    // What stands behind is the file's own tests.
    let end = text.find("#[cfg(test)]").unwrap_or(text.len());
    text[..end].to_owned()
}

/// Literals that begin with a slash.
fn paths(text: &str) -> impl Iterator<Item = String> + '_ {
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    lines.flat_map(|line| {
        line.split('"')
            .skip(1)
            .step_by(2)
            .filter(|literal| literal.starts_with('/'))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    })
}

#[test]
fn every_route_of_the_sources_is_in_the_table_and_the_other_way_round() {
    let mut registered: BTreeSet<String> = REGISTER
        .iter()
        .flat_map(|file| paths(&text(file)).collect::<Vec<_>>())
        .collect();
    for (file, name) in NAMED {
        let text = text(file);
        let line = text.lines().find(|line| line.starts_with(name));
        let line = line.unwrap_or_else(|| panic!("{file} has no {name}"));
        registered.extend(paths(line));
    }
    for path in NO_PAGES {
        assert!(registered.remove(*path), "{path}");
    }
    registered.extend(OPERATIONS.iter().map(|spec| spec.path.to_owned()));
    let known: BTreeSet<String> = ROUTES.iter().map(|route| route.path.to_owned()).collect();
    assert_eq!(registered, known);
    let twice: BTreeSet<_> = ROUTES
        .iter()
        .map(|route| (route.host == Host::Api, route.path))
        .collect();
    assert_eq!(twice.len(), ROUTES.len(), "each stands there once");
}

#[test]
fn routes_are_registered_where_the_table_looks() {
    let marks = ["route(", "resource(", "scope(", "scope_with_path("]
        .map(|mark| [".", "web::"].map(|before| format!("{before}{mark}")));
    let mut wrong = Vec::new();
    for path in tracked() {
        let name = path
            .strip_prefix(root())
            .expect("inside")
            .display()
            .to_string();
        let ours = name.starts_with("crates/") && name.contains("/src/") && name.ends_with(".rs");
        let excused = REGISTER
            .iter()
            .chain(APART)
            .any(|known| name.starts_with(known));
        let tests = name.ends_with("tests.rs");
        if !ours || excused || tests {
            continue;
        }
        let text = text(&name);
        if marks
            .iter()
            .flatten()
            .any(|mark| text.contains(mark.as_str()))
        {
            wrong.push(name);
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
