//! The names under which fingerprints and records have the settings of a measurement. Phases write them, and provenance, baselines and
//! findings read them: an earlier file has the same names, so none of them may change.

/// In the results of a manifest: the phase that judges.
pub const EVALUATOR: &str = "evaluator";
/// In the results of a manifest, before the id of a target: the phase that simulates. See [`simulator`].
pub const SIMULATOR: &str = "simulator";
/// The scorer of a safety evaluation.
pub const SCORER: &str = "scorer";
/// The target.
pub const TARGET: &str = "target";
/// The id of the model that simulates the user.
pub const USER: &str = "user";
/// The most exchanges of a conversation.
pub const TURNS: &str = "turns";
/// How often each scenario is simulated.
pub const SAMPLES: &str = "samples";
/// The seed of the simulation.
pub const SEED: &str = "seed";
/// The simulated tools.
pub const TOOLS: &str = "tools";
/// A hash of the scenarios of each metric.
pub const SCENARIOS: &str = "scenarios";
/// The hashes of the prompts.
pub const PROMPTS: &str = "prompts";
/// The version of the judge's prompts. Absent for version 1, and where a user's own prompts replace them.
pub const PROMPT_VERSION: &str = "prompt_version";
/// The version of the rules for faults of the simulated user. Absent for version 1.
pub const FAULT_RULES: &str = "fault_rules";
/// The id of the only judge.
pub const JUDGE: &str = "judge";
/// The ids of the judges of a panel.
pub const JUDGES: &str = "judges";
/// A hash of the definition of each metric.
pub const METRICS: &str = "metrics";
/// The checks of the judge.
pub const CHECKS: &str = "checks";
/// Among the checks: whether the judge has to give quotes with its verdict.
pub const QUOTES: &str = "quotes";
/// The judges that rate how realistic a conversation is.
pub const REALISM: &str = "realism";

/// The name of the simulator of `target` in the results of a manifest: `simulator:careful`.
#[must_use]
pub fn simulator(target: &str) -> String {
    format!("{SIMULATOR}:{target}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_settings_are_those_of_earlier_files() {
        let names = [
            EVALUATOR,
            SIMULATOR,
            SCORER,
            TARGET,
            USER,
            TURNS,
            SAMPLES,
            SEED,
            TOOLS,
            SCENARIOS,
            PROMPTS,
            PROMPT_VERSION,
            FAULT_RULES,
            JUDGE,
            JUDGES,
            METRICS,
            CHECKS,
            QUOTES,
            REALISM,
        ];
        assert_eq!(
            names.join(" "),
            "evaluator simulator scorer target user turns samples seed tools scenarios prompts prompt_version fault_rules judge judges \
             metrics checks quotes realism"
        );
        assert_eq!(simulator("careful"), "simulator:careful");
    }
}
