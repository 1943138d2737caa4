//! The rows of a Parquet file.

use std::path::Path;

use parquet::{
    basic::{Compression, ConvertedType},
    errors::{ParquetError, Result},
    file::reader::{FileReader, SerializedFileReader},
    record::Row,
};
use schema::Extra;
use serde_json::Value;

/// The thread that reads the files of others. The library asserts what it expects of a page, which a damaged file can break: a panic there
/// is the file's fault.
pub const READER_THREAD: &str = "parquet reader";

/// Whether the file is one by its name.
pub(super) fn is_parquet(path: &Path) -> bool {
    path.extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("parquet"))
}

/// The rows, each with its place: `row 2`. A value that is null is absent, and bytes are texts in Base64.
///
/// # Errors
/// When the bytes are no Parquet file, or have a column of a type that is not read.
pub(super) fn rows(bytes: Vec<u8>) -> std::result::Result<Vec<(String, Extra)>, String> {
    let reader = std::thread::Builder::new()
        .name(READER_THREAD.to_owned())
        .spawn(move || read(bytes))
        .map_err(|error| format!("no thread could be started to read it: {error}"))?;
    match reader.join() {
        Ok(Ok(rows)) => Ok(rows),
        Ok(Err(error)) => Err(format!("cannot be read as Parquet: {}", words(&error))),
        Err(_) => Err("cannot be read as Parquet: it is damaged".to_owned()),
    }
}

fn read(bytes: Vec<u8>) -> Result<Vec<(String, Extra)>> {
    let file = SerializedFileReader::new(bytes::Bytes::from(bytes))?;
    let columns = file.metadata().file_metadata().schema_descr_ptr();
    let interval = columns
        .columns()
        .iter()
        .find(|column| column.converted_type() == ConvertedType::INTERVAL);
    if let Some(column) = interval {
        let reason = format!("the column {} is an interval of time", column.path());
        return Err(ParquetError::General(reason));
    }
    let groups = file.metadata().row_groups().iter();
    let unread = groups.flat_map(|group| group.columns()).find(|column| {
        use Compression::{GZIP, SNAPPY, UNCOMPRESSED, ZSTD};
        !matches!(
            column.compression(),
            UNCOMPRESSED | SNAPPY | GZIP(_) | ZSTD(_)
        )
    });
    if let Some(column) = unread {
        let codec = format!("{:?}", column.compression());
        let name = codec.split('(').next().unwrap_or_default();
        let reason = format!("it is compressed by {name}; write it with Snappy, gzip or Zstandard");
        return Err(ParquetError::General(reason));
    }
    let rows = (1_u64..).zip(file.get_row_iter(None)?);
    rows.map(|(number, row)| Ok((format!("row {number}"), object(&row?))))
        .collect()
}

fn object(row: &Row) -> Extra {
    match row.to_json_value() {
        Value::Object(mut row) => {
            row.retain(|_, value| !value.is_null());
            row.into_iter().collect()
        }
        _ => Extra::new(),
    }
}

fn words(error: &ParquetError) -> String {
    match error {
        ParquetError::General(text) | ParquetError::EOF(text) | ParquetError::NYI(text) => {
            text.clone()
        }
        error => error.to_string(),
    }
}
