//! The pipeline: what every call goes through, whatever its transport.

use std::{sync::Arc, time::Duration};

use brownstone_accounts::{
    Authenticator, Caller, RequestLine, RequestLog, UsageCounts, UsageKey, UsageRecorder,
};
use brownstone_domain::{Clock, Meta, Operation, RequestId, Surface, Units};
use brownstone_quota::{Decision, QuotaStore, Receipt, View};
use bytes::Bytes;
use tracing::Instrument as _;

use crate::{
    Failure,
    admission::{Admission, AdmissionLimits, Refusal},
    body,
    lookup::Lookups,
    usage,
};

mod people;

/// How long a call may take, from its charge on.
pub const CALL_DEADLINE: Duration = Duration::from_secs(20);

/// The operations that this build answers; the paths of the others do not exist yet.
pub const BUILT: [Operation; 7] = [
    Operation::LookupProperty,
    Operation::SearchListings,
    Operation::GetComps,
    Operation::GetRentalEstimates,
    Operation::GetListingUpdates,
    Operation::GetMortgageRates,
    Operation::GetUsage,
];

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
    /// What stands beside it.
    pub meta: Meta,
    /// Both budgets, for the RateLimit fields.
    pub view: View,
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
        }))
    }

    /// Steps 3 to 5: credentials, suspension, entitlement. `authorization` is the header's value.
    ///
    /// # Errors
    /// 401 `unauthorized` or 403 `forbidden`; 500 when the account store is silent and nothing is known.
    pub async fn authenticate(&self, authorization: Option<&str>) -> Result<Caller, Failure> {
        let outcome = self.0.parts.authenticator.authenticate(authorization).await;
        outcome.map_err(Failure::from)
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
        let task = runtime.spawn(async move { inner.run(call).await }.instrument(span));
        match task.await {
            Ok(outcome) => outcome,
            Err(error) => Err(Failure::internal(error)),
        }
    }

    /// Counts a call that failed before it could be run, such as one with a body of the wrong type.
    pub fn count_failure(&self, caller: &Caller, surface: Surface, operation: Operation) {
        self.0.count(
            caller,
            surface,
            operation,
            UsageCounts {
                failed: 1,
                ..UsageCounts::default()
            },
        );
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
        let outcome = self.run_counted(&call).await;
        let counts = match &outcome {
            Ok(answer) => UsageCounts {
                calls: 1,
                units: answer.meta.units_charged,
                ..UsageCounts::default()
            },
            Err(failure) => match (failure.code, failure.retry_after) {
                (brownstone_domain::ErrorCode::RateLimited, Some(_)) => UsageCounts {
                    rate_limited: 1,
                    ..UsageCounts::default()
                },
                (brownstone_domain::ErrorCode::RateLimited, None) => UsageCounts {
                    permanent: 1,
                    ..UsageCounts::default()
                },
                _ => UsageCounts {
                    failed: 1,
                    ..UsageCounts::default()
                },
            },
        };
        self.count(&call.caller, call.surface, call.operation, counts);
        if let Some(requests) = &self.requests {
            requests.note(RequestLine {
                id: call.request_id.as_str().to_owned(),
                account: call.caller.account.clone(),
                at: self.parts.clock.now(),
                key: call.caller.key.id.clone(),
                surface: call.surface,
                operation: call.operation,
                outcome: match &outcome {
                    Ok(_) => "ok".to_owned(),
                    Err(failure) => failure.code.as_str().to_owned(),
                },
                units: counts.units,
            });
        }
        outcome
    }

    async fn run_counted(&self, call: &Call) -> Result<Answer, Failure> {
        let request = self.read(call)?;
        let _place = match self.admission.enter(&call.caller.account) {
            Ok(place) => place,
            Err(Refusal::Process) => return Err(Failure::overloaded()),
            Err(Refusal::Account) => {
                let view = self.peek(&call.caller).await?;
                return Err(Failure::too_many_in_flight(&view));
            }
        };
        if matches!(request, Request::Usage) {
            return self.usage(call).await;
        }
        let (receipt, view) = self.charge(call).await?;
        let work = self.perform(&request, call, &view);
        match tokio::time::timeout(CALL_DEADLINE, work).await {
            Ok(Ok(data)) => Ok(self.answer(call, call.operation.spec().cost, data, view)),
            Ok(Err(failure)) => {
                self.refund(receipt).await;
                Err(failure)
            }
            Err(_) => {
                self.refund(receipt).await;
                Err(Failure::upstream("the call's deadline passed"))
            }
        }
    }

    /// Step 8: the operation itself. Its charge is settled by the caller.
    async fn perform(
        &self,
        request: &Request,
        call: &Call,
        view: &View,
    ) -> Result<Vec<Bytes>, Failure> {
        match request {
            Request::Lookup(request) => {
                self.parts.lookups.lookup(request, &call.caller, view).await
            }
            Request::Comps(request) => self.parts.lookups.comps(request, &call.caller, view).await,
            Request::Rentals(request) => {
                self.parts
                    .lookups
                    .rentals(request, &call.caller, view)
                    .await
            }
            Request::Search(request, area) => {
                let clock = self.parts.clock.as_ref();
                crate::search::answer(&self.parts.listings, clock, request, area).await
            }
            Request::Updates(request, area) => {
                let now = self.parts.clock.now();
                crate::updates::answer(&self.parts.listings, now, request, area).await
            }
            Request::Rates(request) => crate::rates::answer(&self.parts.rates, request).await,
            Request::Usage => Err(Failure::internal("usage is answered without a charge")),
        }
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
        let decision = self
            .parts
            .quota
            .charge(caller.account.as_str(), spec.cost, caller.limits)
            .await
            .map_err(|error| Failure::quota_unavailable(&error))?;
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

    /// A refund is sent once. One that is lost costs the caller units, one sent twice would cost the budget its meaning.
    async fn refund(&self, receipt: Receipt) {
        if let Err(error) = self.parts.quota.refund(receipt).await {
            tracing::error!(%error, "a refund was lost");
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
            .usage(&call.caller.account, usage::first_day(now))
            .await
            .map_err(Failure::internal)?;
        let usage = usage::usage(&call.caller, &view, &counts, now);
        let data = serde_json::to_vec(&usage).map_err(Failure::internal)?;
        Ok(self.answer(call, Units::ZERO, vec![data.into()], view))
    }

    fn answer(&self, call: &Call, charged: Units, data: Vec<Bytes>, view: View) -> Answer {
        Answer {
            data,
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

    fn count(&self, caller: &Caller, surface: Surface, operation: Operation, counts: UsageCounts) {
        self.parts.usage.record(
            UsageKey {
                account: caller.account.clone(),
                day: self.parts.clock.now().date(),
                key: caller.key.id.clone(),
                surface,
                operation,
            },
            counts,
        );
    }
}
