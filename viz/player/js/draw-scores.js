// The row of scores, the running maximum as a staircase over it, and the gap when it rises.

const STUB = 14;

function makeScoresPanel(parent, layout, model, words) {
  const panel = layout.panels.scores;
  const { ruler } = layout;
  const scale = makeScale(model.ranges.low, model.ranges.high, panel.bottom, panel.top);
  const zero = scale(0);
  makeHead(parent, layout, panel, {
    name: { text: words.say('player.scores'), isFirst: true },
    symbol: 'x',
    kind: 'ink-2',
  });
  makeAxis(
    parent,
    layout,
    scale,
    niceTicks(model.ranges.low, model.ranges.high, panel.height / 20),
  );
  const band = svg(parent, 'rect', { class: 'bwp-band', x: ruler.left });
  const bars = ['past', 'now', 'next'].map((name) =>
    svg(parent, 'path', { class: `bwp-bars-${name}`, 'data-testid': `scores-${name}` }),
  );
  drawSpecialScores(parent, layout, model, { panel, zero });
  const maximum = model.hasMax
    ? makeMaximum(parent, layout, model, words, { panel, scale, band })
    : null;
  let drawn = null;
  const drawBars = (from, to) => {
    let d = '';
    for (let j = from; j < to; j += 1) {
      if (Number.isFinite(model.x[j])) d += barPath(ruler.x(j), ruler.bar, zero, scale(model.x[j]));
    }
    return d;
  };
  return {
    set(view) {
      const { start, stop, block } = view.step;
      const now = block === null ? [model.n, model.n] : [start, stop];
      if (String(now) !== String(drawn)) {
        drawn = now;
        [[0, now[0]], now, [now[1], model.n]].forEach((range, i) =>
          put(bars[i], { d: drawBars(...range) }),
        );
      }
      return maximum ? maximum.set(view) : [];
    },
    move(target) {
      if (maximum) maximum.move(target);
    },
  };
}

/** What has no height: −∞ a hatched stub at the foot, +∞ a bar to the top, NaN a cross. */
function drawSpecialScores(parent, layout, model, { panel, zero }) {
  const { ruler } = layout;
  const { x, n } = model;
  if (x.every(Number.isFinite)) return;
  const fill = hatching(parent, 'bwp-hatch-ink');
  const draw = (test, y0, y1, label, labelY) => {
    let d = '';
    for (const [first, last] of runsOf(n, (j) => test(x[j]))) {
      for (let j = first; j <= last; j += 1) d += barPath(ruler.x(j), ruler.bar, y0, y1);
      const middle = (ruler.x(first) + ruler.x(last) + ruler.bar) / 2;
      svg(parent, 'text', {
        class: 'bwp-special',
        x: middle,
        y: labelY,
        'text-anchor': 'middle',
        text: label,
      });
    }
    if (d) svg(parent, 'path', { class: 'bwp-hatched', d, fill });
  };
  draw(
    (value) => value === -Infinity,
    panel.bottom,
    panel.bottom - STUB,
    special(-Infinity),
    panel.bottom - STUB - 5,
  );
  draw((value) => value === Infinity, zero, panel.top, special(Infinity), panel.top + 16);
  const arm = Math.min(5, Math.max(2, ruler.pitch / 2));
  for (const [first, last] of runsOf(n, (j) => Number.isNaN(x[j]))) {
    let d = '';
    for (let j = first; j <= last; j += 1)
      d += crossPath(ruler.x(j) + ruler.bar / 2, zero - 8, arm);
    svg(parent, 'path', { class: 'bwp-cross', d });
    const middle = (ruler.x(first) + ruler.x(last) + ruler.bar) / 2;
    svg(parent, 'text', {
      class: 'bwp-special bwp-f-error',
      x: middle,
      y: zero - 18,
      'text-anchor': 'middle',
      text: 'NaN',
    });
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
  const firstPass = model.steps.find((step) => 'm' in step.values || 'm_new' in step.values).pass;
  let shape = '';
  let tail = null;

  const staircase = ({ index, step, state }) => {
    tail = null;
    if (step.pass !== firstPass) {
      const y = levelOf(scale, panel, state.top);
      shape = '';
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

  const drawRise = ({ rise, step }) => {
    for (const node of [band, dashes]) show(node, Boolean(rise));
    setText(sentence, '');
    if (!rise) return;
    const [top, bottom, edge] = [scale(rise.value), scale(rise.old), ruler.col(step.block)];
    put(band, { y: top, width: edge - ruler.left, height: bottom - top });
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
    const value = step.values.block_max ?? (step.phase === 'block_max' ? step.values.m : undefined);
    const y = value === undefined ? null : levelOf(scale, panel, value);
    show(ring, y !== null);
    setText(ringText, y === null ? '' : formatScore(value));
    if (y === null) return;
    const j = model.x.indexOf(value, step.start);
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
      if (!tail) put(line, { d: '' });
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
