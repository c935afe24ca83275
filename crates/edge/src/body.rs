//! A body, read within a size and a time.

use std::time::Duration;

use actix_web::error::PayloadError;
use bytes::{Bytes, BytesMut};
use futures::{Stream, StreamExt as _};

/// How long a body may take to arrive.
pub const BODY_TIME: Duration = Duration::from_secs(5);

/// Why there is no body.
#[derive(Debug)]
pub enum BodyFault {
    /// More bytes than it may have.
    TooLarge,
    /// It did not arrive within [`BODY_TIME`].
    TooSlow,
    /// It was cut short, or its pieces are malformed.
    Broken(PayloadError),
}

/// Reads a body of at most `most` bytes as it comes: nothing is inflated.
///
/// # Errors
/// [`BodyFault`]. What is left of the body is then unread.
pub async fn read(
    body: impl Stream<Item = Result<Bytes, PayloadError>> + Unpin,
    most: usize,
) -> Result<Bytes, BodyFault> {
    read_within(body, most, BODY_TIME).await
}

async fn read_within(
    mut body: impl Stream<Item = Result<Bytes, PayloadError>> + Unpin,
    most: usize,
    time: Duration,
) -> Result<Bytes, BodyFault> {
    let reading = async {
        // Most bodies come in one piece, which is then the body itself.
        let mut first = Bytes::new();
        let mut more = BytesMut::new();
        while let Some(piece) = body.next().await {
            let piece = piece.map_err(BodyFault::Broken)?;
            if piece.len() > most - first.len().max(more.len()) {
                return Err(BodyFault::TooLarge);
            }
            if first.is_empty() && more.is_empty() {
                first = piece;
                continue;
            }
            if more.is_empty() {
                more.extend_from_slice(&first);
            }
            more.extend_from_slice(&piece);
        }
        Ok(match more.is_empty() {
            true => first,
            false => more.freeze(),
        })
    };
    match tokio::time::timeout(time, reading).await {
        Ok(outcome) => outcome,
        Err(_) => Err(BodyFault::TooSlow),
    }
}

#[cfg(test)]
mod tests {
    use futures::stream;

    use super::*;

    #[tokio::test]
    async fn a_body_is_read_to_its_bound_and_not_past_it() {
        let piece = || Ok(Bytes::from_static(b"abcd"));
        let whole = read(stream::iter([piece(), piece()]), 8).await;
        assert_eq!(whole.expect("it fits"), "abcdabcd");
        let one_more = Ok(Bytes::from_static(b"e"));
        let more = read(stream::iter([piece(), piece(), one_more]), 8).await;
        assert!(matches!(more, Err(BodyFault::TooLarge)));
    }

    #[tokio::test]
    async fn a_body_that_stops_or_breaks_is_a_fault() {
        let slow = stream::iter([Ok(Bytes::from_static(b"{"))]).chain(stream::pending());
        let slow = read_within(slow, 8, Duration::from_millis(5)).await;
        assert!(matches!(slow, Err(BodyFault::TooSlow)));
        let broken = read(stream::iter([Err(PayloadError::EncodingCorrupted)]), 8).await;
        assert!(matches!(broken, Err(BodyFault::Broken(_))));
    }
}
