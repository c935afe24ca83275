//! The market of the made-up city: what homes there are, and what they cost.

mod home;
mod price;

pub(crate) use home::{Home, home, lines};
pub(crate) use price::{Kind, Place, price, rent};
