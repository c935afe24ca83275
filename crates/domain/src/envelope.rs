//! The envelope around every success.

use serde::{Deserialize, Serialize};

use crate::{Operation, RequestId};

/// A success: the operation's own result and what the call did to the budget.
///
/// ```
/// use brownstone_domain::{Envelope, Meta, Operation, RequestId};
/// let envelope = Envelope {
///     data: serde_json::json!({}),
///     meta: Meta {
///         request_id: RequestId::from("0190"),
///         operation: Operation::LookupProperty,
///         units_charged: 10,
///         minute_remaining: 230,
///         daily_remaining: 9_990,
///     },
/// };
/// assert_eq!(
///     serde_json::to_string(&envelope).unwrap(),
///     r#"{"data":{},"meta":{"request_id":"0190","operation":"lookupProperty","units_charged":10,"minute_remaining":230,"daily_remaining":9990}}"#
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Envelope<T> {
    /// Operation-specific result.
    pub data: T,
    /// The stable contract for remaining budget.
    pub meta: Meta,
}

/// What every success says about the call itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Meta {
    /// Identifier of the request, also in `x-request-id`.
    pub request_id: RequestId,
    /// Operation name, `lookupProperty` for the lookup.
    pub operation: Operation,
    /// Units charged for this call.
    pub units_charged: u64,
    /// Whole units left in the per-minute budget, as the charge left them.
    pub minute_remaining: u64,
    /// Units left in the per-day budget, as the charge left them.
    pub daily_remaining: u64,
}

impl Meta {
    /// Writes itself as JSON, as its `Serialize` would: for the path of every call.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        let Self {
            request_id,
            operation,
            units_charged,
            minute_remaining,
            daily_remaining,
        } = self;
        out.extend_from_slice(br#"{"request_id":"#);
        write_text(request_id.as_str(), out);
        out.extend_from_slice(br#","operation":"#);
        write_text(operation.name(), out);
        for (name, value) in [
            (&br#","units_charged":"#[..], units_charged),
            (br#","minute_remaining":"#, minute_remaining),
            (br#","daily_remaining":"#, daily_remaining),
        ] {
            out.extend_from_slice(name);
            out.extend_from_slice(itoa::Buffer::new().format(*value).as_bytes());
        }
        out.push(b'}');
    }
}

/// A JSON string. Names and identifiers have nothing to escape; a text that has goes through the library.
fn write_text(text: &str, out: &mut Vec<u8>) {
    if text
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    {
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
    } else {
        out.extend_from_slice(serde_json::Value::from(text).to_string().as_bytes());
    }
}

/// The way a call came in. All surfaces draw on one budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Surface {
    /// The HTTP JSON API.
    Rest,
    /// The Model Context Protocol.
    Mcp,
    /// The web host, on behalf of a signed-in person.
    Web,
}

impl Surface {
    /// All surfaces, in the order answers list them.
    pub const ALL: [Self; 3] = [Self::Rest, Self::Mcp, Self::Web];

    /// The name used in answers, logs and storage.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rest => "rest",
            Self::Mcp => "mcp",
            Self::Web => "web",
        }
    }

    /// The surface called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.as_str() == name)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn meta_is_written_as_it_is_serialised(
            id in any::<String>(),
            operation in prop::sample::select(&crate::OPERATIONS[..]).prop_map(|row| row.operation),
            numbers in any::<[u64; 3]>(),
        ) {
            let [units_charged, minute_remaining, daily_remaining] = numbers;
            let meta = Meta {
                request_id: RequestId::from(id),
                operation,
                units_charged,
                minute_remaining,
                daily_remaining,
            };
            let mut written = Vec::new();
            meta.write_json(&mut written);
            prop_assert_eq!(written, serde_json::to_vec(&meta).unwrap());
        }
    }
}
