//! Records: packed structures in the text, each type once in the design's package, and the same bits as in rust-hdl.

use rust_hdl_core::prelude::*;
use warpline_sv_writer::{Block, Dff, Problem, Record, comment, write};
use warpline_testbenches::lockstep::{Lockstep, LockstepError, on_large_stack};
use warpline_testbenches::stimulus::bits;

#[derive(LogicState, Clone, Copy, Debug, PartialEq)]
enum Kind {
    Read,
    Write,
    Send,
}

/// A place in a buffer.
#[derive(LogicStruct, Record, Clone, Copy, Debug, Default, PartialEq)]
struct Place {
    /// Its row.
    row: Bits<12>,
    lane: Bits<3>,
}

/// What a stage hands on; see [`Place`].
#[derive(LogicStruct, Record, Clone, Copy, Debug, Default, PartialEq)]
struct Job {
    valid: Bit,
    /// Where it begins.
    place: Place,
    kind: Kind,
    octets: Bits<16>,
}

/// Bits of no meaning between two blocks.
#[derive(Block)]
#[block(default)]
struct Stage {
    clock: Signal<In, Clock>,
    job: Signal<In, Job>,
    out: Signal<Out, Job>,
    held: Dff<Job>,
}

impl Logic for Stage {
    #[hdl_gen]
    fn update(&mut self) {
        self.held.d.next = self.job.val();
        self.held.d.next.valid = self.job.val().valid & (self.job.val().octets != 0);
        self.out.next = self.held.q.val();
    }
}

#[derive(Block)]
#[block(default)]
struct Jobs {
    clock: Signal<In, Clock>,
    job: Signal<In, Job>,
    at: Signal<In, Bits<5>>,
    out: Signal<Out, Job>,
    place: Signal<Out, Place>,
    widened: Signal<Out, Bits<32>>,
    part: Signal<Out, Bits<4>>,
    picked: Signal<Out, Bit>,
    row: Signal<Out, Bits<12>>,
    as_bits: Signal<Out, Bits<34>>,
    stage: Stage,
    here: Signal<Local, Place>,
    as_wide: Signal<Local, Bits<34>>,
}

impl Logic for Jobs {
    #[hdl_gen]
    fn update(&mut self) {
        self.stage.job.next = self.job.val();
        self.out.next = self.stage.out.val();
        self.here.next = self.job.val().place;
        self.here.next.row = self.here.val().row + 1;
        if self.stage.out.val().valid {
            self.here.next = self.stage.out.val().place;
            self.here.next.lane = self.job.val().octets.get_bits::<3>(7);
        }
        self.place.next = self.here.val();
        self.row.next = self.here.val().row;
        comment!("a field is extended, cut, and selected from");
        self.widened.next = bit_cast::<32, 16>(self.job.val().octets);
        self.part.next = self.stage.out.val().octets.get_bits::<4>(9);
        self.as_bits.next = self.job.val().into();
        self.as_wide.next = self.job.val().into();
        self.picked.next = self.as_wide.val().get_bit(self.at.val().index());
        if self.job.val().kind == Kind::Write {
            self.part.next = self.job.val().octets.get_bits::<4>(0);
        }
    }
}

fn ok<T>(result: Result<T, LockstepError>) -> T {
    result.unwrap_or_else(|error| panic!("{error}"))
}

fn job(rng: &mut fastrand::Rng) -> Job {
    Job {
        valid: rng.bool(),
        place: Place {
            row: bits(rng),
            lane: bits(rng),
        },
        kind: [Kind::Read, Kind::Write, Kind::Send][rng.usize(0..3)],
        octets: bits(rng),
    }
}

#[test]
fn records_have_the_same_bits_in_verilator() {
    let mut rng = fastrand::Rng::with_seed(31);
    let mut bench = ok(Lockstep::new(
        "records",
        Box::new(Jobs::default()),
        |b, level| b.clock.next = level.into(),
    ));
    for _ in 0..400 {
        bench.block.job.next = job(&mut rng);
        bench.block.at.next = bits(&mut rng);
        ok(bench.settle());
        ok(bench.edge());
    }
}

#[test]
fn the_text_names_fields_and_the_package_documents_them() {
    let design = write(&Jobs::default(), "jobs").unwrap();
    let package = design.package.as_ref().unwrap();
    assert_eq!(package.name, "jobs_types");
    assert_eq!(
        package.text,
        "// The first member of a record has the highest bits.\n\
         package jobs_types;\n\
         \n    // A place in a buffer.\n    typedef struct packed {\n        logic [2:0] lane;\n        // Its row.\n        \
         logic [11:0] row;\n    } place_t;\n\
         \n    // What a stage hands on; see `Place`.\n    typedef struct packed {\n        logic [15:0] octets;\n        \
         logic [1:0] kind;\n        // Where it begins.\n        place_t place;\n        logic valid;\n    } job_t;\n\
         \nendpackage\n\n`ifdef __ICARUS__ // Icarus 11 finds a record by its full name only if it has been imported\n\
         import jobs_types::place_t;\nimport jobs_types::job_t;\n`endif\n"
    );
    let top = &design.modules.last().unwrap().text;
    for line in [
        "    input  wire jobs_types::job_t job,\n",
        "        here.row = here.row + 12'h1;\n",
        "            here.lane = job.octets[9:7];\n",
        "            here = out.place;\n",
        "    assign widened = {16'h0, job.octets};\n",
    ] {
        assert!(top.contains(line), "{line} is not in {top}");
    }
    let files: Vec<String> = design.files().into_iter().map(|(name, _)| name).collect();
    assert_eq!(
        files,
        ["jobs_types.sv", "jobs_stage.sv", "jobs.sv", "jobs.f"]
    );
}

mod elsewhere {
    use rust_hdl_core::prelude::*;

    /// A second record of the name.
    #[derive(LogicStruct, Clone, Copy, Debug, Default, PartialEq)]
    pub struct Place {
        pub column: Bits<12>,
    }

    #[derive(LogicStruct, Clone, Copy, Debug, Default, PartialEq)]
    pub struct Word {
        pub end: Bit,
    }
}

/// Passes a record on, whatever it is.
#[derive(LogicBlock, Default)]
struct Passes<T: Synth> {
    given: Signal<In, T>,
    same: Signal<Out, T>,
    place: Signal<In, Place>,
    row: Signal<Out, Bits<12>>,
}

impl<T: Synth> Logic for Passes<T> {
    #[hdl_gen]
    fn update(&mut self) {
        self.same.next = self.given.val();
        self.row.next = self.place.val().row;
    }
}

#[test]
fn records_that_cannot_be_are_refused() {
    let refused = |problem| {
        assert_eq!(problem, Problem::RecordClash("place_t".into()));
    };
    refused(
        write(&Passes::<elsewhere::Place>::default(), "top")
            .unwrap_err()
            .problem,
    );
    let keyword = write(&Passes::<elsewhere::Word>::default(), "top").unwrap_err();
    assert_eq!(keyword.problem, Problem::Keyword("end".into()));
    assert!(write(&Passes::<Place>::default(), "top").is_ok());
}

#[test]
fn a_design_without_records_has_no_package() {
    let design = on_large_stack(|| {
        write(
            &warpline_hdl::parts::keep_count::KeepCount::<8>::default(),
            "count",
        )
    });
    assert_eq!(design.unwrap().package, None);
}
