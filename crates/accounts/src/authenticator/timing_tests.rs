//! How old a verdict may be.

use std::time::Duration;

use tokio::time::{Instant, advance};

use super::*;
use crate::doubles::{NOON, World, unauthorized};
use crate::key::ApiKey;
use crate::model::Overrides;
use crate::service::Actor;
use crate::verdicts::{FRESH, GOOD_IN_SILENCE, READ_DEADLINE, SILENCE};

const MILLISECOND: Duration = Duration::from_millis(1);

#[tokio::test(start_paused = true)]
async fn a_verdict_is_fresh_for_a_second_and_a_half() {
    let world = World::new().await;
    world.call().await.unwrap();
    advance(FRESH - MILLISECOND).await;
    world.call().await.unwrap();
    assert_eq!(world.store.reads(), 1);
    advance(MILLISECOND).await;
    world.call().await.unwrap();
    assert_eq!(world.store.reads(), 2);
    // Use does not prolong it.
    for _ in 0..15 {
        advance(Duration::from_millis(100)).await;
        world.call().await.unwrap();
    }
    assert_eq!(world.store.reads(), 3);
}

#[tokio::test(start_paused = true)]
async fn suspension_restoration_limits_and_revocation_are_in_force_within_two_seconds() {
    let world = World::new().await;
    let just_under_two_seconds = Duration::from_millis(1_999);
    let (id, command) = (&world.account, Actor::Command);

    world.call().await.unwrap();
    world.accounts.suspend(id, "abuse", command).await.unwrap();
    advance(just_under_two_seconds).await;
    assert!(matches!(
        world.call().await,
        Err(AuthFailure::Suspended { .. })
    ));

    world.accounts.restore(id, "paid", command).await.unwrap();
    advance(just_under_two_seconds).await;
    world.call().await.unwrap();

    let change = Overrides {
        per_minute: Some(9),
        per_day: None,
        until: None,
    };
    world
        .accounts
        .set_limits(id, change, "asked", command)
        .await
        .unwrap();
    advance(just_under_two_seconds).await;
    let limits = world.call().await.unwrap().limits;
    assert_eq!(limits, Limits::new(9, Limits::DEFAULT_PER_DAY).unwrap());

    world
        .accounts
        .revoke_key(&world.key.record.id, command)
        .await
        .unwrap();
    advance(just_under_two_seconds).await;
    assert_eq!(
        world.call().await.unwrap_err(),
        unauthorized(UnauthorizedReason::Revoked)
    );
}

/// The verdict stays remembered while the clock moves: its ceilings must not outlive their end.
#[tokio::test(start_paused = true)]
async fn ceilings_that_end_at_a_moment_end_at_it() {
    let world = World::new().await;
    let end = NOON + time::Duration::HOUR;
    let change = Overrides {
        per_minute: Some(9),
        per_day: Some(90),
        until: Some(end),
    };
    world
        .accounts
        .set_limits(&world.account, change, "a trial", Actor::Command)
        .await
        .unwrap();
    let wide = world.call().await.unwrap();
    assert_eq!(wide.limits, Limits::new(9, 90).unwrap());
    world.clock.set(end - time::Duration::MICROSECOND);
    assert_eq!(world.call().await.unwrap().limits, wide.limits);
    world.clock.set(end);
    let usual = world.call().await.unwrap();
    assert_eq!(usual.limits, Limits::default());
    assert_eq!((&usual.account, usual.tier), (&wide.account, wide.tier));
    assert_eq!(world.store.reads(), 1);
}

/// A verdict is read, then the key is revoked, then the verdict is remembered: it must not be good for longer because its read was slow.
#[tokio::test(start_paused = true)]
async fn a_verdict_read_before_a_revocation_and_remembered_after_it_ends_in_time() {
    let world = World::new().await;
    let gate = world.store.stop_reads();
    let began = Instant::now();
    let slow = world.spawn_call();
    gate.reached().await;
    advance(Duration::from_millis(100)).await;
    world
        .accounts
        .revoke_key(&world.key.record.id, Actor::Command)
        .await
        .unwrap();
    let revoked = Instant::now();
    advance(Duration::from_millis(800)).await;
    gate.open();
    slow.await
        .unwrap()
        .expect("it was read before the revocation");
    world.store.stop_reads_no_more();

    world.call().await.expect("remembered since 0.9 s");
    advance(began + FRESH - MILLISECOND - Instant::now()).await;
    world.call().await.expect("fresh to the last millisecond");
    assert_eq!(world.store.reads(), 1);
    advance(MILLISECOND).await;
    assert_eq!(
        world.call().await.unwrap_err(),
        unauthorized(UnauthorizedReason::Revoked)
    );
    assert!(revoked.elapsed() < Duration::from_secs(2));
}

#[tokio::test(start_paused = true)]
async fn an_end_is_kept_to_the_moment_even_on_a_remembered_verdict() {
    let world = World::new().await;
    let rotation = world
        .accounts
        .rotate_key(
            &world.key.record.id,
            Duration::from_secs(3_600),
            Actor::Command,
        )
        .await
        .unwrap();
    world.call().await.unwrap();
    world
        .clock
        .set(NOON + time::Duration::HOUR - time::Duration::MICROSECOND);
    world.call().await.expect("the last microsecond counts");
    world.clock.set(NOON + time::Duration::HOUR);
    assert_eq!(
        world.call().await.unwrap_err(),
        unauthorized(UnauthorizedReason::Expired)
    );
    assert_eq!(
        world.store.reads(),
        1,
        "all three were the remembered verdict"
    );
    world
        .call_with(rotation.new.key.expose())
        .await
        .expect("the new key goes on");
}

#[tokio::test(start_paused = true)]
async fn calls_at_the_same_time_share_one_read() {
    let world = World::new().await;
    let gate = world.store.stop_reads();
    let calls: Vec<_> = (0..100).map(|_| world.spawn_call()).collect();
    gate.reached().await;
    for _ in 0..200 {
        tokio::task::yield_now().await;
    }
    gate.open();
    for call in calls {
        call.await.unwrap().unwrap();
    }
    assert_eq!(world.store.reads(), 1);
}

#[tokio::test(start_paused = true)]
async fn when_the_reading_caller_hangs_up_the_next_one_reads() {
    let world = World::new().await;
    let gate = world.store.stop_reads();
    let leader = world.spawn_call();
    gate.reached().await;
    let follower = world.spawn_call();
    tokio::task::yield_now().await;
    leader.abort();
    assert!(leader.await.unwrap_err().is_cancelled());
    gate.reached().await;
    gate.open();
    follower.await.unwrap().unwrap();
    assert_eq!(world.store.reads(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_verdict_stays_good_for_a_minute_while_the_store_is_silent() {
    let world = World::new().await;
    let stranger = ApiKey::generate(Environment::Test).unwrap();
    let given = Instant::now();
    world.call().await.unwrap();
    let _ = world.call_with(stranger.expose()).await;

    world.store.inner.set_silent(true);
    let unseen = ApiKey::generate(Environment::Test).unwrap();
    assert_eq!(
        world.call_with(unseen.expose()).await.unwrap_err(),
        AuthFailure::Unavailable,
        "nothing to go on"
    );
    let mut calls = 0;
    while given.elapsed() + Duration::from_millis(100) < GOOD_IN_SILENCE {
        advance(Duration::from_millis(100)).await;
        world.call().await.unwrap();
        calls += 1;
    }
    assert!(calls > 590);
    assert!(
        world.store.reads() <= 70,
        "{} reads: silence is remembered for a second",
        world.store.reads()
    );
    assert_eq!(
        world.call_with(stranger.expose()).await.unwrap_err(),
        unauthorized(UnauthorizedReason::Unknown)
    );

    advance(given + GOOD_IN_SILENCE - Instant::now()).await;
    assert_eq!(world.call().await.unwrap_err(), AuthFailure::Unavailable);
    world.store.inner.set_silent(false);
    advance(SILENCE).await;
    world.call().await.expect("the store is back");
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_key_counts_in_silence_too() {
    let world = World::new().await;
    world
        .accounts
        .rotate_key(
            &world.key.record.id,
            Duration::from_secs(30),
            Actor::Command,
        )
        .await
        .unwrap();
    world.call().await.unwrap();
    world.store.inner.set_silent(true);
    advance(FRESH).await;
    world.call().await.unwrap();
    world.clock.advance(time::Duration::seconds(30));
    assert_eq!(
        world.call().await.unwrap_err(),
        unauthorized(UnauthorizedReason::Expired)
    );
}

#[tokio::test(start_paused = true)]
async fn a_revocation_right_after_the_store_came_back_is_in_force_within_two_seconds() {
    let world = World::new().await;
    world.call().await.unwrap();
    world.store.inner.set_silent(true);
    advance(FRESH).await;
    world.call().await.expect("the last verdict");
    world.store.inner.set_silent(false);
    world
        .accounts
        .revoke_key(&world.key.record.id, Actor::Command)
        .await
        .unwrap();
    advance(SILENCE - MILLISECOND).await;
    world.call().await.expect("silence is remembered");
    advance(MILLISECOND).await;
    assert_eq!(
        world.call().await.unwrap_err(),
        unauthorized(UnauthorizedReason::Revoked)
    );
}

#[tokio::test(start_paused = true)]
async fn a_store_that_hangs_is_silent_after_a_second() {
    let world = World::new().await;
    world.call().await.unwrap();
    let _never_opened = world.store.stop_reads();
    advance(FRESH).await;
    let asked = Instant::now();
    world.call().await.expect("the last verdict");
    assert_eq!(asked.elapsed(), READ_DEADLINE);
    world.call().await.expect("without a wait");
    assert_eq!(asked.elapsed(), READ_DEADLINE);

    let stranger = ApiKey::generate(Environment::Test).unwrap();
    assert_eq!(
        world.call_with(stranger.expose()).await.unwrap_err(),
        AuthFailure::Unavailable
    );
}
