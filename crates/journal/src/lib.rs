//! The run journal: append and read
