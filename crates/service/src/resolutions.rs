//! Typed text to building, remembered for ten minutes: so that refunds cannot work the upstreams for nothing, and so
//! that a text asked again costs no call.

use std::{
    borrow::Cow,
    hash::RandomState,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use brownstone_address::geocoder::{Geocoder, ResolveError, Resolved};
use brownstone_domain::Clock;
use quick_cache::{
    UnitWeighter,
    sync::{Cache, DefaultLifecycle},
};
use time::{Duration, OffsetDateTime};

/// How long an answer is remembered.
const MEMORY: Duration = Duration::minutes(10);

/// How many texts are remembered.
const CAPACITY: usize = 20_000;

type Answer = Result<Arc<Resolved>, ResolveError>;

/// The geocoder behind a bounded memory.
#[derive(Clone)]
pub struct Resolutions {
    geocoder: Arc<dyn Geocoder>,
    clock: Arc<dyn Clock>,
    /// By the standard library's keyed hash: callers choose these texts.
    known: Arc<Cache<Box<str>, Known, UnitWeighter, RandomState>>,
    /// Counts what was forgotten. An answer that was asked for before counts no more, even where it comes in after.
    age: Arc<AtomicU64>,
}

/// An answer that is remembered.
#[derive(Clone)]
struct Known {
    until: OffsetDateTime,
    age: u64,
    answer: Answer,
}

impl Resolutions {
    /// Nothing remembered yet.
    pub fn new(geocoder: Arc<dyn Geocoder>, clock: Arc<dyn Clock>) -> Self {
        Self {
            geocoder,
            clock,
            known: Arc::new(Cache::with(
                CAPACITY,
                CAPACITY as u64,
                UnitWeighter,
                RandomState::new(),
                DefaultLifecycle::default(),
            )),
            age: Arc::default(),
        }
    }

    /// What is remembered of this text.
    pub fn remembered(&self, text: &str) -> Option<Answer> {
        let known = self.known.get(&*normalised(text))?;
        let holds = known.age == self.age.load(Ordering::SeqCst) && self.clock.now() < known.until;
        holds.then_some(known.answer)
    }

    /// Whether a look-up leaves the machine.
    pub fn is_live(&self) -> bool {
        self.geocoder.is_live()
    }

    /// Addresses that go on as a text begins; nothing where there is no index.
    pub fn suggest(&self, text: &str) -> Vec<String> {
        self.geocoder.suggest(text)
    }

    /// Asks the geocoder and remembers what is definite: a building, `not_found`, `outside_coverage`. Never an outage or
    /// an ambiguity.
    ///
    /// # Errors
    /// The geocoder's.
    pub async fn resolve(&self, text: &str) -> Answer {
        // Before it is asked: an index that is swapped meanwhile makes the answer one of before.
        let age = self.age.load(Ordering::SeqCst);
        let answer = self.geocoder.resolve(text).await.map(Arc::new);
        let definite = matches!(
            answer,
            Ok(_) | Err(ResolveError::NotFound(_) | ResolveError::OutsideCoverage(_))
        );
        if definite {
            self.known.insert(
                normalised(text).into(),
                Known {
                    until: self.clock.now() + MEMORY,
                    age,
                    answer: answer.clone(),
                },
            );
        }
        answer
    }

    /// Forgets everything; for when the address index is swapped.
    pub fn forget(&self) {
        self.age.fetch_add(1, Ordering::SeqCst);
        self.known.clear();
    }
}

/// Blanks do not matter; case does, since a unit is shown as typed.
fn normalised(text: &str) -> Cow<'_, str> {
    if has_single_blanks(text.as_bytes()) {
        return text.into();
    }
    let mut words = text.split_whitespace();
    let mut out = String::with_capacity(text.len());
    if let Some(first) = words.next() {
        out.push_str(first);
    }
    for word in words {
        out.push(' ');
        out.push_str(word);
    }
    out.into()
}

/// Whether a text is as it is kept: nothing but ASCII, whose only blanks are single spaces between words. Most are.
fn has_single_blanks(text: &[u8]) -> bool {
    let mut after_blank = true;
    for &byte in text {
        match byte {
            b' ' if after_blank => return false,
            b' ' => after_blank = true,
            b'!'..=b'~' => after_blank = false,
            _ => return false,
        }
    }
    !after_blank || text.is_empty()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use async_trait::async_trait;
    use brownstone_domain::ManualClock;
    use time::macros::datetime;

    use super::*;

    #[test]
    fn blanks_do_not_matter_and_case_does() {
        for (text, kept) in [
            ("350 5 Avenue", "350 5 Avenue"),
            ("", ""),
            (" ", ""),
            (" 350  5 Avenue", "350 5 Avenue"),
            ("350 5 Avenue ", "350 5 Avenue"),
            ("350\t5\u{a0}Avenue", "350 5 Avenue"),
            ("350 5 Avenue, Nº 3", "350 5 Avenue, Nº 3"),
        ] {
            assert_eq!(normalised(text), kept, "{text:?}");
        }
        let plain = normalised("350 5 AVENUE");
        assert!(matches!(plain, Cow::Borrowed(_)), "nothing is copied");
    }

    struct Counting(AtomicUsize);

    #[async_trait]
    impl Geocoder for Counting {
        async fn resolve(&self, text: &str) -> Result<Resolved, ResolveError> {
            self.0.fetch_add(1, Ordering::SeqCst);
            Err(match text {
                "nowhere" => ResolveError::NotFound("no".into()),
                "yonkers" => ResolveError::OutsideCoverage("out".into()),
                "broadway" => ResolveError::Ambiguous {
                    message: "which".into(),
                    candidates: vec![],
                },
                _ => ResolveError::Unavailable("down".into()),
            })
        }

        fn is_live(&self) -> bool {
            true
        }
    }

    /// Answers only after the memory was told to forget, as when an index is swapped under a call.
    struct Overtaken(std::sync::Mutex<Option<Resolutions>>);

    #[async_trait]
    impl Geocoder for Overtaken {
        async fn resolve(&self, _: &str) -> Result<Resolved, ResolveError> {
            if let Some(memory) = &*self.0.lock().unwrap() {
                memory.forget();
            }
            Err(ResolveError::NotFound("of the old index".into()))
        }

        fn is_live(&self) -> bool {
            false
        }
    }

    #[tokio::test]
    async fn an_answer_of_the_old_index_is_not_remembered_after_a_swap() {
        let geocoder = Arc::new(Overtaken(std::sync::Mutex::new(None)));
        let clock = Arc::new(ManualClock::at(datetime!(2026-11-27 12:00 UTC)));
        let memory = Resolutions::new(Arc::<Overtaken>::clone(&geocoder), clock);
        memory.resolve("here").await.unwrap_err();
        assert!(memory.remembered("here").is_some());
        *geocoder.0.lock().unwrap() = Some(memory.clone());
        memory.resolve("there").await.unwrap_err();
        assert!(memory.remembered("there").is_none());
        assert!(memory.remembered("here").is_none());
    }

    #[tokio::test]
    async fn what_is_definite_is_remembered_for_ten_minutes_and_nothing_else() {
        let geocoder = Arc::new(Counting(AtomicUsize::new(0)));
        let clock = Arc::new(ManualClock::at(datetime!(2026-11-27 12:00 UTC)));
        let memory = Resolutions::new(
            Arc::<Counting>::clone(&geocoder),
            Arc::<ManualClock>::clone(&clock),
        );
        for (text, definite) in [
            ("nowhere", true),
            ("yonkers", true),
            ("broadway", false),
            ("down", false),
        ] {
            memory.resolve(text).await.unwrap_err();
            assert_eq!(memory.remembered(text).is_some(), definite, "{text}");
        }
        assert!(
            memory.remembered("  nowhere ").is_some(),
            "blanks do not matter"
        );
        clock.advance(MEMORY - Duration::MICROSECOND);
        assert!(memory.remembered("nowhere").is_some());
        clock.advance(Duration::MICROSECOND);
        assert!(memory.remembered("nowhere").is_none());
        memory.resolve("nowhere").await.unwrap_err();
        memory.forget();
        assert!(memory.remembered("nowhere").is_none());
    }
}
