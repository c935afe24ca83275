//! One question to the store: what is waited for before it is sent, how long it may take, and what its end says of the store.

use std::future::Future;
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout, timeout_at};

use super::SharedQuotaOptions;
use super::breaker::Breaker;
use super::shared::{Given, Records};
use crate::error::Fault;

/// How often a refund that cannot be sent looks whether it can. Those that wait do not all begin at one moment, so they are
/// not all sent at one either.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Refunds that wait at most. Each belongs to a call, and fewer calls than these are in flight: this bounds memory where that
/// were otherwise.
const REFUNDS_WAITING: usize = 8_192;

/// The store, watched.
pub(super) struct Watched<R> {
    records: R,
    breaker: Breaker,
    answer_within: Duration,
    send_refunds_within: Duration,
    refunds: Semaphore,
}

/// Queueing here says nothing about the store: it never counts as a failure of it.
fn crowded() -> Fault {
    Fault::Connection("all that there are were in use".to_owned())
}

fn left_alone() -> Fault {
    Fault::Connection(
        "the store did not answer before and is left alone for half a second".to_owned(),
    )
}

impl<R: Records> Watched<R> {
    pub(super) fn new(records: R, options: &SharedQuotaOptions) -> Self {
        Self {
            records,
            breaker: Breaker::default(),
            answer_within: options.answer_within,
            send_refunds_within: options.send_refunds_within,
            refunds: Semaphore::new(REFUNDS_WAITING),
        }
    }

    pub(super) fn records(&self) -> &R {
        &self.records
    }

    /// An error at once while the store is left alone.
    pub(super) fn reachable(&self) -> Result<(), Fault> {
        if self.breaker.refuses(Instant::now()) {
            return Err(left_alone());
        }
        Ok(())
    }

    /// Asks once. `locked` is the account whose record the question locks, if it does.
    ///
    /// All of it ends within the time for an answer. At most three quarters of that are spent in our own queue: a charge that is sent with
    /// no time left is made and not heard of.
    pub(super) async fn ask<T, F>(
        &self,
        locked: Option<&str>,
        question: impl FnOnce(R::Line) -> F + Send,
    ) -> Result<T, Fault>
    where
        F: Future<Output = Result<T, Fault>> + Send,
    {
        let until = tokio::time::Instant::now() + self.answer_within;
        let place = timeout(
            self.answer_within * 3 / 4,
            self.records.place(locked, false),
        )
        .await
        .map_err(|_| crowded())?;
        self.probe()?;
        let work = async { question(self.records.connect(place).await?).await };
        self.watch(until, work).await
    }

    /// Gives back once. As long as nothing was sent it waits, until there is something to send it on and a store that may answer;
    /// what was sent is never sent again, whatever became of it.
    pub(super) async fn give_back(&self, given: &Given) -> Result<(), Fault> {
        let Ok(_waiting) = self.refunds.try_acquire() else {
            return Err(crowded());
        };
        let give_up = tokio::time::Instant::now() + self.send_refunds_within;
        let line = loop {
            let fault = match self.line(&given.account, give_up).await {
                Ok(line) => break line,
                Err(fault) => fault,
            };
            if tokio::time::Instant::now() + LOOK_AGAIN >= give_up {
                return Err(fault);
            }
            sleep(LOOK_AGAIN).await;
        };
        let until = tokio::time::Instant::now() + self.answer_within;
        self.watch(until, self.records.refund(line, given)).await
    }

    /// Something to send a refund on, known to be alive: what is sent on a dead one is lost. While the store is left alone no place is
    /// taken from calls.
    async fn line(&self, account: &str, give_up: tokio::time::Instant) -> Result<R::Line, Fault> {
        self.reachable()?;
        let place = timeout_at(give_up, self.records.place(Some(account), true))
            .await
            .map_err(|_| crowded())?;
        self.probe()?;
        let greeted = async {
            let line = self.records.connect(place).await?;
            self.records.greet(line).await
        };
        let line = timeout(self.answer_within, greeted)
            .await
            .unwrap_or(Err(Fault::Silent(self.answer_within)));
        if line.is_err() {
            self.breaker.failed(Instant::now());
        }
        line
    }

    fn probe(&self) -> Result<(), Fault> {
        if self.breaker.admits(Instant::now()) {
            Ok(())
        } else {
            Err(left_alone())
        }
    }

    async fn watch<T>(
        &self,
        until: tokio::time::Instant,
        work: impl Future<Output = Result<T, Fault>> + Send,
    ) -> Result<T, Fault> {
        let within = until.saturating_duration_since(tokio::time::Instant::now());
        let out = timeout_at(until, work)
            .await
            .unwrap_or(Err(Fault::Silent(within)));
        match &out {
            Ok(_) => self.breaker.answered(),
            // It was given little time, since our own queue took the rest: that is not for the store to answer for.
            Err(Fault::Silent(within)) if *within < self.answer_within / 2 => {}
            Err(_) => self.breaker.failed(Instant::now()),
        }
        out
    }
}
