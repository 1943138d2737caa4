//! Writes whole files of YAML. Files of users are edited in place instead: see `yaml_edit`.

use std::{io::Write, path::Path};

use schema::Benchmark;

use crate::{RunError, write_atomically};

/// Writes the `benchmark.yaml` at `path`, with the comment `head`, which ends its line.
///
/// # Errors
/// When it cannot be written.
pub fn write_benchmark_yaml(
    path: &Path,
    head: &str,
    benchmark: &Benchmark,
) -> Result<(), RunError> {
    let options = serde_saphyr::ser_options! { prefer_block_scalars: false };
    let yaml = serde_saphyr::to_string_with_options(benchmark, options)
        .map_err(|error| RunError::output(format!("{}: {error}", path.display())))?;
    write_atomically(path, |writer| {
        writer.write_all(head.as_bytes())?;
        writer.write_all(yaml.as_bytes())
    })
}
