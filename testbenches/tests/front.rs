//! Lint smoke of the front blocks.
use rust_hdl_core::prelude::*;
use warpline_hdl::*;
use warpline_testbenches::lockstep::Lockstep;

macro_rules! smoke {
    ($name:ident, $new:expr) => {
        #[test]
        fn $name() {
            warpline_testbenches::lockstep::on_large_stack(|| {
                let mut bench = Lockstep::new(stringify!($name), Box::new($new), |b, level| b.clock.next = level.into())
                    .unwrap_or_else(|e| panic!("{e}"));
                for _ in 0..5 {
                    bench.settle().unwrap();
                    bench.edge().unwrap();
                }
            });
        }
    };
}
const C64: Config = Config::simulated(64);
const C512: Config = Config::simulated(512);
smoke!(admit_64, admit::Admit::<64, 8, 4>::new(&C64));
smoke!(admit_512, admit::Admit::<512, 64, 4>::new(&C512));
smoke!(assembly_64, assembly::Assembly::<64, 8, 2, 32, 3>::new(&C64));
smoke!(assembly_512, assembly::Assembly::<512, 64, 16, 256, 6>::new(&C512));
smoke!(scan_64, scan::Scan::<32, 1, 4>::new(&C64));
smoke!(scan_512, scan::Scan::<256, 4, 4>::new(&C512));
smoke!(fetch_64, fetch::Fetch::<64, 8, 2, 3, 1, 4>::new(&C64));
smoke!(fetch_512, fetch::Fetch::<512, 64, 16, 6, 4, 4>::new(&C512));
smoke!(strip_64, strip::Strip::<64, 2>::default());
smoke!(strip_512, strip::Strip::<512, 16>::default());
smoke!(commit_64, commit::Commit::<64, 8, 2, 1>::new(&C64));
smoke!(commit_512, commit::Commit::<512, 64, 16, 4>::new(&C512));
smoke!(ingress_64, ingress::Ingress::<64, 8, 2, 32, 3, 1, 4>::new(&C64));
#[test]
fn top_64() {
    warpline_testbenches::lockstep::on_large_stack(|| {
        let design = design(&C64).unwrap_or_else(|e| panic!("{e}"));
        let mut build = warpline_verilate::Build::new("warpline");
        for module in &design.modules {
            build = build.source(format!("{}.sv", module.name), module.text.clone());
        }
        let warnings = build.lint().unwrap();
        assert!(warnings.is_empty(), "{}", warnings.iter().map(|w| format!("{w}\n")).collect::<String>());
    });
}
