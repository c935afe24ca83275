//! Comparable sales: who the subject is, how far the search goes, how alike a sale is, and the answer of it all.

mod answer;
mod outliers;
mod search;
mod similarity;
mod subject;
#[cfg(test)]
mod tests;
mod valuer;

pub use answer::{Adjusted, Ask, Valued, Valuer, answer};
pub use search::{ENOUGH, Found, Search, search};
pub use similarity::Difference;
pub use subject::{Subject, Target};
pub use valuer::{learning_valuer, valuer};
