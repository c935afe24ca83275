//! Reads what a SODA host sends. Pure: bytes in, meaning out, and nothing of a body's own text gets through.

use brownstone_upstream::Response;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use time::OffsetDateTime;

use crate::api::{Metadata, Row, Rows, SodaError};
use crate::query::{Column, ROW_ID};

/// An error's body is short; a longer one is not read.
const MAX_ERROR_BYTES: usize = 1024 * 1024;

const NO_SUCH_COLUMN: &str = "query.soql.no-such-column";
const PERMISSION_DENIED: &str = "permission_denied";

/// What an answer is, by its status and, where that is not enough, its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Class {
    /// 200: read the body.
    Good,
    /// 202: the answer is being prepared; ask again.
    NotReady,
    /// 401 or 403.
    Denied {
        status: u16,
        /// The body says that the application token is at fault.
        names_token: bool,
        /// The body does not speak against that.
        may_be_token: bool,
    },
    Fault(SodaError),
}

pub(crate) fn classify(response: &Response) -> Class {
    let status = response.status;
    Class::Fault(match status {
        200 => return Class::Good,
        202 => return Class::NotReady,
        401 | 403 => {
            let body = ErrorBody::read(&response.body);
            let names_token = body.message.to_ascii_lowercase().contains("token");
            let may_be_token = names_token || matches!(&*body.code, "" | PERMISSION_DENIED);
            return Class::Denied {
                status,
                names_token,
                may_be_token,
            };
        }
        400 => {
            let body = ErrorBody::read(&response.body);
            match body.column {
                Some(column) if body.code == NO_SUCH_COLUMN => SodaError::NoSuchColumn { column },
                _ if body.code.is_empty() => SodaError::BadQuery {
                    code: "http.400".to_owned(),
                },
                _ => SodaError::BadQuery { code: body.code },
            }
        }
        404 | 410 => SodaError::Gone { status },
        429 => SodaError::Throttled,
        408 | 425 => SodaError::Unavailable(format!("status {status}")),
        402..=499 => SodaError::BadQuery {
            code: format!("http.{status}"),
        },
        _ => SodaError::Unavailable(format!("status {status}")),
    })
}

/// What may be known of an error's body. The message is looked at and goes no further.
struct ErrorBody {
    code: String,
    message: String,
    column: Option<String>,
}

impl ErrorBody {
    /// Both shapes in use: `errorCode`, `message`, `data`; and `code`, `error`, `message`. Anything else is empty.
    fn read(body: &[u8]) -> Self {
        let value: Value = if body.len() <= MAX_ERROR_BYTES {
            serde_json::from_slice(body).unwrap_or_default()
        } else {
            Value::Null
        };
        let text = |key: &str| value.get(key).and_then(Value::as_str);
        let code = text("errorCode").or_else(|| text("code"));
        let column = value
            .get("data")
            .and_then(|data| data.get("column"))
            .and_then(Value::as_str);
        Self {
            code: code
                .filter(|code| is_code(code))
                .unwrap_or_default()
                .to_owned(),
            message: text("message").unwrap_or_default().to_owned(),
            // Only a name can be passed on; what is none is not said.
            column: column
                .filter(|column| Column::new(column).is_ok())
                .map(str::to_owned),
        }
    }
}

/// A code is a short dotted word: nothing that could carry a message.
fn is_code(text: &str) -> bool {
    text.len() <= 80
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_'))
}

/// The rows of a good answer. `keep_id`: whether the query asked for `:id`.
pub(crate) fn rows(response: &Response, keep_id: bool) -> Result<Rows, SodaError> {
    let mut rows: Vec<Row> = json(response)?;
    for row in &mut rows {
        row.retain(|key, value| is_kept(key, keep_id) && !is_null(value));
    }
    let fields = names(response, "x-soda2-fields");
    let types = names(response, "x-soda2-types");
    let (fields, types) = match (fields, types) {
        (Some(fields), Some(types)) if fields.len() == types.len() => {
            let kept = fields
                .into_iter()
                .zip(types)
                .filter(|(field, _)| is_kept(field, keep_id));
            let (fields, types) = kept.unzip();
            (Some(fields), Some(types))
        }
        // Types that belong to no field say nothing.
        (Some(mut fields), _) => {
            fields.retain(|field| is_kept(field, keep_id));
            (Some(fields), None)
        }
        (None, _) => (None, None),
    };
    Ok(Rows {
        rows,
        fields,
        types,
    })
}

/// System columns are no part of the publisher's record.
fn is_kept(key: &str, keep_id: bool) -> bool {
    if key == ROW_ID {
        keep_id
    } else {
        !key.starts_with([':', '@'])
    }
}

/// A null in words is the same as a key left out.
fn is_null(value: &RawValue) -> bool {
    value.get() == "null"
}

fn names(response: &Response, header: &str) -> Option<Vec<String>> {
    serde_json::from_str(response.header(header)?).ok()
}

/// The metadata of a good answer.
pub(crate) fn metadata(response: &Response) -> Result<Metadata, SodaError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct View {
        #[serde(default)]
        name: String,
        rows_updated_at: Option<i64>,
        #[serde(default)]
        columns: Vec<ViewColumn>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct ViewColumn {
        field_name: String,
        #[serde(default)]
        data_type_name: String,
    }
    let view: View = json(response)?;
    Ok(Metadata {
        name: view.name,
        rows_updated_at: view
            .rows_updated_at
            .and_then(|seconds| OffsetDateTime::from_unix_timestamp(seconds).ok()),
        columns: view
            .columns
            .into_iter()
            .filter(|column| is_kept(&column.field_name, false))
            .map(|column| (column.field_name, column.data_type_name))
            .collect(),
    })
}

/// The body in its expected form, or [`SodaError::Unavailable`]: a maintenance page, an error sent as a success, a cut.
fn json<'a, T: Deserialize<'a>>(response: &'a Response) -> Result<T, SodaError> {
    serde_json::from_slice(&response.body).map_err(|fault| {
        // The parser's own text repeats parts of the body.
        SodaError::Unavailable(format!(
            "a body of {} bytes that is not of the protocol: {:?} at line {}, column {}",
            response.body.len(),
            fault.classify(),
            fault.line(),
            fault.column(),
        ))
    })
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
