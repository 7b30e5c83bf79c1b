  // T rounds: the loss of one on a grid, raised to the power T. Chords of a convex curve lie above it, so does what comes out.
  const CUT = 1e-7, FLOOR = 1e-12;  // shares of delta: what losses beyond the grid may cost, and what is added to the curve
  const ROOM = 1e-6;  // relative: how closely the curve is computed here
  const CELLS = 4096, ROUGH = 512;  // of the grid, at most, and where a tilt is looked for
  const DEVIATION = 1000, LONGEST = 1 << 17;  // cells to a deviation of the sum of T losses, and of a transform
  const NODES = 24, CLOSE = 1e-3, HOPELESS = 3, DEPTH = 6;  // of a polynomial; what half of them may miss; halvings of a piece

  // delta(eps) of one round on the grid, each order, and the same from half as many chords; yields, for it may take a while
  function* onGrid(s, law, kept) {
    const key = JSON.stringify([{ ...s, rounds: 0 }, law.device]), curves = orders(s, { ...law, room: ROOM }), floor = s.delta * FLOOR;
    if (kept.key === key) return kept;
    const seen = orders({ ...s, observer: "participants" }, law), level = s.delta * CUT;  // gives more away, and is quickly told
    const start = covered(s) ? yield* greatest(worst(seen), level) : undefined;
    const top = yield* greatest(worst(curves), level, start), fine = [], coarse = [];
    const places = Float64Array.from({ length: CELLS + 1 }, (_, i) => Math.sqrt(i / CELLS));
    let off = 0;
    for (const curve of curves) {
      const pieces = [];
      yield* cut((x) => Math.log(Math.exp(curve(x * x * top)) + floor), top, 0, 1, DEPTH, pieces);
      const lift = Math.max(...pieces.map((piece) => piece.off));
      const filled = (each) => {
        let k = 0;
        return places.map((x) => {
          while (x > pieces[k].high) k++;
          return Math.exp(pieces[k].log(x, each) + lift);
        });
      };
      fine.push(filled(1));
      coarse.push(filled(2));
      off = Math.max(off, lift);
    }
    return Object.assign(kept, { key, top, fine, coarse, off });
  }

  // f(x), a logarithm at the loss x^2 top, on pieces of [low, high]: a polynomial where half of its nodes foretell the others, whose
  // square it errs by; else halves, and chords in the end
  function* cut(f, top, low, high, depth, pieces) {
    let values = extrema(NODES / 8).map((x) => f(low + (high - low) * x)), missed = 1, close = 0;
    for (let n = NODES / 4; n <= NODES && missed > close && missed < HOPELESS; n *= 2) {
      const before = values, coarse = through(before);
      values = extrema(n);
      missed = 0;
      close = 2 * n < NODES ? CLOSE ** 2 : CLOSE;  // few nodes may agree by chance
      for (let i = 0; i <= n; i++) {
        const x = values[i];
        values[i] = i % 2 ? f(low + (high - low) * x) : before[i / 2];
        if (i % 2) yield missed = Math.max(missed, Math.abs(coarse(x) - values[i]));
      }
    }
    if (missed <= close) {
      const polynomial = through(values);
      pieces.push({ high, off: 10 * missed * missed + ROOM, log: (x) => polynomial((x - low) / (high - low)) });
    } else if (depth > 0) {
      yield* cut(f, top, low, (low + high) / 2, depth - 1, pieces);
      yield* cut(f, top, (low + high) / 2, high, depth - 1, pieces);
    } else {
      const losses = extrema(values.length - 1).map((x) => (low + (high - low) * x) ** 2 * top);
      pieces.push({ high, off: ROOM, log: (x, each) => chord(losses, values, each, x * x * top) });
    }
  }

  // log of the chord, straight in e^loss, through every point or every other one
  function chord(losses, values, each, loss) {
    let i = 0;
    while (i + each < losses.length - 1 && losses[i + each] < loss) i += each;
    const share = Math.exp(loss - losses[i + each]) * Math.expm1(losses[i] - loss) / Math.expm1(losses[i] - losses[i + each]);
    return Math.log((1 - share) * Math.exp(values[i]) + share * Math.exp(values[i + each]));
  }

  // a loss beyond which the curve costs no more than `level`, or no more than it does anywhere, looked for from `top`
  function* greatest(curve, level, top = 1) {
    const cut = Math.max(level, Math.exp(curve(1e8)) * (1 + 1e-4)), beyond = (eps) => Math.exp(curve(eps)) > cut;
    while (beyond(top)) { top *= 2; yield; }
    while (top > 1e-8 && !beyond(0.7 * top)) { top *= 0.7; yield; }
    return top;
  }

  // P-masses on multiples of h of the law whose curve is the chords of delta (right of 0) and of the reverse one (left of it)
  function chords(right, reverse, top, cells) {
    const n = cells, h = top / n, each = CELLS / n, up = Math.expm1(h), down = -Math.expm1(-h), mass = new Float64Array(2 * n + 1);
    const zero = Math.min(right[0], reverse[0]), ahead = (i) => (i ? right[i * each] : zero);
    const behind = (i) => (i ? Math.exp(-i * h) * reverse[i * each] : zero);  // less its straight part
    for (let i = 1; i <= n; i++) {
      mass[n + i] = Math.max((i < n ? (ahead(i + 1) - ahead(i)) / up : 0) - (ahead(i) - ahead(i - 1)) / down, 0);
      mass[n - i] = Math.max((behind(i - 1) - behind(i)) / up - (i < n ? (behind(i) - behind(i + 1)) / down : behind(n)), 0);
    }
    mass[n] = Math.max(1 + (ahead(1) - zero) / up - (zero - behind(1)) / down, 0);
    return { h, mass, infinite: ahead(n) };
  }

  // log E e^(tL) of the finite losses
  function cumulants({ h, mass }) {
    const n = (mass.length - 1) / 2, logs = mass.map(Math.log), at = (i) => logs[i];
    return (t) => {
      let top = -Infinity, sum = 0;
      for (let i = 0; i < logs.length; i++) top = Math.max(top, at(i) + t * (i - n) * h);
      for (let i = 0; i < logs.length; i++) sum += Math.exp(at(i) + t * (i - n) * h - top);
      return top + Math.log(sum);
    };
  }

  // the tilt of Chernoff's best bound of epsilon, how far T losses reach under it, and cells fine enough for their deviation
  function tilted(law, rounds, log) {
    const { h, mass } = law, n = (mass.length - 1) / 2, cumulant = cumulants(law), NEAR = 0.02;
    const tilt = Math.exp(summit((t) => (log - rounds * cumulant(Math.exp(t))) / Math.exp(t), -14, 14)[0]), whole = cumulant(tilt);
    const curvature = (cumulant(tilt * (1 + NEAR)) + cumulant(tilt * (1 - NEAR)) - 2 * whole) / (tilt * NEAR) ** 2;
    const reach = [-rounds * n * h, rounds * n * h];
    for (let k = -12; k <= 12; k++) {  // Chernoff's bound again: where next to nothing of the tilted law lies
      const u = Math.exp(k / 2) * tilt;
      reach[0] = Math.max(reach[0], -(rounds * (cumulant(tilt - u) - whole) + 40) / u);
      reach[1] = Math.min(reach[1], (rounds * (cumulant(tilt + u) - whole) + 40) / u);
    }
    const wanted = n * h * DEVIATION / Math.sqrt(rounds * Math.max(curvature, 1e-300)), room = n * h * LONGEST / (reach[1] - reach[0]);
    return { tilt, reach, cells: Math.max(2 ** Math.floor(Math.log2(Math.min(wanted, room, CELLS))), 8) };
  }

  // least eps of T independent losses of one law at delta: a power in Fourier space after a tilt that puts the asked tail in the middle
  function power({ h, mass, infinite }, { tilt: t, reach }, rounds, left) {
    const n = (mass.length - 1) / 2, whole = cumulants({ h, mass })(t), first = Math.floor(reach[0] / h), last = Math.ceil(reach[1] / h);
    const size = 2 ** Math.ceil(Math.log2(last - first + 1)), re = new Float64Array(size), im = new Float64Array(size);
    const at = (i) => ((i % size) + size) % size;
    for (let i = -n; i <= n; i++) re[at(i)] += mass[i + n] * Math.exp(t * i * h - whole);
    fourier(re, im);
    for (let i = 0; i <= size / 2; i++) {
      const length = Math.exp(rounds / 2 * Math.log(re[i] * re[i] + im[i] * im[i])), angle = Math.atan2(im[i], re[i]) * rounds;
      re[i] = re[at(-i)] = length * Math.cos(angle);
      im[i] = -length * Math.sin(angle);
      im[at(-i)] = -im[i];
    }
    fourier(re, im);
    // from the top: A the mass above, B the same times e^(loss here - loss)
    const less = Math.exp(-h);
    let A = Math.exp(rounds * whole - 38 - t * last * h), B = 0;
    for (let i = last; i >= first; i--) {
      if (A - B * less > left) return Math.max((i + 1) * h + Math.log((A - left) / B), 0);
      if (i < 0) return 0;
      const found = Math.max(re[at(i)], 0) / size * Math.exp(rounds * whole - t * i * h);
      A += found;
      B = B * less + found;
    }
    return Math.max(first * h, 0);
  }

  // in place, the number of values a power of two
  const turns = {};
  function fourier(re, im) {
    const n = re.length;
    turns[n] ??= [Math.cos, Math.sin].map((f) => Float64Array.from({ length: n / 2 }, (_, k) => f(TAU * k / n)));
    const cosines = turns[n][0], sines = turns[n][1];
    for (let i = 1, j = 0; i < n; i++) {
      let bit = n >> 1;
      for (; j & bit; bit >>= 1) j ^= bit;
      j ^= bit;
      if (i < j) {
        const x = re[i], y = im[i];
        re[i] = re[j]; re[j] = x;
        im[i] = im[j]; im[j] = y;
      }
    }
    for (let half = 1, each = n / 2; half < n; half *= 2, each /= 2) {
      for (let k = 0; k < half; k++) {
        const c = cosines[k * each], s = -sines[k * each];
        for (let i = k; i < n; i += 2 * half) {
          const j = i + half, x = re[j] * c - im[j] * s, y = re[j] * s + im[j] * c;
          re[j] = re[i] - x; im[j] = im[i] - y;
          re[i] += x; im[i] += y;
        }
      }
    }
  }

  // least eps after T rounds, and a function that says by what share it may be too great
  function* overRounds(s, kept = {}, law = received(s)) {
    const { rounds } = s, exactly = (value) => ({ value, above: () => 0 });
    if (rollCall(s)) return exactly(-Math.expm1(rounds * Math.log1p(-s.participation)) > s.delta ? Infinity : 0);
    if (rounds === 1) return exactly(yield* oneQuery(s, law));
    if (bare(s, { ...law, weights: [law.weights[0] + Math.log(rounds)] })) return exactly(Infinity);
    const { top, fine, coarse, off } = yield* onGrid(s, law, kept);
    let value = 0, above = () => 0;
    for (const [right, reverse] of fine.length === 1 ? [[0, 0]] : [[0, 1], [1, 0]]) {
      const rough = chords(fine[right], fine[reverse], top, ROUGH), left = s.delta + Math.expm1(rounds * Math.log1p(-rough.infinite));
      if (!(left > 0)) return exactly(Infinity);
      const chosen = tilted(rough, rounds, Math.log(left));
      const found = power(chords(fine[right], fine[reverse], top, chosen.cells), chosen, rounds, left);
      if (found >= value) {
        value = found;
        above = () => power(chords(coarse[right], coarse[reverse], top, chosen.cells / 2), chosen, rounds, left);
      }
      yield;
    }
    return { value, above: () => (value > 0 ? Math.max(above() - value, 0) / 3 / value + off : 0) };
  }
