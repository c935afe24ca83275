//! What every store of shared budgets must do, stamped for each: PostgreSQL where `TEST_POSTGRES_URL` names a server, Redis
//! or Valkey where `TEST_REDIS_URL` does.
#![cfg(any(feature = "postgres", feature = "redis"))]

#[path = "../../../../tests/at_hand.rs"]
mod at_hand;
mod bytes;
mod faults;
#[path = "../conformance/harness.rs"]
mod harness;
mod histories;
mod places;
mod proxy;
mod races;
#[cfg(feature = "redis")]
mod scripts;

/// One test for each case and store. A case takes a `Place`.
macro_rules! stamp {
    ($store:ident: $($module:ident: $($case:ident)+;)+) => {
        mod $store {
            mod contract {
                async fn rig() -> Option<brownstone_quota::contract::Rig> {
                    Some(crate::places::$store().await?.rig().await)
                }
                brownstone_quota::quota_store_contract!(rig);
            }
            $(
                mod $module {
                    $(
                        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                        async fn $case() {
                            if let Some(place) = crate::places::$store().await {
                                crate::$module::$case(&place).await;
                            }
                        }
                    )+
                }
            )+
        }
    };
}

macro_rules! each {
    ($($cases:tt)+) => {
        #[cfg(feature = "postgres")]
        stamp!(postgres: $($cases)+);
        #[cfg(feature = "redis")]
        stamp!(redis: $($cases)+);
    };
}

each! {
    histories:
        three_instances_agree_with_the_reference
        an_instance_that_remembers_refusals_agrees_with_the_reference
        charges_that_stand_keep_the_bounds_whatever_the_clock_and_the_limits_do;
    bytes:
        whatever_is_not_charged_leaves_the_stored_bytes_alone
        a_refund_of_nothing_leaves_the_stored_bytes_alone;
    races:
        forty_tasks_take_the_bucket_to_the_last_unit
        sixty_four_workers_on_three_instances_stay_within_the_bound
        first_charges_at_once_make_one_record;
    faults:
        a_dead_store_is_an_error_in_time_and_then_costs_nothing
        it_is_back_within_a_second
        an_answer_that_comes_too_late_is_an_error_and_what_it_charged_stays
        a_store_that_dies_during_calls_fails_them_at_once
        a_busy_account_does_not_keep_others_waiting
        callers_who_leave_break_nothing
        refusals_are_remembered_until_a_refund
        a_burst_of_refunds_of_one_account_loses_none_and_shuts_out_nobody
        a_burst_of_refunds_of_many_accounts_loses_none_and_shuts_out_nobody
        a_refund_is_not_sent_on_a_connection_that_died_at_rest
        a_refund_waits_for_a_store_that_is_away_and_is_made_once
        a_refund_that_cannot_be_sent_is_given_up_in_the_end
        a_refund_whose_fate_is_not_known_is_never_sent_again;
}
