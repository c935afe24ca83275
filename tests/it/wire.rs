//! A wire between two programs, which a test can make bad in every way a network knows, and good again, while it is in use.

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinHandle,
};

/// What is wrong with a wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing.
    None,
    /// Every connection is closed, and each new one at once.
    Cut,
    /// The same by a reset.
    Reset,
    /// Each piece is passed on so much later.
    Latency(Duration),
    /// A connection is closed when the server has sent so many bytes from now on.
    CutAfter(usize),
    /// Connections stay open, new ones are accepted, and nothing is passed on.
    Blackhole,
    /// The server seems to have said all that it has to say; what it is told is passed on.
    HalfClose,
}

/// A port that leads to a server.
pub(crate) struct Wire {
    port: u16,
    fault: watch::Sender<Fault>,
    listening: JoinHandle<()>,
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

impl Wire {
    /// A wire to `server`, a host and a port.
    pub(crate) async fn to(server: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let (fault, state) = watch::channel(Fault::None);
        let listening = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (server, state) = (server.clone(), state.clone());
                tokio::spawn(async move {
                    if let Ok(server) = TcpStream::connect(server).await {
                        // Whichever end closes or breaks: both are dropped.
                        let _over = carry(client, server, state).await;
                    }
                });
            }
        });
        Self {
            port,
            fault,
            listening,
        }
    }

    /// Its near end.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Makes it bad, or good, for all connections, present and new.
    pub(crate) fn set(&self, fault: Fault) {
        self.fault.send_replace(fault);
    }

    /// Closes every connection, and each new one at once.
    pub(crate) fn cut(&self) {
        self.set(Fault::Cut);
    }

    /// Carries again.
    pub(crate) fn mend(&self) {
        self.set(Fault::None);
    }
}

/// Carries one connection until an end closes or the wire does.
async fn carry(
    mut client: TcpStream,
    mut server: TcpStream,
    mut state: watch::Receiver<Fault>,
) -> std::io::Result<()> {
    let (mut up, mut down) = (vec![0; 16 * 1024], vec![0; 16 * 1024]);
    let mut left = usize::MAX;
    let mut closed_to_client = false;
    state.mark_changed();
    loop {
        if state.has_changed().is_ok_and(|changed| changed) {
            let fault = *state.borrow_and_update();
            left = usize::MAX;
            match fault {
                Fault::Cut => return Ok(()),
                Fault::Reset => {
                    client.set_zero_linger()?;
                    server.set_zero_linger()?;
                    return Ok(());
                }
                Fault::CutAfter(bytes) => left = bytes,
                Fault::HalfClose if !closed_to_client => {
                    client.shutdown().await?;
                    closed_to_client = true;
                }
                _ => {}
            }
        }
        let fault = *state.borrow();
        let passing = fault != Fault::Blackhole;
        tokio::select! {
            biased;
            changed = state.changed() => {
                if changed.is_err() {
                    return Ok(());
                }
                state.mark_changed();
            }
            read = client.read(&mut up), if passing => {
                let read = read?;
                if read == 0 {
                    return Ok(());
                }
                late(fault).await;
                // It may have become bad since this was asked for: what is sent afterwards meets that.
                if matches!(*state.borrow(), Fault::Cut | Fault::Reset | Fault::Blackhole) {
                    continue;
                }
                server.write_all(&up[..read]).await?;
            }
            read = server.read(&mut down), if passing && !closed_to_client => {
                let read = read?.min(left);
                if read == 0 {
                    return Ok(());
                }
                late(fault).await;
                client.write_all(&down[..read]).await?;
                left -= read;
                if left == 0 {
                    return Ok(());
                }
            }
        }
    }
}

/// The latency itself is a wait.
async fn late(fault: Fault) {
    if let Fault::Latency(by) = fault {
        tokio::time::sleep(by).await;
    }
}
