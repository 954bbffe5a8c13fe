// The sentence over a grid: which template of a sub-step and its case, and this step's numbers.

const MOST_CHIPS = 4;

/**
 * Find the template: the algorithm's own first, for its later kernels by their number, then the one
 * that all grids share.
 */
function tileCaptionKey(words, view) {
  const { phase, pass } = view.step;
  const kase = tileCase(view);
  const { name } = view.model;
  const numbered = pass > 0 ? [`${phase}${pass + 1}`, phase] : [phase];
  const keys = [];
  for (const one of kase === 'normal' ? [kase] : [kase, 'normal']) {
    for (const own of numbered) keys.push(`caption.${name}.${own}.${one}`);
    keys.push(`caption.tile.${phase}.${one}`, `caption.tile.any.${one}`);
  }
  return keys.find(words.has) || keys[keys.length - 2];
}

/** A mirror names what happened; some templates also depend on how many rows it happened to. */
function tileCase(view) {
  const { model, index, step, program, extents } = view;
  const { phase, case: given = 'normal' } = step;
  const isOnly = extents.m === 1;
  if (given === 'rise' && phase === 'new_max') return countedCase(risenRows(view), extents.m);
  if (given === 'rise' && phase === 'rescale')
    return countedCase(shrinkingRows(model, index).length, extents.m);
  if (given === 'same' && isOnly) return 'same_only';
  if (phase === 'scores' && given === 'masked') {
    if (maskedCells(view) === extents.m * extents.n) return 'masked_all';
  }
  if (phase === 'load_q' && !program.tiles.length && step.pass === 0) return 'unseeing';
  if (phase === 'store' && given === 'normal' && index === model.steps.length - 1) return 'last';
  return given;
}

/** Whether a rise is that of no row that had begun, of the only one, of one, of all, or of some. */
function countedCase(n, rows) {
  if (n === 0) return 'started';
  if (rows === 1) return 'rise_only';
  if (n === rows) return 'rise_all';
  return n === 1 ? 'rise_one' : 'rise';
}

/** How many rows had a maximum, and meet a larger score in this tile. */
function risenRows({ state, extents }) {
  let risen = 0;
  for (let i = 0; i < extents.m; i += 1)
    if (state.m_new[i] > state.m[i] && state.m[i] !== -Infinity) risen += 1;
  return risen;
}

/** A small number as a word, where the language writes it so. */
function numeral(words, n) {
  return words.has(`player.numeral.${n}`) ? words.say(`player.numeral.${n}`) : String(n);
}

/** The alphas of the rows that shrink, as chips; with many, the first ones and an ellipsis. */
function alphaChips(view) {
  const rows = shrinkingRows(view.model, view.index);
  const { alpha } = view.step.values;
  const parts = rows
    .slice(0, MOST_CHIPS)
    .flatMap((row, i) => [
      ...(i ? [{ text: ' ' }] : []),
      { text: formatFactor(alpha[row]), kind: 'alpha', name: 'alpha' },
    ]);
  return rows.length > MOST_CHIPS ? [...parts, { text: ' \u2026' }] : parts;
}

/** Every name that a caption of a grid may use, for this step. */
function tileCaptionValues(words, view) {
  const { model, step, index, extents, state, chosen } = view;
  const numbers = projected(model, state, chosen);
  const shrinking = step.values.alpha ? shrinkingRows(model, index).length : 0;
  const risen = step.phase === 'new_max' && state.m ? risenRows(view) : 0;
  const place = (side, n) => ({ text: placeName(words, model, side, n), kind: 'now' });
  const short = (name, kind) => ({ text: formatNarrow(numbers[name] ?? NaN, 2), kind, name });
  return {
    tile_rows: numeral(words, extents.m),
    cells: words.count('cells', extents.m * extents.n),
    masked: words.count('masked', maskedCells(view)),
    risen: numeral(words, risen),
    shrinking: numeral(words, shrinking),
    shrinking_again: numeral(words, shrinking),
    tiles: words.count('tiles', view.program.tiles.length),
    bytes: words.bytes(sumOf(step.reads) + sumOf(step.writes)),
    moved: words.bytes(sumOf(view.moved)),
    times: words.count('times', timesRead(view)),
    row_block: place('row', view.row),
    col_block: place('col', view.col),
    depth: String(step.stop - step.start),
    split: { text: words.say('player.axis.split', { n: view.program.split ?? '' }), kind: 'now' },
    splits: words.count('splits', model.sizes.n_splits || 0),
    row: { text: String(rowNumber(view, chosen.m)), kind: 'now' },
    error: model.error === null ? '' : formatSmall(decode(model.error)),
    heaviest: heaviestSplit(words, view),
    empty: words.count('empty', emptyRows(state, extents.m)),
    m: short('m', 'm'),
    m_new: short('m_new', 'm'),
    l: { text: formatSum(numbers.l ?? NaN), kind: 'l', name: 'l' },
    the_m: { text: 'm', kind: 'm' },
    the_l: { text: 'l', kind: 'l' },
    the_o: { text: 'o', kind: 'o' },
    the_alpha: { text: '\u03b1 = 1', kind: 'alpha-idle', name: 'alpha' },
  };
}

/** How often the running column's block has been read, this time included. */
function timesRead({ model, col, index }) {
  const [group] = model.reads.cols;
  return group && col !== null && col !== undefined ? countDone(group.lists[col], index) : 0;
}

function maskedCells({ model, tile, extents }) {
  if (!tile) return 0;
  let n = 0;
  for (let i = 0; i < extents.m; i += 1)
    for (let j = 0; j < extents.n; j += 1)
      if (!isSeen(model, extents.top + i, extents.left + j)) n += 1;
  return n;
}

/** How many rows have no weight at all. */
function emptyRows(state, n) {
  const total = state.l || state.sum || [];
  let count = 0;
  for (let i = 0; i < n; i += 1) if (total[i] === 0) count += 1;
  return count;
}

/** The largest share that a split has of the chosen row, in percent. */
function heaviestSplit(words, { state, chosen }) {
  if (!state.weight || !state.sum) return '';
  const shares = Array.from(state.weight[chosen.m], (weight) => weight / state.sum[chosen.m]);
  const most = Math.max(...shares);
  if (!Number.isFinite(most)) return '';
  return words.say('player.heaviest', {
    split: words.say('player.axis.split', { n: shares.indexOf(most) }),
    share: (100 * most).toFixed(0),
  });
}

/** "query block 5": what a row or a column of the grid is called. */
function placeName(words, { grid }, side, n) {
  const name = side === 'row' ? grid.rows : grid.cols;
  return n === null || n === undefined ? '' : words.say(`player.axis.${name}`, { n });
}

/** The caption of one view, in coloured parts; a sentence begins with a capital. */
function tileCaptionParts(words, view, isDone) {
  if (isDone) {
    const bytes = words.bytes(sumOf(view.moved));
    return fill(words.template('player.done.tiles'), { bytes });
  }
  const values = tileCaptionValues(words, view);
  const template = words.template(tileCaptionKey(words, view));
  const parts = fill(template, values).flatMap((part) =>
    part.text === '{alphas}' ? alphaChips(view) : [part],
  );
  // A template knows how it begins, but not what is filled in there.
  return template.startsWith('{') ? capitalised(parts) : parts;
}

/** A name or a number that begins a sentence; a symbol stays as the code writes it. */
function capitalised(parts) {
  const [first, ...rest] = parts;
  if (!first.text || (first.kind && first.kind !== 'now')) return parts;
  return [{ ...first, text: first.text[0].toUpperCase() + first.text.slice(1) }, ...rest];
}

/** Where we are: blocks of the grid, phase, step of steps. */
function tileEyebrowParts(words, view, place) {
  return eyebrowOf(words, view, place, place.isDone ? '' : tilePlace(words, view));
}

/** "Query block 5, key block 3": what the program owns first, then where its loop is. */
function tilePlace(words, view) {
  const { model, program, row, col, step } = view;
  const names = [placeName(words, model, 'row', row), placeName(words, model, 'col', col)];
  if (program.kind === 'col') names.reverse();
  if (program.kind === 'split')
    names.splice(1, 0, words.say('player.axis.split', { n: program.split ?? '' }));
  if (model.sizes.block_k && step.block !== null)
    names.push(words.say('player.axis.k', { n: step.block }));
  const text = names.filter(Boolean).join(words.say('player.comma'));
  return text[0].toUpperCase() + text.slice(1);
}
