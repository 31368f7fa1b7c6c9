//! Circles of imports between the files of one crate.
//!
//! ```text
//!  modules: names, `use`, paths ─► imports: file → files, by the name that leads there ─► circles
//! ```
//!
//! A re-export leads to the file that defines the item, so a parent that only re-exports an item is not imported by who
//! takes the item from there. A module by itself is no import: what is named through it is.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

/// A module of a crate, as its text declares it.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// Names from the crate's root to the module; empty for the root.
    pub path: Vec<String>,
    /// File that holds the module.
    pub file: String,
    /// Names of the items that the module defines.
    pub items: BTreeSet<String>,
    /// Names that `use` brings in, and the path of each as written.
    pub bindings: BTreeMap<String, Vec<String>>,
    /// Paths in front of `::*`, as written.
    pub globs: Vec<Vec<String>>,
    /// Paths that the module's code names, those of private `use` included; `*` at the end stands for all of a module.
    pub mentions: BTreeSet<Vec<String>>,
}

/// For each file the files that it imports from, and a path that leads there.
pub type Imports = BTreeMap<String, BTreeMap<String, String>>;

/// Files that import each other in a circle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circle {
    /// Each file and the path by which it imports from the next; the last one imports from the first.
    pub steps: Vec<(String, String)>,
}

impl fmt::Display for Circle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (file, path) in &self.steps {
            write!(f, "{file} ({path}) → ")?;
        }
        f.write_str(self.steps.first().map_or("", |(file, _)| file))
    }
}

/// Where a path leads inside the crate.
enum Place<'m> {
    Module(&'m Module),
    /// An item, in the module that defines it.
    Item(&'m Module),
    Foreign,
}

/// Longest chain of re-exports that is followed; a longer one names itself.
const MOST_STEPS: usize = 64;

struct Names<'m>(BTreeMap<&'m [String], &'m Module>);

impl<'m> Names<'m> {
    fn child(&self, module: &Module, name: &str) -> Option<&'m Module> {
        let path: Vec<_> = module.path.iter().cloned().chain([name.into()]).collect();
        self.0.get(&path[..]).copied()
    }

    /// What `path`, written in `module`, names.
    fn resolve(&self, module: &'m Module, path: &[String], steps: usize) -> Place<'m> {
        let Some((first, rest)) = path.split_first() else {
            return Place::Module(module);
        };
        let start = match first.as_str() {
            "crate" => self.0.get(&[][..]),
            "self" => Some(&module),
            "super" => {
                let parent = module.path.split_last().map(|(_, parent)| parent);
                parent.and_then(|parent| self.0.get(parent))
            }
            _ => return self.find(module, path, steps).unwrap_or(Place::Foreign),
        };
        match (start, rest.first().map(String::as_str)) {
            (None, _) => Place::Foreign,
            (Some(start), Some("super" | "self")) => self.resolve(start, rest, steps),
            // An item that is not seen is one that a macro defines.
            (Some(start), _) => self.find(start, rest, steps).unwrap_or(Place::Item(start)),
        }
    }

    /// What `path` names among the names of `module`; `None` if the module does not show its first name.
    fn find(&self, module: &'m Module, path: &[String], steps: usize) -> Option<Place<'m>> {
        let (name, rest) = match path.split_first() {
            None => return Some(Place::Module(module)),
            Some((name, _)) if name == "*" => return Some(Place::Item(module)),
            Some(parts) => parts,
        };
        let within = |module| {
            self.find(module, rest, steps)
                .unwrap_or(Place::Item(module))
        };
        if let Some(child) = self.child(module, name) {
            return Some(within(child));
        }
        if module.items.contains(name) {
            return Some(Place::Item(module));
        }
        let steps = steps.checked_sub(1)?;
        if let Some(target) = module.bindings.get(name) {
            // `use x::x` names something else than itself: the module or crate of that name.
            let foreign = target.first() == Some(name) && self.child(module, name).is_none();
            return Some(match foreign {
                true => Place::Foreign,
                false => match self.resolve(module, target, steps) {
                    Place::Module(module) => within(module),
                    place => place,
                },
            });
        }
        module
            .globs
            .iter()
            .find_map(|glob| match self.resolve(module, glob, steps) {
                Place::Module(of) if of.path != module.path => self.find(of, path, steps),
                _ => None,
            })
    }
}

/// The imports between the files of one crate.
#[must_use]
pub fn imports(modules: &[Module]) -> Imports {
    let by_path = modules.iter().map(|module| (&module.path[..], module));
    let names = Names(by_path.collect());
    let mut imports = Imports::new();
    for module in modules {
        let of_file = imports.entry(module.file.clone()).or_default();
        for path in &module.mentions {
            if let Place::Item(target) = names.resolve(module, path, MOST_STEPS)
                && target.file != module.file
            {
                let known = of_file.entry(target.file.clone()).or_default();
                // A path from the crate's root says most, and the name that `use` brings in least.
                let weight = |path: &str| (path.starts_with("crate::"), path.len());
                let path = path.join("::");
                if weight(&path) > weight(known) {
                    *known = path;
                }
            }
        }
    }
    imports
}

/// Circles in `imports`: the shortest one through each file that is on any, without those whose files another one shows.
#[must_use]
pub fn circles(imports: &Imports) -> Vec<Circle> {
    let mut circles: Vec<Circle> = Vec::new();
    let shortest = imports.keys().filter_map(|file| circle(imports, file));
    let mut shortest: Vec<_> = shortest.collect();
    shortest.sort_by_key(|circle| circle.steps.len());
    let mut shown = BTreeSet::new();
    for circle in shortest {
        let files = circle.steps.iter().map(|(file, _)| file.clone());
        let files: Vec<_> = files.collect();
        if !files.iter().all(|file| shown.contains(file)) {
            shown.extend(files);
            circles.push(circle);
        }
    }
    circles
}

/// The shortest circle that begins with `start`.
fn circle(imports: &Imports, start: &str) -> Option<Circle> {
    let mut importers: BTreeMap<&str, (&str, &str)> = BTreeMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(file) = queue.pop_front() {
        for (next, path) in imports.get(file).into_iter().flatten() {
            if next == start {
                let mut steps = vec![(file.to_owned(), path.clone())];
                let mut at = file;
                while let Some(&(importer, path)) = importers.get(at) {
                    steps.push((importer.into(), path.into()));
                    at = importer;
                }
                steps.reverse();
                return Some(Circle { steps });
            }
            importers.entry(next).or_insert_with(|| {
                queue.push_back(next);
                (file, path)
            });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[(&str, &str)]) -> Imports {
        let mut imports = Imports::new();
        for (from, to) in edges {
            imports.entry((*to).into()).or_default();
            let of_file = imports.entry((*from).into()).or_default();
            of_file.insert((*to).into(), format!("crate::{to}"));
        }
        imports
    }

    #[test]
    fn imports_one_way_are_no_circle() {
        assert_eq!(circles(&graph(&[("a", "b"), ("b", "c"), ("a", "c")])), []);
    }

    #[test]
    fn a_circle_is_named_with_its_imports() {
        let circles = circles(&graph(&[("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]));
        let texts: Vec<_> = circles.iter().map(Circle::to_string).collect();
        assert_eq!(texts, ["a (crate::b) → b (crate::c) → c (crate::a) → a"]);
    }

    #[test]
    fn each_file_on_a_circle_is_shown() {
        let edges = [("a", "b"), ("b", "a"), ("c", "d"), ("d", "e"), ("e", "c")];
        let circles = circles(&graph(&edges));
        let lengths: Vec<_> = circles.iter().map(|circle| circle.steps.len()).collect();
        assert_eq!(lengths, [2, 3]);
    }
}
