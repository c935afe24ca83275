use std::collections::VecDeque;

use async_trait::async_trait;
use time::macros::datetime;
use tokio::time::advance;

use super::*;
use crate::api::{Metadata, Rows};
use crate::query::Query;

const FIRST: OffsetDateTime = datetime!(2026-11-26 05:00 UTC);
const SECOND: OffsetDateTime = datetime!(2026-11-27 05:00 UTC);

/// Answers from a script, each time only when the gate is open.
struct Host {
    script: Mutex<VecDeque<Result<Option<OffsetDateTime>, SodaError>>>,
    gate: watch::Receiver<bool>,
    asked: watch::Sender<usize>,
}

struct Scene {
    host: Arc<Host>,
    gate: watch::Sender<bool>,
    freshness: Freshness,
}

fn scene(script: Vec<Result<Option<OffsetDateTime>, SodaError>>) -> Scene {
    let (gate, gated) = watch::channel(true);
    let host = Arc::new(Host {
        script: Mutex::new(script.into()),
        gate: gated,
        asked: watch::Sender::new(0),
    });
    let freshness = Freshness::new(Arc::clone(&host) as Arc<dyn Soda>);
    Scene {
        host,
        gate,
        freshness,
    }
}

#[async_trait]
impl Soda for Host {
    async fn rows(&self, _: &Query, _: Instant) -> Result<Rows, SodaError> {
        Err(SodaError::Throttled)
    }

    async fn metadata(&self, _: &DatasetId, _: Instant) -> Result<Metadata, SodaError> {
        self.asked.send_modify(|asked| *asked += 1);
        self.gate.clone().wait_for(|open| *open).await.unwrap();
        let next = self.script.lock().unwrap().pop_front().unwrap();
        next.map(|rows_updated_at| Metadata {
            name: String::new(),
            rows_updated_at,
            columns: Vec::new(),
        })
    }
}

impl Scene {
    fn asked(&self) -> usize {
        *self.host.asked.borrow()
    }

    async fn warm(&self) {
        let deadline = Instant::now() + Duration::from_secs(60);
        self.freshness.warm([ecb()], deadline).await;
    }
}

fn ecb() -> DatasetId {
    DatasetId::new("6bgk-3dad").unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_date_is_asked_for_once_an_hour_and_no_reader_waits() {
    let scene = scene(vec![Ok(Some(FIRST)), Ok(Some(SECOND))]);
    for _ in 0..100 {
        assert_eq!(
            scene.freshness.updated_at(&ecb()),
            None,
            "not known yet, and not waited for"
        );
    }
    scene.warm().await;
    assert_eq!(scene.asked(), 1, "a hundred readers, one question");
    advance(GOOD_FOR - Duration::from_secs(1)).await;
    assert_eq!(scene.freshness.updated_at(&ecb()), Some(FIRST));
    scene.warm().await;
    assert_eq!(scene.asked(), 1);
    advance(Duration::from_secs(1)).await;
    assert_eq!(
        scene.freshness.updated_at(&ecb()),
        Some(FIRST),
        "what is known, meanwhile"
    );
    scene.warm().await;
    assert_eq!(
        (scene.freshness.updated_at(&ecb()), scene.asked()),
        (Some(SECOND), 2)
    );
}

#[tokio::test(start_paused = true)]
async fn a_failure_keeps_what_is_known_and_rests() {
    let scene = scene(vec![
        Ok(Some(FIRST)),
        Err(SodaError::Throttled),
        Ok(None),
        Err(SodaError::Gone { status: 404 }),
    ]);
    scene.warm().await;
    advance(GOOD_FOR).await;
    scene.warm().await;
    assert_eq!(
        (scene.freshness.updated_at(&ecb()), scene.asked()),
        (Some(FIRST), 2)
    );
    scene.warm().await;
    assert_eq!(scene.asked(), 2, "left alone for a minute");
    advance(REST).await;
    scene.warm().await;
    assert_eq!(
        (scene.freshness.updated_at(&ecb()), scene.asked()),
        (Some(FIRST), 3),
        "an answer without a date takes none away"
    );
    advance(GOOD_FOR).await;
    scene.warm().await;
    advance(REST).await;
    scene.warm().await;
    assert_eq!(
        scene.asked(),
        4,
        "what is gone is not asked for each minute"
    );
}

#[tokio::test(start_paused = true)]
async fn warming_ends_by_its_deadline_and_the_question_goes_on() {
    let scene = scene(vec![Ok(Some(FIRST))]);
    scene.gate.send_replace(false);
    let started = Instant::now();
    let deadline = started + Duration::from_secs(5);
    scene.freshness.warm([ecb()], deadline).await;
    assert_eq!(started.elapsed(), Duration::from_secs(5));
    assert_eq!(
        (scene.freshness.updated_at(&ecb()), scene.asked()),
        (None, 1)
    );
    scene.gate.send_replace(true);
    scene.warm().await;
    assert_eq!(
        (scene.freshness.updated_at(&ecb()), scene.asked()),
        (Some(FIRST), 1)
    );
}

#[tokio::test(start_paused = true)]
async fn few_questions_are_asked_at_once() {
    let ids: Vec<_> = (0..20)
        .map(|n| DatasetId::new(&format!("aaaa-00{n:02}")).unwrap())
        .collect();
    let scene = scene(vec![Ok(Some(FIRST)); 20]);
    scene.gate.send_replace(false);
    // Time stands still until nobody can go on, so this ends when as many ask as may.
    let deadline = Instant::now() + Duration::from_millis(1);
    scene.freshness.warm(ids.clone(), deadline).await;
    assert_eq!(scene.asked(), AT_ONCE);
    scene.gate.send_replace(true);
    let deadline = Instant::now() + Duration::from_secs(1);
    scene.freshness.warm(ids.clone(), deadline).await;
    assert_eq!(scene.asked(), 20);
    assert!(
        ids.iter()
            .all(|id| scene.freshness.updated_at(id) == Some(FIRST))
    );
}

#[test]
fn outside_of_a_runtime_nothing_is_asked_and_nothing_breaks() {
    let scene = scene(vec![]);
    assert_eq!(scene.freshness.updated_at(&ecb()), None);
    assert_eq!(scene.freshness.updated_at(&ecb()), None);
    assert_eq!(scene.asked(), 0);
}
