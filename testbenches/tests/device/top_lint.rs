//! The text of the whole device: free of Verilator's warnings at every width, and the same each time.

use warpline_design::{DesignError, TOP, design};
use warpline_hdl::{Config, ConfigError, Sctp};
use warpline_sv_writer::Design;
use warpline_testbenches::lockstep::sources;

const WIDTHS: [usize; 4] = [64, 128, 256, 512];

/// What Verilator has to say of a text with all its warnings on.
fn warnings(design: &Design) -> Vec<String> {
    let warnings = sources(TOP, design)
        .lint()
        .unwrap_or_else(|e| panic!("{e}"));
    warnings.iter().map(ToString::to_string).collect()
}

fn assert_clean(config: &Config) {
    let design = design(config).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(warnings(&design), [""; 0], "{config:?}");
}

#[test]
fn every_width_is_free_of_warnings() {
    for width in WIDTHS {
        assert_clean(&Config::simulated(width));
    }
}

#[test]
fn the_smallest_and_the_largest_device_are_free_of_warnings() {
    assert_clean(&Config {
        ring_octets: 4 << 10,
        commit_octets: 4 << 10,
        stag_slots: 16,
        receive_slots: 2,
        queues: 1,
        ..Config::simulated(512)
    });
    assert_clean(&Config {
        ring_octets: 128 << 10,
        commit_octets: 256 << 10,
        stag_slots: 4096,
        receive_slots: 256,
        queues: 4,
        ..Config::simulated(64)
    });
}

#[test]
fn sixteen_streams_are_free_of_warnings() {
    for width in WIDTHS {
        assert_clean(&Config {
            streams: 16,
            ..Config::simulated(width)
        });
    }
}

#[test]
fn devices_that_send_are_free_of_warnings() {
    for width in WIDTHS {
        assert_clean(&Config {
            transmit: true,
            ..Config::simulated(width)
        });
    }
    assert_clean(&Config {
        transmit: true,
        streams: 16,
        ring_octets: 4 << 10,
        commit_octets: 4 << 10,
        stag_slots: 16,
        ..Config::simulated(64)
    });
}

#[test]
fn devices_that_take_chunks_are_free_of_warnings() {
    for (width, transmit) in [(64, false), (512, true)] {
        assert_clean(&Config {
            transmit,
            sctp: Some(Sctp::default()),
            ..Config::simulated(width)
        });
    }
    assert_clean(&Config {
        streams: 16,
        ring_octets: 4 << 10,
        commit_octets: 4 << 10,
        stag_slots: 16,
        sctp: Some(Sctp {
            slot_octets: 512,
            window: 1,
        }),
        ..Config::simulated(64)
    });
}

#[test]
fn the_same_configuration_gives_the_same_text() {
    for width in WIDTHS {
        let texts = [(); 2].map(|()| {
            let design = design(&Config::simulated(width)).unwrap();
            let module = |module: &warpline_sv_writer::Module| module.text.clone();
            design.modules.iter().map(module).collect::<String>()
        });
        assert!(texts[0] == texts[1], "{width}");
        assert!(texts[0].contains(&format!("module {TOP} (")));
    }
}

#[test]
fn a_signal_that_nobody_uses_is_seen() {
    let mut design = design(&Config::simulated(64)).unwrap();
    let top = design.modules.last_mut().unwrap();
    top.text = top
        .text
        .replacen("endmodule", "wire nobody = 1'b1;\nendmodule", 1);
    let warnings = warnings(&design);
    assert!(
        warnings.len() == 1 && warnings[0].contains("nobody"),
        "{warnings:?}"
    );
}

// req: MPA-RCV-31, AMB-22
#[test]
fn a_device_that_cannot_be_is_refused_with_the_value_that_is_wrong() {
    let good = Config::simulated(64);
    let refused = |config: Config| match design(&config) {
        Err(DesignError::Config(error)) => error,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("{config:?} is accepted"),
    };
    let size = |what, value, least, most| ConfigError::Size {
        what,
        value,
        least,
        most,
    };
    assert_eq!(
        refused(Config { width: 96, ..good }),
        ConfigError::Width(96)
    );
    assert_eq!(
        refused(Config { streams: 0, ..good }),
        ConfigError::Streams(0)
    );
    assert_eq!(
        refused(Config { queues: 5, ..good }),
        ConfigError::Queues(5)
    );
    assert_eq!(
        refused(Config {
            ring_octets: 128,
            ..good
        }),
        size("ring octets", 128, 4 << 10, 128 << 10)
    );
    // an FPDU that fits the ring has to fit the commit buffer
    assert_eq!(
        refused(Config {
            commit_octets: 64 << 10,
            ..good
        }),
        size("commit buffer octets", 64 << 10, 128 << 10, 256 << 10)
    );
    assert_eq!(
        refused(Config {
            stag_slots: 100,
            ..good
        }),
        size("STag slots", 100, 16, 4096)
    );
    assert_eq!(
        refused(Config {
            receive_slots: 512,
            ..good
        }),
        size("receive slots", 512, 2, 256)
    );
    let chunks = |slot_octets, window| Config {
        sctp: Some(Sctp {
            slot_octets,
            window,
        }),
        ..good
    };
    assert_eq!(
        refused(chunks(64 << 10, 1)),
        size("slot octets", 64 << 10, 512, 32 << 10)
    );
    assert_eq!(refused(chunks(2048, 0)), ConfigError::Window(0));
    assert_eq!(refused(chunks(2048, 32_768)), ConfigError::Window(32_768));
}
