//! A wire between a store and its server that a test can cut, hold or slow down.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// What the wire does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    /// Carries everything.
    Well,
    /// Nobody is there: connections are closed, new ones at once.
    Down,
    /// Questions arrive, answers do not.
    Mute,
    /// So many answers of each connection arrive, and no more.
    Few(usize),
    /// Each answer takes so long.
    Slow(Duration),
}

pub(crate) struct Proxy {
    port: u16,
    wire: watch::Sender<Wire>,
    questions: Arc<AtomicUsize>,
    listening: JoinHandle<()>,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

impl Proxy {
    pub(crate) async fn before(server: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let (wire, state) = watch::channel(Wire::Well);
        let questions = Arc::new(AtomicUsize::new(0));
        let count = questions.clone();
        let listening = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if *state.borrow() == Wire::Down {
                    continue;
                }
                let (server, state, count) = (server.clone(), state.clone(), count.clone());
                tokio::spawn(async move {
                    let server = TcpStream::connect(server).await.expect("the server");
                    carry(client, server, state, &count).await;
                });
            }
        });
        Self {
            port,
            wire,
            questions,
            listening,
        }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn set(&self, wire: Wire) {
        self.wire.send_replace(wire);
    }

    /// How many packets went to the server.
    pub(crate) fn questions(&self) -> usize {
        self.questions.load(Ordering::SeqCst)
    }
}

async fn carry(
    mut client: TcpStream,
    mut server: TcpStream,
    mut state: watch::Receiver<Wire>,
    questions: &AtomicUsize,
) {
    let (mut from_client, mut from_server) = (vec![0; 65_536], vec![0; 65_536]);
    // Since the wire was last changed.
    let mut answers = 0;
    loop {
        tokio::select! {
            biased;
            changed = state.changed() => {
                if changed.is_err() || *state.borrow() == Wire::Down {
                    return;
                }
                answers = 0;
            }
            read = client.read(&mut from_client) => {
                let Ok(n @ 1..) = read else { return };
                // It may have been cut since this was asked for: nothing that is sent afterwards may arrive.
                if *state.borrow() == Wire::Down {
                    return;
                }
                questions.fetch_add(1, Ordering::SeqCst);
                if server.write_all(&from_client[..n]).await.is_err() {
                    return;
                }
            }
            read = server.read(&mut from_server) => {
                let Ok(n @ 1..) = read else { return };
                let wire = *state.borrow();
                match wire {
                    Wire::Well => {}
                    Wire::Down => return,
                    Wire::Few(most) if answers < most => answers += 1,
                    Wire::Mute | Wire::Few(_) => continue,
                    Wire::Slow(by) => tokio::time::sleep(by).await,
                }
                if client.write_all(&from_server[..n]).await.is_err() {
                    return;
                }
            }
        }
    }
}
