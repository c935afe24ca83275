//! For the fuzz targets alone: a body, read as a host's good answer is.

use brownstone_upstream::Response;

use crate::{Rows, SodaError, answer};

/// The rows of a body.
///
/// # Errors
/// Those of a call.
pub fn rows(body: &[u8]) -> Result<Rows, SodaError> {
    let response = Response {
        status: 200,
        headers: Default::default(),
        body: body.to_vec().into(),
    };
    answer::rows(&response, false)
}
