  // One round of K devices alike: the formulas of airtight.analytics.privacy. Constants are set before; the whole stands in one function.
  const TAU = 2 * Math.PI, HALF = Math.SQRT1_2;

  // a function on [0, 1] by a polynomial on each of so many equal parts, as airtight.report.live makes them
  function polynomials(rows) {
    const series = Float64Array.from(rows.flat()), parts = rows.length, terms = rows[0].length;
    return (t) => {
      const part = Math.min(Math.floor(t * parts), parts - 1), z = 2 * (t * parts - part) - 1;
      let k = (part + 1) * terms - 1, sum = series[k];
      for (let i = 1; i < terms; i++) sum = sum * z + series[--k];
      return sum;
    };
  }

  // erfc(x) e^(x^2), from (1 + 2x) erfcx(x) over t = x/(x + 3.75)
  const tamed = polynomials(ERFCX);
  const erfcx = (x) => (x < 0 ? 2 * Math.exp(x * x) - erfcx(-x) : tamed(x / (x + 3.75)) / (1 + 2 * x));
  const erfc = (x) => (x < 0 ? 2 - erfc(-x) : erfcx(x) * Math.exp(-x * x));

  // log of Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu)
  function gaussian(eps, mu) {
    if (!(mu > 0)) return -Infinity;
    if (mu === Infinity) return 0;
    const a = eps / mu - mu / 2, b = eps / mu + mu / 2;
    if (a < -6) return Math.log1p(-(erfc(-a * HALF) / 2 + Math.exp(-a * a / 2) * erfcx(b * HALF) / 2));
    return -a * a / 2 + Math.log((erfcx(a * HALF) - erfcx(b * HALF)) / 2);
  }

  // log((e^a) + ...) of an array
  function logSum(terms) {
    const top = Math.max(...terms);
    if (top === -Infinity) return top;
    return top + Math.log(terms.reduce((sum, x) => sum + Math.exp(x - top), 0));
  }

  // log probabilities of Binomial(n, p), from the mode outwards
  function binomial(n, p) {
    const out = new Array(n + 1).fill(-Infinity);
    if (p <= 0 || p >= 1) { out[p <= 0 ? 0 : n] = 0; return out; }
    const mode = Math.min(n, Math.floor((n + 1) * p)), odds = Math.log(p) - Math.log1p(-p);
    out[mode] = 0;
    for (let k = mode; k < n; k++) out[k + 1] = out[k] + Math.log((n - k) / (k + 1)) + odds;
    for (let k = mode; k > 0; k--) out[k - 1] = out[k] - Math.log((n - k + 1) / k) - odds;
    const whole = logSum(out);
    return out.map((x) => x - whole);
  }

  // log D_{e^eps} of N(mu e_1, (1 + eta) I_r) from N(0, I_r), or the reverse: the integral of airtight.analytics.privacy.mechanisms.gaussian_pair
  const SINE = 0.5, COSINE = Math.sqrt(0.75);
  function unlike(eps, mu, eta, r, reverse, room = 1e-12) {
    if (!(eta > 0)) return gaussian(eps, mu);
    const half = mu * mu / 2, rate = Math.log1p(eta), level = reverse ? -eps : eps;
    if (2 * level + r * rate + mu * mu / eta <= 0) return -Infinity;
    const slope = (c, w) => half * ((1 + 2 * c) / w + eta * c * (1 + c) / (w * w)) + r / 2 * (eta / w - rate);
    const end = reverse ? -1 : 0, towards = reverse ? -1 : 1, q = 1 - eta * end;
    const spread = Math.sqrt(2 * half * (1 + eta) / q ** 3 + r / 2 * (eta / q) ** 2);
    const bulk = towards * slope(end, q) - eps > spread;
    const value = contour(half, eta, r, rate, level, bulk ? 0 : towards, slope, room) + (reverse ? eps : 0);
    const log = bulk ? Math.log1p(-Math.exp(value)) : value;
    return log < 0 ? log : 0;  // also where the integral has no value: at most 1
  }

  function contour(half, eta, r, rate, level, side, slope, room) {
    let low = -700, high = 700, c, above, w, logW;
    for (let step = 0; step <= 24; step++) {
      const up = Math.exp((low + high) / 2), down = 1 / up;
      c = side > 0 ? 1 / (down + eta) : side < 0 ? -1 - down : -1 / (1 + up);
      above = side > 0 ? 1 + c : side < 0 ? -down : 1 / (1 + down);
      w = side > 0 ? 1 / (1 + eta * up) : 1 - eta * c;
      logW = side > 0 ? -Math.log1p(eta * up) : Math.log1p(-eta * c);
      if (slope(c, w) - level - 1 / c - 1 / above <= 0) low = (low + high) / 2; else high = (low + high) / 2;
    }
    const scale = w / eta / (1 - SINE), pull = half / w;
    const term = (u) => {
      const k = 2 * Math.sinh(u / 2) ** 2, sinh = Math.sinh(u), apart = 1 - SINE + k, back = 1 - SINE - SINE * k;
      const y = scale * COSINE * sinh, x = c + scale * SINE * k, xa = above + scale * SINE * k;
      const p = x * xa - y * y, py = y * (x + xa), square = p * p + py * py;
      const o = (1 - SINE) * back / (apart * apart), oy = (1 - SINE) * COSINE * sinh / (apart * apart);
      const size = pull * (p * o - py * oy) - r / 2 * (logW + Math.log1p(k / (1 - SINE))) - x * (r / 2 * rate + level);
      const angle = pull * (p * oy + py * o) + r / 2 * Math.atan2(COSINE * sinh, back) - y * (r / 2 * rate + level);
      const s = scale * COSINE * (1 + k), sy = -scale * SINE * sinh;
      return [size, angle, (s * p + sy * py) / square, (sy * p - s * py) / square];
    };
    const curvature = 2 * half * (1 + eta) / w ** 3 + r / 2 * (eta / w) ** 2 + 1 / (c * c) + 1 / (above * above);
    const peak = term(0)[0];
    const sum = (step, shift) => {
      let total = 0;
      for (let j = 0; j < 4000; j++) {
        const [size, angle, x, y] = term((j + shift) * step), height = Math.exp(size - peak);
        total += height * (Math.cos(angle) * x - Math.sin(angle) * y) * (j + shift === 0 ? 0.5 : 1);
        if (height * (Math.abs(x) + Math.abs(y)) < room * 1e-5 * Math.abs(total)) break;
      }
      return total * step;
    };
    return peak + Math.log(Math.abs(trapezoid(sum, 0.5 / (scale * COSINE * Math.sqrt(curvature)), room)) / Math.PI);
  }

  // halves the step of a trapezoidal rule until it settles
  function trapezoid(sum, step, room = 1e-12) {
    let now = sum(step, 0);
    for (let i = 0; i < 8; i++) {
      const finer = (now + sum(step, 0.5)) / 2;
      const settled = Math.abs(finer - now) <= Math.sqrt(room) / 10 * Math.abs(finer);  // the next one errs by the square of that
      now = finer;
      step /= 2;
      if (settled) break;
    }
    return now;
  }

  const meaning = ({ observer = "auto", adjacency, idle_noise }) => (observer !== "auto" ? observer
    : adjacency === "absent" || idle_noise ? "others" : "participants");
  const visible = (s) => (meaning(s) === "participants" || limited(s)) && s.adjacency !== "absent";
  const covered = (s) => !visible(s) && s.adjacency !== "absent" && !s.idle_noise;
  const rollCall = (s) => meaning(s) === "participants" && s.adjacency === "absent";

  // what a device alike the others gives away: distance, own noise, and the others' noise with its probabilities
  function received(s) {
    const factor = s.adjacency === "replace" ? 2 : 1, gain = s.alignment * s.alignment;
    const receiver = s.receiver_noise_variance / (s.antennas ?? 1);  // of what all antennas receive alike
    const others = (n) => gain * n * s.noise_variance + receiver;
    const count = s.idle_noise ? [0] : binomial(s.devices - 1, s.participation);
    return {
      distance: factor * s.alignment * s.weight * s.clip,
      own: gain * s.noise_variance,
      weights: count,
      least: Math.log(s.delta) - 35,  // rarer numbers of others do not count
      room: 1e-12,  // relative, for what is left out
      noise: count.map((_, n) => others(s.idle_noise ? s.devices - 1 : n)),
    };
  }

  // log of the mean of exp(at(noise)) over the number of others; `most` is above at, and what cannot matter is left out
  function expected(at, law, most = () => 0) {
    const likely = law.weights.map((w, n) => n).filter((n) => law.weights[n] >= law.least);
    const between = likely.length > 40 ? interpolant(at, likely.map((n) => law.noise[n]), law.room) : null;
    if (between) return logSum(likely.map((n) => law.weights[n] + between(law.noise[n])));
    const bound = law.weights.map((w, n) => w + most(law.noise[n])), terms = [];
    const out = Math.log(law.room) - 3;
    let greatest = -Infinity;
    for (const n of likely.sort((i, j) => bound[j] - bound[i])) {
      if (bound[n] < greatest + out) break;
      terms.push(law.weights[n] + at(law.noise[n]));
      greatest = Math.max(greatest, terms.at(-1));
    }
    return logSum(terms);
  }

  // points of [0, 1] where Chebyshev's polynomial is greatest, and the polynomial through values there (barycentric)
  const extrema = (n) => Array.from({ length: n + 1 }, (_, i) => (1 - Math.cos(Math.PI * i / n)) / 2);
  function through(values) {
    const n = values.length - 1, at = extrema(n);
    return (y) => {
      let above = 0, below = 0;
      for (let i = 0; i <= n; i++) {
        if (y === at[i]) return values[i];
        const share = (i % 2 ? -1 : 1) * (i % n ? 1 : 0.5) / (y - at[i]);
        above += share * values[i];
        below += share;
      }
      return above / below;
    };
  }

  // at over the logarithm of the noise, from 17 or 33 values where half of them would have told the rest; else nothing
  function interpolant(at, noise, room) {
    const low = Math.log(noise[0]), span = Math.log(noise.at(-1)) - low;
    if (span < 1e-12) {
      const least = at(noise[0]);
      return () => least;
    }
    const value = (x) => at(Math.exp(low + span * x));
    for (let n = 8, values = extrema(n).map(value); 4 * n < noise.length; n *= 2) {
      const coarse = through(values), finer = extrema(2 * n), here = values;
      values = finer.map((x, i) => (i % 2 ? value(x) : here[i / 2]));
      if (!values.every(isFinite)) return null;
      if (finer.every((x, i) => Math.abs(coarse(x) - values[i]) < Math.sqrt(room))) {
        const fine = through(values);
        return (v) => fine((Math.log(v) - low) / span);
      }
    }
    return null;
  }
  const unamplified = (eps, p) => (eps < 1
    ? Math.log1p(Math.expm1(eps) / p) : eps - Math.log(p) + Math.log1p(-(1 - p) * Math.exp(-eps)));

  // log delta(eps) of one round, by order: with the device against without it, and the reverse where that may be another
  function orders(s, law = received(s)) {
    const p = s.participation, d = law.distance, log = Math.log(p);
    if (p <= 0) return [() => -Infinity];
    if (rollCall(s)) return [() => log];
    if (visible(s)) return [(eps) => log + expected((v) => gaussian(eps, d / Math.sqrt(v + law.own)), law)];
    if (s.idle_noise || s.adjacency === "absent") {
      const always = (v) => d / Math.sqrt(v + law.own);
      if (s.idle_noise && s.adjacency === "replace") return [(eps) => expected((v) => opposite(eps, p, always(v)), law)];
      const pair = (eps, reverse) => expected((v) => (s.idle_noise ? gaussian(eps, always(v)) : unlike(
        eps, d / Math.sqrt(v), law.own / v, s.dimension, reverse, law.room)), law);
      if (limited(s)) return [false, true].map((reverse) => (eps) => log + pair(eps, reverse));  // who sends is shown
      return [(eps) => log + pair(unamplified(eps, p), false), (eps) => {
        const used = p < 1 ? Math.expm1(eps) * (1 - p) / p : 0, share = Math.log1p(-used);
        return used >= 1 ? -Infinity : log + share + pair(eps - share, true);
      }];
    }
    return [(eps) => log + expected((v) => hidden(eps, p, d, v, law.own, s.dimension, s.adjacency === "replace", law.room), law,
      (v) => gaussian(eps, d / Math.sqrt(v + law.own)))];
  }
  const worst = (each) => (eps) => Math.max(...each.map((one) => one(eps)));
  const logDelta = (s, eps, law = received(s)) => worst(orders(s, law))(eps);

  // N(mu/2) against N(-mu/2), each with probability p, both else N(0)
  function opposite(eps, p, mu) {
    const a = mu / 2, loss = (y) => logMix(p, a * y - a * a / 2) - logMix(p, -a * y - a * a / 2);
    const y = root((t) => loss(t) - eps, 0, (eps + 2 * Math.log((1 + 1e-9) / p)) / mu + 40 + mu);
    if (y === null) return -Infinity;
    const tail = (x) => (x < 0 ? Math.log(erfc(x * HALF) / 2) : Math.log(erfcx(x * HALF) / 2) - x * x / 2);
    const gained = logSum([Math.log(p) + tail(y - a), Math.log1p(-p) + tail(y)]);
    const lost = eps + logSum([Math.log(p) + tail(y + a), Math.log1p(-p) + tail(y)]);
    return lost < gained ? gained + Math.log(-Math.expm1(lost - gained)) : -Infinity;
  }
  const logMix = (p, x) => logSum([Math.log1p(-p), Math.log(p) + x]);

  // where a falling function of eps reaches 0: secant (Illinois), and bisection now and then; yields after each value
  function* rooted(f, low, high, close) {
    let a = low, b = high, fa = f(a), fb = f(b);
    if (fb === 0) return high;
    if (fa * fb > 0) return null;
    for (let i = 0; i < 200 && Math.abs(b - a) > close * Math.abs(b); i++) {
      let x = isFinite(fa) && isFinite(fb) ? (a * fb - b * fa) / (fb - fa) : (a + b) / 2;
      if (!(x > Math.min(a, b) && x < Math.max(a, b)) || i % 5 === 4) x = (a + b) / 2;
      const fx = f(x);
      if (fx === 0) return x;
      if (fx * fb < 0) [a, fa] = [b, fb]; else fa /= 2;
      [b, fb] = [x, fx];
      yield;
    }
    return b;
  }
  const root = (f, low, high) => finished(rooted(f, low, high, 1e-13));

  // a generator run to its end
  function finished(steps) {
    for (;;) { const { value, done } = steps.next(); if (done) return value; }
  }

  function leastEpsilon(curve, total) {
    const target = Math.log(total);
    if (curve(0) <= target) return 0;
    let high = 1;
    while (curve(high) > target) { high *= 2; if (high > 1e100) return Infinity; }
    return root((eps) => curve(eps) - target, high === 1 ? 0 : high / 2, high);
  }

  // nothing to hide behind: no noise where the device shows
  function bare(s, law) {
    if (s.idle_noise) return law.noise[0] + law.own === 0 && s.participation > s.delta;
    return law.noise[0] === 0 && s.participation * Math.exp(law.weights[0]) >= s.delta && (s.adjacency === "absent" || law.own === 0);
  }

  // least eps of one round; a hidden device takes longer, and has no more than a visible one
  function* oneQuery(s, law = received(s)) {
    if (rollCall(s)) return s.participation > s.delta ? Infinity : 0;
    const target = Math.log(s.delta);
    if (bare(s, law)) return Infinity;
    if (s.idle_noise && law.noise[0] + law.own === 0) return 0;
    const curve = worst(orders(s, law));
    if (!covered(s)) return leastEpsilon(curve, s.delta);
    const most = finished(oneQuery({ ...s, observer: "participants" }, law));
    if (most === Infinity || curve(0) <= target) return most === Infinity ? most : 0;
    return (yield* rooted((eps) => curve(eps) - target, 0, most, 1e-10)) ?? most;
  }
  const epsilon = (s) => finished(oneQuery(s));

  // the closed form: one lower quantile of the others' noise, which spends half of delta. It holds for an observer who sees no more
  // than the usual one of these neighbours; for one who sees more, the exact value, itself of closed form, stands in its place
  function proven(system) {
    if (meaning(system) === "participants" && meaning({ ...system, observer: "auto" }) === "others") return epsilon(system);
    const s = { ...system, observer: "auto" };
    if (s.idle_noise) {
      if (s.adjacency !== "replace") return epsilon(s);
      const { distance, noise, own } = received(s), mu = distance / Math.sqrt(noise[0] + own);
      return leastEpsilon((eps) => gaussian(eps, mu), Math.min(s.delta / s.participation, 1 - 1e-16));
    }
    const law = received(s), budget = s.delta / (2 * s.participation);
    let below = 0, n = 0;
    while (n < s.devices - 1 && below + Math.exp(law.weights[n]) <= budget) below += Math.exp(law.weights[n++]);
    const one = { ...law, weights: [0], noise: [law.noise[n]] };
    const lost = Math.log(s.participation * below);
    return leastEpsilon((eps) => logSum([logDelta(s, eps, one), lost]), s.delta);
  }
