//! The script of the page: the modules of `assets/js` joined into one, so that the page needs no file beside it.
//!
//! Joining the modules only removes the imports and the word `export`. For this, the modules follow a few rules, which a test checks:
//! imports are `import {a, b} from "./x.js";` without renaming, names at the top level are unique over all modules, and there are no
//! default exports and no cycles.

use std::{collections::BTreeSet, sync::LazyLock};

/// A module: the name of its file, and its text.
type Module = (&'static str, &'static str);

/// All modules.
const MODULES: &[Module] = &[
    ("answers.js", include_str!("../../assets/js/answers.js")),
    ("columns.js", include_str!("../../assets/js/columns.js")),
    (
        "conversation.js",
        include_str!("../../assets/js/conversation.js"),
    ),
    ("diff.js", include_str!("../../assets/js/diff.js")),
    ("dom.js", include_str!("../../assets/js/dom.js")),
    ("filter.js", include_str!("../../assets/js/filter.js")),
    ("hits.js", include_str!("../../assets/js/hits.js")),
    ("inline.js", include_str!("../../assets/js/inline.js")),
    ("keys.js", include_str!("../../assets/js/keys.js")),
    ("label.js", include_str!("../../assets/js/label.js")),
    ("labels.js", include_str!("../../assets/js/labels.js")),
    ("live.js", include_str!("../../assets/js/live.js")),
    ("main.js", include_str!("../../assets/js/main.js")),
    ("markdown.js", include_str!("../../assets/js/markdown.js")),
    ("matrix.js", include_str!("../../assets/js/matrix.js")),
    (
        "model_mark.js",
        include_str!("../../assets/js/model_mark.js"),
    ),
    ("monitor.js", include_str!("../../assets/js/monitor.js")),
    ("own_label.js", include_str!("../../assets/js/own_label.js")),
    ("pick.js", include_str!("../../assets/js/pick.js")),
    ("prose.js", include_str!("../../assets/js/prose.js")),
    ("question.js", include_str!("../../assets/js/question.js")),
    ("quotes.js", include_str!("../../assets/js/quotes.js")),
    ("reasons.js", include_str!("../../assets/js/reasons.js")),
    (
        "rates_matrix.js",
        include_str!("../../assets/js/rates_matrix.js"),
    ),
    (
        "references.js",
        include_str!("../../assets/js/references.js"),
    ),
    ("router.js", include_str!("../../assets/js/router.js")),
    ("rows.js", include_str!("../../assets/js/rows.js")),
    ("scan.js", include_str!("../../assets/js/scan.js")),
    ("scenarios.js", include_str!("../../assets/js/scenarios.js")),
    ("search.js", include_str!("../../assets/js/search.js")),
    ("source.js", include_str!("../../assets/js/source.js")),
    ("swap.js", include_str!("../../assets/js/swap.js")),
    ("table.js", include_str!("../../assets/js/table.js")),
    ("text.js", include_str!("../../assets/js/text.js")),
    ("themes.js", include_str!("../../assets/js/themes.js")),
    (
        "transcript.js",
        include_str!("../../assets/js/transcript.js"),
    ),
    ("verdict.js", include_str!("../../assets/js/verdict.js")),
    ("words.js", include_str!("../../assets/js/words.js")),
];

/// The script of the page.
pub(super) fn script() -> &'static str {
    static SCRIPT: LazyLock<String> = LazyLock::new(|| join(MODULES));
    &SCRIPT
}

/// The modules as one script. A module comes after the modules that it imports.
fn join(modules: &[Module]) -> String {
    let mut joined = String::new();
    let mut done = BTreeSet::new();
    for module in modules {
        add(module, modules, &mut done, &mut joined);
    }
    joined
}

fn add(
    (name, text): &Module,
    modules: &[Module],
    done: &mut BTreeSet<&'static str>,
    joined: &mut String,
) {
    if !done.insert(name) {
        return;
    }
    let module = split(text);
    for import in &module.imports {
        if let Some(used) = modules.iter().find(|(name, _)| name == import) {
            add(used, modules, done, joined);
        }
    }
    joined.push_str(&module.rest);
}

/// A module without its imports and exports.
struct Split<'m> {
    /// The files that it imports.
    imports: Vec<&'m str>,
    /// The remaining text.
    rest: String,
}

fn split(text: &str) -> Split<'_> {
    let mut split = Split {
        imports: Vec::new(),
        rest: String::new(),
    };
    let mut in_import = false;
    for line in text.lines() {
        in_import |= line.starts_with("import ");
        if in_import {
            let file = line.split_once("from \"./");
            if let Some((file, _)) = file.and_then(|(_, rest)| rest.split_once('"')) {
                split.imports.push(file);
            }
            in_import = !line.ends_with(';');
            continue;
        }
        split
            .rest
            .push_str(line.strip_prefix("export ").unwrap_or(line));
        split.rest.push('\n');
    }
    split
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, fs, path::Path};

    use super::*;

    /// The name that a line at the top level of a module declares.
    fn declared(line: &str) -> Option<&str> {
        let item = line.strip_prefix("export ").unwrap_or(line);
        let line = item.strip_prefix("async ").unwrap_or(item);
        let kinds = ["function* ", "function ", "const ", "let ", "class "];
        let rest = kinds.iter().find_map(|kind| line.strip_prefix(kind))?;
        rest.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'))
            .next()
    }

    /// The violations of the rules in `modules`.
    fn broken(modules: &[Module]) -> Vec<String> {
        let mut broken = Vec::new();
        let mut names: BTreeMap<&str, &str> = BTreeMap::new();
        for (file, text) in modules {
            for name in text.lines().filter_map(declared) {
                if let Some(other) = names.insert(name, file) {
                    broken.push(format!("{file}: {name} is in {other} too"));
                }
            }
            for bad in [
                "export default",
                "export {",
                "export *",
                "import * ",
                " as ",
            ] {
                let is_bad = |line: &&str| {
                    (line.starts_with("import") || line.starts_with("export")) && line.contains(bad)
                };
                if let Some(line) = text.lines().find(is_bad) {
                    broken.push(format!("{file}: {line}"));
                }
            }
            for bad in ["</script", "<!--", "]]>"] {
                if text.to_lowercase().contains(bad) {
                    broken.push(format!("{file}: {bad} ends the script"));
                }
            }
            for import in split(text).imports {
                if !modules.iter().any(|(name, _)| *name == import) {
                    broken.push(format!("{file}: there is no {import}"));
                }
            }
        }
        for (file, _) in modules {
            if reaches(modules, file, file, &mut BTreeSet::new()) {
                broken.push(format!("{file}: imports itself by way of others"));
            }
        }
        broken
    }

    fn reaches<'m>(
        modules: &'m [Module],
        from: &str,
        to: &str,
        seen: &mut BTreeSet<&'m str>,
    ) -> bool {
        let Some((_, text)) = modules.iter().find(|(name, _)| *name == from) else {
            return false;
        };
        split(text)
            .imports
            .into_iter()
            .any(|file| file == to || (seen.insert(file) && reaches(modules, file, to, seen)))
    }

    #[test]
    fn the_modules_keep_to_the_rules() {
        assert_eq!(broken(MODULES), Vec::<String>::new());
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/js");
        for entry in fs::read_dir(folder).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let is_script = name.ends_with(".js");
            let is_known = MODULES.iter().any(|(file, _)| *file == name);
            assert!(!is_script || is_known, "{name} is not in MODULES");
        }
    }

    #[test]
    fn rules_that_are_broken_are_found() {
        for (modules, found) in [
            (
                [("a.js", "const x = 1;"), ("b.js", "export function x() {}")],
                "x is in a.js too",
            ),
            (
                [("a.js", "export default 1;"), ("b.js", "")],
                "export default",
            ),
            (
                [("a.js", "import {x as y} from \"./b.js\";"), ("b.js", "")],
                " as ",
            ),
            (
                [("a.js", "import {x} from \"./c.js\";"), ("b.js", "")],
                "there is no c.js",
            ),
            (
                [
                    ("a.js", "import {y} from \"./b.js\";"),
                    ("b.js", "import {\n  x,\n} from \"./a.js\";"),
                ],
                "imports itself",
            ),
            ([("a.js", "// </SCRIPT>"), ("b.js", "")], "ends the script"),
        ] {
            let broken = broken(&modules).join("\n");
            assert!(broken.contains(found), "{broken}");
        }
    }

    #[test]
    fn what_is_imported_comes_first() {
        let joined = join(&[
            (
                "main.js",
                "import {\n  one,\n  two,\n} from \"./lib.js\";\nimport {el} from \"./dom.js\";\none(el);\n",
            ),
            ("dom.js", "export const el = 1;\n"),
            (
                "lib.js",
                "import {el} from \"./dom.js\";\n\nexport function one() {\n  return el;\n}\nexport class two {}\n",
            ),
        ]);
        assert_eq!(
            joined,
            "const el = 1;\n\nfunction one() {\n  return el;\n}\nclass two {}\none(el);\n"
        );
    }
}
