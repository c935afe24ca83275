//! How many files this process may have open, and how many connections fit into that.

use brownstone_edge::Limits;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// No more than this is asked for: each costs the kernel a little.
const ENOUGH: u64 = 65_536;

/// Set aside for the database, the budgets' store, upstreams, index files and logs.
const OWN: u64 = 512;

/// Takes what the system allows, and says what listeners may have of it: first the API's, then the web host's.
pub(crate) fn connections() -> (Limits, Limits) {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let allowed = maximum.unwrap_or(ENOUGH).min(ENOUGH);
    let wanted = Rlimit {
        current: Some(allowed),
        maximum,
    };
    let now = match current {
        Some(current) if current < allowed => match setrlimit(Resource::Nofile, wanted) {
            Ok(()) => allowed,
            Err(error) => {
                tracing::warn!(%error, "the limit of open files stays at {current}");
                current
            }
        },
        _ => current.unwrap_or(ENOUGH),
    };
    share(now)
}

/// A connection is two handles of its socket.
fn share(files: u64) -> (Limits, Limits) {
    let pairs = usize::try_from(files.saturating_sub(OWN) / 2).unwrap_or(usize::MAX);
    let of = |connections: usize| Limits {
        connections,
        ..Limits::default()
    };
    let most = Limits::default().connections;
    let api = (pairs / 4 * 3).clamp(32, most);
    let web = (pairs / 4).clamp(16, most / 4);
    (of(api), of(web))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_fit_into_the_files() {
        for files in [0, 256, 1024, 4096, 65_536] {
            let (api, web) = share(files);
            assert!(api.connections >= 32 && web.connections >= 16);
            let used = 2 * (api.connections + web.connections) as u64;
            assert!(used <= files || used <= OWN, "{files}: {used}");
        }
        let (api, web) = share(65_536);
        assert_eq!((api.connections, web.connections), (4096, 1024));
    }
}
