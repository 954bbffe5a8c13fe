// What the panels of a grid need to draw step `index`, and the numbers of the row that is followed.

const FOLLOWED = { m: 0, n: 0, d: 0, k: 0, s: 0 }; // where a formula's numbers are taken from

/** `chosen` is the row of the tile, and the column, that the viewer follows; m is null before that. */
function tileViewAt(model, index, chosen = FOLLOWED) {
  const step = model.steps[index];
  const visit = model.visits[model.visitOf[index]];
  const program = visit.owner;
  const extents = extentsOf(model, program, step.tile);
  const wanted = { ...chosen, m: chosen.m ?? tellingRow(model, visit) };
  const clamp = (axis) => Math.max(0, Math.min(wanted[axis] || 0, extents[axis] - 1));
  return {
    model,
    index,
    step,
    visit,
    program,
    extents,
    state: model.states[index],
    before: stateBefore(model, index),
    since: model.since[index],
    moved: model.moved[index],
    movedBefore: model.moved[index - 1] || {},
    shrinks: model.isRise.has(index),
    chosen: { ...FOLLOWED, m: clamp('m'), n: clamp('n') },
    tile: step.tile || null,
    row: step.tile ? step.tile[0] : program.row,
    col: step.tile ? step.tile[1] : program.col,
  };
}

/** The row that a visit changes most tellingly: the first that shrinks, else the first. */
function tellingRow(model, visit) {
  for (let i = visit.first; i <= visit.last; i += 1)
    if (model.isRise.has(i)) return shrinkingRows(model, i)[0];
  return 0;
}

/** A variable's value if a step of this visit, up to now, has set it; else undefined. */
function ofVisit({ state, since, visit }, name) {
  return since[name] >= visit.first ? state[name] : undefined;
}

/**
 * The part of a variable that the running tile uses, as rows: the program's own, a slice of an
 * input, or what an earlier kernel left in HBM. Null where there is nothing yet. `isWhole` asks for
 * whole rows of the grid.
 */
function matrixOf(view, name, isWhole = view.model.passOf.get(view.step.pass).isWhole) {
  const { model, state } = view;
  return state[name] === undefined ? storedPart(view, name, isWhole, model) : asRows(state[name]);
}

function storedPart(view, name, isWhole, model) {
  const axes = model.axes[name];
  const source = model.arrays[name] || storedMatrix(view, name);
  if (!source || !axes) return null;
  const [rows, columns] = [...axes].map((axis) => spanOf(view, axis, isWhole));
  if (rows === null || columns === null) return null;
  const lines = asRows(source).slice(...rows);
  return columns ? lines.map((line) => line.subarray(...columns)) : lines;
}

/** From where to where an axis runs in the running step; null where it has no place on it. */
function spanOf({ model, row, col, step }, axis, isWhole) {
  const { grid } = model;
  if (axis === 'm') return row === null || row === undefined ? null : grid.rowSpan(row);
  if (axis === 'k') return step.block === null ? null : [step.start, step.stop];
  if (axis !== 'n') return [0, Infinity];
  if (isWhole) return [0, grid.nCols];
  return col === null || col === undefined ? null : grid.colSpan(col);
}

/** A vector is drawn as a column. */
function asRows(value) {
  return isVector(value) ? Array.from(value, (one) => Float32Array.of(one)) : value;
}

/** What earlier programs have left of a variable in HBM, as one array of the whole problem. */
function storedMatrix({ model, program }, name) {
  model.stored ||= new Map();
  const key = `${name} ${program.pass}`;
  if (!model.stored.has(key)) model.stored.set(key, gather(model, name, program.pass));
  return model.stored.get(key);
}

function gather(model, name, pass) {
  const { grid, axes } = model;
  const isWide = axes[name] === 'mn';
  // What no kernel writes is gone with its program; and several splits leave parts of the same rows.
  if (!model.steps.some((step) => step.writes[name])) return null;
  if (!(axes[name] || 'm').startsWith('m') || model.passes[0].kind === 'split') return null;
  const columns = { mn: grid.nCols, md: model.headDim }[axes[name]] || 1;
  const whole = Array.from({ length: grid.nRows }, () => new Float32Array(columns).fill(NaN));
  let isThere = false;
  for (const program of model.programs) {
    if (program.pass >= pass) break;
    for (let index = program.first; index <= program.last; index += 1) {
      const step = model.steps[index];
      const value = step.values[name];
      const row = step.tile ? step.tile[0] : program.row;
      if (value === undefined || row === null) continue;
      isThere = true;
      const top = row * grid.rowBlock;
      const left = step.tile && isWide ? step.tile[1] * grid.colBlock : 0;
      asRows(value).forEach((line, i) => whole[top + i].set(line, left));
    }
  }
  return isThere ? whole : null;
}

/** The numbers of the chosen row: each variable as a number, or as the list that its row is. */
function projected(model, state, chosen) {
  const out = {};
  for (const [name, value] of Object.entries(state))
    out[name] = project(model, name, value, chosen);
  return out;
}

function project({ axes }, name, value, chosen) {
  if (typeof value === 'number') return value;
  const at = chosen[(axes[name] || 'm')[0]] ?? 0;
  const row = value[Math.min(at, value.length - 1)];
  return isVector(row) ? Array.from(row) : row;
}

/** The number of a row in the whole matrix, by its place in the running block. */
function rowNumber(view, place) {
  return view.extents.top + place;
}
