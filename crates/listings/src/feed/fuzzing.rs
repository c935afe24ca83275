//! For the fuzz targets alone: a body, read as a page of a feed is.

use brownstone_domain::ListingType;
use serde_json::Value;
use time::OffsetDateTime;

use super::{map_rows, rentcast, reso};
use crate::{Row, clean::Dropped};

/// The listings of a page of a RESO Web API, and the parameters of its next link.
pub fn reso_page(body: &[u8], now: OffsetDateTime) -> Option<(Vec<Row>, Vec<(String, String)>)> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let rows = body.get("value")?.as_array()?;
    let next = body.get("@odata.nextLink").and_then(Value::as_str);
    let next = next.and_then(|link| reso::query_of(link).ok());
    let mut dropped = Dropped::new();
    let rows = map_rows(rows, &mut dropped, |row, dropped| {
        reso::map(row, now, dropped)
    });
    Some((rows, next.unwrap_or_default()))
}

/// The listings of a page of RentCast.
pub fn rentcast_page(body: &[u8], offer: ListingType, now: OffsetDateTime) -> Option<Vec<Row>> {
    let rows: Vec<Value> = serde_json::from_slice(body).ok()?;
    let mut dropped = Dropped::new();
    Some(map_rows(&rows, &mut dropped, |row, dropped| {
        rentcast::map(row, offer, now, dropped)
    }))
}
