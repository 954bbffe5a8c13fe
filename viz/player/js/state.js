// From the trace to the state at any step. What is drawn is a pure function of (model, index).

/** Decode one figure of the value and fold its steps: done once per trace. */
function readModel(figure) {
  const { algorithm, trace } = figure;
  const steps = trace.steps.map(readStep);
  const { n_cols: n, block, head_dim: headDim = 0 } = trace.sizes;
  const leading = algorithm.inputs[0];
  const assigns = (name) => steps.some((step) => name in step.values);
  const model = {
    ...algorithm,
    ...readRows(algorithm, trace.arrays),
    dtype: trace.dtype,
    traffic: figure.traffic,
    itemsize: figure.itemsize,
    error: figure.reference_error,
    n,
    block,
    headDim,
    nBlocks: Math.ceil(n / block),
    v: trace.arrays.v ? decode(trace.arrays.v) : null,
    steps,
    hasMax: algorithm.on_chip.includes('m'),
    sum: ['l', 'delta'].find((name) => algorithm.on_chip.includes(name)) || null,
    hasParts: assigns('m_part'),
    readingPasses: new Set(steps.filter(({ reads }) => reads[leading]).map(({ pass }) => pass)),
    hasPrograms: steps.some(({ program }) => program !== undefined),
  };
  foldSteps(model);
  findVisits(model);
  model.rises = findRises(model);
  model.ranges = findRanges(model);
  return model;
}

/**
 * The inputs that are rows: the first is what the ruler is about. A row that has no panel of its own
 * as scores is an operand.
 */
function readRows({ inputs, panels }, arrays) {
  const names = inputs.filter((name) => arrays[name] && !Array.isArray(arrays[name][0]));
  const rows = Object.fromEntries(
    names.map((name) => [name, Float64Array.from(decode(arrays[name]))]),
  );
  const hasScores = panels.includes('scores');
  return {
    rows,
    scores: hasScores ? rows[names[0]] : null,
    operands: panels.includes('operands') ? names.slice(hasScores ? 1 : 0) : [],
  };
}

function readStep(json) {
  const values = {};
  for (const [name, value] of Object.entries(json.values || {})) values[name] = decode(value);
  return { ...json, values, reads: json.reads || {}, writes: json.writes || {} };
}

/** Store the state and the bytes after every step, and which step set what of each block. */
function foldSteps(model) {
  const start = initialState(model);
  const held = new Map(); // program -> its state: programs know nothing of each other's
  let state = start;
  let moved = {};
  let program;
  model.states = [];
  model.befores = [];
  model.moved = [];
  model.alphas = []; // every rescale, in order: {index, value}
  model.weightsFrom = []; // for each step, the last one that changed any weight
  model.record = emptyRecord(model);
  model.steps.forEach((step, index) => {
    const { values } = step;
    if (step.program !== program) {
      held.set(program, state);
      program = step.program;
      state = held.get(program) || start;
    }
    const before = state;
    state = { ...state, ...values };
    // The new maximum counts as m from the sub-step that finds it, not from the one that keeps it.
    const top = values.m_new ?? values.m ?? values.m_part;
    if (top !== undefined) state.top = top;
    moved = addBytes(addBytes(moved, step.reads), step.writes);
    model.states.push(state);
    model.befores.push(before);
    model.moved.push(moved);
    if (values.alpha !== undefined) model.alphas.push({ index, value: values.alpha });
    const isChange =
      values.p !== undefined ||
      (values.alpha !== undefined && values.alpha !== 1) ||
      (model.hasParts && values[model.output] !== undefined);
    model.weightsFrom.push(isChange ? index : (model.weightsFrom[index - 1] ?? 0));
    if (step.block !== null) recordBlock(model, step, { index, top, before });
  });
}

function emptyRecord({ nBlocks }) {
  const blocks = () => new Array(nBlocks).fill(null);
  return {
    m: blocks(),
    alpha: blocks(),
    sum: blocks(),
    p: blocks(),
    t: blocks(),
    output: blocks(),
  };
}

/** Keep what one step set of its block. A program's own part counts as the block's m and sum. */
function recordBlock({ record, sum, output }, { values, block }, { index, top, before }) {
  if (top !== undefined && !record.m[block])
    record.m[block] = { index, value: top, old: before.top };
  if (values.alpha !== undefined) record.alpha[block] = { index, value: values.alpha };
  const total = values.l_part ?? values[sum];
  if (total !== undefined && (values.p ?? values.t) !== undefined) {
    const carried = values.l_part === undefined ? (before[sum] ?? 0) : 0;
    record.sum[block] = { index, value: total, carried };
  }
  if (values.p !== undefined) record.p[block] = { index, value: values.p };
  if (values.t !== undefined) record.t[block] = { index, value: values.t };
  if (values[output] !== undefined) record.output[block] = { index, value: values[output] };
}

/** What a kernel holds before its first block. */
function initialState({ on_chip: names, headDim }) {
  const initial = { m: -Infinity, l: 0, delta: 0, acc: new Array(headDim).fill(0) };
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

/** Everything the panels need to draw step `index`. */
function viewAt(model, index) {
  const step = model.steps[index];
  const state = model.states[index];
  const before = model.befores[index];
  const visit = model.visits[model.visitOf[index]];
  const view = { model, index, step, state, before, visit, moved: model.moved[index] };
  view.movedBefore = model.moved[index - 1] || {};
  view.rise = riseAt(view);
  view.alpha = step.values.alpha;
  view.shrinks = model.rises.includes(index);
  view.fresh = step.values.p ? [step.start, step.stop] : null;
  view.factors = model.hasParts && step.pass > 0 ? partFactors(model, state.m) : null;
  view.share = view.factors && step.values[model.output] ? view.factors[step.block] : null;
  view.weights = weightsAt(model, index);
  const changes = view.shrinks || (view.share !== null && view.share !== 1);
  view.weightsWere = changes ? weightsAt(model, index - 1) : null;
  // Of the parts, one program's weights change: only they have been something else.
  if (view.share !== null && changes)
    view.weightsWere = view.weightsWere.map((p, j) => (j >= step.start && j < step.stop ? p : 0));
  view.outputStop = stopOf(model, model.record.output, index);
  return view;
}

/** What the merge multiplies each part's sum by: exp(m_part - m), as the mirror shifts it. */
function partFactors({ record }, m) {
  const shift = m === -Infinity ? 0 : m;
  return record.m.map((part) => Math.exp(part.value - shift));
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
  if (model.hasParts) shrinkParts(model, index, weights);
  return weights.subarray(0, stop);
}

/** A part's weights were measured from its own maximum until its program has merged. */
function shrinkParts(model, index, weights) {
  const { record, states, block } = model;
  record.output.forEach((written, b) => {
    if (!written || written.index > index) return;
    const factor = partFactors(model, states[written.index].m)[b];
    record.p[b].value.forEach((p, lane) => {
      weights[b * block + lane] = p * factor;
    });
  });
}

/** How many columns of what `record` keeps exist after step `index`. */
function stopOf(model, record, index) {
  let stop = 0;
  record.forEach((born, b) => {
    if (born && born.index <= index) stop = b * model.block + born.value.length;
  });
  return stop;
}
