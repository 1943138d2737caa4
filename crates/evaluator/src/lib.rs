//! From a conversation to scores: a judge reads the transcript
