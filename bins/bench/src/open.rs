//! An open load: requests begin when they are due, whether or not earlier ones were answered, and are timed from that moment. A
//! server that falls behind shows so in its latencies, where a closed load would only ask less.

use std::{
    cell::RefCell,
    collections::VecDeque,
    net::SocketAddr,
    rc::Rc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::mpsc,
    task::LocalSet,
};

/// Beyond it, and ten times the load's own time, the server has fallen behind for good.
const PATIENCE: Duration = Duration::from_secs(30);

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

/// What is due, and who is free to send it.
#[derive(Debug, Default)]
struct Desk {
    waiting: VecDeque<(usize, Instant)>,
    free: Vec<mpsc::UnboundedSender<(usize, Instant)>>,
    came: Vec<Came>,
}

impl Open<'_> {
    /// Runs it on this thread; the answers, as they came.
    ///
    /// # Errors
    /// When a connection breaks, or the server falls behind for good.
    pub(crate) fn run(&self) -> anyhow::Result<Vec<Came>> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let desk = Rc::new(RefCell::new(Desk::default()));
        LocalSet::new().block_on(&runtime, async {
            let mut clients = Vec::new();
            for _ in 0..self.connections {
                clients.push(self.client(Rc::clone(&desk)));
            }
            let clients = futures::future::try_join_all(clients);
            tokio::select! {
                ended = clients => ended.map(|_| ()),
                ended = self.pace(&desk) => ended,
            }
        })?;
        let came = std::mem::take(&mut desk.borrow_mut().came);
        Ok(came)
    }

    /// Hands out what is due; ends when all was answered.
    async fn pace(&self, desk: &Rc<RefCell<Desk>>) -> anyhow::Result<()> {
        let begun = Instant::now();
        let every = Duration::from_secs_f64(1.0 / self.rate);
        let count = (self.rate * self.time.as_secs_f64()) as usize;
        let mut number = 0;
        let mut due = begun;
        while desk.borrow().came.len() < count {
            ensure!(
                begun.elapsed() < self.time * 10 + PATIENCE,
                "the server does not keep up: {} of {count} answered, {} wait, {} connections are free",
                desk.borrow().came.len(),
                desk.borrow().waiting.len(),
                desk.borrow().free.len()
            );
            while number < count && due <= Instant::now() {
                let mut desk = desk.borrow_mut();
                match desk.free.pop() {
                    // It cannot be gone: its end is this load's.
                    Some(client) => client.send((number, due)).ok().context("a client ended")?,
                    None => desk.waiting.push_back((number, due)),
                }
                number += 1;
                due += every;
            }
            // Not a timer: those of a runtime are a millisecond wide.
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    /// A connection, opened for its first request: a server closes one on which nothing comes.
    async fn client(&self, desk: Rc<RefCell<Desk>>) -> anyhow::Result<()> {
        let mut opened = None;
        let (sender, mut asked) = mpsc::unbounded_channel();
        let mut buffer = vec![0; 256 * 1024];
        loop {
            let next = desk.borrow_mut().waiting.pop_front();
            let (number, due) = match next {
                Some(next) => next,
                None => {
                    desk.borrow_mut().free.push(sender.clone());
                    asked.recv().await.context("the load is over")?
                }
            };
            let request = self.requests.get(number % self.requests.len());
            let stream = match &mut opened {
                Some(stream) => stream,
                None => {
                    let stream = TcpStream::connect(self.to).await?;
                    stream.set_nodelay(true)?;
                    opened.insert(stream)
                }
            };
            stream.write_all(request.context("a request")?).await?;
            let status = answer(stream, &mut buffer).await?;
            desk.borrow_mut().came.push(Came {
                number,
                status,
                took: due.elapsed().as_secs_f64() * 1e6,
            });
        }
    }
}

/// Reads one answer to its last byte; its status.
async fn answer(stream: &mut TcpStream, buffer: &mut [u8]) -> anyhow::Result<u16> {
    let mut filled = 0;
    let mut known = None;
    loop {
        let rest = buffer.get_mut(filled..).context("a larger answer")?;
        let read = stream.read(rest).await?;
        ensure!(read > 0, "the connection ended");
        filled += read;
        if known.is_none() {
            known = head(buffer.get(..filled).unwrap_or_default())?;
        }
        if let Some((status, whole)) = known
            && filled >= whole
        {
            return Ok(status);
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
