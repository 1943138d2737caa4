//! The files that the mutants begin with, as the inputs that the fuzz targets begin with.

use std::{collections::BTreeMap, error::Error, fs, path::Path};

use parsers::Seed;

use super::finished;
use crate::chaos::trial::Trial;

/// The largest input: a fuzzer tries a few hundred small ones in the time of a large one.
const LARGEST: usize = 12 << 10;

/// Writes a folder of inputs for each fuzz target.
pub(crate) async fn write(trial: &Trial, folder: &Path) -> Result<(), Box<dyn Error>> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let project = finished(trial).await?;
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for seed in parsers::seeds(&repository, project.path())? {
        let Some(bytes) = shortened(&seed) else {
            continue;
        };
        let target = seed.parser.name();
        let count = counts.entry(target).or_default();
        *count += 1;
        let inputs = folder.join(target);
        fs::create_dir_all(&inputs)?;
        let input = parsers::to_input(seed.parser, &seed.name, bytes);
        fs::write(inputs.join(format!("seed-{count:04}")), input)?;
    }
    for (target, count) in counts {
        println!("{target:18} {count:4} inputs");
    }
    Ok(())
}

/// The content of a small file, or the first lines of a larger one that has a row in each.
fn shortened(seed: &Seed) -> Option<&[u8]> {
    let Some(first) = seed.bytes.get(..LARGEST) else {
        return Some(&seed.bytes);
    };
    let is_lines = seed.name.ends_with(".jsonl") || seed.name.ends_with(".csv");
    let end = first.iter().rposition(|byte| is_lines && *byte == b'\n')?;
    first.get(..=end)
}
