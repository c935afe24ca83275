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

/// What came of it: microseconds from when each request was due to its answer's last byte, in order of size.
#[derive(Debug)]
pub(crate) struct Latencies(Vec<f64>);

impl Latencies {
    /// The latency that `share` of the requests did not pass.
    pub(crate) fn at(&self, share: f64) -> f64 {
        let last = self.0.len().saturating_sub(1);
        self.0
            .get((last as f64 * share) as usize)
            .copied()
            .unwrap_or(f64::NAN)
    }
}

/// What is due, and who is free to send it.
#[derive(Debug, Default)]
struct Desk {
    waiting: VecDeque<(usize, Instant)>,
    free: Vec<mpsc::UnboundedSender<(usize, Instant)>>,
    took: Vec<f64>,
}

impl Open<'_> {
    /// Runs it on this thread.
    ///
    /// # Errors
    /// When a connection breaks or an answer is not 200.
    pub(crate) fn run(&self) -> anyhow::Result<Latencies> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let desk = Rc::new(RefCell::new(Desk::default()));
        LocalSet::new().block_on(&runtime, async {
            let mut clients = Vec::new();
            for _ in 0..self.connections {
                let stream = TcpStream::connect(self.to).await?;
                stream.set_nodelay(true)?;
                clients.push(self.client(stream, Rc::clone(&desk)));
            }
            let clients = futures::future::try_join_all(clients);
            tokio::select! {
                ended = clients => ended.map(|_| ()),
                ended = self.pace(&desk) => ended,
            }
        })?;
        let mut took = std::mem::take(&mut desk.borrow_mut().took);
        took.sort_by(f64::total_cmp);
        Ok(Latencies(took))
    }

    /// Hands out what is due; ends when all was answered.
    async fn pace(&self, desk: &Rc<RefCell<Desk>>) -> anyhow::Result<()> {
        let begun = Instant::now();
        let every = Duration::from_secs_f64(1.0 / self.rate);
        let count = (self.rate * self.time.as_secs_f64()) as usize;
        let mut number = 0;
        let mut due = begun;
        while desk.borrow().took.len() < count {
            ensure!(
                begun.elapsed() < self.time * 10,
                "the server does not keep up"
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

    async fn client(&self, mut stream: TcpStream, desk: Rc<RefCell<Desk>>) -> anyhow::Result<()> {
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
            stream.write_all(request.context("a request")?).await?;
            answer(&mut stream, &mut buffer).await?;
            desk.borrow_mut()
                .took
                .push(due.elapsed().as_secs_f64() * 1e6);
        }
    }
}

/// Reads one answer to its last byte.
async fn answer(stream: &mut TcpStream, buffer: &mut [u8]) -> anyhow::Result<()> {
    let mut filled = 0;
    let mut whole = None;
    while whole.is_none_or(|whole| filled < whole) {
        let rest = buffer.get_mut(filled..).context("a larger answer")?;
        let read = stream.read(rest).await?;
        ensure!(read > 0, "the connection ended");
        filled += read;
        if whole.is_none() {
            whole = length(buffer.get(..filled).unwrap_or_default())?;
        }
    }
    Ok(())
}

/// Bytes of the whole answer, once its head is there.
fn length(bytes: &[u8]) -> anyhow::Result<Option<usize>> {
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
        return Ok(None);
    };
    let head = String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).to_ascii_lowercase();
    ensure!(head.starts_with("http/1.1 200"), "{head}");
    let body = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"))
        .context("an answer without a length")?;
    Ok(Some(end + 4 + body.trim().parse::<usize>()?))
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
        let latencies = load.run().unwrap();
        assert_eq!(latencies.0.len(), 50);
        assert!(latencies.at(0.0) >= 2_000.0);
        assert!(
            latencies.at(1.0) >= 50_000.0,
            "the last one waited for all before it"
        );
        assert_eq!(server.join().unwrap(), 50);
    }

    #[test]
    fn an_answer_has_a_length_or_is_refused() {
        assert_eq!(length(b"HTTP/1.1 200 OK\r\n").unwrap(), None);
        let whole = b"HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\n";
        assert_eq!(length(whole).unwrap(), Some(whole.len() + 7));
        assert!(length(b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n").is_err());
        assert!(length(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
    }
}
