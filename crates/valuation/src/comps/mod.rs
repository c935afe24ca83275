//! Comparable sales: who the subject is, how far the search goes, how alike a sale is, and the answer of it all.

mod answer;
mod search;
mod similarity;
mod subject;
#[cfg(test)]
mod tests;

pub use answer::{Adjusted, Valued, answer};
pub use search::{ENOUGH, Found, Search, search};
pub use similarity::Difference;
pub use subject::{Subject, Target};
