//! A loopback host for tests, and a hand-made answer.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use brownstone_upstream::{HeaderName, HeaderValue, Response, Upstream, UpstreamConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// An answer with these headers and this body.
pub(crate) fn response(status: u16, headers: &[(&str, &str)], body: &str) -> Response {
    Response {
        status,
        headers: headers
            .iter()
            .map(|(name, value)| {
                (
                    HeaderName::from_bytes(name.as_bytes()).unwrap(),
                    HeaderValue::from_str(value).unwrap(),
                )
            })
            .collect(),
        body: body.to_owned().into_bytes().into(),
    }
}

/// A host that answers request number n with `answer(n, head)`: a status and a body.
pub(crate) struct Host {
    address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Host {
    pub(crate) async fn start(
        answer: impl Fn(usize, &str) -> (u16, String) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&heads);
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    match socket.read_u8().await {
                        Ok(byte) => head.push(byte),
                        Err(_) => break,
                    }
                }
                let head = String::from_utf8(head).unwrap();
                let number = {
                    let mut seen = seen.lock().unwrap();
                    seen.push(head.clone());
                    seen.len() - 1
                };
                let (status, body) = answer(number, &head);
                let text = format!(
                    "HTTP/1.1 {status} X\r\nContent-Type: application/json;charset=utf-8\r\nX-SODA2-Fields: [\"bin\"]\r\n\
                     X-SODA2-Types: [\"text\"]\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                    body.len()
                );
                // The client may leave first.
                let _ = socket.write_all(text.as_bytes()).await;
            }
        });
        Self { address, heads }
    }

    pub(crate) fn upstream(&self) -> Upstream {
        let mut config = UpstreamConfig::new("city", format!("http://{}", self.address));
        config.retry.first_delay = std::time::Duration::from_millis(1);
        Upstream::new(config).unwrap()
    }

    /// The requests so far, as they came.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}
