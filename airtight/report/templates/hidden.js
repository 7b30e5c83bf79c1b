  // A device that hides behind its own participation, the others known: airtight.analytics.privacy.over_the_air.participation_mixture.hidden_divergence and half_space.
  const ROOT = Math.sqrt(Math.PI / 2), LOG_ROOT = 0.5 * Math.log(TAU);
  const mills = (x) => ROOT * erfcx(x * HALF);

  // -R'(x) = 1 - x R(x), by its series where that cancels
  function millsSlope(x) {
    if (x < 18) return 1 - x * mills(x);
    const y = 1 / (x * x);
    return y * (1 - y * (3 - y * (15 - y * (105 - y * (945 - y * (10395 - y * 135135))))));
  }

  // the integral of f over [a, b], by a rule of Gauss and Legendre
  const [SHORT, LOOSE, ACROSS] = LEGENDRE.map((rule) => rule.map((values) => Float64Array.from(values)));
  function panel(f, a, b, rule = ACROSS) {
    const nodes = rule[0], weights = rule[1], middle = (a + b) / 2, half = (b - a) / 2;
    let total = 0;
    for (let i = 0; i < nodes.length; i++) total += weights[i] * f(middle + half * nodes[i]);
    return total * half;
  }

  // R(a) - R(a + width)
  function millsDrop(a, width) {
    const upper = mills(a), drop = upper - mills(a + width);
    return drop < 2e-3 * upper ? panel(millsSlope, a, a + width, SHORT) : drop;
  }

  // R(x) - c R(x/c), c = (1 + eta)^(-1/2)
  function scaledDrop(x, eta) {
    const upper = mills(x), scale = 1 / Math.sqrt(1 + eta), drop = upper - scale * mills(x / scale);
    if (drop >= 1e-4 * upper) return drop;
    return panel((c) => mills(x / c) + x / c * millsSlope(x / c), scale, 1, SHORT);
  }

  // log of the best half-line's value, as a function of the log ratio in omega
  function halfLine(eps, p, near, far, eta) {
    const gap = near - far, start = eps / gap + (near + far) / 2, pull = near / gap, scale = 1 / Math.sqrt(1 + eta);
    const offset = Math.log(-Math.expm1(-eps)) + Math.log1p(-p) - Math.log(p) + Math.log1p(eta) / 2 - far / gap * eps - near * far / 2;
    return (logRatio) => {
      const z = halfLineEnd(Math.max(offset + logRatio, -700), pull, eta, start, 1 / gap), b = start + z / gap;
      const toNear = eps / gap - gap / 2 + z / gap, share = Math.exp(-z), rest = -Math.expm1(-z), log = -toNear * toNear / 2 - LOG_ROOT;
      const common = (near > 0 ? millsDrop(toNear, near) : 0) + scaledDrop(b, eta);
      const tail = log + Math.log(share * millsDrop(toNear, gap) + rest * common);
      if (!(toNear < 0) || tail < -0.5) return Math.min(tail, 0);
      const lost = Math.exp(log) * (share * mills(toNear + gap) + rest * scale * mills(b / scale));
      return Math.min(Math.log(erfc(toNear * HALF) / 2 - lost), 0);
    };
  }

  // z with log(1 - e^-z) + pull z + eta (start + stretch z)^2 / 2 = target: Newton in w = log(e^z - 1), kept in a bracket
  function halfLineEnd(target, pull, eta, start, stretch) {
    const goal = target - eta * start * start / 2;
    let w = goal < 0 ? goal : goal / pull, low = -Infinity, high = Infinity;
    for (let i = 0; i < 200; i++) {
      const small = Math.exp(-Math.abs(w)), common = Math.log1p(small), z = Math.max(w, 0) + common, x = start + stretch * z;
      const excess = pull * z + eta * x * x / 2 - target - (z - w), sigmoid = (w > 0 ? 1 : small) / (1 + small);
      const reach = 2 * Math.abs(excess) * (1 + 1e-9);
      low = Math.max(low, excess > 0 ? w - reach : w);
      high = Math.min(high, excess > 0 ? w : w + reach);
      const newton = w - excess / (1 - sigmoid + sigmoid * (pull + eta * x * stretch));
      const moved = newton >= low && newton <= high ? newton : (low + high) / 2, done = Math.abs(moved - w) <= 1e-7 * (1 + Math.abs(w));
      w = moved;
      if (done) break;
    }
    return Math.max(w, 0) + Math.log1p(Math.exp(-Math.abs(w)));
  }

  // log density of the square root of a gamma variable of shape a, by Stirling's series
  function normDensity(a) {
    let stirling = 0, b = a;
    for (; b < 30; b++) stirling -= Math.log(b);
    const square = b * b;
    stirling += (b - 0.5) * Math.log(b) - b + (1 / 12 - (1 / 360 - (1 / 1260 - 1 / (1680 * square)) / square) / square) / b;
    stirling -= (a - 0.5) * Math.log(a) - a;
    const deviance = (t) => { const apart = (t - a) / a; return apart - (Math.abs(apart) < 0.5 ? Math.log1p(apart) : Math.log(t / a)); };
    return (u) => 0.5 * Math.log(2 * a / Math.PI) - a * deviance(u * u) - stirling - Math.log(u);
  }

  // log D_{e^eps} of p N(x, v+s) + (1-p) N(0, v) from the same with -x or 0 for x, over p; d is their distance
  function hidden(eps, p, d, v, s, r, twoSided, room = 1e-12) {
    const m = d / Math.sqrt(v + s), seen = gaussian(eps, m);
    if (!(eps > 0 && eps < 1e6 && p < 1 && v > 0 && m > 0) || seen === -Infinity) return seen;
    const eta = s / v, near = twoSided ? m / 2 : m, best = halfLine(eps, p, near, near - m, eta), a = (r - 1) / 2;
    if (a === 0 || eta === 0) return Math.min(best(0), seen);
    const density = normDensity(a), f = (u) => density(u) + best(a * Math.log1p(eta) - eta * u * u);
    const mode = Math.sqrt(Math.max(a - 0.5, 1e-24)), top = mode + Math.sqrt(Math.max(seen - best(a * Math.log1p(eta) - eta * mode * mode), 0)) + 1;
    const [peak, height] = summit(f, mode, top);
    const cut = 7 - Math.log(room), high = until((u) => f(u) < height - cut, peak, 1), low = Math.max(until((u) => u <= 0 || f(u) < height - cut, peak, -1), 1e-12);
    const rule = room < 1e-9 ? ACROSS : LOOSE, g = (u) => Math.exp(f(u) - height), panels = Math.ceil((high - low) / 2.3), width = (high - low) / panels;
    let total = 0;
    for (let u = low, i = 0; i < panels; u = low + ++i * width) total += halved(g, u, u + width, panel(g, u, u + width, rule), room ** 0.75, 8, rule);
    return Math.min(height + Math.log(total), seen);
  }

  // where a function with one summit has it: golden section
  function summit(f, low, high) {
    const share = (3 - Math.sqrt(5)) / 2;
    let a = low, b = high, x = a + share * (b - a), y = b - share * (b - a), fx = f(x), fy = f(y);
    while (b - a > 0.1) {
      if (fx > fy) [b, y, fy, x] = [y, x, fx, a + share * (y - a)], fx = f(x);
      else [a, x, fx, y] = [x, y, fy, b - share * (b - x)], fy = f(y);
    }
    return fx > fy ? [x, fx] : [y, fy];
  }

  // a point beyond which something is so, going from x in growing steps
  function until(so, x, direction) {
    for (let step = 0.5, y = x; ; step *= 1.5) { y += direction * step; if (so(y)) return y; }
  }

  // panels are halved until the two halves agree with the whole
  function halved(g, a, b, whole, room, depth, rule) {
    const middle = (a + b) / 2, left = panel(g, a, middle, rule), right = panel(g, middle, b, rule);
    if (depth === 0 || Math.abs(left + right - whole) <= room) return left + right;
    return halved(g, a, middle, left, room, depth - 1, rule) + halved(g, middle, b, right, room, depth - 1, rule);
  }
