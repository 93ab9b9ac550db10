//! The report as a reader sees it: in a real browser, where there is one.

mod driver;

use std::fs;
use std::path::PathBuf;

use hushmesh::report::svg::plot::{Axis, LinePlot, Series};
use hushmesh::report::{Block, Page, Table};
use serde_json::{Value, json};

use self::driver::Browser;
use crate::workbench::{SCENARIO, Workbench};

/// Several repeats, held-out samples, and rounds enough that numbers differ by powers of ten.
const LIVELY: [&str; 4] =
    ["repeat=3", "protocol.admm.rounds=40", "topology={ring: {peers: 12}}", "measure.every=1"];

/// Runs the lively scenario with more set over it and returns its report.
fn report(bench: &Workbench, out: &str, more: &[&str]) -> PathBuf {
    let set: Vec<&str> = LIVELY.iter().chain(more).flat_map(|&change| ["--set", change]).collect();
    bench.run(SCENARIO, out, &set);
    // The path as the browser will name it.
    bench.path(out).canonicalize().expect("a directory").join("report.html")
}

/// The mean over repeats of a column of metrics.csv, by round from 1.
fn means(bench: &Workbench, out: &str, column: &str) -> Vec<f64> {
    let text = fs::read_to_string(bench.path(out).join("metrics.csv")).expect("metrics.csv");
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = lines.next().expect("a head");
    let at = |name: &str| head.iter().position(|field| *field == name).expect("a column");
    let (repeat, round, column) = (at("repeat"), at("round"), at(column));
    let rows: Vec<Vec<&str>> = lines.collect();
    let repeats = rows.iter().filter(|row| row[round] == "1").count();
    assert_eq!(rows.iter().map(|row| row[repeat]).max(), Some("2"));
    let rounds = rows.len() / repeats;
    (1..=rounds)
        .map(|k| {
            let of_round = rows.iter().filter(|row| row[round] == k.to_string());
            let values = of_round.map(|row| row[column].parse::<f64>().expect("a number"));
            values.sum::<f64>() / repeats as f64
        })
        .collect()
}

/// A number as the page writes it.
fn parsed(text: &str) -> f64 {
    let plain = text.replace('\u{2212}', "-").replace('\u{202f}', "");
    plain.parse().unwrap_or_else(|_| panic!("no number: {text}"))
}

/// Whether a number is what four significant digits leave of another.
fn agrees(shown: f64, exact: f64) -> bool {
    // The mean of a few repeats may be rounded in another order.
    let half = 0.5 * 10_f64.powf(exact.abs().log10().floor() - 3.0);
    (shown - exact).abs() <= half * (1.0 + 1e-6)
}

/// The visible drawing of a title.
fn visible(title: &str) -> String {
    format!(
        "[...document.querySelectorAll('svg[data-scales]')].find((svg) => \
         svg.getAttribute('aria-label') === '{title}' && !svg.closest('[hidden]'))"
    )
}

/// Points at a value of the horizontal axis of a plot and returns what the box says: the first line,
/// then label, value and interval of each series.
fn read_out(browser: &mut Browser, title: &str, x: f64) -> (String, Vec<(String, String)>) {
    let place = browser.value(&format!(
        "(() => {{
            const svg = {};
            svg.scrollIntoView({{ block: 'center' }});
            const {{ x, y }} = JSON.parse(svg.dataset.scales);
            const share = ({x} - x.places[0]) / (x.places[1] - x.places[0]);
            const pixel = x.at[0] + share * (x.at[1] - x.at[0]);
            const point = new DOMPoint(pixel, (y.at[0] + y.at[1]) / 2);
            const at = point.matrixTransform(svg.getScreenCTM());
            return [at.x, at.y];
        }})()",
        visible(title)
    ));
    browser.point(place[0].as_f64().expect("a number"), place[1].as_f64().expect("a number"));
    browser.wait_for("!document.querySelector('.tip').hidden");
    told(browser)
}

/// What the box says.
fn told(browser: &mut Browser) -> (String, Vec<(String, String)>) {
    let lines = browser.value(
        "[...document.querySelectorAll('.tip p')].map((p) => [p.textContent, p.querySelector('b')?.textContent])",
    );
    let lines = lines.as_array().expect("lines");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let series = lines[1..].iter().map(|line| {
        let (whole, value) = (text(&line[0]), text(&line[1]));
        (whole.strip_suffix(&format!(": {value}")).expect("a label").to_string(), value)
    });
    (text(&lines[0][0]), series.collect())
}

#[test]
fn curves_tell_their_values_over_every_axis() {
    let Some(mut browser) = Browser::start() else { return };
    let bench = Workbench::new();
    let path = report(&bench, "out", &[]);
    browser.width(1200);
    browser.open(&path);
    assert!(
        browser.value("document.querySelectorAll('figure.switched').length").as_u64() >= Some(3)
    );
    assert_eq!(browser.value("document.querySelectorAll('[data-values]').length > 8"), true);

    let title = "Agreement and optimum";
    for (name, column) in [
        ("round", None),
        ("messages", Some("messages")),
        ("simulated seconds", Some("sim_seconds")),
    ] {
        browser.value(&format!(
            "[...document.querySelectorAll('.switch button')].find((b) => b.textContent === '{name}').click()"
        ));
        let shown = browser.value(&format!("{}.closest('[data-by]').dataset.by", visible(title)));
        assert_eq!(shown, name);
        let hidden = "[...document.querySelectorAll('figure.switched')].every((figure) => \
             [...figure.querySelectorAll('[data-by]')].filter((drawing) => !drawing.hidden).length === 1)";
        assert_eq!(browser.value(hidden), true);
        for round in [1_usize, 7, 23, 40] {
            let x = column.map_or(round as f64, |column| means(&bench, "out", column)[round - 1]);
            let (first, series) = read_out(&mut browser, title, x);
            let at = parsed(first.rsplit(' ').next().expect("a number"));
            assert!(agrees(at, x), "{name}: {first} where {x} was pointed at");
            if name == "round" {
                assert_eq!(first, format!("round {round}"));
            }
            for column in ["consensus_gap", "optimum_distance"] {
                let mean = means(&bench, "out", column)[round - 1];
                let close = |text: &str| {
                    let value = text.split(" [").next().expect("a value");
                    agrees(parsed(value), mean)
                };
                assert!(
                    series.iter().any(|(_, text)| close(text) && text.contains('[')),
                    "{name} {round}: {mean} is not among {series:?}"
                );
            }
        }
    }

    // By the keyboard alone, from the end.
    browser.value(&format!("{}.focus()", visible(title)));
    browser.press("End");
    let (last, _) = told(&mut browser);
    browser.press("ArrowLeft");
    let (before, _) = told(&mut browser);
    assert_ne!(last, before);
    browser.press("Escape");
    assert_eq!(browser.value("document.querySelector('.tip').hidden"), true);
    browser.assert_calm(&path);
}

#[test]
fn a_curve_without_points_is_passed_over_and_values_are_exact_whatever_the_axis() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = tempfile::tempdir().expect("a temporary directory");
    let path = folder.path().canonicalize().expect("a directory").join("page.html");
    // On a linear axis up to a million no coordinate could tell these values apart.
    let steep = (1..=2000).map(|k| (f64::from(10_000 + k), 1e6 / f64::from(k).powi(3)));
    let plot = LinePlot {
        title: "steep".to_owned(),
        x: Axis::linear("round"),
        series: vec![
            Series::new("void", []),
            Series::new("nothing finite", [(10_001.0, f64::NAN), (10_002.0, f64::NAN)]),
            Series::new("steep", steep.take(900)),
        ],
        ..LinePlot::default()
    };
    let page = Page::new("curves").section("Curves", vec![Block::plot(plot, "steep")]);
    fs::write(&path, page.render()).expect("a page");
    browser.open(&path);
    for k in [1.0, 77.0, 900.0_f64] {
        let (first, series) = read_out(&mut browser, "steep", 10_000.0 + k);
        assert_eq!(parsed(first.rsplit(' ').next().expect("a number")), 10_000.0 + k);
        let [(label, value)] = series.as_slice() else { panic!("{series:?}") };
        assert_eq!(label, "steep");
        assert!(agrees(parsed(value), 1e6 / k.powi(3)), "{k}: {value}");
    }
    browser.value(&format!("{}.focus()", visible("steep")));
    for (key, round) in [("End", "10\u{202f}900"), ("ArrowLeft", "10\u{202f}899")] {
        browser.press(key);
        assert_eq!(told(&mut browser).0, format!("round {round}"));
    }
    browser.assert_calm(&path);
}

#[test]
fn the_film_plays_the_rounds_and_a_star_is_not_a_ring() {
    let Some(mut browser) = Browser::start() else { return };
    let bench = Workbench::new();
    let fills =
        "[...document.querySelectorAll('[data-peer]')].map((node) => node.getAttribute('fill'))";
    let slide = |browser: &mut Browser, frame: u32| {
        browser.value(&format!(
            "(() => {{
                const slider = document.querySelector('input[type=range]');
                slider.value = {frame};
                slider.dispatchEvent(new Event('input'));
            }})()"
        ));
        browser.value(fills)
    };
    let mut films = Vec::new();
    for graph in ["ring", "star"] {
        let topology = format!("topology={{{graph}: {{peers: 12}}}}");
        let path = report(&bench, graph, &[&topology]);
        browser.open(&path);
        let last = browser.value(fills);
        let first = slide(&mut browser, 0);
        assert_ne!(first, last, "{graph}");
        let readout = "document.querySelector('.film output').textContent";
        assert_eq!(browser.value(readout), "round 1");
        films.push((first, slide(&mut browser, 3)));
        assert_eq!(slide(&mut browser, 39), last);
        assert_eq!(browser.value(readout), "round 40");

        // Another measure has other colours, and its own bar.
        let measures = browser.value(
            "[...document.querySelector('.film select').options].map((option) => option.textContent)",
        );
        let names =
            ["distance from the mean model", "distance from the optimum", "held-out accuracy"];
        assert_eq!(measures, json!(names));
        browser.value(
            "(() => {
                const select = document.querySelector('.film select');
                select.value = 2;
                select.dispatchEvent(new Event('change'));
            })()",
        );
        assert_ne!(browser.value(fills), last);
        let bars = "[...document.querySelectorAll('[data-bar]')].map((bar) => bar.getAttribute('display'))";
        assert_eq!(browser.value(bars), json!(["none", "none", "inline"]));
        let told = "document.querySelector('[data-peer=\"3\"]').dataset.told";
        let told = browser.value(told);
        let accuracy = parsed(told.as_str().expect("text").strip_prefix("3: ").expect("a name"));
        let expected = peer_accuracy(&bench, graph, 3);
        assert!((accuracy - expected).abs() < 0.01, "{accuracy} {expected}");

        // The range of each round has the whole map in every frame, and says its ends.
        browser.value(
            "(() => {
                const select = document.querySelectorAll('.film select')[1];
                select.value = 1;
                select.dispatchEvent(new Event('change'));
            })()",
        );
        slide(&mut browser, 2);
        for end in ["#440154", "#fde725"] {
            assert_eq!(browser.value(&format!("{fills}.includes('{end}')")), true, "{graph} {end}");
        }
        let ends = "[...document.querySelectorAll('[display=inline] .ends text')].length";
        assert_eq!(browser.value(ends), 2);
        slide(&mut browser, 39);

        // It plays from the start, since it stands at the end.
        let value = "Number(document.querySelector('input[type=range]').value)";
        browser.value("document.querySelector('.film button').click()");
        browser.wait_for(&format!("{value} > 1 && {value} < 39"));
        assert_eq!(browser.value("document.querySelector('.film button').textContent"), "Pause");
        browser.value("document.querySelector('.film button').click()");
        assert_eq!(browser.value("document.querySelector('.film button').textContent"), "Play");
        browser.assert_calm(&path);
    }
    assert_ne!(films[0], films[1]);
}

/// Held-out accuracy of a peer at the end of the first repeat, by peers.csv.
fn peer_accuracy(bench: &Workbench, out: &str, peer: usize) -> f64 {
    let text = fs::read_to_string(bench.path(out).join("peers.csv")).expect("peers.csv");
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    let column = rows[0].iter().position(|name| *name == "test_accuracy").expect("a column");
    rows[1 + peer][column].parse().expect("a number")
}

#[test]
fn tables_sort_by_value_and_downloads_hold_what_is_shown() {
    let Some(mut browser) = Browser::start() else { return };
    let bench = Workbench::new();
    let path = report(&bench, "out", &[]);
    browser.call("Page.setDownloadBehavior", json!({ "behavior": "deny" }));
    browser.open(&path);
    browser.value("URL.createObjectURL = (blob) => { window.taken = blob; return '#'; }");
    let taken = "window.taken.text().then((text) => [window.taken.type, text])";

    let data = fs::read(bench.path("out/report.json")).expect("report.json");
    let data: Value = serde_json::from_slice(&data).expect("JSON");
    let sections = data["page"]["sections"].as_array().expect("sections");
    let blocks = sections.iter().flat_map(|section| section["blocks"].as_array().expect("blocks"));
    let tables: Vec<Table> = blocks
        .filter_map(|block| block.get("table"))
        .map(|table| serde_json::from_value(table.clone()).expect("a table"))
        .collect();
    assert!(tables.len() >= 3);
    for (at, table) in tables.iter().enumerate() {
        browser.value(&format!(
            "[...document.querySelectorAll('.tools button')].filter((b) => b.textContent === 'CSV')[{at}].click()"
        ));
        assert_eq!(browser.value(taken), json!(["text/csv", table.to_csv()]));
    }

    let svgs =
        "[...document.querySelectorAll('.tools button')].filter((b) => b.textContent === 'SVG')";
    let count = browser.value(&format!("{svgs}.length")).as_u64().expect("a number");
    assert_eq!(browser.value("document.querySelectorAll('figure').length"), count);
    for at in 0..count {
        browser.value(&format!("{svgs}[{at}].click()"));
        let file = browser.value(taken);
        assert_eq!(file[0], "image/svg+xml");
        let text = file[1].as_str().expect("text");
        let parsed = roxmltree::Document::parse(text).expect("XML");
        let texts = parsed
            .descendants()
            .filter(|node| node.has_tag_name(("http://www.w3.org/2000/svg", "text")));
        assert!(texts.count() > 3);
        assert!(!text.contains("var(") && !text.contains("data-") && !text.contains("cross"));
    }

    let keys = "[...document.querySelector('table').tBodies[0].rows].map((row) => row.cells[1].dataset.value.split(' ')[0])";
    for direction in ["ascending", "descending"] {
        browser.value("document.querySelectorAll('thead th')[1].querySelector('button').click()");
        assert_eq!(
            browser.value("document.querySelectorAll('thead th')[1].getAttribute('aria-sort')"),
            direction
        );
        let keys = browser.value(keys);
        let keys = keys.as_array().expect("keys").iter().map(|key| key.as_str().expect("text"));
        let numbers: Vec<f64> = keys.map(|key| key.parse().expect("a number")).collect();
        assert!(numbers.len() > 5);
        match direction {
            "ascending" => assert!(numbers.is_sorted(), "{numbers:?}"),
            _ => assert!(numbers.iter().rev().is_sorted(), "{numbers:?}"),
        }
    }
    browser.assert_calm(&path);
}

/// The least contrast of any text with what is behind it, and the text.
const CONTRAST: &str = "(() => {
    const rgba = (text) => (text.match(/[\\d.]+/g) ?? [0, 0, 0, 0]).map(Number);
    const luminance = (rgb) => {
        const [r, g, b] = rgb.slice(0, 3).map((c) => {
            const s = c / 255;
            return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = (element) => {
        for (let at = element; at; at = at.parentElement) {
            const colour = rgba(getComputedStyle(at).backgroundColor);
            if (colour.length === 3 || colour[3] === 1) return colour;
        }
        return [255, 255, 255];
    };
    let least = [99, ''];
    for (const element of document.querySelectorAll('body *')) {
        const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
        if (!own || element.closest('[hidden], script, desc, title, [data-letters], [display=none]')) continue;
        const style = getComputedStyle(element);
        const ink = luminance(rgba(element.closest('svg') ? style.fill : style.color));
        const ground = luminance(behind(element));
        const contrast = (Math.max(ink, ground) + 0.05) / (Math.min(ink, ground) + 0.05);
        if (contrast < least[0]) least = [contrast, element.textContent];
    }
    return least;
})()";

/// Pairs of boxes that cover each other though neither is inside the other.
const OVERLAPS: &str = "(() => {
    const boxes = [...document.querySelectorAll('h1, h2, main p, figure, .scroll, .card, .tools, dl, aside')]
        .map((element) => [element, element.getBoundingClientRect()]);
    const found = [];
    for (const [a, p] of boxes) for (const [b, q] of boxes) {
        if (a === b || a.contains(b) || b.contains(a)) continue;
        const width = Math.min(p.right, q.right) - Math.max(p.left, q.left);
        const height = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
        if (width > 1 && height > 1) found.push(`${a.className || a.tagName} ${b.className || b.tagName}`);
    }
    return found;
})()";

#[test]
fn the_page_can_be_read_at_any_width_and_in_both_themes() {
    let Some(mut browser) = Browser::start() else { return };
    let bench = Workbench::new();
    let private = "privacy={labels: {epsilon: 1}}";
    let path = report(&bench, "out", &[private]);
    let mut grounds = Vec::new();
    for theme in ["light", "dark"] {
        let feature = json!([{ "name": "prefers-color-scheme", "value": theme }]);
        browser.call("Emulation.setEmulatedMedia", json!({ "features": feature }));
        for width in [390, 1000, 1600] {
            browser.width(width);
            browser.open(&path);
            let scrolled = browser.value("document.documentElement.scrollWidth").as_u64();
            assert!(scrolled <= Some(u64::from(width)), "{theme} {width}: {scrolled:?}");
            assert_eq!(browser.value(OVERLAPS), json!([]), "{theme} {width}");
        }
        grounds.push(browser.value("getComputedStyle(document.body).backgroundColor"));
        let least = browser.value(CONTRAST);
        assert!(least[0].as_f64() >= Some(4.5), "{theme}: {least}");
    }
    assert_ne!(grounds[0], grounds[1]);

    // The button overrides what the system says, and paper is white whatever it says.
    let theme = "document.querySelector('.theme button').click()";
    browser.value(theme);
    assert_eq!(browser.value("getComputedStyle(document.body).backgroundColor"), grounds[0]);
    browser.value(theme);
    assert_eq!(browser.value("getComputedStyle(document.body).backgroundColor"), grounds[1]);
    browser.call("Emulation.setEmulatedMedia", json!({ "media": "print" }));
    let white = "rgb(255, 255, 255)";
    assert_eq!(browser.value("getComputedStyle(document.body).backgroundColor"), white);
    let tools =
        "[...document.querySelectorAll('.tools')].every((bar) => bar.offsetParent === null)";
    assert_eq!(browser.value(tools), true);
    browser.assert_calm(&path);
}

#[test]
fn a_hostile_name_is_shown_as_text() {
    let Some(mut browser) = Browser::start() else { return };
    let bench = Workbench::new();
    let name = "</script><script>alert(1)</script><img src=x onerror=alert(2)>";
    let path = report(&bench, "out", &[&format!("name=\"{name}\"")]);
    browser.open(&path);
    assert_eq!(browser.value("document.title"), name);
    assert_eq!(browser.value("document.querySelector('h1').textContent"), name);
    assert_eq!(browser.value("document.querySelectorAll('script, img').length"), 1);
    browser.assert_calm(&path);
}
