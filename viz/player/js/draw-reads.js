// A dot for every time that a block of an input is read from HBM: filled when it has been.

/** Draw the dots under the grid's columns, and at the right of its rows where rows are re-read. */
function makeReadsPanel(parent, layout, model, words) {
  const places = layout.grid;
  const below = places.reads.groups.map((group) => makeColumnReads(parent, places, model, group));
  const beside = places.rowReads ? makeRowReads(parent, places, model) : null;
  writeSentence(parent, places, model, words);
  return {
    set(view) {
      const shown = groupOfPass(model, places.reads.groups, view.step.pass);
      below.forEach((part, i) => part(view, i === shown));
      if (beside) beside(view);
    },
  };
}

/** The group that the running pass reads, or, where it reads none, the last that was read before. */
function groupOfPass({ steps }, groups, pass) {
  const inPasses = groups.map(
    ({ lists }) => new Set(lists.flat().map((index) => steps[index].pass)),
  );
  const now = inPasses.findIndex((passes) => passes.has(pass));
  if (now >= 0) return now;
  const before = inPasses.map((passes, i) => [
    Math.max(...[...passes].filter((one) => one < pass), -1),
    i,
  ]);
  return before.sort(([a], [b]) => b - a)[0]?.[1] ?? 0;
}

/** Dots and a count under each column, for tensors that are always read together. */
function makeColumnReads(parent, places, model, group) {
  const { grid } = model;
  const host = svg(parent, 'g');
  const { labelY, pitch } = places.reads;
  const columnX = (col) => {
    const { x, width } = places.box([0, col]);
    return { x, middle: x + width / 2 };
  };
  svg(host, 'text', {
    class: 'bwp-tick',
    x: places.left - 8,
    y: labelY,
    'text-anchor': 'end',
    text: group.tensors.map(tensorLabel).join(' '),
  });
  const marks = makeDots(host, group.size * 0.76, (index) =>
    group.lists.flatMap((list, col) => {
      const done = countDone(list, index);
      const { x } = columnX(col);
      if (!group.across) return barMarks(list, done, x, group.y, pitch);
      return list.map((_, i) => ({
        x: x + group.size * (0.5 + (i % group.across)),
        y: group.y + group.size * (0.5 + Math.floor(i / group.across)),
        isDone: i < done,
      }));
    }),
  );
  const counts = makePool(host, (g) => svg(g, 'text', { y: labelY, 'text-anchor': 'middle' }));
  const every = Math.ceil((monoWidth(`${group.most}\u00d7`, 13) + 4) / (pitch + TILE_GAP));
  return ({ index, col }, isShown) => {
    show(host, isShown);
    if (!isShown) return;
    marks(index);
    counts.fit(spacedOut(grid.tileCols, every, col), (node, b) => {
      put(node, {
        x: columnX(b).middle,
        class: b === col ? 'bwp-count bwp-block-now' : 'bwp-count',
        'data-reads': `${group.tensors[0]} ${b}`,
      });
      setText(node, `${countDone(group.lists[b], index)}\u00d7`);
    });
  };
}

/** Every so many of `n` blocks, and the current one, which its neighbours make room for. */
function spacedOut(n, every, current) {
  const list = [];
  const isPlaced = current !== null && current !== undefined;
  for (let b = 0; b < n; b += 1) {
    const isNear = isPlaced && b !== current && Math.abs(b - current) < every;
    if (b === current || (b % every === 0 && !isNear)) list.push(b);
  }
  return list;
}

/** Where dots would take too many lines, a bar is filled as far as the reads have come. */
function barMarks(list, done, x, y, width) {
  const share = list.length ? done / list.length : 0;
  return [{ bar: [x + 1, y + 2, width - 2, share] }];
}

/** Dots in two states: one path each, however many. */
function makeDots(parent, dot, marksAt) {
  const style = (size) => `stroke-width: ${round(size)}px`;
  const open = svg(parent, 'path', { class: 'bwp-dot bwp-s-ink-3', style: style(dot) });
  const hole = svg(parent, 'path', { class: 'bwp-dot bwp-s-page', style: style(dot - 2) });
  const done = svg(parent, 'path', {
    class: 'bwp-dot bwp-s-ink-2',
    style: style(dot),
    'data-testid': 'reads-done',
  });
  const bars = svg(parent, 'path', { class: 'bwp-read-bar' });
  const filled = svg(parent, 'path', { class: 'bwp-read-filled' });
  return (index) => {
    const paths = { open: '', done: '', bars: '', filled: '' };
    for (const { x, y, isDone, bar } of marksAt(index)) {
      if (bar) {
        const [left, top, width, share] = bar;
        paths.bars += barPath(left, width, top, top + 8);
        if (share) paths.filled += barPath(left, width * share, top, top + 8);
      } else paths[isDone ? 'done' : 'open'] += `M${round(x)} ${round(y)}h0`;
    }
    put(open, { d: paths.open });
    put(hole, { d: paths.open });
    put(done, { d: paths.done });
    put(bars, { d: paths.bars });
    put(filled, { d: paths.filled });
  };
}

/** Rows that several programs read: dots and a count at the right end of each. */
function makeRowReads(parent, places, model) {
  const group = places.rowReads;
  const { grid } = model;
  const across = Math.min(DOTS_ACROSS, group.most);
  const x0 = places.right + 8;
  const countX = x0 + across * ROW_DOT + 3;
  const pitch = places.box([0, 0]).height + TILE_GAP;
  const lines = Math.max(1, Math.floor(pitch / ROW_DOT));
  const marks = makeDots(parent, ROW_DOT * 0.76, (index) =>
    group.lists.flatMap((list, row) => {
      const done = countDone(list, index);
      const { y, height } = places.box([row, 0]);
      const used = Math.ceil(list.length / across);
      if (used > lines)
        return [
          { bar: [x0, y + height / 2 - 4, across * ROW_DOT, list.length ? done / list.length : 0] },
        ];
      const top = y + height / 2 - (used * ROW_DOT) / 2 + ROW_DOT / 2;
      return list.map((_, i) => ({
        x: x0 + ROW_DOT / 2 + (i % across) * ROW_DOT,
        y: top + Math.floor(i / across) * ROW_DOT,
        isDone: i < done,
      }));
    }),
  );
  const counts = makePool(parent, (g) => svg(g, 'text', { x: countX }));
  const every = Math.ceil(16 / pitch);
  return ({ index, row }) => {
    marks(index);
    counts.fit(spacedOut(grid.tileRows, every, row), (node, b) => {
      const { y, height } = places.box([b, 0]);
      put(node, {
        y: y + height / 2 + 4.5,
        class: b === row ? 'bwp-count bwp-block-now' : 'bwp-count',
        'data-reads': `${group.tensors[0]} ${b}`,
      });
      setText(node, `${countDone(group.lists[b], index)}\u00d7`);
    });
  };
}

/** What the dots mean: which tensors' blocks they count. */
function writeSentence(parent, places, model, words) {
  const names = [
    ...places.reads.groups.flatMap((group) => group.tensors),
    ...(places.rowReads ? places.rowReads.tensors : []),
  ].map(tensorLabel);
  const tensors = listOf(words, [...new Set(names)]);
  const text = words.say('player.reads', { tensors });
  const short = words.say('player.reads_short', { tensors });
  svg(parent, 'text', {
    class: 'bwp-axis',
    x: 0,
    y: places.reads.sentenceY,
    text: sansWidth(text, 13) <= places.width ? text : short,
  });
}

/** Names as a language joins them: a, b and c. */
function listOf(words, names) {
  const rest = [...names];
  const last = rest.pop();
  if (!rest.length) return last;
  return words.say('player.and', { names: rest.join(words.say('player.comma')), last });
}
