//! How a kernel, which is one list of statements, becomes processes that can stand side by side.
//!
//! A signal that is assigned once, at the top level, is an `assign`, or just another name of its source. Statements that
//! assign a common signal, or read a value that is not final yet, share an `always_comb`. Everything else is apart, so
//! that no simulator sees a loop that is none, and a register's default stands next to what overrides it.

use crate::kernel::*;
use petgraph::algo::tarjan_scc;
use petgraph::graph::DiGraph;
use std::collections::{BTreeMap, HashMap, HashSet};

/// A part of the logic that stands for itself.
pub struct Process<'a> {
    /// What is said before it.
    pub comments: Vec<&'a str>,
    /// Statements, each with what is said before it; one statement that is an `assign`, or those of an `always_comb`.
    pub statements: Vec<(Vec<&'a str>, &'a Statement)>,
    /// Whether it is an `assign`.
    pub alone: bool,
}

/// Leaves out top-level assignments that are overwritten before anything reads them, such as the default of a register
/// that takes a new value each cycle.
pub fn without_dead_assignments(statements: Vec<Statement>) -> Vec<Statement> {
    let mut overwritten: HashSet<SignalId> = HashSet::new();
    let mut kept: Vec<Statement> = vec![];
    for statement in statements.into_iter().rev() {
        let whole = whole_target(&statement);
        if whole.is_some_and(|signal| overwritten.contains(&signal)) {
            continue;
        }
        overwritten.extend(whole);
        statement.walk(&mut |s| {
            for expression in s.own_expressions() {
                expression.reads(&mut |id, _| {
                    overwritten.remove(&id);
                });
            }
        });
        kept.push(statement);
    }
    kept.reverse();
    kept
}

fn whole_target(statement: &Statement) -> Option<SignalId> {
    match statement {
        Statement::Assign {
            target: Target { signal, part: None },
            ..
        } => Some(*signal),
        _ => None,
    }
}

/// Target and source of an assignment from signal to signal.
fn plain_copy(statement: &Statement) -> Option<(SignalId, SignalId)> {
    match statement {
        Statement::Assign {
            value: Expr::Signal(from),
            ..
        } => whole_target(statement).map(|to| (to, *from)),
        _ => None,
    }
}

/// Which statements, by position, write a signal, and the last of them.
struct Writers(HashMap<SignalId, Vec<usize>>);

impl Writers {
    fn of(statements: &[Statement]) -> Self {
        let mut writers: HashMap<SignalId, Vec<usize>> = HashMap::new();
        for (at, statement) in statements.iter().enumerate() {
            statement.walk(&mut |s| {
                if let Statement::Assign { target, .. } = s {
                    writers.entry(target.signal).or_default().push(at);
                }
            });
        }
        Self(writers)
    }

    fn all(&self, signal: SignalId) -> &[usize] {
        self.0.get(&signal).map_or(&[], Vec::as_slice)
    }

    /// Whether a read in statement `at` sees the final value.
    fn is_final(&self, signal: SignalId, at: usize) -> bool {
        self.all(signal).last().is_none_or(|last| *last < at)
    }
}

fn reads(statement: &Statement) -> HashSet<SignalId> {
    let mut found = HashSet::new();
    statement.walk(&mut |s| {
        for expression in s.own_expressions() {
            expression.reads(&mut |id, _| {
                found.insert(id);
            });
        }
    });
    found
}

/// For each statement: whether it can be an `assign`.
fn standing_alone(statements: &[Statement], groups: &[usize]) -> Vec<bool> {
    let mut size = vec![0; statements.len()];
    groups.iter().for_each(|group| size[*group] += 1);
    let alone = |(at, statement): (usize, &Statement)| {
        size[groups[at]] == 1 && whole_target(statement).is_some()
    };
    statements.iter().enumerate().map(alone).collect()
}

/// Signals that are another name of one net, each with the name that is kept: an instance's input that is just another
/// signal, and an instance's output that is just passed on.
pub fn aliases(module: &Module, statements: &[Statement]) -> HashMap<SignalId, SignalId> {
    let mut instance_ports = vec![false; module.signals.len()];
    for child in &module.children {
        if let Child::Instance { ports, .. } = child {
            ports.iter().for_each(|(_, id)| instance_ports[*id] = true);
        }
    }
    let alone = standing_alone(statements, &groups(statements));
    let mut same = HashMap::new();
    for (statement, alone) in statements.iter().zip(alone) {
        let Some((to, from)) = plain_copy(statement).filter(|_| alone) else {
            continue;
        };
        if instance_ports[to] {
            same.insert(to, from);
        } else if instance_ports[from] && !same.contains_key(&from) {
            let is_output = module.signals[from].role == Role::ChildOutput;
            let kept = matches!(module.signals[to].role, Role::Output | Role::Local);
            if is_output && kept {
                same.insert(from, to);
            }
        }
    }
    same
}

/// The processes of a kernel, in the order of their first statement that is more than a copy.
pub fn processes<'a>(
    statements: &'a [Statement],
    aliases: &HashMap<SignalId, SignalId>,
) -> Vec<Process<'a>> {
    let groups = groups(statements);
    let alone = standing_alone(statements, &groups);
    let is_written = |statement: &Statement| match plain_copy(statement) {
        Some((to, from)) => aliases.get(&to) != Some(&from) && aliases.get(&from) != Some(&to),
        None => !matches!(statement, Statement::Comment(_)),
    };
    // by group: position in the text, and positions of the statements
    let mut found: BTreeMap<usize, (usize, Vec<usize>)> = BTreeMap::new();
    for (at, statement) in statements.iter().enumerate() {
        if is_written(statement) {
            let (key, members) = found.entry(groups[at]).or_insert((at, vec![]));
            if members
                .iter()
                .all(|m| plain_copy(&statements[*m]).is_some())
            {
                *key = at;
            }
            members.push(at);
        }
    }
    let mut found: Vec<(usize, Vec<usize>)> = found.into_values().collect();
    found.sort();
    let keys: Vec<usize> = found.iter().map(|(key, _)| *key).collect();
    let mut comments = comments(statements, &keys, is_written);
    let process = |(key, members): (usize, Vec<usize>)| Process {
        comments: comments.before_process.remove(&key).unwrap_or_default(),
        statements: members
            .iter()
            .map(|m| {
                (
                    comments.inside.remove(m).unwrap_or_default(),
                    &statements[*m],
                )
            })
            .collect(),
        alone: alone[members[0]],
    };
    found.into_iter().map(process).collect()
}

/// Comments by the position of what they stand before.
#[derive(Default)]
struct Comments<'a> {
    before_process: HashMap<usize, Vec<&'a str>>,
    inside: HashMap<usize, Vec<&'a str>>,
}

/// A comment speaks of the statements up to the next one. It stands before the first process that begins there, or else
/// before the first such statement within its process.
fn comments<'a>(
    statements: &'a [Statement],
    keys: &[usize],
    is_written: impl Fn(&Statement) -> bool,
) -> Comments<'a> {
    let mut placed = Comments::default();
    let mut at = 0;
    while at < statements.len() {
        let comment = |s: &'a Statement| match s {
            Statement::Comment(text) => Some(text.as_str()),
            _ => None,
        };
        let texts: Vec<&str> = statements[at..].iter().map_while(comment).collect();
        let start = at + texts.len();
        let subject = statements[start..]
            .iter()
            .take_while(|s| comment(s).is_none());
        let end = start + subject.count();
        let statement = (start..end).find(|n| is_written(&statements[*n]));
        let process = keys.iter().copied().find(|key| (start..end).contains(key));
        if let Some(process) = process {
            placed.before_process.insert(process, texts);
        } else if let Some(statement) = statement {
            placed.inside.insert(statement, texts);
        }
        at = end;
    }
    placed
}

/// For each statement the first one of those that it must share a process with.
fn groups(statements: &[Statement]) -> Vec<usize> {
    let writers = Writers::of(statements);
    let reads: Vec<_> = statements.iter().map(reads).collect();
    let mut group: Vec<usize> = (0..statements.len()).collect();
    let mut join = |a: usize, b: usize| {
        let (a, b) = (group[a], group[b]);
        let (first, other) = (a.min(b), a.max(b));
        let others = group.iter_mut().filter(|g| **g == other);
        others.for_each(|g| *g = first);
    };
    for writers in writers.0.values() {
        writers.windows(2).for_each(|pair| join(pair[0], pair[1]));
    }
    for (at, reads) in reads.iter().enumerate() {
        for id in reads.iter().filter(|id| !writers.is_final(**id, at)) {
            join(at, writers.all(*id)[0]);
        }
    }
    // processes that feed each other through different signals are one
    let feeds = reads.iter().enumerate().flat_map(|(at, reads)| {
        let sources = reads.iter().filter_map(|id| writers.all(*id).first());
        sources.map(move |from| (*from, at))
    });
    let feeds: Vec<(u32, u32)> = feeds
        .map(|(from, to)| (group[from] as u32, group[to] as u32))
        .collect();
    let mut graph = DiGraph::<(), (), u32>::from_edges(feeds);
    while graph.node_count() < statements.len() {
        graph.add_node(());
    }
    for circle in tarjan_scc(&graph) {
        let first = circle.iter().map(|node| node.index()).min().unwrap_or(0);
        let in_circle =
            |g: &usize| circle.len() > 1 && circle.iter().any(|node| node.index() == *g);
        group
            .iter_mut()
            .filter(|g| in_circle(g))
            .for_each(|g| *g = first);
    }
    group
}
