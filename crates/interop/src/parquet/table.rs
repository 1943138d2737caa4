//! A table of a Parquet file, whose rows are written in groups.

use std::{borrow::Cow, path::PathBuf, sync::Arc};

use jiff::Timestamp;
use parquet::{
    basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical, ZstdLevel},
    data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type},
    errors::{ParquetError, Result},
    file::{
        properties::WriterProperties,
        writer::{SerializedColumnWriter, SerializedFileWriter},
    },
    schema::types::{Type, TypePtr},
};

use crate::{ExportError, OutFile};

/// The most rows of a group.
const GROUP_ROWS: usize = 10_000;
/// The most bytes of texts of a group, beyond its last row.
const GROUP_BYTES: usize = 32 << 20;

/// A column of rows `R`. Each value may be absent.
pub(super) struct Column<R> {
    name: &'static str,
    /// What it holds, in words.
    about: &'static str,
    value: Get<R>,
}

/// The value of a column in a row.
enum Get<R> {
    Text(fn(&R) -> Option<Cow<'_, str>>),
    Flag(fn(&R) -> Option<bool>),
    Count(fn(&R) -> Option<u64>),
    Number(fn(&R) -> Option<f64>),
    Time(fn(&R) -> Option<Timestamp>),
}

impl<R> Column<R> {
    pub(super) fn text(
        name: &'static str,
        about: &'static str,
        value: fn(&R) -> Option<Cow<'_, str>>,
    ) -> Self {
        Self::of(name, about, Get::Text(value))
    }

    pub(super) fn flag(
        name: &'static str,
        about: &'static str,
        value: fn(&R) -> Option<bool>,
    ) -> Self {
        Self::of(name, about, Get::Flag(value))
    }

    pub(super) fn count(
        name: &'static str,
        about: &'static str,
        value: fn(&R) -> Option<u64>,
    ) -> Self {
        Self::of(name, about, Get::Count(value))
    }

    pub(super) fn number(
        name: &'static str,
        about: &'static str,
        value: fn(&R) -> Option<f64>,
    ) -> Self {
        Self::of(name, about, Get::Number(value))
    }

    pub(super) fn time(
        name: &'static str,
        about: &'static str,
        value: fn(&R) -> Option<Timestamp>,
    ) -> Self {
        Self::of(name, about, Get::Time(value))
    }

    fn of(name: &'static str, about: &'static str, value: Get<R>) -> Self {
        Self { name, about, value }
    }

    /// Its name, its type and what it holds.
    pub(super) fn described(&self) -> [&'static str; 3] {
        let kind = match self.value {
            Get::Text(_) => "string",
            Get::Flag(_) => "bool",
            Get::Count(_) => "int64",
            Get::Number(_) => "float64",
            Get::Time(_) => "timestamp",
        };
        [self.name, kind, self.about]
    }

    fn empty(&self) -> Values {
        match self.value {
            Get::Text(_) => Values::Text(Vec::new()),
            Get::Flag(_) => Values::Flag(Vec::new()),
            Get::Count(_) => Values::Integer(Vec::new()),
            Get::Number(_) => Values::Number(Vec::new()),
            Get::Time(_) => Values::Integer(Vec::new()),
        }
    }

    fn physical(&self) -> Result<TypePtr> {
        let (physical, logical) = match self.value {
            Get::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Get::Flag(_) => (Physical::BOOLEAN, None),
            Get::Count(_) => (Physical::INT64, None),
            Get::Number(_) => (Physical::DOUBLE, None),
            Get::Time(_) => (
                Physical::INT64,
                Some(LogicalType::timestamp(true, TimeUnit::MILLIS)),
            ),
        };
        let column = Type::primitive_type_builder(self.name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical)
            .build()?;
        Ok(Arc::new(column))
    }
}

/// The values of a column in a group that is not written yet, without those that are absent.
enum Values {
    Text(Vec<ByteArray>),
    Flag(Vec<bool>),
    Integer(Vec<i64>),
    Number(Vec<f64>),
}

#[derive(Default)]
struct Group {
    columns: Vec<Values>,
    /// Of each column and row: 1 for a value, 0 where it is absent.
    levels: Vec<Vec<i16>>,
    rows: usize,
    bytes: usize,
}

/// A file with one table.
pub(super) struct Table {
    path: PathBuf,
    file: SerializedFileWriter<OutFile>,
    group: Group,
    rows: u64,
}

impl Table {
    /// Creates the file that will be `path`, with these columns.
    pub(super) fn new<R>(
        path: PathBuf,
        name: &str,
        columns: &[Column<R>],
    ) -> std::result::Result<Self, ExportError> {
        let out = OutFile::create(&path)?;
        let make = || -> Result<SerializedFileWriter<OutFile>> {
            let fields = columns.iter().map(Column::physical);
            let schema = Type::group_type_builder(name)
                .with_fields(fields.collect::<Result<_>>()?)
                .build()?;
            let compression = Compression::ZSTD(ZstdLevel::try_new(3)?);
            let properties = WriterProperties::builder()
                .set_compression(compression)
                .set_created_by(concat!("probity version ", env!("CARGO_PKG_VERSION")).to_owned())
                .build();
            SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))
        };
        match make() {
            Ok(file) => Ok(Self {
                path,
                file,
                group: Group::default(),
                rows: 0,
            }),
            Err(error) => Err(failed(&path, error)),
        }
    }

    /// How many rows it has.
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// Adds a row. `columns` are those that it was created with.
    pub(super) fn push<R>(
        &mut self,
        columns: &[Column<R>],
        row: &R,
    ) -> std::result::Result<(), ExportError> {
        self.group.push(columns, row);
        self.rows += 1;
        if self.group.rows >= GROUP_ROWS || self.group.bytes >= GROUP_BYTES {
            self.write_group()?;
        }
        Ok(())
    }

    fn write_group(&mut self) -> std::result::Result<(), ExportError> {
        let group = std::mem::take(&mut self.group);
        if group.rows == 0 {
            return Ok(());
        }
        group
            .write(&mut self.file)
            .map_err(|error| failed(&self.path, error))
    }

    /// Ends the file, and gives it its name.
    pub(super) fn keep(mut self) -> std::result::Result<PathBuf, ExportError> {
        self.write_group()?;
        let out = self
            .file
            .into_inner()
            .map_err(|error| failed(&self.path, error))?;
        out.keep()
    }
}

impl Group {
    fn push<R>(&mut self, columns: &[Column<R>], row: &R) {
        if self.columns.is_empty() {
            self.columns = columns.iter().map(Column::empty).collect();
            self.levels = vec![Vec::new(); columns.len()];
        }
        let places = self.columns.iter_mut().zip(&mut self.levels);
        for (column, (values, levels)) in columns.iter().zip(places) {
            let is_there = match (&column.value, values) {
                (Get::Text(get), Values::Text(values)) => {
                    let text = get(row).map(|text| ByteArray::from(text.as_bytes().to_vec()));
                    self.bytes += text.as_ref().map_or(0, ByteArray::len);
                    add(values, text)
                }
                (Get::Flag(get), Values::Flag(values)) => add(values, get(row)),
                (Get::Count(get), Values::Integer(values)) => {
                    add(values, get(row).and_then(|count| count.try_into().ok()))
                }
                (Get::Number(get), Values::Number(values)) => add(values, get(row)),
                (Get::Time(get), Values::Integer(values)) => {
                    add(values, get(row).map(Timestamp::as_millisecond))
                }
                // `empty` makes values of the column's own kind.
                _ => false,
            };
            levels.push(is_there.into());
        }
        self.rows += 1;
    }

    fn write(&self, file: &mut SerializedFileWriter<OutFile>) -> Result<()> {
        let mut group = file.next_row_group()?;
        for (values, levels) in self.columns.iter().zip(&self.levels) {
            let Some(mut column) = group.next_column()? else {
                break;
            };
            write_column(&mut column, values, levels)?;
            column.close()?;
        }
        group.close()?;
        Ok(())
    }
}

/// Adds a value, if there is one, and says whether there is.
fn add<T>(values: &mut Vec<T>, value: Option<T>) -> bool {
    let is_there = value.is_some();
    values.extend(value);
    is_there
}

fn write_column(
    column: &mut SerializedColumnWriter<'_>,
    values: &Values,
    levels: &[i16],
) -> Result<()> {
    let levels = Some(levels);
    match values {
        Values::Text(values) => column
            .typed::<ByteArrayType>()
            .write_batch(values, levels, None)?,
        Values::Flag(values) => column
            .typed::<BoolType>()
            .write_batch(values, levels, None)?,
        Values::Integer(values) => column
            .typed::<Int64Type>()
            .write_batch(values, levels, None)?,
        Values::Number(values) => column
            .typed::<DoubleType>()
            .write_batch(values, levels, None)?,
    };
    Ok(())
}

fn failed(path: &std::path::Path, error: ParquetError) -> ExportError {
    let error = match error {
        ParquetError::External(error) => match error.downcast::<std::io::Error>() {
            Ok(error) => *error,
            Err(error) => std::io::Error::other(error),
        },
        error => std::io::Error::other(error),
    };
    ExportError::write(path, error)
}
