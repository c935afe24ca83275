//! A body in pieces that are ready: each is copied once, into the connection's buffer, and none into a body of its own.

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

use actix_web::{
    body::{BodySize, MessageBody},
    http::header::{self, HeaderMap},
};
use bytes::Bytes;

/// The most of a piece that is copied at once: the rest waits where it is, and not in the buffer of a client that does not read.
const AT_ONCE: usize = 64 * 1024;

/// Pieces of a body, sent one after the other under one length.
#[derive(Debug)]
pub(crate) struct Pieces {
    rest: std::vec::IntoIter<Bytes>,
    size: u64,
}

impl Pieces {
    pub(crate) fn new(mut pieces: Vec<Bytes>) -> Self {
        pieces.retain(|piece| !piece.is_empty());
        Self {
            size: pieces.iter().map(|piece| piece.len() as u64).sum(),
            rest: pieces.into_iter(),
        }
    }
}

impl MessageBody for Pieces {
    type Error = Infallible;

    fn size(&self) -> BodySize {
        BodySize::Sized(self.size)
    }

    fn poll_next(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Infallible>>> {
        Poll::Ready(match self.rest.as_mut_slice().first_mut() {
            Some(piece) if piece.len() > AT_ONCE => Some(Ok(piece.split_to(AT_ONCE))),
            _ => self.rest.next().map(Ok),
        })
    }
}

/// Whether what is there compressed, or the body as it is, is all that the caller can be sent: the compressor has nothing to do.
pub(crate) fn is_ready(headers: &HeaderMap) -> bool {
    let sent = headers.get(header::ACCEPT_ENCODING);
    sent.is_none_or(|sent| sent == "identity") || takes_gzip(headers)
}

/// Whether the caller takes gzip at least as gladly as the body as it is.
pub(crate) fn takes_gzip(headers: &HeaderMap) -> bool {
    let sent = headers.get_all(header::ACCEPT_ENCODING);
    let (mut gzip, mut any, mut identity) = (None, None, None);
    for text in sent.filter_map(|value| value.to_str().ok()) {
        for part in text.split(',') {
            let mut words = part.split(';').map(str::trim);
            let name = words.next().unwrap_or_default();
            let weight = words
                .find_map(|word| word.strip_prefix("q=").or_else(|| word.strip_prefix("Q=")))
                .map_or(Some(1.0), |text| text.trim().parse::<f32>().ok())
                .unwrap_or(0.0);
            let slot = if name.eq_ignore_ascii_case("gzip") || name.eq_ignore_ascii_case("x-gzip") {
                &mut gzip
            } else if name == "*" {
                &mut any
            } else if name.eq_ignore_ascii_case("identity") {
                &mut identity
            } else {
                continue;
            };
            *slot = Some(weight);
        }
    }
    let gzip = gzip.or(any).unwrap_or(0.0);
    gzip > 0.0 && identity.is_none_or(|identity| gzip >= identity)
}

#[cfg(test)]
mod tests {
    use actix_web::{body::to_bytes, test::TestRequest};
    use futures::StreamExt as _;

    use super::*;

    #[actix_web::test]
    async fn a_large_piece_goes_out_bit_by_bit_and_whole() {
        let sizes = [3, 0, AT_ONCE, 2 * AT_ONCE + 1, 5];
        let pieces = || {
            let piece = |(place, size)| Bytes::from(vec![place as u8; size]);
            Pieces::new(sizes.into_iter().enumerate().map(piece).collect())
        };
        let mut body = Box::pin(pieces());
        let sent = futures::stream::poll_fn(|context| body.as_mut().poll_next(context));
        let sent: Vec<usize> = sent.map(|piece| piece.unwrap().len()).collect().await;
        assert_eq!(sent, [3, AT_ONCE, AT_ONCE, AT_ONCE, 1, 5]);
        let wanted: Vec<u8> = (sizes.into_iter().enumerate())
            .flat_map(|(place, size)| vec![place as u8; size])
            .collect();
        assert_eq!(pieces().size(), BodySize::Sized(wanted.len() as u64));
        assert_eq!(to_bytes(pieces()).await.unwrap(), wanted);
    }

    #[test]
    fn gzip_is_sent_to_those_who_take_it() {
        for (sent, gzip) in [
            ("gzip", true),
            ("gzip, deflate, br, zstd", true),
            ("br;q=1.0, GZIP;q=0.5", true),
            ("x-gzip", true),
            ("*", true),
            ("", false),
            ("identity", false),
            ("br", false),
            ("gzip;q=0", false),
            ("gzip;q=0.0, *", false),
            ("gzip;q=0.5, identity;q=0.9", false),
            ("gzip;q=nonsense", false),
            ("gzip; q=0.8", true),
        ] {
            let request = TestRequest::default()
                .insert_header((header::ACCEPT_ENCODING, sent))
                .to_http_request();
            assert_eq!(takes_gzip(request.headers()), gzip, "{sent}");
        }
        assert!(!takes_gzip(&HeaderMap::new()));
    }

    #[test]
    fn the_compressor_is_for_those_who_take_neither() {
        for (sent, ready) in [
            ("gzip, deflate, br, zstd", true),
            ("identity", true),
            ("br", false),
            ("zstd, gzip;q=0", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(
                header::ACCEPT_ENCODING,
                header::HeaderValue::from_static(sent),
            );
            assert_eq!(is_ready(&headers), ready, "{sent}");
        }
        assert!(is_ready(&HeaderMap::new()));
    }
}
