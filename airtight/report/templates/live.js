(() => {
  "use strict";
  const starts = JSON.parse(document.getElementById("live-start").textContent);
  const SLIDERS = [
    ["participation", "p", 0.01, 1, false], ["dimension", "r", 1, 25088, true], ["noise_variance", "σ²", 1e-3, 1e2, true],
    ["clip", "C", 1e-2, 1e3, true], ["alignment", "γ", 1e-2, 1e2, true], ["rounds", "T", 1, 1000, true],
    ["max_power", "PΩ", 1e-2, 1e2, true],
  ];
  const ANTENNAS = [1, 2, 4, 8];
  const SEEN = { participants: "y and who takes part", others: "y and who of the others takes part", signal: "y and nothing else" };
  const WHOLE = new Set(["dimension", "rounds"]), STEPS = 400, POINTS = 41, FEW = 13;
  const SLICE = 12, SLOW = 25;  // milliseconds: of work at a time, and what a value may take for many of them to be drawn
  const FAR = 0.02;  // a share that is no estimate any more
  const at = (id) => document.getElementById("live-" + id);
  let now, start, moved = SLIDERS[0], turn = 0;
  const kept = {};  // the curve of the system as it stands, for all T

  // four digits, as airtight.results.numerals.plain writes them
  function digits(x) {
    if (x === Infinity) return "∞";
    if (x === 0 || (x >= 1e-3 && x < 1e4)) return String(Number(x.toPrecision(4)));
    if (x >= 1e4 && x < (Number.isInteger(x) ? 1e9 : 99999.5)) return x.toFixed(0).replace(/\B(?=(\d{3})+$)/g, ",");
    return x.toExponential(3).replace(/\.?0*e\+?/, "e");
  }
  // an epsilon, rounded up to the digits that are shown
  function upward(x) {
    if (!(x > 0 && isFinite(x))) return digits(x);
    const y = x * (1 + 1e-9), shown = Number(y.toPrecision(4)), unit = 10 ** (Math.floor(Math.log10(y)) - 3);
    return digits(shown < y ? shown + unit : shown);
  }

  // the ends of a slider: farther where the file begins outside
  const ends = ([name, , low, high, log]) => (log && start[name] > 0 ? [start[name] < low ? start[name] / 100 : low, start[name] > high ? start[name] * 100 : high] : [low, high]);
  const place = (row, t) => {
    const [low, high] = ends(row), x = row[4] ? low * (high / low) ** t : low + (high - low) * t;
    return WHOLE.has(row[0]) ? Math.max(1, Math.round(x)) : x;
  };
  const home = (row) => Math.min(Math.max(Math.round(STEPS * position(row, start[row[0]])), 0), STEPS) || 0;
  const position = (row, x) => {
    const [low, high] = ends(row);
    return row[4] ? Math.log(x / low) / Math.log(high / low) : (x - low) / (high - low);
  };

  // what is computed with: a coordinate of complex codes is half of a symbol, and a power limit decides who takes part
  function described(s) {
    const odd = airtight.several(s) && s.model === "complex" && s.dimension % 2;
    return airtight.decided(odd ? { ...s, dimension: s.dimension + 1 } : s);
  }

  // Theorem 1's claim: infinite where t is not below the mean noise; its exponential may overflow
  function claimed(s, form) {
    const given = { ...s, sigma: Math.sqrt(s.noise_variance) };
    if (!(printed.mean_noise(given) > printed["t_" + form](given))) return Infinity;
    const value = printed["epsilon_" + form](given);
    return isFinite(value) ? value : printed["single_" + form](given) + Math.log(s.participation / (1 - s.delta_prime));
  }

  // a hidden silent device has two curves; here the greater stands for both
  const oneOrder = (s) => s.rounds > 1 && s.adjacency === "silent" && airtight.covered(s);

  // whether the controls can keep the file's system
  const keeps = () => start.differs.length === 0 && !start.unserved;

  // Python's numbers for the devices and the channel of the file; where the controls cannot keep these, for any observer
  const inReport = () => now.report.find(({ observer }) => observer === now.observer
    && Object.keys(start).every((name) => (name === "observer" && !keeps()) || now[name] === start[name]));

  function show() {
    const numbers = inReport(), whole = keeps();
    say(numbers, whole);
    if (numbers) showReport(numbers);
    for (const row of SLIDERS) {
      const value = numbers ? start.shown[row[0]] : now[row[0]] === null ? "" : digits(described(now)[row[0]]);
      at("value-" + row[0]).textContent = value;
      at("slider-" + row[0]).setAttribute("aria-valuetext", value);
    }
    for (const id of ["few-said", "legend", "lines", "few-lines", "file", "refused"]) at(id).replaceChildren();
    at("figures").hidden = Boolean(numbers) && !whole;  // they are of devices alike
    if (numbers && !whole) run([].values()); else compute(numbers);
  }

  // what the numbers are of, in words that stand before they change
  function say(numbers, whole) {
    const differs = start.differs.join("; "), { exact } = now.report.find(({ observer }) => observer === start.observer);
    at("kept").textContent = differs ? `The controls compute another system than the file's: ${differs}.` : "The controls change the file's system, of devices alike.";
    at("scope").textContent = numbers
      ? `The file's own system${start.alike ? "" : ", its unlike devices included"}: the numbers of the report, from Python.`
        + (start.unserved ? ` The controls cannot change it, because ${start.unserved}: ask airtight bounds.` : whole ? "" : " Figures appear when a control moves.")
      : `Computed in this page${differs && `, and not for the file's system: ${differs}`}. The report's ε of one round is ${exact.text} (${exact.whose}).`;
    at("back").hidden = Boolean(numbers) && now.observer === start.observer;
    at("controls").hidden = Boolean(start.unserved);
  }

  function showReport(numbers) {
    for (const id of ["theorem1", "eq23", "proven", "exact", "rounds"]) {
      at(id).textContent = numbers[id]?.text ?? "–";
      at(id).title = numbers[id]?.value ?? "";
    }
    at("one").textContent = numbers.upper ? "at most, one round" : "exact, one round";
    at("all").textContent = numbers.upper || now.rounds > 1 ? "at most, after T rounds" : "after T rounds";
    at("whose").textContent = numbers.exact.whose;
    at("why").textContent = numbers.rounds ? `T = ${start.shown.rounds}; ${numbers.rounds.whose}` : `T = ${start.shown.rounds}: ask airtight bounds, with observer = "${now.observer}"`;
    at("whom").textContent = whom(now, start.place);
  }
  const whom = (s, place) => `Neighbours: ${s.adjacency}. The server sees ${SEEN[s.observer]}${place}. δ = ${digits(s.delta)}.`;

  function compute(numbers) {
    const s = described(now), over = airtight.several(s), refused = airtight.refusal(s), later = !refused && airtight.lastingRefused(s);
    at("refused").textContent = refused || (later ? "Over a channel that lasts the page serves T rounds only where all take part: choose p = 1 or a fresh state, or ask airtight bounds." : "");
    at("file").innerHTML = over && !airtight.limited(s) ? `The same states in a file: <code>[inference.channel] ${inFile(s)}</code>` : "";
    if (!numbers) {
      const upper = (s.observer === "signal" && !s.idle_noise && !airtight.limited(s)) || (over && !s.known);
      for (const id of ["theorem1", "eq23"]) at(id).textContent = over ? "–" : digits(claimed(s, id));
      at("proven").textContent = over ? "–" : upward(airtight.proven(s));
      at("one").textContent = upper ? "at most, one round" : "exact, one round";
      at("all").textContent = upper || oneOrder(s) ? "at most, after T rounds" : "after T rounds";
      at("whom").textContent = whom(s, AT(s) + (over ? "; claimed and proven are of one look, and say nothing here" : ""));
      at("exact").textContent = refused ? "–" : "…";
      at("rounds").textContent = refused || later ? "–" : "…";
      for (const id of ["theorem1", "eq23", "proven", "exact", "rounds"]) at(id).title = "";
      at("whose").textContent = start.alike ? "" : "all devices alike";
      at("why").textContent = "";
    }
    if (refused) run([].values()); else run(work({ ...s }, moved, later, numbers));
  }

  const AT = (s) => (airtight.several(s) ? `, at ${s.antennas} antenna${s.antennas > 1 ? "s" : ""} in ${s.states} states that it knows` : s.antennas > 1 ? `, at ${s.antennas} antennas that receive the same` : "");
  const inFile = (s) => `model = "${s.model}", antennas = ${s.antennas}, ${s.law}, states = ${s.states}, seed = ${s.seed}, fresh = ${s.fresh}`;

  // what takes longer, some milliseconds at a time, between which the page hears and draws; the next move ends it
  const turns = new MessageChannel();
  let steps;
  turns.port1.onmessage = ({ data }) => {
    if (data !== turn) return;
    const until = performance.now() + SLICE;
    let done = false;
    while (!done && performance.now() < until) ({ done } = steps.next());
    if (!done) turns.port2.postMessage(turn);
  };
  function run(work) {
    steps = work;
    turns.port2.postMessage(++turn);
  }

  function* work(system, row, later, numbers) {
    const began = performance.now(), found = yield* airtight.greatestEpsilon(system), took = performance.now() - began, several = airtight.several(system);
    if (numbers) agree(numbers.exact.value, found.value); else at("exact").textContent = upward(found.value);
    if (!later && !numbers) {
      const { value, above } = yield* airtight.overRoundsAndStates(system, found, kept);
      at("rounds").textContent = upward(value);
      at("why").textContent = `T = ${system.rounds}` + (several && system.rounds > 1 && system.fresh ? `; device ${found.law.device}, the least protected in one` : "")
        + (oneOrder(system) ? "; one curve for both orders, which costs up to 10 %" : "");
      yield;
      const over = above();
      if (over > 5e-5) at("why").textContent += over > FAR ? "; from above, and far from exact" : `; too great by some ${(100 * over).toPrecision(1)} % (measured)`;
    }
    yield* againstAntennas(system, numbers);
    const overT = row[0] === "rounds";  // claimed and proven are of one round: not drawn beside what T of them give away
    const lines = overT || several ? { exact: [] } : { claimed: [], proven: [], exact: [] }, points = took < SLOW ? POINTS : FEW;
    for (let i = 0; i < points; i++) {
      const t = i / (points - 1), s = described({ ...system, [row[0]]: place(row, t) });
      if (lines.claimed) lines.claimed.push([t, claimed(s, "eq23")]);
      if (lines.proven) lines.proven.push([t, airtight.proven(s)]);
      if (overT) lines.exact.push([t, airtight.lastingRefused(s) ? NaN : (yield* airtight.overRoundsAndStates(s, found, kept)).value]);
      else lines.exact.push([t, airtight.refusal(s) ? NaN : (yield* airtight.greatestEpsilon(s)).value]);
      yield;
    }
    plot(row, lines);
  }

  // the small figure: epsilon of one round for 1, 2, 4 and 8 antennas, and where it ends
  function* againstAntennas(system, numbers) {
    const counts = [...new Set([...ANTENNAS, system.antennas])].sort((a, b) => a - b), values = [];
    for (const antennas of counts) {
      const s = described({ ...system, antennas });
      values.push(airtight.refusal(s) ? NaN : (yield* airtight.greatestEpsilon(s)).value);
      yield;
    }
    const limit = yield* airtight.limitOfAntennas(system), drawn = (y) => isFinite(y) && y > 0, finite = [...values, limit].filter(drawn);
    const most = Math.max(...finite, 0) * 1.1 || 1, least = Math.min(...finite, most) / 1.1, log = most / least > 30, last = counts.at(-1);
    const X = (m) => 56 + 245 * Math.log(m) / Math.log(last), Y = (y) => 170 - 150 * (log ? Math.log(y / least) / Math.log(most / least) : y / most);
    const parts = [`<line x1="56" x2="315" y1="170" y2="170" stroke="var(--line)"/><text x="178" y="198" text-anchor="middle">antennas</text><text x="56" y="12" text-anchor="end">ε</text>`];
    for (const y of [...new Set(finite.length ? [Math.min(...finite), Math.max(...finite)] : [])]) parts.push(`<text x="50" y="${Y(y) + 4}" text-anchor="end">${upward(y)}</text>`);
    const points = counts.map((m, i) => [m, values[i]]).filter(([, y]) => drawn(y)), style = 'fill="none" stroke="var(--bad)" stroke-width="2"';
    for (const m of counts) parts.push(`<text x="${X(m)}" y="184" text-anchor="middle">${m}</text>`);
    parts.push(`<path d="${points.map(([m, y], i) => `${i ? "L" : "M"}${X(m).toFixed(1)} ${Y(y).toFixed(1)}`).join("")}" ${style}/>`);
    for (const [m, y] of points) parts.push(`<circle cx="${X(m)}" cy="${Y(y)}" r="${m === system.antennas ? 5 : 3}" fill="var(--bad)"/>`);
    if (drawn(limit)) parts.push(`<line x1="56" x2="315" y1="${Y(limit)}" y2="${Y(limit)}" stroke="var(--soft)" stroke-dasharray="2 3"/>`);
    at("few-lines").innerHTML = parts.join("");
    const said = counts.map((m, i) => `${m}: ${Number.isNaN(values[i]) ? "not served" : numbers && m === system.antennas ? numbers.exact.text : upward(values[i])}`).join(", ");
    at("few-said").textContent = `ε of one round against antennas, ${system.adjacency}, the server sees ${SEEN[system.observer]}${said ? `; ${said}` : ""}. `
      + `${drawn(limit) ? "Dashed" : "Limit"}: ${upward(limit)}, ${!airtight.faded(system) ? "the devices' noise alone, as all antennas receive the same" : "the device's own noise alone"}.`;
  }

  // the page's value beside Python's, for the file's system
  function agree(inPython, here) {
    const python = inPython === "inf" ? Infinity : inPython, off = here === python ? 0 : Math.abs(here / python - 1);
    at("agreement").innerHTML = `They agree with Python's ε of the file's system to ${off < 1e-16 ? "the last digit" : `<span class="one">${off.toExponential(0)}</span>`}.`;
  }

  function plot(row, lines) {
    const finite = Object.values(lines).flat().map(([, y]) => y).filter((y) => isFinite(y) && y > 0);
    const [least, most] = finite.length ? [Math.min(...finite), Math.max(...finite)] : [0.1, 10];
    const low = Math.floor(2 * Math.log10(least)) / 2, high = Math.max(Math.log10(most), low + 0.5);
    const width = Math.max(320, Math.min(at("plot").clientWidth, 700)), X = (t) => 50 + (width - 80) * t, Y = (y) => 260 - 230 * (Math.log10(y) - low) / (high - low);
    const parts = [];
    for (let k = Math.floor(low); k <= high; k++) {
      for (const y of (high - low < 1.5 ? [1, 2, 5] : [1]).map((x) => x * 10 ** k)) {
        if (Math.log10(y) < low || Math.log10(y) > high) continue;
        parts.push(`<line x1="50" x2="${X(1)}" y1="${Y(y)}" y2="${Y(y)}" stroke="var(--line)"/><text x="44" y="${Y(y) + 4}" text-anchor="end">${digits(y)}</text>`);
      }
    }
    for (const t of [0, 0.25, 0.5, 0.75, 1]) parts.push(`<text x="${X(t)}" y="278" text-anchor="middle">${digits(Number(place(row, t).toPrecision(2)))}</text>`);
    parts.push(`<text x="${X(0.5)}" y="296" text-anchor="middle">${row[1]}</text><text x="50" y="18">ε</text>`);
    const here = X(position(row, now[row[0]]));
    parts.push(`<line x1="${here}" x2="${here}" y1="24" y2="260" stroke="var(--soft)" stroke-dasharray="2 3"/>`);
    const style = { claimed: ["var(--ink)", "6 4", "dashed"], proven: ["var(--mark)", "2 3", "dotted"], exact: ["var(--bad)", "", "solid"] };
    const legend = [];
    for (const [name, points] of Object.entries(lines)) {
      const [colour, dash, border] = style[name];
      const path = points.map(([t, y], i) => (isFinite(y) && y > 0
        ? `${i && isFinite(points[i - 1][1]) && points[i - 1][1] > 0 ? "L" : "M"}${X(t).toFixed(1)} ${Y(y).toFixed(1)}` : "")).join("");
      parts.push(`<path d="${path}" fill="none" stroke="${colour}" stroke-width="2" stroke-dasharray="${dash}"/>`);
      const label = name === "claimed" ? "claimed, t of its proof" : name === "exact" && row[0] === "rounds" ? "after T" : name;
      legend.push(`<b><span style="border-top-style:${border};border-color:${colour}"></span>${label}</b> `);
    }
    at("plot").setAttribute("viewBox", `0 0 ${width} 300`);
    at("legend").innerHTML = legend.join("");
    at("lines").innerHTML = parts.join("");
  }

  function choose(chosen) {
    start = { ...chosen };
    now = { ...chosen };
    for (const name of ["adjacency", "observer", "model"]) at(name).value = now[name];
    at("idle").checked = now.idle_noise;
    at("fresh").checked = now.fresh;
    at("fading").value = now.law;
    at("antennas").replaceChildren(...[...new Set([...ANTENNAS, now.antennas])].sort((a, b) => a - b).map((m) => new Option(m, m)));
    at("antennas").value = now.antennas;
    const limited = airtight.limited(now);
    at("slider-max_power").parentElement.hidden = !limited;
    at("slider-participation").disabled = limited;  // the power limit decides it
    at("idle").disabled = limited;
    if (limited && moved[0] === "participation") moved = SLIDERS[1];
    for (const row of SLIDERS) {
      at("slider-" + row[0]).value = home(row);
      at("alike-" + row[0]).hidden = start.alike;
      at("slider-" + row[0]).setAttribute("aria-label", row[0].replace("_", " ") + (start.alike ? "" : ", all devices alike"));
    }
    at("agreement").textContent = "";
    show();
  }

  for (const row of SLIDERS) {
    const label = document.createElement("label");
    label.innerHTML = `<span>${row[1]} <span class="soft">${row[0].replace("_", " ")}<span id="live-alike-${row[0]}">, all devices alike</span></span></span><output id="live-value-${row[0]}"></output><input type="range" min="0" max="${STEPS}" id="live-slider-${row[0]}">`;
    at("sliders").append(label);
    label.querySelector("input").addEventListener("input", (event) => {
      moved = row;
      now[row[0]] = Number(event.target.value) === home(row) ? start[row[0]] : place(row, event.target.value / STEPS);
      show();
    });
  }
  starts.forEach(({ name }, i) => at("system").append(new Option(name, i)));
  at("system").addEventListener("change", (event) => choose(starts[event.target.value]));
  for (const name of ["adjacency", "observer", "model"]) at(name).addEventListener("change", (event) => { now[name] = event.target.value; show(); });
  at("antennas").addEventListener("change", (event) => { now.antennas = Number(event.target.value); show(); });
  at("fading").append(...Object.keys(LAWS).map((law) => new Option(law.replace("fading = ", "").replaceAll('"', ""), law)));
  at("fading").addEventListener("change", (event) => { now.law = event.target.value; show(); });
  at("fresh").addEventListener("change", (event) => { now.fresh = event.target.checked; show(); });
  at("idle").addEventListener("change", (event) => { now.idle_noise = event.target.checked; show(); });
  at("back").addEventListener("click", () => choose(start));
  choose(starts[0]);
})();
