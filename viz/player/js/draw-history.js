// What each block left behind: m, alpha and l, with l as a bar split into carried and added.

const AIR = 4; // px between two printed numbers
const CROWDED = 40; // px: in narrower columns only the numbers that matter are printed
const CHIP = 14; // px of type in a chip, where there is room
const SMALL_CHIP = 12.5;

function historyRows(model) {
  const hasFactors = model.alphas.length > 0 || model.hasParts;
  return [model.hasMax && 'm', hasFactors && 'alpha', model.sum && 'sum'].filter(Boolean);
}

function historyBar(kind) {
  return { lecture: 24, compact: 20 }[kind] || 36;
}

/** Two figures on one low screen have no room for it: their steps and state tell the same. */
function historyHeight(model, kind) {
  if (kind === 'brief' || !historyRows(model).length) return 0;
  const least = kind === 'compact' ? 74 : 84;
  return Math.max(least, 23 * (historyRows(model).length - 1) + 34 + historyBar(kind));
}

/** The size of type in the chips: smaller where those of neighbouring columns would touch. */
function chipSize(ruler) {
  return ruler.column < monoWidth('0.000', CHIP) + 20 ? SMALL_CHIP : CHIP;
}

/** How wide the numbers of each block are, printed, once the run is over. */
function numberWidths({ record, nBlocks, hasParts }, ruler) {
  const size = chipSize(ruler);
  const printedWidth = (found, format, pad, points) =>
    found ? monoWidth(format(found.value), points) + pad : 0;
  return Array.from({ length: nBlocks }, (_, b) => {
    const alpha = record.alpha[b];
    return Math.max(
      printedWidth(record.m[b], formatScore, 0, 14),
      printedWidth(record.sum[b], formatSum, 0, 14),
      alpha && alpha.value !== 1 ? printedWidth(alpha, formatFactor, 5, size) : 0,
      hasParts ? monoWidth('0.000', size) + 5 : 0,
    );
  });
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
  const kind = model.sum === 'l' ? 'l' : 't';
  drawHistoryHeads(parent, layout, words, { rows, rowY, sumY: base + 18, model });
  const { low, high } = model.ranges.sum;
  const scale = makeScale(low, high, base, barTop);
  const zero = scale(0);
  svg(parent, 'line', { class: 'bwp-hair', x1: ruler.left, x2: ruler.right, y1: zero, y2: zero });
  const carried = svg(parent, 'path', { class: `bwp-p-${kind}-rest` });
  const added = svg(parent, 'path', { class: `bwp-p-${kind}-soft` });
  const moved = svg(parent, 'path', { class: `bwp-p-${kind}` });
  const was = svg(parent, 'path', { class: `bwp-outline bwp-s-${kind}` });
  const labels = makePool(parent, (g) => makeHistoryLabel(g, rows, rowY, base + 18));
  const width = Math.max(1, Math.min(32, ruler.column * 0.45));
  const bar = (b, from, to) => barPath(ruler.center(b) - width / 2, width, scale(from), scale(to));

  let drawn = '';

  /** The sum of block `b` at this step: settled, being rescaled, or not begun. */
  const sums = (view) => {
    const out = { carried: '', added: '', moved: '', was: '' };
    model.record.sum.forEach((record, b) => {
      if (!record || record.index > view.index || !Number.isFinite(record.value)) return;
      if (view.factors) {
        out.was += bar(b, 0, record.value);
        out[view.step.values.l === undefined ? 'added' : 'moved'] += bar(b, 0, mergedSum(view, b));
        return;
      }
      // A sum that only grows is what was carried and what was added; a signed one is itself.
      const carried = low < 0 ? 0 : record.carried;
      out.carried += bar(b, 0, carried);
      out.added += bar(b, carried, record.value);
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
      const settled = model.record.sum.filter(
        (record) => record && record.index <= view.index,
      ).length;
      const key = `${settled} ${view.shrinks || view.factors ? view.index : ''}`;
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

/** A part's share of the merged sum: its own sum, measured from the row's maximum. */
function mergedSum({ model, factors }, b) {
  return model.record.sum[b].value * factors[b];
}

/** What the history is called: of a row that programs share, it is what they publish. */
function historyTitle(words, { hasParts }) {
  return hasParts
    ? [words.say('player.partials'), words.say('player.in_hbm')]
    : [words.say('player.history'), words.say('player.after_each_block')];
}

function drawHistoryHeads(parent, layout, words, { rows, rowY, sumY, model }) {
  const { ruler, isPhone } = layout;
  if (!isPhone) {
    const [title, note] = historyTitle(words, model);
    svg(parent, 'text', { class: 'bwp-head', x: 0, y: 18, text: title });
    note
      .split('\n')
      .forEach((text, i) => svg(parent, 'text', { class: 'bwp-axis', x: 0, y: 38 + 16 * i, text }));
  }
  for (const name of rows) {
    const symbol = name === 'alpha' && model.hasParts ? '\u00d7' : variable(model[name] || name).symbol;
    const colour = name === 'sum' ? sumKind(model) : { alpha: 'ink' }[name] || name;
    const y = name === 'sum' ? sumY : rowY(name);
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
    const set = [model.record.m[b], model.record.sum[b]].some(
      (record) => record && record.index <= index,
    );
    if (set) known.push(b);
  }
  const current = step.block === null ? known[known.length - 1] : step.block;
  const rose = known.filter((b) => {
    const record = model.record.m[b];
    return record && record.value > record.old && record.old !== -Infinity && !model.hasParts;
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
    const y = name === 'sum' ? sumY : rowY(name);
    texts[name] = svg(group, 'text', { class: 'bwp-number', y, 'text-anchor': 'middle' });
  }
  const chip = rows.includes('alpha') ? makeChip(group, 'history-alpha') : null;
  const print = (name, kind, text, isNow) => {
    setText(texts[name], text);
    put(texts[name], { class: `bwp-number bwp-f-${kind}${isNow ? ' bwp-strong' : ''}` });
  };
  return {
    group,
    set(view, b, ruler) {
      const { model, index, step, state, visit, shrinks, factors } = view;
      const x = labelX(ruler, b);
      const at = (name) => {
        const record = model.record[name][b];
        return record && record.index <= index ? record : null;
      };
      put(group, { 'data-block': b });
      for (const text of Object.values(texts)) put(text, { x });
      const isNow = step.block === b;
      const [m, alpha] = [at('m'), at('alpha')];
      const isNew = (record) => isNow && record.index >= visit.first;
      if (texts.m) print('m', 'm', m ? formatScore(m.value) : '', Boolean(m) && isNew(m));
      const sum = at('sum') || (isNow && shrinks ? { value: state.l, index } : null);
      const printed = sum && factors ? { ...sum, value: mergedSum(view, b) } : sum;
      if (texts.sum)
        print(
          'sum',
          sumKind(model),
          printed ? formatSum(printed.value) : '',
          Boolean(sum) && (factors ? step.values.l !== undefined : isNew(sum)),
        );
      const place = { size: chipSize(ruler), x };
      if (factors) setFactor(factors[b], { ...place, isNow: step.values.l !== undefined });
      else if (chip)
        setAlpha(alpha, {
          ...place,
          kase: alpha && model.steps[alpha.index].case,
          isNow: alpha && alpha.index === index,
        });
    },
  };

  function setFactor(factor, { isNow, size, x }) {
    chip.set(factor === 1 ? '' : formatFactor(factor), x, rowY('alpha') - 5, isNow, size);
    print('alpha', 'ink-2', factor === 1 ? '1' : '', false);
  }

  function setAlpha(alpha, { kase, isNow, size, x }) {
    const isChip = Boolean(alpha) && kase !== 'first' && kase !== 'masked' && alpha.value !== 1;
    chip.set(isChip ? formatFactor(alpha.value) : '', x, rowY('alpha') - 5, isNow, size);
    let text = '';
    if (alpha && !isChip) text = kase === 'first' || kase === 'masked' ? '\u2013' : '1';
    print('alpha', 'ink-2', text, false);
  }
}

function sumKind({ sum }) {
  return sum === 'l' ? 'l-text' : 'ink';
}
