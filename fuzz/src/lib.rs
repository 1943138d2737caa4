//! What all fuzz targets have in common: an input becomes a file of a parser.

use std::{env, fs, panic, process, sync::OnceLock, thread};

use parsers::{Parser, Parsers};

/// Gives `input` to a parser.
///
/// # Panics
/// When the parser panics, or no file can be written into the folder for temporary files.
pub fn read(parser: Parser, input: &[u8]) {
    static PARSERS: OnceLock<Parsers> = OnceLock::new();
    let parsers = PARSERS.get_or_init(begin);
    let (name, bytes) = parsers::from_input(parser, input);
    parsers
        .read(parser, &name, bytes)
        .expect("a file for the parser");
}

/// The parsers of this process, with a folder of its own.
fn begin() -> Parsers {
    // The panics of this thread are faults of a file, which its parser reports: they are no end of the process.
    let others = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if thread::current().name() != Some(probity::READER_THREAD) {
            others(info);
        }
    }));
    let folder = env::temp_dir().join(format!("probity-fuzz-{}", process::id()));
    fs::create_dir_all(&folder).expect("a folder for the parsers");
    Parsers::new(folder).expect("the parsers")
}
