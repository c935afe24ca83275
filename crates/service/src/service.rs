//! The pipeline: what every call goes through, whatever its transport.

use std::{panic::AssertUnwindSafe, sync::Arc, task::Poll, time::Duration};

use brownstone_accounts::{
    AccountId, AuthFailure, Authenticator, Caller, KeyId, RequestLine, RequestLog, UsageCounts,
    UsageKey, UsageRecorder,
};
use brownstone_domain::{Clock, ErrorCode, Meta, Operation, RequestId, Surface, Units};
use brownstone_quota::{Decision, QuotaStore, Receipt, View};
use brownstone_report_cache::Packed;
use bytes::Bytes;
use time::{Date, OffsetDateTime};
use tracing::Instrument as _;

use crate::{
    Failure,
    admission::{Admission, AdmissionLimits, Place, Refusal},
    body,
    lookup::Lookups,
    usage,
};

mod people;
mod settle;

/// How long a call may take, from its charge on.
pub const CALL_DEADLINE: Duration = Duration::from_secs(20);

/// A call whose caller is known.
#[derive(Debug, Clone)]
pub struct Call {
    /// The way it came.
    pub surface: Surface,
    /// What is asked.
    pub operation: Operation,
    /// Who asks.
    pub caller: Caller,
    /// Its identity.
    pub request_id: RequestId,
    /// The request body; empty for an operation without one.
    pub body: Bytes,
}

/// A success: the result's bytes, ready, and what the call did to the budget.
#[derive(Debug, Clone)]
pub struct Answer {
    /// JSON of `data`, in pieces to be sent one after the other.
    pub data: Vec<Bytes>,
    /// The one of them that is also there compressed.
    pub packed: Option<PackedPiece>,
    /// What stands beside it.
    pub meta: Meta,
    /// Both budgets, for the RateLimit fields.
    pub view: View,
}

/// A piece of an answer that was compressed when it was made.
#[derive(Debug, Clone)]
pub struct PackedPiece {
    /// Which of the pieces.
    pub place: usize,
    /// The same bytes, compressed.
    pub packed: Arc<Packed>,
}

/// What an operation answers.
pub(crate) struct Data {
    pub pieces: Vec<Bytes>,
    pub packed: Option<PackedPiece>,
}

impl From<Vec<Bytes>> for Data {
    fn from(pieces: Vec<Bytes>) -> Self {
        Self {
            pieces,
            packed: None,
        }
    }
}

/// What the service is made of.
#[derive(Clone)]
pub struct Parts {
    /// Who calls.
    pub authenticator: Arc<Authenticator>,
    /// The budgets.
    pub quota: Arc<dyn QuotaStore>,
    /// Counters of use.
    pub usage: Arc<UsageRecorder>,
    /// The lookup.
    pub lookups: Lookups,
    /// Listings: search and changes.
    pub listings: Arc<brownstone_listings::Listings>,
    /// The mortgage rates.
    pub rates: brownstone_rates::Rates,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Bounds on calls in flight.
    pub admission: AdmissionLimits,
    /// Where operations run: not on a transport's own threads, and not stopped when a connection ends.
    pub runtime: tokio::runtime::Handle,
}

/// The service: seven operations behind one pipeline. Cheap to clone.
#[derive(Clone)]
pub struct Service(Arc<Inner>);

struct Inner {
    parts: Parts,
    admission: Admission,
    requests: Option<Arc<RequestLog>>,
    calls: crate::metrics::Calls,
}

impl Service {
    /// Puts the parts together.
    pub fn new(parts: Parts) -> Self {
        Self::made(parts, None)
    }

    /// As [`Service::new`], and notes each call in `requests`, for its owner and for support to find again.
    pub fn noting(parts: Parts, requests: Arc<RequestLog>) -> Self {
        Self::made(parts, Some(requests))
    }

    fn made(parts: Parts, requests: Option<Arc<RequestLog>>) -> Self {
        let admission = Admission::new(parts.admission);
        Self(Arc::new(Inner {
            parts,
            admission,
            requests,
            calls: crate::metrics::Calls::new(),
        }))
    }

    /// Steps 3 to 5: credentials, suspension, entitlement. `authorization` is the header's value.
    ///
    /// # Errors
    /// 401 `unauthorized` or 403 `forbidden`; 500 when the account store is silent and nothing is known.
    pub async fn authenticate(&self, authorization: Option<&str>) -> Result<Caller, Failure> {
        let outcome = self.0.parts.authenticator.authenticate(authorization).await;
        outcome.map_err(|error| {
            let failure = Failure::from(error);
            crate::metrics::not_let_in(failure.code);
            failure
        })
    }

    /// Steps 6 to 8: the body, the charge, the operation under its deadline. Only a success is charged.
    ///
    /// The work does not stop when the caller leaves: its task settles the charge.
    ///
    /// # Errors
    /// One of the closed set.
    pub async fn call(&self, call: Call) -> Result<Answer, Failure> {
        let inner = Arc::clone(&self.0);
        let span = tracing::Span::current();
        let runtime = self.0.parts.runtime.clone();
        let mut work = Box::pin(async move { inner.run(call).await }.instrument(span));
        // A warm call has nothing to wait for: it is done here, and no other thread is woken for it. Whatever waits goes on in a task of
        // its own. What it starts or times belongs to the service's runtime either way.
        let first = std::future::poll_fn(|context| {
            let _inside = runtime.enter();
            let polled = AssertUnwindSafe(|| work.as_mut().poll(context));
            Poll::Ready(std::panic::catch_unwind(polled))
        })
        .await;
        match first {
            Ok(Poll::Ready(outcome)) => return outcome,
            Ok(Poll::Pending) => {}
            Err(_) => return Err(Failure::internal("the call panicked")),
        }
        match runtime.spawn(work).await {
            Ok(outcome) => outcome,
            Err(error) => Err(Failure::internal(error)),
        }
    }

    /// As [`Service::authenticate`], for a call whose operation is known already: one that is refused although its key is good is noted,
    /// so that its owner finds it among the requests.
    ///
    /// # Errors
    /// Those of [`Service::authenticate`].
    pub async fn authenticate_call(
        &self,
        authorization: Option<&str>,
        surface: Surface,
        operation: Operation,
        request_id: &RequestId,
    ) -> Result<Caller, Failure> {
        let outcome = self.0.parts.authenticator.authenticate(authorization).await;
        outcome.map_err(|failure| {
            let known = match &failure {
                AuthFailure::Suspended { account, key }
                | AuthFailure::NotEntitled { account, key, .. } => {
                    Some((account.clone(), key.clone()))
                }
                AuthFailure::Unauthorized(_) | AuthFailure::Unavailable => None,
            };
            let failure = Failure::from(failure);
            crate::metrics::not_let_in(failure.code);
            let account = known.as_ref().map(|(account, _)| account);
            crate::trace::begun(surface, operation, account);
            if let Some((account, key)) = known {
                let code = failure.code.as_str();
                let at = self.0.parts.clock.now();
                self.0
                    .note(account, key, surface, operation, request_id, code, 0, at);
            }
            failure
        })
    }

    /// Counts and notes a call that failed before it could be run, such as one with a body of the wrong type.
    pub fn count_failure(
        &self,
        caller: &Caller,
        surface: Surface,
        operation: Operation,
        request_id: &RequestId,
        failure: &Failure,
    ) {
        crate::trace::begun(surface, operation, Some(&caller.account));
        crate::metrics::failed(operation, surface, failure.code);
        let at = self.0.parts.clock.now();
        self.0.count(
            caller,
            surface,
            operation,
            UsageCounts {
                failed: 1,
                ..UsageCounts::default()
            },
            at.date(),
        );
        let (account, key) = (caller.account.clone(), caller.key.id.clone());
        let code = failure.code.as_str();
        self.0
            .note(account, key, surface, operation, request_id, code, 0, at);
    }

    /// Sets the gauges, for whoever is about to read them.
    pub fn observe(&self) {
        crate::metrics::in_flight(self.in_flight());
        self.0.parts.lookups.observe();
    }

    /// Calls in flight now.
    pub fn in_flight(&self) -> usize {
        self.0.admission.in_flight()
    }
}

/// What a request asks, typed and checked.
enum Request {
    Search(
        Box<brownstone_domain::SearchRequest>,
        brownstone_listings::Area,
    ),
    Updates(
        Box<brownstone_domain::UpdatesRequest>,
        brownstone_listings::Area,
    ),
    Rates(brownstone_domain::RatesRequest),
    Lookup(brownstone_domain::LookupRequest),
    Comps(brownstone_domain::CompsRequest),
    Rentals(brownstone_domain::rentals::RentalsRequest),
    Usage,
}

impl Inner {
    async fn run(&self, call: Call) -> Result<Answer, Failure> {
        let begun = tokio::time::Instant::now();
        crate::trace::begun(call.surface, call.operation, Some(&call.caller.account));
        let outcome = self.run_counted(&call).await;
        self.calls.ended(
            call.operation,
            call.surface,
            match &outcome {
                Ok(answer) => Ok(answer.meta.units_charged),
                Err(failure) => Err(failure.code),
            },
            begun.elapsed(),
        );
        let counts = match &outcome {
            Ok(answer) => UsageCounts {
                calls: 1,
                units: answer.meta.units_charged,
                ..UsageCounts::default()
            },
            Err(failure) => match (failure.code, failure.retry_after) {
                (ErrorCode::RateLimited, Some(_)) => UsageCounts {
                    rate_limited: 1,
                    ..UsageCounts::default()
                },
                (ErrorCode::RateLimited, None) => UsageCounts {
                    permanent: 1,
                    ..UsageCounts::default()
                },
                _ => UsageCounts {
                    failed: 1,
                    ..UsageCounts::default()
                },
            },
        };
        crate::trace::charged(counts.units);
        let at = self.parts.clock.now();
        // Units stand with the day whose budget paid for them, however late the call ends.
        let day = match &outcome {
            Ok(answer) => usage::day_of(&answer.view),
            Err(_) => at.date(),
        };
        self.count(&call.caller, call.surface, call.operation, counts, day);
        let code = match &outcome {
            Ok(_) => "ok",
            Err(failure) => failure.code.as_str(),
        };
        self.note(
            call.caller.account.clone(),
            call.caller.key.id.clone(),
            call.surface,
            call.operation,
            &call.request_id,
            code,
            counts.units,
            at,
        );
        outcome
    }

    async fn run_counted(&self, call: &Call) -> Result<Answer, Failure> {
        let request = self.read(call)?;
        let mut place = match self.admission.enter(&call.caller.account) {
            Ok(place) => place,
            Err(Refusal::Process) => {
                crate::metrics::shed("process");
                return Err(Failure::overloaded());
            }
            Err(Refusal::Account) => {
                crate::metrics::shed("account");
                let view = self.peek(&call.caller).await?;
                return Err(Failure::too_many_in_flight(&view));
            }
        };
        if matches!(request, Request::Usage) {
            return Box::pin(self.usage(call)).await;
        }
        let (receipt, view) = self.charge(call).await?;
        let ends = tokio::time::Instant::now() + CALL_DEADLINE;
        let work = std::pin::pin!(self.perform(&request, call, &view, &mut place, ends));
        let data = settle::settled(self.parts.quota.as_ref(), receipt, ends, work).await?;
        Ok(self.answer(call, call.operation.spec().cost, data, view))
    }

    /// Step 8: the operation itself. Its charge is settled by the caller.
    async fn perform(
        &self,
        request: &Request,
        call: &Call,
        view: &View,
        place: &mut Place,
        ends: tokio::time::Instant,
    ) -> Result<Data, Failure> {
        let (lookups, caller) = (&self.parts.lookups, &call.caller);
        match request {
            Request::Lookup(request) => lookups.lookup(request, caller, view, place, ends).await,
            // In a box: the largest of them would be the size of every call.
            others => Box::pin(self.perform_plain(others, caller, view)).await,
        }
    }

    async fn perform_plain(
        &self,
        request: &Request,
        caller: &Caller,
        view: &View,
    ) -> Result<Data, Failure> {
        let (lookups, clock) = (&self.parts.lookups, self.parts.clock.as_ref());
        let pieces = match request {
            Request::Comps(request) => lookups.comps(request, caller, view).await,
            Request::Rentals(request) => lookups.rentals(request, caller, view).await,
            Request::Search(request, area) => {
                crate::search::answer(&self.parts.listings, clock, request, area).await
            }
            Request::Updates(request, area) => {
                crate::updates::answer(&self.parts.listings, clock.now(), request, area).await
            }
            Request::Rates(request) => crate::rates::answer(&self.parts.rates, request).await,
            Request::Lookup(_) | Request::Usage => {
                Err(Failure::internal("this operation has a way of its own"))
            }
        };
        pieces.map(Data::from)
    }

    fn read(&self, call: &Call) -> Result<Request, Failure> {
        let spec = call.operation.spec();
        match call.operation {
            Operation::LookupProperty => {
                let object = body::parse(&call.body, spec)?;
                Ok(Request::Lookup(crate::fields::lookup(&object)?))
            }
            Operation::GetComps => {
                let object = body::parse(&call.body, spec)?;
                Ok(Request::Comps(crate::comps::fields(&object)?))
            }
            Operation::GetRentalEstimates => {
                let object = body::parse(&call.body, spec)?;
                Ok(Request::Rentals(crate::rentals::fields(&object)?))
            }
            Operation::SearchListings => {
                let object = body::parse(&call.body, spec)?;
                let request = crate::search::fields(&object)?;
                let area = brownstone_listings::area::resolve(&request.area)?;
                Ok(Request::Search(request.into(), area))
            }
            Operation::GetListingUpdates => {
                let object = body::parse(&call.body, spec)?;
                let request = crate::updates::fields(&object, self.parts.clock.now())?;
                let area = brownstone_listings::area::resolve(&request.area)?;
                Ok(Request::Updates(request.into(), area))
            }
            Operation::GetMortgageRates => {
                let object = body::parse(&call.body, spec)?;
                Ok(Request::Rates(crate::rates::fields(&object)?))
            }
            Operation::GetUsage => Ok(Request::Usage),
        }
    }

    async fn charge(&self, call: &Call) -> Result<(Receipt, View), Failure> {
        let spec = call.operation.spec();
        let caller = &call.caller;
        let begun = tokio::time::Instant::now();
        let decision = self
            .parts
            .quota
            .charge(caller.account.as_str(), spec.cost, caller.limits)
            .await;
        self.calls.quota_seconds.record(begun.elapsed());
        match &decision {
            Ok(Decision::Admitted { .. }) => self.calls.admitted.increment(1),
            Ok(Decision::Short { .. }) => self.calls.short.increment(1),
            Ok(Decision::TooLarge { .. }) => self.calls.permanent.increment(1),
            Err(_) => self.calls.unavailable.increment(1),
        }
        let decision = decision.map_err(|error| Failure::quota_unavailable(&error))?;
        if let Some(refusal) = Failure::of_decision(spec, &decision) {
            return Err(refusal);
        }
        match decision {
            Decision::Admitted { receipt, view } => Ok((receipt, view)),
            Decision::Short { .. } | Decision::TooLarge { .. } => {
                Err(Failure::internal("a refusal that is none"))
            }
        }
    }

    async fn peek(&self, caller: &Caller) -> Result<View, Failure> {
        self.parts
            .quota
            .peek(caller.account.as_str(), caller.limits)
            .await
            .map_err(|error| Failure::quota_unavailable(&error))
    }

    async fn usage(&self, call: &Call) -> Result<Answer, Failure> {
        let view = self.peek(&call.caller).await?;
        let now = self.parts.clock.now();
        let counts = self
            .parts
            .usage
            .usage(&call.caller.account, usage::first_day(&view))
            .await
            .map_err(Failure::internal)?;
        let usage = usage::usage(&call.caller, &view, &counts, now);
        let data = serde_json::to_vec(&usage).map_err(Failure::internal)?;
        Ok(self.answer(call, Units::ZERO, vec![data.into()].into(), view))
    }

    fn answer(&self, call: &Call, charged: Units, data: Data, view: View) -> Answer {
        Answer {
            data: data.pieces,
            packed: data.packed,
            meta: Meta {
                request_id: call.request_id.clone(),
                operation: call.operation,
                units_charged: u64::from(charged.get()),
                minute_remaining: view.minute_remaining(),
                daily_remaining: view.daily_remaining(),
            },
            view,
        }
    }

    fn count(
        &self,
        caller: &Caller,
        surface: Surface,
        operation: Operation,
        counts: UsageCounts,
        day: Date,
    ) {
        self.parts.usage.record(
            UsageKey {
                account: caller.account.clone(),
                day,
                key: caller.key.id.clone(),
                surface,
                operation,
            },
            counts,
        );
    }

    #[expect(clippy::too_many_arguments, reason = "a line of a log, in one place")]
    fn note(
        &self,
        account: AccountId,
        key: KeyId,
        surface: Surface,
        operation: Operation,
        request_id: &RequestId,
        outcome: &'static str,
        units: u64,
        at: OffsetDateTime,
    ) {
        if let Some(requests) = &self.requests {
            requests.note(RequestLine {
                id: request_id.clone(),
                account,
                at,
                key,
                surface,
                operation,
                outcome: outcome.into(),
                units,
            });
        }
    }
}
