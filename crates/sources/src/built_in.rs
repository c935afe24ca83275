//! The built-in sources: each file of the catalogue with the code that runs it.

use std::sync::Arc;

use crate::{
    CatalogueError, Deps, Registry, Source,
    acris::Acris,
    catalogue::{Entry, FILES, parse},
    corporations::Corporations,
    deps::Shared,
    generic::SodaSource,
    subway::Subway,
};

/// Makes a source of an entry and what the registry's sources share.
type Build = fn(Entry, Arc<Shared>) -> Result<Arc<dyn Source>, String>;

/// The modules by the name a catalogue file gives.
const MODULES: &[(&str, Build)] = &[
    ("acris", |entry, shared| {
        Ok(Arc::new(Acris::new(entry, shared)?))
    }),
    ("corporations", |entry, shared| {
        Ok(Arc::new(Corporations::new(entry, shared)?))
    }),
    ("subway", |entry, shared| {
        Ok(Arc::new(Subway::new(entry, shared)))
    }),
];

pub(crate) fn registry(deps: Deps) -> Result<Registry, CatalogueError> {
    let shared = Arc::new(Shared::new(deps));
    let sources = FILES
        .iter()
        .map(|(key, text)| source(&format!("{key}.toml"), text, &shared))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Registry::new(sources))
}

pub(crate) fn source(
    file: &str,
    text: &str,
    shared: &Arc<Shared>,
) -> Result<Arc<dyn Source>, CatalogueError> {
    let entry = parse(file, text)?;
    let shared = Arc::clone(shared);
    let fault = |why: String| CatalogueError::Field {
        file: file.to_owned(),
        field: "module".to_owned(),
        why,
    };
    match entry.module.clone() {
        None => Ok(Arc::new(SodaSource::new(entry, shared))),
        Some(module) => {
            let (_, build) = MODULES
                .iter()
                .find(|(name, _)| *name == module)
                .ok_or_else(|| fault(format!("there is no module {module}")))?;
            build(entry, shared).map_err(fault)
        }
    }
}
