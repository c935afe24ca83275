//! What all shared stores have in common: deadline, breaker, memory of refusals, and the answer in the engine's words.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use brownstone_domain::{Clock, Limits, Units};
use brownstone_quota::{Charge, Decision, Outcome, QuotaUnavailable, Receipt, Record, View};

use super::SharedQuotaOptions;
use super::breaker::Breaker;
use super::denials::Denials;
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
pub(super) trait Records: Send + Sync + 'static {
    /// Charges a cost above 0 that is within both ceilings, if it fits; writes nothing if not.
    fn charge(&self, given: &Given) -> impl Future<Output = Result<Answer, Fault>> + Send;

    /// Gives a charge back: what has not refilled since to the minute, all of it to the day while it is the same one.
    fn refund(&self, given: &Given) -> impl Future<Output = Result<(), Fault>> + Send;

    /// The record as it stands.
    fn peek(&self, given: &Given) -> impl Future<Output = Result<Answer, Fault>> + Send;
}

/// What all shared stores have in common.
pub(super) struct Shared<R> {
    records: Arc<R>,
    runner: Runner,
    breaker: Arc<Breaker>,
    denials: Denials,
    answer_within: Duration,
    pub(super) clock: Option<Arc<dyn Clock>>,
}

impl<R: Records> Shared<R> {
    pub(super) fn new(records: R, runner: Runner, options: &SharedQuotaOptions) -> Self {
        Self {
            records: Arc::new(records),
            runner,
            breaker: Arc::default(),
            denials: Denials::new(options.remember_refusals_for),
            answer_within: options.answer_within,
            clock: None,
        }
    }

    fn clock_us(&self) -> Option<u64> {
        self.clock.as_ref().map(|clock| clock.now_us())
    }

    /// Asks once, within the deadline. The question runs to its end even where its caller leaves.
    async fn ask<T, F>(
        &self,
        question: impl FnOnce(Arc<R>) -> F + Send,
    ) -> Result<T, QuotaUnavailable>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Fault>> + Send + 'static,
    {
        if !self.breaker.admits(Instant::now()) {
            return Err(QuotaUnavailable::silent(
                "the store did not answer before and is left alone for half a second",
            ));
        }
        let work = question(self.records.clone());
        let (breaker, within) = (self.breaker.clone(), self.answer_within);
        self.runner
            .briefly(async move {
                let out = tokio::time::timeout(within, work)
                    .await
                    .unwrap_or(Err(Fault::Silent(within)));
                match &out {
                    Ok(_) => breaker.answered(),
                    Err(_) => breaker.failed(Instant::now()),
                }
                out
            })
            .await
            .map_err(QuotaUnavailable::silent)
    }

    async fn look(&self, account: &str) -> Result<Answer, QuotaUnavailable> {
        let given = Given {
            account: account.to_owned(),
            clock_us: self.clock_us(),
            ..Given::default()
        };
        self.ask(|records| async move { records.peek(&given).await })
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
            .ask(|records| async move { records.charge(&given).await })
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
        // Sent once: a refund that is lost is safe, a second one is not.
        let out = self
            .ask(|records| async move { records.refund(&given).await })
            .await;
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
