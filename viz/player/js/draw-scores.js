// The row of scores, the running maximum as a staircase over it, and the gap when it rises.

const STUB = 14;

function makeScoresPanel(parent, layout, model, words) {
  const panel = layout.panels.scores;
  const { low, high } = model.ranges;
  const scale = makeScale(low, high, panel.bottom, panel.top);
  makeHead(parent, layout, panel, {
    name: { text: words.say('player.scores'), isFirst: true },
    symbol: 'x',
    kind: 'ink-2',
  });
  makeAxis(parent, layout, scale, niceTicks(low, high, panel.height / 20));
  const band = svg(parent, 'path', { class: 'bwp-band' });
  const bars = makeReadBars(parent, layout, model.scores, scale, 'scores');
  drawSpecials(parent, layout, model.scores, { panel, zero: scale(0) });
  const maximum = model.hasMax
    ? makeMaximum(parent, layout, model, words, { panel, scale, band })
    : null;
  return {
    set(view) {
      bars.set(view);
      return maximum ? maximum.set(view) : [];
    },
    move(target) {
      if (maximum) maximum.move(target);
    },
  };
}

/** Bars of an input: those read, those of the current block, those still in HBM. */
function makeReadBars(parent, layout, values, scale, testid) {
  const { ruler } = layout;
  const zero = scale(0);
  const bars = ['past', 'now', 'next'].map((name) =>
    svg(parent, 'path', { class: `bwp-bars-${name}`, 'data-testid': `${testid}-${name}` }),
  );
  const path = (from, to) => {
    let d = '';
    for (let j = from; j < to; j += 1) {
      if (values[j] !== 0 && Number.isFinite(values[j]))
        d += barPath(ruler.x(j), ruler.bar, zero, scale(values[j]));
    }
    return d;
  };
  let drawn = null;
  return {
    set({ model, step: { start, stop, block, pass } }) {
      const n = values.length;
      const now = block === null ? [n, n] : [start, stop];
      now.push(model.readingPasses.has(pass) ? now[1] : n);
      if (String(now) === String(drawn)) return;
      drawn = now;
      const rest = path(0, now[0]) + (now[2] === n ? path(now[1], n) : '');
      put(bars[0], { d: rest });
      put(bars[1], { d: path(now[0], now[1]) });
      put(bars[2], { d: path(now[2], n) });
    },
  };
}

/** What has no height: −∞ a hatched stub at the foot, +∞ a bar to the top, NaN a cross. */
function drawSpecials(parent, layout, values, { panel, zero }) {
  const { ruler } = layout;
  if (values.every(Number.isFinite)) return;
  const fill = hatching(parent, 'bwp-hatch-ink');
  const middleOf = ([first, last]) => (ruler.x(first) + ruler.x(last) + ruler.bar) / 2;
  const label = (run, text, y, className) =>
    svg(parent, 'text', { class: className, x: middleOf(run), y, 'text-anchor': 'middle', text });
  const draw = (wanted, y0, y1, labelY) => {
    let d = '';
    for (const run of runsOf(values.length, (j) => values[j] === wanted)) {
      for (let j = run[0]; j <= run[1]; j += 1) d += barPath(ruler.x(j), ruler.bar, y0, y1);
      label(run, special(wanted), labelY, 'bwp-special');
    }
    if (d) svg(parent, 'path', { class: 'bwp-hatched', d, fill });
  };
  draw(-Infinity, panel.bottom, panel.bottom - STUB, panel.bottom - STUB - 5);
  draw(Infinity, zero, panel.top, panel.top + 16);
  const arm = Math.min(5, Math.max(2, ruler.pitch / 2));
  for (const run of runsOf(values.length, (j) => Number.isNaN(values[j]))) {
    let d = '';
    for (let j = run[0]; j <= run[1]; j += 1)
      d += crossPath(ruler.x(j) + ruler.bar / 2, zero - 8, arm);
    svg(parent, 'path', { class: 'bwp-cross', d });
    label(run, 'NaN', zero - 18, 'bwp-special bwp-f-error');
  }
}

/** Where m is drawn: +∞ at the panel's upper edge, −∞ nowhere. */
function levelOf(scale, panel, value) {
  if (value === Infinity) return panel.top - 8;
  return Number.isFinite(value) ? scale(value) : null;
}

/** The m line, its old and new level at a rise, and the ring on a block's largest score. */
function makeMaximum(parent, layout, model, words, { panel, scale, band }) {
  const { ruler } = layout;
  const end = layout.isPhone ? ruler.right : layout.chip.x + 8;
  const dashes = svg(parent, 'path', { class: 'bwp-m-dash' });
  const line = svg(parent, 'path', { class: 'bwp-m-line', 'data-testid': 'm-line' });
  const sentence = svg(parent, 'text', { class: 'bwp-band-text', 'text-anchor': 'middle' });
  const ring = svg(parent, 'circle', { class: 'bwp-m-ring', r: 5.5 });
  const ringText = svg(parent, 'text', { class: 'bwp-ring-text', 'data-testid': 'block-max' });
  const firstPass = model.steps.find(({ values }) =>
    ['m', 'm_new', 'm_part'].some((name) => name in values),
  ).pass;
  let shape = '';
  let tail = null;

  /** The maximum of each part over its own columns: no program knows another's. */
  const separate = (index) =>
    model.record.m
      .map((record, b) => {
        const y = record.index <= index ? levelOf(scale, panel, record.value) : null;
        return y === null ? '' : `M${round(ruler.col(b) + 2)} ${round(y)}H${round(ruler.col(b + 1) - 2)}`;
      })
      .join('');

  const staircase = ({ index, step, state }) => {
    tail = null;
    shape = '';
    if (model.hasParts && step.pass === firstPass) {
      shape = separate(index);
      return;
    }
    if (step.pass !== firstPass) {
      const y = levelOf(scale, panel, state.top);
      if (y !== null) tail = { x: ruler.left, y };
      return;
    }
    const levels = [];
    model.record.m.forEach((record, b) => {
      const y = record && record.index <= index ? levelOf(scale, panel, record.value) : null;
      if (y !== null) levels.push({ x: ruler.col(b), y });
    });
    tail = levels.pop() || null;
    shape = levels
      .map(
        ({ x, y }, i) =>
          `${i ? 'L' : 'M'}${round(x)} ${round(y)}H${round((levels[i + 1] || tail).x)}`,
      )
      .join('');
  };

  /** At the merge: how far below the row's maximum each part's own one lies. */
  const drawParts = ({ index, state }) => {
    const top = levelOf(scale, panel, state.m);
    let d = '';
    model.record.m.forEach((record, b) => {
      const y = levelOf(scale, panel, record.value);
      if (y !== null && top !== null)
        d += `M${round(ruler.col(b) + 2)} ${round(top)}H${round(ruler.col(b + 1) - 2)}V${round(y)}H${round(ruler.col(b) + 2)}z`;
    });
    put(band, { d });
    put(dashes, { d: separate(index) });
  };

  const drawRise = (view) => {
    const { rise, step } = view;
    const isMerge = model.hasParts && step.values.m !== undefined;
    for (const node of [band, dashes]) show(node, isMerge || Boolean(rise));
    setText(sentence, '');
    if (isMerge) drawParts(view);
    if (!rise) return;
    const [top, bottom, edge] = [scale(rise.value), scale(rise.old), ruler.col(step.block)];
    put(band, { d: `M${ruler.left} ${round(top)}H${round(edge)}V${round(bottom)}H${ruler.left}z` });
    put(dashes, {
      d: `M${ruler.left} ${round(top)}H${round(edge)}M${round(edge)} ${round(bottom)}H${end}`,
    });
    placeSentence(edge - ruler.left, top, bottom, formatScore(roundGap(rise.gap)));
  };

  const placeSentence = (width, top, bottom, gap) => {
    const long = words.say('player.further_below', { gap });
    const text =
      sansWidth(long, 14) < width - 8 ? long : words.say('player.further_below_short', { gap });
    const needed = sansWidth(text, 14);
    const inside = bottom - top >= 18;
    put(sentence, {
      x: ruler.left + Math.max(width / 2, needed / 2 + 4),
      y: inside ? (top + bottom) / 2 + 5 : top - 6,
    });
    setText(sentence, text);
  };

  const drawRing = ({ step }) => {
    const { m, m_part: part, block_max: value = step.phase === 'block_max' ? (m ?? part) : undefined } =
      step.values;
    const y = value === undefined ? null : levelOf(scale, panel, value);
    show(ring, y !== null);
    setText(ringText, y === null ? '' : formatScore(value));
    if (y === null) return;
    const j = model.scores.indexOf(value, step.start);
    const x = ruler.x(Math.max(j, step.start)) + ruler.bar / 2;
    const onLeft = x + 70 > ruler.right;
    put(ring, { cx: x, cy: y });
    put(ringText, {
      x: x + (onLeft ? -10 : 10),
      y: y + 2,
      'text-anchor': onLeft ? 'end' : 'start',
    });
  };

  return {
    set(view) {
      staircase(view);
      drawRise(view);
      drawRing(view);
      const isMoving = view.rise && view.step.phase === 'new_max';
      put(line, { class: isMoving ? 'bwp-m-line bwp-m-line-now' : 'bwp-m-line' });
      return [tail ? tail.y : NaN];
    },
    move([y]) {
      if (!tail) put(line, { d: shape });
      else put(line, { d: `${shape || `M${round(tail.x)} ${round(y)}`}V${round(y)}H${end}` });
    },
  };
}

/** A guess at the width of a sans text, good enough to choose between a long and a short one. */
function sansWidth(text, size) {
  let ems = 0;
  for (const letter of text) ems += letter.charCodeAt(0) > 0x2e7f ? 1 : 0.48;
  return ems * size;
}
