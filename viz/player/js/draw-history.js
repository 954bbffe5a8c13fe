// What each block left behind: m, alpha and l, with l as a bar split into carried and added.

const AIR = 4; // px between two printed numbers
const CROWDED = 40; // px: in narrower columns only the numbers that matter are printed
const CHIP = 14; // px of type in a chip, where there is room
const SMALL_CHIP = 12.5;

function historyRows(model) {
  return [model.hasMax && 'm', model.alphas.length > 0 && 'alpha', 'l'].filter(Boolean);
}

function historyBar(kind) {
  return { lecture: 24, compact: 20 }[kind] || 36;
}

/** Two figures on one low screen have no room for it: their steps and state tell the same. */
function historyHeight(model, kind) {
  if (kind === 'brief') return 0;
  const least = kind === 'compact' ? 74 : 84;
  return Math.max(least, 23 * (historyRows(model).length - 1) + 34 + historyBar(kind));
}

/** The size of type in the chips: smaller where those of neighbouring columns would touch. */
function chipSize(ruler) {
  return ruler.column < monoWidth('0.000', CHIP) + 20 ? SMALL_CHIP : CHIP;
}

/** How wide the numbers of each block are, printed, once the run is over. */
function numberWidths({ record, nBlocks }, ruler) {
  const size = chipSize(ruler);
  const printedWidth = (name, b, pad, points) => {
    const found = record[name][b];
    return found ? monoWidth(variable(name).format(found.value), points) + pad : 0;
  };
  return Array.from({ length: nBlocks }, (_, b) =>
    Math.max(
      printedWidth('m', b, 0, 14),
      printedWidth('l', b, 0, 14),
      record.alpha[b] && record.alpha[b].value !== 1 ? printedWidth('alpha', b, 5, size) : 0,
    ),
  );
}

function makeHistoryPanel(parent, layout, model, words) {
  const { ruler } = layout;
  const rows = historyRows(model);
  const rowY = (name) => 18 + 23 * rows.indexOf(name);
  const height = historyHeight(model, layout.kind);
  if (!height) return { height, set: () => [], move() {} };
  const widths = numberWidths(model, ruler);
  const base = height - 24;
  const barTop = base - historyBar(layout.kind);
  const lightColumn = makeColumn(parent, ruler, 0, height);
  drawHistoryHeads(parent, layout, words, rows, rowY, base + 18);
  svg(parent, 'line', { class: 'bwp-hair', x1: ruler.left, x2: ruler.right, y1: base, y2: base });
  const carried = svg(parent, 'path', { class: 'bwp-p-l-rest' });
  const added = svg(parent, 'path', { class: 'bwp-p-l-soft' });
  const moved = svg(parent, 'path', { class: 'bwp-p-l' });
  const was = svg(parent, 'path', { class: 'bwp-outline bwp-s-l' });
  const labels = makePool(parent, (g) => makeHistoryLabel(g, rows, rowY, base + 18));
  const scale = makeScale(0, model.ranges.sum, base, barTop);
  const width = Math.max(1, Math.min(32, ruler.column * 0.45));
  const bar = (b, from, to) => barPath(ruler.center(b) - width / 2, width, scale(from), scale(to));

  let drawn = '';

  /** The sum of block `b` at this step: settled, being rescaled, or not begun. */
  const sums = (view) => {
    const out = { carried: '', added: '', moved: '', was: '' };
    model.record.l.forEach((record, b) => {
      if (!record || record.index > view.index || !Number.isFinite(record.value)) return;
      out.carried += bar(b, 0, record.carried);
      out.added += bar(b, record.carried, record.value);
    });
    if (view.shrinks && Number.isFinite(view.state.l)) {
      out.moved = bar(view.step.block, 0, view.state.l);
      out.was = bar(view.step.block, 0, view.before.l);
    }
    return out;
  };

  return {
    height,
    set(view) {
      lightColumn(view.step);
      const settled = model.record.l.filter(
        (record) => record && record.index <= view.index,
      ).length;
      const key = `${settled} ${view.shrinks ? view.index : ''}`;
      if (key !== drawn) {
        drawn = key;
        const paths = sums(view);
        put(carried, { d: paths.carried });
        put(added, { d: paths.added });
        put(moved, { d: paths.moved });
        put(was, { d: paths.was });
      }
      labels.fit(printedBlocks(view, ruler, widths), (label, block) => label.set(view, block, ruler));
      return [];
    },
    move() {},
  };
}

function drawHistoryHeads(parent, layout, words, rows, rowY, sumY) {
  const { ruler, isPhone } = layout;
  if (!isPhone) {
    svg(parent, 'text', { class: 'bwp-head', x: 0, y: 18, text: words.say('player.history') });
    words
      .say('player.after_each_block')
      .split('\n')
      .forEach((text, i) => svg(parent, 'text', { class: 'bwp-axis', x: 0, y: 38 + 16 * i, text }));
  }
  for (const name of rows) {
    const { symbol, kind } = variable(name);
    const colour = { alpha: 'ink', l: 'l-text' }[name] || kind;
    const y = name === 'l' ? sumY : rowY(name);
    svg(parent, 'text', {
      class: `bwp-symbol bwp-f-${colour}`,
      x: ruler.left - 8,
      y,
      'text-anchor': 'end',
      text: symbol,
    });
  }
}

/** The blocks whose numbers are printed: where not all fit, the current one and the rises first. */
function printedBlocks({ model, index, step }, ruler, widths) {
  const known = [];
  for (let b = 0; b < model.nBlocks; b += 1) {
    const set = [model.record.m[b], model.record.l[b]].some(
      (record) => record && record.index <= index,
    );
    if (set) known.push(b);
  }
  const current = step.block === null ? known[known.length - 1] : step.block;
  const rose = known.filter((b) => {
    const record = model.record.m[b];
    return record && record.value > record.old && record.old !== -Infinity;
  });
  const others = ruler.column >= CROWDED ? known : known.slice(0, 1);
  const chosen = known.includes(current) ? [current] : [];
  for (const b of [...rose.reverse(), ...others]) {
    const isClear = chosen.every((other) => {
      const apart = Math.abs(labelX(ruler, other) - labelX(ruler, b));
      return apart >= (widths[b] + widths[other]) / 2 + AIR;
    });
    if (isClear) chosen.push(b);
  }
  return chosen;
}

/** Under the middle of its column, but not over the row's own names. */
function labelX(ruler, b) {
  if (ruler.column >= CROWDED + 2) return ruler.center(b);
  return Math.max(ruler.left + 30, Math.min(ruler.right - 26, ruler.center(b)));
}

/** The numbers of one block, in a group that can stand under any column. */
function makeHistoryLabel(parent, rows, rowY, sumY) {
  const group = svg(parent, 'g');
  const texts = {};
  for (const name of rows) {
    const y = name === 'l' ? sumY : rowY(name);
    texts[name] = svg(group, 'text', { class: 'bwp-number', y, 'text-anchor': 'middle' });
  }
  const chip = rows.includes('alpha') ? makeChip(group, 'history-alpha') : null;
  const print = (name, kind, text, isNow) => {
    setText(texts[name], text);
    put(texts[name], { class: `bwp-number bwp-f-${kind}${isNow ? ' bwp-strong' : ''}` });
  };
  return {
    group,
    set({ model, index, step, state, visit, shrinks }, b, ruler) {
      const x = labelX(ruler, b);
      const at = (name) => {
        const record = model.record[name][b];
        return record && record.index <= index ? record : null;
      };
      put(group, { 'data-block': b });
      for (const text of Object.values(texts)) put(text, { x });
      const isNow = step.block === b;
      const [m, alpha, l] = [at('m'), at('alpha'), at('l')];
      const isNew = (record) => isNow && record.index >= visit.first;
      if (texts.m) print('m', 'm', m ? formatScore(m.value) : '', Boolean(m) && isNew(m));
      const sum = l || (isNow && shrinks ? { value: state.l, index } : null);
      print('l', 'l-text', sum ? formatSum(sum.value) : '', Boolean(sum) && isNew(sum));
      if (chip)
        setAlpha(alpha, {
          kase: alpha && model.steps[alpha.index].case,
          isNow: alpha && alpha.index === index,
          size: chipSize(ruler),
          x,
        });
    },
  };

  function setAlpha(alpha, { kase, isNow, size, x }) {
    const isChip = Boolean(alpha) && kase !== 'first' && kase !== 'masked' && alpha.value !== 1;
    chip.set(isChip ? formatFactor(alpha.value) : '', x, rowY('alpha') - 5, isNow, size);
    let text = '';
    if (alpha && !isChip) text = kase === 'first' || kase === 'masked' ? '\u2013' : '1';
    print('alpha', 'ink-2', text, false);
  }
}
