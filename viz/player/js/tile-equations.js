// The update of a pass as matrices: each line of its formula that makes one, with what it is made of.

/** The equations of a pass: {target, product, over, text}, in the order they are computed. */
function equationsOf(model, pass) {
  const equations = [];
  for (const stanza of model.stanzas) {
    if (stanza.pass !== pass) continue;
    for (const { target, expression } of stanza.lines) {
      const isNew = equations.every((equation) => equation.target !== target);
      const text = expression.replace(/[{}]/g, '');
      const product = productIn(model, expression);
      const isSum = Boolean(product) && text.startsWith('\u2211');
      if (!isNew || !(model.matrices.includes(target) || isSum)) continue;
      equations.push({ pass, phase: stanza.phase, target, product, isSum, text });
    }
  }
  for (const equation of equations) equation.over = sourceOf(model, equations, equation);
  return equations;
}

/** What no equation of the pass makes is drawn over its result: the scores over their softmax. */
function sourceOf({ matrices }, equations, { product, text }) {
  if (product) return null;
  const isMade = (name) => equations.some(({ target }) => target === name);
  return matrices.find((name) => !isMade(name) && new RegExp(`\\b${name}\\b`).test(text)) || null;
}

/** Kernels of one equation each stand side by side: what one leaves, the next one takes. */
function equationGroups(model) {
  const groups = model.passes.map(({ index }) => equationsOf(model, index));
  const isOneEach = groups.length > 1 && groups.every((equations) => equations.length <= 1);
  return isOneEach ? groups.map(() => groups.flat()) : groups;
}

/** How many cells each axis has at most, in a pass. */
function axisLengths(model, pass) {
  const { grid, sizes } = model;
  const isWhole = model.passOf.get(pass).isWhole;
  return {
    m: Math.min(grid.rowBlock, grid.nRows),
    n: isWhole ? grid.nCols : Math.min(grid.colBlock, grid.nCols),
    d: sizes.head_dim || 1,
    k: Math.min(sizes.block_k || 1, sizes.size_k || 1),
    s: sizes.n_splits || 1,
  };
}

/** Rows and columns of a matrix in cells; the other way round where it is transposed. */
function matrixCells(model, lengths, { name, isTransposed }) {
  const [rows, columns = 1] = [...model.axes[name]].map((axis) => lengths[axis]);
  return isTransposed ? [columns, rows] : [rows, columns];
}

const EQUATION_GAP = 22;
const CORNER_GAP = 5;
const EQUATION_HEAD = 20;
const EQUATION_FOOT = { name: 18, line: 16 };
const EQUATION_TYPE = 13;
const PRINTED_CELL = { w: 38, h: 15 }; // px: from this size on a cell carries its number
const LARGEST_PRINTED = { w: 52, h: 25 };
const LARGEST_MATRIX_CELL = 26;
const LEAST_MATRIX_CELL = 5.5;
const LONGEST_LINE = 18; // characters of a formula under its matrices

/** An equation with its sizes in cells: the result, the inner axis, and what stands above. */
function sizedEquation(model, equation) {
  const lengths = axisLengths(model, equation.pass);
  const [rows, columns] = matrixCells(model, lengths, { name: equation.target });
  const inner = equation.product ? matrixCells(model, lengths, equation.product.left)[1] : 0;
  const above = equation.over || equation.isSum ? rows : inner;
  const isWide = (columns + inner) * 8 > LONGEST_LINE * 9;
  const lines = brokenLines(`= ${equation.text}`, isWide ? Infinity : LONGEST_LINE);
  const textWidth = Math.max(...lines.map((line) => monoWidth(line, EQUATION_TYPE)));
  return { ...equation, rows, columns, inner, above, lines, textWidth };
}

/** A line of a formula in lines of at most `most` characters, broken at its spaces. */
function brokenLines(text, most) {
  const lines = [''];
  for (const word of text.split(' ')) {
    const longer = lines.at(-1) ? `${lines.at(-1)} ${word}` : word;
    if (longer.length <= most) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

/** How wide an equation is: as its matrices, or as its text where that is wider. */
function equationWidth({ columns, inner, textWidth }, cell) {
  return Math.max((columns + inner) * cell + (inner ? CORNER_GAP : 0), textWidth);
}

/** Where matrices stand in `width` by `height`, and how large their cells are. */
function equationPlaces(model, equations, width, height) {
  const sized = equations.map((equation) => sizedEquation(model, equation));
  const told = placeEquations(sized, width, height);
  if (told.cell.w >= LEAST_MATRIX_CELL) return told;
  // Too narrow for every line of text: the names alone stand under their matrices.
  return placeEquations(
    sized.map((one) => ({ ...one, lines: [], textWidth: 0 })),
    width,
    height,
  );
}

function placeEquations(sized, width, height) {
  const above = Math.max(0, ...sized.map((one) => one.above));
  const rows = Math.max(1, ...sized.map((one) => one.rows));
  const gaps = EQUATION_GAP * Math.max(0, sized.length - 1) + 2;
  const foot =
    EQUATION_FOOT.name +
    EQUATION_FOOT.line * Math.max(1, ...sized.map(({ lines }) => lines.length));
  const roomH = (height - EQUATION_HEAD - foot - (above ? CORNER_GAP : 0)) / (above + rows);
  const used = (w) => sized.reduce((sum, one) => sum + equationWidth(one, w), gaps);
  const fits = (w) => used(w) <= width;
  const isPrinted = fits(PRINTED_CELL.w) && roomH >= PRINTED_CELL.h;
  const most = isPrinted ? LARGEST_PRINTED.w : Math.min(roomH, LARGEST_MATRIX_CELL);
  let w = most;
  while (w > 0.5 && !fits(w)) w -= w > 4 ? 0.25 : 0.05;
  const cell = { w, h: isPrinted ? Math.min(roomH, LARGEST_PRINTED.h) : w };
  const baseline = EQUATION_HEAD + above * cell.h + (above ? CORNER_GAP : 0);
  const spread = Math.min(60, (width - used(w)) / Math.max(1, sized.length - 1));
  let x = 0;
  const placed = sized.map((equation) => {
    const corner = x + equation.inner * cell.w + (equation.inner ? CORNER_GAP : 0);
    const size = equationWidth(equation, cell.w);
    const place = {
      ...equation,
      x,
      corner,
      baseline,
      width: size,
      bottom: baseline + equation.rows * cell.h,
    };
    x += size + EQUATION_GAP + spread;
    return place;
  });
  return { equations: placed, cell, isPrinted, height: baseline + rows * cell.h + foot };
}

/** The matrices of a placed equation: {name, token, isTransposed, x, y, side}. */
function matricesOf({ target, product, isSum, over, x, corner, baseline, inner, rows }, cell) {
  const list = [
    { name: target, token: target, isTransposed: false, x: corner, y: baseline, isTarget: true },
  ];
  // A sum over rows: both factors have its rows, one stands over the other.
  const upper = baseline - CORNER_GAP - rows * cell.h;
  if (isSum)
    list.push(
      { ...product.left, x, y: upper, side: 'row' },
      { ...product.right, x, y: baseline, side: 'row' },
    );
  else if (product)
    list.push(
      { ...product.left, x, y: baseline, side: 'left' },
      { ...product.right, x: corner, y: baseline - CORNER_GAP - inner * cell.h, side: 'top' },
    );
  if (over)
    list.push({ name: over, token: over, isTransposed: false, x: corner, y: upper, side: 'over' });
  return list;
}
