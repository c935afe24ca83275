//! Clients that others wrote, from the folder that `TEST_MCP_CLIENTS` names: the official conformance suite, the Inspector, the
//! Python SDK. Without it these tests say that they were skipped.

use std::{
    path::{Path, PathBuf},
    process::{Output, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
    process::Command,
};

use super::{scanned, with_listings};
use crate::{
    at_hand,
    harness::{Options, Server},
    shared_database::{database, on},
};

/// How long a client may take; generous, since it only bounds a failure.
const PATIENCE: Duration = Duration::from_secs(120);

fn clients() -> Option<PathBuf> {
    at_hand::variable("TEST_MCP_CLIENTS", "make test").map(PathBuf::from)
}

/// A command on the clients' own Node and Python, with a home of its own.
fn client(folder: &Path, home: &Path, program: &str) -> Command {
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", folder.join("python/bin").display());
    let mut command = Command::new(folder.join(program));
    command
        .env_clear()
        .env("PATH", path)
        .env("HOME", home)
        .current_dir(home)
        .kill_on_drop(true);
    command
}

async fn output(command: &mut Command) -> Output {
    tokio::time::timeout(PATIENCE, command.output())
        .await
        .expect("the client ends")
        .expect("the client runs")
}

/// A proxy before some instances: each request goes to the next one that takes a connection, with a key where one is to be added.
/// The conformance suite can't send one.
async fn front(instances: Vec<String>, key: Option<String>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let instances: Arc<[String]> = instances
        .iter()
        .map(|url| url.trim_start_matches("http://").to_owned())
        .collect();
    let turn = Arc::new(AtomicUsize::new(0));
    tokio::spawn(async move {
        while let Ok((caller, _)) = listener.accept().await {
            let (instances, key, turn) = (Arc::clone(&instances), key.clone(), Arc::clone(&turn));
            // A caller who goes away ends its own connection alone.
            tokio::spawn(async move {
                pass_on(caller, &instances, key.as_deref(), &turn)
                    .await
                    .ok()
            });
        }
    });
    url
}

/// One request, one answer, one connection.
async fn pass_on(
    mut caller: TcpStream,
    instances: &[String],
    key: Option<&str>,
    turn: &AtomicUsize,
) -> std::io::Result<()> {
    let mut read = Vec::new();
    let head = loop {
        if caller.read_buf(&mut read).await? == 0 {
            return Ok(());
        }
        if let Some(end) = read.windows(4).position(|window| window == b"\r\n\r\n") {
            break String::from_utf8_lossy(&read[..end]).into_owned();
        }
    };
    let mut body = read.split_off(head.len() + 4);
    let mut length = 0;
    let mut request = String::new();
    for (number, line) in head.lines().enumerate() {
        let (name, value) = line.split_once(':').unwrap_or_default();
        if number > 0 && name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().unwrap_or_default();
        }
        if number > 0 && name.eq_ignore_ascii_case("connection") {
            continue;
        }
        request.push_str(line);
        request.push_str("\r\n");
    }
    if let Some(key) = key {
        request.push_str(&format!("authorization: Bearer {key}\r\n"));
    }
    request.push_str("connection: close\r\n\r\n");
    while body.len() < length && caller.read_buf(&mut body).await? > 0 {}
    let first = turn.fetch_add(1, Ordering::Relaxed);
    for offset in 0..instances.len() {
        let instance = &instances[(first + offset) % instances.len()];
        let Ok(mut instance) = TcpStream::connect(instance).await else {
            continue;
        };
        instance.write_all(request.as_bytes()).await?;
        instance.write_all(&body).await?;
        tokio::io::copy(&mut instance, &mut caller).await?;
        break;
    }
    caller.shutdown().await
}

/// Scenarios, and the checks that fail for want of what this product has not: the suite's own diagnostic tool, prompts, resources.
const SCENARIOS: &[(&str, &[&str])] = &[
    ("tools-list", &[]),
    ("http-header-validation", &[]),
    ("dns-rebinding-protection", &[]),
    (
        "server-stateless",
        &[
            "sep-2575-server-rejects-undeclared-capability",
            "sep-2575-missing-capability-http-400",
            "sep-2575-http-server-no-independent-requests-on-stream",
            "sep-2575-server-no-log-without-loglevel",
        ],
    ),
    (
        "caching",
        &[
            "sep-2549-prompts-list-caching-hints",
            "sep-2549-resources-list-caching-hints",
            "sep-2549-resources-templates-list-caching-hints",
        ],
    ),
];

/// The checks of a scenario's report that came to `outcome`, in its order.
fn checks<'a>(report: &'a str, outcome: &str) -> Vec<&'a str> {
    // A time, the check's name in brackets, its outcome, the rule; colours between them.
    report
        .lines()
        .filter_map(|line| {
            let (before, _) = line.split_once(outcome)?;
            let (before, _) = before.rsplit_once(']')?;
            Some(before.rsplit_once('[')?.1.trim())
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_official_suite_finds_nothing_but_what_the_product_has_not() {
    let Some(folder) = clients() else { return };
    let server = Server::sample().await;
    let url = front(vec![server.url.clone()], Some(server.key.clone())).await;
    for (scenario, lacking) in SCENARIOS {
        let mut suite = client(&folder, server.folder(), "node_modules/.bin/conformance");
        suite.args([
            "server",
            "--url",
            &format!("{url}/mcp"),
            "--scenario",
            scenario,
        ]);
        suite.args(["--spec-version", "2026-07-28"]);
        let output = output(&mut suite).await;
        let report = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.success(), lacking.is_empty(), "{report}");
        assert_eq!(checks(&report, "FAILURE"), *lacking, "{report}");
        assert!(!checks(&report, "SUCCESS").is_empty(), "{report}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_inspector_lists_and_calls_in_both_eras_and_finds_no_fault_in_a_schema() {
    let Some(folder) = clients() else { return };
    let server = Server::start(with_listings(Options::default())).await;
    scanned(&server).await;
    let run = async |arguments: &[&str]| {
        let mut inspector = client(&folder, server.folder(), "node_modules/.bin/mcp-inspector");
        inspector.args([
            "--cli",
            &format!("{}/mcp", server.url),
            "--transport",
            "http",
        ]);
        inspector.args(["--header", &format!("Authorization: Bearer {}", server.key)]);
        inspector.args(arguments);
        output(&mut inspector).await
    };
    let address = r#"{"address": "350 5th Ave, Manhattan"}"#;
    let calls = [
        ("lookup_property", address),
        ("search_listings", r#"{"location": "11215"}"#),
        ("get_comps", address),
        ("get_rental_estimates", address),
        ("get_listing_updates", r#"{"location": "11215"}"#),
        ("get_mortgage_rates", "{}"),
    ];
    for era in ["legacy", "modern"] {
        let listed = run(&["--protocol-era", era, "--method", "tools/list", "--strict"]).await;
        let complaint = String::from_utf8_lossy(&listed.stderr).into_owned();
        assert!(listed.status.success(), "{era}: {complaint}");
        let tools: Value = serde_json::from_slice(&listed.stdout).expect("JSON");
        assert_eq!(tools["tools"].as_array().map(Vec::len), Some(calls.len()));
        for (tool, arguments) in calls {
            let called = run(&[
                "--protocol-era",
                era,
                "--method",
                "tools/call",
                "--tool-name",
                tool,
                "--tool-args-json",
                arguments,
                "--format",
                "json",
            ])
            .await;
            let said = String::from_utf8_lossy(&called.stdout);
            // It ends with 5 where a result is an error.
            assert!(called.status.success(), "{era} {tool}: {said}");
            assert!(said.contains("structuredContent"), "{era} {tool}: {said}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_python_sdk_goes_on_at_another_instance_when_one_is_killed() {
    let Some(folder) = clients() else { return };
    let Some(url) = database("brownstone_it_mcp_clients").await else {
        return;
    };
    let mut one = Server::start(with_listings(on(&url))).await;
    scanned(&one).await;
    let two = Server::start(with_listings(Options {
        clock: Some(one.clock()),
        ..on(&url)
    }))
    .await;
    scanned(&two).await;
    let key = one.new_account("agent@example.com").await.1;
    let front = front(vec![one.url.clone(), two.url.clone()], None).await;
    let mut sdk = client(&folder, one.folder(), "python/bin/python");
    sdk.args(["-c", include_str!("sdk.py"), &format!("{front}/mcp"), &key])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut sdk = sdk.spawn().expect("Python runs");
    let mut go_on = sdk.stdin.take().expect("its input is piped");
    let mut said = BufReader::new(sdk.stdout.take().expect("its output is piped")).lines();
    let line = tokio::time::timeout(PATIENCE, said.next_line()).await;
    let line = line.expect("half of the calls are made").expect("text");
    if line.as_deref() == Some("half") {
        one.kill();
        // Dead, and its connections closed, before the client asks again: what was under way at the kill is another test's matter.
        one.ended().await;
        go_on.write_all(b"on\n").await.expect("it reads");
    }
    let rest = tokio::time::timeout(PATIENCE, said.next_line()).await;
    let rest = rest.expect("the client ends").expect("text");
    let ended = sdk.wait_with_output().await.expect("it ends");
    let complaint = String::from_utf8_lossy(&ended.stderr);
    let doubtful = rest
        .as_deref()
        .and_then(|text| text.strip_prefix("done 18 "));
    let doubtful: u64 = doubtful
        .and_then(|count| count.parse().ok())
        .unwrap_or_else(|| panic!("{line:?}, {rest:?}: {complaint}"));
    // All that was granted, by either instance, stands on one budget: three rounds of 10 + 2 + 5 + 5 + 1 + 1.
    let usage = two.usage_as(&key).await;
    let used = usage["day"]["used"].as_u64().expect("units");
    assert!(
        (72..=72 + 10 * doubtful).contains(&used),
        "{used}, {doubtful} in doubt"
    );
}
