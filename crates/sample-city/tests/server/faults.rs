//! Each way in which an upstream fails.

use std::time::{Duration, Instant};

use brownstone_sample_city::{Control, Fault, FaultKind, SampleCity};
use reqwest::{Client, Response};
use serde_json::Value;

use super::{ECB, ask, city, rows};

async fn broken(control: &Control, city: &SampleCity, fault: Fault) -> Response {
    control.set_fault(ECB, fault);
    let answer = ask(city, ECB, &[("$limit", "50")]).await;
    control.clear_faults();
    answer
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_that_end() {
    let city = city().await;
    let control = city.control().clone();
    let fault = |kind| Fault::new(kind);
    let status = async |fault| broken(&control, &city, fault).await.status().as_u16();
    assert_eq!(status(fault(FaultKind::Error)).await, 500);
    assert_eq!(status(fault(FaultKind::Error).status(503)).await, 503);
    assert_eq!(status(fault(FaultKind::Gone)).await, 404);
    assert_eq!(status(fault(FaultKind::Preparing)).await, 202);
    let throttled = broken(&control, &city, fault(FaultKind::Throttle).retry_after(7)).await;
    assert_eq!(throttled.status(), 429);
    assert_eq!(
        throttled
            .headers()
            .get("retry-after")
            .and_then(|value| value.to_str().ok()),
        Some("7")
    );
    let wrong = broken(&control, &city, fault(FaultKind::WrongJson)).await;
    assert!(wrong.json::<Value>().await.expect("JSON").is_object());
    let page = broken(&control, &city, fault(FaultKind::Html)).await;
    assert_eq!(page.status(), 200);
    assert!(page.text().await.expect("text").starts_with("<html>"));
    let cut = broken(&control, &city, fault(FaultKind::CutBody)).await;
    assert_eq!(cut.status(), 200);
    assert!(cut.text().await.is_err(), "the body ends in the middle");
    control.set_fault(ECB, Fault::new(FaultKind::Disconnect));
    let url = format!("{}/resource/{ECB}.json", city.url());
    let dropped = Client::new().get(url).send().await.expect_err("no answer");
    assert!(!dropped.is_timeout() && !dropped.is_connect());
    control.clear_fault(ECB);
    assert_eq!(
        rows(&city, ECB, &[("$limit", "50")]).await.len(),
        50,
        "and then it is well"
    );
    city.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_that_do_not_end() {
    let city = city().await;
    let control = city.control();
    control.set_fault(ECB, Fault::new(FaultKind::Timeout));
    let url = format!("{}/resource/{ECB}.json", city.url());
    let impatient = Client::builder()
        .timeout(Duration::from_millis(300))
        .build()
        .expect("a client");
    let silent = impatient.get(&url).send().await.expect_err("no answer");
    assert!(silent.is_timeout());
    // A drip sends its head and some bytes, and never the end.
    control.set_fault(ECB, Fault::new(FaultKind::SlowDrip));
    let mut dripping = Client::new().get(&url).send().await.expect("a head");
    for _ in 0..2 {
        assert!(dripping.chunk().await.expect("a byte").is_some());
    }
    drop(dripping);
    // A huge body and a bomb are more than anyone should read.
    for kind in [FaultKind::HugeBody, FaultKind::GzipBomb] {
        control.set_fault(ECB, Fault::new(kind));
        let mut huge = Client::new().get(&url).send().await.expect("a head");
        let mut read = 0;
        while read < (8 << 20) {
            read += huge.chunk().await.expect("more").expect("more").len();
        }
    }
    city.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fault_for_one_call_and_a_latency() {
    let city = city().await;
    let control = city.control();
    control.set_fault("*", Fault::new(FaultKind::Error).times(1));
    assert_eq!(ask(&city, ECB, &[]).await.status(), 500);
    assert_eq!(ask(&city, ECB, &[]).await.status(), 200);
    assert_eq!(control.calls(ECB), 2);
    control.reset_calls();
    control.set_latency(ECB, Duration::from_millis(150));
    let start = Instant::now();
    ask(&city, ECB, &[("$limit", "1")]).await;
    assert!(start.elapsed() >= Duration::from_millis(150));
    assert_eq!(control.calls(ECB), 1);
    assert_eq!(control.queries(ECB), ["$limit=1"]);
    city.stop().await;
}
