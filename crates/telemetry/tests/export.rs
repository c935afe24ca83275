//! Spans as a collector gets them.

use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpListener,
    thread::JoinHandle,
};

use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest,
    common::v1::{KeyValue, any_value::Value},
    trace::v1::{Span, span::SpanKind, status::StatusCode},
};
use prost::Message as _;
use tracing::field::Empty;
use tracing_subscriber::{Registry, layer::SubscriberExt as _};

/// What came: the request line, the headers in lower case, the body.
type Came = (String, BTreeMap<String, String>, Vec<u8>);

/// A collector that takes one export.
fn collector() -> (String, JoinHandle<Came>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let taking = std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(stream);
        let mut first = String::new();
        reader.read_line(&mut first).unwrap();
        let mut headers = BTreeMap::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            let Some((name, value)) = line.trim_end().split_once(": ") else {
                break;
            };
            headers.insert(name.to_lowercase(), value.to_owned());
        }
        let mut body = vec![0; headers["content-length"].parse().unwrap()];
        reader.read_exact(&mut body).unwrap();
        reader
            .get_mut()
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
            .unwrap();
        (first.trim_end().to_owned(), headers, body)
    });
    (address, taking)
}

fn facts(attributes: &[KeyValue]) -> BTreeMap<&str, String> {
    attributes
        .iter()
        .map(|fact| {
            let value = fact.value.as_ref().and_then(|value| value.value.as_ref());
            let text = match value.unwrap() {
                Value::StringValue(text) => text.clone(),
                Value::IntValue(number) => number.to_string(),
                other => panic!("{}: {other:?}", fact.key),
            };
            (fact.key.as_str(), text)
        })
        .collect()
}

#[test]
fn a_call_and_its_sources_reach_the_collector_with_their_fields_and_no_line_of_the_log() {
    let (address, taking) = collector();
    let (layer, exporting) = brownstone_telemetry::start::<Registry>(Some(&address), "1.2.3")
        .unwrap()
        .unwrap();
    let subscriber = tracing_subscriber::registry().with(layer);
    tracing::subscriber::with_default(subscriber, || {
        let call = tracing::info_span!(
            target: "brownstone_http::edge", "request", request_id = "0190-1", operation = Empty, units = Empty, method = Empty,
            route = Empty, status = Empty
        );
        call.in_scope(|| {
            let source = tracing::debug_span!(target: "brownstone_sources::registry", "source", source = "nyc_ecb");
            source.in_scope(|| tracing::warn!(target: "brownstone_sources", "350 FIFTH AVENUE"));
            tracing::info_span!(target: "hyper::client", "connect", uri = "http://elsewhere");
            tracing::trace_span!(target: "brownstone_soda", "row");
        });
        call.record("operation", "lookupProperty");
        call.record("units", 10_u64);
        call.record("method", "POST");
        call.record("route", "/v1/lookup");
        call.record("status", 502_u16);
    });
    exporting.close().unwrap();

    let (first, headers, body) = taking.join().unwrap();
    assert_eq!(first, "POST /v1/traces HTTP/1.1");
    assert_eq!(headers["content-type"], "application/x-protobuf");
    let sent = ExportTraceServiceRequest::decode(&body[..]).unwrap();
    let [all] = &sent.resource_spans[..] else {
        panic!("one resource is expected: {sent:?}");
    };
    let resource = facts_of_text(&all.resource.as_ref().unwrap().attributes);
    assert_eq!(resource["service.name"], "brownstone");
    assert_eq!(resource["service.version"], "1.2.3");
    let spans: Vec<&Span> = all
        .scope_spans
        .iter()
        .flat_map(|scope| &scope.spans)
        .collect();
    let [source, call] = spans[..] else {
        panic!("two spans are expected: {spans:#?}");
    };
    assert_eq!(call.name, "POST /v1/lookup");
    assert_eq!(call.kind(), SpanKind::Server);
    assert_eq!(call.status.as_ref().unwrap().code(), StatusCode::Error);
    assert_eq!(
        facts(&call.attributes),
        BTreeMap::from([
            ("request_id", "0190-1".to_owned()),
            ("operation", "lookupProperty".to_owned()),
            ("units", "10".to_owned()),
            ("http.request.method", "POST".to_owned()),
            ("http.route", "/v1/lookup".to_owned()),
            ("http.response.status_code", "502".to_owned()),
        ])
    );
    assert_eq!(
        (source.name.as_str(), &source.parent_span_id),
        ("source", &call.span_id)
    );
    assert_eq!(
        facts(&source.attributes),
        BTreeMap::from([("source", "nyc_ecb".to_owned())])
    );
    assert!(
        source.events.is_empty() && call.events.is_empty(),
        "{spans:#?}"
    );
}

/// Those that are text: the library adds some of its own.
fn facts_of_text(attributes: &[KeyValue]) -> BTreeMap<&str, &str> {
    attributes
        .iter()
        .filter_map(|fact| match fact.value.as_ref()?.value.as_ref()? {
            Value::StringValue(text) => Some((fact.key.as_str(), text.as_str())),
            _ => None,
        })
        .collect()
}

#[test]
fn without_a_collector_nothing_is_sent_and_a_wrong_address_is_told() {
    assert!(
        brownstone_telemetry::start::<Registry>(None, "1")
            .unwrap()
            .is_none()
    );
    let wrong = brownstone_telemetry::start::<Registry>(Some("not an address"), "1");
    let Err(wrong) = wrong else {
        panic!("it is no address");
    };
    assert!(
        wrong.to_string().contains("spans cannot be sent"),
        "{wrong}"
    );
}
