//! What people look at on the web host, beside the operations: nothing here is charged or counted.

use brownstone_accounts::Caller;
use brownstone_domain::usage::Usage;
use brownstone_sources::SourceInfo;
use tracing::Instrument as _;

use super::{Service, usage};
use crate::{Failure, lookup::Kept};

impl Service {
    /// The kept report of what `address` names, or where it would stand. Costs nothing: no source is asked.
    ///
    /// # Errors
    /// Those of a lookup's address; 500 and 503 when storage is silent.
    pub async fn kept(&self, caller: &Caller, address: &str) -> Result<Kept, Failure> {
        let (service, caller, address) = (self.clone(), caller.clone(), address.to_owned());
        let span = tracing::Span::current();
        let work = async move {
            let view = service.0.peek(&caller).await?;
            let lookups = &service.0.parts.lookups;
            lookups.kept(&address, &caller, &view).await
        };
        let task = self.0.parts.runtime.spawn(work.instrument(span));
        task.await.map_err(Failure::internal)?
    }

    /// The account's budgets and counters, as `getUsage` tells them.
    ///
    /// # Errors
    /// 503 `quota_unavailable` when the budget's store is silent; 500 when the counters' is.
    pub async fn budget(&self, caller: &Caller) -> Result<Usage, Failure> {
        let parts = &self.0.parts;
        let view = self.0.peek(caller).await?;
        let now = parts.clock.now();
        let counts = parts
            .usage
            .usage(&caller.account, usage::first_day(&view))
            .await
            .map_err(Failure::internal)?;
        Ok(usage::usage(caller, &view, &counts, now))
    }

    /// Addresses that go on as `text` begins, each on one line, the likeliest first. Asks nobody outside; nothing where addresses are not
    /// resolved from an index of this machine.
    pub fn suggest(&self, text: &str) -> Vec<String> {
        self.0.parts.lookups.suggest(text)
    }

    /// What each source is, in the order of a report.
    pub fn sources(&self) -> Vec<SourceInfo> {
        self.0.parts.lookups.sources()
    }
}
