//! Every test that `docs/security.md` names is there, and every item has one.

use crate::root;

/// `path/of/file.rs: name_of_a_test`, as the page writes it between backticks.
fn named(text: &str) -> Vec<(&str, &str)> {
    text.split('`')
        .skip(1)
        .step_by(2)
        .filter_map(|code| code.split_once(".rs: "))
        .collect()
}

/// Whether the source has a test of that name: a function below an attribute that makes it one, or inside `proptest!`.
fn has_test(source: &str, name: &str) -> bool {
    let mut is_test = false;
    for line in source.lines().map(str::trim) {
        if line.starts_with("#[") {
            is_test |= line.contains("test");
        } else if line.contains(&format!("fn {name}(")) {
            return is_test;
        } else if !line.starts_with("//") {
            is_test = false;
        }
    }
    false
}

#[test]
fn each_test_that_the_page_names_exists() {
    let page = std::fs::read_to_string(root().join("docs/security.md")).expect("the page");
    let tests = named(&page);
    assert!(tests.len() > 40, "{}", tests.len());
    let mut missing = Vec::new();
    for (path, name) in tests {
        let source = std::fs::read_to_string(root().join(format!("{path}.rs")));
        if !source.is_ok_and(|source| has_test(&source, name)) {
            missing.push(format!("{path}.rs: {name}"));
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn each_of_the_ten_items_has_a_test() {
    let page = std::fs::read_to_string(root().join("docs/security.md")).expect("the page");
    for item in 1..=10 {
        let row = page
            .lines()
            .find(|line| line.starts_with(&format!("| API{item} ")));
        let row = row.unwrap_or_else(|| panic!("API{item} is missing"));
        assert!(!named(row).is_empty(), "API{item} has no test");
    }
}

#[test]
fn what_is_no_test_is_not_taken_for_one() {
    let source = "fn one() {}\n#[test]\nfn two() {}\n#[tokio::test]\n// Why.\nasync fn three() {}\nfn four() {}";
    for (name, is) in [
        ("one", false),
        ("two", true),
        ("three", true),
        ("four", false),
        ("tw", false),
    ] {
        assert_eq!(has_test(source, name), is, "{name}");
    }
}
