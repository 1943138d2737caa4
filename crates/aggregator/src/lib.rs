//! From scores to summaries. Pure and synchronous
