//! The rates over HTTP: the sample city's FRED and survey, their faults, and a clock in the test's hand.

use std::{collections::BTreeMap, net::Ipv4Addr, sync::Arc};

use brownstone_domain::{
    Clock, ManualClock, RatesAnswer, RatesRequest,
    rates::{LoanType, RateMatch},
};
use brownstone_rates::{
    ConformingLimits, FeedError, Feeds, Fred, MemoryRates, RateStore, Rates, RatesError, Source,
};
use brownstone_sample_city::{FRED, Fault, FaultKind, PMMS, SampleCity};
use brownstone_upstream::{Upstream, UpstreamConfig, config::RetryConfig};
use time::{Duration, OffsetDateTime, macros::datetime};

/// A Friday noon in London: New York's survey is out, its index of Thursday may be.
const START: OffsetDateTime = datetime!(2026-11-27 12:00 UTC);
const KEY: &str = "abcdefghijklmnopqrstuvwxyz012345";
const BEST: &str = "OBMMIC30YFLVLE80FGE740";

struct Stand {
    city: SampleCity,
    clock: Arc<ManualClock>,
    store: Arc<MemoryRates>,
    key: Option<&'static str>,
}

impl Stand {
    async fn new(key: Option<&'static str>) -> Self {
        Self {
            city: SampleCity::start((Ipv4Addr::LOCALHOST, 0).into())
                .await
                .expect("a free port"),
            clock: Arc::new(ManualClock::at(START)),
            store: Arc::default(),
            key,
        }
    }

    /// A process on the same city, clock and store.
    fn rates(&self) -> Rates {
        let upstream = |name: &str| {
            let mut config = UpstreamConfig::new(name, self.city.url());
            // One question a fetch, so that calls can be counted.
            config.retry = RetryConfig {
                retries: 0,
                ..RetryConfig::default()
            };
            Upstream::new(config).expect("loopback will do")
        };
        let fred = match self.key {
            Some(key) => Fred::Api {
                upstream: upstream("FRED"),
                key: key.into(),
            },
            None => Fred::Download(upstream("FRED")),
        };
        let clock: Arc<dyn Clock> = Arc::<ManualClock>::clone(&self.clock);
        Rates::new(
            Feeds::new(fred, upstream("Freddie Mac")),
            Arc::<MemoryRates>::clone(&self.store),
            clock,
            ConformingLimits::built_in().expect("it is tested"),
        )
    }

    fn calls(&self) -> BTreeMap<String, u64> {
        self.city.control().all_calls()
    }

    fn fail(&self, name: &str, kind: FaultKind) {
        self.city.control().set_fault(name, Fault::new(kind));
    }
}

async fn ask(rates: &Rates) -> RatesAnswer {
    rates
        .answer(&RatesRequest::default())
        .await
        .expect("a rate is known")
}

/// Asks until the answer is as wanted: what is due is fetched behind the call. A bound on a failure, no wait of a success.
async fn until(rates: &Rates, wanted: impl Fn(&RatesAnswer) -> bool) -> RatesAnswer {
    let asked = async {
        loop {
            let answer = ask(rates).await;
            if wanted(&answer) {
                return answer;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(30), asked)
        .await
        .expect("the fetch ends")
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_key_and_without_one_the_same_rate_is_read() {
    let (with, without) = (Stand::new(Some(KEY)).await, Stand::new(None).await);
    let (by_api, by_download) = (ask(&with.rates()).await, ask(&without.rates()).await);
    assert_eq!(by_api.rates, by_download.rates);
    assert_eq!(by_api.benchmarks, by_download.benchmarks);
    let row = &by_api.rates[0];
    assert_eq!(
        (row.series_id.as_ref(), row.matched),
        (BEST, RateMatch::Bucket)
    );
    assert!(row.observation_date.as_str() > "2026-11-20", "{row:?}");
    assert!(row.observation_date.as_str() <= "2026-11-27", "{row:?}");
    assert!(row.change_percentage_points.is_some());
    let asked = with.city.control().queries(BEST);
    assert!(asked[0].contains("sort_order=desc"), "{asked:?}");
    assert!(
        without.city.control().queries(BEST)[0].contains("cosd=2026-10-13"),
        "only the last weeks are asked for"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_survey_s_file_stands_in_for_fred_and_fred_for_it() {
    let stand = Stand::new(None).await;
    stand.fail(FRED, FaultKind::Error);
    let answer = ask(&stand.rates()).await;
    let row = &answer.rates[0];
    assert_eq!(
        (row.series_id.as_ref(), row.matched),
        ("pmms30", RateMatch::Benchmark)
    );
    assert_eq!(row.observation_date.as_str(), "11/26/2026");
    assert_eq!(answer.benchmarks.len(), 2);

    let other = Stand::new(None).await;
    other.fail(PMMS, FaultKind::Html);
    let answer = ask(&other.rates()).await;
    assert_eq!(answer.rates[0].series_id, BEST);
    assert_eq!(answer.benchmarks[0].series_id, "MORTGAGE30US");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_publisher_is_asked_once_for_many_callers() {
    let stand = Stand::new(None).await;
    let rates = stand.rates();
    let callers = (0..50).map(|_| {
        let rates = rates.clone();
        tokio::spawn(async move { ask(&rates).await })
    });
    for caller in callers.collect::<Vec<_>>() {
        caller.await.expect("no panic");
    }
    let calls = stand.calls();
    assert_eq!(calls.len(), 5, "{calls:?}");
    assert!(calls.values().all(|calls| *calls == 1), "{calls:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn within_the_hour_nothing_is_asked_again_and_after_it_in_the_background() {
    let stand = Stand::new(None).await;
    let rates = stand.rates();
    let first = ask(&rates).await;
    stand.clock.advance(Duration::HOUR - Duration::SECOND);
    assert_eq!(ask(&rates).await.rates, first.rates);
    assert!(stand.calls().values().all(|calls| *calls == 1));

    // Three days on there are newer values: the call itself is answered from what is known.
    stand.clock.advance(Duration::days(3));
    stand
        .city
        .control()
        .set_latency(BEST, std::time::Duration::from_millis(50));
    assert_eq!(
        ask(&rates).await.rates[0].rate_percent,
        first.rates[0].rate_percent
    );
    let day = first.rates[0].observation_date.clone();
    let later = until(&rates, |answer| answer.rates[0].observation_date != day).await;
    assert!(later.rates[0].observation_date.as_str() > day.as_str());
    assert_eq!(stand.calls()[BEST], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_good_value_stands_with_its_date_whatever_the_publisher_does() {
    for kind in [
        FaultKind::Error,
        FaultKind::Throttle,
        FaultKind::Html,
        FaultKind::WrongJson,
        FaultKind::CutBody,
        FaultKind::Gone,
        FaultKind::Preparing,
    ] {
        let stand = Stand::new(Some(KEY)).await;
        let rates = stand.rates();
        let first = ask(&rates).await;
        stand.fail(FRED, kind);
        stand.fail(PMMS, kind);
        stand.clock.advance(Duration::days(4));
        ask(&rates).await;
        // The failure has been noticed once the source was asked anew.
        let asked = async {
            while stand.calls()[BEST] < 2 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(std::time::Duration::from_secs(30), asked)
            .await
            .expect("it is asked");
        let kept = ask(&rates).await;
        assert_eq!(
            kept.rates[0].rate_percent, first.rates[0].rate_percent,
            "{kind:?}"
        );
        assert_eq!(
            kept.rates[0].observation_date, first.rates[0].observation_date,
            "{kind:?}"
        );
        assert_eq!(kept.rates[0].fetched_at, START, "{kind:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn where_nothing_was_ever_read_there_is_no_answer_and_it_is_tried_again_after_thirty_seconds()
{
    let stand = Stand::new(None).await;
    stand.fail(FRED, FaultKind::Error);
    stand.fail(PMMS, FaultKind::Error);
    let rates = stand.rates();
    let failed = async |rates: &Rates| {
        let outcome = rates.answer(&RatesRequest::default()).await;
        matches!(outcome, Err(RatesError::NeverRead))
    };
    assert!(failed(&rates).await);
    assert!(failed(&rates).await);
    assert!(
        stand.calls().values().all(|calls| *calls == 1),
        "left alone"
    );
    stand.city.control().clear_faults();
    stand.clock.advance(Duration::seconds(29));
    assert!(failed(&rates).await);
    stand.clock.advance(Duration::SECOND);
    assert_eq!(ask(&rates).await.rates[0].series_id, BEST);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_answer_is_no_value_and_the_product_stands_in() {
    let stand = Stand::new(Some(KEY)).await;
    // The class alone fails.
    stand.fail(BEST, FaultKind::Gone);
    let answer = ask(&stand.rates()).await;
    let row = &answer.rates[0];
    assert_eq!(
        (row.series_id.as_ref(), row.matched),
        ("OBMMIC30YF", RateMatch::Product)
    );
    let why = row
        .match_notes
        .iter()
        .find(|note| note.starts_with("credit_score"));
    assert!(why.is_some_and(|why| why.contains("no value")), "{row:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_process_read_serves_another_and_a_restart() {
    let stand = Stand::new(None).await;
    let first = ask(&stand.rates()).await;
    stand.fail(FRED, FaultKind::Error);
    stand.fail(PMMS, FaultKind::Error);
    let before = stand.calls();
    let second = ask(&stand.rates()).await;
    assert_eq!(second.rates, first.rates);
    assert_eq!(stand.calls(), before, "nobody is asked within the hour");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sync_reads_every_series_and_a_running_server_takes_it_up() {
    let stand = Stand::new(None).await;
    let serving = stand.rates();
    stand.fail(FRED, FaultKind::Error);
    assert_eq!(ask(&serving).await.rates[0].series_id, "pmms30");
    stand.city.control().clear_faults();
    let synced = stand.rates().sync().await;
    assert_eq!(synced.len(), Source::all().len());
    for fetched in &synced {
        assert!(fetched.outcome.is_ok(), "{fetched:?}");
    }
    assert_eq!(stand.store.load().await.expect("memory").len(), 20);
    // Two seconds later it serves what the other process read; nothing is due for it yet.
    stand.clock.advance(Duration::seconds(2));
    until(&serving, |answer| answer.rates[0].series_id == BEST).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_key_is_refused_and_shows_in_no_error() {
    let stand = Stand::new(Some("Not-A-Key-At-All")).await;
    let synced = stand.rates().sync().await;
    let refused: Vec<&FeedError> = synced
        .iter()
        .filter(|fetched| matches!(fetched.source, Source::Fred(_)))
        .map(|fetched| fetched.outcome.as_ref().expect_err("refused"))
        .collect();
    assert_eq!(refused.len(), 18);
    for error in refused {
        assert!(
            matches!(error, FeedError::Refused { status: 400, .. }),
            "{error}"
        );
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains("Not-A-Key"), "{shown}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_programme_and_term_has_an_answer() {
    let stand = Stand::new(None).await;
    let rates = stand.rates();
    for loan_type in LoanType::ALL {
        for term in RatesRequest::TERMS {
            let request = RatesRequest {
                loan_type: *loan_type,
                loan_term_years: term,
                home_price: Some(900_000),
                ..RatesRequest::default()
            };
            let answer = rates.answer(&request).await.expect("all are published");
            let payment = answer
                .estimated_payment
                .as_ref()
                .expect("there is an amount");
            assert!(
                payment.principal_and_interest_monthly > 3_000.0,
                "{answer:?}"
            );
            assert_eq!(payment.rate_percent_used, answer.rates[0].rate_percent);
        }
    }
}
