// The tile grid: each visited tile inked cell by cell, the current one edged, those to come dashed.

/** Draw the grid into `main`, over `canvas`. `onTile` and `onRow` are told what was clicked. */
function makeGridPanel(main, canvas, layout, model, words, { onTile, onRow }) {
  const places = layout.grid;
  const ground = svg(main, 'g');
  drawSkipped(ground, places, model, words);
  drawMasked(ground, places, model);
  const operands = places.operands ? makeOperandStrips(main, canvas, places, model) : null;
  const frames = makeFrames(main, places, model, onTile, onRow);
  const labels = makeGridLabels(main, places, model);
  const paint = makePainter(canvas, places, model);
  const followed = svg(main, 'path', { class: 'bwp-followed', 'data-testid': 'followed-row' });
  return {
    set(view) {
      frames.set(view);
      labels.set(view);
      paint(view);
      if (operands) operands.set(view);
      drawFollowed(view);
    },
  };

  /** A mark at the left of the row that the formula follows. */
  function drawFollowed(view) {
    const isShown = view.row !== null && model.panels.includes('rows');
    show(followed, isShown);
    if (!isShown) return;
    const y = places.y(model.grid.rowSpan(view.row)[0] + view.chosen.m) + places.cell.h / 2;
    put(followed, { d: `M${places.left - 8} ${round(y - 4)}l6 4l-6 4z` });
  }
}

/** What no step visits: one hatched region, and why. */
function drawSkipped(parent, places, model, words) {
  if (!model.isSkipped.some(Boolean)) return;
  const { grid } = model;
  let d = '';
  model.isSkipped.forEach((isSkipped, number) => {
    if (!isSkipped) return;
    const [row, col] = [Math.floor(number / grid.tileCols), number % grid.tileCols];
    const { x, y, width, height } = places.box([row, col]);
    const [dx, dy] = [
      col < grid.tileCols - 1 ? TILE_GAP : 0,
      row < grid.tileRows - 1 ? TILE_GAP : 0,
    ];
    d += `M${round(x)} ${round(y)}h${round(width + dx)}v${round(height + dy)}h${round(-width - dx)}z`;
  });
  const fill = hatching(parent, 'bwp-hatch-skip', 9);
  svg(parent, 'path', { class: 'bwp-skipped', d, fill, 'data-testid': 'skipped' });
  writeReason(parent, places, model, words.say('player.skipped'));
}

/** The reason stands in the largest rectangle of skipped tiles at the upper right that holds it. */
function writeReason(parent, places, model, text) {
  const { grid } = model;
  let best = null;
  for (let row = 0; row < grid.tileRows; row += 1) {
    let from = grid.tileCols;
    while (from > 0 && model.isSkipped[row * grid.tileCols + from - 1]) from -= 1;
    if (from === grid.tileCols) break;
    const { x, y, height } = places.box([row, from]);
    const room = { width: places.right - x - 10, height: y + height - places.top - 10 };
    const lines = wrapWords(text, room.width, 13);
    if (lines.length * 17 + 4 > room.height || !lines.length) continue;
    const spare = Math.min(room.height - lines.length * 17, room.width / 4);
    if (!best || spare > best.spare) best = { lines, spare, ...room };
  }
  if (!best) return;
  const ys = best.lines.map(
    (_, i) => places.top + 12 + (best.height - best.lines.length * 17) / 2 + 9 + 17 * i,
  );
  const widest = Math.max(...best.lines.map((line) => sansWidth(line, 13)));
  svg(parent, 'rect', {
    class: 'bwp-reason-ground',
    x: places.right - widest - 14,
    y: ys[0] - 17,
    width: widest + 14,
    height: 17 * best.lines.length + 9,
  });
  best.lines.forEach((line, i) =>
    svg(parent, 'text', {
      class: 'bwp-axis',
      x: places.right - 5,
      y: ys[i],
      'text-anchor': 'end',
      text: line,
    }),
  );
}

/** Break a text into lines of at most `width` px; [] if a word alone is wider. */
function wrapWords(text, width, size) {
  const isSpaced = text.includes(' ');
  const words = isSpaced ? text.split(' ') : [...text];
  const lines = [''];
  for (const word of words) {
    const last = lines[lines.length - 1];
    const longer = last && isSpaced ? `${last} ${word}` : last + word;
    if (sansWidth(word, size) > width) return [];
    if (sansWidth(longer, size) <= width) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

/** Cells that a mask hides inside a tile that is visited all the same. */
function drawMasked(parent, places, model) {
  const { grid } = model;
  if (!model.isCausal) return;
  let d = '';
  for (let row = 0; row < grid.nRows; row += 1) {
    const tileRow = Math.floor(row / grid.rowBlock);
    for (let tileCol = 0; tileCol < grid.tileCols; tileCol += 1) {
      if (model.isSkipped[tileNumber(model, [tileRow, tileCol])]) continue;
      const [from, to] = grid.colSpan(tileCol);
      const seen = Math.max(from, Math.min(to, row + grid.nCols - grid.nRows + 1));
      if (seen >= to) continue;
      const x = places.x(seen - 1) + (seen > from ? places.cell.w : 0);
      const left = seen > from ? x : places.x(from);
      const right = places.x(to - 1) + places.cell.w;
      d += barPath(left, right - left, places.y(row), places.y(row) + places.cell.h);
    }
  }
  const fill = hatching(parent, 'bwp-hatch-mask', 4);
  svg(parent, 'path', { class: 'bwp-masked', d, fill, 'data-testid': 'masked' });
}

/** A frame for each tile: it says whether the tile is done, running, or still to come. */
function makeFrames(parent, places, model, onTile, onRow) {
  const { grid } = model;
  const nodes = model.tileVisits.map((visits, number) => {
    const tile = [Math.floor(number / grid.tileCols), number % grid.tileCols];
    if (!visits.length) return null;
    const { x, y, width, height } = places.box(tile);
    const node = svg(parent, 'rect', {
      x: round(x + 0.5),
      y: round(y + 0.5),
      width: round(Math.max(1, width - 1)),
      height: round(Math.max(1, height - 1)),
      'data-tile': tile.join(','),
    });
    return node;
  });
  const now = svg(parent, 'rect', { class: 'bwp-tile-edge', 'data-testid': 'tile-now' });
  const hit = svg(parent, 'rect', {
    class: 'bwp-hit',
    x: places.left,
    y: places.top,
    width: places.right - places.left,
    height: places.bottom - places.top,
  });
  let latest = null;
  hit.addEventListener('click', (event) => {
    const box = hit.getBoundingClientRect();
    const cellOf = (share, n, place, size) => {
      let last = 0;
      for (let i = 0; i < n; i += 1) if (place(i) <= share) last = i;
      return last;
    };
    const x = places.left + ((event.clientX - box.left) / box.width) * (places.right - places.left);
    const y = places.top + ((event.clientY - box.top) / box.height) * (places.bottom - places.top);
    const row = cellOf(y, grid.nRows, places.y);
    const col = cellOf(x, grid.nCols, places.x);
    const tile = [Math.floor(row / grid.rowBlock), Math.floor(col / grid.colBlock)];
    onRow(row - tile[0] * grid.rowBlock);
    const isHere = latest && latest.row === tile[0] && latest.col === tile[1];
    if (!isHere) onTile(tile);
  });
  return {
    set(view) {
      latest = view;
      const { index, tile } = view;
      const { pass } = view.step;
      model.tileVisits.forEach((visits, number) => {
        if (nodes[number])
          put(nodes[number], { class: `bwp-tile bwp-tile-${stateOf(visits, index, pass)}` });
      });
      show(now, Boolean(tile));
      if (!tile) return;
      const { x, y, width, height } = places.box(tile);
      put(now, { x: x - 0.5, y: y - 0.5, width: width + 1, height: height + 1 });
    },
  };

  /** Of several kernels' visits, those of the running one count; without any, whether all are over. */
  function stateOf(visits, index, pass) {
    const here = visits.filter((visit) => visit.pass === pass);
    const counted = here.length ? here : visits;
    if (counted.some(({ first, last }) => first <= index && index <= last)) return 'now';
    return counted[counted.length - 1].last < index || counted[0].last < index ? 'done' : 'next';
  }
}

/** The letters and numbers of rows and columns, the current ones in orange. */
function makeGridLabels(parent, places, model) {
  const { grid } = model;
  const { operands } = places;
  const side = (n, centre, size, write) => {
    const pool = makePool(parent, (g) => svg(g, 'text', { class: 'bwp-block' }));
    const every = Math.ceil(size / Math.max(1, centre(Math.min(1, n - 1)) - centre(0) || size));
    return (current) => {
      pool.fit(spacedOut(n, every, current), (node, b) => {
        put(node, { class: b === current ? 'bwp-block bwp-block-now' : 'bwp-block' });
        write(node, b);
      });
    };
  };
  const middle = (span, place, size) => (b) => {
    const [from, to] = span(b);
    return (place(from) + place(to - 1) + size) / 2;
  };
  const rowY = middle(grid.rowSpan, places.y, places.cell.h);
  const colX = middle(grid.colSpan, places.x, places.cell.w);
  const rowX = operands
    ? places.left - OPERAND_GAP - operands.depth * places.square - 10
    : places.left - 12;
  const headY = operands
    ? places.top - OPERAND_GAP - operands.depth * places.square - 8
    : places.top - 8;
  const rows = side(grid.tileRows, rowY, 15, (node, b) => {
    put(node, { x: rowX, y: rowY(b) + 5, 'text-anchor': 'end' });
    setText(node, `${grid.rowLetter}${b}`);
  });
  const cols = side(grid.tileCols, colX, monoWidth(`K${grid.tileCols - 1}`, 14) + 6, (node, b) => {
    put(node, { x: colX(b), y: headY, 'text-anchor': 'middle' });
    setText(node, `${grid.colLetter}${b}`);
  });
  const splits = model.sizes.n_splits > 1 ? makeSplitBrackets(parent, places, model) : null;
  const orders = makeOrderNumbers(parent, places, model);
  return {
    set(view) {
      rows(view.row ?? null);
      cols(view.col ?? null);
      if (splits) splits(view);
      orders(view);
    },
  };
}

/** Over the columns a bracket for each split: the key blocks that it takes of the running row. */
function makeSplitBrackets(parent, places, model) {
  const brackets = makePool(parent, (g) => svg(g, 'path'));
  const names = makePool(parent, (g) => svg(g, 'text', { y: 11, 'text-anchor': 'middle' }));
  return ({ row, program }) => {
    const list = model.programs.filter(
      (one) => one.kind === 'split' && one.row === row && one.tiles.length,
    );
    const spans = list.map((one) => {
      const [first, last] = [places.box(one.tiles[0]), places.box(one.tiles.at(-1))];
      return { one, from: first.x + 2, to: last.x + last.width - 2 };
    });
    brackets.fit(spans, (node, { one, from, to }) =>
      put(node, {
        d: `M${round(from)} 21v-4H${round(to)}v4`,
        class: one === program ? 'bwp-bracket bwp-bracket-now' : 'bwp-bracket bwp-bracket-rest',
      }),
    );
    const every = Math.ceil(28 / Math.max(1, (spans[1]?.from ?? 1000) - (spans[0]?.from ?? 0)));
    const current = spans.findIndex(({ one }) => one === program);
    const named = spacedOut(spans.length, every, current < 0 ? null : current).map((i) => spans[i]);
    names.fit(named, (node, { one, from, to }) => {
      put(node, {
        x: (from + to) / 2,
        class: one === program ? 'bwp-program bwp-block-now' : 'bwp-program',
      });
      setText(node, `s${one.split}`);
    });
  };
}

/** Where a program owns one tile, tiles to come carry its number: the order they are computed in. */
function makeOrderNumbers(parent, places, model) {
  const pool = makePool(parent, (g) =>
    svg(g, 'text', { 'text-anchor': 'middle', class: 'bwp-tick' }),
  );
  const { width, height } = places.box([0, 0]);
  const isRoomy = width >= 22 && height >= 16;
  return ({ index, program }) => {
    const isShown = isRoomy && program.kind === 'tile' && model.problem === 'matmul';
    const list = isShown ? model.programs.filter(({ first }) => first > index) : [];
    pool.fit(list, (node, one) => {
      const box = places.box([one.row, one.col]);
      put(node, { x: box.x + box.width / 2, y: box.y + box.height / 2 + 4.5 });
      setText(node, String(one.index));
    });
  };
}
