//! Benchmarks of exports.

fn main() {}
