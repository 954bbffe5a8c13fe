// Axis ends: from the whole trace, since an axis never moves while stepping.

const ALIKE = 4; // times: rows no further apart in size share an axis

/** Axis ends, from the finite values of the whole trace: an axis never moves while stepping. */
function findRanges(model) {
  const { steps, states, v } = model;
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
  const assigned = (name) => steps.flatMap((step) => step.values[name] ?? []);
  return {
    ...axisOf(model.scores || []),
    rows: rowRanges(model),
    weight: weight > 1.0001 ? weight : 1,
    product: product || 1,
    terms: axisOf(assigned('t')),
    sum: axisOf(states.flatMap((state) => [state[model.sum] ?? 0, state.l_part ?? 0])),
    output: axisOf(assigned(model.output)),
    acc: largest([...assigned('acc'), ...assigned('o')]),
  };
}

/**
 * The axis of every operand. Where outputs stand right under their operands, all are of one size
 * and one axis serves them: a sum can then be seen to be one.
 */
function rowRanges({ rows, operands, panels, output, steps }) {
  const ranges = Object.fromEntries(operands.map((name) => [name, axisOf(rows[name])]));
  if (!operands.length || panels.length !== 2) return ranges;
  const all = [...Object.values(ranges), axisOf(steps.flatMap((step) => step.values[output] ?? []))];
  const sizes = all.map(({ low, high }) => Math.max(-low, high));
  if (Math.max(...sizes) > ALIKE * Math.min(...sizes)) return ranges;
  const shared = {
    low: Math.min(...all.map(({ low }) => low)),
    high: Math.max(...all.map(({ high }) => high)),
  };
  return Object.fromEntries([...operands, output].map((name) => [name, shared]));
}

/** The ends of an axis that has room for all of `values` and for 0. */
function axisOf(values) {
  const { low, high } = finiteRange(values);
  return {
    low: Math.min(0, low),
    high: high > 0 || low < 0 ? Math.max(0, high) : 1,
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
