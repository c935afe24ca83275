//! Addresses as somebody types.

use std::{
    hash::{BuildHasher as _, RandomState},
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    },
};

use actix_web::{HttpRequest, HttpResponse, http::StatusCode, http::header, web};
use brownstone_accounts::AccountId;
use serde_json::json;

use crate::{form::Form, host::Host, page::Stop, visitor::Visitor};

/// Questions of one account in a second: more than anybody types.
const A_SECOND: u64 = 20;

/// Places for accounts. Two that share one share its questions, which at twenty a second nobody notices.
const PLACES: usize = 1_024;

/// How often each account asked in this second: no storage, and nothing that grows.
struct Pace {
    hasher: RandomState,
    places: Box<[AtomicU64]>,
}

impl Pace {
    fn new() -> Self {
        Self {
            hasher: RandomState::new(),
            places: (0..PLACES).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// Counts a question; `false` where there were too many in this second.
    fn allows(&self, account: &AccountId, second: u64) -> bool {
        let hash = self.hasher.hash_one(account.as_str());
        let place = usize::try_from(hash % PLACES as u64).unwrap_or_default();
        let Some(place) = self.places.get(place) else {
            return true;
        };
        // The second above, the count in the lower sixteen bits.
        let counted = place.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |before| {
            let count = if before >> 16 == second {
                before & 0xffff
            } else {
                0
            };
            (count < A_SECOND).then_some(second << 16 | (count + 1))
        });
        counted.is_ok()
    }
}

static PACE: LazyLock<Pace> = LazyLock::new(Pace::new);

/// `GET /suggest?q=`: addresses that go on as `q` begins, as JSON. No unit, nothing is counted.
///
/// # Errors
/// 401 for whoever is not signed in; 429 above twenty questions a second.
pub async fn suggest(req: HttpRequest, host: web::Data<Host>) -> Result<HttpResponse, Stop> {
    let visitor = Visitor::of(&req, &host).await?;
    let Some(signed) = &visitor.signed else {
        return Ok(none(StatusCode::UNAUTHORIZED));
    };
    let second = u64::try_from(host.sign_in.now().unix_timestamp()).unwrap_or_default();
    if !PACE.allows(&signed.account.id, second) {
        let mut wait = none(StatusCode::TOO_MANY_REQUESTS);
        let headers = wait.headers_mut();
        headers.insert(header::RETRY_AFTER, header::HeaderValue::from_static("1"));
        return Ok(wait);
    }
    let form = Form::parse(req.query_string().as_bytes());
    let suggestions = host.service.suggest(form.get("q"));
    Ok(HttpResponse::Ok().json(json!({"suggestions": suggestions})))
}

fn none(status: StatusCode) -> HttpResponse {
    HttpResponse::build(status).json(json!({"suggestions": []}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_has_so_many_questions_a_second() {
        let pace = Pace::new();
        let account = AccountId::from("a");
        let asked = |second| {
            (0..2 * A_SECOND)
                .filter(|_| pace.allows(&account, second))
                .count()
        };
        assert_eq!(asked(7), 20);
        assert_eq!(asked(7), 0);
        assert_eq!(asked(8), 20, "the next second is another");
    }
}
