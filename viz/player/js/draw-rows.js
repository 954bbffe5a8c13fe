// The state of the rows of a tile, a line each: scores, maximum, alpha, sum and output.

const INDEX_WIDTH = 36;
const ROW_PAD = 12;
const FOLLOWED_ROW = 24; // px: the row that is followed, however thin the others are
const MOST_NUMBERS = 8; // scores printed as numbers; more are drawn as cells

/** The columns of the table for `width` px: where each begins and how wide it is. */
function rowColumns(model, width) {
  const { grid, headDim } = model;
  const n = Math.min(grid.colBlock, grid.nCols);
  const isWide = width >= 800;
  const fixed = isWide
    ? { m: 132, alpha: 64, number: 56, bar: 84 }
    : { m: 62, alpha: 60, number: 52, bar: 28 };
  const pad = isWide ? ROW_PAD : 8;
  const used = INDEX_WIDTH + 8 + fixed.m + fixed.alpha + fixed.number + fixed.bar + 3 * pad;
  const free = width - used;
  const isPrinted = n <= MOST_NUMBERS && free >= n * 31 + headDim * 5;
  let scores = isPrinted ? n * 36 : Math.min(288, Math.max(n * 12, 90), free * 0.55);
  let outputs = headDim * 15;
  const over = scores + outputs - free;
  if (over > 0) {
    outputs = Math.max(headDim * 5, outputs - over);
    scores = Math.max(isPrinted ? n * 31 : 40, free - outputs);
  } else {
    const spare = Math.min(-over, n * 8);
    if (isPrinted) scores += spare;
    const left = Math.max(0, -over - spare);
    outputs += Math.min(left / 2, headDim * 6);
    fixed.bar += Math.min(100, left / 2);
  }
  const columns = { isPrinted, isWide, n, scores: { x: INDEX_WIDTH, width: scores } };
  let x = INDEX_WIDTH + scores + 8;
  columns.box = x;
  x += pad;
  for (const [name, size] of [
    ['m', fixed.m],
    ['alpha', fixed.alpha],
    ['number', fixed.number],
    ['bar', fixed.bar],
  ]) {
    columns[name] = { x, width: size };
    x += size;
  }
  columns.outputs = { x: x + pad, width: outputs };
  columns.end = Math.min(width, x + pad + outputs + pad);
  return columns;
}

/** Where each row of the block stands: even, or thin ones around the one that is followed. */
function rowLines(n, height, chosen, most) {
  const pitch = Math.min(most, height / n);
  if (pitch >= ROW_LEAST) return Array.from({ length: n }, (_, i) => ({ y: i * pitch, h: pitch }));
  const thin = n > 1 ? Math.min(ROW_LEAST, (height - FOLLOWED_ROW) / (n - 1)) : 0;
  let y = 0;
  return Array.from({ length: n }, (_, i) => {
    const line = { y, h: i === chosen ? FOLLOWED_ROW : thin };
    y += line.h;
    return line;
  });
}

function makeRowsPanel(parent, canvas, { width, height, kind }, model, words, { onRow }) {
  const most = Math.min(model.grid.rowBlock, model.grid.nRows);
  const tallest = kind === 'narrow' ? ROW_PITCH : ROW_TALLEST;
  const room = height - ROWS_HEAD - 6;
  const columns = rowColumns(model, width);
  const linesOf = ({ extents, chosen }) =>
    rowLines(extents.m, Math.min(room, most * tallest), chosen.m, tallest);
  drawRowHeads(parent, columns, model, words);
  const head = makeScoreHead(parent, columns, words);
  const box = svg(parent, 'rect', { class: 'bwp-box', x: columns.box, y: ROWS_HEAD - 4, rx: 6 });
  const scores = makeScoreCells(parent, canvas, columns, model);
  const state = makeStateColumns(parent, columns, model);
  const outputs = makeOutputSquares(parent, columns, model, canvas);
  const index = makePool(parent, (g) =>
    svg(g, 'text', { 'text-anchor': 'end', x: INDEX_WIDTH - 10 }),
  );
  const frame = svg(parent, 'rect', {
    class: 'bwp-row-chosen',
    x: 1,
    rx: 5,
    'data-testid': 'row-chosen',
  });
  const hit = svg(parent, 'rect', {
    class: 'bwp-hit',
    x: 0,
    y: ROWS_HEAD - 4,
    width,
    height: room + 6,
  });
  let lines = [];
  hit.addEventListener('click', (event) => {
    const rect = hit.getBoundingClientRect();
    const y = ((event.clientY - rect.top) / rect.height) * (room + 6) - 4;
    const row = lines.findIndex((line) => y < line.y + line.h);
    if (lines.length) onRow(row < 0 ? lines.length - 1 : row);
  });
  return {
    set(view) {
      lines = linesOf(view);
      const bottom = lines.length ? lines.at(-1).y + lines.at(-1).h : 0;
      const { m } = view.chosen;
      put(box, { width: columns.end - columns.box, height: bottom + 8 });
      const labelled = lines
        .map((line, i) => ({ ...line, i }))
        .filter(({ h, i }) => h >= ROW_LEAST || i === m);
      index.fit(labelled, (node, { y, h, i }) => {
        put(node, {
          y: ROWS_HEAD + y + h / 2 + 5,
          class: i === m ? 'bwp-block bwp-block-now' : 'bwp-block',
          'data-testid': i === m ? 'row-index' : 'row-index-other',
        });
        setText(node, String(rowNumber(view, i)));
      });
      const chosen = lines[m];
      show(frame, Boolean(chosen));
      if (chosen)
        put(frame, { y: ROWS_HEAD + chosen.y + 0.5, width: columns.end - 2, height: chosen.h - 1 });
      head(view);
      scores(view, lines, labelled);
      return [...state.set(view, lines, labelled), ...outputs.set(view, lines)];
    },
    move(vector) {
      const n = 2 * lines.length;
      state.move(vector.slice(0, n), lines);
      outputs.move(vector.slice(n), lines);
    },
  };
}

/** The names over the columns, and their symbols in their colours. */
function drawRowHeads(parent, columns, model, words) {
  const head = ({ x, width }, texts, symbol, kind) => {
    const text = texts.find((one) => headWidth(one) <= width) || '';
    svg(parent, 'text', { class: 'bwp-head', x, y: 13, text });
    svg(parent, 'text', { class: `bwp-symbol bwp-f-${kind}`, x, y: 33, text: symbol });
  };
  head(columns.m, [words.say('player.maximum'), words.say('player.max')], 'm', 'm');
  head(columns.alpha, [words.say('player.rescale_head')], '\u03b1', 'ink');
  head(columns.number, [words.say('player.sum')], 'l', 'l-text');
  const names = [
    words.say('player.output_columns', { n: model.headDim }),
    words.say('player.output'),
  ];
  head({ ...columns.outputs, width: columns.outputs.width + 8 }, names, 'o', 'o');
}

/** The width of a bold head, rather too much than too little. */
function headWidth(text) {
  return sansWidth(text, 15) * (/[\u2e80-\uffff]/.test(text) ? 1 : 1.24);
}

/** Over the cells: scores, or the weights that they have become. */
function makeScoreHead(parent, columns, words) {
  const { x, width } = columns.scores;
  const name = svg(parent, 'text', { class: 'bwp-head', x, y: 13 });
  const symbol = svg(parent, 'text', { class: 'bwp-symbol', x, y: 33 });
  return (view) => {
    const isWeights = ofVisit(view, 'p') !== undefined;
    const long = words.say(isWeights ? 'player.tile_weights' : 'player.tile_scores');
    const short = words.say(isWeights ? 'player.weights' : 'player.scores');
    setText(name, headWidth(long) < width ? long : short);
    put(symbol, { class: `bwp-symbol bwp-f-${isWeights ? 'l-text' : 'ink-2'}` });
    const [letter, meaning] = isWeights
      ? ['p', `exp(s ${MINUS} m)`]
      : ['s', 'q \u00b7 k \u00b7 scale'];
    setText(symbol, width > 160 ? `${letter} = ${meaning}` : letter);
  };
}
