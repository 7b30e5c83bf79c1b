  // T queries: the loss of one on a grid, raised to the power T. Chords of a convex curve lie above it, so does what comes out.
  const CUT = 1e-7;  // share of delta that losses beyond the grid may cost, of a thousand queries
  const GRID = 4096, FIRST = 256;  // finest steps to the greatest loss, and in a first cell
  const LENGTH = 1 << 14;  // of a transform, about
  const points = (s) => (covered(s) ? 64 : s.idle_noise ? 256 : 160);  // where the curve is computed

  // laws of the loss of one query on a fine grid and on a coarser one, each order first once; yields, for it may take a while
  function* losses(s, law, kept) {
    const curves = orders(s, law), key = JSON.stringify({ ...s, rounds: 0 });
    if (kept.key !== key) Object.assign(kept, { key, values: new Map(), top: yield* greatest(worst(curves), s.delta * CUT) });
    const h = kept.top / GRID;
    function* at(i) {
      if (!kept.values.has(i)) { kept.values.set(i, curves.map((curve) => Math.exp(curve(i * h)))); yield; }
      return kept.values.get(i);
    }
    for (let i = 0; i <= GRID; i += FIRST) yield* at(i);
    let breaks = Array.from({ length: GRID / FIRST + 1 }, (_, i) => i * FIRST);
    const made = (indices, least) => (curves.length === 1 ? [[0, 0]] : [[0, 1], [1, 0]]).map(([right, reverse]) => chords(
      indices, indices.map((i) => kept.values.get(i)[right]), indices.map((i) => kept.values.get(i)[reverse]), h, least));
    const { tilt, deviation } = tilted(made(breaks, FIRST)[0], s.rounds, Math.log(s.delta));
    const least = Math.min(2 ** Math.max(Math.ceil(Math.log2(18 * Math.sqrt(s.rounds) * deviation / h / LENGTH)), 0), FIRST);
    // halve where the chord errs most, weighed as the tail weighs it
    let open = breaks.slice(1).map((i) => [Infinity, i - FIRST, i]);
    while (open.length && breaks.length < points(s)) {
      open.sort((x, y) => y[0] - x[0]);
      const [, i, j] = open.shift(), middle = (i + j) / 2, here = yield* at(middle);
      const share = 1 / (1 + Math.exp(-(j - i) / 2 * h)), left = kept.values.get(i), right = kept.values.get(j);
      const excess = Math.max(...here.map((value, k) => left[k] * share + right[k] * (1 - share) - value));
      const score = Math.log(Math.max(excess, 0)) + tilt * middle * h + Math.log(j - i);
      breaks.push(middle);
      if ((j - i) / 2 > least) open.push([score, i, middle], [score, middle, j]);
    }
    breaks = breaks.sort((x, y) => x - y);
    return [breaks, breaks.filter((i, place) => place % 2 === 0 || i === GRID)].map((indices) => made(indices, least));
  }

  // a loss beyond which the curve costs no more than `level`, or no more than it does anywhere
  function* greatest(curve, level) {
    const cut = Math.max(level, Math.exp(curve(1e8)) * (1 + 1e-4)), beyond = (eps) => Math.exp(curve(eps)) > cut;
    let low = 0, top = 1e-6;
    while (beyond(top)) { low = top; top *= 4; yield; }
    while (low < 0.95 * top) { const middle = (low + top) / 2; if (beyond(middle)) low = middle; else top = middle; yield; }
    return top;
  }

  // P-masses on multiples of h of the law whose curve is the chords of delta (right of 0) and of the reverse one (left of it)
  function chords(indices, right, reverse, step, least) {
    const h = step * least, place = indices.map((i) => i / least), n = place.at(-1), last = place.length - 1;
    const left = reverse.map((value, i) => Math.exp(-indices[i] * step) * value), mass = new Float64Array(2 * n + 1);  // less its straight part
    right = [Math.min(right[0], left[0]), ...right.slice(1)];
    left[0] = right[0];
    const gap = (i) => (place[i + 1] - place[i]) * h, up = (i) => Math.expm1(gap(i)), down = (i) => -Math.expm1(-gap(i));
    for (let i = 1; i <= last; i++) {
      mass[n + place[i]] = (i < last ? (right[i + 1] - right[i]) / up(i) : 0) - (right[i] - right[i - 1]) / down(i - 1);
      mass[n - place[i]] = (left[i - 1] - left[i]) / up(i - 1) - (i < last ? (left[i] - left[i + 1]) / down(i) : left[i]);
    }
    mass[n] = 1 + (right[1] - right[0]) / up(0) - (left[0] - left[1]) / down(0);
    return { h, mass: mass.map((x) => Math.max(x, 0)), infinite: right[last] };
  }

  // the tilt of Chernoff's best bound of epsilon, the cumulant of the finite losses, and their deviation under the tilt
  function tilted({ h, mass }, rounds, log) {
    const n = (mass.length - 1) / 2, some = Array.from(mass, (x, i) => [Math.log(x), (i - n) * h]).filter(([x]) => x > -Infinity);
    const cumulant = (t) => logSum(some.map(([x, loss]) => x + t * loss));
    const bound = (logT) => (rounds * cumulant(Math.exp(logT)) - log) / Math.exp(logT);
    let low = -14, high = 14;
    while (high - low > 0.05) {
      const a = low + 0.382 * (high - low), b = low + 0.618 * (high - low);
      if (bound(a) > bound(b)) low = a; else high = b;
    }
    const tilt = Math.exp((low + high) / 2), whole = cumulant(tilt), weights = some.map(([x, loss]) => Math.exp(x + tilt * loss - whole));
    const moment = (k) => weights.reduce((sum, weight, i) => sum + weight * some[i][1] ** k, 0);
    return { tilt, cumulant, deviation: Math.sqrt(Math.max(moment(2) - moment(1) ** 2, 0)) };
  }

  // least eps of T independent losses of one law at delta: a power in Fourier space after a tilt that puts the asked tail in the middle
  function power(law, rounds, delta) {
    const { h, mass, infinite } = law, n = (mass.length - 1) / 2, finite = mass.reduce((sum, x) => sum + x, 0);
    const left = delta + Math.expm1(rounds * Math.log1p(-infinite / (finite + infinite)));
    if (!(left > 0)) return Infinity;
    const { tilt: t, cumulant } = tilted(law, rounds, Math.log(left)), whole = cumulant(t), reach = [Infinity, -Infinity];
    for (let k = -12; k <= 12; k++) {  // Chernoff's bound again: where next to nothing of the tilted law lies
      const u = Math.exp(k / 2) * t;
      reach[0] = Math.min(reach[0], (rounds * (cumulant(t + u) - whole) + 38) / u);
      reach[1] = Math.max(reach[1], -(rounds * (cumulant(t - u) - whole) + 38) / u);
    }
    const last = Math.ceil(Math.min(reach[0], rounds * n * h) / h), first = Math.floor(Math.max(reach[1], -rounds * n * h) / h);
    const size = 2 ** Math.ceil(Math.log2(last - first + 1)), re = new Float64Array(size), im = new Float64Array(size);
    const at = (i) => ((i % size) + size) % size;
    mass.forEach((x, i) => { re[at(i - n)] += Math.exp(Math.log(x) + t * (i - n) * h - whole); });
    fourier(re, im);
    for (let i = 0; i < size; i++) {
      const length = Math.hypot(re[i], im[i]) ** rounds, angle = Math.atan2(im[i], re[i]) * rounds;
      re[i] = length * Math.cos(angle);
      im[i] = -length * Math.sin(angle);
    }
    fourier(re, im);
    // from the top: A the mass above, B the same times e^(loss here - loss)
    const beyond = Math.exp(rounds * whole - 38 - t * last * h);
    let A = beyond, B = 0;
    for (let i = first + size - 1; i >= first; i--) {
      const found = i > last ? 0 : Math.max(re[at(i)], 0) / size * Math.exp(rounds * whole - t * i * h);
      if (A - B * Math.exp(-h) > left && i <= last) return Math.max((i + 1) * h + Math.log((A - left) / B), 0);
      if (i < 0) return 0;
      A += found;
      B = B * Math.exp(-h) + found;
    }
    return Math.max(first * h, 0);
  }

  // in place, the number of values a power of two
  function fourier(re, im) {
    const n = re.length;
    for (let i = 1, j = 0; i < n; i++) {
      let bit = n >> 1;
      for (; j & bit; bit >>= 1) j ^= bit;
      j ^= bit;
      if (i < j) { [re[i], re[j]] = [re[j], re[i]]; [im[i], im[j]] = [im[j], im[i]]; }
    }
    for (let half = 1; half < n; half *= 2) {
      for (let k = 0; k < half; k++) {
        const c = Math.cos(Math.PI * k / half), s = -Math.sin(Math.PI * k / half);
        for (let i = k; i < n; i += 2 * half) {
          const j = i + half, x = re[j] * c - im[j] * s, y = re[j] * s + im[j] * c;
          re[j] = re[i] - x; im[j] = im[i] - y;
          re[i] += x; im[i] += y;
        }
      }
    }
  }

  // least eps after T queries and by what share it may be too great: none where the integral is exact, else what half the grid moves it
  function* overRounds(s, kept = {}) {
    const { rounds } = s, law = received(s);
    if (rollCall(s)) return [-Math.expm1(rounds * Math.log1p(-s.participation)) > s.delta ? Infinity : 0, 0];
    if (rounds === 1) return [yield* oneQuery(s), 0];
    if (bare(s, { ...law, weights: [law.weights[0] + Math.log(rounds)] })) return [Infinity, 0];
    if (visible(s)) return [leastEpsilon((eps) => logDeltaOver(s, eps, rounds, law), s.delta), 0];
    const found = [];
    for (const each of yield* losses(s, law, kept)) {
      let most = 0;
      for (const one of each) { most = Math.max(most, power(one, rounds, s.delta)); yield; }
      found.push(most);
    }
    const [fine, coarse] = found;
    return [fine, fine === coarse ? 0 : (coarse - fine) / 3 / fine];
  }
