//! What is refused by a request's head alone.

use actix_web::http::{
    Method, Uri,
    header::{self, HeaderMap},
};

/// Longest address of a request, its query included.
pub const MAX_URI_BYTES: usize = 8 * 1024;

/// Why a request goes no further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// An address of more than [`MAX_URI_BYTES`].
    LongAddress,
    /// `TRACE` or `CONNECT`: nobody serves them.
    Method,
}

/// Looks at the head.
pub fn refusal(method: &Method, uri: &Uri) -> Option<Refusal> {
    let query = uri.query().map_or(0, |query| query.len() + 1);
    if uri.path().len() + query > MAX_URI_BYTES {
        return Some(Refusal::LongAddress);
    }
    [Method::TRACE, Method::CONNECT]
        .contains(method)
        .then_some(Refusal::Method)
}

/// Whether the body is compressed. Nothing of ours inflates a request: 60 KB may unfold to gigabytes.
pub fn is_encoded(headers: &HeaderMap) -> bool {
    headers
        .get_all(header::CONTENT_ENCODING)
        .any(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity"))
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::HeaderValue;

    use super::*;

    #[test]
    fn an_address_has_a_bound_with_its_query() {
        let uri = |query: usize| -> Uri { format!("/p?{}", "q".repeat(query)).parse().unwrap() };
        assert_eq!(refusal(&Method::GET, &uri(MAX_URI_BYTES - 3)), None);
        let long = refusal(&Method::GET, &uri(MAX_URI_BYTES - 2));
        assert_eq!(long, Some(Refusal::LongAddress));
        assert_eq!(refusal(&Method::TRACE, &uri(1)), Some(Refusal::Method));
        assert_eq!(refusal(&Method::OPTIONS, &uri(1)), None);
    }

    #[test]
    fn an_encoding_is_seen_wherever_it_stands() {
        let mut headers = HeaderMap::new();
        assert!(!is_encoded(&headers));
        headers.append(
            header::CONTENT_ENCODING,
            HeaderValue::from_static("Identity"),
        );
        assert!(!is_encoded(&headers));
        headers.append(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        assert!(is_encoded(&headers), "the second one counts, too");
    }
}
