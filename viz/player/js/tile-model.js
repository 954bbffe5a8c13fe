// A grid of tiles: from its trace to the state at any step, program by program.

const INPUT_AXES = { q: 'md', k: 'nd', v: 'nd' };

/** Decode one figure of a grid and fold its steps: done once per trace. */
function readTileModel(figure) {
  const { algorithm, trace } = figure;
  const { sizes } = trace;
  const model = {
    ...algorithm,
    isTiles: true,
    axes: { ...(algorithm.problem === 'attention' ? INPUT_AXES : {}), ...algorithm.axes },
    dtype: trace.dtype,
    sizes,
    traffic: figure.traffic,
    itemsize: figure.itemsize,
    error: figure.reference_error,
    grid: readGrid(algorithm.grid, sizes),
    headDim: sizes.head_dim || 0,
    isCausal: Boolean(sizes.is_causal),
    arrays: Object.fromEntries(
      Object.entries(trace.arrays).map(([name, array]) => [name, decode(array)]),
    ),
    outputs: Object.fromEntries(
      Object.entries(trace.outputs).map(([name, array]) => [name, decode(array)]),
    ),
    steps: trace.steps.map(readStep),
  };
  findVisits(model);
  findPrograms(model);
  findTileVisits(model);
  foldPrograms(model);
  model.rises = findRowRises(model);
  model.isRise = new Set(model.rises);
  model.reads = findReads(model);
  findInk(model);
  model.ranges = findTileRanges(model);
  return model;
}

/** The matrix of tiles: its sizes, and the letter of each side in the code's own names. */
function readGrid(grid, sizes) {
  const [nRows, nCols] = [sizes[grid.rows], sizes[grid.cols]];
  const [rowBlock, colBlock] = [sizes[grid.row_block], sizes[grid.col_block]];
  const span = (block, n) => (b) => [b * block, Math.min((b + 1) * block, n)];
  const letter = (name) => name.split('_').pop().toUpperCase();
  return {
    ...grid,
    nRows,
    nCols,
    rowBlock,
    colBlock,
    tileRows: Math.ceil(nRows / rowBlock),
    tileCols: Math.ceil(nCols / colBlock),
    rowSpan: span(rowBlock, nRows),
    colSpan: span(colBlock, nCols),
    rowLetter: letter(grid.rows),
    colLetter: letter(grid.cols),
  };
}

/** A program is a run of visits; from what its kind works on follows where it stands in the grid. */
function findPrograms(model) {
  model.programs = [];
  model.visits.forEach((visit) => {
    let last = model.programs[model.programs.length - 1];
    if (!last || last.pass !== visit.pass || last.index !== visit.program) {
      last = { pass: visit.pass, index: visit.program, visits: [], tiles: [], first: visit.first };
      model.programs.push(last);
    }
    last.last = visit.last;
    last.visits.push(visit);
    if (visit.tile) last.tiles.push(visit.tile);
    visit.owner = last;
  });
  model.passes = [...new Set(model.programs.map(({ pass }) => pass))].map((index) => {
    const programs = model.programs.filter((program) => program.pass === index);
    const kind = kindOfPass(model, programs);
    for (const program of programs) Object.assign(program, placeOf(model, kind, program));
    // A pass without tiles works on whole rows.
    const isWhole = programs.every(({ tiles }) => tiles.length === 0);
    const steps = model.steps.filter((step) => step.pass === index);
    const made = new Set(steps.flatMap((step) => Object.keys(step.values)));
    return { index, kind, isWhole, made, programs };
  });
  model.passOf = new Map(model.passes.map((pass) => [pass.index, pass]));
}

/** What one program of a pass owns: a row of tiles, a column, one tile, or one split of a row. */
function kindOfPass({ grid, sizes, problem }, programs) {
  const { tileRows, tileCols } = grid;
  const own = (side) =>
    programs.every(({ tiles }) => new Set(tiles.map((tile) => tile[side])).size <= 1);
  const hasTiles = programs.some(({ tiles }) => tiles.length > 0);
  if (problem === 'matmul') return 'tile';
  if (hasTiles && sizes.n_splits > 1 && programs.length === tileRows * sizes.n_splits)
    return 'split';
  if (hasTiles && own(0) && own(1) && tileCols > 1 && programs.length === tileRows * tileCols)
    return 'tile';
  return own(0) || !hasTiles ? 'row' : 'col';
}

/** Where a program stands: `row`, `col` and `split`, null where it owns no single one. */
function placeOf({ sizes, grid }, kind, { index, tiles }) {
  if (kind === 'row') return { kind, row: index, col: null, split: null };
  if (kind === 'col') return { kind, row: null, col: index, split: null };
  if (kind === 'split') {
    const row = Math.floor(index / sizes.n_splits);
    return { kind, row, col: null, split: index % sizes.n_splits };
  }
  const [row, col] = tiles[0] || [Math.floor(index / grid.tileCols), index % grid.tileCols];
  return { kind, row, col, split: null };
}

/** For every tile its visits in order, and whether any step ever goes there. */
function findTileVisits(model) {
  const { tileRows, tileCols } = model.grid;
  model.tileVisits = Array.from({ length: tileRows * tileCols }, () => []);
  for (const visit of model.visits) {
    if (visit.tile) model.tileVisits[tileNumber(model, visit.tile)].push(visit);
  }
  model.isSkipped = model.tileVisits.map((visits) => visits.length === 0);
}

function tileNumber({ grid }, [row, col]) {
  return row * grid.tileCols + col;
}

/** How far each letter of `axes` runs for one program, or for one step of it. */
function extentsOf(model, program, tile) {
  const { grid, sizes } = model;
  const [first] = program.tiles;
  const row = tile ? tile[0] : (program.row ?? (first && first[0]));
  const col = tile ? tile[1] : (program.col ?? (first && first[1]));
  const [top, bottom] = row === undefined ? [0, 0] : grid.rowSpan(row);
  const [left, right] = col === undefined ? [0, 0] : grid.colSpan(col);
  return {
    m: bottom - top,
    n: right - left,
    d: sizes.head_dim || 0,
    k: sizes.size_k || 0,
    s: sizes.n_splits || 0,
    top,
    left,
  };
}

/** What a program holds before its first block. */
function startOf(model, program) {
  const extents = extentsOf(model, program);
  const start = {};
  const { made } = model.passOf.get(program.pass);
  for (const name of model.on_chip) {
    if (!made.has(name)) continue;
    const lengths = [...(model.axes[name] || '')].map((axis) => extents[axis]);
    const filled = () => new Float32Array(lengths.at(-1)).fill(name === 'm' ? -Infinity : 0);
    if (lengths.length === 1) start[name] = filled();
    if (lengths.length === 2) start[name] = Array.from({ length: lengths[0] }, filled);
  }
  return start;
}

/** Store the state and the bytes after every step, and which step set each variable last. */
function foldPrograms(model) {
  let [state, since, moved] = [{}, {}, {}];
  model.states = [];
  model.since = [];
  model.moved = [];
  for (const program of model.programs) {
    program.start = startOf(model, program);
    [state, since] = [program.start, {}];
    for (let index = program.first; index <= program.last; index += 1) {
      const step = model.steps[index];
      const names = Object.keys(step.values);
      if (names.length) {
        state = { ...state, ...step.values };
        since = { ...since };
        for (const name of names) since[name] = index;
      }
      moved = addBytes(addBytes(moved, step.reads), step.writes);
      model.states.push(state);
      model.since.push(since);
      model.moved.push(moved);
    }
  }
}

/** The steps where a rescale shrinks what a row has summed: alpha below 1, and something there. */
function findRowRises(model) {
  const rises = [];
  model.steps.forEach((step, index) => {
    if (step.values.alpha && shrinkingRows(model, index).length) rises.push(index);
  });
  return rises;
}

/** The rows of the tile that a rescale shrinks. */
function shrinkingRows(model, index) {
  const { alpha } = model.steps[index].values;
  const { l } = stateBefore(model, index);
  const rows = [];
  alpha.forEach((value, row) => {
    if (value !== 1 && l[row] !== 0) rows.push(row);
  });
  return rows;
}

function stateBefore(model, index) {
  const program = model.visits[model.visitOf[index]].owner;
  return index === program.first ? program.start : model.states[index - 1];
}

/** Axis ends, from the finite values of the whole trace: an axis never moves while stepping. */
function findTileRanges(model) {
  const top = {};
  const note = (name, value) => {
    if (isMatrix(value)) value.forEach((row) => note(name, row));
    else if (isVector(value))
      for (const one of value) {
        const size = Math.abs(one);
        if (size > (top[name] || 0) && size < Infinity) top[name] = size;
      }
  };
  for (const step of model.steps)
    for (const [name, value] of Object.entries(step.values)) note(name, value);
  for (const [name, value] of Object.entries(model.arrays)) note(name, value);
  const of = (...names) => Math.max(0, ...names.map((name) => top[name] || 0)) || 1;
  return { of, sum: of('l'), acc: of('acc', 'o', 'o_part') };
}
