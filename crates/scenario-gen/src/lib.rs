//! From a description to metrics, from a metric to scenarios and their demographic variants
