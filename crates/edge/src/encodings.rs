//! Which codings of an answer a client takes.

use actix_web::{
    HttpMessage as _,
    dev::ServiceRequest,
    http::header::{self, AcceptEncoding, Encoding},
};

/// What the compressor can send.
fn ours() -> [Encoding; 5] {
    [
        Encoding::identity(),
        Encoding::brotli(),
        Encoding::gzip(),
        Encoding::deflate(),
        Encoding::zstd(),
    ]
}

/// Takes `Accept-Encoding` away where it admits none of ours, the body as it is included: the compressor would refuse such a request in
/// plain text, ahead of whoever knows how a host writes its errors. A server may answer as if the field were not there (RFC 9110, 12.5.3).
pub fn admit_one(request: &mut ServiceRequest) {
    // The body as it is can be refused by a weight alone, which most clients send none of.
    let weighed = |value: &header::HeaderValue| value.as_bytes().contains(&b';');
    let mut sent = request.headers().get_all(header::ACCEPT_ENCODING);
    if !sent.any(weighed) {
        return;
    }
    let none = request
        .get_header::<AcceptEncoding>()
        .is_some_and(|accepts| accepts.negotiate(ours().iter()).is_none());
    if none {
        request.headers_mut().remove(header::ACCEPT_ENCODING);
    }
}

#[cfg(test)]
mod tests {
    use actix_web::{
        App, HttpResponse,
        middleware::{Compress, Next, from_fn},
        test, web,
    };

    use super::*;

    #[actix_web::test]
    async fn who_takes_nothing_is_answered_and_all_others_as_they_ask() {
        let app = App::new()
            .wrap(Compress::default())
            .wrap(from_fn(|mut request: ServiceRequest, next: Next<_>| {
                admit_one(&mut request);
                next.call(request)
            }))
            .route(
                "/",
                web::get().to(|| async { HttpResponse::Ok().body("text ".repeat(1_000)) }),
            );
        let app = test::init_service(app).await;
        for (takes, sent) in [
            (vec!["identity;q=0"], None),
            (vec!["*;q=0"], None),
            (vec!["gzip;q=0, *; q=0.000"], None),
            (vec!["compress, identity;q=0"], None),
            (vec!["compress", "*;q=0"], None),
            (vec!["identity;q=0, gzip"], Some("gzip")),
            (vec!["*;q=0, br;q=0.5"], Some("br")),
            (vec!["gzip;q=0"], None),
            (vec!["gzip"], Some("gzip")),
            (vec![""], None),
        ] {
            let mut request = test::TestRequest::get();
            for one in &takes {
                request = request.append_header((header::ACCEPT_ENCODING, *one));
            }
            let answer = test::call_service(&app, request.to_request()).await;
            assert_eq!(answer.status(), 200, "{takes:?}");
            let encoding = answer.headers().get(header::CONTENT_ENCODING);
            let encoding = encoding.and_then(|value| value.to_str().ok());
            assert_eq!(encoding, sent, "{takes:?}");
        }
    }
}
