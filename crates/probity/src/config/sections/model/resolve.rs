//! What a model's table or text means: its route and its id.

use llm_client::{ProviderPreset, is_secretive, wire_name};
use schema::{ModelId, nearest};

use super::{Model, ModelEntry, ModelTable, NO_ID, Part, Route, SCRIPTED};
use crate::config::{error::KeyPlace, read::Problems, text::Text, vars::Vars};

impl Model {
    /// Determines route and id.
    pub fn resolve(self, part: Part, vars: &Vars, problems: &mut Problems) -> Option<ModelEntry> {
        let mut resolver = Resolver {
            part,
            vars,
            problems,
        };
        match self {
            Self::Table(table) => resolver.table(*table),
            Self::Text(text) => resolver.text(text),
        }
    }
}

struct Resolver<'a> {
    part: Part,
    vars: &'a Vars,
    problems: &'a mut Problems,
}

impl Resolver<'_> {
    /// The text with its variables, which must be known at this point.
    fn resolved(&mut self, text: &Text) -> Option<String> {
        let resolved = text
            .resolve(self.vars)
            .map_err(|error| self.problems.errors.extend(error.into_problems()));
        resolved.ok()
    }

    fn text(&mut self, model: Text) -> Option<ModelEntry> {
        let name = self.resolved(&model)?;
        let Some((source, _)) = name.split_once('/') else {
            let reason =
                format!("no source for `{name}`; write source/model, such as openai/{name}");
            self.problems.error(&model.place, reason);
            return None;
        };
        let route = self.route(&model.place, source, false)?;
        Some(ModelEntry {
            path: model.place.key.clone(),
            id: self.id(&model.place, wire_name(source, &name), NO_ID)?,
            route,
            source: Some(source.to_owned()),
            model,
            table: ModelTable::default(),
        })
    }

    /// Whether what stands for a model here could not be read: that is the mistake, and not that there is no model.
    fn has_misread(&self, place: &KeyPlace) -> bool {
        let stand_ins = ["http", "command", "python"].map(|key| format!("{}.{key}", place.key));
        let mut errors = self.problems.errors.iter();
        errors.any(|error| stand_ins.iter().any(|key| error.place.key.starts_with(key)))
    }

    /// Each key is checked regardless of mistakes in the others, so that all mistakes are reported at once.
    fn table(&mut self, mut table: ModelTable) -> Option<ModelEntry> {
        let place = table.place.clone();
        let stands_for = match (&table.http, &table.python) {
            (Some(http), _) => Some(http.url.clone()),
            (None, Some(file)) => Some(file.raw.clone()),
            (None, None) => {
                let words = table.command.iter().map(|word| word.raw.as_str());
                table
                    .is_program()
                    .then(|| words.collect::<Vec<_>>().join(" "))
            }
        };
        if let Some(raw) = stands_for {
            self.check_own(&table);
            table.model.get_or_insert_with(|| Text {
                raw,
                place: place.clone(),
            });
        }
        if table.model.is_none() {
            if self.has_misread(&place) {
                return None;
            }
            let reason = "missing key `model`, the model's name at the endpoint";
            self.problems.error(&place, reason);
        }
        // An address or a name with missing variables is reported when the model is used; here the name only determines defaults.
        if let Some(url) = &table.base_url
            && let Ok(resolved) = url.0.resolve(self.vars)
            && let Err(error) = url.check(&resolved)
        {
            self.problems.errors.extend(error.into_problems());
        }
        let name = table
            .model
            .as_ref()
            .map(|model| model.resolve(self.vars).unwrap_or(model.raw.clone()));
        let route = self.route_of_table(&table, name.as_deref());
        let source = route.as_ref().and_then(|(_, source)| source.as_deref());
        let wire = name
            .as_deref()
            .map(|name| source.map_or(name, |source| wire_name(source, name)));
        if wire.is_some_and(|wire| wire.trim().is_empty()) {
            self.problems.error(&place, "`model` is empty");
            return None;
        }
        let wire = wire.filter(|_| table.http.is_none() && !table.is_program());
        let id = match (&table.id, wire) {
            (Some(id), _) => self
                .resolved(id)
                .and_then(|text| self.id(&id.place, &text, "")),
            (None, Some(wire)) => self.id(&place, wire, NO_ID),
            // A judge is named for its file.
            (None, None) if table.is_program() && self.part == Part::Role => {
                self.id(&place, &table.stem(), NO_ID)
            }
            (None, None) => None,
        };
        let (route, source) = route?;
        // Records must have the version itself; one with a missing variable is reported when the model is used.
        if let Some(version) = &mut table.version
            && let Ok(resolved) = version.resolve(self.vars)
        {
            version.raw = resolved;
        }
        Some(ModelEntry {
            path: place.key,
            id: id?,
            model: table.model.clone()?,
            route,
            source,
            table,
        })
    }

    /// Checks a table of an application or a program: it has an id, and no other route.
    fn check_own(&mut self, table: &ModelTable) {
        let place = &table.place;
        let given = [
            ("http", table.http.is_some()),
            ("command", !table.command.is_empty()),
            ("python", table.python.is_some()),
        ];
        let mut keys = given.iter().filter(|(_, given)| *given);
        let own = keys.next().map_or("http", |(key, _)| key);
        if keys.next().is_some() {
            let reason = "only one of `http`, `command` and `python` can answer";
            self.problems.error(place, reason);
        }
        if table.http.is_some() && self.part != Part::Target {
            let reason =
                "only a target can be an application; `http` is not for models with other roles";
            self.problems.error(place, reason);
        }
        if table.id.is_none() && self.part == Part::Target {
            let reason = "missing key `id`, your name for it";
            self.problems.error(place, reason);
        }
        let others = [
            ("source", table.source.is_some()),
            ("base_url", table.base_url.is_some()),
            ("api", table.api.is_some()),
            ("apikey", table.apikey.is_some()),
            ("extra_headers", !table.extra_headers.is_empty()),
            ("extra_body", !table.extra_body.is_empty()),
        ];
        for (key, _) in others.iter().filter(|(_, given)| *given) {
            let reason = format!("`{key}` has no meaning beside `{own}`");
            self.problems.error(place, reason);
        }
        for word in &table.command {
            if let Some(name) = secret_variable(&word.raw) {
                let reason = format!(
                    "the variable {name} looks like a secret, and everybody can read the arguments of a program; pass it by `env`"
                );
                self.problems.error(&word.place, reason);
            }
        }
    }

    fn route_of_table(
        &mut self,
        table: &ModelTable,
        name: Option<&str>,
    ) -> Option<(Route, Option<String>)> {
        if table.http.is_some() || table.is_program() {
            return Some((Route::Endpoint, None));
        }
        let has_base_url = table.base_url.is_some();
        if let Some(source) = &table.source {
            let name = self.resolved(source)?;
            return Some((self.route(&source.place, &name, has_base_url)?, Some(name)));
        }
        if has_base_url {
            return name.map(|_| (Route::Endpoint, None));
        }
        let prefix = name?.split_once('/').map(|(prefix, _)| prefix);
        match prefix.and_then(|prefix| Some((known_route(prefix)?, prefix))) {
            Some((route, prefix)) => Some((route, Some(prefix.to_owned()))),
            None => {
                let reason =
                    "neither `source` nor `base_url` is set; add one, such as `source: openai`";
                self.problems.error(&table.place, reason);
                None
            }
        }
    }

    fn route(&mut self, place: &KeyPlace, source: &str, has_base_url: bool) -> Option<Route> {
        if let Some(route) = known_route(source) {
            return Some(route);
        }
        let mut names = ProviderPreset::ALL.map(ProviderPreset::name).to_vec();
        names.push(SCRIPTED);
        let meant = nearest(source, names.iter().copied());
        // With a `base_url` the source is only a name.
        if has_base_url && meant.is_none() {
            let reason = format!("unknown source `{source}`; only `base_url` is used");
            self.problems.warn(place, reason);
            return Some(Route::Endpoint);
        }
        let hint = match meant {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!(
                "known sources: {}; for any other, set `base_url`",
                names.join(", ")
            ),
        };
        let reason = format!("unknown source `{source}`; {hint}");
        self.problems.error(place, reason);
        None
    }

    /// Checks and returns the id `text`. An error begins with `lead`.
    fn id(&mut self, place: &KeyPlace, text: &str, lead: &str) -> Option<ModelId> {
        let id = ModelId::new(text).and_then(|id| match self.part {
            Part::Target => id.check_folder_name().map(|()| id),
            Part::Role => Ok(id),
        });
        id.map_err(|error| self.problems.error(place, format!("{lead}{error}")))
            .ok()
    }
}

/// A variable of the text whose name says that its value is a secret.
fn secret_variable(text: &str) -> Option<&str> {
    let names = text.split("${").skip(1);
    names
        .filter_map(|from| from.split_once('}').map(|(name, _)| name))
        .find(|name| is_secretive(name))
}

fn known_route(source: &str) -> Option<Route> {
    if source.eq_ignore_ascii_case(SCRIPTED) {
        Some(Route::Scripted)
    } else {
        ProviderPreset::parse(source).ok().map(Route::Source)
    }
}
