//! The connections of a listener: so many and no more, and an end to those on which nothing moves.

use std::{
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    os::fd::AsFd as _,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    time::Duration,
};

use actix_http::Request;
use actix_web::dev::Extensions;
use tokio::time::Instant;

use crate::turns::{InTurn, Turn};

/// Connections that may wait to be accepted; the system may allow fewer. One more is not answered, and its client tries again a
/// second later.
const WAITING: i32 = 4096;

/// Opens a listener with room for a burst: the standard library's has room for 128.
///
/// # Errors
/// When the address cannot be had.
pub fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let listener = TcpListener::bind(address)?;
    rustix::net::listen(&listener, WAITING)?;
    Ok(listener)
}

/// What a client may have of a listener.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Connections at once; who comes then waits to be accepted.
    pub connections: usize,
    /// The first head of a connection, from the first byte to the last.
    pub head: Duration,
    /// A connection with nothing on it is kept this long.
    pub keep_alive: Duration,
    /// From the head of the last answer to the whole head of the next request; time to read the answer, too.
    pub quiet: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 4096,
            head: Duration::from_secs(5),
            keep_alive: Duration::from_secs(75),
            quiet: Duration::from_secs(80),
        }
    }
}

impl Limits {
    /// The share of one of `workers` in the connections.
    pub(crate) fn each_worker(&self, workers: usize) -> usize {
        self.connections.div_ceil(workers.max(1)).max(1)
    }
}

/// The open connections of a listener. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Connections(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    quiet: Duration,
    begun: Instant,
    open: Mutex<Vec<Weak<Connection>>>,
}

#[derive(Debug)]
struct Connection {
    /// Another handle of the socket, to close it by. None where no descriptor was left: such a one has the library's own bounds, and
    /// those that follow are not accepted.
    socket: Option<TcpStream>,
    turn: Arc<Turn>,
    /// Requests between their head and their answer's.
    running: AtomicU32,
    /// When the last answer began, or the connection; milliseconds since the listener's begin.
    since: AtomicU64,
    listener: Weak<Inner>,
}

/// A request that runs on its connection; dropped when its answer begins.
#[derive(Debug)]
pub(crate) struct Running(Arc<Connection>);

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(listener) = self.0.listener.upgrade() {
            self.0.since.store(listener.now(), Ordering::Relaxed);
        }
        self.0.running.fetch_sub(1, Ordering::Release);
        self.0.turn.pass();
    }
}

impl Inner {
    fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn open(&self) -> std::sync::MutexGuard<'_, Vec<Weak<Connection>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes what has been quiet for too long, and forgets what is gone.
    fn sweep(&self) -> usize {
        let (now, quiet) = (self.now(), self.quiet.as_millis());
        let mut closed = 0;
        self.open().retain(|connection| {
            let Some(connection) = connection.upgrade() else {
                return false;
            };
            let idle = connection.running.load(Ordering::Acquire) == 0;
            let since = connection.since.load(Ordering::Relaxed);
            if !idle || u128::from(now.saturating_sub(since)) <= quiet {
                return true;
            }
            // The library sees its end and lets go of it. A socket that is closed already is what is wanted.
            if let Some(socket) = &connection.socket {
                let _closed_already = socket.shutdown(Shutdown::Both);
            }
            closed += 1;
            false
        });
        closed
    }
}

impl Connections {
    /// None yet. Must be called within a runtime: a task there closes connections that are quiet for too long, until the last handle of
    /// this listener is gone.
    pub(crate) fn watched(limits: &Limits) -> Self {
        let inner = Arc::new(Inner {
            quiet: limits.quiet,
            begun: Instant::now(),
            open: Mutex::default(),
        });
        let watched = Arc::downgrade(&inner);
        let mut next = tokio::time::interval((limits.quiet / 8).max(Duration::from_millis(1)));
        tokio::spawn(async move {
            loop {
                next.tick().await;
                let Some(inner) = watched.upgrade() else {
                    return;
                };
                let closed = inner.sweep();
                if closed > 0 {
                    tracing::debug!(closed, "quiet connections were closed");
                }
            }
        });
        Self(inner)
    }

    /// Notes a new connection, among what its requests carry as well.
    pub(crate) fn note(&self, stream: &InTurn, data: &mut Extensions) {
        let socket = stream.socket().as_fd().try_clone_to_owned();
        let connection = Arc::new(Connection {
            socket: socket.ok().map(TcpStream::from),
            turn: stream.turn(),
            running: AtomicU32::new(0),
            since: AtomicU64::new(self.0.now()),
            listener: Arc::downgrade(&self.0),
        });
        self.0.open().push(Arc::downgrade(&connection));
        data.insert(connection);
    }
}

/// Notes that a request runs, until what is returned is dropped: when its answer begins. Then it is the next one's turn.
pub(crate) fn running(request: &Request) -> Option<Running> {
    let connection = request.conn_data::<Arc<Connection>>()?;
    connection.running.fetch_add(1, Ordering::AcqRel);
    Some(Running(Arc::clone(connection)))
}

#[cfg(test)]
mod tests;
