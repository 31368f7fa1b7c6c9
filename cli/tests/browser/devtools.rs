//! Chromium without a screen, driven over its DevTools protocol.
//!
//! ```text
//!  test ─► JSON, NUL ─► pipe 3 ─► chromium --remote-debugging-pipe ─► pipe 4 ─► JSON, NUL ─► replies and events
//! ```
//!
//! The protocol over two pipes needs neither a port nor a WebSocket, so this is a process and serde_json. A shell gives the
//! browser its pipes. Every wait has a limit, and the browser ends with its value.

use std::collections::VecDeque;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Longest wait for a reply or an event, on a busy machine.
const LIMIT: Duration = Duration::from_secs(120);
/// Names of the program, as distributions have it.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
/// Of the shell that runs the browser with our pipes as its files 3 and 4.
const PIPES: &str = "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1";

/// A running browser.
pub struct Browser {
    child: Child,
    requests: ChildStdin,
    replies: Receiver<Value>,
    last: u64,
    /// Events that came while a reply was awaited.
    events: VecDeque<Value>,
    _profile: TempDir,
}

/// How a page is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    pub width: u32,
    pub height: u32,
    pub dark: bool,
    pub print: bool,
}

/// What a page did, and how it lies in its view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Exceptions, and what console and browser complain of.
    pub complaints: Vec<String>,
    /// Everything fetched besides the page.
    pub requests: Vec<String>,
    /// Elements that leave the view, or their place in it.
    pub overflow: Vec<String>,
    /// Colour of the background.
    pub background: String,
}

/// Elements beyond the edges of the view, and content beyond those of its element. On a screen, code, tables of the book and its
/// list of chapters may be wider: they scroll in a box of their own. Nothing else may scroll sideways, and on paper nothing can.
const OVERFLOW: &str = r"(() => {
  const width = document.documentElement.clientWidth, found = [];
  const boxes = matchMedia('print').matches ? 'nav, svg, [hidden]' : 'pre, .table-wrapper, nav, svg, [hidden]';
  const name = e => e.tagName.toLowerCase() + (e.id ? '#' + e.id : '') + ': ' + (e.textContent || '').trim().slice(0, 40);
  if (document.documentElement.scrollWidth > innerWidth)
    found.push('document: ' + document.documentElement.scrollWidth + ' of ' + innerWidth);
  for (const e of document.body.querySelectorAll('*')) {
    const box = e.closest(boxes);
    if (box && box !== e) continue;
    const r = e.getBoundingClientRect(), style = getComputedStyle(e);
    if (r.width === 0 || style.visibility === 'hidden') continue;
    if (r.right > width + 0.5) found.push('right edge ' + r.right + ' of ' + width + ', ' + name(e));
    if (r.left < -0.5 && r.right > 0.5) found.push('left edge ' + r.left + ', ' + name(e));
    if (!box && e.clientWidth > 0 && e.scrollWidth > e.clientWidth + 1)
      found.push('content of ' + e.scrollWidth + ' in ' + e.clientWidth + ', ' + name(e));
  }
  return {overflow: found, background: getComputedStyle(document.documentElement).backgroundColor};
})()";

impl Browser {
    /// Starts one with a profile of its own, which keeps nothing.
    pub fn start() -> Self {
        let program = NAMES
            .iter()
            .find(|name| {
                let paths = std::env::var_os("PATH").unwrap_or_default();
                std::env::split_paths(&paths).any(|folder| folder.join(name).is_file())
            })
            .expect("no Chromium here: tools/setup.sh browser installs it");
        let profile = tempfile::tempdir().unwrap();
        let mut child = Command::new("sh")
            .args(["-c", PIPES, program])
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--disable-extensions",
                "--hide-scrollbars",
                "--remote-debugging-pipe",
            ])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let requests = child.stdin.take().unwrap();
        let mut answers = BufReader::new(child.stdout.take().unwrap());
        let (send, replies) = channel();
        std::thread::spawn(move || {
            loop {
                let mut message = Vec::new();
                match answers.read_until(0, &mut message) {
                    Ok(1..) => {}
                    _ => return, // the browser has ended
                }
                message.pop();
                let Ok(message) = serde_json::from_slice(&message) else {
                    return;
                };
                if send.send(message).is_err() {
                    return;
                }
            }
        });
        Self {
            child,
            requests,
            replies,
            last: 0,
            events: VecDeque::new(),
            _profile: profile,
        }
    }

    /// The result of a command, to the browser itself or to a page of it.
    fn call(&mut self, session: Option<&str>, method: &str, parameters: Value) -> Value {
        self.last += 1;
        let id = self.last;
        let mut message = json!({"id": id, "method": method, "params": parameters});
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        let mut octets = serde_json::to_vec(&message).unwrap();
        octets.push(0);
        self.requests.write_all(&octets).unwrap();
        self.requests.flush().unwrap();
        let until = Instant::now() + LIMIT;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let message = self.replies.recv_timeout(left);
            let message = message.unwrap_or_else(|error| panic!("no reply to {method}: {error}"));
            if message["id"] == id {
                assert!(message["error"].is_null(), "{method}: {message}");
                return message["result"].clone();
            }
            self.events.push_back(message);
        }
    }

    /// Events up to the one called `method`.
    fn wait_for(&mut self, session: &str, method: &str) {
        let is = |event: &Value| event["method"] == method && event["sessionId"] == session;
        let until = Instant::now() + LIMIT;
        while !self.events.iter().any(is) {
            let left = until.saturating_duration_since(Instant::now());
            let event = self.replies.recv_timeout(left);
            self.events
                .push_back(event.unwrap_or_else(|error| panic!("no {method}: {error}")));
        }
    }

    /// Opens `page`, a file, as `view` says, and looks at it; with a folder, keeps a picture of it there.
    pub fn look(&mut self, page: &Path, view: View, pictures: Option<&Path>) -> Seen {
        let (target, session) = self.open(page, view);
        let result = self.call(
            Some(&session),
            "Runtime.evaluate",
            json!({"expression": OVERFLOW, "returnByValue": true}),
        );
        let result = &result["result"]["value"];
        assert!(result.is_object(), "{result}");
        let texts = |list: &Value| -> Vec<String> {
            let all = list.as_array().unwrap();
            all.iter()
                .map(|text| text.as_str().unwrap().into())
                .collect()
        };
        if let Some(folder) = pictures {
            self.picture(&session, folder, page, view);
        }
        let seen = Seen {
            complaints: self.complaints(&session),
            requests: self.fetched(&session, page),
            overflow: texts(&result["overflow"]),
            background: result["background"].as_str().unwrap().into(),
        };
        self.call(None, "Target.closeTarget", json!({"targetId": target}));
        self.events.clear();
        seen
    }

    /// `page` on A4, as a PDF file.
    pub fn print(&mut self, page: &Path) -> Vec<u8> {
        let view = View {
            width: 1280,
            height: 900,
            dark: false,
            print: false,
        };
        let (target, session) = self.open(page, view);
        let a4 = json!({"paperWidth": 8.27, "paperHeight": 11.69, "preferCSSPageSize": true, "printBackground": false});
        let result = self.call(Some(&session), "Page.printToPDF", a4);
        self.call(None, "Target.closeTarget", json!({"targetId": target}));
        self.events.clear();
        BASE64_STANDARD
            .decode(result["data"].as_str().unwrap())
            .unwrap()
    }

    fn open(&mut self, page: &Path, view: View) -> (String, String) {
        let made = self.call(None, "Target.createTarget", json!({"url": "about:blank"}));
        let target = made["targetId"].as_str().unwrap().to_owned();
        let attached = self.call(
            None,
            "Target.attachToTarget",
            json!({"targetId": target, "flatten": true}),
        );
        let session = attached["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            self.call(Some(&session), &format!("{domain}.enable"), json!({}));
        }
        self.call(
            Some(&session),
            "Emulation.setDeviceMetricsOverride",
            json!({"width": view.width, "height": view.height, "deviceScaleFactor": 1, "mobile": false}),
        );
        let scheme = if view.dark { "dark" } else { "light" };
        self.call(
            Some(&session),
            "Emulation.setEmulatedMedia",
            json!({
                "media": if view.print { "print" } else { "screen" },
                "features": [{"name": "prefers-color-scheme", "value": scheme}],
            }),
        );
        self.events.clear();
        let moved = self.call(
            Some(&session),
            "Page.navigate",
            json!({"url": address(page)}),
        );
        assert!(moved["errorText"].is_null(), "{}: {moved}", page.display());
        self.wait_for(&session, "Page.loadEventFired");
        (target, session)
    }

    /// The whole page as PNG.
    fn picture(&mut self, session: &str, folder: &Path, page: &Path, view: View) {
        let result = self.call(
            Some(session),
            "Page.captureScreenshot",
            json!({"captureBeyondViewport": true}),
        );
        let octets = BASE64_STANDARD.decode(result["data"].as_str().unwrap());
        let name = page.file_stem().unwrap().to_string_lossy();
        let kind = match (view.print, view.dark) {
            (true, _) => "print",
            (false, true) => "dark",
            (false, false) => "light",
        };
        let file = folder.join(format!("{name}-{}-{kind}.png", view.width));
        fs::write(file, octets.unwrap()).unwrap();
    }

    fn complaints(&self, session: &str) -> Vec<String> {
        let of = self
            .events
            .iter()
            .filter(|event| event["sessionId"] == session);
        let complaint = |event: &Value| {
            let parameters = &event["params"];
            let (is, text) = match event["method"].as_str()? {
                "Runtime.exceptionThrown" => (true, &parameters["exceptionDetails"]),
                "Runtime.consoleAPICalled" => (
                    ["error", "warning", "assert"].contains(&parameters["type"].as_str()?),
                    &parameters["args"],
                ),
                "Log.entryAdded" => (
                    ["error", "warning"].contains(&parameters["entry"]["level"].as_str()?),
                    &parameters["entry"]["text"],
                ),
                _ => (false, parameters),
            };
            is.then(|| text.to_string())
        };
        of.filter_map(complaint).collect()
    }

    fn fetched(&self, session: &str, page: &Path) -> Vec<String> {
        let of = self.events.iter().filter(|event| {
            event["sessionId"] == session && event["method"] == "Network.requestWillBeSent"
        });
        let own = address(page);
        of.filter_map(|event| event["params"]["request"]["url"].as_str())
            .filter(|url| *url != own && !url.starts_with("data:"))
            .map(String::from)
            .collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.last += 1;
        let close = json!({"id": self.last, "method": "Browser.close"});
        let closed = serde_json::to_vec(&close).map(|mut octets| {
            octets.push(0);
            self.requests.write_all(&octets)
        });
        let until = Instant::now() + Duration::from_secs(10);
        while closed.is_ok() && Instant::now() < until {
            if let Ok(Some(_)) = self.child.try_wait() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The address of a file.
fn address(page: &Path) -> String {
    format!("file://{}", page.display())
}
