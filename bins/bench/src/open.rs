//! An open load: requests begin when they are due, whether or not earlier ones were answered, and are timed from that moment. A
//! server that falls behind shows so in its latencies, where a closed load would only ask less.
//!
//! The load shares the machine with whom it measures, so it is made to cost little: one thread that sleeps when nothing is due and
//! nothing came, and bodies that the system discards where it would copy them.

use std::{
    collections::VecDeque,
    io::Write as _,
    net::{SocketAddr, TcpStream},
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use rustix::{
    buffer::spare_capacity,
    event::{PollFd, PollFlags, Timespec, epoll, poll},
    io::Errno,
    net::{RecvFlags, recv},
};

/// Beyond it, and ten times the load's own time, the server has fallen behind for good.
const PATIENCE: Duration = Duration::from_secs(30);

/// What is read of an answer until its head is known.
const HEAD: usize = 4 * 1024;

/// The most of a body that is discarded at once.
const BODY: usize = 1024 * 1024;

/// A load.
#[derive(Debug)]
pub(crate) struct Open<'a> {
    pub(crate) to: SocketAddr,
    /// Whole requests, sent one after the other and then again.
    pub(crate) requests: &'a [Vec<u8>],
    /// Requests a second.
    pub(crate) rate: f64,
    pub(crate) time: Duration,
    pub(crate) connections: usize,
}

/// An answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Came {
    /// Which request, counted from the first that was sent.
    pub(crate) number: usize,
    pub(crate) status: u16,
    /// Microseconds from when the request was due to its answer's last byte.
    pub(crate) took: f64,
}

/// The latency that `share` of the answers did not pass, in microseconds.
pub(crate) fn percentile(mut took: Vec<f64>, share: f64) -> f64 {
    took.sort_by(f64::total_cmp);
    let last = took.len().saturating_sub(1);
    (took.get((last as f64 * share) as usize).copied()).unwrap_or(f64::NAN)
}

/// A request that is due, or was sent.
#[derive(Debug, Clone, Copy)]
struct Asked {
    number: usize,
    due: Instant,
}

impl Open<'_> {
    /// Runs it on this thread; the answers, as they came.
    ///
    /// # Errors
    /// When a connection breaks, or the server falls behind for good.
    pub(crate) fn run(&self) -> anyhow::Result<Vec<Came>> {
        let ready = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let mut connections: Vec<Connection> = Vec::new();
        connections.resize_with(self.connections, Connection::default);
        // The one that was free for longest is the next: all are used, and so are all threads that they belong to.
        let mut free: VecDeque<usize> = (0..self.connections).collect();
        let mut waiting = VecDeque::new();
        let mut events = Vec::with_capacity(self.connections.max(1));
        let mut buffer = vec![0; BODY];

        let begun = Instant::now();
        let every = Duration::from_secs_f64(1.0 / self.rate);
        let count = (self.rate * self.time.as_secs_f64()) as usize;
        let mut came = Vec::with_capacity(count);
        let mut next = Asked {
            number: 0,
            due: begun,
        };
        while came.len() < count {
            let now = Instant::now();
            ensure!(
                now - begun < self.time * 10 + PATIENCE,
                "the server does not keep up: {} of {count} answered, {} wait, {} connections are free",
                came.len(),
                waiting.len(),
                free.len()
            );
            while next.number < count && next.due <= now {
                waiting.push_back(next);
                next.number += 1;
                next.due += every;
            }
            while !waiting.is_empty()
                && let Some(place) = free.pop_front()
            {
                let connection = connections.get_mut(place).context("a connection")?;
                let asked = waiting.pop_front().context("a request")?;
                self.send(asked, connection, &ready, place)?;
            }
            let sleep = match next.number < count {
                true => next.due.saturating_duration_since(Instant::now()),
                false => PATIENCE,
            };
            sleep_until_ready(&ready, sleep)?;
            epoll::wait(
                &ready,
                spare_capacity(&mut events),
                Some(&Timespec::default()),
            )?;
            for event in events.drain(..) {
                let place = event.data.u64() as usize;
                let connection = connections.get_mut(place).context("a connection")?;
                if let Some((asked, status)) = connection.read(&mut buffer)? {
                    came.push(Came {
                        number: asked.number,
                        status,
                        took: asked.due.elapsed().as_secs_f64() * 1e6,
                    });
                    free.push_back(place);
                }
            }
        }
        Ok(came)
    }

    /// Sends a request; the connection is opened for its first one, since a server closes one on which nothing comes.
    fn send(
        &self,
        asked: Asked,
        connection: &mut Connection,
        ready: &OwnedFd,
        place: usize,
    ) -> anyhow::Result<()> {
        let request = self.requests.get(asked.number % self.requests.len());
        let stream = match &mut connection.stream {
            Some(stream) => stream,
            None => {
                let stream = TcpStream::connect(self.to)?;
                stream.set_nodelay(true)?;
                stream.set_nonblocking(true)?;
                let data = epoll::EventData::new_u64(place as u64);
                epoll::add(ready, &stream, data, epoll::EventFlags::IN)?;
                connection.stream.insert(stream)
            }
        };
        // A request of some hundred bytes, the only one on its way: the socket has room for it.
        stream.write_all(request.context("a request")?)?;
        connection.asked = Some(asked);
        Ok(())
    }
}

/// Waits, for at most `time`, until an answer comes; to the microsecond, where the wait of `epoll` is to the millisecond.
fn sleep_until_ready(ready: &OwnedFd, time: Duration) -> anyhow::Result<()> {
    let time = Timespec::try_from(time).context("a time to wait")?;
    match poll(&mut [PollFd::new(ready, PollFlags::IN)], Some(&time)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// A connection and what it waits for.
#[derive(Debug, Default)]
struct Connection {
    stream: Option<TcpStream>,
    asked: Option<Asked>,
    /// What came of an answer while its head was not all there.
    head: Vec<u8>,
    /// The status, and how much of the body is still to come.
    rest: Option<(u16, usize)>,
}

impl Connection {
    /// Reads what came; the request and its status once the answer's last byte is there.
    fn read(&mut self, buffer: &mut [u8]) -> anyhow::Result<Option<(Asked, u16)>> {
        let stream = self.stream.as_ref().context("a connection")?;
        loop {
            let (most, flags) = match self.rest {
                Some((_, rest)) => (rest.min(BODY), RecvFlags::TRUNC),
                None => (HEAD, RecvFlags::empty()),
            };
            let into = buffer.get_mut(..most).context("room to read")?;
            let read = match recv(stream, into, flags) {
                Ok((_, read)) => read,
                Err(Errno::AGAIN) => return Ok(None),
                Err(error) => return Err(error.into()),
            };
            ensure!(read > 0, "the connection ended");
            match &mut self.rest {
                Some((_, rest)) => *rest -= read,
                None => {
                    self.head
                        .extend_from_slice(buffer.get(..read).unwrap_or_default());
                    if let Some((status, whole)) = head(&self.head)? {
                        let rest = whole.checked_sub(self.head.len());
                        self.rest = Some((status, rest.context("more than was announced")?));
                    }
                }
            }
            if let Some((status, 0)) = self.rest {
                self.rest = None;
                self.head.clear();
                let asked = self
                    .asked
                    .take()
                    .context("an answer that nobody asked for")?;
                return Ok(Some((asked, status)));
            }
        }
    }
}

/// The status, and the bytes of the whole answer, once its head is there.
fn head(bytes: &[u8]) -> anyhow::Result<Option<(u16, usize)>> {
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
        return Ok(None);
    };
    let head = String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).to_ascii_lowercase();
    let status = head
        .strip_prefix("http/1.1 ")
        .and_then(|rest| rest.get(..3));
    let status = status
        .and_then(|text| text.parse().ok())
        .context("a status")?;
    let body = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"))
        .context("an answer without a length")?;
    Ok(Some((status, end + 4 + body.trim().parse::<usize>()?)))
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read as _, Write as _},
        net::TcpListener,
    };

    use super::*;

    #[test]
    fn every_request_is_sent_and_timed_from_when_it_was_due() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = listener.local_addr().unwrap();
        // One connection, each answer late: what is due queues, and its wait counts.
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut answered = 0;
            let mut buffer = [0; 64];
            while stream.read(&mut buffer).is_ok_and(|read| read > 0) {
                std::thread::sleep(Duration::from_millis(2));
                answered += 1;
                if stream
                    .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
                    .is_err()
                {
                    break;
                }
            }
            answered
        });
        let load = Open {
            to,
            requests: &[b"GET / HTTP/1.1\r\n\r\n".to_vec()],
            rate: 1_000.0,
            time: Duration::from_millis(50),
            connections: 1,
        };
        let came = load.run().unwrap();
        assert_eq!(came.len(), 50);
        assert!(came.iter().all(|one| one.status == 200));
        let took: Vec<f64> = came.iter().map(|one| one.took).collect();
        assert!(percentile(took.clone(), 0.0) >= 2_000.0);
        assert!(
            percentile(took, 1.0) >= 50_000.0,
            "the last one waited for all before it"
        );
        assert_eq!(server.join().unwrap(), 50);
    }

    #[test]
    fn an_answer_has_a_length_or_is_refused() {
        assert_eq!(head(b"HTTP/1.1 200 OK\r\n").unwrap(), None);
        let whole = b"HTTP/1.1 503 No\r\ncontent-length: 7\r\n\r\n";
        assert_eq!(head(whole).unwrap(), Some((503, whole.len() + 7)));
        assert!(head(b"HTTP/1.1 no OK\r\nContent-Length: 0\r\n\r\n").is_err());
        assert!(head(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
    }
}
