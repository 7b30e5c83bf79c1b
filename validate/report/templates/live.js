(() => {
  "use strict";
  const starts = JSON.parse(document.getElementById("live-start").textContent);
  const SLIDERS = [
    ["participation", "p", 0.01, 1, false], ["dimension", "r", 1, 25088, true], ["noise_variance", "σ²", 1e-3, 1e2, true],
    ["clip", "C", 1e-2, 1e3, true], ["alignment", "γ", 1e-2, 1e2, true], ["rounds", "T", 1, 1000, true],
  ];
  const WHOLE = new Set(["dimension", "rounds"]), STEPS = 400, POINTS = 41, FEW = 13;
  const SLICE = 12, SLOW = 25;  // milliseconds: of work at a time, and what a value may take for many of them to be drawn
  const FAR = 0.02;  // a share that is no estimate any more
  const at = (id) => document.getElementById("live-" + id);
  let now, start, moved = SLIDERS[0], turn = 0;
  const kept = {};  // the curve of the system as it stands, for all T

  const digits = (x) => (x === Infinity ? "∞" : x === 0 ? "0"
    : x >= 1e-3 && x < 1e5 ? String(Number(x.toPrecision(4))) : x.toExponential(2).replace("e+", "e"));
  const place = ([name, , low, high, log], t) => {
    const x = log ? low * (high / low) ** t : low + (high - low) * t;
    return WHOLE.has(name) ? Math.max(1, Math.round(x)) : x;
  };
  const position = ([, , low, high, log], x) => (log ? Math.log(x / low) / Math.log(high / low) : (x - low) / (high - low));

  // Theorem 1's claim: infinite where t is not below the mean noise; its exponential may overflow
  function claimed(s, form) {
    const given = { ...s, sigma: Math.sqrt(s.noise_variance) };
    if (!(printed.mean_noise(given) > printed["t_" + form](given))) return Infinity;
    const value = printed["epsilon_" + form](given);
    return isFinite(value) ? value : printed["single_" + form](given) + Math.log(s.participation / (1 - s.delta_prime));
  }

  // a hidden silent device has two curves; here the greater stands for both
  const oneOrder = (s) => s.rounds > 1 && s.adjacency === "silent" && airtight.covered(s);

  function show() {
    for (const row of SLIDERS) {
      at("value-" + row[0]).textContent = digits(now[row[0]]);
      at("slider-" + row[0]).setAttribute("aria-valuetext", digits(now[row[0]]));
    }
    at("theorem1").textContent = digits(claimed(now, "theorem1"));
    at("eq23").textContent = digits(claimed(now, "eq23"));
    at("proven").textContent = digits(airtight.proven(now));
    const upper = now.observer === "signal" && !now.idle_noise;
    at("one").textContent = upper ? "at most, one query" : "exact, one query";
    at("all").textContent = upper || oneOrder(now) ? "at most, after T queries" : "after T queries";
    for (const id of ["exact", "rounds"]) at(id).textContent = "…";
    at("why").textContent = "";
    run(work({ ...now }, moved));
  }

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

  function* work(system, row) {
    const began = performance.now(), exact = yield* airtight.oneQuery(system), took = performance.now() - began;
    at("exact").textContent = digits(exact);
    agree(exact);
    const { value, above } = yield* airtight.overRounds(system, kept);
    at("rounds").textContent = digits(value);
    at("why").textContent = `T = ${system.rounds}` + (oneOrder(system) ? "; one curve for both orders, which costs up to 10 %" : "");
    yield;
    const over = above();
    if (over > 5e-5) at("why").textContent += over > FAR ? "; from above, and far from exact" : `; too great by some ${(100 * over).toPrecision(1)} % (measured)`;
    const overT = row[0] === "rounds";  // claimed and proven are of one query: not drawn beside what T of them give away
    const lines = overT ? { exact: [] } : { claimed: [], proven: [], exact: [] }, points = took < SLOW ? POINTS : FEW;
    for (let i = 0; i < points; i++) {
      const t = i / (points - 1), s = { ...system, [row[0]]: place(row, t) };
      if (!overT) lines.claimed.push([t, claimed(s, "eq23")]);
      if (!overT) lines.proven.push([t, airtight.proven(s)]);
      lines.exact.push([t, overT ? (yield* airtight.overRounds(s, kept)).value : yield* airtight.oneQuery(s)]);
      yield;
    }
    plot(row, lines);
  }

  // where the sliders begin: the page's value beside Python's
  function agree(exact) {
    if (start.agreed) return;
    start.agreed = true;
    const python = start.exact === "inf" ? Infinity : start.exact, off = exact === python ? 0 : Math.abs(exact / python - 1);
    at("agreement").innerHTML = start.alike ? `they agree with Python's exact ε here to ${off < 1e-16 ? "the last digit" : `<span class="one">${off.toExponential(0)}</span>`}.`
      : `the devices of this system differ: here all are like device ${start.device}, the least protected.`;
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
    for (const name of ["adjacency", "observer"]) at(name).value = now[name];
    at("idle").checked = now.idle_noise;
    for (const row of SLIDERS) at("slider-" + row[0]).value = Math.round(STEPS * position(row, now[row[0]]));
    show();
  }

  for (const row of SLIDERS) {
    const label = document.createElement("label");
    label.innerHTML = `<span>${row[1]} <span class="soft">${row[0].replace("_", " ")}</span></span><output id="live-value-${row[0]}"></output><input type="range" min="0" max="${STEPS}" id="live-slider-${row[0]}" aria-label="${row[0].replace("_", " ")}">`;
    at("sliders").append(label);
    label.querySelector("input").addEventListener("input", (event) => {
      moved = row;
      now[row[0]] = place(row, event.target.value / STEPS);
      show();
    });
  }
  starts.forEach(({ name }, i) => at("system").append(new Option(name, i)));
  at("system").addEventListener("change", (event) => choose(starts[event.target.value]));
  for (const name of ["adjacency", "observer"]) at(name).addEventListener("change", (event) => { now[name] = event.target.value; show(); });
  at("idle").addEventListener("change", (event) => { now.idle_noise = event.target.checked; show(); });
  choose(starts[0]);
})();
