// One sentence per sub-step: which template, and this step's numbers to put into it.

const SCALAR_KINDS = { m: 'm', l: 'l', o: 'o', alpha: 'alpha', now: 'now', ink: 'strong' };

/** A mirror names what happened; some templates also depend on what had happened before. */
function captionCase({ model, index, step, state, before }) {
  const { phase, case: given = 'normal', values } = step;
  if (phase === 'accumulate' && given === 'overflow') {
    if (before.l === Infinity) return 'overflow_kept';
    return values.p.includes(Infinity) ? 'overflow' : 'overflow_sum';
  }
  const isSpoiled = before.l === Infinity || Number.isNaN(before.l);
  if (phase === 'accumulate' && given === 'nan' && Number.isNaN(before.l)) return 'nan_kept';
  if (phase === 'new_max' && isSpoiled && (given === 'same' || given === 'equal')) return 'normal';
  if (phase === 'normalize' && given === 'normal' && state.l === Infinity) return 'zero';
  const isLast = index === model.steps.length - 1 && model.nBlocks > 1;
  if (phase === 'store' && given === 'normal' && isLast && step.block !== null) return 'last';
  return given;
}

/** Find the template: the algorithm's own first, then that of all whole rows, then of all. */
function captionKey(words, view) {
  const { name, whole_row: isWhole } = view.model;
  const { phase } = view.step;
  const owners = isWhole ? [name, 'whole'] : [name];
  const keys = [captionCase(view), 'normal'].flatMap((kase) => [
    ...owners.map((owner) => `caption.${owner}.${phase}.${kase}`),
    `caption.${phase}.${kase}`,
  ]);
  return keys.find(words.has) || keys[keys.length - 1];
}

function number(name, value) {
  const { format, kind } = variable(name);
  const text = format(value);
  if (name === 'alpha')
    return { text: `\u03b1 = ${text}`, kind: value === 1 ? 'alpha-idle' : 'alpha', name };
  return { text, kind: SCALAR_KINDS[kind] || 'strong', name };
}

/** Every name that a caption may use, for this step. */
function captionValues(words, view) {
  const { model, step, state, before } = view;
  const lanes = step.stop - step.start;
  const bytes = sumOf(step.reads) + sumOf(step.writes);
  const scores = model.scores ? model.scores.subarray(step.start, step.stop) : [];
  const [first, second] = Object.values(model.rows).map((row) => row[step.start]);
  const values = {
    block: { text: String(step.block), kind: 'now' },
    scores: words.count('scores', lanes),
    rows: words.count('rows', lanes),
    weights: words.count('weights', lanes),
    missing: words.count('lanes', model.block - lanes),
    bytes: words.count('bytes', bytes),
    elements: words.count('elements', lanes),
    first: { text: formatScore(first), kind: 'strong' },
    second: { text: inBrackets(formatScore(second ?? NaN)), kind: 'strong' },
    result: number(model.output, (state[model.output] || [NaN])[0]),
    others: words.count('programs', model.nBlocks - 1),
    factor: factorOf(view),
    n: words.count('scores', model.n),
    pass: String(step.pass + 1),
    largest: formatScore(Math.max(...scores)),
    holds: model.dtype === 'float16' ? 'float16' : 'float32',
    error: model.error === null ? '' : formatSmall(decode(model.error)),
    m: number('m', before.top ?? NaN),
    m_new: number('m', state.top ?? NaN),
    gap: { text: formatScore((state.top ?? NaN) - (before.top ?? NaN)), kind: 'strong' },
    the_m: { text: 'm', kind: 'm' },
    the_l: { text: 'l', kind: 'l' },
    the_o: { text: 'o', kind: 'o' },
    the_delta: { text: 'delta', kind: 'strong' },
  };
  for (const [name, value] of Object.entries(state)) {
    if (typeof value === 'number' && !(name in values)) values[name] = number(name, value);
  }
  // During a block the new maximum is already known, but a rise is told from the old one.
  if (view.rise) {
    values.m = number('m', view.rise.old);
    values.gap = { text: formatScore(roundGap(view.rise.gap)), kind: 'strong' };
  }
  return values;
}

/** A negative number after an operator stands in brackets. */
function inBrackets(text) {
  return text.startsWith(MINUS) ? `(${text})` : text;
}

/** By what a program's own part is multiplied once all parts are known. */
function factorOf({ factors, step }) {
  const factor = factors ? factors[step.block] : 1;
  return { text: formatFactor(factor), kind: factor === 1 ? 'alpha-idle' : 'alpha' };
}

/** Drop the float noise of a difference of two printed numbers. */
function roundGap(gap) {
  return Number(gap.toPrecision(6));
}

/** An error is told to two digits, whatever its size. */
function formatSmall(value) {
  if (value === 0) return '0';
  return value < 0.01 ? exponential(value, 1).replaceAll('-', MINUS) : formatSum(value);
}

function sumOf(bytes) {
  return Object.values(bytes).reduce((sum, n) => sum + n, 0);
}

/** The caption of one view, in coloured parts. */
function captionParts(words, view, isDone) {
  if (isDone) {
    const passes = words.say(`player.times.${timesRowRead(view)}`);
    const bytes = words.count('bytes', sumOf(view.moved));
    return fill(words.template('player.done.caption'), { passes, bytes });
  }
  return fill(words.template(captionKey(words, view)), captionValues(words, view));
}

/** How often the row has been read whole: a pass need not read it. */
function timesRowRead({ model, moved }) {
  const [leading] = Object.keys(model.rows);
  return Math.round(moved[leading] / (model.n * model.itemsize));
}

/** Where we are: block, phase, step of steps; with its algorithm when two are compared. */
function eyebrowParts(words, view, place) {
  return eyebrowOf(words, view, place, rowPlace(words, view));
}

/** The name of the place that a view of a row stands at. */
function rowPlace(words, { model, step: { block } }) {
  if (block === null) return words.say('player.row');
  return words.say(model.hasPrograms ? 'player.program' : 'player.block', { block });
}

/** An eyebrow around the name of the place that a view stands at. */
function eyebrowOf(words, { model, step }, { isDone, position, count, titled }, named) {
  const parts = [];
  if (titled)
    parts.push(
      { text: words.say(`algorithm.${model.name}.title`), kind: 'strong' },
      { text: ' \u00b7 ' },
    );
  if (isDone) return [...parts, { text: words.say('player.done'), kind: 'now' }];
  parts.push({ text: named, kind: 'now' });
  const pass = model.n_passes > 1 ? [passName(words, model, step.pass)] : [];
  for (const name of new Set([...pass, phaseName(words, model, step.phase)]))
    parts.push({ text: ` \u00b7 ${name}` });
  if (!titled)
    parts.push({
      text: ` \u00b7 ${words.say('player.position', { step: position, steps: count })}`,
      kind: 'position',
    });
  return parts;
}
