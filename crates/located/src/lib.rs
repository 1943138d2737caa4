//! Texts that people and programs write, with the line and column of every part.
//!
//! - [`Node`]: a YAML or TOML text as a tree with locations. [`YamlError`] and [`TomlError`] say why there is none; a [`YamlError`] also
//!   explains why a typed read of a YAML text failed.
//! - [`json`]: the rows of a large JSON list one at a time, a JSON value with its duplicate keys, and the locations of values.
//! - [`mod@pointer`]: the names of values in a text, for programs and for people.
//!
//! ```
//! use located::{Node, NodeValue};
//!
//! let root = Node::yaml("targets:\n- gpt\n")?;
//! let NodeValue::Table(entries) = root.value else { panic!("a table") };
//! let (key, targets) = &entries[0];
//! assert_eq!((key.name.as_str(), key.location.line, targets.location.line), ("targets", 1, 2));
//! # Ok::<(), located::YamlError>(())
//! ```
//!
//! # Limits
//! - It reads texts, not files: the crate `files` opens those.
//! - It finds parts and changes none. `benchmark.yaml` is edited by `store::yaml_edit`.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod json;
mod location;
mod node;
pub mod pointer;
mod toml;
mod yaml;

pub use self::toml::TomlError;
pub use location::SourceLocation;
pub use node::{Key, Node, NodeValue};
pub use yaml::{YamlError, line_of};
