//! The market of the made-up city: what homes there are around its buildings, what they cost, and what was sold.

mod home;
mod lots;
mod price;
mod sales;
mod tables;
#[cfg(test)]
mod tests;

pub(crate) use home::{Home, home, lines};
pub(crate) use lots::{area, lot_area};
pub(crate) use price::{Kind, Place, price, rent};
pub(crate) use tables::{category, rows, tax_class, value};
