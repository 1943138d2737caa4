//! The benchmarks that are shipped with Probity.

/// The benchmark that runs when the folder of benchmarks is empty.
pub const DEMONSTRATION: &str = "sycophancy";

/// Their names.
pub const NAMES: [&str; 2] = [DEMONSTRATION, "delegated-actions"];

/// A file's name and its text.
type File = (&'static str, &'static str);

const SYCOPHANCY: &[File] = &[(
    "benchmark.yaml",
    include_str!("../../../fixtures/benchmarks/sycophancy/benchmark.yaml"),
)];

const DELEGATED_ACTIONS: &[File] = &[
    (
        "benchmark.yaml",
        include_str!("../../../fixtures/benchmarks/delegated-actions/benchmark.yaml"),
    ),
    (
        "scenarios.json",
        include_str!("../../../fixtures/benchmarks/delegated-actions/scenarios.json"),
    ),
];

/// The files of a shipped benchmark.
pub fn find(name: &str) -> Option<&'static [File]> {
    match name {
        DEMONSTRATION => Some(SYCOPHANCY),
        "delegated-actions" => Some(DELEGATED_ACTIONS),
        _ => None,
    }
}
