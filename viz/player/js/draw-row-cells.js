// The cells of the table of rows: scores and weights, and what is kept on chip for each row.

const WEIGHT_GROUND = 0.42; // of the weights' hue, under the number of a weight
const BAR_THICKEST = 14;

/** A weight to two decimals; what would print as 0 and is not says so. */
function formatWeight(value) {
  if (!Number.isFinite(value)) return special(value);
  if (value === 0) return '0';
  return value < 0.005 ? '\u22480' : value.toFixed(2);
}

/** A score with as many decimals as its cell has room for. */
function formatNarrow(value, digits) {
  const zero = 0.5 * 10 ** -digits;
  if (Math.abs(value) < zero) return (0).toFixed(digits); // never "−0.0", nor an exponent
  return printed(value, (v) => (Math.abs(v) >= 100 ? v.toFixed(0) : v.toFixed(digits)));
}

/** Two decimals, but more where two different numbers would look the same. */
function formatApart(value, other) {
  for (let digits = 2; digits < 7; digits += 1) {
    const [text, second] = [value, other].map((v) => formatNarrow(v, digits));
    if (text !== second || value === other || digits === 6) return text;
  }
  return String(value);
}

/** The score cells of every row; as numbers where there is room, always with their ground. */
function makeScoreCells(parent, canvas, columns, model) {
  const { x: left, width } = columns.scores;
  const hatch = svg(parent, 'path', {
    class: 'bwp-masked',
    fill: hatching(parent, 'bwp-hatch-mask', 4),
  });
  const pool = makePool(parent, (g) => svg(g, 'text', { 'text-anchor': 'middle' }));
  const largest = model.ranges.of('scores');

  /** The tile's ground is lit, and under it lie weights as ink, or scores too many to print. */
  const paint = (view, lines, values, isWeights, pitch) => {
    canvas.clear(left - 3, 0, width + 6, 4000);
    if (view.step.block !== null && lines.length) {
      canvas.colour('focus-tint');
      canvas.fill(left - 2, ROWS_HEAD - 4, width + 4, lines.at(-1).y + lines.at(-1).h + 8, 1);
    }
    if (!values) return;
    canvas.colour(isWeights ? 'l' : 'ink-2');
    for (const { from, to } of evenRuns(lines)) {
      const { y, h } = lines[from];
      const isPrinted = columns.isPrinted && h >= ROW_LEAST;
      if (isPrinted && !isWeights) continue;
      inkBlock(canvas, {
        x: left,
        y: ROWS_HEAD + y,
        w: pitch,
        h,
        rows: to - from + 1,
        columns: values[0].length,
        isSigned: !isWeights,
        largest: isWeights ? 1 : largest,
        strength: isPrinted ? WEIGHT_GROUND : 1,
        valueOf: (i, j) => values[from + i][j],
      });
    }
  };

  return (view, lines, labelled) => {
    const weights = ofVisit(view, 'p');
    const scores = ofVisit(view, 'scores');
    const values = weights || scores;
    const n = values ? values[0].length : 0;
    const pitch = width / Math.max(1, columns.n);
    let masked = '';
    const cells = [];
    if (values) {
      const top = view.state.m;
      lines.forEach(({ y, h }, i) => {
        if (!scores) return;
        for (const [from, to] of runsOf(n, (j) => scores[i][j] === -Infinity))
          masked += barPath(
            left + from * pitch,
            (to - from + 1) * pitch,
            ROWS_HEAD + y,
            ROWS_HEAD + y + h,
          );
      });
      if (columns.isPrinted)
        for (const { i, y, h } of labelled) {
          const most = scores ? scores[i].reduce((a, b) => (b > a ? b : a), -Infinity) : Infinity;
          for (let j = 0; j < n; j += 1) {
            const value = values[i][j];
            if (scores && scores[i][j] === -Infinity) continue;
            const isMost = Boolean(scores) && scores[i][j] === most;
            const kind = weights ? 'ink' : isMost ? (most > top[i] ? 'm' : 'ink') : 'ink-2';
            cells.push({
              x: left + (j + 0.5) * pitch,
              y: ROWS_HEAD + y + h / 2 + 4.5,
              value,
              kind,
              isMost,
            });
          }
        }
    }
    put(hatch, { d: masked });
    paint(view, lines, values, Boolean(weights), pitch);
    const digits = pitch >= 42 ? 2 : 1;
    pool.fit(cells, (node, { x, y, value, kind, isMost }) => {
      put(node, { x, y, class: `bwp-cell bwp-f-${kind}${isMost ? ' bwp-strong' : ''}` });
      setText(node, weights ? formatWeight(value) : formatNarrow(value, digits));
    });
  };
}

/** Neighbouring rows of the same height: {from, to}. */
function evenRuns(lines) {
  const runs = [];
  lines.forEach(({ h }, i) => {
    const last = runs.at(-1);
    if (last && lines[last.from].h === h) last.to = i;
    else runs.push({ from: i, to: i });
  });
  return runs;
}

/** The running maximum of the rows, whichever sub-step found it last. */
function maximaOf(state) {
  return state.m_new || state.m;
}

/** m, alpha and l of each row, as numbers, with l as a bar. */
function makeStateColumns(parent, columns, model) {
  const rest = svg(parent, 'path', { class: 'bwp-p-l-rest' });
  const now = svg(parent, 'path', { class: 'bwp-p-l', 'data-testid': 'rows-l-now' });
  const was = svg(parent, 'path', { class: 'bwp-outline bwp-s-l', 'data-testid': 'rows-l-were' });
  const crosses = svg(parent, 'path', { class: 'bwp-cross' });
  const texts = makePool(parent, (g) => makeRowNumbers(g, columns));
  const scale = (value) =>
    Number.isFinite(value) ? (Math.max(0, value) / model.ranges.sum) * columns.bar.width : 0;
  let current = null;

  const bar = (line, from, length) => {
    const thickness = Math.min(BAR_THICKEST, Math.max(1, line.h * 0.62));
    const middle = ROWS_HEAD + line.y + line.h / 2;
    return length > 0.2
      ? barPath(columns.bar.x + from, length, middle - thickness / 2, middle + thickness / 2)
      : '';
  };

  return {
    set(view, lines, labelled) {
      const { state, before, step, shrinks } = view;
      current = view;
      const isAdding = ofVisit(view, 'p') !== undefined && step.values.l !== undefined;
      texts.fit(labelled, (item, { i, y, h }) => item.set(view, i, ROWS_HEAD + y + h / 2, h));
      let outline = '';
      let crossed = '';
      const lengths = [];
      lines.forEach((line, i) => {
        const [value, old] = [state.l[i], before.l[i]];
        const isShrinking = shrinks && value !== old;
        if (isShrinking) outline += bar(line, 0, scale(old));
        if (Number.isNaN(value))
          crossed += crossPath(
            columns.bar.x + 6,
            ROWS_HEAD + line.y + line.h / 2,
            Math.min(5, line.h / 3),
          );
        if (isShrinking) lengths.push(0, scale(value));
        else if (isAdding) lengths.push(scale(old), Math.max(0, scale(value) - scale(old)));
        else lengths.push(scale(value), 0);
      });
      put(was, { d: outline });
      put(crosses, { d: crossed });
      return lengths;
    },
    move(lengths, lines) {
      if (!current) return;
      let [resting, moving] = ['', ''];
      lines.forEach((line, i) => {
        resting += bar(line, 0, lengths[2 * i]);
        moving += bar(line, lengths[2 * i], lengths[2 * i + 1]);
      });
      put(rest, { d: resting });
      put(now, { d: moving });
    },
  };
}

/** The printed numbers of one row, in a group that can stand on any line. */
function makeRowNumbers(parent, columns) {
  const group = svg(parent, 'g');
  const m = svg(group, 'text', {
    class: 'bwp-number bwp-f-m',
    'text-anchor': 'end',
    x: columns.m.x + columns.m.width - (columns.isWide ? 26 : 12),
  });
  const old = svg(m, 'tspan');
  const arrow = svg(m, 'tspan', { class: 'bwp-arrow' });
  const top = svg(m, 'tspan');
  const alphaX = columns.alpha.x + (columns.isWide ? 24 : 22);
  const alpha = svg(group, 'text', {
    class: 'bwp-number bwp-f-ink-2',
    'text-anchor': 'middle',
    x: alphaX,
  });
  const chip = makeChip(group, 'row-alpha');
  const sum = svg(group, 'text', { class: 'bwp-number', x: columns.number.x });
  return {
    group,
    set(view, i, y, pitch) {
      const { state, step, before, since, visit } = view;
      const isRising = step.phase === 'new_max' || step.phase === 'rescale';
      const [next, last] = [maximaOf(state)[i], state.m[i]];
      const rises = isRising && since.m_new >= visit.first && next !== last;
      const isTold = rises && Number.isFinite(last) && columns.isWide;
      put(group, { 'data-row': i });
      put(m, { y: y + 5, class: 'bwp-number bwp-f-m' });
      setText(old, isTold ? formatApart(last, next) : '');
      setText(arrow, isTold ? ' \u2192 ' : '');
      setText(top, isTold ? formatApart(next, last) : formatNarrow(next, 2));
      put(top, { class: rises ? 'bwp-strong' : '' });
      setAlpha(view, i, y, pitch);
      const changed = step.values.l !== undefined && !Object.is(state.l[i], before.l[i]);
      put(sum, { y: y + 5, class: `bwp-number bwp-f-l-text${changed ? ' bwp-strong' : ''}` });
      setText(sum, formatSum(state.l[i]));
    },
  };

  function setAlpha(view, i, y, pitch) {
    const { model, since, visit, step } = view;
    const isThere = since.alpha >= visit.first;
    const value = isThere ? view.state.alpha[i] : 1;
    const isFirst = isThere && stateBefore(model, since.alpha).l[i] === 0;
    const isChip = isThere && !isFirst && value !== 1;
    const isTight = pitch < 22;
    const text = isChip ? formatFactor(value) : '';
    chip.set(
      text,
      alphaX,
      y,
      step.phase === 'rescale',
      isTight ? 12.5 : 14,
      isTight ? pitch - 2 : 20,
    );
    put(alpha, { y: y + 5 });
    setText(alpha, !isThere || isChip ? '' : isFirst ? '\u2013' : '1');
  }
}
