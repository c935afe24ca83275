//! A wire between the program and a server behind it, which a test can cut.

use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinHandle,
};

/// A port that leads to a server until it is cut.
pub(crate) struct Wire {
    port: u16,
    whole: watch::Sender<bool>,
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
        let (whole, state) = watch::channel(true);
        let listening = tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let (server, mut state) = (server.clone(), state.clone());
                tokio::spawn(async move {
                    let Ok(mut server) = TcpStream::connect(server).await else {
                        return;
                    };
                    // Both ends are closed when either closes, or when the wire is cut.
                    tokio::select! {
                        _ = tokio::io::copy_bidirectional(&mut client, &mut server) => {}
                        _ = state.wait_for(|whole| !whole) => {}
                    }
                });
            }
        });
        Self {
            port,
            whole,
            listening,
        }
    }

    /// Its near end.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Closes every connection, and each new one at once.
    pub(crate) fn cut(&self) {
        self.whole.send_replace(false);
    }

    /// Carries again.
    pub(crate) fn mend(&self) {
        self.whole.send_replace(true);
    }
}
