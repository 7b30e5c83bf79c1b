  // A channel with several antennas: its states as NumPy's generator draws them, and theorem V1, which makes any number of looks one
  // number v, the others' noise (airtight.analytics.inference.channel and airtight.analytics.privacy.over_the_air.multi_antenna.channel_privacy).
  const PAIRS = 1 << 20;  // of a state and a set of participants (all present: of a state and two devices) that are computed at most
  const GRID = 4096;  // values of v that a law may have; more are shared out between the two next ones of a grid
  const KEPT = 6;  // laws that are kept for the next move
  const MULTIPLIER = 0x2360ed051fc65da44385df649fccf645n, LOW = (1n << 64n) - 1n, WORD = (1n << 128n) - 1n;

  // uniform numbers of NumPy's PCG64, from a state on
  function uniforms(state, increment) {
    const step = BigInt("0x" + increment);
    let x = BigInt("0x" + state);
    return () => {
      x = (x * MULTIPLIER + step) & WORD;
      const mixed = (x >> 64n) ^ (x & LOW), turn = x >> 122n;
      return Number((((mixed >> turn) | (mixed << (64n - turn))) & LOW) >> 11n) * 2 ** -53;
    };
  }

  // A law of fading is the gain of mean 1 at its cumulative hazard H, which it exceeds with probability e^-H: log gain over log H in
  // [LEAST, MOST], by Python's polynomials. Without fading there are none.
  const QUANTILES = Object.fromEntries(Object.entries(LAWS).map(([law, { quantile }]) => [law, quantile && polynomials(quantile)]));
  const faded = (s) => QUANTILES[s.law] !== null, [LEAST, MOST] = LOG_HAZARD;
  const logGain = (s, logHazard) => QUANTILES[s.law](Math.min(Math.max((logHazard - LEAST) / (MOST - LEAST), 0), 1));
  function hazard(s, gain) {
    if (!faded(s)) return gain <= 1 ? 0 : Infinity;
    const beyond = (logHazard) => Math.log(gain) - logGain(s, logHazard);
    return Math.exp(beyond(LEAST) <= 0 ? LEAST : beyond(MOST) >= 0 ? MOST : root(beyond, LEAST, MOST));
  }

  // the gain given that it exceeds one of cumulative hazard `least`, at the uniform number u
  const gainAbove = (s, u, least) => Math.max(faded(s) ? Math.exp(logGain(s, Math.log(least - Math.log1p(-u)))) : 1, 2 ** -1022);

  const limited = (s) => s.max_power > 0;
  const several = (s) => limited(s) || (s.antennas > 1 && faded(s));

  // the gain from which the power of a device suffices, in units of its mean
  const threshold = (s) => (limited(s) ? (s.alignment ** 2 * ((s.weight * s.clip) ** 2 + s.dimension * s.noise_variance)) / s.max_power : 0);

  // the system with the participation that its power limit decides
  const decided = (s) => (limited(s) ? { ...s, participation: Math.exp(-hazard(s, threshold(s))) } : s);

  // why a system over several looks is not served; empty where it is
  function refusal(s) {
    if (!several(s)) return "";
    const { participation: p, devices: n, states } = s, some = p > 0 && p < 1 && !s.idle_noise && !limited(s);
    if (limited(s) && s.idle_noise) return "A device whose power does not suffice is silent: no idle noise with a power limit.";
    if (some && states * 2 ** n > PAIRS) return `The sets of ${n} devices with random participation are too many for the page: choose p = 1 or idle noise, or ask airtight bounds.`;
    return states * n * n > 2 * PAIRS ? `${n} devices in ${states} states are too many for the page: ask airtight bounds.` : "";
  }

  // who sends, where the power limit decides it, and the coefficients of every state relative to the alignment: [device][antenna]
  function* drawn(s) {
    const { antennas: m, devices: n, states, streams } = s, first = uniforms(streams.first, streams.increment);
    const least = threshold(s), from = least > 0 ? hazard(s, least) : 0;
    const sends = limited(s) ? Array.from({ length: states * n }, () => first() < s.participation) : null;
    const aligned = new Float64Array(states * n), turns = new Float64Array(states * n * (m - 1)), out = [];
    const shadow = LAWS[s.law].common;  // falls on all antennas alike
    for (let i = 0; i < states * n; i++) {
      if (i % n === 0) yield;
      aligned[i] = shadow || !faded(s) ? 1 : Math.max(gainAbove(s, first(), from), least);
    }
    const then = uniforms(streams.then, streams.increment);
    for (let i = 0; i < turns.length && faded(s); i++) { if (i % 1024 === 0) yield; turns[i] = then(); }
    for (let state = 0; state < states; state++) {
      const re = new Float64Array(n * m).fill(1), im = new Float64Array(n * m);
      for (let j = 1; j < m && faded(s); j++) {
        for (let k = 0; k < n; k++) {
          const at = state * n + k, angle = TAU * turns[at * (m - 1) + j - 1];
          const size = shadow ? 1 : Math.sqrt(gainAbove(s, then(), 0) / aligned[at]);
          re[k * m + j] = size * Math.cos(angle);
          im[k * m + j] = size * Math.sin(angle);
        }
      }
      out.push({ re, im, present: sends ? sends.slice(state * n, (state + 1) * n) : new Array(n).fill(true) });
      yield;
    }
    return out;
  }

  // columns b_k whose |b_k|^2 is a_k* V^-1 a_k: V grows by `noise` a_j a_j*, and b loses the share of it that b_j shows. Of real codes
  // both parts of an antenna are looks, so that only the real part of b_j* b_k counts.
  function whiten(from, to, j, k, m, noise, real) {
    const { re, im } = from, a = j * m, b = k * m;
    let size = 0, x = 0, y = 0;
    for (let i = 0; i < m; i++) {
      size += re[a + i] ** 2 + im[a + i] ** 2;
      x += re[a + i] * re[b + i] + im[a + i] * im[b + i];
      y += re[a + i] * im[b + i] - im[a + i] * re[b + i];
    }
    const rise = noise * size, length = Math.sqrt(1 + rise), share = noise / (length * (1 + length));  // (1 - 1/length) / size
    x *= share;
    y *= real ? 0 : share;
    for (let i = 0; i < m; i++) {
      to.re[b + i] = re[b + i] - x * re[a + i] + y * im[a + i];
      to.im[b + i] = im[b + i] - x * im[a + i] - y * re[a + i];
    }
  }
  function shown({ re, im }, k, m) {
    let size = 0;
    for (let i = k * m; i < (k + 1) * m; i++) size += re[i] ** 2 + im[i] ** 2;
    return size;
  }
  const copied = ({ re, im }) => ({ re: re.slice(), im: im.slice() });

  // 1/v of each device, all others present that are said to be: halves see each other's noise, then their own halves
  function eachWithoutItself(columns, present, m, noise, real, put, which = present.map((_, k) => k)) {
    if (which.length === 1) return put(which[0], shown(columns, which[0], m));
    const middle = which.length >> 1, halves = [which.slice(0, middle), which.slice(middle)];
    for (const [own, others] of [halves, [...halves].reverse()]) {
      const here = copied(columns);
      others.forEach((j, i) => {
        if (present[j]) for (const k of [...others.slice(i + 1), ...own]) whiten(here, here, j, k, m, noise, real);
      });
      eachWithoutItself(here, present, m, noise, real, put, own);
    }
  }

  // 1/v of each device for every set of the others, with how many they are
  function everySet(columns, n, m, noise, real, put) {
    const rooms = Array.from({ length: n + 1 }, () => copied(columns)), absent = [];
    const visit = (j, here, count) => {
      if (j === n) return absent.forEach((k) => put(k, shown(here, k, m), count));
      absent.push(j);
      visit(j + 1, here, count);
      absent.pop();
      const next = rooms[count + 1];
      for (const k of absent) whiten(here, next, j, k, m, noise, real);
      for (let k = j + 1; k < n; k++) whiten(here, next, j, k, m, noise, real);
      visit(j + 1, next, count + 1);
    };
    visit(0, rooms[0], 0);
  }

  // the values of v of every device with their weights, by the number of others: from the states, or shared out on a grid
  function* valuesOfNoise(s) {
    const { antennas: m, devices: n, model, participation: p } = s, real = model === "real", states = yield* drawn(s);
    const noise = s.alignment ** 2 * s.noise_variance, scale = 1 / Math.sqrt(s.receiver_noise_variance);
    const columns = states.map(({ re, im }) => ({ re: re.map((x) => x * scale), im: im.map((x) => x * scale) }));
    if (limited(s) || s.idle_noise || p >= 1) {
      const values = Array.from({ length: n }, () => []);
      for (const [i, each] of columns.entries()) {
        eachWithoutItself(each, states[i].present, m, noise, real, (k, q) => values[k].push(1 / q));
        yield;
      }
      return values.map((v) => ({ v: Float64Array.from(v).sort(), certain: true }));
    }
    const high = ((n - 1) * noise + s.receiver_noise_variance) * (1 + 1e-9);
    const found = Array.from({ length: n }, (_, k) => {
      const low = Math.min(1 / Math.max(...columns.map((each) => shown(each, k, m))), high) * (1 - 1e-9), rise = Math.log(high / low) / GRID;
      return { low, rise, v: Float64Array.from({ length: GRID + 1 }, (_, i) => low * Math.exp(i * rise)), shares: Array.from({ length: n }, () => new Float64Array(GRID + 1)) };
    });
    for (const each of columns) {
      everySet(each, n, m, noise, real, (k, q, count) => {  // the mean of v is kept: where the curve is convex in v it only rises
        const { low, rise, v, shares } = found[k], i = Math.min(Math.max(Math.floor(Math.log(1 / (q * low)) / rise), 0), GRID - 1);
        const upper = Math.min(Math.max((1 / q - v[i]) / (v[i + 1] - v[i]), 0), 1);
        shares[count][i] += 1 - upper;
        shares[count][i + 1] += upper;
      });
      yield;
    }
    return found;
  }

  // what each device gives away over the channel: as `received` says of one look, the others' noise replaced by the law of v
  const lawsOfNoise = new Map();
  function* receivedOver(s) {
    const one = received(s), p = s.participation, states = s.states;
    if (!several(s)) return [one];
    const law = (device, noise, weights) => ({ ...one, device, noise, weights });
    if (s.receiver_noise_variance === 0 || !(p > 0)) return [law(0, [s.receiver_noise_variance], [0])];
    const certain = limited(s) || s.idle_noise || p >= 1, { law: fading, antennas, model, devices } = s;
    const key = JSON.stringify([fading, antennas, model, devices, states, limited(s) && [threshold(s), s.streams], s.streams.first,
      certain, s.alignment, s.noise_variance, s.receiver_noise_variance]);
    const values = lawsOfNoise.get(key) ?? (yield* valuesOfNoise(s));
    lawsOfNoise.delete(key);  // the one used last is dropped last
    lawsOfNoise.set(key, values);
    if (lawsOfNoise.size > KEPT) lawsOfNoise.delete(lawsOfNoise.keys().next().value);
    const chance = Array.from({ length: devices }, (_, count) => count * Math.log(p) + (devices - 1 - count) * Math.log1p(-p) - Math.log(states));
    return values.map(({ v, shares, certain: whole }, device) => {
      if (whole) return law(device, v, new Array(states).fill(-Math.log(states)));
      const mass = new Float64Array(v.length), share = chance.map(Math.exp);
      shares.forEach((each, count) => { for (let i = 0; i < v.length; i++) mass[i] += share[count] * each[i]; });
      return law(device, v, Array.from(mass, Math.log));
    });
  }

  // what many antennas tend to: the device's own noise alone; what all antennas receive alike keeps the others' noise
  const VANISHING = 1e-10;  // share of the receiver's noise that stands for none
  function* limitOfAntennas(s) {
    if (!faded(s)) return yield* oneQuery({ ...s, antennas: 1 / VANISHING });
    const law = { ...received(s), noise: [0], weights: [0] }, shown = s.adjacency === "absent" && !s.idle_noise && !(s.participation > s.delta);
    return bare(s, law) ? Infinity : shown ? 0 : yield* oneQuery(s, law);
  }

  // least eps of the least protected device for one round: the mean of delta over states and sets, never of eps; and its law
  function* greatestEpsilon(s) {
    const laws = yield* receivedOver(s), target = Math.log(s.delta);
    const exposure = ({ noise, weights }) => weights.reduce((sum, w, i) => sum + Math.exp(w) / noise[i], 0);
    const order = laws.map((law) => [exposure(law), law]).sort(([a], [b]) => b - a).map(([, law]) => law);
    let found = { value: yield* oneQuery(s, order[0]), law: order[0] };
    for (const law of order.slice(1)) {
      yield;
      if (found.value === Infinity || rollCall(s) || worst(orders(s, law))(found.value) <= target) continue;
      const value = yield* oneQuery(s, law);
      if (value > found.value) found = { value, law };
    }
    return { ...found, laws };
  }

  // T rounds: a fresh state for each, or one for all, where who takes part lasts or is certain: then they are one round of T times the length
  const lasting = (s) => several(s) && s.rounds > 1 && !s.fresh && !(rollCall(s) && !limited(s));
  const lastingRefused = (s) => lasting(s) && !limited(s) && s.participation < 1;
  function* overRoundsAndStates(s, { law, laws }, kept) {
    if (!lasting(s)) return yield* overRounds(s, kept, law);
    const { rounds } = s, long = { ...s, dimension: s.dimension * rounds, rounds: 1 };
    if (rollCall(s) && limited(s)) return { value: yield* oneQuery(s, law), above: () => 0 };
    let value = 0;
    for (const each of laws) value = Math.max(value, yield* oneQuery(long, { ...each, distance: each.distance * Math.sqrt(rounds) }));
    return { value, above: () => 0 };
  }
