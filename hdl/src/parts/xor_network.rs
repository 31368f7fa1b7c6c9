//! `out = M · data` over GF(2), for a constant matrix M, pipelined.
//!
//! ```text
//!  data ─►[XOR of inputs that feed the same outputs]─►[reg]─►[XOR of those sums, an output each]─►[reg]─► … ─► out
//! ```
//!
//! Each output is the XOR of some inputs, about half of them when M comes from a CRC. Outputs are taken in small groups:
//! inputs that feed the same outputs of a group are summed once, in the first stage, for all of them. With groups of g
//! outputs there are at most 2^g - 1 such sums a group, whatever the number of inputs. `plan` tries several g and takes
//! the cheapest that fits the latency.
//!
//! No stage XORs more than [`FAN_IN`] bits. Throughput: one product a cycle, free running. Latency: [`latency`]`(I)`
//! cycles for any M. No reset: the neighbour keeps the valid bit.
use rust_hdl_core::prelude::*;
use std::collections::BTreeMap;
use warpline_sv_writer::Block;

/// Bits that a stage XORs at most: two levels of four-input LUTs.
pub const FAN_IN: usize = 16;

/// Cycles through a network of `inputs` bits: enough to XOR all of them.
#[must_use]
pub const fn latency(inputs: usize) -> usize {
    let (mut stages, mut reach) = (1, FAN_IN);
    while reach < inputs {
        stages += 1;
        reach *= FAN_IN;
    }
    stages
}

/// I bits in, O bits out.
#[derive(Block)]
#[block(columns: Vec<Bits<O>>)]
pub struct XorNetwork<const I: usize, const O: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Vector to multiply.
    pub data: Signal<In, Bits<I>>,
    /// Product.
    pub out: Signal<Out, Bits<O>>,
    #[value(columns)]
    _columns: Vec<Bits<O>>,
    #[value(vec![Default::default(); latency(I)])]
    _stages: Vec<Bits<O>>,
}

impl<const I: usize, const O: usize> XorNetwork<I, O> {
    /// The matrix; column j is the contribution of input bit j to `out`.
    ///
    /// # Panics
    /// When there are not I columns, I or O is below 2, or all of the matrix is zero.
    #[must_use]
    pub fn new(columns: Vec<Bits<O>>) -> Self {
        assert_eq!(columns.len(), I, "a column for every input bit");
        assert!(I >= 2 && O >= 2, "vectors, not single bits");
        assert!(
            columns.iter().any(Bits::any),
            "a table of zeros is no network"
        );
        Self::assemble(columns)
    }
}

impl<const I: usize, const O: usize> Logic for XorNetwork<I, O> {
    fn update(&mut self) {
        if self.clock.pos_edge() {
            let data = self.data.val();
            let set = (0..I).filter(|bit| data.get_bit(*bit));
            self._stages.rotate_right(1);
            self._stages[0] = set.fold(Bits::default(), |sum, bit| sum ^ self._columns[bit]);
            self.out.next = self._stages[self._stages.len() - 1];
        }
    }

    fn connect(&mut self) {
        self.out.connect();
    }

    fn hdl(&self) -> Verilog {
        let feeds = |output, input: &usize| self._columns[*input].get_bit(output);
        let rows: Vec<Vec<usize>> = (0..O)
            .map(|output| (0..I).filter(|input| feeds(output, input)).collect())
            .collect();
        let stages = plan(&rows, latency(I));
        let (mut declarations, mut steps, mut source) =
            (String::new(), String::new(), "data".to_string());
        for (number, stage) in stages.iter().enumerate() {
            let target = match number + 1 == stages.len() {
                true => "out".to_string(),
                false => format!("stage_{number}"),
            };
            if target != "out" {
                declarations += &format!("reg [{}:0] {target};\n", stage.len() - 1);
            }
            declarations += &format!("initial {target} = 0;\n");
            for (node, terms) in stage.iter().enumerate() {
                let terms: Vec<String> = terms
                    .iter()
                    .map(|term| format!("{source}[{term}]"))
                    .collect();
                let sum = if terms.is_empty() {
                    "1'b0".into()
                } else {
                    terms.join(" ^ ")
                };
                steps += &format!("    {target}[{node}] <= {sum};\n");
            }
            source = target;
        }
        let unused = match (0..I).all(|input| rows.iter().any(|row| row.contains(&input))) {
            true => "",
            false => "wire unused = &{1'b0, data};\n",
        };
        Verilog::Custom(format!(
            "{declarations}{unused}always @(posedge clock) begin\n{steps}end"
        ))
    }
}

/// Registers of one stage, each the XOR of so many registers of the stage before (or inputs).
type Stage = Vec<Vec<usize>>;

/// Stages that make every row's XOR of inputs: the cheapest of several plans.
fn plan(rows: &[Vec<usize>], latency: usize) -> Vec<Stage> {
    (1..=8)
        .filter_map(|group| plan_in_groups(rows, latency, group))
        .min_by_key(|stages| {
            stages
                .iter()
                .flatten()
                .map(|terms| cost(terms.len()))
                .sum::<usize>()
        })
        .expect("groups of one output always fit")
}

/// A register, and the four-input LUTs in front of it.
fn cost(terms: usize) -> usize {
    1 + terms.saturating_sub(1).div_ceil(3)
}

/// The plan with groups of `group` outputs; `None` when it needs more stages than `latency`.
fn plan_in_groups(rows: &[Vec<usize>], latency: usize, group: usize) -> Option<Vec<Stage>> {
    let mut first = Stage::new();
    let mut terms: Vec<Vec<usize>> = vec![];
    for outputs in rows.chunks(group) {
        let mut fed: BTreeMap<usize, usize> = BTreeMap::new();
        for (output, row) in outputs.iter().enumerate() {
            for input in row {
                *fed.entry(*input).or_default() |= 1 << output;
            }
        }
        let mut alike: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (input, pattern) in fed {
            alike.entry(pattern).or_default().push(input);
        }
        let from = terms.len();
        terms.resize(from + outputs.len(), vec![]);
        for (pattern, inputs) in alike {
            for sum in inputs.chunks(FAN_IN) {
                let feeding = (0..outputs.len()).filter(|output| pattern >> output & 1 == 1);
                feeding.for_each(|output| terms[from + output].push(first.len()));
                first.push(sum.to_vec());
            }
        }
    }
    let mut stages = vec![first];
    while stages.len() < latency {
        let mut stage = Stage::new();
        for terms in &mut terms {
            let from = stage.len();
            stage.extend(terms.chunks(FAN_IN).map(<[usize]>::to_vec));
            *terms = (from..stage.len()).collect();
        }
        stages.push(stage);
    }
    finish(stages, &terms)
}

/// `stages` with their last one put into the order of the outputs, when each output is left with one term at most.
fn finish(mut stages: Vec<Stage>, terms: &[Vec<usize>]) -> Option<Vec<Stage>> {
    if terms.iter().any(|terms| terms.len() > 1) {
        return None;
    }
    let last = stages.pop()?;
    let ordered = terms
        .iter()
        .map(|terms| terms.first().map_or(vec![], |term| last[*term].clone()));
    stages.push(ordered.collect());
    Some(stages)
}
