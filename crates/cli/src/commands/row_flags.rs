//! Flags that choose rows with their verdicts.

use clap::{Args, ValueEnum};
use probity::{RowCondition, RowFilter};

/// Some of the rows, and how many.
#[derive(Clone, Debug, Default, Args)]
pub struct RowFlags {
    #[command(flatten)]
    conditions: RowConditions,
    /// The first N rows of each target
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
}

impl RowFlags {
    /// What the flags choose.
    pub fn filter(&self) -> RowFilter {
        RowFilter {
            limit: self.limit,
            ..self.conditions.filter()
        }
    }
}

/// Some of the rows.
#[derive(Clone, Debug, Default, Args)]
pub struct RowConditions {
    /// Only this metric
    #[arg(long, value_name = "ID")]
    metric: Option<String>,
    /// Only this scenario
    #[arg(long, value_name = "ID")]
    scenario: Option<String>,
    /// Only rows with this verdict
    #[arg(long, value_enum)]
    verdict: Option<Verdict>,
    /// Only rows for which this condition holds, such as tags=hard; can be repeated
    #[arg(long, value_name = "CONDITION")]
    filter: Vec<RowCondition>,
}

/// The verdicts of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Verdict {
    /// The target passed
    Pass,
    /// The target failed
    Fail,
    /// There is no verdict
    None,
}

impl RowConditions {
    /// What the flags choose.
    pub fn filter(&self) -> RowFilter {
        let verdict = self.verdict.map(|verdict| match verdict {
            Verdict::Pass => "pass",
            Verdict::Fail => "fail",
            Verdict::None => "none",
        });
        let values = [
            ("metric", self.metric.as_deref()),
            ("scenario", self.scenario.as_deref()),
            ("verdict", verdict),
        ];
        RowFilter::of(&values, &self.filter, None)
    }
}
