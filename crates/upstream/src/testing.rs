//! A server on a raw socket, for the ways of misbehaving that no HTTP library offers.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::client::Upstream;
use crate::config::UpstreamConfig;

/// An empty array, and the connection's end.
pub(crate) const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n[]";

/// A server that answers each connection's one request with `answer(number, head, socket)`.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) hits: Arc<AtomicUsize>,
}

impl Server {
    pub(crate) async fn start<F, Fut>(answer: F) -> Self
    where
        F: Fn(usize, String, TcpStream) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let hits = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&hits);
        let answer = Arc::new(answer);
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                let (counter, answer) = (Arc::clone(&counter), Arc::clone(&answer));
                tokio::spawn(async move {
                    let mut head = Vec::new();
                    while !head.ends_with(b"\r\n\r\n") {
                        match socket.read_u8().await {
                            Ok(byte) => head.push(byte),
                            Err(_) => return,
                        }
                    }
                    let number = counter.fetch_add(1, Ordering::SeqCst);
                    answer(number, String::from_utf8(head).unwrap(), socket).await;
                });
            }
        });
        Self { address, hits }
    }

    /// Sends these bytes, whatever is asked, and closes.
    pub(crate) async fn sending(bytes: Vec<u8>) -> Self {
        let bytes: Arc<[u8]> = bytes.into();
        Self::start(move |_, _, mut socket| {
            let bytes = Arc::clone(&bytes);
            async move {
                // The client may leave first.
                let _ = socket.write_all(&bytes).await;
                let _ = socket.shutdown().await;
            }
        })
        .await
    }

    pub(crate) fn hits(&self) -> usize {
        self.hits.load(Ordering::SeqCst)
    }

    /// No retries, and time enough for a machine that is busy with other tests.
    pub(crate) fn config(&self) -> UpstreamConfig {
        let mut config = UpstreamConfig::new("city", format!("http://{}", self.address));
        config.max_body_bytes = 100_000;
        config.silence_timeout = Duration::from_secs(20);
        config.total_timeout = Duration::from_secs(20);
        config.retry.retries = 0;
        config.retry.first_delay = Duration::from_millis(1);
        config
    }

    pub(crate) fn upstream(&self) -> Upstream {
        Upstream::new(self.config()).unwrap()
    }
}
