//! One reservation at a time for an account: the others wait for it here, without a runtime.

use std::{
    future::poll_fn,
    sync::{Mutex, PoisonError},
    task::{Poll, Waker},
};

/// How a reservation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// It is over: look again.
    Look,
    /// The ledger did not make it. Whoever waited would only ask it once more, one after the other.
    Failed,
}

#[derive(Debug, Default)]
struct State {
    end: Option<End>,
    waiting: Vec<Waker>,
}

/// Closed while a reservation is under way.
#[derive(Debug, Default)]
pub(crate) struct Gate(Mutex<State>);

impl Gate {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the gate for good; the first end counts.
    pub(crate) fn open(&self, end: End) {
        let waiting = {
            let mut state = self.state();
            state.end.get_or_insert(end);
            std::mem::take(&mut state.waiting)
        };
        for waker in waiting {
            waker.wake();
        }
    }

    /// Waits until the gate opens.
    pub(crate) async fn opened(&self) -> End {
        poll_fn(|context| {
            let mut state = self.state();
            match state.end {
                Some(end) => Poll::Ready(end),
                None => {
                    if !state.waiting.iter().any(|w| w.will_wake(context.waker())) {
                        state.waiting.push(context.waker().clone());
                    }
                    Poll::Pending
                }
            }
        })
        .await
    }
}
