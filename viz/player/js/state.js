// From the trace to the state at any step. What is drawn is a pure function of (model, index).

/** Decode one figure of the value and fold its steps: done once per trace. */
function readModel(figure) {
  const { algorithm, trace } = figure;
  const steps = trace.steps.map(readStep);
  const { n_cols: n, block, head_dim: headDim = 0 } = trace.sizes;
  const model = {
    ...algorithm,
    dtype: trace.dtype,
    traffic: figure.traffic,
    itemsize: figure.itemsize,
    error: figure.reference_error,
    n,
    block,
    headDim,
    nBlocks: Math.ceil(n / block),
    x: Float64Array.from(decode(trace.arrays.x)),
    v: trace.arrays.v ? decode(trace.arrays.v) : null,
    steps,
    hasMax: algorithm.on_chip.includes('m'),
  };
  foldSteps(model);
  findVisits(model);
  model.rises = findRises(model);
  model.ranges = findRanges(model);
  return model;
}

function readStep(json) {
  const values = {};
  for (const [name, value] of Object.entries(json.values || {})) values[name] = decode(value);
  return { ...json, values, reads: json.reads || {}, writes: json.writes || {} };
}

/** Store the state and the bytes after every step, and which step set what of each block. */
function foldSteps(model) {
  const blocks = () => new Array(model.nBlocks).fill(null);
  const record = { m: blocks(), alpha: blocks(), l: blocks(), p: blocks(), y: blocks() };
  let state = initialState(model);
  let moved = {};
  model.start = state;
  model.states = [];
  model.moved = [];
  model.alphas = []; // every rescale, in order: {index, value}
  model.weightsFrom = []; // for each step, the last one that changed any weight
  model.steps.forEach((step, index) => {
    const { values, block } = step;
    const before = state;
    state = { ...state, ...values };
    // The new maximum counts as m from the sub-step that finds it, not from the one that keeps it.
    const top = values.m_new ?? values.m;
    if (top !== undefined) state.top = top;
    moved = addBytes(addBytes(moved, step.reads), step.writes);
    model.states.push(state);
    model.moved.push(moved);
    if (values.alpha !== undefined) model.alphas.push({ index, value: values.alpha });
    const isChange = values.p !== undefined || (values.alpha !== undefined && values.alpha !== 1);
    model.weightsFrom.push(isChange ? index : (model.weightsFrom[index - 1] ?? 0));
    if (block === null) return;
    if (top !== undefined && !record.m[block])
      record.m[block] = { index, value: top, old: before.top };
    if (values.alpha !== undefined) record.alpha[block] = { index, value: values.alpha };
    if (values.l !== undefined && values.p !== undefined) {
      record.l[block] = { index, value: values.l, carried: before.l ?? 0 };
    }
    if (values.p !== undefined) record.p[block] = { index, value: values.p };
    if (values.y !== undefined) record.y[block] = { index, value: values.y };
  });
  model.record = record;
}

/** What a kernel holds before its first block. */
function initialState({ on_chip: names, headDim }) {
  const initial = { m: -Infinity, l: 0, acc: new Array(headDim).fill(0) };
  return Object.fromEntries(names.map((name) => [name, initial[name]]));
}

function addBytes(total, more) {
  const names = Object.keys(more);
  if (!names.length) return total;
  const sum = { ...total };
  for (const name of names) sum[name] = (sum[name] || 0) + more[name];
  return sum;
}

/** A visit is one block of one program in one pass: consecutive steps that share all three. */
function findVisits(model) {
  model.visits = [];
  model.visitOf = new Int32Array(model.steps.length);
  model.steps.forEach((step, index) => {
    const { pass, program, block, tile } = step;
    let visit = model.visits[model.visits.length - 1];
    const isSame =
      visit && visit.pass === pass && visit.program === program && visit.block === block;
    if (!isSame) {
      visit = { pass, program, block, tile, first: index, last: index };
      model.visits.push(visit);
    }
    visit.last = index;
    model.visitOf[index] = model.visits.length - 1;
  });
}

/** The steps where a rescale shrinks what was summed: alpha below 1, and something to shrink. */
function findRises(model) {
  return model.alphas
    .filter(
      ({ index, value }) =>
        value !== 1 && model.steps[index].case !== 'first' && model.steps[index].case !== 'masked',
    )
    .map(({ index }) => index);
}

/** Axis ends, from the finite values of the whole trace: an axis never moves while stepping. */
function findRanges(model) {
  const { steps, states, x, v } = model;
  const scores = finiteRange(x);
  let weight = 0;
  let product = 0;
  for (const step of steps) {
    (step.values.p || []).forEach((p, lane) => {
      // Below a maximum no weight is over 1. Where +∞ is the maximum some are, and run off the axis.
      if (!Number.isFinite(p) || (model.hasMax && p > 1.0001)) return;
      weight = Math.max(weight, p);
      if (v)
        for (const value of v[step.start + lane]) product = Math.max(product, finite(p * value));
    });
  }
  return {
    low: Math.min(0, scores.low),
    high: scores.high > 0 || scores.low < 0 ? Math.max(0, scores.high) : 1,
    weight: weight > 1.0001 ? weight : 1,
    product: product || 1,
    sum: largest(states.map((state) => state.l ?? 0)),
    output: largest(steps.flatMap((step) => step.values.y || [])),
    acc: largest(steps.flatMap((step) => [...(step.values.acc || []), ...(step.values.o || [])])),
  };
}

function finite(value) {
  return Number.isFinite(value) ? Math.abs(value) : 0;
}

function largest(values) {
  return values.reduce((top, value) => Math.max(top, finite(value)), 0) || 1;
}

function finiteRange(values) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return low <= high ? { low, high } : { low: 0, high: 0 };
}

/** Everything the panels need to draw step `index`. */
function viewAt(model, index) {
  const step = model.steps[index];
  const state = model.states[index];
  const before = model.states[index - 1] || model.start;
  const visit = model.visits[model.visitOf[index]];
  const view = { model, index, step, state, before, visit, moved: model.moved[index] };
  view.movedBefore = model.moved[index - 1] || {};
  view.rise = riseAt(view);
  view.alpha = step.values.alpha;
  view.shrinks = model.rises.includes(index);
  view.fresh = step.values.p ? [step.start, step.stop] : null;
  view.weights = weightsAt(model, index);
  view.weightsWere = view.shrinks ? weightsAt(model, index - 1) : null;
  view.outputStop = outputStop(model, index);
  return view;
}

/** The old and new maximum while the gap between them is on show, else null. */
function riseAt({ model, index, step }) {
  if (step.block === null || (step.phase !== 'new_max' && step.phase !== 'rescale')) return null;
  const record = model.record.m[step.block];
  if (!record || record.index > index) return null;
  const { old, value } = record;
  if (!Number.isFinite(old) || !Number.isFinite(value) || value <= old) return null;
  return { old, value, gap: value - old };
}

/** The weights after step `index`; steps that leave them alone share one array. */
function weightsAt(model, index) {
  const from = model.weightsFrom[index];
  model.weights ||= new Map();
  if (!model.weights.has(from)) {
    if (model.weights.size > 8) model.weights.clear();
    model.weights.set(from, computeWeights(model, from));
  }
  return model.weights.get(from);
}

/**
 * The weights of the columns summed so far: each was computed against the maximum of its time,
 * then multiplied by every alpha since.
 */
function computeWeights(model, index) {
  const { record, alphas, nBlocks, block } = model;
  const weights = new Float64Array(model.n);
  let stop = 0;
  let scale = 1;
  let next = alphas.length - 1;
  while (next >= 0 && alphas[next].index > index) next -= 1;
  for (let b = nBlocks - 1; b >= 0; b -= 1) {
    const born = record.p[b];
    if (!born || born.index > index) continue;
    for (; next >= 0 && alphas[next].index > born.index; next -= 1) scale *= alphas[next].value;
    born.value.forEach((p, lane) => {
      weights[b * block + lane] = p * scale;
    });
    stop = Math.max(stop, b * block + born.value.length);
  }
  return weights.subarray(0, stop);
}

/** How many columns of the output exist after step `index`. */
function outputStop(model, index) {
  let stop = 0;
  model.record.y.forEach((born, b) => {
    if (born && born.index <= index) stop = b * model.block + born.value.length;
  });
  return stop;
}
