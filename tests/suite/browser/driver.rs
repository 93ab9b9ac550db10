//! A browser without a window, driven over a pair of pipes by the DevTools protocol: messages are
//! JSON, each ended by a zero byte.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use std::{env, thread};

use serde_json::{Value, json};
use tempfile::TempDir;

/// Names of browsers that speak the protocol.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
/// No answer takes so long: it only keeps a test from waiting for ever.
const PATIENCE: Duration = Duration::from_secs(60);

/// The browser that `HUSHMESH_BROWSER` names, else the first on the path.
fn program() -> Option<PathBuf> {
    if let Some(named) = env::var_os("HUSHMESH_BROWSER").filter(|named| named != "require") {
        return Some(named.into());
    }
    let path = env::var_os("PATH")?;
    let places: Vec<PathBuf> = env::split_paths(&path).collect();
    let candidates = NAMES.iter().flat_map(|name| places.iter().map(move |place| place.join(name)));
    candidates.into_iter().find(|candidate| candidate.is_file())
}

/// A browser with one page.
pub(super) struct Browser {
    child: Child,
    stdin: ChildStdin,
    messages: Receiver<Value>,
    events: Vec<Value>,
    session: String,
    sent: u64,
    _profile: TempDir,
}

impl Browser {
    /// A browser, or none where there is none: then the test says so and ends, unless
    /// `HUSHMESH_BROWSER=require`.
    #[expect(clippy::print_stdout, reason = "who runs the tests should know what was left out")]
    pub(super) fn start() -> Option<Self> {
        let Some(program) = program() else {
            let required = env::var_os("HUSHMESH_BROWSER").is_some_and(|value| value == "require");
            assert!(!required, "HUSHMESH_BROWSER=require, and none of {NAMES:?} is on the path");
            println!("skipped: no browser, none of {NAMES:?} is on the path");
            return None;
        };
        let profile = tempfile::tempdir().expect("a temporary directory");
        // The protocol is spoken over file descriptors 3 and 4.
        let pipes = "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>/dev/null";
        let mut child = Command::new("sh")
            .args(["-c", pipes])
            .arg(program)
            .args(["--headless", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu"])
            .args(["--no-first-run", "--disable-background-networking", "--hide-scrollbars"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell");
        let stdin = child.stdin.take().expect("a pipe");
        let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let (sender, messages) = channel();
        thread::spawn(move || {
            loop {
                let mut message = Vec::new();
                match stdout.read_until(0, &mut message) {
                    Ok(length) if length > 0 => message.pop(),
                    _ => return,
                };
                let message = serde_json::from_slice(&message).expect("JSON");
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let mut browser = Self {
            child,
            stdin,
            messages,
            events: Vec::new(),
            session: String::new(),
            sent: 0,
            _profile: profile,
        };
        let page = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let target = json!({ "targetId": page["targetId"], "flatten": true });
        let session = browser.call("Target.attachToTarget", target);
        browser.session = session["sessionId"].as_str().expect("a session").to_string();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    /// Sends a command and returns its result.
    pub(super) fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.sent += 1;
        let mut message = json!({ "id": self.sent, "method": method, "params": parameters });
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        self.stdin.write_all(format!("{message}\0").as_bytes()).expect("a browser that listens");
        self.stdin.flush().expect("a browser that listens");
        let until = Instant::now() + PATIENCE;
        loop {
            let reply = self.next(until, method);
            if reply["id"] == self.sent {
                assert!(reply["error"].is_null(), "{method}: {}", reply["error"]);
                return reply["result"].clone();
            }
            self.events.push(reply);
        }
    }

    fn next(&self, until: Instant, what: &str) -> Value {
        let left = until.saturating_duration_since(Instant::now());
        self.messages.recv_timeout(left).unwrap_or_else(|error| panic!("{what}: {error}"))
    }

    /// Opens a file and waits until it is loaded.
    pub(super) fn open(&mut self, path: &Path) {
        self.events.clear();
        self.call("Page.navigate", json!({ "url": format!("file://{}", path.display()) }));
        let until = Instant::now() + PATIENCE;
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.next(until, "loading");
            self.events.push(event);
        }
    }

    /// The value of an expression, awaited.
    pub(super) fn value(&mut self, expression: &str) -> Value {
        let parameters =
            json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let reply = self.call("Runtime.evaluate", parameters);
        assert!(reply["exceptionDetails"].is_null(), "{expression}: {reply}");
        reply["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    pub(super) fn wait_for(&mut self, expression: &str) {
        let until = Instant::now() + PATIENCE;
        while self.value(expression) != true {
            assert!(Instant::now() < until, "never true: {expression}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// The window's width, in CSS pixels.
    pub(super) fn width(&mut self, width: u32) {
        let size =
            json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    /// Moves the pointer to a place in the window.
    pub(super) fn point(&mut self, x: f64, y: f64) {
        let event = json!({ "type": "mouseMoved", "x": x, "y": y });
        self.call("Input.dispatchMouseEvent", event);
    }

    /// Presses a key.
    pub(super) fn press(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            let event = json!({ "type": kind, "key": key, "code": key });
            self.call("Input.dispatchKeyEvent", event);
        }
    }

    /// Nothing failed, nothing was asked of any host, nothing but the page's own script ran.
    pub(super) fn assert_calm(&mut self, path: &Path) {
        let own = format!("file://{}", path.display());
        // Whatever was said so far has arrived with the answer.
        self.value("0");
        for event in &self.events {
            let parameters = &event["params"];
            match event["method"].as_str().unwrap_or_default() {
                "Network.requestWillBeSent" => {
                    let url = parameters["request"]["url"].as_str().expect("an address");
                    assert!(url == own || url.starts_with(&format!("{own}#")), "{url}");
                }
                "Runtime.exceptionThrown" | "Page.javascriptDialogOpening" => panic!("{event}"),
                "Runtime.consoleAPICalled" => panic!("{event}"),
                "Log.entryAdded" => panic!("{event}"),
                _ => {}
            }
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
