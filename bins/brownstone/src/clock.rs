//! The clock of the process: the machine's own, or, in test builds, one that a file shows.

use std::sync::Arc;

use brownstone_domain::Clock;

use crate::config::Config;

/// The clock that the configuration asks for.
///
/// # Errors
/// When a test clock is asked for in `live`, or its file shows no moment.
#[cfg_attr(
    not(feature = "test-clock"),
    expect(clippy::unnecessary_wraps, reason = "a test build can fail")
)]
pub(crate) fn clock(config: &Config) -> anyhow::Result<Arc<dyn Clock>> {
    #[cfg(feature = "test-clock")]
    if let Some(path) = &config.test_clock {
        anyhow::ensure!(
            config.environment != brownstone_accounts::Environment::Live,
            "test_clock is refused in the live environment"
        );
        return Ok(Arc::new(file::FileClock::open(path.clone())?));
    }
    let _ = config;
    Ok(Arc::new(brownstone_domain::SystemClock))
}

#[cfg(feature = "test-clock")]
mod file {
    use std::{
        path::PathBuf,
        sync::{Mutex, PoisonError},
    };

    use anyhow::Context as _;
    use brownstone_domain::Clock;
    use time::{OffsetDateTime, format_description::well_known::Rfc3339};

    /// A clock that shows the moment in a file, RFC 3339. It stands still until the test replaces the file.
    #[derive(Debug)]
    pub(crate) struct FileClock {
        path: PathBuf,
        last: Mutex<OffsetDateTime>,
    }

    impl FileClock {
        pub(crate) fn open(path: PathBuf) -> anyhow::Result<Self> {
            let shown = read(&path)?;
            Ok(Self {
                path,
                last: Mutex::new(shown),
            })
        }
    }

    fn read(path: &std::path::Path) -> anyhow::Result<OffsetDateTime> {
        let text = std::fs::read_to_string(path).context("the test clock's file cannot be read")?;
        OffsetDateTime::parse(text.trim(), &Rfc3339)
            .context("the test clock's file shows no moment")
    }

    impl Clock for FileClock {
        fn now(&self) -> OffsetDateTime {
            let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
            if let Ok(shown) = read(&self.path) {
                *last = shown;
            }
            *last
        }
    }
}
