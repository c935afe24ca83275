//! What every implementation of the storage traits must pass, as small async functions, and two macros that stamp a test of each.
//!
//! A case makes its own accounts with fresh identifiers, so that all cases may share one database and run at the same time.
//!
//! ```
//! mod conformance {
//!     use brownstone_accounts::memory::MemoryStore;
//!
//!     // A future of `Some(store)`, or of `None` where this back end cannot be had here: then the case returns.
//!     async fn store() -> Option<Box<MemoryStore>> {
//!         Some(Box::new(MemoryStore::new()))
//!     }
//!
//!     brownstone_accounts::account_store_contract!(store());
//!     brownstone_accounts::usage_store_contract!(store());
//! }
//! ```

pub mod accounts;
mod fixtures;
pub mod keys;
pub mod requests;
pub mod usage;

/// Stamps one test for each case of [`accounts`] and [`keys`]. Takes an expression that makes a future of
/// `Option<impl Deref<Target = impl AccountStore>>` (a `Box`, an `Arc`, a guard that also owns the database's folder).
#[macro_export]
macro_rules! account_store_contract {
    ($store:expr) => {
        $crate::stamp_contract! {
            account_store, accounts, $store,
            accounts_come_back_whole
            an_email_address_belongs_to_one_account
            a_suspension_is_set_replaced_and_lifted
            each_ceiling_changes_alone_and_holds_the_greatest_values
            changes_of_both_ceilings_at_one_time_are_both_kept
            the_audit_trail_is_newest_first_and_limited
            a_change_that_fails_leaves_no_audit_line
            every_line_is_linked_to_the_one_before
            lines_at_the_same_time_make_one_chain
            overrides_end_and_what_ended_does_not_come_back
            accounts_are_found_by_the_beginning_of_their_address
        }
        $crate::stamp_contract! {
            key_store, keys, $store,
            keys_come_back_whole_and_by_hash_with_their_account
            a_key_needs_its_account
            keys_are_listed_oldest_first_and_ended_ones_too
            a_rotation_adds_the_new_key_and_ends_the_old
            a_rotation_never_moves_an_end_later
            a_rotation_happens_whole_or_not_at_all
            no_key_comes_of_one_that_ended
            an_account_has_so_many_keys_that_are_good
            a_revocation_keeps_its_first_moment
            last_use_never_moves_back
        }
    };
}

/// Stamps one test for each case of [`usage`]. Takes what [`account_store_contract!`](crate::account_store_contract) takes, for
/// a `UsageStore`.
#[macro_export]
macro_rules! usage_store_contract {
    ($store:expr) => {
        $crate::stamp_contract! {
            usage_store, usage, $store,
            counts_accumulate
            every_part_of_the_key_counts_apart
            a_read_begins_with_its_day_and_is_of_one_account
            great_counts_survive
            a_batch_is_kept_whole_or_not_at_all
            batches_at_the_same_time_lose_nothing
            a_batch_sent_again_counts_once
            a_batch_that_was_refused_may_be_sent_again
        }
    };
}

/// Stamps one test for each case of [`requests`]. Takes what [`account_store_contract!`](crate::account_store_contract) takes, for
/// a `RequestStore`.
#[macro_export]
macro_rules! request_store_contract {
    ($store:expr) => {
        $crate::stamp_contract! {
            request_store, requests, $store,
            requests_come_back_whole_and_newest_first
            the_newest_requests_are_kept
            old_requests_are_purged
        }
    };
}

/// One test for each named case.
#[doc(hidden)]
#[macro_export]
macro_rules! stamp_contract {
    ($module:ident, $cases:ident, $store:expr, $($case:ident)+) => {
        mod $module {
            #[allow(unused_imports)]
            use super::*;

            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    if let Some(store) = $store.await {
                        $crate::contract::$cases::$case(&*store).await;
                    }
                }
            )+
        }
    };
}
