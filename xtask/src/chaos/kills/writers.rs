//! The commands that write.

use super::grounds::Ground;
use crate::chaos::project::TREE;

/// Commands that write, one after the other in one project.
pub(super) struct Writer {
    pub(super) name: &'static str,
    pub(super) commands: &'static [&'static [&'static str]],
    pub(super) ground: Ground,
    /// What they write, below the project.
    pub(super) out: &'static str,
    /// The folder whose records they write, if its rules are checked.
    pub(super) records: Option<&'static str>,
    /// Where the work is split: the command that does it alone, and what that one writes.
    pub(super) whole: Option<(&'static [&'static str], &'static str)>,
}

impl Writer {
    /// Whether they call models.
    pub(super) fn calls(&self) -> bool {
        self.ground != Ground::Finished
    }
}

/// One command that writes the file or folder `out`.
const fn filing(
    name: &'static str,
    command: &'static [&'static [&'static str]],
    out: &'static str,
) -> Writer {
    Writer {
        name,
        commands: command,
        ground: Ground::Finished,
        out,
        records: None,
        whole: None,
    }
}

/// One command that calls models and writes the tree.
const fn calling(
    name: &'static str,
    command: &'static [&'static [&'static str]],
    ground: Ground,
) -> Writer {
    Writer {
        name,
        commands: command,
        ground,
        out: TREE,
        records: Some("."),
        whole: None,
    }
}

/// The words of a safety evaluation of one target.
macro_rules! safety {
    ($mode:literal $(, $more:literal)*) => {
        &[
            "safety", $mode, "--quiet", "--target", "careful", "--test-case-groups", "privacy,benign-control", "--overwrite" $(, $more)*
        ]
    };
}

const SINGLE_TURN: &[&str] = safety!("single-turn", "--output-file", "out.json");
const RUN: &[&str] = &["run", "bench", "--quiet"];
const MERGE: &[&str] = &[
    "merge",
    "whole",
    "shards/1-of-2",
    "shards/2-of-2",
    "--force",
    "--quiet",
];

/// The commands that call models.
const CALLING: [Writer; 9] = [
    calling("run", &[RUN], Ground::Description),
    Writer {
        // Without a run of its rows, its journal has none to compare.
        records: None,
        ..calling(
            "gen-metrics",
            &[&["gen-metrics", "bench", "--quiet"]],
            Ground::Description,
        )
    },
    calling(
        "run --until-width",
        &[&["run", "bench", "--quiet", "--until-width", "0.9"]],
        Ground::Scenarios,
    ),
    calling(
        "simulate",
        &[&["simulate", "bench", "--quiet"]],
        Ground::Scenarios,
    ),
    calling(
        "evaluate",
        &[&["evaluate", "bench", "--quiet"]],
        Ground::Conversations,
    ),
    Writer {
        out: "out.json",
        records: None,
        ..calling("safety single-turn", &[SINGLE_TURN], Ground::Scenarios)
    },
    Writer {
        out: "out.json",
        records: None,
        ..calling(
            "safety multi-turn",
            &[safety!("multi-turn", "--output-file", "out.json")],
            Ground::Scenarios,
        )
    },
    Writer {
        out: "whole/benchmarks",
        records: Some("whole"),
        whole: Some((RUN, TREE)),
        ..calling(
            "run --shard, merge",
            &[
                &["run", "bench", "--quiet", "--shard", "1/2"],
                &["run", "bench", "--quiet", "--shard", "2/2"],
                MERGE,
            ],
            Ground::Scenarios,
        )
    },
    Writer {
        out: "out.json",
        records: None,
        whole: Some((SINGLE_TURN, "out.json")),
        ..calling(
            "safety --shard, merge",
            &[
                safety!("single-turn", "--shard", "1/2"),
                safety!("single-turn", "--shard", "2/2"),
                MERGE,
                safety!(
                    "single-turn",
                    "--output-file",
                    "out.json",
                    "--benchmarks",
                    "whole/benchmarks"
                ),
            ],
            Ground::Scenarios,
        )
    },
];

/// The commands that only read and write files.
const FILING: [Writer; 13] = [
    filing("aggregate", &[&["aggregate", "bench", "--quiet"]], TREE),
    filing(
        "label --import",
        &[&["label", "bench", "--quiet", "--import", "labels.csv"]],
        TREE,
    ),
    filing(
        "baseline",
        &[&["baseline", "bench", "--quiet", "--out", "out.json"]],
        "out.json",
    ),
    filing(
        "export csv",
        &[&["export", "csv", "bench", "--quiet", "--out", "out"]],
        "out",
    ),
    filing(
        "export jsonl",
        &[&["export", "jsonl", "bench", "--quiet", "--out", "out"]],
        "out",
    ),
    filing(
        "export parquet",
        &[&["export", "parquet", "bench", "--quiet", "--out", "out"]],
        "out",
    ),
    filing(
        "export petri",
        &[&["export", "petri", "bench", "--quiet", "--out", "out"]],
        "out",
    ),
    filing(
        "export inspect",
        &[&["export", "inspect", "bench", "--quiet", "--out", "out"]],
        "out",
    ),
    filing(
        "journal rebuild",
        &[&["journal", "rebuild", "bench", "--quiet", "--out", "out"]],
        "out",
    ),
    filing(
        "pack",
        &[&["pack", "--quiet", "--out", "out.cassette"]],
        "out.cassette",
    ),
    filing(
        "replay",
        &[&["replay", "run.cassette", "--quiet", "--out", "out"]],
        "out/benchmarks",
    ),
    filing(
        "import tree",
        &[&["import", "tree", "theirs", "--quiet", "--as", "mine"]],
        TREE,
    ),
    filing(
        "import data",
        &[&[
            "import",
            "data",
            "prompts.csv",
            "--quiet",
            "--as",
            "mine",
            "--definition",
            "The answer is right.",
            "--metric-type",
            "positive",
        ]],
        TREE,
    ),
];

/// All of them.
pub(super) fn all() -> impl Iterator<Item = &'static Writer> {
    static ALL: ([Writer; 9], [Writer; 13]) = (CALLING, FILING);
    ALL.0.iter().chain(&ALL.1)
}
