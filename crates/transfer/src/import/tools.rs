//! The tools of benchmarks that Probity exported.

use std::path::PathBuf;

use interop::import::SourceFile;
use schema::Tool;

/// The tools for `benchmark.yaml`.
#[derive(Debug, Default)]
pub(super) struct Offered {
    pub(super) tools: Vec<Tool>,
    pub(super) world_state: Option<String>,
}

/// The tools of all files and the state of their world. Unusable tools are reported in `notes` and removed from the sources.
pub(super) fn offered(sources: &mut [(PathBuf, SourceFile)], notes: &mut Vec<String>) -> Offered {
    let mut offered = Offered::default();
    for (_, source) in sources {
        let file = source.file.as_str();
        source
            .tools
            .retain(|tool| keep(&mut offered.tools, tool, file, notes));
        let Some(world) = source.world_state.take() else {
            continue;
        };
        match &offered.world_state {
            None => offered.world_state = Some(world),
            Some(known) if *known == world => {}
            Some(_) => notes.push(format!(
                "{file}: its `world_state` differs from that of the file before it, and was left out"
            )),
        }
    }
    offered
}

/// Whether the tool can be offered.
fn keep(tools: &mut Vec<Tool>, tool: &Tool, file: &str, notes: &mut Vec<String>) -> bool {
    let name = &tool.name;
    if let Err(why) = tool_schema::check_tool(tool) {
        notes.push(format!("{file}: the tool {name:?} was left out: {why}"));
        return false;
    }
    match tools.iter().find(|known| known.name == *name) {
        None => tools.push(tool.clone()),
        Some(known) if known == tool => {}
        Some(_) => notes.push(format!(
            "{file}: the tool {name:?} is defined differently before; the first definition counts"
        )),
    }
    true
}
