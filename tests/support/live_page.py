"""The live part of a report in an engine without a browser: elements are objects, work runs until the numbers are there."""

import json

from py_mini_racer import MiniRacer

from airtight.report import live, page

_DOCUMENT = """
let clock = 0;
const elements = {}, queue = [], performance = { now: () => clock += 10 };
function Option(text, value) { return { text, value }; }
const element = () => ({
  textContent: "", innerHTML: "", title: "", hidden: false, value: "", attributes: {}, listeners: {}, parentElement: {},
  append() {}, setAttribute(name, value) { this.attributes[name] = value; },
  replaceChildren() { this.textContent = this.innerHTML = ""; }, addEventListener(event, run) { this.listeners[event] = run; },
  querySelector() { return document.getElementById(this.innerHTML.match(/<input[^>]*id="([^"]*)"/)[1]); },
});
const document = { getElementById: (id) => elements[id] ??= element(), createElement: element };
class MessageChannel {
  port1 = {};
  port2 = { postMessage: (data) => queue.push(() => this.port1.onmessage({ data })) };
}
const settle = () => {
  const waits = (name) => document.getElementById("live-" + name).textContent === "…";
  while (queue.length && (waits("exact") || waits("rounds"))) queue.shift()();
  queue.length = 0;
};
"""


class LivePage:
    """The page with the systems that it is given: what an element says, and moves of a control.

    The numbers are waited for; the figures, which come last, are not.
    """

    def __init__(self, starts):
        self._engine = MiniRacer()
        begun = f"document.getElementById('live-start').textContent = {json.dumps(str(live.starts(starts)))};"
        source, _, _ = page.environment().loader.get_source(page.environment(), "live.js")
        self._engine.eval(f"{_DOCUMENT};{begun};{live.script()};{source};settle();0")

    def _get(self, name, member):
        return self._engine.eval(f"document.getElementById('live-{name}').{member}")

    def __getitem__(self, name):
        """The text of an element."""
        return self._get(name, "textContent")

    def title(self, name):
        return self._get(name, "title")

    def hidden(self, name):
        return self._get(name, "hidden")

    def label(self, name):
        return self._get(name, "attributes['aria-label']")

    def position(self, name):
        return int(self._get(name, "value"))

    def press(self, name):
        self._engine.eval(f"document.getElementById('live-{name}').listeners.click();settle();0")

    def choose(self, name, value):
        self._move(name, value, "change")

    def slide(self, name, position):
        self._move(f"slider-{name}", position, "input")

    def _move(self, name, value, event):
        at = f"document.getElementById('live-{name}')"
        member = "checked" if isinstance(value, bool) else "value"
        self._engine.eval(
            f"{at}.{member} = {json.dumps(value)}; {at}.listeners.{event}({{ target: {at} }}); settle();0"
        )
