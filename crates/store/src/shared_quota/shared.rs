//! What all shared stores have in common: the memory of refusals, and the answer in the engine's words.

use std::future::Future;
use std::sync::Arc;
use std::time::Instant;

use brownstone_domain::{Clock, Limits, Units};
use brownstone_quota::{Charge, Decision, Outcome, QuotaUnavailable, Receipt, Record, View};

use super::SharedQuotaOptions;
use super::denials::Denials;
use super::watched::Watched;
use crate::error::Fault;
use crate::pool::Runner;

/// What a store is asked: one shape for all questions. What a question does not need is 0.
#[derive(Debug, Clone, Default)]
pub(super) struct Given {
    pub(super) account: String,
    pub(super) cost: u32,
    pub(super) per_minute: u32,
    pub(super) per_day: u32,
    pub(super) charged_at_us: u64,
    pub(super) charged_day: u32,
    /// A test's clock; `None` for the store's own.
    pub(super) clock_us: Option<u64>,
}

/// What a store answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Answer {
    charged: bool,
    /// The record after the charge, or as it stands where nothing was charged.
    record: Record,
    /// The clock's reading.
    now_us: u64,
}

impl Answer {
    /// Reads deficit, time of the last charge, day, units spent, and the clock.
    pub(super) fn read(charged: bool, numbers: [i64; 5]) -> Result<Self, Fault> {
        let long = |n: i64| u64::try_from(n).map_err(|_| Fault::Unreadable("quota record"));
        let short = |n: i64| u32::try_from(n).map_err(|_| Fault::Unreadable("quota record"));
        let [deficit, last_us, day, spent, now_us] = numbers;
        Ok(Self {
            charged,
            record: Record {
                deficit: long(deficit)?,
                last_us: long(last_us)?,
                day: short(day)?,
                spent: short(spent)?,
            },
            now_us: long(now_us)?,
        })
    }
}

/// Where the records are: each question is one round trip that is whole or did not happen.
///
/// Before it is sent it waits for a place, which is a matter of this process alone, and then for a connection, which is the
/// store's too.
pub(super) trait Records: Send + Sync + 'static {
    /// A place among those who ask.
    type Place: Send;
    /// A connection for one question.
    type Line: Send;

    /// Waits for a place, however long that takes. `locked` is the account whose record the question locks, if it does. A `refund` has
    /// time, and leaves places to those who have none.
    fn place(&self, locked: Option<&str>, refund: bool)
    -> impl Future<Output = Self::Place> + Send;

    /// A connection: one that rests, or a new one. Nothing of the question is sent yet.
    fn connect(&self, place: Self::Place)
    -> impl Future<Output = Result<Self::Line, Fault>> + Send;

    /// The same connection, once it is known to be alive as far as that can be known: it may have died at rest.
    fn greet(&self, line: Self::Line) -> impl Future<Output = Result<Self::Line, Fault>> + Send;

    /// Charges a cost above 0 that is within both ceilings, if it fits; writes nothing if not.
    fn charge(
        &self,
        line: Self::Line,
        given: &Given,
    ) -> impl Future<Output = Result<Answer, Fault>> + Send;

    /// Gives a charge back: what has not refilled since to the minute, all of it to the day while it is the same one.
    fn refund(
        &self,
        line: Self::Line,
        given: &Given,
    ) -> impl Future<Output = Result<(), Fault>> + Send;

    /// The record as it stands.
    fn peek(
        &self,
        line: Self::Line,
        given: &Given,
    ) -> impl Future<Output = Result<Answer, Fault>> + Send;
}

/// What all shared stores have in common.
pub(super) struct Shared<R> {
    store: Arc<Watched<R>>,
    runner: Runner,
    denials: Denials,
    pub(super) clock: Option<Arc<dyn Clock>>,
}

impl<R: Records> Shared<R> {
    pub(super) fn new(records: R, runner: Runner, options: &SharedQuotaOptions) -> Self {
        Self {
            store: Arc::new(Watched::new(records, options)),
            runner,
            denials: Denials::new(options.remember_refusals_for),
            clock: None,
        }
    }

    fn clock_us(&self) -> Option<u64> {
        self.clock.as_ref().map(|clock| clock.now_us())
    }

    /// Asks once, within the deadline. The question runs to its end even where its caller leaves.
    async fn ask<T, F>(
        &self,
        question: impl FnOnce(Arc<Watched<R>>) -> F + Send,
    ) -> Result<T, QuotaUnavailable>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Fault>> + Send + 'static,
    {
        // Asked before a task is made for it: a store that is away costs microseconds.
        self.store.reachable().map_err(QuotaUnavailable::silent)?;
        self.runner
            .briefly(question(self.store.clone()))
            .await
            .map_err(QuotaUnavailable::silent)
    }

    async fn look(&self, account: &str) -> Result<Answer, QuotaUnavailable> {
        let given = Given {
            account: account.to_owned(),
            clock_us: self.clock_us(),
            ..Given::default()
        };
        self.ask(|store| async move {
            let records = store.records();
            store.ask(None, |line| records.peek(line, &given)).await
        })
        .await
    }

    pub(super) async fn charge(
        &self,
        account: &str,
        cost: Units,
        limits: Limits,
    ) -> Result<Decision, QuotaUnavailable> {
        let units = cost.get();
        if units == 0 || units > limits.per_minute() || units > limits.per_day() {
            // Decided whatever the record says; the record is for the numbers that go with it.
            let Answer { record, now_us, .. } = self.look(account).await?;
            return Ok(record.charge(now_us, cost, limits).into_decision(account));
        }
        let (clock_us, asked_at) = (self.clock_us(), Instant::now());
        if let Some(refusal) = self
            .denials
            .refuse(account, cost, limits, clock_us, asked_at)
        {
            return Ok(refusal);
        }
        let asked = self.denials.asking(account, asked_at);
        let given = Given {
            account: account.to_owned(),
            cost: units,
            per_minute: limits.per_minute(),
            per_day: limits.per_day(),
            clock_us,
            ..Given::default()
        };
        let Answer {
            charged,
            record,
            now_us,
        } = self
            .ask(|store| async move {
                let records = store.records();
                store
                    .ask(Some(&given.account), |line| records.charge(line, &given))
                    .await
            })
            .await?;
        let answered_at = Instant::now();
        if charged {
            self.denials
                .admitted(account, record, now_us, asked, answered_at);
            return Ok(Outcome::admitted(&record, now_us, cost, limits).into_decision(account));
        }
        match record.charge(now_us, cost, limits) {
            short @ Outcome::Short { .. } => {
                self.denials
                    .refused(account, record, now_us, asked, answered_at);
                Ok(short.into_decision(account))
            }
            // Nothing was charged, so nothing may be admitted.
            _ => Err(QuotaUnavailable::silent(
                "the store refused what its own record allows",
            )),
        }
    }

    pub(super) async fn refund(&self, receipt: Receipt) -> Result<(), QuotaUnavailable> {
        let Charge {
            cost,
            charged_at_us,
            day,
            limits,
        } = receipt.charge();
        if cost == Units::ZERO {
            return Ok(());
        }
        let given = Given {
            account: receipt.account().to_owned(),
            cost: cost.get(),
            per_minute: limits.per_minute(),
            per_day: limits.per_day(),
            charged_at_us,
            charged_day: day,
            clock_us: self.clock_us(),
        };
        // Sent once: a refund that is lost is safe, a second one is not. It waits where it cannot be sent, and goes on without its
        // caller.
        let store = self.store.clone();
        let out = self
            .runner
            .briefly(async move { store.give_back(&given).await })
            .await
            .map_err(QuotaUnavailable::silent);
        self.denials.refunded(receipt.account());
        out
    }

    pub(super) async fn peek(
        &self,
        account: &str,
        limits: Limits,
    ) -> Result<View, QuotaUnavailable> {
        let Answer { record, now_us, .. } = self.look(account).await?;
        Ok(record.peek(now_us, limits))
    }
}

/// Makes a store of a type that wraps a [`Shared`].
macro_rules! quota_store {
    ($name:ident) => {
        #[async_trait::async_trait]
        impl brownstone_quota::QuotaStore for $name {
            async fn charge(
                &self,
                account: &str,
                cost: brownstone_domain::Units,
                limits: brownstone_domain::Limits,
            ) -> Result<brownstone_quota::Decision, brownstone_quota::QuotaUnavailable> {
                self.0.charge(account, cost, limits).await
            }

            async fn refund(
                &self,
                receipt: brownstone_quota::Receipt,
            ) -> Result<(), brownstone_quota::QuotaUnavailable> {
                self.0.refund(receipt).await
            }

            async fn peek(
                &self,
                account: &str,
                limits: brownstone_domain::Limits,
            ) -> Result<brownstone_quota::View, brownstone_quota::QuotaUnavailable> {
                self.0.peek(account, limits).await
            }
        }

        #[cfg(feature = "test-clock")]
        impl $name {
            /// Reads the time from a test's clock instead of the store's. For tests only: instances whose clocks differ
            /// would share no budget.
            #[must_use]
            pub fn reading(mut self, clock: std::sync::Arc<dyn brownstone_domain::Clock>) -> Self {
                self.0.clock = Some(clock);
                self
            }
        }
    };
}
pub(super) use quota_store;
