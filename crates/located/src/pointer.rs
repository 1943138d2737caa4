//! JSON pointers (RFC 6901), and key paths for people.

/// `pointer` followed by the key `key`.
#[must_use]
pub fn key(pointer: &str, key: &str) -> String {
    format!("{pointer}/{}", escaped(key))
}

/// `pointer` followed by the index `index`.
#[must_use]
pub fn index(pointer: &str, index: usize) -> String {
    format!("{pointer}/{index}")
}

/// A key as it is written in pointers.
#[must_use]
pub fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// `/metrics/0/type` for people: `metrics[0].type`. `row` is the index of the row in which the pointer begins.
///
/// ```
/// assert_eq!(located::pointer::shown(Some(3), "/tools/1"), "[3].tools[1]");
/// ```
#[must_use]
pub fn shown(row: Option<u64>, pointer: &str) -> String {
    let mut path = row.map(|row| format!("[{row}]")).unwrap_or_default();
    for part in pointer.split('/').skip(1) {
        if !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()) {
            path.push_str(&format!("[{part}]"));
            continue;
        }
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(&part.replace("~1", "/").replace("~0", "~"));
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_are_shown_as_key_paths() {
        assert_eq!(shown(None, ""), "");
        assert_eq!(shown(None, "/metrics/0/type"), "metrics[0].type");
        assert_eq!(shown(Some(3), "/a~1b/1/c~0"), "[3].a/b[1].c~");
        assert_eq!(key(&index("/a", 2), "x/y"), "/a/2/x~1y");
    }
}
