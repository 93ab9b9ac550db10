//! Scenarios at the edge of what is allowed: they run to the end, and give one result.

use crate::workbench::{SCENARIO, Workbench, assert_same_files};

#[test]
fn the_edges_of_what_is_allowed_run_to_the_end() {
    let bench = Workbench::new();
    for (case, changes) in [
        &["topology={ring: {peers: 1}}", "protocol.admm.penalty=auto"][..],
        &["topology={path: {peers: 2}}", "protocol.admm.rounds=1"],
        // More peers than samples, and peers without any.
        &["data.samples={total: 2}"],
        &["data.samples={total: 1}", "data.test_share=0"],
        &["data.partition={ratio: [1, 0, 0, 0, 0]}", "protocol.admm.penalty=auto"],
        &["measure.what=[]", "measure.every=1000"],
        &["model.regularisation=1.0e-300"],
        &["model.regularisation=1.0e+12", "protocol.admm.penalty=1.0e+12"],
        // More simulated time than the clock can show.
        &["network.links.bandwidth={up: 1.0e-300}"],
        &["network.links.latency={min: 1.0e+6, extra: {log-normal: {median: 1.0e+6, sigma: 10}}}"],
        &["network.links.loss={probability: 0.99, timeout: 0}"],
    ]
    .into_iter()
    .enumerate()
    {
        let set: Vec<&str> = changes.iter().flat_map(|change| ["--set", change]).collect();
        let (one, three) = (format!("{case}-one"), format!("{case}-three"));
        bench.run(SCENARIO, &one, &[&set[..], &["--workers", "1"]].concat());
        bench.run(SCENARIO, &three, &[&set[..], &["--workers", "3"]].concat());
        let files = bench.files(&one);
        assert_eq!(files.len(), 9, "{changes:?}");
        assert_same_files(&bench.files(&three), &files, &format!("{changes:?}"));
    }
}

#[test]
fn what_cannot_be_held_is_refused_in_words() {
    let bench = Workbench::new();
    // Beyond any address space, not only beyond this machine's memory.
    let data = "data={source: {linear-logistic: {dimension: 1000000, norm: 1}}, \
                samples: {total: 4294967295}}";
    let said = bench.hushmesh(&["run", SCENARIO, "--set", data]);
    assert_eq!(said.code, 4);
    assert!(said.stderr.contains("do not fit in memory"), "{said:?}");
    assert_eq!(bench.litter(), [""; 0]);
}
