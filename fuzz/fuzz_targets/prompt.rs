//! A prompt template of a benchmark or a project.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| probity_fuzz::read(parsers::Parser::Prompt, input));
