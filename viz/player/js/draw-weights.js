// The weights p = exp(x - m): bars on an axis that never moves, and the bracket of a rescale.

function makeWeightsPanel(parent, layout, model, words) {
  const panel = layout.panels.weights;
  const { ruler } = layout;
  const top = model.ranges.weight;
  const scale = makeScale(0, top, panel.bottom, panel.top);
  makeHead(parent, layout, panel, {
    name: { text: words.say('player.weights') },
    symbol: 'p',
    kind: 'l-text',
    notes: [model.hasMax ? `exp(x${MINUS}m)` : 'exp(x)'],
  });
  makeAxis(parent, layout, scale, top === 1 ? [0, 1] : niceTicks(0, top, 2));
  const bars = makeBarStates(parent, layout, scale, {
    rest: 'l-rest',
    now: 'l',
    testid: 'weights',
    highest: top,
  });
  const bracket = svg(parent, 'path', { class: 'bwp-bracket' });
  const chip = makeChip(parent, 'alpha-chip');
  const drawBracket = (view) => {
    const { left, right, factor } = bracketed(view);
    const y = panel.top - 16;
    const isActing = factor !== null && factor !== 1;
    show(bracket, isActing);
    if (isActing)
      put(bracket, { d: `M${round(left + 3)} ${y + 7}V${y}H${round(right)}V${y + 7}` });
    const text = factor === null ? '' : `\u00d7 ${formatFactor(factor)}`;
    const half = monoWidth(text, 14) / 2 + 7;
    const middle = Math.max((left + right) / 2, ruler.left + half);
    chip.set(text, Math.min(middle, ruler.right - half), y, isActing);
  };
  /** What a bracket spans: all old blocks at a rescale, or the part whose program has merged. */
  const bracketed = ({ step, alpha, share, shrinks }) => {
    const { left } = ruler;
    if (step.block === null) return { left, right: left, factor: null };
    const start = ruler.col(step.block);
    if (share !== null) return { left: start, right: ruler.col(step.block + 1) - 3, factor: share };
    const isShown = shrinks || (alpha === 1 && step.case === 'same');
    return { left, right: start - ruler.gap / 2, factor: isShown ? alpha : null };
  };
  return {
    set(view) {
      drawBracket(view);
      return bars.set(view.weights, {
        now: movingWeights(view),
        were: view.weightsWere,
      });
    },
    move: bars.move,
  };
}

/** The columns whose weights a step makes or changes. */
function movingWeights({ fresh, shrinks, share, step }) {
  if (fresh) return fresh;
  if (share !== null) return [step.start, step.stop];
  return shrinks ? [0, step.start] : null;
}

const NONE = [0, 0]; // no column moves

/**
 * Bars in two states, at rest and moving, with the outline of what they were; ∞ and NaN have no
 * height and are drawn as hatching and a cross. One path a state, however many bars. A value over
 * `highest` runs off the axis: an open arrow head stands on its bar, and its number where it fits.
 */
function makeBarStates(parent, layout, scale, { rest, now, testid, highest = Infinity }) {
  const { ruler } = layout;
  const zero = scale(0);
  const restPath = svg(parent, 'path', { class: `bwp-p-${rest}`, 'data-testid': `${testid}-rest` });
  const nowPath = svg(parent, 'path', { class: `bwp-p-${now}`, 'data-testid': `${testid}-now` });
  const outline = svg(parent, 'path', {
    class: `bwp-outline bwp-s-${now}`,
    'data-testid': `${testid}-were`,
  });
  const infinite = svg(parent, 'path', {
    class: `bwp-hatched bwp-s-${now}`,
    fill: hatching(parent, `bwp-s-${now}`),
  });
  const crosses = svg(parent, 'path', { class: 'bwp-cross', 'data-testid': `${testid}-nan` });
  const over = svg(parent, 'path', { class: 'bwp-over', 'data-testid': `${testid}-over` });
  const labels = makePool(parent, (g) =>
    svg(g, 'text', { class: 'bwp-special', 'text-anchor': 'middle' }),
  );
  let moving = null;
  let drawn = {};

  const path = (values, from, to) => {
    let d = '';
    for (let j = from; j < to; j += 1) {
      if (values[j] !== 0 && Number.isFinite(values[j]))
        d += barPath(ruler.x(j), ruler.bar, zero, scale(values[j]));
    }
    return d;
  };

  const drawSpecials = (values, isNamed) => {
    const arm = Math.min(5, Math.max(1.5, ruler.pitch / 2));
    const middle = (j) => ruler.x(j) + ruler.bar / 2;
    const isAbove = (j) => values[j] === Infinity;
    const isBelow = (j) => values[j] === -Infinity;
    const isNaNAt = (j) => Number.isNaN(values[j]);
    let hatched = '';
    let crossed = '';
    let heads = '';
    const [top, bottom] = [scale(Infinity), scale(-Infinity)];
    const beyond = [];
    const labelled = (test, label) => runsOf(values.length, test).map((run) => ({ run, ...label }));
    for (let j = 0; j < values.length; j += 1) {
      if (isAbove(j)) hatched += barPath(ruler.x(j), ruler.bar, zero, top);
      if (isBelow(j)) hatched += barPath(ruler.x(j), ruler.bar, zero, bottom);
      if (isNaNAt(j)) crossed += crossPath(middle(j), zero - 8, arm);
      if (!(values[j] > highest * 1.0001 && values[j] < Infinity)) continue;
      const half = Math.min(5, ruler.bar / 2);
      heads += `M${round(middle(j) - half)} ${round(top - 2)}l${round(half)} ${round(-half)}l${round(half)} ${round(half)}`;
      const text = formatSum(values[j]);
      if (isNamed && monoWidth(text, 13) + 4 < ruler.pitch)
        beyond.push({ run: [j, j], text, y: top - 10, kind: 'l-text' });
    }
    put(infinite, { d: hatched });
    put(crosses, { d: crossed });
    put(over, { d: heads });
    const named = [
      ...labelled(isAbove, { text: special(Infinity), y: top - 4, kind: now }),
      ...labelled(isBelow, { text: special(-Infinity), y: bottom + 14, kind: now }),
      ...labelled(isNaNAt, { text: 'NaN', y: zero - 18, kind: 'error' }),
    ].filter(({ run: [a, b] }, i) => i === 0 || ruler.x(b) - ruler.x(a) > 24 || values.length < 40);
    labels.fit([...named, ...beyond], (node, { run: [a, b], text, y, kind }) => {
      put(node, { x: (middle(a) + middle(b)) / 2, y, class: `bwp-special bwp-f-${kind}` });
      setText(node, text);
    });
  };

  return {
    /** Show `values`; `now` is the range of columns that move, `were` the values before. */
    set(values, { now: range, were }) {
      moving = range || NONE;
      put(outline, { d: were ? path(were, 0, were.length) : '' });
      drawSpecials(values, !were); // under a bracket there is no room for a number
      return values;
    },
    move(values) {
      if (drawn.values === values && String(drawn.moving) === String(moving)) return;
      drawn = { values, moving };
      put(restPath, { d: path(values, 0, moving[0]) + path(values, moving[1], values.length) });
      put(nowPath, { d: path(values, ...moving) });
    },
  };
}
