// How strongly each cell of the grid is inked at a step: a pure function of (model, index).

/**
 * A birth is a step that sets the ink of a tile, an event one that scales the rows of all that its
 * program has inked: a rescale by alpha, the division by l, a split's share of the whole.
 */
function findInk(model) {
  const { grid, axes } = model;
  const names = [...new Set([grid.ink, axes.p === 'mn' ? 'p' : grid.ink])];
  model.births = model.tileVisits.map(() => []);
  for (const program of model.programs) {
    program.events = [];
    for (let index = program.first; index <= program.last; index += 1) {
      const step = model.steps[index];
      for (const name of names) if (step.values[name]) addBirth(model, program, index, name);
      const scale = rowScale(model, index);
      if (scale) program.events.push({ index, scale });
    }
  }
  addShares(model);
  model.inkNames = names;
}

/** A value of one tile, or of a program's whole row of tiles. */
function addBirth(model, program, index, name) {
  const { grid } = model;
  const { tile, values } = model.steps[index];
  const birth = { index, name, program, values: values[name], left: 0 };
  if (tile) model.births[tileNumber(model, tile)].push(birth);
  else if (program.row !== null)
    for (let col = 0; col < grid.tileCols; col += 1)
      model.births[tileNumber(model, [program.row, col])].push({
        ...birth,
        left: col * grid.colBlock,
      });
}

function rowScale(model, index) {
  const step = model.steps[index];
  if (step.values.alpha) return step.values.alpha;
  const { l } = stateBefore(model, index);
  if (step.phase !== 'normalize' || !l) return null;
  return l.map((sum) => (sum === 0 ? 0 : 1 / sum));
}

/** A merge weighs each split's part: its cells shrink to their share of the whole. */
function addShares(model) {
  model.steps.forEach((step, index) => {
    const { weight, sum } = step.values;
    if (!weight || !sum) return;
    const { row } = model.visits[model.visitOf[index]].owner;
    for (const program of model.programs) {
      if (program.kind !== 'split' || program.row !== row) continue;
      const scale = sum.map((total, i) => (total === 0 ? 0 : weight[i][program.split] / total));
      program.events.push({ index, scale });
    }
  });
}

/** The ink of a tile after step `index`: its values, a factor for each row, and a key of both. */
function tileInk(model, number, index) {
  const births = model.births[number];
  let birth = null;
  for (const one of births) if (one.index <= index) birth = one;
  if (!birth) return null;
  const { events } = birth.program;
  const acting = events.filter((event) => event.index > birth.index && event.index <= index);
  return { ...birth, acting, key: `${birth.index} ${acting.length}` };
}

/** The product of the events since a birth, a factor for each row; null for none. */
function inkFactors({ acting, values }) {
  if (!acting.length) return null;
  const factors = new Float64Array(values.length).fill(1);
  for (const { scale } of acting)
    for (let i = 0; i < factors.length; i += 1) factors[i] *= scale[i];
  return factors;
}

/** Whether a query sees a key; always, where there is no mask. */
function isSeen({ grid, isCausal }, row, col) {
  return !isCausal || col <= row + grid.nCols - grid.nRows;
}
