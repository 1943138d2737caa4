//! What a reader wants to know first: which model passes most, how sure that is, and whether to trust it. Computed once from statistics and
//! findings, and shown by the report, the terminal and Markdown.

mod answer;
mod limits;
mod ranking;
mod trust;
mod variants;

pub use answer::{Answer, answer};
pub(crate) use limits::{Limit, is_limit, limits};
pub(crate) use ranking::{
    by_metric, corrected, corrected_difference, folded_text, is_ahead, pooled, ranked, swapped,
};
pub(crate) use trust::{TrustLink, trust};
pub(crate) use variants::variant_leads;
