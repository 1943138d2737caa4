//! What a reader wants to know first: which model passes most, how sure that is, and whether to trust it. Computed once from statistics and
//! findings, and shown by the report, the terminal and Markdown.

mod answer;
mod limits;
mod ranking;
mod trust;

pub use answer::{Answer, answer};
pub(crate) use limits::{Limit, limits};
pub(crate) use ranking::{by_metric, corrected, is_ahead, pooled, ranked, swapped};
pub(crate) use trust::{TrustLink, trust};
