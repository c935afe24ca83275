//! The requests of a connection in turn: the next is read when the answer to the one before has begun.
//!
//! A client may send requests without waiting for answers. The library reads 128 KiB of them and makes requests of all that is in it, each of
//! several kilobytes however short it is: 30 MB for one client that reads no answer. So a connection hands over one request, head and
//! body, and no byte of the next before its turn. What is handed over, and in which order, stays the same.

use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
};

use actix_web::rt::net::TcpStream;
use futures::task::AtomicWaker;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::framing::Framing;

/// Says when the next request's turn has come.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    come: AtomicBool,
    waiting: AtomicWaker,
}

impl Turn {
    /// The answer to a request has begun.
    pub(crate) fn pass(&self) {
        self.come.store(true, Ordering::Release);
        self.waiting.wake();
    }

    fn take(&self) -> bool {
        self.come.swap(false, Ordering::AcqRel)
    }
}

/// A client's connection, read a request at a time.
#[derive(Debug)]
pub(crate) struct InTurn {
    socket: TcpStream,
    turn: Arc<Turn>,
    framing: Framing,
    /// What was read beyond the end of a request.
    ahead: Vec<u8>,
}

impl InTurn {
    pub(crate) fn new(socket: TcpStream) -> Self {
        Self {
            socket,
            turn: Arc::default(),
            framing: Framing::default(),
            ahead: Vec::new(),
        }
    }

    pub(crate) fn socket(&self) -> &TcpStream {
        &self.socket
    }

    pub(crate) fn turn(&self) -> Arc<Turn> {
        Arc::clone(&self.turn)
    }

    pub(crate) fn peer(&self) -> Option<SocketAddr> {
        self.socket.peer_addr().ok()
    }

    /// Whether the next request may be read. If not, the task is woken when it may, or when there is something to read.
    fn poll_turn(&self, context: &mut Context<'_>) -> Poll<()> {
        if self.turn.take() {
            return Poll::Ready(());
        }
        // Where nothing has come the socket wakes the task, and by then it is mostly the client's turn: no wake is spent on that.
        if self.ahead.is_empty() && self.socket.poll_read_ready(context).is_pending() {
            return Poll::Pending;
        }
        self.turn.waiting.register(context.waker());
        match self.turn.take() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}

impl AsyncRead for InTurn {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.framing.is_over() {
            ready!(this.poll_turn(context));
            this.framing.restart();
        }
        if !this.ahead.is_empty() {
            let most = this.ahead.len().min(buffer.remaining());
            let piece = this.ahead.get(..most).unwrap_or_default();
            let taken = this.framing.take(piece);
            buffer.put_slice(piece.get(..taken).unwrap_or_default());
            this.ahead.drain(..taken);
            if this.ahead.is_empty() {
                this.ahead = Vec::new();
            }
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.socket).poll_read(context, buffer))?;
        let read = buffer.filled().get(before..).unwrap_or_default();
        let taken = this.framing.take(read);
        if taken < read.len() {
            this.ahead
                .extend_from_slice(read.get(taken..).unwrap_or_default());
            buffer.set_filled(before + taken);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for InTurn {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().socket).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    const FIRST: &[u8] = b"POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nxy";
    const SECOND: &[u8] = b"GET /2 HTTP/1.1\r\nHost: a\r\n\r\n";
    const THIRD: &[u8] = b"GET /3 HTTP/1.1\r\nHost: a\r\n\r\n";

    async fn pair() -> (TcpStream, InTurn) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await;
        let (served, _) = listener.accept().await.unwrap();
        (client.unwrap(), InTurn::new(served))
    }

    /// All that is handed over until `whole` is there.
    async fn read(stream: &mut InTurn, whole: &[u8]) {
        let mut read = Vec::new();
        let mut buffer = [0; 4096];
        while read.len() < whole.len() {
            let count = stream.read(&mut buffer).await.unwrap();
            assert!(count > 0, "it ended early");
            read.extend_from_slice(&buffer[..count]);
        }
        assert_eq!(read, whole);
    }

    #[tokio::test]
    async fn nothing_of_the_next_request_is_handed_over_before_its_turn() {
        let (mut client, mut stream) = pair().await;
        let all = [FIRST, SECOND, THIRD].concat();
        client.write_all(&all).await.unwrap();
        let turn = stream.turn();
        for request in [FIRST, SECOND, THIRD] {
            read(&mut stream, request).await;
            let mut more = [0; 1];
            let early = futures::poll!(std::pin::pin!(stream.read(&mut more)));
            assert!(early.is_pending(), "it is not its turn");
            turn.pass();
        }
        assert!(stream.ahead.is_empty(), "nothing is left");
        drop(client);
        assert_eq!(stream.read(&mut [0; 1]).await.unwrap(), 0, "the end");
    }

    #[tokio::test]
    async fn a_task_that_waits_for_its_turn_is_woken() {
        let (mut client, mut stream) = pair().await;
        client.write_all(&[FIRST, SECOND].concat()).await.unwrap();
        read(&mut stream, FIRST).await;
        let turn = stream.turn();
        let reading = tokio::spawn(async move {
            read(&mut stream, SECOND).await;
            // Now for what has not been sent.
            read(&mut stream, THIRD).await;
        });
        tokio::task::yield_now().await;
        turn.pass();
        tokio::task::yield_now().await;
        turn.pass();
        client.write_all(THIRD).await.unwrap();
        let done = tokio::time::timeout(Duration::from_secs(30), reading).await;
        done.expect("it is woken").unwrap();
    }

    #[tokio::test]
    async fn an_answer_that_begins_before_the_body_has_come_lets_the_next_follow() {
        let (mut client, mut stream) = pair().await;
        let (head, body) = FIRST.split_at(FIRST.len() - 2);
        client.write_all(head).await.unwrap();
        read(&mut stream, head).await;
        stream.turn().pass();
        client.write_all(&[body, SECOND].concat()).await.unwrap();
        read(&mut stream, body).await;
        read(&mut stream, SECOND).await;
    }
}
