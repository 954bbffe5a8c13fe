// Bytes between HBM and the chip: this kernel's, filled as they move, against the naive count.

const TENSOR_KIND = {
  v: 'v',
  p: 'p',
  o: 'o',
  lse: 'lse',
  c: 'o',
  dq: 'o',
  dk: 'o',
  dv: 'o',
  o_part: 'o',
};

/** Inputs are grey, the second one lighter; an output is green, whatever its name. */
function tensorKind({ output, rows = {} }, tensor) {
  if (tensor === output) return 'o';
  const place = Object.keys(rows).indexOf(tensor);
  return place > 0 ? 'v' : TENSOR_KIND[tensor] || 'x';
}

const BAR_WIDTH = 420; // px, about

/** How often a tensor is moved whole, or 0 where its size is not known. */
function timesMoved(model, tensor, bytes) {
  if (model.isTiles) return tileTimesMoved(model, tensor, bytes);
  const sizes = { v: model.n * model.headDim, o: model.headDim, lse: 0 };
  const isParts = tensor === 'partials'; // two float32 of every part
  const once = isParts ? 8 * model.nBlocks : (sizes[tensor] ?? model.n) * model.itemsize;
  return once ? Math.round(bytes / once) : 0;
}

function makeTraffic(host, model, words) {
  const totals = model.traffic;
  const scale = Math.max(sumOf(totals.this), sumOf(totals.naive));
  const row = (testid, title, bytes) => {
    const head = html(host, 'div', 'bwp-traffic-head');
    html(head, 'span', '', title);
    const amount = html(head, 'span', 'bwp-amount');
    amount.dataset.testid = testid;
    const bar = html(host, 'div', 'bwp-traffic-bar');
    bar.style.width = `${(100 * sumOf(bytes)) / scale}%`;
    const segments = Object.entries(bytes).map(([tensor, n]) => {
      const segment = html(bar, 'div', `bwp-segment bwp-segment-${tensorKind(model, tensor)}`);
      segment.style.flexGrow = n;
      const fill = html(segment, 'div', 'bwp-segment-fill');
      const fresh = html(segment, 'div', 'bwp-segment-fresh');
      const times = timesMoved(model, tensor, n);
      const label = tensorName(words, model, tensor) + (times > 1 ? ` ${times}\u00d7` : '');
      // A label that has no room is left out: the table says it.
      if ((n / scale) * BAR_WIDTH > label.length * 8 + 8)
        html(segment, 'span', 'bwp-segment-label', label);
      return { tensor, n, fill, fresh };
    });
    return { amount, segments };
  };
  const mine = row('hbm-bytes', words.say('player.this_kernel'), totals.this);
  const unfused = words.say('player.naive');
  const plain = model.problem === 'matmul' ? words.say('player.naive_product') : unfused;
  const naive = row('naive-bytes', plain, totals.naive);
  for (const { fill } of naive.segments) fill.style.width = '100%';
  naive.amount.textContent = amountOf(words, model, sumOf(totals.naive));
  const note = html(host, 'p', 'bwp-note-line', keptLine(model, words));
  note.dataset.testid = 'kept';

  return {
    set({ moved, movedBefore }) {
      const parts = fill(words.template('player.of'), {
        done: { text: amountOf(words, model, sumOf(moved)), kind: 'strong' },
        total: { text: amountOf(words, model, sumOf(totals.this)), kind: 'strong' },
      });
      setParts(mine.amount, parts);
      for (const { tensor, n, fill: bar, fresh } of mine.segments) {
        const [now, old] = [moved[tensor] || 0, movedBefore[tensor] || 0];
        bar.style.width = `${(100 * old) / n}%`;
        fresh.style.left = `${(100 * old) / n}%`;
        fresh.style.width = `${(100 * (now - old)) / n}%`;
      }
    },
  };
}

/** Bytes of a row are counted; those of a grid are many, and told in kilobytes. */
function amountOf(words, { isTiles }, bytes) {
  return isTiles ? words.bytes(bytes) : String(bytes);
}

function tensorName(words, { isTiles }, tensor) {
  if (isTiles) return tensorLabel(tensor);
  if (words.has(`player.tensor.${tensor}`)) return words.say(`player.tensor.${tensor}`);
  return tensor === 'v' ? 'V' : tensor;
}

/** How often a tensor of a grid is moved whole, to one decimal: a mask skips parts of it. */
function tileTimesMoved(model, tensor, bytes) {
  const { nRows, nCols } = model.grid;
  const lengths = { m: nRows, n: nCols, d: model.headDim, k: model.sizes.size_k };
  const axes = { s: 'mn', p: 'mn', dp: 'mn', ds: 'mn', ...model.axes }[tensor];
  const array = model.arrays[tensor] || model.outputs[tensor];
  const isVectors = tensor === 'lse' || tensor === 'delta';
  const count = axes ? [...axes].reduce((n, axis) => n * (lengths[axis] || 1), 1) : sizeOf(array);
  const parts = tensor.endsWith('_part') ? model.sizes.n_splits : 1; // each split leaves its own
  const once = count * parts * (isVectors || parts > 1 ? 4 : model.itemsize);
  return once ? Number((bytes / once).toFixed(1)) : 0;
}

function sizeOf(array) {
  if (!array) return 0;
  return isMatrix(array) ? array.length * array[0].length : array.length;
}

/** What stays on chip from block to block, in bytes of float32, whatever N is. */
function keptLine(model, words) {
  if (model.isTiles) return keptOfTile(model, words);
  if (!model.on_chip.length) return words.say('player.kept_nothing');
  if (model.hasParts)
    return words.say('player.kept_part', { bytes: words.count('bytes', 4 * (model.block + 2)) });
  const symbols = model.on_chip.map((name) => variable(name).symbol);
  const last = symbols.pop();
  const names = symbols.length
    ? words.say('player.and', { names: symbols.join(words.say('player.comma')), last })
    : last;
  const floats = model.on_chip.reduce((sum, name) => sum + (name === 'acc' ? model.headDim : 1), 0);
  if (model.whole_row) {
    const nRows = Object.keys(model.rows).length;
    return words.say(nRows > 1 ? 'player.kept_rows' : 'player.kept_row', {
      names,
      bytes: words.count('bytes', 4 * (floats + nRows * model.block)),
    });
  }
  return words.say('player.kept', { names, bytes: words.count('bytes', 4 * floats) });
}

/** What one program keeps from tile to tile, however long the sequences are. */
function keptOfTile(model, words) {
  const lengths = axisLengths(model, model.passes[0].index);
  const names = model.on_chip.filter((name) => model.axes[name]);
  const floats = names.map((name) =>
    [...model.axes[name]].reduce((n, axis) => n * lengths[axis], 1),
  );
  const bytes = 4 * floats.reduce((sum, n) => sum + n, 0);
  return words.say('player.kept_tile', {
    names: listOf(
      words,
      names.map((name) => variableOf(model, name).symbol),
    ),
    bytes: words.bytes(bytes),
  });
}
