//! What others wrote to check and to read an OpenAPI document, from the folder that `TEST_API_CLIENTS` names: schemathesis, two linters,
//! three generators of clients. Without it these tests say that they were skipped.

use std::{
    path::{Path, PathBuf},
    process::Output,
    time::Duration,
};

use reqwest::{Method, header::HeaderMap};
use tokio::process::Command;

use crate::{at_hand, harness::Server, listings_search};

/// How long a tool may take; generous, since it only bounds a failure.
const PATIENCE: Duration = Duration::from_secs(1_800);

/// The examples an operation that schemathesis tries; `TEST_API_EXAMPLES` asks for more.
const EXAMPLES: &str = "10";

fn clients() -> Option<PathBuf> {
    at_hand::variable("TEST_API_CLIENTS", "make test").map(PathBuf::from)
}

/// A file beside this one, or the tools' settings.
fn beside(name: &str) -> String {
    format!("{}/it/contract/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// The command of a tool, on the tools' own Python and Node.
fn tool(folder: &Path, home: &Path, program: &str) -> Command {
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", folder.join("python/bin").display());
    let mut command = Command::new(folder.join(program));
    command
        .env_clear()
        .env("PATH", path)
        .env("HOME", home)
        .env("REDOCLY_TELEMETRY", "off")
        .env("REDOCLY_SUPPRESS_UPDATE_NOTICE", "true")
        .current_dir(home)
        .kill_on_drop(true);
    command
}

async fn output(command: &mut Command) -> Output {
    tokio::time::timeout(PATIENCE, command.output())
        .await
        .expect("the tool ends")
        .expect("the tool runs")
}

/// Runs a tool that must succeed; returns what it printed.
async fn run(command: &mut Command) -> String {
    let output = output(command).await;
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}:\n{text}");
    text
}

/// The served document as a file in the server's folder.
async fn document(server: &Server) -> String {
    let answer = server
        .send(Method::GET, "/openapi.json", HeaderMap::new(), "")
        .await;
    std::fs::write(server.folder().join("openapi.json"), &answer.text)
        .expect("the document can be written");
    "openapi.json".to_owned()
}

/// Limits that no run of a tool reaches.
async fn without_limits(server: &Server) {
    server
        .operator(&[
            "limits",
            "set",
            "--account",
            "demo@example.com",
            "--per-minute",
            "100000000",
            "--per-day",
            "1000000000",
        ])
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn schemathesis_finds_no_disagreement_of_server_and_document() {
    let Some(folder) = clients() else { return };
    // With its listings: what a deployment never loaded is 502, which is right and would be found.
    let server = listings_search::server("reso").await;
    without_limits(&server).await;
    let examples = std::env::var("TEST_API_EXAMPLES").unwrap_or_else(|_| EXAMPLES.to_owned());
    let mut schemathesis = tool(&folder, server.folder(), "python/bin/schemathesis");
    schemathesis
        .args([
            "--config-file",
            &beside("schemathesis.toml"),
            "--no-color",
            "run",
        ])
        .arg(format!("{}/openapi.json", server.url))
        .args(["--header", &format!("Authorization: Bearer {}", server.key)])
        .args(["--max-examples", &examples]);
    let report = run(&mut schemathesis).await;
    assert!(report.contains("Tested: 10"), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_linters_find_nothing() {
    let Some(folder) = clients() else { return };
    let docs = format!("{}/../docs", env!("CARGO_MANIFEST_DIR"));
    let home = tempfile::tempdir().expect("a temporary folder");
    for name in ["openapi.json", "openapi-3.0.json"] {
        let file = format!("{docs}/{name}");
        let mut spectral = tool(&folder, home.path(), "node_modules/.bin/spectral");
        spectral
            .args(["lint", "--fail-severity", "hint", "--ruleset"])
            .args([&beside("spectral.yaml"), &file]);
        run(&mut spectral).await;
        let mut redocly = tool(&folder, home.path(), "node_modules/.bin/redocly");
        redocly.args(["lint", "--config", &beside("redocly.yaml"), &file]);
        let report = run(&mut redocly).await;
        assert!(!report.contains("warning"), "{report}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_client_of_openapi_python_client_makes_its_calls() {
    let Some(folder) = clients() else { return };
    let server = Server::sample().await;
    let path = document(&server).await;
    let mut generate = tool(&folder, server.folder(), "python/bin/openapi-python-client");
    generate.args([
        "generate",
        "--meta",
        "none",
        "--fail-on-warning",
        "--output-path",
        "city",
    ]);
    run(generate.args(["--path", &path])).await;
    let mut python = tool(&folder, server.folder(), "python/bin/python");
    python.args([
        &beside("openapi_python_client.py"),
        &server.url,
        &server.key,
    ]);
    python.env("PYTHONPATH", server.folder());
    assert!(run(&mut python).await.contains("7 calls"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_client_of_openapi_generator_makes_its_calls() {
    let Some(folder) = clients() else { return };
    let java = std::process::Command::new("java").arg("-version").output();
    if java.is_err() {
        at_hand::skipped("there is no Java on this machine");
        return;
    }
    let server = Server::sample().await;
    let path = document(&server).await;
    let mut generate = tool(&folder, server.folder(), "python/bin/openapi-generator-cli");
    generate.args([
        "generate",
        "-g",
        "python",
        "--package-name",
        "city_api",
        "-o",
        ".",
    ]);
    generate.args([
        "--global-property",
        "modelTests=false,apiTests=false,modelDocs=false,apiDocs=false",
    ]);
    run(generate.args(["-i", &path])).await;
    let mut python = tool(&folder, server.folder(), "python/bin/python");
    python.args([&beside("openapi_generator.py"), &server.url, &server.key]);
    python.env("PYTHONPATH", server.folder());
    assert!(run(&mut python).await.contains("7 calls"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_client_of_openapi_fetch_is_typed_and_makes_its_calls() {
    let Some(folder) = clients() else { return };
    let server = Server::sample().await;
    let home = server.folder();
    let path = document(&server).await;
    let mut types = tool(&folder, home, "node_modules/.bin/openapi-typescript");
    run(types.args([&path, "--output", "api.d.ts"])).await;
    std::fs::copy(beside("openapi_fetch.ts"), home.join("calls.ts")).expect("a copy");
    std::fs::write(home.join("package.json"), r#"{"type": "module"}"#).expect("a file");
    std::os::unix::fs::symlink(folder.join("node_modules"), home.join("node_modules"))
        .expect("a link");
    let mut compiler = tool(&folder, home, "node_modules/.bin/tsc");
    compiler.args([
        "--strict",
        "--target",
        "es2022",
        "--module",
        "nodenext",
        "--skipLibCheck",
        "calls.ts",
    ]);
    run(&mut compiler).await;
    let mut node = tool(&folder, home, "python/bin/node");
    node.args(["calls.js", &server.url, &server.key]);
    assert!(run(&mut node).await.contains("7 calls"));
}
