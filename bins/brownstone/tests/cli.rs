//! The program's face in a terminal. Since this test names the binary, `cargo test` builds it for the others, too.

use std::process::{Command, Output};

fn brownstone(arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let folder = tempfile::tempdir().expect("a temporary folder");
    Command::new(env!("CARGO_BIN_EXE_brownstone"))
        .args(arguments)
        .current_dir(folder.path())
        .env_clear()
        .envs(variables.iter().copied())
        .output()
        .expect("the program runs")
}

fn error(output: &Output) -> String {
    assert!(!output.status.success());
    String::from_utf8(output.stderr.clone()).expect("text")
}

fn printed(output: &Output) -> String {
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout.clone()).expect("text")
}

#[test]
fn help_lists_the_commands() {
    let help = printed(&brownstone(&["--help"], &[]));
    for command in [
        "serve", "account", "limits", "key", "lookup", "resolve", "sources", "config", "migrate",
        "doctor",
    ] {
        assert!(help.contains(command), "{help}");
    }
}

#[test]
fn the_configuration_is_printed_with_its_origins_and_no_secret() {
    let text = printed(&brownstone(
        &["--api-addr", "127.0.0.1:9999", "config"],
        &[
            ("BROWNSTONE_SODA_APP_TOKEN", "canary"),
            ("BROWNSTONE_GEOCODER", "pad"),
        ],
    ));
    assert!(
        text.contains("api_addr = \"127.0.0.1:9999\"  # flag"),
        "{text}"
    );
    assert!(text.contains("geocoder = \"pad\"  # environment"), "{text}");
    assert!(
        text.contains("soda_url = \"https://data.cityofnewyork.us\"  # default"),
        "{text}"
    );
    assert!(!text.contains("canary"), "{text}");
}

#[test]
fn unknown_settings_and_missing_files_are_errors() {
    let unknown = error(&brownstone(&["config"], &[("BROWNSTONE_API_ADRR", "x")]));
    assert!(unknown.contains("BROWNSTONE_API_ADRR"), "{unknown}");
    let missing = error(&brownstone(&["--config", "nowhere.toml", "config"], &[]));
    assert!(missing.contains("nowhere.toml"), "{missing}");
}

#[test]
fn a_bad_value_names_the_setting_and_what_is_allowed() {
    let text = error(&brownstone(
        &["config"],
        &[("BROWNSTONE_ENVIRONMENT", "prod")],
    ));
    assert!(
        text.contains("environment is \"prod\"; test or live is expected"),
        "{text}"
    );
}

#[test]
fn the_page_of_all_sources_is_up_to_date() {
    let page = printed(&brownstone(&["sources", "--page"], &[]));
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/sources.md");
    let kept = std::fs::read_to_string(kept).expect("docs/sources.md");
    assert!(
        page == kept,
        "docs/sources.md is out of date: run `cargo run -p brownstone -- sources --page > docs/sources.md`"
    );
}

/// A page that the program prints is the one in the repository. `UPDATE_DOCS=1` writes it anew.
fn kept(name: &str, printed: &str) {
    let path = format!("{}/../../docs/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, printed).expect("the page can be written");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == printed,
        "docs/{name} is out of date: look at what changed, then accept it with `UPDATE_DOCS=1 cargo test -p brownstone --test cli`"
    );
}

#[test]
fn the_openapi_documents_are_up_to_date() {
    kept("openapi.json", &printed(&brownstone(&["openapi"], &[])));
    let older = printed(&brownstone(&["openapi", "--older"], &[]));
    kept("openapi-3.0.json", &older);
}

#[test]
fn the_page_of_all_errors_is_up_to_date() {
    kept("errors.md", &printed(&brownstone(&["errors"], &[])));
}

/// A published response field is neither removed nor retyped: that would be another version of the interface. What is
/// added is written down with `UPDATE_DOCS=1`, which never takes a line away.
#[test]
fn what_was_published_may_only_grow() {
    use brownstone_http::openapi::published;
    let document = printed(&brownstone(&["openapi"], &[]));
    let now = published::fields(&serde_json::from_str(&document).expect("it is JSON"));
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/openapi-published.txt"
    );
    let before = published::from_text(&std::fs::read_to_string(path).unwrap_or_default());
    let broken = published::broken(&before, &now);
    assert!(broken.is_empty(), "{broken:#?}");
    kept("openapi-published.txt", &published::to_text(&now));
}

/// A file of the repository.
fn text_of(path: &str) -> String {
    let path = format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn the_page_of_all_metrics_is_up_to_date() {
    kept(
        "operations/metrics.md",
        &printed(&brownstone(&["metrics"], &[])),
    );
}

#[test]
fn dashboard_alerts_and_notes_name_only_metrics_that_exist() {
    let page = text_of("docs/operations/metrics.md");
    let mut used = std::collections::BTreeSet::new();
    for file in ["grafana.json", "alerts.yml", "incidents.md"] {
        let text = text_of(&format!("docs/operations/{file}"));
        let words = text.split(|c: char| !(c.is_ascii_lowercase() || c == '_'));
        used.extend(
            words
                .filter(|word| word.starts_with("brownstone_"))
                .map(ToOwned::to_owned),
        );
    }
    assert!(used.len() > 15, "{used:?}");
    for name in used {
        let base = ["_bucket", "_sum", "_count"]
            .iter()
            .find_map(|suffix| name.strip_suffix(suffix))
            .unwrap_or(&name);
        assert!(page.contains(&format!("| `{base}` |")), "{name}");
    }
}

#[test]
fn every_alert_has_its_note_and_every_note_its_alert() {
    let alerts = text_of("docs/operations/alerts.yml");
    let notes = text_of("docs/operations/incidents.md");
    let names: Vec<_> = alerts
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- alert: "))
        .collect();
    let titles: Vec<_> = notes
        .lines()
        .filter_map(|line| line.strip_prefix("## "))
        .collect();
    assert_eq!(names, titles);
    for name in names {
        let link = format!("docs/operations/incidents.md#{}", name.to_lowercase());
        assert!(alerts.contains(&link), "{link}");
    }
}

#[test]
fn the_example_of_a_configuration_is_up_to_date_and_holds() {
    let example = printed(&brownstone(&["config", "--example"], &[]));
    assert!(
        example == text_of("packaging/brownstone.example.toml"),
        "packaging/brownstone.example.toml is out of date: run `cargo run -p brownstone -- config --example > packaging/brownstone.example.toml`"
    );
    // With every key in force the program reads it, and nothing differs from the defaults.
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("all.toml");
    let all: String = example
        .lines()
        .filter_map(|line| line.strip_prefix("# "))
        .filter(|line| line.contains(" = \""))
        .flat_map(|line| [line, "\n"])
        .collect();
    std::fs::write(&file, &all).expect("the file can be written");
    let file = file.to_str().expect("text");
    let read = printed(&brownstone(&["--config", file, "config"], &[]));
    let values = |text: &str| -> Vec<String> {
        text.lines()
            .filter(|line| !line.starts_with("test_clock"))
            .filter_map(|line| Some(line.split_once("  # ")?.0.to_owned()))
            .collect()
    };
    let defaults = printed(&brownstone(&["config"], &[]));
    assert_eq!(values(&read), values(&defaults));
    assert_eq!(values(&read).len(), all.lines().count());
}

#[test]
fn completions_and_a_manual_page_are_printed() {
    for shell in ["bash", "zsh", "fish"] {
        let text = printed(&brownstone(&["completions", shell], &[]));
        assert!(
            text.contains("brownstone") && text.contains("serve"),
            "{shell}"
        );
    }
    let page = printed(&brownstone(&["man"], &[]));
    assert!(page.contains(".TH") && page.contains("doctor"), "{page}");
}

#[test]
fn at_least_48_sources_are_registered() {
    let list = printed(&brownstone(&["sources"], &[]));
    assert!(list.lines().count() >= 48, "{list}");
    for fixed in ["nyc_ecb ", "nyc_dob ", "nyc_dob_jobs ", "listings "] {
        assert!(list.lines().any(|line| line.starts_with(fixed)), "{fixed}");
    }
}
