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

#[test]
fn at_least_48_sources_are_registered() {
    let list = printed(&brownstone(&["sources"], &[]));
    assert!(list.lines().count() >= 48, "{list}");
    for fixed in ["nyc_ecb ", "nyc_dob ", "nyc_dob_jobs ", "listings "] {
        assert!(list.lines().any(|line| line.starts_with(fixed)), "{fixed}");
    }
}
