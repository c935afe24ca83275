//! The cache as its callers see it, over storage in memory and a clock in the test's hand.

mod doubles;

use std::{collections::HashSet, sync::Arc, time::Duration};

use brownstone_domain::{CacheStatus, Clock, ManualClock, ReportKey};
use brownstone_report_cache::{CacheConfig, CacheError, Lease as _, RegistryView, ReportCache};

use crate::doubles::{City, SOURCES, START, Shelf, cache_over, cache_with, key, lost, setup};

#[tokio::test]
async fn two_hundred_callers_make_one_assembly() {
    let (_, _, cache) = setup();
    let city = City::closed();
    let callers: Vec<_> = (0..200)
        .map(|_| {
            let (cache, city) = (cache.clone(), Arc::<City>::clone(&city));
            tokio::spawn(async move { cache.get_or_assemble(key(), city).await })
        })
        .collect();
    city.started.notified().await;
    city.gate.add_permits(1);
    for caller in callers {
        caller.await.unwrap().unwrap();
    }
    assert_eq!(city.runs(), 1);
}

#[tokio::test]
async fn past_the_bound_no_assembly_is_begun_and_warm_reports_go_on() {
    let (_, _, cache) = setup();
    let warm = ReportKey {
        unit_bbl: Some("1018891001".parse().unwrap()),
        ..key()
    };
    cache.get_or_assemble(warm, City::open()).await.unwrap();
    let city = City::closed();
    let bound = CacheConfig::default().assemblies;
    let key_of = |n: usize| ReportKey {
        unit_bbl: Some(format!("101889{:04}", 2000 + n).parse().unwrap()),
        ..key()
    };
    let ask = |n| {
        let (cache, city) = (cache.clone(), Arc::<City>::clone(&city));
        tokio::spawn(async move { cache.get_or_assemble(key_of(n), city).await })
    };
    let running: Vec<_> = (0..bound).map(ask).collect();
    while city.runs() < bound {
        tokio::task::yield_now().await;
    }
    let refused = ask(bound).await.unwrap().err();
    assert!(matches!(refused, Some(CacheError::Crowded)), "{refused:?}");
    // Who waits for one that runs needs no place.
    let joined = ask(0);
    cache
        .get_or_assemble(warm, Arc::<City>::clone(&city) as _)
        .await
        .unwrap();
    city.gate.add_permits(bound + 1);
    for caller in running.into_iter().chain([joined]) {
        caller.await.unwrap().unwrap();
    }
    ask(bound).await.unwrap().unwrap();
    assert_eq!(city.runs(), bound + 1);
}

#[tokio::test]
async fn a_caller_who_hangs_up_does_not_stop_the_assembly() {
    let (_, _, cache) = setup();
    let city = City::closed();
    let caller = tokio::spawn({
        let (cache, city) = (cache.clone(), Arc::<City>::clone(&city));
        async move { cache.get_or_assemble(key(), city).await }
    });
    city.started.notified().await;
    caller.abort();
    assert!(caller.await.unwrap_err().is_cancelled());
    city.gate.add_permits(1);
    cache
        .get_or_assemble(key(), Arc::<City>::clone(&city) as _)
        .await
        .unwrap();
    assert_eq!(city.runs(), 1);
}

#[tokio::test]
async fn only_what_erred_is_asked_again_and_merged() {
    let (_, clock, cache) = setup();
    let city = City::open();
    city.fail(&["nyc_dob"]);
    let first = cache
        .get_or_assemble(key(), Arc::<City>::clone(&city) as _)
        .await
        .unwrap();
    assert_eq!(first.life.cache_info().status, CacheStatus::Partial);
    assert_eq!(
        first.life.cache_info().refresh_available_at,
        START + time::Duration::minutes(10)
    );

    clock.advance(time::Duration::minutes(10) - time::Duration::MICROSECOND);
    cache
        .get_or_assemble(key(), Arc::<City>::clone(&city) as _)
        .await
        .unwrap();
    assert_eq!(city.runs(), 1, "served before its wait is over");

    city.fail(&[]);
    clock.advance(time::Duration::MICROSECOND);
    let second = cache
        .get_or_assemble(key(), Arc::<City>::clone(&city) as _)
        .await
        .unwrap();
    assert_eq!(city.asked.lock().unwrap().last().unwrap(), &["nyc_dob"]);
    let info = second.life.cache_info();
    assert_eq!((info.status, info.cached_at), (CacheStatus::Ok, START));
    assert_eq!(info.refresh_available_at, START + time::Duration::days(7));
    let text = String::from_utf8(second.tail.to_vec()).unwrap();
    let data: serde_json::Value = serde_json::from_str(&format!("{{{text}}}")).unwrap();
    assert_eq!(
        data["sources"]["nyc_ecb"]["data"]["run"], 1,
        "what succeeded is kept"
    );
    assert_eq!(data["sources"]["nyc_dob"]["data"]["run"], 2);
    let keys: Vec<_> = data["sources"].as_object().unwrap().keys().collect();
    assert_eq!(keys, SOURCES, "registry order");

    clock.set(START + time::Duration::days(7));
    let third = cache
        .get_or_assemble(key(), Arc::<City>::clone(&city) as _)
        .await
        .unwrap();
    assert_eq!(city.asked.lock().unwrap().last().unwrap(), &SOURCES);
    assert_eq!(
        third.life.first_assembled_at(),
        START + time::Duration::days(7)
    );
}

#[tokio::test]
async fn nothing_is_kept_when_no_source_answered_and_the_next_attempt_waits() {
    let (shelf, clock, cache) = setup();
    let city = City::open();
    city.fail(&SOURCES);
    for _ in 0..3 {
        let outcome = cache
            .get_or_assemble(key(), Arc::<City>::clone(&city) as _)
            .await;
        assert_eq!(outcome.unwrap_err(), CacheError::NothingAnswered);
    }
    assert_eq!((city.runs(), lost(&shelf)), (1, None));
    city.fail(&[]);
    clock.advance(time::Duration::seconds(30));
    cache
        .get_or_assemble(key(), Arc::<City>::clone(&city) as _)
        .await
        .unwrap();
    assert_eq!(city.runs(), 2);
}

#[tokio::test(start_paused = true)]
async fn two_instances_make_one_assembly() {
    let (shelf, clock, one) = setup();
    let two = cache_over(&shelf, &clock, "two");
    let city = City::closed();
    let first = tokio::spawn({
        let city = Arc::<City>::clone(&city);
        async move { one.get_or_assemble(key(), city).await }
    });
    city.started.notified().await;
    let second = tokio::spawn({
        let city = Arc::<City>::clone(&city);
        async move { two.get_or_assemble(key(), city).await }
    });
    // Longer than the lease: it lives because its holder renews it.
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!(city.runs(), 1);
    city.gate.add_permits(1);
    let (first, second) = (
        first.await.unwrap().unwrap(),
        second.await.unwrap().unwrap(),
    );
    assert_eq!(first.tail, second.tail);
    assert_eq!(city.runs(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_lease_of_an_instance_that_died_ends_by_itself() {
    let (shelf, _, cache) = setup();
    let name = format!("report:{}", key());
    assert!(
        shelf
            .acquire(&name, "dead", Duration::from_secs(15), None)
            .await
            .unwrap()
    );
    let begun = tokio::time::Instant::now();
    cache.get_or_assemble(key(), City::open()).await.unwrap();
    let waited = begun.elapsed();
    assert!(
        (Duration::from_secs(15)..Duration::from_secs(16)).contains(&waited),
        "{waited:?}"
    );
}

#[tokio::test]
async fn a_report_outlives_the_process_that_made_it() {
    let (shelf, clock, cache) = setup();
    let city = City::open();
    let made = cache
        .get_or_assemble(key(), Arc::<City>::clone(&city) as _)
        .await
        .unwrap();
    let restarted = cache_over(&shelf, &clock, "one");
    let read = restarted
        .get_or_assemble(key(), Arc::<City>::clone(&city) as _)
        .await
        .unwrap();
    assert_eq!(made.tail, read.tail);
    assert_eq!(city.runs(), 1);
}

#[tokio::test]
async fn a_damaged_report_is_made_anew() {
    let (shelf, clock, cache) = setup();
    let city = City::open();
    cache
        .get_or_assemble(key(), Arc::<City>::clone(&city) as _)
        .await
        .unwrap();
    for (body, _) in shelf.bodies.lock().unwrap().values_mut() {
        let half = body.len() / 2;
        body.truncate(half);
    }
    let restarted = cache_over(&shelf, &clock, "one");
    restarted
        .get_or_assemble(key(), Arc::<City>::clone(&city) as _)
        .await
        .unwrap();
    assert_eq!(city.runs(), 2);
}

#[tokio::test]
async fn a_broken_assembly_is_an_error_and_the_next_call_tries_anew() {
    let (_, _, cache) = setup();
    let city = City::open();
    *city.panics.lock().unwrap() = true;
    let outcome = cache
        .get_or_assemble(key(), Arc::<City>::clone(&city) as _)
        .await;
    assert!(matches!(outcome, Err(CacheError::Broken(_))), "{outcome:?}");
    *city.panics.lock().unwrap() = false;
    cache.get_or_assemble(key(), city).await.unwrap();
}

#[tokio::test]
async fn a_source_that_is_new_is_asked_alone_and_stands_in_registry_order() {
    let (shelf, clock, _) = setup();
    let city = City::open();
    let before = cache_with(
        &shelf,
        &clock,
        "one",
        &[("nyc_ecb", false), ("nyc_pluto", false), ("listings", true)],
    );
    // The city answers for all it knows; the registry decides what is shown.
    before
        .get_or_assemble(key(), Arc::<City>::clone(&city) as _)
        .await
        .unwrap();
    let after = cache_with(
        &shelf,
        &clock,
        "one",
        &[("nyc_pluto", false), ("nyc_new", false), ("nyc_ecb", false)],
    );
    let report = after
        .get_or_assemble(key(), Arc::<City>::clone(&city) as _)
        .await
        .unwrap();
    assert_eq!(city.asked.lock().unwrap().last().unwrap(), &["nyc_new"]);
    let data: serde_json::Value = serde_json::from_str(&format!(
        "{{{}}}",
        std::str::from_utf8(&report.tail).unwrap()
    ))
    .unwrap();
    let keys: Vec<_> = data["sources"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["nyc_pluto", "nyc_new", "nyc_ecb"]);
}

#[tokio::test]
async fn a_building_outside_a_licence_is_asked_after_once_for_each_licence() {
    let (shelf, clock, _) = setup();
    let city = City::open();
    city.gated.lock().unwrap().insert("nyc_dob".into());
    let cache = |terms: &str| {
        ReportCache::new(
            Arc::<Shelf>::clone(&shelf),
            Arc::<Shelf>::clone(&shelf),
            Arc::<ManualClock>::clone(&clock) as Arc<dyn Clock>,
            RegistryView::new(SOURCES.map(|key| (key, false))).on_terms(terms),
            "one".into(),
            CacheConfig::default(),
        )
    };
    let asked = async |cache: &ReportCache| {
        let report = cache.get_or_assemble(key(), Arc::<City>::clone(&city) as _);
        let life = &report.await.unwrap().life;
        assert_eq!(life.cache_info().status, CacheStatus::Ok);
        std::mem::take(&mut *city.asked.lock().unwrap())
    };
    let first = cache("10001");
    assert_eq!(asked(&first).await, [SOURCES.map(str::to_owned).to_vec()]);
    for _ in 0..3 {
        assert!(asked(&first).await.is_empty());
    }
    // Nor after a restart, and not for nothing under a wider licence.
    assert!(asked(&cache("10001")).await.is_empty());
    let wider = cache("10001,10025");
    city.gated.lock().unwrap().clear();
    assert_eq!(asked(&wider).await, [["nyc_dob"]]);
    assert!(asked(&wider).await.is_empty());
    // What has answered is kept, whatever becomes of the licence.
    assert!(asked(&first).await.is_empty());
}

#[tokio::test]
async fn expired_reports_are_dropped() {
    let (shelf, clock, cache) = setup();
    cache.get_or_assemble(key(), City::open()).await.unwrap();
    assert_eq!(cache.purge().await.unwrap(), 0);
    clock.advance(time::Duration::days(7) + time::Duration::SECOND);
    assert_eq!(cache.purge().await.unwrap(), 1);
    assert_eq!(lost(&shelf), None);
}

#[tokio::test]
async fn an_answer_that_cannot_have_a_source_shows_it_as_error_and_leaves_the_rest_to_the_letter() {
    let (_, _, cache) = setup();
    let report = cache.get_or_assemble(key(), City::open()).await.unwrap();
    let changed = report
        .with_errors(&HashSet::from(["nyc_dob"]), START)
        .unwrap();
    let changed = String::from_utf8(changed.to_vec()).unwrap();
    let whole = String::from_utf8(report.tail.to_vec()).unwrap();
    assert!(
        changed.contains(r#""nyc_dob":{"status":"error","data":null}"#),
        "{changed}"
    );
    let (before, _) = whole.split_once("\"nyc_dob\"").unwrap();
    assert!(changed.starts_with(before), "{changed}");
    let between = |text: &str| {
        let (_, after) = text.split_once("\"nyc_pluto\"").unwrap();
        after.split_once("\"cache\"").unwrap().0.to_owned()
    };
    assert_eq!(between(&changed), between(&whole));
}

#[tokio::test]
async fn an_answer_that_cannot_have_a_source_is_partial_for_ten_minutes_at_most() {
    let (_, clock, cache) = setup();
    let report = cache.get_or_assemble(key(), City::open()).await.unwrap();
    let info = |keys: &[&'static str], now| {
        let tail = report
            .with_errors(&keys.iter().copied().collect(), now)
            .unwrap();
        let text = format!("{{{}}}", String::from_utf8(tail.to_vec()).unwrap());
        let data: serde_json::Value = serde_json::from_str(&text).unwrap();
        data["cache"].clone()
    };
    clock.advance(time::Duration::days(1));
    let partial = info(&["nyc_dob"], clock.now());
    assert_eq!(
        partial,
        serde_json::json!({
            "cached_at": "2026-11-27T12:00:00Z",
            "refresh_available_at": "2026-11-28T12:10:00Z",
            "status": "partial",
        })
    );
    // Never past the report's end.
    let late = START + time::Duration::days(7) - time::Duration::minutes(1);
    let partial = info(&["nyc_dob"], late);
    assert_eq!(partial["refresh_available_at"], "2026-12-04T12:00:00Z");
    // Where nothing is missing it is what it was, and the report itself is.
    assert_eq!(info(&[], clock.now())["status"], "ok");
    assert_eq!(report.life.cache_info().status, CacheStatus::Ok);
}

#[tokio::test(start_paused = true)]
async fn when_no_source_answered_no_instance_asks_for_thirty_seconds() {
    let (shelf, clock, one) = setup();
    let two = cache_over(&shelf, &clock, "two");
    let city = City::closed();
    city.fail(&SOURCES);
    let ask = |cache: &ReportCache| {
        let (cache, city) = (cache.clone(), Arc::<City>::clone(&city));
        tokio::spawn(async move { cache.get_or_assemble(key(), city).await })
    };
    let first = ask(&one);
    city.started.notified().await;
    // One that waits for the other's assembly, and one that comes after it.
    let waiting = ask(&two);
    tokio::time::sleep(Duration::from_secs(1)).await;
    city.gate.add_permits(10);
    for asked in [first, waiting, ask(&two)] {
        assert_eq!(
            asked.await.unwrap().unwrap_err(),
            CacheError::NothingAnswered
        );
    }
    assert_eq!(city.runs(), 1);
    city.fail(&[]);
    tokio::time::sleep(Duration::from_secs(30)).await;
    ask(&two).await.unwrap().unwrap();
    assert_eq!(city.runs(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_wait_after_no_source_answered_outlasts_the_instance_that_asked() {
    let (shelf, clock, one) = setup();
    let city = City::open();
    city.fail(&SOURCES);
    let outcome = one.get_or_assemble(key(), Arc::<City>::clone(&city) as _);
    assert_eq!(outcome.await.unwrap_err(), CacheError::NothingAnswered);
    drop(one);
    let next = cache_over(&shelf, &clock, "next");
    let outcome = next.get_or_assemble(key(), Arc::<City>::clone(&city) as _);
    assert_eq!(outcome.await.unwrap_err(), CacheError::NothingAnswered);
    assert_eq!(city.runs(), 1);
}
