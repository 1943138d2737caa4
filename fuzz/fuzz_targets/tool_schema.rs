//! The JSON schema of a tool, and the arguments of a call.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| probity_fuzz::read(parsers::Parser::ToolSchema, input));
