//! Models whose cost is not known, and what helps.

use llm_client::Meter;

/// A line for each model of which a reply came without a known cost.
pub fn models(meter: &Meter) -> Vec<String> {
    let untold = meter.untold();
    let line = |model| {
        let why = if untold.contains(&model) {
            "its endpoint told no token counts, and without them a price does not help"
        } else {
            "no price is known for it. Add one under `prices` in the config"
        };
        format!("the cost of {model} is not known: {why}")
    };
    meter.unpriced().into_iter().map(line).collect()
}
