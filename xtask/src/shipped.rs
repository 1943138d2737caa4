//! The benchmarks that come with Probity.

/// The one that runs when the folder of benchmarks is empty.
pub const DEMONSTRATION: &str = "sycophancy";

/// Their names.
pub const NAMES: [&str; 1] = [DEMONSTRATION];

/// The files of one of them, by name and text.
pub fn find(name: &str) -> Option<&'static [(&'static str, &'static str)]> {
    (name == DEMONSTRATION).then_some(&[(
        "benchmark.yaml",
        include_str!("../../fixtures/benchmarks/sycophancy/benchmark.yaml"),
    )])
}
