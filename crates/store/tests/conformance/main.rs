//! What every database must do, stamped for each: SQLite in temporary files always, PostgreSQL where `TEST_POSTGRES_URL`
//! names a server.

#[path = "../../../../tests/at_hand.rs"]
mod at_hand;
mod audit;
mod backup;
mod faults;
mod harness;
mod index_files;
mod leases;
mod ledger;
mod migrate;
mod opening;
mod purges;
#[cfg(feature = "sqlite")]
mod released;
mod reports;
mod stamp;

/// One test for each case and database. A case takes a fresh `Held`: with its schema, or `bare`.
macro_rules! stamp_for {
    ($database:ident, $make:ident, $make_bare:ident, $($module:ident: $($case:ident)+;)+) => {
        mod $database {
            $(
                mod $module {
                    $(
                        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                        async fn $case() {
                            if let Some(held) = crate::harness::$make().await {
                                crate::$module::$case(&held).await;
                            }
                        }
                    )+
                }
            )+

            mod migrate {
                crate::stamp_bare!($make_bare: starts_at_once_do_not_collide an_unmade_schema_is_not_ready);
            }

            brownstone_accounts::account_store_contract!(crate::harness::$make());
            brownstone_accounts::request_store_contract!(crate::harness::$make());
            brownstone_accounts::usage_store_contract!(crate::harness::$make());
            brownstone_accounts::sign_in_store_contract!(crate::harness::$make());
            brownstone_rates::rate_store_contract!(crate::harness::$make());
            brownstone_listings::listing_store_contract!(crate::harness::$make());
        }
    };
}

macro_rules! stamp_bare {
    ($make:ident: $($case:ident)+) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                if let Some(held) = crate::harness::$make().await {
                    crate::migrate::$case(&held).await;
                }
            }
        )+
    };
}
use stamp_bare;

macro_rules! conformance {
    ($($cases:tt)+) => {
        #[cfg(feature = "sqlite")]
        stamp_for!(sqlite, sqlite, sqlite_bare, $($cases)+);
        #[cfg(feature = "postgres")]
        stamp_for!(postgres, postgres, postgres_bare, $($cases)+);
    };
}

conformance! {
    audit:
        a_line_cannot_be_changed_or_taken_out
        what_was_tampered_with_is_found_at_its_line;
    reports:
        a_report_comes_back_byte_for_byte
        a_report_saved_again_replaces_the_one_before
        an_expired_report_is_still_loaded
        a_purge_takes_what_expired_before_and_nothing_else
        a_purge_takes_at_most_five_hundred;
    leases:
        a_held_lease_is_refused_to_others
        a_lease_is_free_at_its_very_end
        a_holder_takes_its_own_lease_again
        a_renewal_extends_and_needs_a_lease_that_lasts
        a_lost_lease_is_not_renewed
        only_the_holder_gives_a_lease_up
        whether_a_lease_is_held_is_seen_without_taking_it
        the_stores_clock_decides_where_no_time_is_given
        the_longest_time_is_no_error
        forty_who_race_for_a_free_lease_are_one_holder
        forty_who_race_for_an_ended_lease_are_one_holder;
    ledger:
        an_empty_ledger_has_no_rows
        a_reservation_keeps_the_greater
        a_later_day_replaces_an_earlier_one_never_the_reverse
        a_reservation_forgets_the_bucket
        settling_replaces_the_whole_ledger
        settling_is_all_or_nothing
        a_great_ledger_settles
        reservations_at_once_keep_the_greatest
        the_memory_engine_goes_on_where_it_stopped;
    stamp:
        a_new_database_is_of_no_kind
        a_stamp_stays
        starts_of_both_kinds_at_once_leave_one_kind;
    upkeep:
        a_second_migration_does_nothing
        a_newer_schema_is_refused_and_left_alone;
    purges:
        counters_of_days_long_ago_go_and_the_others_stay
        a_lease_goes_a_day_after_its_end
        by_the_stores_clock_a_lease_that_ended_now_stays
        an_erased_account_leaves_no_budget;
    index_files:
        a_file_of_several_parts_comes_back_byte_for_byte
        the_last_two_versions_stay
        a_version_put_again_is_the_newest_again
        a_changed_byte_is_noticed;
    backup:
        a_copy_holds_everything_and_is_whole_while_others_write
        a_file_that_is_there_is_left_alone
        what_cannot_be_written_leaves_nothing;
    faults:
        a_locked_database_is_an_error_in_time_and_nothing_stays_of_it
        callers_who_go_away_leave_a_store_that_works
        a_store_serves_other_runtimes_and_outlives_them
        readers_do_not_wait_for_a_writer;
}

use migrate as upkeep;
