//! Whether and when a failed call is sent again. Pure.

use std::time::Duration;

use brownstone_domain::ErrorCode;

/// How often a failed call is sent again, and after what waits. All operations only read, and a failure costs nothing: a retry is safe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// The most times a call is sent, the first time included.
    pub attempts: u32,
    /// The first wait where the service states none; each further one is twice as long.
    pub first_wait: Duration,
    /// The longest single wait. Where the service asks for more, the call is not retried; the error says how long to wait.
    pub longest_wait: Duration,
}

impl Default for Retry {
    /// Four attempts, waits from half a second, none longer than a minute.
    fn default() -> Self {
        Self {
            attempts: 4,
            first_wait: Duration::from_millis(500),
            longest_wait: Duration::from_secs(60),
        }
    }
}

impl Retry {
    /// No retries: every call is sent once.
    pub const NEVER: Self = Self {
        attempts: 1,
        first_wait: Duration::ZERO,
        longest_wait: Duration::ZERO,
    };

    /// The wait before the next attempt, after `attempt` of them (from 1) have failed with `code`; `None` to give up.
    ///
    /// ```
    /// use std::time::Duration;
    /// use brownstone_client::Retry;
    /// use brownstone_domain::ErrorCode;
    /// let retry = Retry::default();
    /// let told = Some(Duration::from_secs(3));
    /// assert_eq!(retry.wait(1, ErrorCode::RateLimited, told), told);
    /// assert_eq!(retry.wait(1, ErrorCode::RateLimited, None), None, "the cost exceeds the limit: no wait helps");
    /// assert_eq!(retry.wait(2, ErrorCode::UpstreamError, None), Some(Duration::from_secs(1)));
    /// assert_eq!(retry.wait(1, ErrorCode::NotFound, None), None);
    /// assert_eq!(retry.wait(4, ErrorCode::UpstreamError, None), None);
    /// ```
    pub fn wait(
        &self,
        attempt: u32,
        code: ErrorCode,
        retry_after: Option<Duration>,
    ) -> Option<Duration> {
        let never = code == ErrorCode::RateLimited && retry_after.is_none();
        if attempt >= self.attempts || !code.spec().retry || never {
            return None;
        }
        let wait = self.backoff(attempt).max(retry_after.unwrap_or_default());
        // A refusal of the minute's budget names the wait exactly: backing off from the first is for repeats.
        let wait = match (attempt, retry_after) {
            (1, Some(told)) => told,
            _ => wait,
        };
        (wait <= self.longest_wait).then_some(wait)
    }

    /// The wait before the next attempt after a connection that could not be made.
    pub(crate) fn wait_for_connection(&self, attempt: u32) -> Option<Duration> {
        (attempt < self.attempts).then(|| self.backoff(attempt).min(self.longest_wait))
    }

    fn backoff(&self, attempt: u32) -> Duration {
        let doublings = attempt.saturating_sub(1).min(16);
        self.first_wait.saturating_mul(1 << doublings)
    }
}

#[cfg(test)]
mod tests {
    use brownstone_domain::ERROR_CODES;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_wait_is_shorter_than_told_or_longer_than_allowed(attempt in 1_u32..8, seconds in 0_u64..200, row in 0_usize..10) {
            let retry = Retry { attempts: 8, ..Retry::default() };
            let told = Duration::from_secs(seconds);
            let spec = &ERROR_CODES[row];
            match retry.wait(attempt, spec.code, Some(told)) {
                Some(wait) => prop_assert!(spec.retry && wait >= told && wait <= retry.longest_wait),
                None => prop_assert!(!spec.retry || attempt == 8 || told.max(retry.backoff(attempt)) > retry.longest_wait),
            }
        }
    }
}
