(() => {
  "use strict";
  const starts = JSON.parse(document.getElementById("live-start").textContent);
  const SLIDERS = [
    ["participation", "p", 0.01, 1, false], ["dimension", "r", 1, 25088, true], ["noise_variance", "σ²", 1e-3, 1e2, true],
    ["clip", "C", 1e-2, 1e3, true], ["alignment", "γ", 1e-2, 1e2, true], ["rounds", "T", 1, 1000, true],
  ];
  const WHOLE = new Set(["dimension", "rounds"]), STEPS = 400, POINTS = 41;
  const at = (id) => document.getElementById("live-" + id);
  let now, moved = SLIDERS[0], drawing = 0;

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
  const visible = (s) => s.adjacency !== "absent" && !s.idle_noise;
  const overRounds = (s) => (s.rounds === 1 ? airtight.epsilon(s) : visible(s) ? airtight.epsilon(s, s.rounds) : NaN);

  function show() {
    for (const row of SLIDERS) at("value-" + row[0]).textContent = digits(now[row[0]]);
    at("theorem1").textContent = digits(claimed(now, "theorem1"));
    at("eq23").textContent = digits(claimed(now, "eq23"));
    at("proven").textContent = digits(airtight.proven(now));
    at("exact").textContent = digits(airtight.epsilon(now));
    const composed = overRounds(now);
    at("rounds").textContent = isNaN(composed) ? "–" : digits(composed);
    at("why").textContent = isNaN(composed) ? "live for silent and replace without idle noise" : `T = ${now.rounds}`;
    draw();
  }

  // the curves along the slider moved last, a few points a frame
  function draw() {
    const turn = ++drawing, row = moved, system = { ...now }, lines = { claimed: [], proven: [], exact: [] };
    let i = 0;
    const step = () => {
      if (turn !== drawing) return;
      const until = performance.now() + 12;
      while (i < POINTS && performance.now() < until) {
        const t = i++ / (POINTS - 1), s = { ...system, [row[0]]: place(row, t) };
        lines.claimed.push([t, claimed(s, "eq23")]);
        lines.proven.push([t, airtight.proven(s)]);
        lines.exact.push([t, row[0] === "rounds" ? overRounds(s) : airtight.epsilon(s)]);
      }
      if (i < POINTS) requestAnimationFrame(step); else plot(row, lines);
    };
    requestAnimationFrame(step);
  }

  function plot(row, lines) {
    const finite = Object.values(lines).flat().map(([, y]) => y).filter((y) => isFinite(y) && y > 0);
    const low = Math.log10(Math.min(...finite, 1)), high = Math.max(Math.log10(Math.max(...finite, 1)), low + 0.5);
    const X = (t) => 50 + 560 * t, Y = (y) => 260 - 230 * (Math.log10(y) - low) / (high - low);
    const parts = [];
    for (let k = Math.ceil(low); k <= high; k++) {
      parts.push(`<line x1="50" x2="610" y1="${Y(10 ** k)}" y2="${Y(10 ** k)}" stroke="var(--line)"/><text x="44" y="${Y(10 ** k) + 4}" text-anchor="end">${digits(10 ** k)}</text>`);
    }
    for (const t of [0, 0.25, 0.5, 0.75, 1]) parts.push(`<text x="${X(t)}" y="278" text-anchor="middle">${digits(place(row, t))}</text>`);
    parts.push(`<text x="330" y="296" text-anchor="middle">${row[1]}</text><text x="50" y="18">ε</text>`);
    const here = X(position(row, now[row[0]]));
    parts.push(`<line x1="${here}" x2="${here}" y1="24" y2="260" stroke="var(--soft)" stroke-dasharray="2 3"/>`);
    const style = { claimed: ["var(--ink)", "6 4"], proven: ["var(--mark)", "2 3"], exact: ["var(--bad)", ""] };
    let x = 90;
    for (const [name, points] of Object.entries(lines)) {
      const [colour, dash] = style[name];
      const path = points.map(([t, y], i) => (isFinite(y) && y > 0
        ? `${i && isFinite(points[i - 1][1]) && points[i - 1][1] > 0 ? "L" : "M"}${X(t).toFixed(1)} ${Y(y).toFixed(1)}` : "")).join("");
      parts.push(`<path d="${path}" fill="none" stroke="${colour}" stroke-width="2" stroke-dasharray="${dash}"/>`);
      parts.push(`<line x1="${x}" x2="${x + 26}" y1="14" y2="14" stroke="${colour}" stroke-width="2" stroke-dasharray="${dash}"/><text x="${x + 32}" y="18">${name === "claimed" ? "claimed, t of its proof" : name}</text>`);
      x += name === "claimed" ? 190 : 100;
    }
    at("lines").innerHTML = parts.join("");
  }

  function choose(start) {
    now = { ...start };
    at("adjacency").value = now.adjacency;
    at("idle").checked = now.idle_noise;
    for (const row of SLIDERS) at("slider-" + row[0]).value = Math.round(STEPS * position(row, now[row[0]]));
    const python = start.exact === "inf" ? Infinity : start.exact;
    const here = airtight.epsilon(now), off = here === python ? 0 : Math.abs(here / python - 1);
    at("agreement").textContent = start.alike ? `they agree with Python's exact ε here to ${off < 1e-16 ? "the last digit" : off.toExponential(0)}.`
      : `the devices of this system differ: here all are like device ${start.device}, the least protected.`;
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
  starts.forEach((start, i) => at("system").append(new Option(start.name, i)));
  at("system").addEventListener("change", (event) => choose(starts[event.target.value]));
  at("adjacency").addEventListener("change", (event) => { now.adjacency = event.target.value; show(); });
  at("idle").addEventListener("change", (event) => { now.idle_noise = event.target.checked; show(); });
  choose(starts[0]);
})();
